//! The phases of the cycle.

use stackwright_contract::Instant;
use stackwright_transport::words::{MILLISECOND, Nanoseconds};

use super::path::Path;

/// How long the round trip is probed, at least (§2.5, ProbeRTTDuration).
const PROBE: Nanoseconds = 200 * MILLISECOND;

/// After how many round trips without a quarter more the path is full (§5.3.1.2).
const FULL: u32 = 3;

/// The longest probe of the rate upward and downward, in round trips.
const UP_MOST: u64 = 3;
const DOWN_MOST: u64 = 2;

/// By how much the rate has to rise of the quarter more that was tried, for the next quarter to be
/// tried at once.
const PASSED: f64 = 1.15;

/// The least number of round trips between two probes; chance adds up to four.
const CRUISE: u64 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// Doubles with each round trip (§5.3.1).
    Startup,
    /// The queue of startup goes away (§5.3.2).
    Drain,
    /// A quarter less, until no queue is left.
    Down,
    /// At the measured rate.
    Cruise,
    /// A quarter more, to see whether it passes.
    Up,
    /// Half, so that the shortest round trip is seen (§5.3.4).
    ProbeRtt,
}

/// What a report says about the phase.
pub(super) struct Turn {
    pub(super) now: Instant,
    pub(super) in_flight: u64,
    /// Whether there was too little to send, where a round trip is over.
    pub(super) new_round: Option<bool>,
    pub(super) congested: bool,
    /// Whether the shortest round trip was too long ago.
    pub(super) is_stale: bool,
    /// What may be in flight while the round trip is probed.
    pub(super) half: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    phase: Phase,
    /// In which round trip it began, and after how many it is over.
    began: u64,
    lasts: u64,
    /// Whether the path was full once, and the rate at which that is noticed.
    filled: bool,
    full_rate: u64,
    full_rounds: u32,
    /// The rate when more was last tried; `None`: not since the path was last drained or probed.
    tried_at: Option<u64>,
    /// When the probe of the round trip is over, once little is in flight.
    probe_over: Option<Instant>,
}

impl Cycle {
    pub(super) const fn new() -> Self {
        Cycle {
            phase: Phase::Startup,
            began: 0,
            lasts: 0,
            filled: false,
            full_rate: 0,
            full_rounds: 0,
            tried_at: None,
            probe_over: None,
        }
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    pub(super) fn is_filled(&self) -> bool {
        self.filled
    }

    /// Returns the pacing rate as a factor of the measured rate; a hundredth less, so that queues
    /// go away (§5.6.2).
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.phase {
            Phase::Startup => 2.77,
            Phase::Drain => 0.35,
            Phase::Down => 0.75,
            Phase::Cruise | Phase::ProbeRtt => 0.99,
            Phase::Up => 1.25,
        }
    }

    /// Returns what is to be in flight as a factor of what the path holds.
    pub(super) fn window_gain(&self) -> f64 {
        if self.phase == Phase::Up { 2.25 } else { 2.0 }
    }

    fn enter(&mut self, phase: Phase, lasts: u64, path: &Path) {
        (self.phase, self.began, self.lasts) = (phase, path.rounds, lasts);
    }

    fn rise(&mut self, path: &Path) {
        self.tried_at = Some(path.rate());
        self.enter(Phase::Up, UP_MOST, path);
    }

    fn cruise(&mut self, now: Instant, path: &Path) {
        // By chance, so that two flows do not probe at once for ever: the time is as good as any.
        let chance = now.nanoseconds().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.enter(Phase::Cruise, CRUISE + chance % 5, path);
    }

