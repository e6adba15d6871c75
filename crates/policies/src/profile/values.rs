//! What policies need to know beyond their types: the same whether a program names the types or a
//! plan boxes them.

use alloc::boxed::Box;
use core::num::NonZeroU64;

use stackwright_transport::words::{MILLISECOND, Nanoseconds, SECOND};
use stackwright_transport::{IntoPart, SlotPart};

use super::{Bounds, FixedRate, Path};
use crate::framing::Forgetting;
use crate::rtt::SampleSource;
use crate::switching::{InPhases, Negotiated, PhaseRules, PlannedSwitching};
use crate::{
    acknowledgement, congestion, connection, flow, framing, inquiry, integrity, lifetime, ordering,
    rate, recovery, rtt,
};

/// The longest time for which a report is delayed.
const GATHER_MOST: Nanoseconds = 50 * MILLISECOND;

/// No timeout is shorter than this, or than half of the round trip.
const TIMEOUT_LEAST: Nanoseconds = 10 * MILLISECOND;

/// Packets between two inquiries.
const PACKETS_AN_INQUIRY: u32 = 16;

/// Packets that may leave at once where a rate is kept.
const BURST: u32 = 4;

/// Inquiries in a row without an answer after which the peer counts as gone.
const RETRIES: u32 = 12;

/// How many packets one report acknowledges, where all arrive in order.
const PACKETS_A_REPORT: u32 = 2;

/// What policies need to know beyond their types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PolicyValues {
    /// The path.
    pub path: Path,
    /// How much an association holds, and how long it waits.
    pub bounds: Bounds,
    /// Which round trips are measured.
    pub source: SampleSource,
    /// How many times a packet is sent again at most, where that is bounded.
    pub resends: u16,
    /// How many packets may overtake one that is not lost; `None`: any number.
    pub reordering: Option<u64>,
    /// Which incomplete messages are discarded.
    pub forgetting: Forgetting,
    /// The rate that is kept, if one is.
    pub rate: Option<FixedRate>,
    /// The rules of each phase, where an association switches between some.
    pub phases: PhaseRules,
    /// Whether the two ends negotiate further rules.
    pub negotiates: bool,
}

impl PolicyValues {
    /// The values of a reliable association on a path of the Internet that asks about the tails of
    /// its bursts alone.
    pub const RELIABLE: PolicyValues = PolicyValues {
        path: Path::DEFAULT,
        bounds: Bounds::DEFAULT,
        source: SampleSource::Units,
        resends: u16::MAX,
        reordering: Some(3),
        forgetting: Forgetting::Nothing,
        rate: None,
        phases: [None; 4],
        negotiates: false,
    };

    /// Returns twice the round trip that the path is said to have.
    fn twice_there_and_back(&self) -> Nanoseconds {
        (2 * self.path.round_trip).max(TIMEOUT_LEAST)
    }

    /// Returns the timeout before anything was measured: at least a second (RFC 6298 (2.1)), for
    /// the path may be slower than it is said to be.
    fn first_timeout(&self) -> Nanoseconds {
        self.twice_there_and_back().max(SECOND)
    }

    fn gathers(&self) -> Nanoseconds {
        (self.path.round_trip / 4).min(GATHER_MOST)
    }

    /// Makes a policy to be chosen at run time.
    pub(super) fn part<T: ?Sized, P: FromValues + IntoPart<T>>(&self) -> SlotPart<T> {
        P::from_values(self).part()
    }
}

/// A policy that can be made of these values.
pub trait FromValues: Sized {
    /// Makes it, for a new association.
    fn from_values(values: &PolicyValues) -> Self;
}

/// Says how each policy is made.
macro_rules! from_values {
    ($($Policy:ty: |$values:pat_param| $make:expr,)*) => {
        $(impl FromValues for $Policy {
            #[inline]
            fn from_values($values: &PolicyValues) -> Self {
                $make
            }
        })*
    };
}

