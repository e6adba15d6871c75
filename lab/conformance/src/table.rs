//! The table: a line for each trial, the candidate's figures and those of the references.

use std::fmt::Write as _;

use crate::trial::Outcome;
use crate::verdict::misses;
use crate::{Row, trial::Kind};

const EXPLAINED: &str = "\
Of each judge: the share of the payload that the path can carry, the packets sent beyond those that
arrived, timeouts, and collapses of the window (restored). `pace`: the least factor of a window for
each round trip. Two flows: Jain's index.
";

/// Returns the table.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = String::from(EXPLAINED);
    let Some(first) = rows.first() else { return text };
    let _ = write!(text, "\n{:42}", "");
    for (judge, _) in &first.outcomes {
        let _ = write!(text, " | {:26}", judge.to_string());
    }
    text.push_str(" | pace | verdict\n");
    let mut missed = 0;
    for row in rows {
        let _ = write!(text, "{:42}", row.trial.to_string());
        for (_, outcome) in &row.outcomes {
            let _ = write!(text, " | {:26}", cell(outcome));
        }
        let pace = match row.outcomes.first() {
            Some((_, Outcome::Alone(figures))) => figures.pace,
            _ => None,
        };
        let pace = pace.map_or_else(String::new, |pace| format!("{pace:.2}"));
        let found = verdict(row);
        missed += u32::from(!found.is_empty());
        let verdict = if found.is_empty() { "ok" } else { &found };
        let _ = writeln!(text, " | {pace:4} | {verdict}");
    }
    let _ = writeln!(text, "\n{} of {} meet their bars.", rows.len() as u32 - missed, rows.len());
    text
}

/// Returns the verdict on a row; empty where every bar is met.
pub(crate) fn verdict(row: &Row) -> String {
    let found: Vec<_> = misses(row).iter().map(ToString::to_string).collect();
    found.join(", ")
}

/// Returns the figures of a judge in words.
pub(crate) fn cell(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Shared(index) => format!("{index:.3}"),
        Outcome::Alone(figures) => {
            let resent = figures.resent as f64 / (figures.arrived as f64).max(1.0);
            let mut cell = format!("{:.3} +{resent:.3} {}t", figures.share, figures.timeouts);
            if figures.collapses > 0 {
                let _ = write!(cell, " {}c({})", figures.collapses, figures.restored);
            }
            cell
        }
    }
}

/// Returns whether a row has curves.
pub(crate) fn has_curves(row: &Row) -> bool {
    row.trial.kind != Kind::Two
}
