//! One picture of all ratios: who is ahead of whom, in everything that is a contest.

use plotters::prelude::*;
use stackwright_results::Problem;
use stackwright_results::outcome::{Comparison, Outcome, Row};
use stackwright_results::palette::{DOCUMENT, INK, colour};
use stackwright_results::verdict::Target;

const WIDTH: u32 = 720;
const ROW: u32 = 20;
const TEXT: u32 = 13;
const HEAD: u32 = 64;
const FOOT: u32 = 46;

/// Ours beside one peer in the rows of a group; below 1 we are ahead.
struct Line {
    group: String,
    against: String,
    value: f64,
    low: f64,
    high: f64,
}

/// The geometric means of the rows' ratios and of the ends of their intervals: an interval that is
/// wide rather than narrow.
fn lines(outcomes: &[Outcome]) -> Vec<Line> {
    let mut lines: Vec<(Line, i32)> = Vec::new();
    for outcome in outcomes {
        for (row, comparison) in outcome.comparisons() {
            let Some(ratio) = comparison.ratio.filter(|_| is_contest(row, comparison)) else {
                continue;
            };
            let ends = if row.more_is_better {
                [1.0 / ratio.value, 1.0 / ratio.high, 1.0 / ratio.low]
            } else {
                [ratio.value, ratio.low, ratio.high]
            };
            let [value, low, high] = ends.map(f64::ln);
            if ![value, low, high].iter().all(|end| end.is_finite()) {
                continue;
            }
            let group = called(outcome, row);
            match lines
                .iter_mut()
                .find(|(line, _)| line.group == group && line.against == comparison.against)
            {
                Some((line, count)) => {
                    line.value += value;
                    line.low += low;
                    line.high += high;
                    *count += 1;
                }
                None => {
                    let against = comparison.against.clone();
                    lines.push((Line { group, against, value, low, high }, 1));
                }
            }
        }
    }
    let mean = |(line, count): (Line, i32)| {
        let [value, low, high] =
            [line.value, line.low, line.high].map(|sum| (sum / f64::from(count)).exp());
        Line { value, low, high, ..line }
    };
    lines.into_iter().map(mean).collect()
}

/// Whether it is one with somebody else, and about who is ahead.
fn is_contest(row: &Row, comparison: &Comparison) -> bool {
    let with_peer = row.column(&comparison.against).is_some_and(|column| !column.ours);
    with_peer && matches!(comparison.target, Some(Target::AtMost(1.0) | Target::AtLeast(1.0)))
}

fn called(outcome: &Outcome, row: &Row) -> String {
    format!("{}: {}", outcome.table, row.group)
}

/// The picture, as SVG on white paper.
///
/// # Errors
/// Where there is nothing to draw.
pub(super) fn picture(outcomes: &[Outcome]) -> Result<String, Problem> {
    let lines = lines(outcomes);
    if lines.is_empty() {
        return Err(Problem::new("there are no ratios to draw").advise(
            "first measure a table that has other programs: `lab table ftp-latency --quick`",
        ));
    }
    let mut groups: Vec<&str> = lines.iter().map(|line| line.group.as_str()).collect();
    groups.dedup();
    let height = HEAD + FOOT + ROW * (lines.len() + groups.len()) as u32;
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        draw(&area, &lines, outcomes).map_err(|why| Problem::new(format!("cannot draw: {why}")))?;
    }
    Ok(text)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn draw(
    area: &Area,
    lines: &[Line],
    outcomes: &[Outcome],
) -> Result<(), Box<dyn std::error::Error>> {
    area.fill(&WHITE)?;
    let style = |size: u32| ("sans-serif", size).into_font().color(&INK);
    area.draw(&Text::new(
        "Stackwright compared with other programs: ratio of medians",
        (10, 8),
        style(TEXT + 4),
    ))?;
    let partial = outcomes.iter().any(|outcome| !outcome.complete);
    let date =
        outcomes.iter().map(|outcome| outcome.conditions.date.as_str()).max().unwrap_or_default();
    let commit = outcomes.iter().find_map(|outcome| outcome.conditions.commit.as_deref());
    let under = format!(
        "{}{}{}; bars: 95 % intervals; left of 1 we need less",
        date.get(..10).unwrap_or(date),
        commit.map_or_else(String::new, |commit| format!(", commit {commit}")),
        if partial { ", partial" } else { "" },
    );
    area.draw(&Text::new(under, (10, 34), style(TEXT)))?;
    let least = lines.iter().map(|line| line.low).fold(1.0, f64::min).max(1e-4);
    let most = lines.iter().map(|line| line.high).fold(1.0, f64::max).min(1e4);
    let mut places = Vec::new();
    let mut group = "";
    for line in lines {
        if line.group != group {
            group = &line.group;
            places.push(None);
        }
        places.push(Some(line));
    }
    let last = places.len() as f64;
    let mut chart = ChartBuilder::on(area)
        .margin_top(HEAD)
        .margin_left(170)
        .margin_right(24)
        .x_label_area_size(FOOT)
        .build_cartesian_2d((least / 1.1..most * 1.1).log_scale(), 0.0..last)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .bold_line_style(DOCUMENT.mix(0.35))
        .light_line_style(TRANSPARENT)
        .axis_style(INK)
        .label_style(style(TEXT))
        .x_desc("ours / theirs")
        .x_label_formatter(&|value| stackwright_results::digits(*value))
        .draw()?;
    chart.draw_series([PathElement::new([(1.0, 0.0), (1.0, last)], INK.stroke_width(2))])?;
    let mut next = lines.iter();
    for (number, place) in places.iter().enumerate() {
        let middle = last - number as f64 - 0.5;
        let (_, top) = chart.backend_coord(&(1.0, middle));
        let Some(line) = place else {
            let group = next.clone().next().map_or("", |line| line.group.as_str());
            area.draw(&Text::new(group.to_owned(), (10, top - 7), style(TEXT)))?;
            continue;
        };
        next.next();
        area.draw(&Text::new(format!("/ {}", line.against), (30, top - 7), style(TEXT)))?;
        let colour = match (line.high < 1.0, line.low > 1.0) {
            (true, _) => colour(0),
            (_, true) => colour(1),
            _ => DOCUMENT,
        };
        let (low, high) = (line.low.max(least), line.high.min(most));
        chart.draw_series([PathElement::new(
            [(low, middle), (high, middle)],
            colour.stroke_width(3),
        )])?;
        chart.draw_series([Circle::new(
            (line.value.clamp(least, most), middle),
            5,
            colour.filled(),
        )])?;
    }
    Ok(())
}
