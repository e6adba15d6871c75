//! Octets that are gone through piece by piece, in the caches or behind them.

use std::hint::black_box;
use std::ops::Range;
use std::time::Instant;

/// More than the caches of most processors hold.
const COLD: usize = 64 << 20;

/// Where the octets are when a contestant wants them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cache {
    /// In the nearest cache that holds a piece: the same piece again and again.
    Hot,
    /// In memory: one piece after the other of 64 MiB.
    Cold,
}

impl Cache {
    /// Both.
    pub(super) const ALL: [Cache; 2] = [Cache::Hot, Cache::Cold];

    /// Its name in keys and groups.
    pub(super) fn name(self) -> &'static str {
        match self {
            Cache::Hot => "hot",
            Cache::Cold => "cold",
        }
    }
}

/// Pieces of equal length.
#[derive(Clone, Copy)]
pub(super) struct Pieces {
    piece: usize,
    total: usize,
}

impl Pieces {
    /// Pieces of `piece` octets, at least one.
    pub(super) fn new(cache: Cache, piece: usize) -> Self {
        let count = if cache == Cache::Hot { 1 } else { (COLD / piece).max(1) };
        Pieces { piece, total: piece * count }
    }

    /// Random octets for all pieces.
    pub(super) fn octets(self, seed: u64) -> Vec<u8> {
        let mut octets = vec![0; self.total];
        fastrand::Rng::with_seed(seed).fill(&mut octets);
        octets
    }

    /// Returns the rate in Gb/s at which `work` goes through all pieces, as often as `least` octets
    /// take.
    pub(super) fn rate<T>(self, least: usize, mut work: impl FnMut(Range<usize>) -> T) -> f64 {
        let rounds = (least / self.total).max(1);
        let begin = Instant::now();
        for _ in 0..rounds {
            for from in (0..self.total).step_by(self.piece) {
                let from = black_box(from);
                black_box(work(from..from + self.piece));
            }
        }
        8e-9 * (rounds * self.total) as f64 / begin.elapsed().as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_octet_is_gone_through_as_often() {
        for (cache, piece, least, pieces) in
            [(Cache::Hot, 64, 640, 10), (Cache::Cold, 1 << 20, 1, 64), (Cache::Cold, 1 << 27, 1, 1)]
        {
            let mut seen = Vec::new();
            let rate = Pieces::new(cache, piece).rate(least, |at| seen.push(at));
            assert_eq!(seen.len(), pieces);
            assert!(seen.iter().all(|at| at.len() == piece) && rate > 0.0);
        }
    }
}
