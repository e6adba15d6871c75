//! Who won, and by how much, in a sentence that follows from the numbers.

use stackwright_programs::statistics::median;

use crate::details;
use crate::outcome::{Comparison, Outcome, Row};
use crate::quantity::digits;
use crate::verdict::{Target, Verdict};

/// What a table says, a sentence for each two that are compared, then one for each further figure
/// that has a target.
pub fn sentences(outcome: &Outcome) -> Vec<String> {
    let mut parts = Vec::new();
    if !outcome.complete {
        let rows = outcome.rows.len();
        parts.push(format!(
            "Partial: {rows} {} measured.",
            if rows == 1 { "row is" } else { "rows are" }
        ));
    }
    let mut pairs: Vec<Pair> = Vec::new();
    for (row, comparison) in outcome.comparisons() {
        match pairs.iter_mut().find(|pair| pair.takes(comparison)) {
            Some(pair) => pair.members.push((row, comparison)),
            None => pairs.push(Pair { members: vec![(row, comparison)] }),
        }
    }
    parts.extend(pairs.iter().filter_map(Pair::says));
    let told = details::sentences(outcome);
    if outcome.rows.is_empty() {
        parts.push("Nothing was measured.".to_owned());
    } else if pairs.is_empty() && told.is_empty() {
        parts.push("There is nothing to compare with.".to_owned());
    }
    parts.extend(told);
    parts
}

/// Everything that misses its target, a sentence each; what surely does comes first.
pub fn falls_short(outcome: &Outcome) -> Vec<String> {
    let of = |wanted: Verdict| {
        let missed =
            outcome.comparisons().filter(move |(_, comparison)| comparison.verdict == Some(wanted));
        missed.filter_map(|(row, comparison)| shortfall(row, comparison))
    };
    let compared = of(Verdict::Missed).chain(of(Verdict::MissedInDoubt));
    compared.chain(details::shortfalls(outcome)).collect()
}

fn shortfall(row: &Row, comparison: &Comparison) -> Option<String> {
    let Comparison { ours, against, target, ratio, verdict, .. } = comparison;
    let ((ratio, target), verdict) = ratio.zip(*target).zip(*verdict)?;
    Some(format!(
        "{}, {}: {ours} / {against} is {:.3} [{:.3}, {:.3}]; wanted {target} ({verdict}).",
        row.group, row.label, ratio.value, ratio.low, ratio.high
    ))
}

/// The comparisons of the same two with the same target.
struct Pair<'a> {
    members: Vec<(&'a Row, &'a Comparison)>,
}

