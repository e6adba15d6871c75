//! A table of the report: what it says, where we fall short, the pictures, the numbers, the
//! conditions.

use maud::{Markup, PreEscaped, html};
use stackwright_results::outcome::{Column, Comparison, Outcome, Row};
use stackwright_results::verdict::Verdict;
use stackwright_results::{digits, falls_short, panels, quantity, sentences};

/// How many shortfalls are listed before the rest is counted only.
const LISTED: usize = 8;

/// Where the section is found on the page: letters, digits and dashes.
pub(super) fn anchor(outcome: &Outcome) -> String {
    let letters = outcome
        .table
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' });
    format!("table-{}", letters.collect::<String>())
}

/// The section.
pub(super) fn section(outcome: &Outcome) -> Markup {
    let short = falls_short(outcome);
    html! {
        section id=(anchor(outcome)) {
            h2 {
                (outcome.table) ": " (outcome.title)
                @if !outcome.complete { " " span.partial { "partial" } }
            }
            ul.says {
                @for sentence in sentences(outcome) { li { (sentence) } }
            }
            @if !short.is_empty() {
                div.short {
                    p { "Here we fall short:" }
                    ul {
                        @for one in short.iter().take(LISTED) { li { (one) } }
                        @if short.len() > LISTED { li { "and " (short.len() - LISTED) " more, in the tables below" } }
                    }
                }
            }
            p.quiet { (outcome.measures) }
            @if !outcome.source.is_empty() {
                p.quiet { "For comparison: the figures of the " (outcome.source) "." }
            }
            (groups(outcome))
            @for note in &outcome.notes { p.quiet { "Note: " (note) } }
            (conditions(outcome))
        }
    }
}

/// A picture for each group, and its numbers below.
fn groups(outcome: &Outcome) -> Markup {
    let drawn = panels(outcome).unwrap_or_default();
    html! {
        @for group in outcome.groups() {
            figure {
                @if let Some((_, picture)) = drawn.iter().find(|(name, _)| name == group) {
                    // Its ink is black and nothing else is: on a dark page it has the text's
                    // colour.
                    (PreEscaped(picture.replace("#000000", "currentColor")))
                }
                figcaption {
                    details {
                        summary { "Numbers: " (group) }
                        (numbers(outcome, group))
                    }
                }
            }
        }
    }
}

fn numbers(outcome: &Outcome, group: &str) -> Markup {
    let rows: Vec<&Row> = outcome.rows.iter().filter(|row| row.group == group).collect();
    html! {
        table.rows {
            tbody {
                @for row in rows {
                    tr.task { th scope="rowgroup" colspan="3" { (row.label) } }
                    @for figure in &row.document {
                        tr.document { td { (figure.who) " (document)" } td.number { (quantity(figure.value, &figure.unit)) } td {} }
                    }
                    @for column in &row.columns {
                        tr { td { (column.name) } td.number { (median(column, row)) } td { (ratios(row, column)) } }
                    }
                }
            }
        }
    }
}

fn median(column: &Column, row: &Row) -> String {
    column.median().map_or_else(|| "–".to_owned(), |median| quantity(median, &row.unit))
}

/// How ours compares with this column, or this column with others where it is ours too.
fn ratios(row: &Row, column: &Column) -> Markup {
    let against = row.comparisons.iter().filter(|comparison| comparison.against == column.name);
    html! {
        @for comparison in against { div { (ratio(comparison)) } }
    }
}

fn ratio(comparison: &Comparison) -> Markup {
    let Comparison { ours, against, target, ratio, fast, verdict } = comparison;
    let class = match verdict {
        Some(Verdict::Met | Verdict::AtLimit) => "met",
        Some(Verdict::MetInDoubt) => "doubt",
        Some(Verdict::Missed | Verdict::MissedInDoubt) => "missed",
        None => "plain",
    };
    html! {
        (ours) " / " (against) ": "
        @match ratio {
            None => "no ratio",
            Some(ratio) => {
                span class=(class) { (format!("{:.3}", ratio.value)) }
                " [" (digits(ratio.low)) ", " (digits(ratio.high)) "]"
                @if let Some(fast) = fast { "; fast spells " (format!("{:.3}", fast.value)) }
                @if let Some((target, verdict)) = target.zip(*verdict) {
                    "; " (target) " " span class=(class) { (verdict) }
                }
            }
        }
    }
}

/// The machine, the samples, the command.
fn conditions(outcome: &Outcome) -> Markup {
    let known = &outcome.conditions;
    let (samples, slow) = outcome.counts();
    html! {
        dl.conditions {
            dt { "Machine" } dd { (known.processor) ", " (known.cores) " cores, " (known.kernel) }
            @if let Some(congestion) = &known.congestion { dt { "TCP" } dd { (congestion) } }
            @if let Some(load) = known.load {
                dt { "Load at first" } dd { (load) }
            }
            dt { "Commit" } dd {
                (known.commit.as_deref().unwrap_or("none"))
                @if let Some(rustc) = &known.rustc { ", " (rustc) }
            }
            dt { "Date" } dd { (known.date) }
            dt { "Samples" } dd {
                (samples) ", of which " (slow)
                " lie in slow spells: a probe of the machine beside them took more than 1.25 of the median of all probes"
            }
            dt { "Again" } dd { code { (outcome.command) } }
        }
    }
}
