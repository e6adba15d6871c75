//! Times two subjects in turns, and says how far their ratio can be trusted.

use std::time::Instant;

use crate::Rounds;

/// What a comparison came to.
pub(crate) struct Ratio {
    /// The median of the ratios of neighbouring turns.
    pub median: f64,
    /// The interval that holds this median with 95 %.
    pub interval: (f64, f64),
    /// The two medians, and the two least times, in nanoseconds a round.
    pub medians: (f64, f64),
    pub least: (f64, f64),
}

/// Two subjects and their times so far.
pub(crate) struct Comparison {
    pub ours: Box<dyn Rounds>,
    pub theirs: Box<dyn Rounds>,
    rounds: u64,
    times: Vec<(f64, f64)>,
}

impl Comparison {
    /// Finds how many rounds fill a turn of `turn` nanoseconds.
    pub(crate) fn new(mut ours: Box<dyn Rounds>, mut theirs: Box<dyn Rounds>, turn: f64) -> Self {
        let mut rounds = 64;
        while rounds < 1 << 30
            && timed(&mut *ours, rounds) + timed(&mut *theirs, rounds) < 2.0 * turn
        {
            rounds *= 2;
        }
        Comparison { ours, theirs, rounds, times: Vec::new() }
    }

    /// One turn of each. Who begins changes, so that neither always finds the machine as the other
    /// left it.
    pub(crate) fn turn(&mut self) {
        let Comparison { ours, theirs, rounds, times } = self;
        let (first, second);
        if times.len().is_multiple_of(2) {
            first = timed(&mut **ours, *rounds);
            second = timed(&mut **theirs, *rounds);
        } else {
            second = timed(&mut **theirs, *rounds);
            first = timed(&mut **ours, *rounds);
        }
        times.push((first / *rounds as f64, second / *rounds as f64));
    }

    pub(crate) fn ratio(&self) -> Ratio {
        let mut ratios: Vec<f64> = self.times.iter().map(|(ours, theirs)| ours / theirs).collect();
        let mut ours: Vec<f64> = self.times.iter().map(|times| times.0).collect();
        let mut theirs: Vec<f64> = self.times.iter().map(|times| times.1).collect();
        let medians = (median(&mut ours), median(&mut theirs));
        let least = (ours[0], theirs[0]);
        Ratio { interval: interval(&ratios), median: median(&mut ratios), medians, least }
    }
}

fn timed(subject: &mut dyn Rounds, rounds: u64) -> f64 {
    let start = Instant::now();
    std::hint::black_box(subject.run(rounds));
    start.elapsed().as_nanos() as f64
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The bootstrap: draw as many ratios again, with repetition, and see where 95 % of the medians
/// lie.
fn interval(ratios: &[f64]) -> (f64, f64) {
    let mut random = fastrand::Rng::with_seed(1);
    let mut medians: Vec<f64> = (0..1000)
        .map(|_| {
            let mut drawn: Vec<f64> =
                ratios.iter().map(|_| ratios[random.usize(..ratios.len())]).collect();
            median(&mut drawn)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    (medians[25], medians[974])
}