impl Pair<'_> {
    fn takes(&self, other: &Comparison) -> bool {
        let (_, first) = self.members[0];
        (&first.ours, &first.against, first.target) == (&other.ours, &other.against, other.target)
    }

    fn says(&self) -> Option<String> {
        let (_, first) = self.members[0];
        let Comparison { ours, against, target, .. } = first;
        let ratios: Vec<_> =
            self.members.iter().filter_map(|(row, one)| Some((*row, one.ratio?))).collect();
        let count = ratios.len();
        let (least, most) =
            ratios.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |ends, (_, ratio)| {
                (ends.0.min(ratio.value), ends.1.max(ratio.value))
            });
        let range = match count {
            0 => return None,
            1 => format!("ratio {}", digits(least)),
            _ => {
                let values: Vec<f64> = ratios.iter().map(|(_, ratio)| ratio.value).collect();
                let middle = median(&values).map_or_else(String::new, digits);
                format!("ratios {} to {}, the middle {middle}", digits(least), digits(most))
            }
        };
        let rows = |number: usize| if number == 1 { "row" } else { "rows" };
        let Some(target) = target else {
            return Some(format!("{ours} / {against}: {range} in {count} {}.", rows(count)));
        };
        if !matches!(target, Target::AtMost(1.0) | Target::AtLeast(1.0)) {
            let met = self.members.iter().filter_map(|(_, one)| one.verdict);
            let met = met.filter(|verdict| !verdict.falls_short()).count();
            return Some(format!(
                "{ours} / {against} is {target} in {met} of {count} {} ({range}).",
                rows(count)
            ));
        }
        // An interval that holds 1 says that nobody won.
        let (mut won, mut lost) = (0, 0);
        for (row, ratio) in &ratios {
            let (below, above) = (ratio.high < 1.0, ratio.low > 1.0);
            won += usize::from(if row.more_is_better { above } else { below });
            lost += usize::from(if row.more_is_better { below } else { above });
        }
        let even = count - won - lost;
        let all = if count == 1 { "in 1 row".to_owned() } else { format!("in all {count} rows") };
        let said = match (won, even, lost) {
            (_, 0, 0) => format!("{ours} beats {against} {all}"),
            (0, 0, _) => format!("{ours} loses to {against} {all}"),
            (0, _, 0) => format!("{ours} and {against} are even {all}"),
            _ => {
                let parts = [(won, "beats"), (even, "is even with"), (lost, "loses to")];
                let said = parts.iter().filter(|(number, _)| *number > 0);
                let said: Vec<_> =
                    said.map(|(number, word)| format!("{word} it in {number}")).collect();
                format!("{ours} beside {against}: {}, of {count} rows", said.join(", "))
            }
        };
        Some(format!("{said} ({range})."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Conditions;
    use crate::outcome::{Axes, Column, FORMAT, Sample};

    fn row(key: &str, ours: f64, theirs: f64, spread: f64) -> Row {
        let mut row = Row::new(key, "group", key, "s");
        for (name, value, is_ours) in [("we", ours, true), ("they", theirs, false)] {
            let mut column = Column::new(name, is_ours);
            let samples = (0..9).map(|round| {
                // The two do not vary together.
                let turn = if is_ours { round % 3 } else { (round + 1) % 2 };
                let value = value + spread * f64::from(turn);
                Sample { value, probes: [1.0, 1.0], slow: false }
            });
            column.samples.extend(samples);
            row.columns.push(column);
        }
        row
    }

    fn outcome(rows: Vec<Row>, target: Option<Target>) -> Outcome {
        let mut outcome = Outcome {
            format: FORMAT,
            place: None,
            table: "test".into(),
            title: String::new(),
            measures: String::new(),
            source: String::new(),
            complete: true,
            command: String::new(),
            conditions: Conditions::default(),
            axes: Axes::default(),
            notes: Vec::new(),
            rows,
        };
        outcome.rows.iter_mut().for_each(|row| row.compare_with_all(target));
        outcome.settle();
        outcome
    }

    const FASTER: Option<Target> = Some(Target::AtMost(1.0));

    #[test]
    fn a_win_a_loss_and_a_tie_are_told_apart() {
        let said = |rows| sentences(&outcome(rows, FASTER)).join(" ");
        assert_eq!(said(vec![row("a", 1.0, 2.0, 0.0)]), "we beats they in 1 row (ratio 0.500).");
        assert_eq!(said(vec![row("a", 2.0, 1.0, 0.0)]), "we loses to they in 1 row (ratio 2.00).");
        let tie = said(vec![row("a", 1.0, 1.0, 0.1)]);
        assert!(tie.starts_with("we and they are even in 1 row (ratio "), "{tie}");
        let mixed =
            said(vec![row("a", 1.0, 2.0, 0.0), row("b", 2.0, 1.0, 0.0), row("c", 1.0, 2.0, 0.0)]);
        assert_eq!(
            mixed,
            "we beside they: beats it in 2, loses to it in 1, of 3 rows (ratios 0.500 to 2.00, the middle 0.500)."
        );
    }

    #[test]
    fn more_is_better_turns_it_round() {
        let mut one = row("a", 1.0, 2.0, 0.0);
        one.more_is_better = true;
        let outcome = outcome(vec![one], Some(Target::AtLeast(1.0)));
        assert_eq!(sentences(&outcome).join(" "), "we loses to they in 1 row (ratio 0.500).");
        let short = falls_short(&outcome);
        assert_eq!(short, ["group, a: we / they is 0.500 [0.500, 0.500]; wanted ≥ 1 (missed)."]);
    }

    #[test]
    fn what_is_partial_says_so_first() {
        let mut partial = outcome(vec![row("a", 1.0, 2.0, 0.0)], FASTER);
        partial.complete = false;
        assert!(
            sentences(&partial).join(" ").starts_with("Partial: 1 row is measured. we beats they")
        );
        partial.rows.clear();
        assert_eq!(
            sentences(&partial).join(" "),
            "Partial: 0 rows are measured. Nothing was measured."
        );
    }

    #[test]
    fn other_targets_are_counted() {
        let rows = vec![row("a", 2.0, 1.0, 0.0), row("b", 9.0, 1.0, 0.0)];
        let outcome = outcome(rows, Some(Target::AtMost(8.0)));
        assert_eq!(
            sentences(&outcome).join(" "),
            "we / they is ≤ 8 in 1 of 2 rows (ratios 2.00 to 9.00, the middle 5.50)."
        );
        assert_eq!(falls_short(&outcome).len(), 1);
    }
}
