//! One group of rows with two axes: a map for each contestant, whose fields are shaded by the share
//! of the limit, and say it.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::chart::Drawn;
use super::legend::TEXT;
use super::palette::{INK, shade};
use super::{Row, WIDTH};
use crate::matrix::{at, falls_short, names, places, shown};
use crate::outcome::Axes;
use crate::quantity::step;

/// The title of a map, the steps of its horizontal axis, and what that axis is.
const TITLE: u32 = 24;
const STEPS: u32 = 18;
const NAME: u32 = 20;
/// The height of a row of fields, and the width of the steps of the vertical axis.
const FIELD: u32 = 24;
const LEFT: u32 = 52;

/// The height of a picture of these rows.
pub(super) fn height(rows: &[&Row]) -> u32 {
    let maps = names(rows).len() as u32;
    maps * (TITLE + FIELD * places(rows, |row| row.y).len() as u32 + STEPS) + NAME
}

/// Draws the maps, one below the other.
pub(super) fn draw<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    rows: &[&Row],
    axes: &Axes,
) -> Drawn<DB> {
    let (xs, ys) = (places(rows, |row| row.x), places(rows, |row| row.y));
    let names = names(rows);
    let each = TITLE + FIELD * ys.len() as u32 + STEPS;
    let wide = (WIDTH - LEFT - 8) / (xs.len() as u32).max(1);
    let ink = ("sans-serif", TEXT).into_font().color(&INK);
    for (number, name) in names.iter().enumerate() {
        let top = (number as u32 * each) as i32;
        area.draw(&Text::new(format!("{name}; {}", axes.y), (8, top + 6), ink.clone()))?;
        let field = |column: usize, line: usize| {
            let left = (LEFT + wide * column as u32) as i32;
            (left, top + (TITLE + FIELD * line as u32) as i32)
        };
        for (line, y) in ys.iter().enumerate() {
            let (_, top) = field(0, line);
            area.draw(&Text::new(step(*y), (16, top + 5), ink.clone()))?;
            for (column, x) in xs.iter().enumerate() {
                let row = at(rows, *x, *y).and_then(|row| Some((row, row.column(name)?)));
                let Some((row, whose)) = row else { continue };
                let Some(share) = row.share(whose) else { continue };
                let (left, top) = field(column, line);
                let right = (left + wide as i32 - 2, top + FIELD as i32 - 2);
                let (paper, text) = shade(share);
                area.draw(&Rectangle::new([(left, top), right], paper.filled()))?;
                let said = if falls_short(row, whose) { "!" } else { "" };
                let style = ("sans-serif", TEXT).into_font().color(&text);
                let said = format!("{}{said}", shown(share));
                area.draw(&Text::new(said, (left + 6, top + 4), style))?;
            }
        }
        for (column, x) in xs.iter().enumerate() {
            let (left, top) = field(column, ys.len());
            area.draw(&Text::new(step(*x), (left + 6, top + 2), ink.clone()))?;
        }
    }
    let foot = (names.len() as u32 * each) as i32;
    area.draw(&Text::new(axes.x.clone(), (LEFT as i32 + 6, foot + 2), ink))
}
