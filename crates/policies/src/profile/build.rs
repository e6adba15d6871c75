//! Builds the policies of a plan.

use core::num::NonZeroU64;

use stackwright_transport::rules::Misfit;
use stackwright_transport::slots::{Format, Front};
use stackwright_transport::words::{MILLISECOND, Nanoseconds, SECOND};
use stackwright_transport::{Boxed, IntoPart, Parts, SlotPart, Slots};
use stackwright_wire::Message;

use super::Plan;
use super::select::{
    Asking, Checking, Connecting, Flowing, Framing, Living, Ordering, Pacing, Recovering,
    Reporting, Sharing, Timing,
};
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
    /// The time of day at the start of time, in microseconds since 1970.
    pub epoch: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            window: 1024,
            longest: 10 << 20,
            fragments: 0xffff,
            silence: 30 * SECOND,
            epoch: 0,
        }
    }
}

/// The longest time for which a report is delayed.
const GATHER_MOST: Nanoseconds = 50 * MILLISECOND;

/// No timeout is shorter than this, or than half of the round trip.
const TIMEOUT_LEAST: Nanoseconds = 10 * MILLISECOND;

/// Packets between two inquiries.
const PACKETS_AN_INQUIRY: u32 = 16;

/// Packets that may leave at once where a rate is kept.
const BURST: u32 = 4;

impl Plan {
    /// Builds the policies of a new association in this format.
    ///
    /// # Errors
    /// A rule that is broken, where the format carries less than the one for which the plan was
    /// made.
    pub fn build<M: Message, F: Front<M>>(
        &self,
        format: SlotPart<dyn Format<M, Front = F>>,
        bounds: &Bounds,
    ) -> Result<Slots<Boxed<M, F>>, Misfit> {
        let (select, path) = (&self.select, &self.path);
        let packet = path.packet as u64;
        let first = (2 * path.round_trip).max(TIMEOUT_LEAST);
        let source = if select.inquiry.0 == Asking::Absent {
            rtt::SampleSource::Units
        } else {
            rtt::SampleSource::Answers
        };
        let parts = Parts {
            format,
            ordering: match select.ordering.0 {
                Ordering::Absent => ordering::Absent.part(),
                Ordering::Sequenced => ordering::Sequenced::default().part(),
                Ordering::Total => ordering::Total::new().part(),
            },
            framing: match select.framing.0 {
                Framing::Fragments => {
                    let forgetting = match select.lifetime.0 {
                        _ if !self.requirements.reliable => {
                            framing::Forgetting::Lost(bounds.window)
                        }
                        Living::Timestamps => framing::Forgetting::Expired,
                        Living::Deadline | Living::Absent => framing::Forgetting::Nothing,
                    };
                    framing::Fragments::new(bounds.fragments, bounds.longest)
                        .forgetting(forgetting)
                        .part()
                }
                Framing::MessageEnd => framing::MessageEnd::new(bounds.longest).part(),
                Framing::OctetStream => framing::OctetStream.part(),
            },
            integrity: match select.integrity.0 {
                Checking::Absent => integrity::Absent.part(),
                Checking::Internet => integrity::Internet::new().part(),
            },
            connection: match select.connection.0 {
                Connecting::Agreed => connection::Agreed::default().part(),
                Connecting::TwoStage => connection::TwoStage::new(first).part(),
            },
            acknowledgement: match select.acknowledgement.0 {
                Reporting::Absent => acknowledgement::Absent.part(),
                Reporting::PeriodicList => {
                    acknowledgement::PeriodicList::new((path.round_trip / 4).min(GATHER_MOST), 2)
                        .part()
                }
                Reporting::OnRequest => acknowledgement::OnRequest::<true>::new().part(),
            },
            inquiry: match select.inquiry.0 {
                Asking::Absent => inquiry::Absent.part(),
                Asking::Polls => {
                    inquiry::Polls::new(first, PACKETS_AN_INQUIRY, bounds.silence).part()
                }
            },
            recovery: match select.recovery.0 {
                Recovering::Absent => recovery::Absent.part(),
                Recovering::RackTlp => {
                    let threshold = if path.reorders { 3 } else { 1 };
                    recovery::RackTlp::new(bounds.silence).threshold(Some(threshold)).part()
                }
                Recovering::SelectiveRepeat => recovery::SelectiveRepeat::default().part(),
            },
            rtt: match select.rtt.0 {
                Timing::Fixed => rtt::Fixed(first).part(),
                Timing::Rfc6298 => {
                    rtt::Rfc6298::new(source, first, (path.round_trip / 2).max(TIMEOUT_LEAST))
                        .part()
                }
            },
            flow: match select.flow.0 {
                Flowing::Absent => flow::Absent.part(),
                Flowing::CreditWindow => flow::CreditWindow::new(bounds.window).part(),
            },
            congestion: match select.congestion.0 {
                Sharing::Absent => congestion::Absent.part(),
                Sharing::Bbr => congestion::Bbr::new(packet).part(),
                Sharing::Cubic => congestion::Cubic::new(packet).part(),
                Sharing::Probing => congestion::Probing::new(packet).part(),
            },
            rate: match (select.rate.0, path.rate.and_then(NonZeroU64::new)) {
                (Pacing::Paced, Some(rate)) => {
                    rate::Paced::new(rate, BURST.saturating_mul(path.packet as u32)).part()
                }
                (Pacing::PacedByCongestion, _) => rate::PacedByCongestion::new().part(),
                _ => rate::Absent.part(),
            },
            lifetime: match select.lifetime.0 {
                Living::Absent => lifetime::Absent.part(),
                Living::Timestamps => lifetime::Timestamps::new(bounds.epoch).part(),
                Living::Deadline => lifetime::Deadline.part(),
            },
        };
        parts.build()
    }
}
