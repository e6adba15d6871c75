//! Builds the policies of a plan.

use core::num::NonZeroU64;

use stackwright_transport::rules::Misfit;
use stackwright_transport::slots::{Format, Front, Switching};
use stackwright_transport::words::{Nanoseconds, SECOND};
use stackwright_transport::{Boxed, Parts, SlotPart, Slots};
use stackwright_wire::Message;

use super::select::{
    Asking, Checking, Connecting, Flowing, Framing, Living, Ordering, Pacing, Recovering,
    Reporting, Sharing, Timing,
};
use super::values::{FromValues, PolicyValues};
use super::{FixedRate, Plan};
use crate::{
    acknowledgement, congestion, connection, flow, framing, inquiry, integrity, lifetime, ordering,
    rate, recovery, rtt,
};

/// Bounds how much an association holds and how long it waits: what neither requirements nor path
/// say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// The most numbers that are kept for an application that does not read: octets or packets, as
    /// the format counts.
    pub window: u64,
    /// The longest message, in octets.
    pub longest: usize,
    /// The most fragments of a message that the format can express.
    pub fragments: u32,
    /// The silence after which the peer counts as gone, in nanoseconds.
    pub silence: Nanoseconds,
    /// How long an association that is over answers a peer that may not know it, in nanoseconds.
    pub linger: Nanoseconds,
    /// The time of day at the start of time, in microseconds since 1970.
    pub epoch: u64,
}

impl Bounds {
    /// The default, for constants.
    pub const DEFAULT: Bounds = Bounds {
        window: 1024,
        longest: 10 << 20,
        fragments: 0xffff,
        silence: 30 * SECOND,
        linger: 60 * SECOND,
        epoch: 0,
    };
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds::DEFAULT
    }
}

