//! Who is which colour: words above a picture, in as many lines as they need.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::chart::Drawn;
use super::palette::{DOCUMENT, INK, Mark, colour, mark};

/// The size of all text, in the picture's own pixels.
pub(super) const TEXT: u32 = 13;
/// The height of one line of words.
const LINE: i32 = 20;

/// The names with their places, line by line.
fn places(names: &[String], width: u32) -> Vec<(i32, i32)> {
    let (mut left, mut line) = (8, 0);
    let mut places = Vec::new();
    for name in names {
        // There is no font to measure with: letters are a little more than half as wide as high.
        let wide = 30 + (name.chars().count() as f64 * f64::from(TEXT) * 0.58) as i32;
        if left > 8 && left + wide > width as i32 {
            (left, line) = (8, line + 1);
        }
        places.push((left, line * LINE));
        left += wide;
    }
    places
}

/// The height of all lines.
pub(super) fn height(names: &[String], width: u32) -> u32 {
    places(names, width).last().map_or(0, |(_, top)| (top + LINE) as u32)
}

/// Draws the contestants' names with their marks, then those of the document with a dash.
pub(super) fn draw<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    names: &[String],
    contestants: usize,
) -> Drawn<DB> {
    let (width, _) = area.dim_in_pixel();
    for (place, ((left, top), name)) in places(names, width).into_iter().zip(names).enumerate() {
        let middle = top + LINE / 2;
        if place < contestants {
            let (at, filled, stroked) =
                ((left + 8, middle), colour(place).filled(), colour(place).stroke_width(2));
            match mark(place) {
                Mark::Disc => area.draw(&Circle::new(at, 4, filled))?,
                Mark::Triangle => area.draw(&TriangleMarker::new(at, 5, filled))?,
                Mark::Cross => area.draw(&Cross::new(at, 4, stroked))?,
                Mark::Ring => area.draw(&Circle::new(at, 4, stroked))?,
            }
        } else {
            area.draw(&PathElement::new(
                [(left, middle), (left + 16, middle)],
                DOCUMENT.stroke_width(2),
            ))?;
        }
        let style = ("sans-serif", TEXT).into_font().color(&INK);
        area.draw(&Text::new(name.clone(), (left + 22, top + 3), style))?;
    }
    Ok(())
}
