//! A windowed maximum.

/// Keeps the greatest value of the last rounds in constant memory: the greatest, and the greatest
/// of those that came after it, and after that one (§5.5.5; the filter of K. Nichols).
#[derive(Clone, Copy, Debug)]
pub(super) struct Greatest {
    /// Value and round, falling.
    best: [(u64, u64); 3],
}

impl Greatest {
    pub(super) const fn new() -> Self {
        Greatest { best: [(0, 0); 3] }
    }

    #[inline]
    pub(super) fn get(&self) -> u64 {
        self.best[0].0
    }

    /// Takes a `value` of this `round` into account; what is older than `rounds` counts no more.
    pub(super) fn see(&mut self, value: u64, round: u64, rounds: u64) {
        let newest = (value, round);
        let is_over = |(_, seen): (u64, u64)| round.saturating_sub(seen) > rounds;
        if value >= self.best[0].0 || is_over(self.best[2]) {
            self.best = [newest; 3];
            return;
        }
        if value >= self.best[1].0 {
            (self.best[1], self.best[2]) = (newest, newest);
        } else if value >= self.best[2].0 {
            self.best[2] = newest;
        }
        while is_over(self.best[0]) {
            self.best = [self.best[1], self.best[2], newest];
        }
        // None of the three may be as old as another, or all of them would be over together.
        let age = |(_, seen): (u64, u64)| round.saturating_sub(seen);
        if self.best[1].1 == self.best[0].1 && age(self.best[0]) > rounds / 4 {
            (self.best[1], self.best[2]) = (newest, newest);
        } else if self.best[2].1 == self.best[1].1 && age(self.best[1]) > rounds / 2 {
            self.best[2] = newest;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::Greatest;

    #[test]
    fn what_is_greatest_stays_for_its_rounds_and_is_never_below_the_newest() {
        let mut random = 1_u64;
        let mut greatest = Greatest::new();
        let mut seen = Vec::new();
        for round in 0..10_000_u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let value = random >> 40;
            seen.push(value);
            greatest.see(value, round, 10);
            let of_late = |rounds: usize| seen.iter().rev().take(rounds).max().copied().unwrap();
            assert!(greatest.get() <= of_late(11), "round {round}: it is over");
            assert!(greatest.get() >= of_late(3), "round {round}: it was forgotten");
        }
    }

    #[test]
    fn a_fall_is_seen_when_the_rounds_are_over() {
        let mut greatest = Greatest::new();
        greatest.see(100, 0, 10);
        for round in 1..=10 {
            greatest.see(50, round, 10);
            assert_eq!(greatest.get(), 100);
        }
        greatest.see(50, 11, 10);
        assert_eq!(greatest.get(), 50);
    }
}
