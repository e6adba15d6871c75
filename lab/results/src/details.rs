//! What the further figures of the contestants say, those with a target: a sentence for each, and
//! one for each cell that misses it.

use stackwright_programs::statistics::median;

use crate::outcome::{Column, Detail, Outcome, Row};
use crate::quantity::{digits, quantity};
use crate::verdict::{Target, Verdict};

/// A sentence for each figure of each contestant, and how often it reaches its target.
pub(super) fn sentences(outcome: &Outcome) -> Vec<String> {
    let mut kinds: Vec<(&Column, &Detail, Vec<&Detail>)> = Vec::new();
    for (_, column, detail) in outcome.details().filter(|(_, _, detail)| detail.target.is_some()) {
        let known = kinds.iter_mut().find(|(whose, first, _)| {
            (&whose.name, &first.name, first.target) == (&column.name, &detail.name, detail.target)
        });
        match known {
            Some((_, _, members)) => members.push(detail),
            None => kinds.push((column, detail, vec![detail])),
        }
    }
    kinds.into_iter().filter_map(|(column, first, members)| said(column, first, &members)).collect()
}

fn said(column: &Column, first: &Detail, members: &[&Detail]) -> Option<String> {
    let values: Vec<f64> = members.iter().map(|detail| detail.value).collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let met = members.iter().filter(|detail| !falls_short(detail)).count();
    Some(format!(
        "{}: {} is {} in {met} of {} rows ({} to {}, the middle {}).",
        column.name,
        first.name,
        first.target?,
        members.len(),
        digits(least),
        digits(most),
        digits(median(&values)?),
    ))
}

/// Each figure that misses its target: first the farthest from it of each kind and contestant, then
/// the second of each.
pub(super) fn shortfalls(outcome: &Outcome) -> Vec<String> {
    let mut missed: Vec<_> =
        outcome.details().filter(|(_, _, detail)| falls_short(detail)).collect();
    missed.sort_by(|(_, _, one), (_, _, other)| reached(one).total_cmp(&reached(other)));
    let mut kinds: Vec<((&str, &str), usize)> = Vec::new();
    let mut ranked: Vec<_> = missed
        .into_iter()
        .map(|missed| {
            let kind = (missed.1.name.as_str(), missed.2.name.as_str());
            let place = kinds.iter().position(|(known, _)| *known == kind).unwrap_or_else(|| {
                kinds.push((kind, 0));
                kinds.len() - 1
            });
            kinds[place].1 += 1;
            (kinds[place].1, missed)
        })
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().filter_map(|(_, (row, column, it))| shortfall(row, column, it)).collect()
}

fn shortfall(row: &Row, column: &Column, detail: &Detail) -> Option<String> {
    let value = quantity(detail.value, &detail.unit);
    let (name, target) = (&detail.name, detail.target?);
    Some(format!(
        "{}, {}: {}: {name} is {value}; wanted {target}.",
        row.group, row.label, column.name
    ))
}

pub(super) fn falls_short(detail: &Detail) -> bool {
    detail.verdict.is_some_and(Verdict::falls_short)
}

/// The part of the target that is reached.
fn reached(detail: &Detail) -> f64 {
    match detail.target {
        Some(Target::AtLeast(least)) => detail.value / least,
        Some(Target::AtMost(most)) => most / detail.value,
        Some(Target::Within(_)) => detail.value.min(1.0 / detail.value),
        None => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Conditions;
    use crate::outcome::{Axes, FORMAT};

    #[test]
    fn what_is_farthest_from_its_target_comes_first_of_each_kind() {
        let mut rows = Vec::new();
        for (label, share, resent) in [("a", 0.8, 1.2), ("b", 0.99, 0.5), ("c", 0.3, 9.0)] {
            let mut row = Row::new(label, "group", label, "Mb/s");
            let mut column = Column::new("we", true);
            column.tell("share", "", &[share, share, 0.0], Some(Target::AtLeast(0.9)));
            column.tell("resent", "", &[resent], Some(Target::AtMost(1.0)));
            column.tell("told", "s", &[7.0], None);
            row.columns.push(column);
            rows.push(row);
        }
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
            rows,
        };
        outcome.settle();
        assert_eq!(
            shortfalls(&outcome),
            [
                "group, c: we: resent is 9.00; wanted ≤ 1.",
                "group, c: we: share is 0.300; wanted ≥ 0.9.",
                "group, a: we: resent is 1.20; wanted ≤ 1.",
                "group, a: we: share is 0.800; wanted ≥ 0.9.",
            ]
        );
        assert_eq!(
            sentences(&outcome),
            [
                "we: share is ≥ 0.9 in 1 of 3 rows (0.300 to 0.990, the middle 0.800).",
                "we: resent is ≤ 1 in 1 of 3 rows (0.500 to 9.00, the middle 1.20).",
            ]
        );
    }
}
