//! Pictures of a table, in the document's axes: one for each group of rows.

mod chart;
mod heat;
mod legend;
pub mod palette;

use plotters::prelude::*;

use crate::Problem;
use crate::outcome::{Outcome, Row};

/// Drawn for a phone, and scaled up elsewhere: in this width the text has its own size.
const WIDTH: u32 = 400;

/// One picture for each group: its name, and SVG without a background, whose ink is black.
///
/// # Errors
/// Where a group cannot be drawn.
pub fn panels(outcome: &Outcome) -> Result<Vec<(String, String)>, Problem> {
    let groups = outcome.groups().into_iter();
    groups.map(|group| Ok((group.to_owned(), svg(outcome, &[group])?))).collect()
}

/// All groups in one file, one below the other.
///
/// # Errors
/// Where a group cannot be drawn.
pub fn picture(outcome: &Outcome) -> Result<String, Problem> {
    let drawn = svg(outcome, &outcome.groups())?;
    // A file may be shown anywhere: it brings its paper.
    let after = drawn
        .find("<svg")
        .and_then(|begin| Some(begin + drawn[begin..].find('>')? + 1))
        .unwrap_or(0);
    let paper = r##"<rect width="100%" height="100%" fill="#ffffff"/>"##;
    Ok(format!("{}{paper}{}", &drawn[..after], &drawn[after..]))
}

fn svg(outcome: &Outcome, groups: &[&str]) -> Result<String, Problem> {
    let members = |group: &str| -> Vec<&Row> {
        outcome
            .rows
            .iter()
            .filter(|row| row.group == group && row.columns.iter().any(|c| !c.samples.is_empty()))
            .collect()
    };
    let panels: Vec<(&str, Vec<&Row>)> =
        groups.iter().map(|group| (*group, members(group))).collect();
    let heights: Vec<u32> = panels.iter().map(|(_, rows)| chart::height(rows)).collect();
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, heights.iter().sum::<u32>().max(1)))
            .into_drawing_area();
        let mut rest = area;
        for ((group, rows), height) in panels.iter().zip(&heights) {
            let (panel, below) = rest.split_vertically(*height);
            chart::draw(&panel, group, rows, &outcome.axes)
                .map_err(|why| Problem::new(format!("{group} cannot be drawn: {why}")))?;
            rest = below;
        }
    }
    Ok(text)
}
