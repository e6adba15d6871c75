//! HyStart++ (RFC 9406): slow start ends where the round trip grows, not where a queue overflows.

use stackwright_contract::Instant;
use stackwright_transport::Acknowledged;
use stackwright_transport::words::{MILLISECOND, Nanoseconds, View};

/// By how much the least round trip of a round has to grow (§4.3): an eighth, within these bounds.
const GROWTH_PART: u64 = 8;
const GROWTH_LEAST: Nanoseconds = 4 * MILLISECOND;
const GROWTH_MOST: Nanoseconds = 16 * MILLISECOND;

const MICROSECOND: Nanoseconds = MILLISECOND / 1000;

/// How many samples a round needs (§4.3).
const SAMPLES: usize = 8;

/// How much slower conservative slow start is, and how many rounds it lasts (§4.3).
const SLOWER: u64 = 4;
const ROUNDS: u32 = 5;

/// By how much the least of the last samples has to exceed the least of all for slow start to end
/// at once: by half, and by more than what a host's clocks and delayed acknowledgements do.
const EXCESS_LEAST: Nanoseconds = 8 * MILLISECOND;

/// Judges by the round trip whether slow start goes on. It is for the first one only (RFC 9406
/// §4.3): later ones have a threshold.
///
/// The RFC compares the least sample of a round with that of the round before. Where the queue is
/// about as long as what the path holds, that finds nothing: in a burst the first packets of a
/// round meet an empty queue, and the last ones overflow it. So the least of the last eight samples
/// is compared with the least of all as well: a standing queue of half the path ends slow start,
/// and the window goes back to what the path holds without it.
///
/// SEARCH (draft-chung-ccwg-search) compares what is delivered with what was sent a round trip
/// earlier, over three and a half round trips. A queue as long as the path overflows sooner: at 100
/// Mb/s and 300 ms it resent 0.071 of the packets, the RFC alone 0.026, and this 0.007
/// (`docs/a-judge-of-ones-own.md`).
#[derive(Clone, Copy, Debug)]
pub(super) struct HyStart {
    /// A round is over when all before this number is settled.
    round_upto: u64,
    /// The least sample of the last round, of this one, and how many this one has.
    last_least: Nanoseconds,
    least: Nanoseconds,
    samples: u32,
    /// In conservative slow start: the least round trip when it began, and its rounds.
    conservative: Option<(Nanoseconds, u32)>,
    /// The last samples in microseconds, in a ring, and how many there were ever: every association
    /// has one, so they are short.
    recent: [u32; SAMPLES],
    seen: u32,
    least_ever: Nanoseconds,
}

/// What becomes of slow start.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Verdict {
    /// The window grows by this many octets.
    Grows(u64),
    /// Slow start is over. The window holds a queue: this part of it is on the path.
    Over(f64),
}

impl HyStart {
    pub(super) const fn new() -> Self {
        HyStart {
            round_upto: 0,
            last_least: Nanoseconds::MAX,
            least: Nanoseconds::MAX,
            samples: 0,
            conservative: None,
            recent: [0; SAMPLES],
            seen: 0,
            least_ever: Nanoseconds::MAX,
        }
    }

    /// Takes into account what was acknowledged in a window of `packets` packets.
    pub(super) fn judge(
        &mut self,
        view: &View,
        acknowledged: &Acknowledged,
        packets: u64,
    ) -> Verdict {
        if view.settled_upto >= self.round_upto && self.ends_round(view) {
            return Verdict::Over(1.0);
        }
        // A report acknowledges several packets, so that a small window has fewer samples.
        let enough = (packets / 4).clamp(1, SAMPLES as u64) as u32;
        if let Some(at) = acknowledged.measured()
            && let Some(part) = self.see(view.now, at, enough)
        {
            return Verdict::Over(part);
        }
        if self.samples >= enough && self.last_least != Nanoseconds::MAX {
            let growth = (self.last_least / GROWTH_PART).clamp(GROWTH_LEAST, GROWTH_MOST);
            match self.conservative {
                None if self.least >= self.last_least + growth => {
                    self.conservative = Some((self.least, 0));
                }
                // It was a burst, and no queue.
                Some((baseline, _)) if self.least < baseline => self.conservative = None,
                _ => {}
            }
        }
        let slower = if self.conservative.is_some() { SLOWER } else { 1 };
        Verdict::Grows(acknowledged.octets / slower)
    }

    /// Begins a round, and returns whether the last one of conservative slow start is over.
    fn ends_round(&mut self, view: &View) -> bool {
        (self.last_least, self.least, self.samples) = (self.least, Nanoseconds::MAX, 0);
        self.round_upto = view.sent_upto;
        self.conservative.as_mut().is_some_and(|(_, rounds)| {
            *rounds += 1;
            *rounds >= ROUNDS
        })
    }

