//! Rests between two looks, while much comes.

use std::mem;
use std::time::Duration;

use stackwright_contract::Moved;

/// How long one lasts; the kernel adds up to its timer slack, another 50 µs as a rule (prctl(2)). Longer ones save little more, and what
/// gathers meanwhile leaves the processor's cache.
pub(crate) const LULL: Duration = Duration::from_micros(20);

/// Where so many octets moved, more may follow at once: a burst that leaves by one system call.
const MUCH: usize = 32 << 10;

/// After a lull, so many show that it was of use: more than one burst.
const WORTH: usize = 96 << 10;

/// One that lasts so long was no lull: the system's timers are coarse, or somebody else had the processor.
const LATE: Duration = Duration::from_millis(1);

/// So much has to come before the first one, in bursts: nobody waits for the end of something short.
const FIRST: u32 = 16;

/// Who has sent a burst himself may be in an exchange of long messages, whose time would count: so many are left out.
const SPOKEN: u32 = 64;

/// At most so often is none taken after one that was of no use, as a power of two.
const DOUBT_MOST: u32 = 10;

/// Whether to rest before a wait, so that what comes meanwhile is read at once: whoever sends fast wakes a receiver that is faster with
/// each burst, and each time costs both of them microseconds, on virtual machines above all. It is of use where more than one burst comes
/// in that time; where that is not so, because the peer waits for an answer or the way is slower, fewer and fewer are taken.
#[derive(Debug)]
pub(crate) struct Lull {
    /// One was taken before what came last.
    taken: bool,
    /// So many are left out.
    skips: u32,
    doubt: u32,
}

impl Default for Lull {
    fn default() -> Self {
        Lull { taken: false, skips: FIRST, doubt: 0 }
    }
}

impl Lull {
    /// So much moved since the last wait: whether to rest before the next one.
    pub(crate) fn is_due(&mut self, Moved { came, went }: Moved) -> bool {
        if mem::take(&mut self.taken) {
            if came >= WORTH {
                self.doubt = self.doubt.saturating_sub(1);
            } else {
                self.fail();
            }
        }
        if went >= MUCH {
            self.skips = self.skips.max(SPOKEN);
        }
        if came < MUCH {
            return false;
        }
        self.taken = self.skips == 0;
        self.skips = self.skips.saturating_sub(1);
        self.taken
    }

    /// It lasted so long.
    pub(crate) fn on_taken(&mut self, lasted: Duration) {
        if lasted > LATE && mem::take(&mut self.taken) {
            self.fail();
        }
    }

    fn fail(&mut self) {
        self.doubt = DOUBT_MOST.min(self.doubt + 2);
        self.skips = 1 << self.doubt;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn came(came: usize) -> Moved {
        Moved { came, went: 100 }
    }

    /// How many of a thousand waits a lull precedes, where so many octets come with and without one.
    fn of_a_thousand(with: usize, without: usize) -> usize {
        let mut lull = Lull::default();
        let mut octets = without;
        (0..1000)
            .filter(|_| {
                let is_due = lull.is_due(came(octets));
                octets = if is_due { with } else { without };
                is_due
            })
            .count()
    }

    #[test]
    fn where_bursts_follow_each_other_they_gather() {
        assert_eq!(of_a_thousand(3 * 60_000, 60_000), 1000 - FIRST as usize);
    }

    #[test]
    fn who_waits_for_an_answer_is_not_kept_waiting() {
        assert_eq!(of_a_thousand(0, 100), 0, "a few octets");
        assert!(of_a_thousand(60_000, 60_000) < 10, "one burst at a time");
        assert!(of_a_thousand(10_000, 60_000) < 10, "a pause after each burst");
    }

    /// A megabyte each way, time and again.
    #[test]
    fn long_messages_are_exchanged_without() {
        let mut lull = Lull::default();
        let turns = (0..1000)
            .map(|turn| if turn % 20 < 19 { came(60_000) } else { Moved { came: 0, went: 1_000_000 } });
        assert_eq!(turns.filter(|moved| lull.is_due(*moved)).count(), 1, "before anything went");
    }

    /// Several bursts, and a pause: half of the lulls are of use.
    #[test]
    fn half_of_them_is_not_enough() {
        let mut lull = Lull::default();
        let taken =
            (0..1000).filter(|turn| lull.is_due(came(if turn % 2 == 0 { 200_000 } else { 40_000 }))).count();
        assert!(taken < 50, "{taken}");
    }

    #[test]
    fn where_timers_are_coarse_none_are_taken() {
        let mut lull = Lull::default();
        let taken = (0..1000).filter(|_| {
            let is_due = lull.is_due(came(1_000_000));
            lull.on_taken(Duration::from_millis(4));
            is_due
        });
        assert!(taken.count() < 10);
    }

    #[test]
    fn a_stumble_is_forgotten() {
        let mut lull = Lull::default();
        let taken =
            (0..10_000).filter(|turn| lull.is_due(came(if turn % 20 == 0 { 0 } else { 200_000 }))).count();
        assert!(taken > 7000, "{taken}");
    }
}
