//! Times one contender's turn, and says how far a ratio of two can be trusted.

use std::time::Instant;

use crate::contenders::Timers;
use crate::{SPAN, STEP};

/// What everybody does in a round.
pub(crate) struct Work {
    /// After how many nanoseconds each timer is due.
    pub(crate) delays: Vec<u64>,
    /// Which timers are cancelled, in this order.
    pub(crate) cancelled: Vec<u32>,
}

impl Work {
    /// `count` random deadlines within the span, of which a random half is cancelled.
    pub(crate) fn new(count: usize, random: &mut fastrand::Rng) -> Self {
        let mut cancelled: Vec<u32> = (0..count as u32).collect();
        random.shuffle(&mut cancelled);
        cancelled.truncate(count / 2);
        Work { delays: (0..count).map(|_| random.u64(1..=SPAN)).collect(), cancelled }
    }
}

/// Nanoseconds for each timer inserted, each cancelled, each expired; and the three together.
pub(crate) type Times = [f64; 4];

/// Somebody who takes turns.
pub(crate) trait Subject {
    /// One turn. The sum of what expired is checked where the contender could cancel.
    fn turn(&mut self, work: &Work) -> Times;

    /// Whether it can cancel.
    fn cancels(&self) -> bool;
}

/// A contender, who keeps what it has allocated from turn to turn, and the time that it has
/// reached.
pub(crate) struct Contender<T: Timers> {
    timers: T,
    tickets: Vec<T::Ticket>,
    now: u64,
    cancels: bool,
}

impl<T: Timers + 'static> Contender<T> {
    /// Takes its place; says whether it can cancel.
    pub(crate) fn boxed(cancels: bool) -> Box<dyn Subject> {
        Box::new(Contender { timers: T::default(), tickets: Vec::new(), now: 0, cancels })
    }
}

impl<T: Timers> Subject for Contender<T> {
    fn turn(&mut self, work: &Work) -> Times {
        let Contender { timers, tickets, now, cancels } = self;
        let begin = *now;
        tickets.clear();
        tickets.reserve(work.delays.len());

        let start = Instant::now();
        for (what, delay) in work.delays.iter().enumerate() {
            tickets.push(timers.insert(begin, begin + delay, what as u64));
        }
        let inserted = start.elapsed();

        let start = Instant::now();
        if *cancels {
            for number in &work.cancelled {
                assert!(
                    timers.cancel(tickets[*number as usize]).is_some(),
                    "it has not expired yet"
                );
            }
        }
        let cancelled = start.elapsed();

        let mut sum = 0_u64;
        let start = Instant::now();
        for step in 1..=SPAN / STEP {
            sum = sum.wrapping_add(timers.step(begin + step * STEP));
        }
        let expired = start.elapsed();
        *now = begin + SPAN;

        let gone: u64 =
            if *cancels { work.cancelled.iter().map(|number| u64::from(*number)).sum() } else { 0 };
        let count = work.delays.len() as u64;
        assert_eq!(sum, count * (count - 1) / 2 - gone, "the others expire, each once");
        let half = work.cancelled.len() as f64;
        let each = |time: std::time::Duration, count: f64| time.as_nanos() as f64 / count;
        let expiring = if *cancels { count as f64 - half } else { count as f64 };
        let times = [each(inserted, count as f64), each(cancelled, half), each(expired, expiring)];
        [times[0], if *cancels { times[1] } else { 0.0 }, times[2], times[0] + times[1] + times[2]]
    }

    fn cancels(&self) -> bool {
        self.cancels
    }
}

/// The median of paired ratios, and the interval that holds it with 95 %.
pub(crate) struct Ratio {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Compares two columns: the same index is the same round, in which both did the same work.
pub(crate) fn ratio(ours: &[f64], theirs: &[f64]) -> Ratio {
    const DRAWS: usize = 1000;
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    // A fixed seed: the same measurements give the same interval.
    let mut random = fastrand::Rng::with_seed(1);
    // The bootstrap: draw as many ratios again, with repetition, and see where 95 % of the medians
    // lie.
    let mut medians: Vec<f64> = (0..DRAWS)
        .map(|_| median(ratios.iter().map(|_| ratios[random.usize(..ratios.len())])))
        .collect();
    medians.sort_by(f64::total_cmp);
    Ratio {
        value: median(ratios.iter().copied()),
        low: medians[DRAWS / 40],
        high: medians[DRAWS - 1 - DRAWS / 40],
    }
}

/// The middle of `values`.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        f64::midpoint(values[middle - 1], values[middle])
    } else {
        values[middle]
    }
}
