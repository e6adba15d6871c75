//! The send buffer: how many octets of messages the layer above may have handed over that are not
//! settled.

use stackwright_contract::services::{Credit, Transfer};

use super::Host;
use crate::configuration::Configuration;
use crate::engine::Association;
use crate::slots::{Congestion as _, Rtt as _};
use crate::words::SECOND;

/// The octets that are always allowed.
const LEAST: usize = 64 << 10;

/// How many of the octets that the host allows at most the layer above is given as credit.
///
/// Two congestion windows, because a window in slow start doubles within a round trip, and a second
/// of the rate, because an application may wake late. On a slow path that is far less than on a
/// fast one, so what an application hands over does not wait there for minutes, and its own clock
/// tells something. Two of the longest messages come on top: the octets of a message are credit
/// again when all of it is settled, and meanwhile the next one is to leave.
///
/// As TCP's send buffer, it only grows: to the layer above, credit that is not given back would
/// look like messages that are still on their way.
pub(super) struct Allowance {
    /// What was not allowed yet.
    withheld: usize,
    /// The octets of the longest message, while something is withheld.
    longest: usize,
}

impl Allowance {
    /// Returns the first credit, where the host allows `most`. The messages of a stream are of any
    /// length that there is credit for; it has all from the beginning.
    pub(super) fn first<H: Host>(most: Credit) -> Credit {
        match H::Transfer::MESSAGES {
            true => Credit { octets: most.octets.min(LEAST), ..most },
            false => most,
        }
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
    pub(super) fn more<C: Configuration>(&mut self, most: usize, engine: &Association<C>) -> usize {
        if self.withheld > 0 { self.grow(most, engine) } else { 0 }
    }

    fn grow<C: Configuration>(&mut self, most: usize, engine: &Association<C>) -> usize {
        let (slots, mut octets) = (engine.slots(), LEAST as u64);
        let window = slots.congestion.window();
        let smoothed = slots.rtt.estimate().smoothed;
        if let Some(rate) = window.saturating_mul(SECOND).checked_div(smoothed) {
            let rate = slots.congestion.pace().map_or(rate, |pace| rate.min(pace.get()));
            octets = octets.max(window.saturating_mul(2).saturating_add(rate));
        }
        let octets = usize::try_from(octets).unwrap_or(usize::MAX);
        let suits = octets.saturating_add(2 * self.longest);
        let more = suits.saturating_sub(most - self.withheld).min(self.withheld);
        self.withheld -= more;
        more
    }
}
