//! Figures against a baseline.

use std::fmt;

use crate::baseline::Baseline;
use crate::count::Counts;
use crate::machine::Machine;

/// How much a figure may grow, or shrink, without a word.
const TOLERANCE: f64 = 0.03;

/// What is to be said about a figure.
#[derive(Clone, PartialEq, Debug)]
pub enum Finding {
    /// More than it may.
    Grew {
        /// Which.
        figure: String,
        /// In the baseline.
        from: f64,
        /// Now.
        to: f64,
    },
    /// So much less that the baseline does not guard it any more.
    Shrank {
        /// Which.
        figure: String,
        /// In the baseline.
        from: f64,
        /// Now.
        to: f64,
    },
    /// The baseline does not have it.
    New {
        /// Which.
        figure: String,
        /// Now.
        to: f64,
    },
    /// Only the baseline has it.
    Gone {
        /// Which.
        figure: String,
    },
}

impl Finding {
    /// Whether the gate stays closed for it.
    pub fn fails(&self) -> bool {
        !matches!(self, Finding::Shrank { .. })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |from: f64, to: f64| (to / from - 1.0) * 100.0;
        match self {
            Finding::Grew { figure, from, to } => write!(
                f,
                "`{figure}` grew by {:.1} %, from {from:.2} to {to:.2} instructions; if that is its price, run \
                 tests/gate/accept and commit the baseline with the change",
                percent(*from, *to)
            ),
            Finding::Shrank { figure, from, to } => write!(
                f,
                "`{figure}` shrank by {:.1} %, from {from:.2} to {to:.2} instructions: you may tighten the baseline with \
                 tests/gate/accept",
                -percent(*from, *to)
            ),
            Finding::New { figure, to } => write!(
                f,
                "`{figure}` takes {to:.2} instructions and is not in the baseline; run tests/gate/accept and commit it"
            ),
            Finding::Gone { figure } => write!(
                f,
                "`{figure}` is in the baseline and is counted no more; if that is meant, run tests/gate/accept and commit it"
            ),
        }
    }
}

/// What a baseline says about figures.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// It was made with something else, and says nothing.
    Elsewhere(Vec<String>),
    /// It holds here, and this was found. Nothing where all is as it was.
    Judged(Vec<Finding>),
}

impl Verdict {
    /// Whether the gate is open.
    pub fn passes(&self) -> bool {
        match self {
            Verdict::Elsewhere(_) => true,
            Verdict::Judged(findings) => !findings.iter().any(Finding::fails),
        }
    }
}

/// Compares figures that were counted on `machine` with a baseline.
pub fn judge(baseline: &Baseline, machine: &Machine, counts: &Counts) -> Verdict {
    let differences = machine.differences(&baseline.machine);
    if !differences.is_empty() {
        let sentence = |(name, here, there): (_, _, _)| {
            format!("{name} is {here} here and {there} in the baseline")
        };
        return Verdict::Elsewhere(differences.into_iter().map(sentence).collect());
    }
    let gone = baseline.instructions.keys().filter(|figure| !counts.contains_key(*figure));
    let gone = gone.map(|figure| Finding::Gone { figure: figure.clone() });
    let found = counts.iter().filter_map(|(figure, to)| compare(baseline, figure, *to));
    Verdict::Judged(found.chain(gone).collect())
}