    /// Takes a sample into account, and returns which part of the window is on the path, where the
    /// least of the last `enough` samples shows a queue.
    fn see(&mut self, now: Instant, sent_at: Instant, enough: u32) -> Option<f64> {
        let took = now.nanoseconds_since(sent_at).max(1);
        self.least = self.least.min(took);
        self.least_ever = self.least_ever.min(took);
        self.samples += 1;
        self.recent[self.seen as usize % SAMPLES] =
            u32::try_from(took / MICROSECOND).unwrap_or(u32::MAX);
        self.seen = self.seen.wrapping_add(1);
        if self.seen <= enough {
            return None;
        }
        let place = |back| self.seen.wrapping_sub(back) as usize % SAMPLES;
        let last = (1..=enough).map(|back| self.recent[place(back)]);
        let least = last.min().map_or(took, |least| u64::from(least) * MICROSECOND);
        let excess = (self.least_ever / 2).max(EXCESS_LEAST);
        (least >= self.least_ever.saturating_add(excess))
            .then(|| self.least_ever as f64 / least as f64)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const ROUND_TRIP: Nanoseconds = 100 * MILLISECOND;
    const PACKETS: u64 = 40;

    /// Slow start whose rounds have as many reports of a packet, each.
    struct Start {
        hystart: HyStart,
        now: u64,
        settled: u64,
    }

    impl Start {
        fn new() -> Self {
            Start { hystart: HyStart::new(), now: 1_000_000_000, settled: 0 }
        }

        /// Returns the verdicts of a round, in which the nth packet takes this long.
        fn round(&mut self, took: impl Fn(u64) -> Nanoseconds) -> Vec<Verdict> {
            let end = self.settled + PACKETS;
            self.now += ROUND_TRIP;
            (0..PACKETS)
                .map(|nth| {
                    let now = Instant::from_nanoseconds(self.now);
                    let view =
                        View { now, settled_upto: self.settled, sent_upto: end, ..View::START };
                    let sent_at = Instant::from_nanoseconds(self.now - took(nth));
                    let acknowledged = Acknowledged {
                        octets: 1000,
                        units: 1,
                        newest: Some(sent_at),
                        ..Acknowledged::default()
                    };
                    self.settled += 1;
                    self.hystart.judge(&view, &acknowledged, PACKETS)
                })
                .collect()
        }
    }

    #[test]
    fn a_steady_round_trip_goes_on_and_jitter_is_no_growth() {
        let mut start = Start::new();
        for _ in 0..20 {
            let verdicts = start.round(|nth| ROUND_TRIP + nth % 4 * MILLISECOND);
            assert!(verdicts.iter().all(|verdict| *verdict == Verdict::Grows(1000)));
        }
    }

    /// §4.2: a quarter for five rounds, the one in which it was noticed included.
    #[test]
    fn a_round_that_takes_an_eighth_longer_makes_it_conservative_and_five_of_them_end_it() {
        let mut start = Start::new();
        start.round(|_| ROUND_TRIP);
        let longer = ROUND_TRIP + 13 * MILLISECOND;
        let verdicts = start.round(|_| longer);
        assert_eq!(verdicts[6], Verdict::Grows(1000));
        assert_eq!(verdicts[7], Verdict::Grows(250), "the eighth sample");
        for _ in 0..4 {
            assert!(start.round(|_| longer).iter().all(|got| *got == Verdict::Grows(250)));
        }
        assert_eq!(start.round(|_| longer)[0], Verdict::Over(1.0));
    }

    #[test]
    fn it_resumes_where_the_round_trip_shrinks_again() {
        let mut start = Start::new();
        start.round(|_| ROUND_TRIP);
        start.round(|_| ROUND_TRIP + 13 * MILLISECOND);
        let verdicts = start.round(|_| ROUND_TRIP + 3 * MILLISECOND);
        assert_eq!(verdicts[7], Verdict::Grows(1000));
    }

    /// The first packets of a round meet an empty queue: the least of a round shows nothing.
    #[test]
    fn a_queue_of_half_the_path_ends_it_within_a_round() {
        let mut start = Start::new();
        start.round(|_| ROUND_TRIP);
        let verdicts = start.round(|nth| ROUND_TRIP + nth * 3 * MILLISECOND);
        let over = verdicts.iter().position(|verdict| matches!(verdict, Verdict::Over(_)));
        let over = over.expect("it ends");
        assert_eq!(over, 24, "seven packets after the seventeenth, which takes half as long again");
        assert_eq!(verdicts[over], Verdict::Over(100.0 / 151.0));
    }

    /// One late packet, or seven, are no queue.
    #[test]
    fn a_few_late_packets_are_no_queue() {
        let mut start = Start::new();
        for _ in 0..5 {
            let verdicts = start.round(|nth| if nth % 8 < 7 { 9 * ROUND_TRIP } else { ROUND_TRIP });
            assert!(!verdicts.iter().any(|verdict| matches!(verdict, Verdict::Over(_))));
        }
    }
}
