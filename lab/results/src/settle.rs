//! What follows from the samples: which are slow, the ratios, the verdicts.

use stackwright_programs::statistics::{Ratio, median, ratio};

use crate::outcome::{Comparison, Outcome, Row};
use crate::verdict::{Verdict, judge};

/// A sample is marked as slow where a probe beside it took so many times the median of all probes.
const SLOW: f64 = 1.25;

/// Who reaches more than this part of what the wire allows can hardly win: then an interval that
/// holds 1, and is narrower than 1 % to either side, is enough.
const AT_LIMIT: f64 = 0.98;

impl Outcome {
    /// Marks slow samples and works out the ratios. To be asked when rows were added: the median of
    /// the probes is that of all of them.
    pub fn settle(&mut self) {
        let columns = || self.rows.iter().flat_map(|row| &row.columns);
        let probes: Vec<f64> =
            columns().flat_map(|column| &column.samples).flat_map(|s| s.probes).collect();
        // What is simulated was not probed.
        let probes: Vec<f64> = probes.into_iter().filter(|probe| *probe > 0.0).collect();
        let limit = median(&probes).map_or(f64::INFINITY, |usual| SLOW * usual);
        for row in &mut self.rows {
            for sample in row.columns.iter_mut().flat_map(|column| &mut column.samples) {
                sample.slow = sample.probes.iter().any(|probe| *probe > limit);
            }
            for detail in row.columns.iter_mut().flat_map(|column| &mut column.details) {
                let ratio = Ratio { value: detail.value, low: detail.value, high: detail.value };
                detail.verdict = detail.target.map(|target| judge(target, ratio));
            }
            let mut comparisons = std::mem::take(&mut row.comparisons);
            for comparison in &mut comparisons {
                comparison.settle(row);
            }
            row.comparisons = comparisons;
        }
    }
}

impl Comparison {
    fn settle(&mut self, row: &Row) {
        let (Some(ours), Some(theirs)) = (row.column(&self.ours), row.column(&self.against)) else {
            return;
        };
        self.ratio = if ours.samples.len() == theirs.samples.len() {
            ratio(&ours.values(), &theirs.values())
        } else {
            // They did not take turns: what is known is the ratio of the medians.
            ours.median().zip(theirs.median()).and_then(|(one, other)| ratio(&[one], &[other]))
        };
        let pairs = ours.samples.iter().zip(&theirs.samples);
        let (left, right): (Vec<f64>, Vec<f64>) = pairs
            .filter(|(ours, theirs)| !ours.slow && !theirs.slow)
            .map(|(ours, theirs)| (ours.value, theirs.value))
            .unzip();
        // Of one or two rounds no interval can be said.
        self.fast = if left.len() < 3 { None } else { ratio(&left, &right) };
        let both_at_limit =
            [ours, theirs].iter().all(|who| row.share(who).is_some_and(|part| part > AT_LIMIT));
        self.verdict =
            self.target.zip(self.ratio).map(|(target, ratio)| match judge(target, ratio) {
                verdict if !verdict.falls_short() => verdict,
                _ if both_at_limit && ratio.holds(1.0) && ratio.low > 0.99 && ratio.high < 1.01 => {
                    Verdict::AtLimit
                }
                verdict => verdict,
            });
    }
}

#[cfg(test)]
mod tests {
    use crate::Conditions;
    use crate::outcome::{Axes, Column, FORMAT, Outcome, Row, Sample};
    use crate::verdict::{Target, Verdict};

    /// One row, ours and theirs; probes beside the last sample of ours take `probe`.
    fn outcome(ours: &[f64], theirs: &[f64], probe: f64, limit: Option<f64>) -> Outcome {
        let mut row = Row::new("key", "group", "label", "s");
        row.limit = limit;
        for (name, values, is_ours) in [("we", ours, true), ("they", theirs, false)] {
            let mut column = Column::new(name, is_ours);
            let sample = |value: &f64| Sample { value: *value, probes: [1.0, 1.0], slow: false };
            column.samples.extend(values.iter().map(sample));
            row.columns.push(column);
        }
        if let Some(last) = row.columns[0].samples.last_mut() {
            last.probes[1] = probe;
        }
        row.compare_with_all(Some(Target::AtMost(1.0)));
        let mut outcome = Outcome {
            format: FORMAT,
            place: None,
            table: String::new(),
            title: String::new(),
            measures: String::new(),
            source: String::new(),
            complete: true,
            command: String::new(),
            conditions: Conditions::default(),
            axes: Axes::default(),
            notes: Vec::new(),
            rows: vec![row],
        };
        outcome.settle();
        outcome
    }

    #[test]
    fn a_slow_spell_is_noticed_and_left_out_of_the_second_ratio() {
        let outcome = outcome(&[1.0, 1.0, 1.0, 9.0], &[2.0, 2.0, 2.0, 2.0], 1.3, None);
        assert_eq!(outcome.counts(), (8, 1));
        let fast = outcome.rows[0].comparisons[0].fast.expect("three rounds are left");
        assert_eq!((fast.low, fast.value, fast.high), (0.5, 0.5, 0.5));
        let all = outcome.rows[0].comparisons[0].ratio.expect("four rounds");
        assert!(all.high > 0.5, "{all:?}");
    }

    #[test]
    fn seeds_of_one_and_a_run_of_the_other_are_compared_by_their_medians() {
        let outcome = outcome(&[1.0, 8.0, 2.0, 2.0, 9.0], &[4.0], 1.0, None);
        let ratio = outcome.rows[0].comparisons[0].ratio.expect("there are medians");
        assert_eq!((ratio.low, ratio.value, ratio.high), (0.5, 0.5, 0.5));
    }

    #[test]
    fn a_probe_a_little_slower_than_usual_is_none() {
        assert_eq!(outcome(&[1.0; 4], &[2.0; 4], 1.2, None).counts(), (8, 0));
    }

    #[test]
    fn who_reaches_the_limit_of_the_wire_need_not_win() {
        let verdict = |ours: &[f64], limit| {
            outcome(ours, &[1.0; 9], 1.0, limit).rows[0].comparisons[0].verdict
        };
        let (near, far) = (
            [1.0, 1.0, 1.0, 1.0, 1.001, 1.001, 1.001, 1.001, 1.001],
            [1.0, 1.0, 1.0, 1.0, 1.1, 1.1, 1.1, 1.1, 1.1],
        );
        assert_eq!(verdict(&near, Some(0.99)), Some(Verdict::AtLimit));
        assert_eq!(verdict(&near, Some(0.9)), Some(Verdict::MissedInDoubt), "the limit is far");
        assert_eq!(verdict(&near, None), Some(Verdict::MissedInDoubt), "there is no limit");
        assert_eq!(verdict(&far, Some(0.99)), Some(Verdict::MissedInDoubt), "the interval is wide");
        assert_eq!(
            verdict(&[1.005; 9], Some(0.99)),
            Some(Verdict::Missed),
            "the interval does not hold 1"
        );
    }
}
