//! The policies of TCP.

use stackwright_policies::congestion;
use stackwright_policies::{
    acknowledgement, connection, flow, framing, inquiry, integrity, lifetime, ordering, rate,
    recovery, rtt,
};
use stackwright_transport::{Policies, Slots, configuration};
use stackwright_wire::Message;

use crate::config::Config;
use crate::format::TcpFormat;

configuration! {
    /// TCP as it is spoken today (RFC 9293, 7323, 2018, 6298, 8985, 9438, 9406).
    pub Tcp<M> {
        Format: TcpFormat<M>,
        Ordering: ordering::Total<M>,
        Framing: framing::OctetStream,
        Integrity: integrity::OfferedCheck,
        Connection: connection::ThreeWay,
        Acknowledgement: acknowledgement::AckRanges,
        Inquiry: inquiry::KeepAlive<inquiry::WindowProbe>,
        Recovery: recovery::RackTlp,
        Rtt: rtt::Rfc6298,
        Flow: flow::CreditWindow,
        Congestion: congestion::Cubic,
        Rate: rate::PacedByCongestion,
        Lifetime: lifetime::Absent,
    }
}

/// Makes the policies of one connection.
pub fn policies<M: Message>(format: TcpFormat<M>, config: &Config) -> Slots<Tcp<M>> {
    let segment = u64::from(config.segment) - format.overhead() as u64;
    let connection = connection::ThreeWay::new(config.timeout_first)
        .tries(config.tries)
        .orphaned(config.orphaned)
        .silence(config.silence);
    let connection = if format.has_answered() { connection.answered() } else { connection };
    Slots::from(Policies {
        format,
        ordering: ordering::Total::new(),
        framing: framing::OctetStream,
        integrity: integrity::OfferedCheck,
        connection,
        acknowledgement: acknowledgement::AckRanges::new(2, config.delay)
            .in_segments(segment as usize),
        inquiry: inquiry::KeepAlive::new(
            inquiry::WindowProbe::default(),
            config.keep_alive,
            config.silence,
        ),
        recovery: recovery::RackTlp::new(config.silence),
        rtt: rtt::Rfc6298::new(
            rtt::SampleSource::Units,
            config.timeout_first,
            config.timeout_least,
        ),
        flow: flow::CreditWindow::new(config.window.min(config.window_most).into())
            .growing_to(config.window_most.into(), 1)
            .asked_when_shut(),
        congestion: congestion::Cubic::new(segment),
        rate: rate::PacedByCongestion::new(),
        lifetime: lifetime::Absent,
    })
}
