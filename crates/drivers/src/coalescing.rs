//! Wake-up coalescing (compare interrupt coalescing): a short sleep before the wait for input,
//! while bursts arrive faster than the receiver is woken for them.
//!
//! Only the driver can sleep, and only the adapters know how much they moved: they add it to the
//! [`Traffic`] of the registry that they share with the driver.

use std::mem;
use std::time::Duration;

/// How long a sleep lasts; the kernel adds up to its timer slack, another 50 µs as a rule
/// (prctl(2)). Longer ones save little more, and what gathers meanwhile leaves the processor's
/// cache.
pub(crate) const SLEEP: Duration = Duration::from_micros(20);

/// Octets of a burst that leaves by one system call: where as many moved, more may follow at once.
const BURST: usize = 32 << 10;

/// Octets that show, after a sleep, that it was of use: more than one burst.
const WORTH: usize = 96 << 10;

/// A sleep that lasted as long: the system's timers are coarse, or another program had the
/// processor.
const LATE: Duration = Duration::from_millis(1);

/// Bursts before the first sleep: the end of a short transfer is not delayed.
const FIRST: u32 = 16;

/// Waits without a sleep after a burst was sent: that may be an exchange of long messages, to which
/// each sleep would add.
const AFTER_SENDING: u32 = 64;

/// The longest back-off after sleeps that were of no use, as a power of two of waits.
const BACK_OFF_MOST: u32 = 10;

/// Octets that adapters moved since the driver waited last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Traffic {
    /// Read from sockets that hold what arrives during a sleep.
    pub(crate) received: usize,
    /// Written.
    pub(crate) sent: usize,
}

/// Decides whether to sleep before a wait, so that several bursts are read at once: each wake-up
/// costs sender and receiver microseconds, above all on virtual machines. A sleep is of use where
/// more than one burst arrives in that time; where that is not so, because the peer waits for an
/// answer or the path is slower, it backs off.
#[derive(Debug)]
pub(crate) struct Coalescing {
    /// It slept before what was received last.
    slept: bool,
    /// Waits before which it does not sleep.
    skips: u32,
    back_off: u32,
}

impl Default for Coalescing {
    fn default() -> Self {
        Coalescing { slept: false, skips: FIRST, back_off: 0 }
    }
}

impl Coalescing {
    /// Returns whether to sleep before the next wait, by what moved since the last one.
    pub(crate) fn is_due(&mut self, Traffic { received, sent }: Traffic) -> bool {
        if mem::take(&mut self.slept) {
            if received >= WORTH {
                self.back_off = self.back_off.saturating_sub(1);
            } else {
                self.fail();
            }
        }
        if sent >= BURST {
            self.skips = self.skips.max(AFTER_SENDING);
        }
        if received < BURST {
            return false;
        }
        self.slept = self.skips == 0;
        self.skips = self.skips.saturating_sub(1);
        self.slept
    }

    /// Tells how long the sleep lasted.
    pub(crate) fn on_slept(&mut self, lasted: Duration) {
        if lasted > LATE && mem::take(&mut self.slept) {
            self.fail();
        }
    }

    fn fail(&mut self) {
        self.back_off = BACK_OFF_MOST.min(self.back_off + 2);
        self.skips = 1 << self.back_off;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(received: usize) -> Traffic {
        Traffic { received, sent: 100 }
    }

    /// Sleeps before a thousand waits, where these numbers of octets arrive with and without one.
    fn of_a_thousand(with: usize, without: usize) -> usize {
        let mut coalescing = Coalescing::default();
        let mut octets = without;
        (0..1000)
            .filter(|_| {
                let is_due = coalescing.is_due(received(octets));
                octets = if is_due { with } else { without };
                is_due
            })
            .count()
    }

    #[test]
    fn bursts_that_follow_each_other_are_coalesced() {
        assert_eq!(of_a_thousand(3 * 60_000, 60_000), 1000 - FIRST as usize);
    }

    #[test]
    fn a_peer_that_waits_for_an_answer_is_not_delayed() {
        assert_eq!(of_a_thousand(0, 100), 0, "a few octets");
        assert!(of_a_thousand(60_000, 60_000) < 10, "one burst at a time");
        assert!(of_a_thousand(10_000, 60_000) < 10, "a pause after each burst");
    }

    /// A megabyte each way, time and again.
    #[test]
    fn an_exchange_of_long_messages_is_not_delayed() {
        let mut coalescing = Coalescing::default();
        let turns = (0..1000).map(|turn| {
            if turn % 20 < 19 { received(60_000) } else { Traffic { received: 0, sent: 1_000_000 } }
        });
        assert_eq!(
            turns.filter(|traffic| coalescing.is_due(*traffic)).count(),
            1,
            "before anything was sent"
        );
    }

    /// Several bursts, and a pause: half of the sleeps are of use.
    #[test]
    fn half_of_them_is_not_enough() {
        let mut coalescing = Coalescing::default();
        let taken = (0..1000)
            .filter(|turn| {
                coalescing.is_due(received(if turn % 2 == 0 { 200_000 } else { 40_000 }))
            })
            .count();
        assert!(taken < 50, "{taken}");
    }

    #[test]
    fn coarse_timers_end_it() {
        let mut coalescing = Coalescing::default();
        let taken = (0..1000).filter(|_| {
            let is_due = coalescing.is_due(received(1_000_000));
            coalescing.on_slept(Duration::from_millis(4));
            is_due
        });
        assert!(taken.count() < 10);
    }

    #[test]
    fn a_stumble_is_forgotten() {
        let mut coalescing = Coalescing::default();
        let taken = (0..10_000)
            .filter(|turn| coalescing.is_due(received(if turn % 20 == 0 { 0 } else { 200_000 })))
            .count();
        assert!(taken > 7000, "{taken}");
    }
}