fn compare(baseline: &Baseline, figure: &str, to: f64) -> Option<Finding> {
    let figure = figure.to_owned();
    let Some(from) = baseline.instructions.get(&figure).copied() else {
        return Some(Finding::New { figure, to });
    };
    if to > from * (1.0 + TOLERANCE) {
        Some(Finding::Grew { figure, from, to })
    } else if to < from * (1.0 - TOLERANCE) {
        Some(Finding::Shrank { figure, from, to })
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine {
            rustc: "1.95.0".into(),
            target: "x86_64-unknown-linux-gnu".into(),
            valgrind: "3.19.0".into(),
            libc: "glibc 2.36".into(),
            processor: "avx2".into(),
        }
    }

    fn counts() -> Counts {
        [("header/Ipv4/decode".to_owned(), 40.0), ("map/Open/hit".to_owned(), 25.0)].into()
    }

    /// A baseline with `factor` of what is counted now.
    fn baseline(factor: f64) -> Baseline {
        let instructions =
            counts().into_iter().map(|(figure, count)| (figure, count * factor)).collect();
        Baseline { machine: machine(), instructions }
    }

    #[test]
    fn the_same_figures_pass_in_silence() {
        assert_eq!(judge(&baseline(1.0), &machine(), &counts()), Verdict::Judged(vec![]));
    }

    #[test]
    fn a_baseline_with_four_percent_less_fails() {
        let verdict = judge(&baseline(0.96), &machine(), &counts());
        assert!(!verdict.passes());
        let Verdict::Judged(findings) = verdict else { panic!("it holds here") };
        let said: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "`header/Ipv4/decode` grew by 4.2 %, from 38.40 to 40.00 instructions; if that is its price, run \
                 tests/gate/accept and commit the baseline with the change",
                "`map/Open/hit` grew by 4.2 %, from 24.00 to 25.00 instructions; if that is its price, run \
                 tests/gate/accept and commit the baseline with the change",
            ]
        );
    }

    #[test]
    fn two_percent_either_way_are_nothing() {
        for factor in [0.98, 1.02] {
            assert_eq!(
                judge(&baseline(factor), &machine(), &counts()),
                Verdict::Judged(vec![]),
                "{factor}"
            );
        }
    }

    #[test]
    fn a_baseline_with_four_percent_more_may_be_tightened() {
        let verdict = judge(&baseline(1.04), &machine(), &counts());
        assert!(verdict.passes());
        let Verdict::Judged(findings) = verdict else { panic!("it holds here") };
        assert_eq!(findings.len(), 2);
        assert!(findings[0].to_string().contains("you may tighten"), "{}", findings[0]);
    }

    #[test]
    fn a_figure_that_is_new_or_gone_is_not_passed_over() {
        let mut other = baseline(1.0);
        let count = other.instructions.remove("map/Open/hit").expect("it is there");
        other.instructions.insert("map/Open/hat".into(), count);
        let verdict = judge(&other, &machine(), &counts());
        assert!(!verdict.passes());
        let new = Finding::New { figure: "map/Open/hit".into(), to: 25.0 };
        assert_eq!(
            verdict,
            Verdict::Judged(vec![new, Finding::Gone { figure: "map/Open/hat".into() }])
        );
    }

    #[test]
    fn a_baseline_of_another_machine_only_speaks() {
        type Change = fn(&mut Machine);
        let changes: [(Change, &str); 5] = [
            (
                |machine| machine.rustc = "1.96.0".into(),
                "rustc is 1.95.0 here and 1.96.0 in the baseline",
            ),
            (
                |machine| machine.target = "aarch64".into(),
                "target is x86_64-unknown-linux-gnu here",
            ),
            (|machine| machine.valgrind = "3.25.0".into(), "valgrind is 3.19.0 here"),
            (|machine| machine.libc = "glibc 2.41".into(), "libc is glibc 2.36 here"),
            (|machine| machine.processor = "sse2".into(), "processor is avx2 here"),
        ];
        for (change, says) in changes {
            let mut baseline = baseline(0.5);
            change(&mut baseline.machine);
            let verdict = judge(&baseline, &machine(), &counts());
            assert!(verdict.passes());
            let Verdict::Elsewhere(differences) = verdict else { panic!("it was made elsewhere") };
            assert!(differences.len() == 1 && differences[0].starts_with(says), "{differences:?}");
        }
    }

    #[test]
    fn what_is_unknown_agrees_with_nothing() {
        let mut unknown = machine();
        unknown.valgrind = "unknown".into();
        let baseline = Baseline { machine: unknown.clone(), instructions: counts() };
        assert!(matches!(judge(&baseline, &unknown, &counts()), Verdict::Elsewhere(_)));
    }
}