impl Plan {
    /// Builds the policies of a new association in this format. `S` is `()` where all messages go
    /// by one set of rules, or
    /// [`PlannedSwitching`](crate::switching::PlannedSwitching).
    ///
    /// # Errors
    /// A rule that is broken, where the format carries less than the one for which the plan was
    /// made, or the plan switches and `S` does not.
    pub fn build<M, F, S>(
        &self,
        format: SlotPart<dyn Format<M, Front = F>>,
        bounds: &Bounds,
    ) -> Result<Slots<Boxed<M, F, S>>, Misfit>
    where
        M: Message,
        F: Front<M>,
        S: Switching + FromValues + 'static,
    {
        let select = &self.select;
        let values = self.values(bounds);
        let parts = Parts {
            format,
            ordering: match select.ordering.0 {
                Ordering::Absent => values.part::<_, ordering::Absent>(),
                Ordering::Sequenced => values.part::<_, ordering::Sequenced>(),
                Ordering::Total => values.part::<_, ordering::Total<M>>(),
                Ordering::ByEpoch => values.part::<_, ordering::ByEpoch<M>>(),
            },
            framing: match select.framing.0 {
                Framing::Fragments => values.part::<_, framing::Fragments<M>>(),
                Framing::MessageEnd => values.part::<_, framing::MessageEnd<M>>(),
                Framing::OctetStream => values.part::<_, framing::OctetStream>(),
            },
            integrity: match select.integrity.0 {
                Checking::Absent => values.part::<_, integrity::Absent>(),
                Checking::Internet => values.part::<_, integrity::Internet>(),
                Checking::Crc32c => values.part::<_, integrity::Crc32c>(),
                Checking::Cxor => values.part::<_, integrity::Cxor>(),
            },
            connection: match select.connection.0 {
                Connecting::Agreed => values.part::<_, connection::Agreed>(),
                Connecting::TwoStage => values.part::<_, connection::TwoStage>(),
                Connecting::Implicit => values.part::<_, connection::Implicit>(),
                Connecting::Unanswered => values.part::<_, connection::Unanswered>(),
            },
            acknowledgement: match select.acknowledgement.0 {
                Reporting::Absent => values.part::<_, acknowledgement::Absent>(),
                Reporting::PeriodicList => values.part::<_, acknowledgement::PeriodicList>(),
                Reporting::AckRanges => values.part::<_, acknowledgement::AckRanges>(),
                Reporting::OnRequest => values.part::<_, acknowledgement::OnRequest<true>>(),
                Reporting::FirstMissing => values.part::<_, acknowledgement::OnRequest<false>>(),
                Reporting::GapAtOnce => {
                    values.part::<_, acknowledgement::GapAtOnce<acknowledgement::OnRequest<true>>>()
                }
                Reporting::FirstGapAtOnce => values
                    .part::<_, acknowledgement::GapAtOnce<acknowledgement::OnRequest<false>>>(),
            },
            inquiry: match select.inquiry.0 {
                Asking::Absent => values.part::<_, inquiry::Absent>(),
                Asking::Polls => values.part::<_, inquiry::Polls>(),
                Asking::WindowEnd => values.part::<_, inquiry::KeepAlive<inquiry::WindowEnd>>(),
                Asking::TailProbe => values.part::<_, inquiry::KeepAlive<inquiry::TailProbe>>(),
            },
            recovery: match select.recovery.0 {
                Recovering::Absent => values.part::<_, recovery::Absent>(),
                Recovering::RackTlp => values.part::<_, recovery::RackTlp>(),
                Recovering::SelectiveRepeat => values.part::<_, recovery::SelectiveRepeat>(),
                Recovering::GoBackN => values.part::<_, recovery::GoBackN>(),
                Recovering::LimitedRackTlp => {
                    values.part::<_, recovery::LimitedRetransmissions<recovery::RackTlp>>()
                }
                Recovering::LimitedSelectiveRepeat => {
                    values.part::<_, recovery::LimitedRetransmissions<recovery::SelectiveRepeat>>()
                }
            },
            rtt: match select.rtt.0 {
                Timing::Fixed => values.part::<_, rtt::Fixed>(),
                Timing::Rfc6298 => values.part::<_, rtt::Rfc6298>(),
            },
            flow: match select.flow.0 {
                Flowing::Absent => values.part::<_, flow::Absent>(),
                Flowing::CreditWindow => values.part::<_, flow::CreditWindow>(),
            },
            congestion: match select.congestion.0 {
                Sharing::Absent => values.part::<_, congestion::Absent>(),
                Sharing::Aimd => values.part::<_, congestion::Aimd>(),
                Sharing::NewReno => values.part::<_, congestion::NewReno>(),
                Sharing::Bbr => values.part::<_, congestion::Bbr>(),
                Sharing::Cubic => values.part::<_, congestion::Cubic>(),
                Sharing::Fitted => values.part::<_, congestion::Fitted>(),
                Sharing::Probing => values.part::<_, congestion::Probing>(),
            },
            rate: match select.rate.0 {
                Pacing::Absent => values.part::<_, rate::Absent>(),
                Pacing::Paced => values.part::<_, rate::Paced>(),
                Pacing::PacedByCongestion => values.part::<_, rate::PacedByCongestion>(),
            },
            lifetime: match select.lifetime.0 {
                Living::Absent => values.part::<_, lifetime::Absent>(),
                Living::Timestamps => values.part::<_, lifetime::Timestamps>(),
                Living::Deadline => values.part::<_, lifetime::Deadline>(),
            },
        };
        parts.build_switching(S::from_values(&values))
    }

    /// Returns what the policies of an association need to know beyond their types.
    pub fn values(&self, bounds: &Bounds) -> PolicyValues {
        let (select, path) = (&self.select, &self.path);
        let asks = !matches!(select.inquiry.0, Asking::Absent | Asking::TailProbe);
        PolicyValues {
            path: *path,
            bounds: *bounds,
            // Where only the tail of a burst is asked about, a sender without a pause never asks.
            source: if asks { rtt::SampleSource::Answers } else { rtt::SampleSource::Units },
            resends: self.requirements.resends.unwrap_or(u16::MAX),
            reordering: (!asks).then_some(if path.reorders { 3 } else { 1 }),
            forgetting: match select.lifetime.0 {
                _ if !self.requirements.reliable => framing::Forgetting::Lost(bounds.window),
                Living::Timestamps => framing::Forgetting::Expired,
                Living::Deadline | Living::Absent => framing::Forgetting::Nothing,
            },
            rate: self.requirements.rate.or_else(|| {
                let octets = path.rate.and_then(NonZeroU64::new)?;
                Some(FixedRate { octets, burst: 0 })
            }),
            phases: self.requirements.phases,
            negotiates: self.requirements.negotiates,
        }
    }
}
