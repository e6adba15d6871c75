//! The policies of XSTP.

use core::num::NonZeroU64;

use stackwright_policies::acknowledgement::{GapAtOnce, OnRequest};
use stackwright_policies::{
    congestion, connection, flow, framing, inquiry, integrity, lifetime, ordering, rate, recovery,
    rtt,
};
use stackwright_transport::{Policies, Slots, configuration};
use stackwright_wire::{Header as _, Message};

use crate::config::{Config, PACKET_LEAST};
use crate::format::XstpFormat;
use crate::header::XstpHeader;

configuration! {
    /// SSCOP's machinery over datagrams (STP), and a sender that probes why something was lost.
    pub Xstp<M> {
        Format: XstpFormat<M>,
        Ordering: ordering::Total<M>,
        Framing: framing::OctetStream,
        Integrity: integrity::Internet,
        Connection: connection::Handshake,
        Acknowledgement: GapAtOnce<OnRequest<true>>,
        Inquiry: inquiry::Polls,
        Recovery: recovery::SelectiveRepeat,
        Rtt: rtt::Rfc6298,
        Flow: flow::CreditWindow,
        Congestion: congestion::Probing,
        Rate: rate::Paced,
        Lifetime: lifetime::Absent,
    }
}

/// The first window in packets where the rate of the link is not known (RFC 6928).
const FIRST: u64 = 10;

/// How many questions are on their way with a window, where it may carry both directions at once.
const IN_WINDOW: u32 = 8;

/// Makes the policies of one connection.
pub fn policies<M: Message>(format: XstpFormat<M>, config: &Config) -> Slots<Xstp<M>> {
    let packet = u64::from(config.packet.max(PACKET_LEAST));
    let (rate, burst) = config.rate.unwrap_or((NonZeroU64::MAX, u32::MAX));
    let polls = inquiry::Polls::new(config.poll, config.poll_packets, config.silence)
        .at_ends()
        .patient(config.patience);
    let probing = congestion::Probing::new(packet - XstpHeader::LENGTH as u64);
    let gaps = GapAtOnce::new(OnRequest::new());
    Slots::from(Policies {
        format,
        ordering: ordering::Total::new(),
        framing: framing::OctetStream,
        integrity: integrity::Internet::new(),
        connection: connection::Handshake::new(config.again)
            .tries(config.tries)
            .partings(config.ends)
            .doubling(config.patience),
        acknowledgement: if config.half_duplex { gaps.when_asked() } else { gaps },
        inquiry: match config.rate {
            Some((rate, _)) => polls.leaving_at(rate),
            None => polls.in_window(IN_WINDOW),
        },
        recovery: recovery::SelectiveRepeat::new(),
        rtt: rtt::Rfc6298::new(
            rtt::SampleSource::Answers,
            config.timeout_first,
            config.timeout_least,
        ),
        flow: flow::CreditWindow::new(config.window.into()).asked_about(),
        congestion: if config.rate.is_some() {
            probing.beginning_with(config.window.into()).at_known_rate()
        } else {
            probing.beginning_with(FIRST)
        },
        rate: rate::Paced::new(rate, burst),
        lifetime: lifetime::Absent,
    })
}
