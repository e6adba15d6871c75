//! A table for people who sit at a terminal. Colours are left out where nobody sits.

use anstyle::{AnsiColor, Style};

use crate::matrix::{self, BAD, BOLD};
use crate::outcome::{Comparison, Detail, Outcome, Row};
use crate::quantity::{digits, quantity};
use crate::say;
use crate::sentence::{falls_short, sentences};
use crate::verdict::Verdict;

const GOOD: Style = AnsiColor::Green.on_default();
const DOUBT: Style = AnsiColor::Yellow.on_default();

/// Prints all groups, then what they say.
pub fn print(outcome: &Outcome) {
    let partial = if outcome.complete { "" } else { " (partial)" };
    say!("{BOLD}{}: {}{BOLD:#}{partial}", outcome.table, outcome.title);
    if !outcome.source.is_empty() {
        say!("  beside it: {}", outcome.source);
    }
    let mut shaded = false;
    for group in outcome.groups() {
        let rows: Vec<&Row> = outcome.rows.iter().filter(|row| row.group == group).collect();
        say!("\n  {BOLD}{group}{BOLD:#}");
        if matrix::is_matrix(&rows) {
            matrix::print(&rows, &outcome.axes);
            shaded = true;
        } else {
            grid(&rows);
        }
    }
    say!();
    if shaded {
        shortfalls(outcome);
    }
    for note in &outcome.notes {
        say!("  note: {note}");
    }
    let (samples, slow) = outcome.counts();
    say!("  {samples} samples, {slow} of them while the machine was slow");
    for sentence in sentences(outcome) {
        say!("  {sentence}");
    }
}

/// How many shortfalls are listed where the rows have no lines of their own.
const LISTED: usize = 20;

/// What falls short in a matrix is marked there; here it is said how.
fn shortfalls(outcome: &Outcome) {
    let short = falls_short(outcome);
    for one in short.iter().take(LISTED) {
        say!("  {BAD}!{BAD:#} {one}");
    }
    if short.len() > LISTED {
        say!("  {BAD}!{BAD:#} and {} more", short.len() - LISTED);
    }
}

/// The lines of one group: the document's numbers, everybody's medians, the ratios.
fn grid(rows: &[&Row]) {
    let mut names: Vec<&str> = Vec::new();
    let mut whose: Vec<&str> = Vec::new();
    for row in rows {
        names.extend(row.columns.iter().map(|column| column.name.as_str()));
        whose.extend(row.document.iter().map(|figure| figure.who.as_str()));
    }
    let (names, whose) = (distinct(names), distinct(whose));
    let mut lines = vec![vec![String::new()]];
    lines[0].extend(whose.iter().map(|name| format!("[{name}]")));
    lines[0].extend(names.iter().map(ToString::to_string));
    for row in rows {
        let figure = |who: &&str| row.document.iter().find(|figure| figure.who == *who);
        let mut line = vec![row.label.clone()];
        line.extend(whose.iter().map(|who| match figure(who) {
            Some(figure) => quantity(figure.value, &figure.unit),
            None => String::new(),
        }));
        line.extend(names.iter().map(|name| {
            let median = row.column(name).and_then(crate::outcome::Column::median);
            median.map_or_else(String::new, |median| quantity(median, &row.unit))
        }));
        lines.push(line);
    }
    let width =
        |place: usize| lines.iter().map(|line| line[place].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
    for (number, line) in lines.iter().enumerate() {
        let cells =
            line.iter().zip(&widths).enumerate().map(|(place, (cell, width))| match place {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
        say!("    {}", cells.collect::<Vec<_>>().join("  "));
        let Some(row) = number.checked_sub(1).map(|row| rows[row]) else { continue };
        for comparison in &row.comparisons {
            say!("      {}", compared(comparison));
        }
        for column in row.columns.iter().filter(|column| !column.details.is_empty()) {
            let told: Vec<_> = column.details.iter().map(detail).collect();
            say!("      {}: {}", column.name, told.join(", "));
        }
    }
}

fn distinct(names: Vec<&str>) -> Vec<&str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

fn detail(detail: &Detail) -> String {
    let Detail { name, value, unit, target, verdict } = detail;
    let value = quantity(*value, unit);
    let judged = verdict.zip(*target).map_or_else(String::new, |(verdict, target)| {
        let style = if verdict.falls_short() { BAD } else { GOOD };
        format!(" ({target} {style}{verdict}{style:#})")
    });
    format!("{name} {value}{judged}")
}

fn compared(comparison: &Comparison) -> String {
    let Comparison { ours, against, target, ratio, fast, verdict } = comparison;
    let Some(ratio) = ratio else { return format!("{ours} / {against}: no ratio") };
    let fast = fast.map_or_else(String::new, |fast| format!("  fast spells {:.3}", fast.value));
    let judged = verdict.zip(*target).map_or_else(String::new, |(verdict, target)| {
        let style = match verdict {
            Verdict::Met | Verdict::AtLimit => GOOD,
            Verdict::Missed => BAD,
            Verdict::MetInDoubt | Verdict::MissedInDoubt => DOUBT,
        };
        format!("  {target} {style}{verdict}{style:#}")
    });
    let interval = format!("{:.3} [{}, {}]", ratio.value, digits(ratio.low), digits(ratio.high));
    format!("{ours} / {against} {interval}{fast}{judged}")
}
