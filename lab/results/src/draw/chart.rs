//! One group of rows: heat maps where the rows have places on two axes, lines where they have one
//! place, else dots, a line a row.

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;

use super::heat;
use super::legend::{self, TEXT};
use super::palette::{DOCUMENT, INK, Mark, colour, mark};
use super::{Row, WIDTH};
use crate::matrix::{self, is_matrix};
use crate::outcome::{Axes, Column};
use crate::quantity::{quantity, step};

/// How drawing ends.
pub(super) type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

const TITLE: u32 = 28;
const LINES: u32 = 300;
const DOT_ROW: u32 = 19;

/// The height of a picture of these rows.
pub(super) fn height(rows: &[&Row]) -> u32 {
    if is_matrix(rows) {
        return TITLE + heat::height(rows);
    }
    let body = if lined(rows) { LINES } else { 60 + DOT_ROW * rows.len() as u32 };
    TITLE + legend::height(&names(rows).0, WIDTH) + body
}

/// Whether every row has a place on the horizontal axis.
fn lined(rows: &[&Row]) -> bool {
    rows.len() > 1 && rows.iter().all(|row| row.x.is_some())
}

/// The contestants, then whose numbers the document has that are in the same unit; and how many the
/// former are.
fn names(rows: &[&Row]) -> (Vec<String>, usize) {
    let mut names: Vec<String> = matrix::names(rows).into_iter().map(str::to_owned).collect();
    let contestants = names.len();
    for row in rows {
        for figure in row.document.iter().filter(|figure| figure.unit == row.unit) {
            let name = format!("{} (document)", figure.who);
            if !names[contestants..].contains(&name) {
                names.push(name);
            }
        }
    }
    (names, contestants)
}

/// A series of points.
struct Series {
    points: Vec<(f64, f64)>,
}

fn series(rows: &[&Row], names: &[String], contestants: usize) -> Vec<Series> {
    let value = |row: &Row, place: usize| -> Option<f64> {
        if place < contestants {
            return row.column(&names[place]).and_then(Column::median);
        }
        let who = names[place].strip_suffix(" (document)")?;
        row.document
            .iter()
            .find(|figure| figure.who == who && figure.unit == row.unit)
            .map(|f| f.value)
    };
    let points = |place: usize| {
        let along = rows.iter().enumerate();
        along
            .filter_map(|(number, row)| {
                Some((row.x.unwrap_or((rows.len() - 1 - number) as f64), value(row, place)?))
            })
            .filter(|(x, y)| drawn(*x) && drawn(*y))
            .collect()
    };
    (0..names.len()).map(|place| Series { points: points(place) }).collect()
}

/// Whether a number is one that an axis can show: nothing that is measured is larger, or smaller
/// and not zero.
fn drawn(value: f64) -> bool {
    value == 0.0 || (1e-12..1e15).contains(&value.abs())
}

/// Draws title, legend and body.
pub(super) fn draw<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    group: &str,
    rows: &[&Row],
    axes: &Axes,
) -> Drawn<DB> {
    let (names, contestants) = names(rows);
    let (title, rest) = area.split_vertically(TITLE);
    let style = ("sans-serif", TEXT + 2).into_font().style(FontStyle::Bold).color(&INK);
    title.draw(&Text::new(group.to_owned(), (8, 8), style))?;
    if is_matrix(rows) {
        return heat::draw(&rest, rows, axes);
    }
    let (words, body) = rest.split_vertically(legend::height(&names, WIDTH));
    legend::draw(&words, &names, contestants)?;
    let all = series(rows, &names, contestants);
    let (xs, ys): (Vec<f64>, Vec<f64>) =
        all.iter().flat_map(|one| one.points.iter().copied()).unzip();
    if ys.is_empty() {
        return Ok(());
    }
    let unit = rows.first().map_or("", |row| row.unit.as_str());
    if !lined(rows) {
        return dots(&body, rows, &all, &ys, unit);
    }
    let log_x = axes.log_x && xs.iter().all(|x| *x > 0.0);
    let log_y = axes.log_y && ys.iter().all(|y| *y > 0.0);
    let (x, y) = (span(&xs, log_x), span(&ys, log_y));
    match (log_x, log_y) {
        (true, true) => lines(&body, x.log_scale(), y.log_scale(), &all, contestants, axes, unit),
        (true, false) => lines(&body, x.log_scale(), y, &all, contestants, axes, unit),
        (false, true) => lines(&body, x, y.log_scale(), &all, contestants, axes, unit),
        (false, false) => lines(&body, x, y, &all, contestants, axes, unit),
    }
}

