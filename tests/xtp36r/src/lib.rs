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

#![forbid(unsafe_code)]

mod format;
pub mod header;

use stackwright_contract::{Guarantees, Participant};
use stackwright_policies::{
    acknowledgement, congestion, connection, flow, framing, inquiry, integrity, lifetime, ordering,
    rate, recovery, rtt,
};
use stackwright_transport::{Policies, Slots, configuration};
use stackwright_wire::Message;
use stackwright_xtp::services::{Connection, Messages};
use stackwright_xtp::{Config, ContextKey, Xtp4, XtpService};

pub use format::Xtp36r;

/// The service Connection of 3.6 in the words of 4.0, which has other numbers.
enum Connection36r {}

impl XtpService for Connection36r {
    const NAME: &'static str = "xtp 3.6 connection";
    const NUMBER: u8 = 1;
    const GIVES: Guarantees = Connection::GIVES;
    type Transfer<M: Message> = <Connection as XtpService>::Transfer<M>;
    type Configuration<M: Message> = Messages<M>;

    fn slots<M: Message>(format: Xtp4<M>, config: &Config) -> Slots<Messages<M>> {
        Connection::slots(format, config)
    }
}

configuration! {
    /// Messages of any length, all, once, in order: the Connection of the report.
    pub Messages36r<M> like Messages {
        Format: Xtp36r<M>,
        Integrity: integrity::Cxor,
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
    Slots::from(Policies {
        format: Xtp36r::new(config, own, peer, remote, first),
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