from_values! {
    ordering::Absent: |_| ordering::Absent,
    ordering::Sequenced: |_| ordering::Sequenced::default(),
    framing::OctetStream: |_| framing::OctetStream,
    integrity::Absent: |_| integrity::Absent,
    integrity::Internet: |_| integrity::Internet::new(),
    integrity::Crc32c: |_| integrity::Crc32c,
    integrity::Cxor: |_| integrity::Cxor,
    connection::Agreed: |_| connection::Agreed::default(),
    connection::TwoStage: |values| connection::TwoStage::new(values.first_timeout()),
    connection::Implicit: |values| connection::Implicit::new(values.bounds.linger).validating(),
    connection::Unanswered: |values| connection::Unanswered::new(values.bounds.silence),
    acknowledgement::Absent: |_| acknowledgement::Absent,
    acknowledgement::PeriodicList: |values| {
        acknowledgement::PeriodicList::new(values.gathers(), 2)
    },
    acknowledgement::AckRanges: |values| {
        acknowledgement::AckRanges::new(PACKETS_A_REPORT, values.gathers())
    },
    acknowledgement::OnRequest<true>: |_| acknowledgement::OnRequest::new(),
    acknowledgement::OnRequest<false>: |_| acknowledgement::OnRequest::new(),
    inquiry::Absent: |_| inquiry::Absent,
    inquiry::Polls: |values| {
        let every = values.twice_there_and_back();
        inquiry::Polls::new(every, PACKETS_AN_INQUIRY, values.bounds.silence)
    },
    inquiry::WindowEnd: |values| inquiry::WindowEnd::new(RETRIES, values.bounds.window / 2),
    inquiry::TailProbe: |_| inquiry::TailProbe::new(RETRIES),
    recovery::Absent: |_| recovery::Absent,
    recovery::RackTlp: |values| {
        recovery::RackTlp::new(values.bounds.silence).threshold(values.reordering)
    },
    recovery::SelectiveRepeat: |values| {
        recovery::SelectiveRepeat::new().reordering(values.reordering)
    },
    recovery::GoBackN: |_| recovery::GoBackN,
    rtt::Fixed: |values| rtt::Fixed(values.twice_there_and_back()),
    rtt::Rfc6298: |values| {
        let least = (values.path.round_trip / 2).max(TIMEOUT_LEAST);
        rtt::Rfc6298::new(values.source, values.first_timeout(), least)
    },
    flow::Absent: |_| flow::Absent,
    flow::CreditWindow: |values| flow::CreditWindow::new(values.bounds.window),
    congestion::Absent: |_| congestion::Absent,
    congestion::Aimd: |values| congestion::Aimd::new(values.path.packet as u64),
    congestion::NewReno: |values| congestion::NewReno::new(values.path.packet as u64),
    congestion::Cubic: |values| congestion::Cubic::new(values.path.packet as u64),
    congestion::Bbr: |values| congestion::Bbr::new(values.path.packet as u64),
    congestion::Fitted: |values| congestion::Fitted::new(values.path.packet as u64),
    congestion::Probing: |values| congestion::Probing::new(values.path.packet as u64),
    rate::Absent: |_| rate::Absent,
    rate::Paced: |values| {
        // A rate is known wherever this policy is selected.
        let unbounded = FixedRate { octets: NonZeroU64::MAX, burst: 0 };
        let FixedRate { octets, burst } = values.rate.unwrap_or(unbounded);
        let usual = BURST.saturating_mul(values.path.packet as u32);
        rate::Paced::new(octets, if burst == 0 { usual } else { burst })
    },
    rate::PacedByCongestion: |_| rate::PacedByCongestion::new(),
    lifetime::Absent: |_| lifetime::Absent,
    lifetime::Timestamps: |values| lifetime::Timestamps::new(values.bounds.epoch),
    lifetime::Deadline: |_| lifetime::Deadline,
}

impl FromValues for () {
    fn from_values(_: &PolicyValues) -> Self {}
}

impl FromValues for InPhases {
    fn from_values(values: &PolicyValues) -> Self {
        InPhases::new(values.phases)
    }
}

impl FromValues for Negotiated {
    fn from_values(values: &PolicyValues) -> Self {
        Negotiated::new(values.phases)
    }
}

impl FromValues for PlannedSwitching {
    fn from_values(values: &PolicyValues) -> Self {
        match values.phases {
            [None, None, None, None] => PlannedSwitching::Absent,
            _ if values.negotiates => {
                PlannedSwitching::Negotiated(Box::new(Negotiated::from_values(values)))
            }
            _ => PlannedSwitching::InPhases(InPhases::from_values(values)),
        }
    }
}

impl<M> FromValues for ordering::ByEpoch<M> {
    fn from_values(values: &PolicyValues) -> Self {
        ordering::ByEpoch::new(values.phases)
    }
}

impl<M> FromValues for ordering::Total<M> {
    fn from_values(_: &PolicyValues) -> Self {
        ordering::Total::new()
    }
}

impl<M> FromValues for framing::Fragments<M> {
    fn from_values(values: &PolicyValues) -> Self {
        framing::Fragments::new(values.bounds.fragments, values.bounds.longest)
            .forgetting(values.forgetting)
    }
}

impl<M> FromValues for framing::MessageEnd<M> {
    fn from_values(values: &PolicyValues) -> Self {
        framing::MessageEnd::new(values.bounds.longest)
    }
}

impl<A: FromValues> FromValues for acknowledgement::GapAtOnce<A> {
    fn from_values(values: &PolicyValues) -> Self {
        acknowledgement::GapAtOnce::new(A::from_values(values))
    }
}

impl<R: FromValues> FromValues for recovery::LimitedRetransmissions<R> {
    fn from_values(values: &PolicyValues) -> Self {
        recovery::LimitedRetransmissions::new(R::from_values(values), values.resends)
    }
}

impl<I: FromValues> FromValues for inquiry::KeepAlive<I> {
    fn from_values(values: &PolicyValues) -> Self {
        // A peer is asked twice before it counts as gone.
        let silence = values.bounds.silence;
        inquiry::KeepAlive::new(I::from_values(values), silence / 2, silence)
    }
}
