//! XTP 3.6, **a reconstruction: nothing else understands it**.
//!
//! The definition of 3.6 is not to be had. INRIA's report RR-2102 (1993) names its fields, but not
//! where they are; so the layout here is chosen, to repeat what the report measured: numbers of 32
//! bits that wrap, a header of 40 octets in fixed places, one control segment, and CXOR, which
//! covers header and payload together.
//!
//! | file | what |
//! | --- | --- |
//! | `header.rs` | the headers |
//! | `format.rs` | packets of 4.0 in this layout, and back |
//! | here | the service Connection, a configuration |
//!
//! A packet says what one of 4.0 says. What 3.6 has and 4.0 does not is sent as 0: `offset`,
//! `route`, `rate`, `burst`, `time`, `techo`, `xroute`. Payload is not padded.

mod format;
pub mod header;

use stackwright_contract::Participant;
use stackwright_policies::{
    acknowledgement, congestion, connection, flow, framing, inquiry, integrity, lifetime, ordering,
    rate, recovery, rtt,
};
use stackwright_transport::{Policies, Slots, configuration};
use stackwright_wire::Message;

pub use format::Xtp36r;

use crate::config::Config;
use crate::format::Terms;
use crate::header::XtpOptions;
use crate::key::ContextKey;

/// The number of the service Connection; 4.0 has other numbers.
const CONNECTION: u8 = 1;

configuration! {
    /// Messages of any length, all, once, in order: the Connection of the report.
    pub Messages36r<M> {
        Format: Xtp36r<M>,
        Ordering: ordering::Total<M>,
        Framing: framing::MessageEnd<M>,
        Integrity: integrity::Cxor,
        Connection: connection::Implicit,
        Acknowledgement: acknowledgement::GapAtOnce<acknowledgement::OnRequest<true>>,
        Inquiry: inquiry::KeepAlive<inquiry::WindowEnd>,
        Recovery: recovery::SelectiveRepeat,
        Rtt: rtt::Rfc6298,
        Flow: flow::CreditWindow,
        Congestion: congestion::Absent,
        Rate: rate::Absent,
        Lifetime: lifetime::Absent,
    }
}

/// Makes the policies of one context with the key `own`. The peer's key is known where the peer
/// opened. Both sides number octets from `first` on.
///
/// # Panics
/// If a key has more than 31 bits, or packets are shorter than 256 octets.
pub fn connection<M: Message>(
    config: &Config,
    own: ContextKey,
    peer: Option<u64>,
    remote: Participant,
    first: u32,
) -> Slots<Messages36r<M>> {
    assert!(config.packet >= 256, "a packet has at least 256 octets");
    let terms = Terms {
        service: CONNECTION,
        packet: usize::from(config.packet),
        longest: config.longest,
        options: XtpOptions::NOCHECK.when(!config.checks_data),
        opens_always: false,
        is_answered: true,
        numbers: false,
        sync: config.sync,
        sends: None,
    };
    let there = crate::format::place(remote);
    Slots::from(Policies {
        format: Xtp36r::new(terms, own, peer, (config.local, there), first),
        ordering: ordering::Total::new(),
        framing: framing::MessageEnd::new(config.longest),
        integrity: integrity::Cxor,
        connection: connection::Implicit::new(config.linger).validating(),
        acknowledgement: acknowledgement::GapAtOnce::new(acknowledgement::OnRequest::new()),
        inquiry: inquiry::KeepAlive::new(
            inquiry::WindowEnd::new(config.retries, u64::from(config.window / 2)),
            config.keepalive,
            config.silence,
        ),
        recovery: recovery::SelectiveRepeat::new(),
        rtt: rtt::Rfc6298::new(
            rtt::SampleSource::Answers,
            config.timeout_first,
            config.timeout_least,
        ),
        flow: flow::CreditWindow::new(u64::from(config.window)).asked_about(),
        congestion: congestion::Absent,
        rate: rate::Absent,
        lifetime: lifetime::Absent,
    })
}
