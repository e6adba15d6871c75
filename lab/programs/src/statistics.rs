//! Medians, and how sure a ratio of two is.

use serde::{Deserialize, Serialize};

/// The middle of `values`; `None` where there are none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    middle(&mut sorted)
}

/// The least of `values` that `part` of them, 0 to 1, are not above; `None` where there are none.
pub fn quantile(values: &[f64], part: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    let nth = (part * values.len() as f64).ceil() as usize;
    let last = values.len().checked_sub(1)?;
    Some(*sorted.select_nth_unstable_by(nth.saturating_sub(1).min(last), f64::total_cmp).1)
}

fn middle(values: &mut [f64]) -> Option<f64> {
    let length = values.len();
    let (below, upper, _) = if length == 0 {
        return None;
    } else {
        values.select_nth_unstable_by(length / 2, f64::total_cmp)
    };
    let upper = *upper;
    if length % 2 == 1 {
        return Some(upper);
    }
    below.iter().copied().max_by(f64::total_cmp).map(|lower| f64::midpoint(lower, upper))
}

/// A ratio of medians, and where it lies with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The median of the one over the median of the other.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Ratio {
    /// Whether `value` lies in the interval.
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// Compares two columns of one table: the same index is the same round. Rounds are drawn again, in
/// pairs, so that a round which was slow for both moves neither. `None` where there is no round, or
/// no ratio (a median of zero).
pub fn ratio(ours: &[f64], theirs: &[f64]) -> Option<Ratio> {
    const DRAWS: usize = 2_000;
    let rounds = ours.len().min(theirs.len());
    let (ours, theirs) = (&ours[..rounds], &theirs[..rounds]);
    // A fixed seed: the same measurements give the same interval.
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % rounds.max(1) as u64) as usize
    };
    let (mut left, mut right) = (Vec::with_capacity(rounds), Vec::with_capacity(rounds));
    let mut ratios = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        left.clear();
        right.clear();
        for _ in 0..rounds {
            let round = draw();
            left.push(ours[round]);
            right.push(theirs[round]);
        }
        ratios.push(middle(&mut left)? / middle(&mut right)?);
    }
    ratios.sort_by(f64::total_cmp);
    let value = median(ours)? / median(theirs)?;
    let (low, high) = (ratios[DRAWS / 40], ratios[DRAWS - 1 - DRAWS / 40]);
    [value, low, high].iter().all(|value| value.is_finite()).then_some(Ratio { value, low, high })
}
