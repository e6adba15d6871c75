//! The page: the curves of each trial, the candidate's before those of the references.

use std::error::Error;
use std::fmt::Write as _;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::table::{cell, has_curves, verdict};
use crate::trial::Outcome;
use crate::watch::Point;
use crate::{Congestion, Row};

/// Of a chart, in pixels.
const WIDTH: u32 = 480;
const HEIGHT: u32 = 200;

const MARGIN: u32 = 6;
const LABELS: u32 = 46;

const CANDIDATE: RGBColor = RGBColor(0xc2, 0x18, 0x5b);
const REFERENCES: [RGBColor; 3] =
    [RGBColor(0x9e, 0x9e, 0x9e), RGBColor(0x42, 0x85, 0xc4), RGBColor(0x6b, 0xa5, 0x4a)];

const HEAD: &str = "<!DOCTYPE html>
<html lang=\"en\"><meta charset=\"utf-8\"><title>Congestion judges</title>
<style>
body { font: 14px sans-serif; max-width: 1000px; margin: 2em auto; color: #222 }
section { border-top: 1px solid #ddd; padding: .6em 0 } h2 { font-size: 15px; margin: .3em 0 }
.miss { color: #c2185b } b { font-weight: 600 } svg { max-width: 100% }
</style>
";

/// Returns the page.
///
/// # Errors
/// If a chart cannot be drawn.
pub(crate) fn page(rows: &[Row]) -> Result<String, Box<dyn Error>> {
    let mut page = String::from(HEAD);
    let Some(first) = rows.first() else { return Ok(page) };
    let named = |(nth, (judge, _)): (usize, &(Congestion, Outcome))| {
        let RGBColor(red, green, blue) = colour(nth);
        format!("<b style=\"color:rgb({red},{green},{blue})\">{judge}</b>")
    };
    let names: Vec<_> = first.outcomes.iter().enumerate().map(named).collect();
    let _ = write!(page, "<h1>{}</h1><p>{}: ", first.outcomes[0].0, names.join(", "));
    page.push_str(
        "left the window in packets of 1200 octets, right the goodput as a share of the payload \
         that the path can carry, over the time in seconds.</p>\n",
    );
    for row in rows {
        section(&mut page, row)?;
    }
    Ok(page)
}

fn section(page: &mut String, row: &Row) -> Result<(), Box<dyn Error>> {
    let misses = verdict(row);
    let (class, verdict) = if misses.is_empty() { ("met", "ok") } else { ("miss", &*misses) };
    let _ =
        write!(page, "<section><h2>{}: <span class=\"{class}\">{verdict}</span></h2>", row.trial);
    let told = |(judge, outcome): &(Congestion, Outcome)| format!("{judge} {}", cell(outcome));
    let told: Vec<_> = row.outcomes.iter().map(told).collect();
    let _ = writeln!(page, "<div>{}</div>", told.join(" · "));
    if has_curves(row) {
        let mut picture = String::new();
        {
            let size = (2 * WIDTH, HEIGHT);
            let area = SVGBackend::with_string(&mut picture, size).into_drawing_area();
            let (left, right) = area.split_horizontally(WIDTH);
            curves(&left, row, |point| point.window as f64 / 1200.0)?;
            curves(&right, row, |point| point.goodput)?;
            area.present()?;
        }
        page.push_str(&picture);
    }
    page.push_str("</section>\n");
    Ok(())
}

/// The colour of the nth judge.
fn colour(nth: usize) -> RGBColor {
    nth.checked_sub(1).map_or(CANDIDATE, |reference| REFERENCES[reference % REFERENCES.len()])
}

fn curves(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    row: &Row,
    value: impl Fn(&Point) -> f64,
) -> Result<(), Box<dyn Error>> {
    let curves: Vec<Vec<(f64, f64)>> = row
        .outcomes
        .iter()
        .filter_map(|(_, outcome)| match outcome {
            Outcome::Alone(figures) => Some(figures),
            Outcome::Shared(_) => None,
        })
        .map(|figures| figures.points.iter().map(|point| (point.at, value(point))).collect())
        .collect();
    let most = curves.iter().flatten().map(|(_, value)| *value).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(MARGIN)
        .x_label_area_size(LABELS / 2)
        .y_label_area_size(LABELS)
        .build_cartesian_2d(0.0..row.trial.seconds as f64, 0.0..1.05 * most)?;
    chart.configure_mesh().light_line_style(WHITE).x_labels(7).y_labels(5).draw()?;
    // The candidate last, on top.
    for (nth, curve) in curves.into_iter().enumerate().rev() {
        let wide = if nth == 0 { 2 } else { 1 };
        chart.draw_series(LineSeries::new(curve, colour(nth).stroke_width(wide)))?;
    }
    Ok(())
}