    /// Takes a report into account.
    pub(super) fn turn(&mut self, turn: &Turn, path: &mut Path) {
        self.fill(turn, path);
        if turn.is_stale && self.phase != Phase::ProbeRtt {
            (self.probe_over, self.tried_at) = (None, None);
            self.enter(Phase::ProbeRtt, 1, path);
        }
        let is_over = path.rounds - self.began >= self.lasts;
        // What passed is known a round trip later; then there may be room for still more.
        let has_passed = path.rounds > self.began
            && self.tried_at.is_some_and(|tried| path.rate() as f64 >= PASSED * tried as f64);
        let empty = turn.in_flight <= path.in_flight(1.0);
        match self.phase {
            Phase::Startup if self.filled => self.enter(Phase::Drain, UP_MOST, path),
            Phase::Drain if empty => self.cruise(turn.now, path),
            Phase::Down | Phase::Cruise if has_passed => self.rise(path),
            Phase::Down if empty || is_over => self.cruise(turn.now, path),
            Phase::Cruise if is_over => self.rise(path),
            Phase::Up => {
                let passed = path.rounds > self.began && turn.in_flight >= path.in_flight(1.25);
                if turn.congested || passed || is_over {
                    self.enter(Phase::Down, DOWN_MOST, path);
                }
            }
            Phase::ProbeRtt => self.probe(turn, is_over, path),
            _ => {}
        }
    }

    fn fill(&mut self, turn: &Turn, path: &Path) {
        if self.filled {
            return;
        }
        if turn.new_round == Some(false) {
            if path.rate() as f64 >= 1.25 * self.full_rate as f64 {
                (self.full_rate, self.full_rounds) = (path.rate(), 0);
            } else {
                self.full_rounds += 1;
            }
        }
        self.filled = self.full_rounds >= FULL || turn.congested;
    }

    fn probe(&mut self, turn: &Turn, is_over: bool, path: &mut Path) {
        match self.probe_over {
            None if turn.in_flight <= turn.half => {
                self.probe_over = Some(turn.now.later(PROBE));
                self.enter(Phase::ProbeRtt, 1, path);
            }
            Some(over) if is_over && over <= turn.now => {
                path.confirm(turn.now);
                if self.filled {
                    self.cruise(turn.now, path);
                } else {
                    self.enter(Phase::Startup, 0, path);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use stackwright_transport::words::SECOND;

    use super::*;
    use crate::congestion::bbr::delivery::RateSample;

    /// A round trip of a second, in which a thousand octets arrive.
    struct Rounds {
        cycle: Cycle,
        path: Path,
        now: Instant,
        delivered: u64,
    }

    impl Rounds {
        fn pass(&mut self, rate: u64, is_stale: bool) -> Phase {
            let sample = RateSample { rate: Some(rate), prior: self.delivered, is_limited: false };
            self.now = self.now.later(SECOND + 77);
            self.delivered += 1000;
            self.path.see_rate(&sample, self.delivered);
            let (now, new_round) = (self.now, Some(false));
            let turn = Turn { now, in_flight: 0, new_round, congested: false, is_stale, half: 500 };
            self.cycle.turn(&turn, &mut self.path);
            self.cycle.phase()
        }

        /// Returns how many round trips pass until it tries more.
        fn cruises(&mut self) -> u64 {
            (1..20).find(|_| self.pass(1000, false) == Phase::Up).expect("it tries more")
        }
    }

    /// Though nothing was tried before that could have passed.
    #[test]
    fn it_cruises_for_two_to_six_round_trips_behind_startup_and_behind_a_probe() {
        for start in 0..50 {
            let now = Instant::START.later(start * SECOND / 7);
            let mut rounds = Rounds { cycle: Cycle::new(), path: Path::new(), now, delivered: 0 };
            rounds.path.see_round_trip(now, SECOND);
            let drained = (1..20).find(|_| rounds.pass(1000, false) == Phase::Cruise);
            assert!(drained.is_some());
            assert!((2..=6).contains(&rounds.cruises()), "{start}");
            // Faster, and then a probe: that it passed is no news behind it.
            rounds.pass(2000, false);
            assert_eq!(rounds.pass(2000, true), Phase::ProbeRtt);
            let probed = (1..20).find(|_| rounds.pass(2000, false) == Phase::Cruise);
            assert!(probed.is_some());
            assert!((2..=6).contains(&rounds.cruises()), "{start}");
        }
    }
}
