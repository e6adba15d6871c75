//! Tables for people.

use stackwright_programs::statistics::{Ratio, median};

use crate::contest::{Column, Verdict};

pub(crate) fn title(text: &str) {
    println!("\n{text}");
}

pub(crate) fn skipped(why: &str) {
    println!("  skipped: {why}");
}

pub(crate) fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{value:.1}"))
}

/// One line of a table: the medians, then ours against each of the others. Hands the verdicts on.
pub(crate) fn row(label: &str, columns: &[Column], verdicts: Vec<Verdict>) -> Vec<Verdict> {
    let rounds = columns.first().map_or(0, |column| column.seconds.len());
    print!("  {label:>6} n={rounds:<4}");
    for column in columns {
        print!(" {} {:.3} ms ", column.name, 1_000.0 * median(&column.seconds).unwrap_or(f64::NAN));
    }
    for verdict in &verdicts {
        print!(" /{} {}", verdict.against, interval(verdict.ratio));
    }
    println!();
    verdicts
}

fn interval(ratio: Ratio) -> String {
    format!("{:.3} [{:.3}, {:.3}]", ratio.value, ratio.low, ratio.high)
}

/// The last table: no slower than, or slower.
pub(crate) fn verdicts(verdicts: &[Verdict]) {
    if verdicts.is_empty() {
        return;
    }
    title("targets: a ratio of medians at most (in doubt: the interval holds the target)");
    for Verdict { most, task, against, ratio } in verdicts {
        let word = if ratio.value <= *most { "met" } else { "missed" };
        let doubt = if ratio.low <= *most && ratio.high > *most { ", in doubt" } else { "" };
        let against = format!("{against} <= {most:.2}");
        println!("  {task:<26} against {against:<21} {:<24} {word}{doubt}", interval(*ratio));
    }
    let met = verdicts.iter().filter(|verdict| verdict.ratio.value <= verdict.most).count();
    println!("  {met} of {} met", verdicts.len());
}
