//! Configurations for usual selections: the types that a plan selects, named, so that a program has
//! nothing else in it. `stackwright explain tailored --with …` prints which policies a selection
//! takes; for another one, `stackwright spec gen --transport` writes a [`configuration!`] of these.
//!
//! | configuration | services |
//! | --- | --- |
//! | [`AnyOrder`] | `reliable; flow_control(n); checksum(internet); open(implicit)` |
//! | [`InOrder`] | the same with `ordered` |
//! | [`Phased`] | phases of `reliable; flow_control(n); checksum(internet); open(implicit)`, each with or without `ordered` |
//! | [`Adaptive`] | the same; both ends agree on order, fences and retransmissions as they go |
//! | [`Selective`] | `reliable; unordered; selective_retransmission; congestion(bbr); flow_control(n); checksum(crc32c); open(implicit)` |
//! | [`Fitting`] | [`Selective`] whose ends agree on order as they go, and whose congestion control fits the path |
//! | [`DedicatedLine`] | `reliable; nak; dedicated(rate); flow_control(n); checksum(crc32c); open(implicit)` |
//! | [`WholeWindow`] | `reliable; ordered; go_back_n; dedicated(rate); checksum(internet); open(implicit)` |
//! | [`LatestOnly`] | `rising; checksum(internet); open(implicit)` |
//! | [`BestEffort`] | `rate(r); checksum(internet); open(implicit)` |

use stackwright_policies::{
    acknowledgement, congestion, connection, flow, framing, inquiry, integrity, lifetime, ordering,
    rate, recovery, rtt, switching,
};
use stackwright_transport::configuration;

use crate::format::TailoredFormat;

configuration! {
    /// All messages, once, in any order.
    pub AnyOrder<M> {
        Format: TailoredFormat<M>,
        Ordering: ordering::Absent,
        Framing: framing::Fragments<M>,
        Integrity: integrity::Internet,
        Connection: connection::Implicit,
        Acknowledgement: acknowledgement::AckRanges,
        Inquiry: inquiry::KeepAlive<inquiry::TailProbe>,
        Recovery: recovery::RackTlp,
        Rtt: rtt::Rfc6298,
        Flow: flow::CreditWindow,
        Congestion: congestion::Cubic,
        Rate: rate::PacedByCongestion,
        Lifetime: lifetime::Absent,
    }
}

configuration! {
    /// All messages, once, in the order in which they were sent.
    pub InOrder<M> like AnyOrder {
        Ordering: ordering::Total<M>,
    }
}

configuration! {
    /// All messages, once, each in the order that its phase says.
    pub Phased<M> like AnyOrder {
        Ordering: ordering::ByEpoch<M>,
    } switching [switching::InPhases]
}

configuration! {
    /// Messages by the rule on which both ends agree while data flow. They begin with that of the
    /// first of [`PolicyValues::phases`](stackwright_policies::profile::PolicyValues), as
    /// [`STRONGEST`](stackwright_contract::PhaseRule::STRONGEST).
    pub Adaptive<M> like AnyOrder {
        Ordering: ordering::ByEpoch<M>,
        Recovery: recovery::LimitedRetransmissions<recovery::RackTlp>,
    } switching [switching::Negotiated]
}

configuration! {
    /// All messages, once, in any order; what is missing is sent again, and no more. Loss is no
    /// congestion where no queue stands: for paths by radio, and for those of which nothing is known.
    pub Selective<M> like AnyOrder {
        Integrity: integrity::Crc32c,
        Recovery: recovery::SelectiveRepeat,
        Congestion: congestion::Bbr,
    }
}

configuration! {
    /// All messages, once, by the rule on which both ends agree while data flow, over a path of
    /// which nothing is known: what loss means there is found out.
    pub Fitting<M> like Selective {
        Ordering: ordering::ByEpoch<M>,
        Congestion: congestion::Fitted,
    } switching [switching::Negotiated]
}

configuration! {
    /// All messages, once, in any order, over a line of its own at a known rate: a gap is reported
    /// as soon as it shows, and nothing else unless it is asked.
    pub DedicatedLine<M> like AnyOrder {
        Integrity: integrity::Crc32c,
        Acknowledgement: acknowledgement::GapAtOnce<acknowledgement::OnRequest<true>>,
        Inquiry: inquiry::KeepAlive<inquiry::WindowEnd>,
        Recovery: recovery::SelectiveRepeat,
        Congestion: congestion::Absent,
        Rate: rate::Paced,
    }
}

configuration! {
    /// All messages, once, in order; a receiver keeps no gaps.
    pub WholeWindow<M> like InOrder {
        Acknowledgement: acknowledgement::OnRequest<false>,
        Inquiry: inquiry::KeepAlive<inquiry::WindowEnd>,
        Recovery: recovery::GoBackN,
        Congestion: congestion::Absent,
        Rate: rate::Paced,
    }
}

configuration! {
    /// Messages as they arrive, each at most once, at a known rate. Nothing is answered.
    pub BestEffort<M> like AnyOrder {
        Connection: connection::Unanswered,
        Acknowledgement: acknowledgement::Absent,
        Inquiry: inquiry::Absent,
        Recovery: recovery::Absent,
        Rtt: rtt::Fixed,
        Flow: flow::Absent,
        Congestion: congestion::Absent,
        Rate: rate::Paced,
    }
}

configuration! {
    /// Messages that are of no use once a later one has arrived. Nothing is answered.
    pub LatestOnly<M> like BestEffort {
        Ordering: ordering::Sequenced,
        Rate: rate::Absent,
    }
}
