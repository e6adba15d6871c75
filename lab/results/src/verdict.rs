//! Targets, and whether a ratio reaches them.

use std::fmt;

use serde::{Deserialize, Serialize};
use stackwright_programs::statistics::Ratio;

/// What a ratio, ours above theirs, shall be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// So much or less: time, memory.
    AtMost(f64),
    /// So much or more: throughput.
    AtLeast(f64),
    /// 1, and so much more or less: two measurements of the same.
    Within(f64),
}

/// Whether it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is, and the whole interval with it.
    Met,
    /// It is, but the interval holds values that are not.
    MetInDoubt,
    /// It is not, but both are as good as the wire allows, and the interval holds 1 and is narrow.
    AtLimit,
    /// It is not, but the interval holds values that are.
    MissedInDoubt,
    /// It is not, and nothing in the interval is.
    Missed,
}

impl Verdict {
    /// Whether the ratio falls short of its target.
    pub fn falls_short(self) -> bool {
        matches!(self, Verdict::Missed | Verdict::MissedInDoubt)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.pad(match self {
            Verdict::Met => "met",
            Verdict::MetInDoubt => "met, in doubt",
            Verdict::AtLimit => "met, at the wire’s limit",
            Verdict::MissedInDoubt => "missed, in doubt",
            Verdict::Missed => "missed",
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Target::AtMost(most) => write!(out, "≤ {most}"),
            Target::AtLeast(least) => write!(out, "≥ {least}"),
            Target::Within(part) => write!(out, "1 ± {part}"),
        }
    }
}

/// Holds a ratio against its target.
pub fn judge(target: Target, ratio: Ratio) -> Verdict {
    let reached = |value: f64| match target {
        Target::AtMost(most) => value <= most,
        Target::AtLeast(least) => value >= least,
        Target::Within(part) => (value - 1.0).abs() <= part,
    };
    let ends = [ratio.low, ratio.high].map(reached);
    match (reached(ratio.value), ends) {
        (true, [true, true]) => Verdict::Met,
        (true, _) => Verdict::MetInDoubt,
        (false, [false, false]) => Verdict::Missed,
        (false, _) => Verdict::MissedInDoubt,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_says_how_sure_a_verdict_is() {
        let ratio = |low, value, high| Ratio { value, low, high };
        let most = |ratio| judge(Target::AtMost(1.0), ratio);
        assert_eq!(most(ratio(0.8, 0.9, 0.95)), Verdict::Met);
        assert_eq!(most(ratio(0.8, 0.9, 1.0)), Verdict::Met);
        assert_eq!(most(ratio(0.8, 0.9, 1.1)), Verdict::MetInDoubt);
        assert_eq!(most(ratio(0.9, 1.01, 1.1)), Verdict::MissedInDoubt);
        assert_eq!(most(ratio(1.01, 1.02, 1.1)), Verdict::Missed);
        let least = |ratio| judge(Target::AtLeast(1.0), ratio);
        assert_eq!(least(ratio(1.0, 1.2, 1.3)), Verdict::Met);
        assert_eq!(least(ratio(0.8, 0.9, 0.95)), Verdict::Missed);
        assert_eq!(least(ratio(0.9, 1.2, 1.3)), Verdict::MetInDoubt);
    }
}
