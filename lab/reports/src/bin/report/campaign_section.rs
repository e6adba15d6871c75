//! A sweep of a campaign: its pictures, and a line for each combination of values.

use maud::{Markup, PreEscaped, html};
use stackwright_programs::statistics::median;
use stackwright_results::{digits, panels, rate};

use crate::campaign::{Line, Measure, Sweep};

/// How many results that fell short are listed before the rest is counted only.
const LISTED: usize = 8;
/// How many lines a table has before the rest is counted only.
const LINES_MOST: usize = 500;

/// Where the section is found on the page.
pub(super) fn anchor(sweep: &Sweep) -> String {
    let letters = sweep.name.chars();
    let letters = letters.map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' });
    format!("sweep-{}", letters.collect::<String>())
}

/// The section.
pub(super) fn section(sweep: &Sweep) -> Markup {
    let Sweep { done, failed, missing, short, lines, .. } = sweep;
    html! {
        section id=(anchor(sweep)) {
            h2 {
                "Sweep " (sweep.name)
                @if failed + missing > 0 { " " span.partial { "partial" } }
            }
            p {
                (done) " of " (done + failed + missing) " cells are done, " (failed) " failed, " (missing)
                " are missing; " (short.len()) " broke a promise or did not deliver everything."
            }
            @if !short.is_empty() {
                div.short {
                    p { "Not delivered, or broken:" }
                    ul {
                        @for (cell, says) in short.iter().take(LISTED) { li { (cell) ": " (says) } }
                        @if short.len() > LISTED {
                            li { "and " (short.len() - LISTED) " more; see the summary’s columns result.failed and result.broken" }
                        }
                    }
                }
            }
            @for (_, picture) in panels(&sweep.drawn).unwrap_or_default() {
                // Its ink is black and nothing else is: on a dark page it has the text's colour.
                figure { (PreEscaped(picture.replace("#000000", "currentColor"))) }
            }
            table.summary {
                thead {
                    tr {
                        @for parameter in &sweep.parameters { th { (parameter) } }
                        th { "Cells" }
                        th { "Falls short" }
                        @for measure in &sweep.measures { th { (measure.name) ": median [least, most]" } }
                    }
                }
                tbody { @for one in lines.iter().take(LINES_MOST) { (line(one, &sweep.measures)) } }
            }
            @if lines.len() > LINES_MOST {
                p.quiet { "And " (lines.len() - LINES_MOST) " more lines: see the summary." }
            }
        }
    }
}

fn line(line: &Line, measures: &[Measure]) -> Markup {
    html! {
        tr {
            @for value in &line.values { td { (value) } }
            td.number { (line.done) }
            td.number {
                @if line.short > 0 { span.missed { (line.short) } } @else { "–" }
            }
            @for (measure, samples) in measures.iter().zip(&line.samples) {
                td.number { (spread(measure, samples)) }
            }
        }
    }
}

fn spread(measure: &Measure, samples: &[f64]) -> String {
    let said = |value: f64| match measure.unit {
        "b/s" => rate(value),
        _ => digits(value),
    };
    let Some(middle) = median(samples) else { return "–".to_owned() };
    let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
    let most = samples.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if samples.len() == 1 {
        return said(middle);
    }
    format!("{} [{}, {}]", said(middle), said(least), said(most))
}