/// From where to where an axis goes.
fn span(values: &[f64], logarithmic: bool) -> std::ops::Range<f64> {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if logarithmic {
        return least / 1.5..most * 1.5;
    }
    // From zero: a difference shall not look larger than it is.
    least.min(0.0)..if most > 0.0 { most * 1.08 } else { 1.0 }
}

fn lines<DB, X, Y>(
    area: &DrawingArea<DB, Shift>,
    x: X,
    y: Y,
    all: &[Series],
    contestants: usize,
    axes: &Axes,
    unit: &str,
) -> Drawn<DB>
where
    DB: DrawingBackend,
    X: AsRangedCoord<Value = f64>,
    Y: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let mut chart = ChartBuilder::on(area)
        .margin_right(16)
        .x_label_area_size(44)
        .y_label_area_size(70)
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(DOCUMENT.mix(0.35))
        .light_line_style(TRANSPARENT)
        .axis_style(INK)
        .x_labels(8)
        .y_labels(6)
        .label_style(("sans-serif", TEXT).into_font().color(&INK))
        .x_desc(axes.x.as_str())
        .y_desc(axes.y.as_str())
        .x_label_formatter(&|value| step(*value))
        .y_label_formatter(&|value| if unit == "s" { quantity(*value, unit) } else { step(*value) })
        .draw()?;
    for (place, one) in all.iter().enumerate() {
        if place >= contestants {
            let style = DOCUMENT.stroke_width(1);
            chart.draw_series(DashedLineSeries::new(one.points.iter().copied(), 5, 4, style))?;
            continue;
        }
        chart.draw_series(LineSeries::new(
            one.points.iter().copied(),
            colour(place).stroke_width(2),
        ))?;
        marks(&mut chart, one.points.iter().copied(), place)?;
    }
    Ok(())
}

/// A line a row, a mark a contestant.
fn dots<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    rows: &[&Row],
    all: &[Series],
    values: &[f64],
    unit: &str,
) -> Drawn<DB> {
    let longest = rows.iter().map(|row| row.label.chars().count()).max().unwrap_or(0) as f64;
    let labels = ((longest * f64::from(TEXT) * 0.58) as u32 + 14).min(WIDTH / 2);
    let last = rows.len() as f64 - 1.0;
    let mut chart = ChartBuilder::on(area)
        .margin_right(20)
        .x_label_area_size(44)
        .y_label_area_size(0)
        .margin_left(labels)
        .build_cartesian_2d(span(values, false), -0.7..last + 0.7)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .bold_line_style(DOCUMENT.mix(0.35))
        .light_line_style(TRANSPARENT)
        .axis_style(INK)
        .x_labels(4)
        .label_style(("sans-serif", TEXT).into_font().color(&INK))
        .x_desc(if unit == "s" { "time" } else { unit })
        .x_label_formatter(&|value| if unit == "s" { quantity(*value, unit) } else { step(*value) })
        .draw()?;
    for (number, row) in rows.iter().enumerate() {
        let (_, middle) = chart.backend_coord(&(0.0, last - number as f64));
        let (_, top) = area.get_base_pixel();
        let style = ("sans-serif", TEXT).into_font().color(&INK);
        area.draw(&Text::new(row.label.clone(), (6, middle - top - TEXT as i32 / 2), style))?;
    }
    for (place, one) in all.iter().enumerate() {
        marks(&mut chart, one.points.iter().map(|(row, value)| (*value, *row)), place)?;
    }
    Ok(())
}

/// The marks of the column at `place`.
fn marks<DB, X, Y>(
    chart: &mut ChartContext<DB, Cartesian2d<X, Y>>,
    points: impl Iterator<Item = (f64, f64)>,
    place: usize,
) -> Drawn<DB>
where
    DB: DrawingBackend,
    X: Ranged<ValueType = f64>,
    Y: Ranged<ValueType = f64>,
{
    let (filled, stroked) = (colour(place).filled(), colour(place).stroke_width(2));
    match mark(place) {
        Mark::Disc => chart.draw_series(points.map(|at| Circle::new(at, 4, filled)))?,
        Mark::Triangle => chart.draw_series(points.map(|at| TriangleMarker::new(at, 5, filled)))?,
        Mark::Cross => chart.draw_series(points.map(|at| Cross::new(at, 4, stroked)))?,
        Mark::Ring => chart.draw_series(points.map(|at| Circle::new(at, 4, stroked)))?,
    };
    Ok(())
}
