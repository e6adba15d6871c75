//! Medians, and how sure a ratio of two is.

/// The middle of `values`.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => f64::midpoint(sorted[even / 2 - 1], sorted[even / 2]),
    }
}

/// A ratio of medians, and where it lies with 95 % confidence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ratio {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Compares two columns of one table: the same index is the same round. Rounds are drawn again, in pairs, so that a round
/// which was slow for both moves neither.
pub(crate) fn ratio(ours: &[f64], theirs: &[f64]) -> Ratio {
    const DRAWS: usize = 2_000;
    let rounds = ours.len().min(theirs.len());
    // A fixed seed: the same measurements give the same interval.
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % rounds.max(1) as u64) as usize
    };
    let mut ratios: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let (left, right): (Vec<_>, Vec<_>) = (0..rounds)
                .map(|_| {
                    let round = draw();
                    (ours[round], theirs[round])
                })
                .unzip();
            median(&left) / median(&right)
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    Ratio {
        value: median(ours) / median(theirs),
        low: ratios[DRAWS / 40],
        high: ratios[DRAWS - 1 - DRAWS / 40],
    }
}
