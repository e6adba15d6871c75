//! The page: a summary, then a section for each table.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use stackwright_results::falls_short;
use stackwright_results::outcome::Outcome;

use crate::campaign::Sweep;
use crate::campaign_section;
use crate::results::Results;
use crate::section::{anchor, section};

const STYLE: &str = include_str!("style.css");

/// The whole page.
pub(crate) fn page(results: &Results) -> Markup {
    let when = results.outcomes.iter().map(|outcome| outcome.conditions.date.as_str()).max();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Stackwright: the lab's tables" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { "The lab’s tables" }
                    p {
                        "Stackwright beside strangers’ programs and the documents’ numbers. Everybody takes turns on one machine; \
                         what counts are ratios of medians with their 95 % intervals, never absolute times."
                    }
                    @if let Some(when) = when {
                        p.quiet { "The latest results are of " time { (when) } "." }
                    }
                }
                main {
                    (summary(results))
                    @for outcome in &results.outcomes {
                        (section(outcome))
                    }
                    @for sweep in &results.sweeps {
                        (campaign_section::section(sweep))
                    }
                }
            }
        }
    }
}

/// A line for each table: how many targets it reaches.
fn summary(results: &Results) -> Markup {
    html! {
        section #summary {
            h2 { "Summary" }
            @if results.outcomes.is_empty() && results.sweeps.is_empty() {
                p { "There are no results." }
            } @else {
                table.summary {
                    thead { tr { th { "Table" } th { "Targets reached" } th { "Falls short" } } }
                    tbody {
                        @for outcome in &results.outcomes { (line(outcome)) }
                        @for sweep in &results.sweeps { (sweep_line(sweep)) }
                    }
                }
            }
            @for (file, why) in &results.unreadable {
                p.short { (file) " is left out: " (why) "." }
            }
        }
    }
}

/// Of a sweep, how many of the cells that are done did all of their work.
fn sweep_line(sweep: &Sweep) -> Markup {
    let short = sweep.short.len() as u64;
    html! {
        tr {
            th scope="row" {
                a href={ "#" (campaign_section::anchor(sweep)) } { "sweep " (sweep.name) }
                @if sweep.failed + sweep.missing > 0 { " " span.partial { "partial" } }
            }
            td.number { (sweep.done - short) " of " (sweep.done) }
            td.number {
                @if short > 0 { span.missed { (short) } } @else { "–" }
            }
        }
    }
}

fn line(outcome: &Outcome) -> Markup {
    let ratios = outcome.comparisons().filter(|(_, comparison)| comparison.verdict.is_some());
    let figures = outcome.details().filter(|(.., detail)| detail.verdict.is_some());
    let judged = ratios.count() + figures.count();
    let short = falls_short(outcome).len();
    html! {
        tr {
            th scope="row" {
                a href={ "#" (anchor(outcome)) } { (outcome.table) }
                ": " (outcome.title)
                @if !outcome.complete { " " span.partial { "partial" } }
            }
            td.number {
                @if judged == 0 { "–" } @else { (judged - short) " of " (judged) }
            }
            td.number {
                @if short > 0 { span.missed { (short) } } @else { "–" }
            }
        }
    }
}
