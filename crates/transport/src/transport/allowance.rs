//! The send buffer: how many octets of messages the layer above may have handed over that are not
//! settled.

use stackwright_contract::services::{Credit, Transfer};

use super::Host;
use crate::engine::Association;
use crate::slots::{Congestion as _, Rtt as _};
use crate::words::SECOND;

/// The octets that are always allowed: of messages, and of a stream, whose messages are of any
/// length that there is credit for.
const LEAST: [usize; 2] = [64 << 10, 1 << 20];

/// How many of the octets that the host allows at most the layer above is given as credit.
///
/// Two congestion windows, because a window in slow start doubles within a round trip, and a second
/// of the rate, because an application may wake late. On a slow path that is far less than on a
/// fast one, so what an application hands over does not wait there for minutes, and its own clock
/// tells something. Two of the longest messages come on top: the octets of a message are credit
/// again when all of it is settled, and meanwhile the next one is to leave.
///
/// As TCP's send buffer, it only grows: to the layer above, credit that is not given back would
/// look like messages that are still on their way. A peer that stops acknowledging makes this side
/// hold it, so what is allowed beyond the first is [reserved](crate::limits::Limits), and no more
/// is allowed where others need it.
pub(super) struct Allowance {
    /// What was not allowed yet.
    withheld: usize,
    /// The octets of the longest message, while something is withheld.
    longest: usize,
}

impl Allowance {
    /// Returns the first credit, where the host allows `most`.
    pub(super) fn first<H: Host>(most: Credit) -> Credit {
        let least = LEAST[usize::from(!H::Transfer::MESSAGES)];
        Credit { octets: most.octets.min(least), ..most }
    }

    /// Creates the allowance of an association that was given its [first](Self::first) credit.
    pub(super) fn new<H: Host>(most: Credit) -> Self {
        Allowance { withheld: most.octets - Self::first::<H>(most).octets, longest: 0 }
    }

    /// Records a message that is sent.
    #[inline(always)]
    pub(super) fn on_sent(&mut self, octets: usize) {
        if self.withheld > 0 {
            self.longest = self.longest.max(octets);
        }
    }

    /// Returns how many octets more are allowed now, of `most`.
    #[inline]
    pub(super) fn more<H: Host>(
        &mut self,
        most: Credit,
        engine: &mut Association<H::Configuration>,
    ) -> usize {
        if self.withheld > 0 { self.grow::<H>(most, engine) } else { 0 }
    }

    fn grow<H: Host>(&mut self, most: Credit, engine: &mut Association<H::Configuration>) -> usize {
        let (slots, first) = (engine.slots(), Self::first::<H>(most).octets);
        let mut octets = first as u64;
        let window = slots.congestion.window();
        let smoothed = slots.rtt.estimate().smoothed;
        if let Some(rate) = window.saturating_mul(SECOND).checked_div(smoothed) {
            let rate = slots.congestion.pace().map_or(rate, |pace| rate.min(pace.get()));
            octets = octets.max(window.saturating_mul(2).saturating_add(rate));
        }
        let suits = usize::try_from(octets).unwrap_or(usize::MAX).saturating_add(2 * self.longest);
        let allowed = most.octets - self.withheld;
        if suits <= allowed {
            return 0;
        }
        let reserved = engine.reserve_unsettled(suits.min(most.octets) - first);
        let more = (first + reserved).saturating_sub(allowed);
        self.withheld -= more;
        more
    }
}
