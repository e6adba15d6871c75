//! A group with two axes as a matrix for the terminal: the share of the limit, a block for each
//! contestant, as many side by side as a line has room for.

use anstyle::{AnsiColor, Style};

use crate::outcome::{Axes, Column, Row};
use crate::quantity::step;
use crate::say;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();

/// How many columns a line has.
const WIDTH: usize = 100;
const CELL: usize = 6;

/// Whether each row has a place on both axes.
pub(crate) fn is_matrix(rows: &[&Row]) -> bool {
    rows.len() > 1 && rows.iter().all(|row| row.x.is_some() && row.y.is_some())
}

/// The places on an axis, in ascending order.
pub(crate) fn places(rows: &[&Row], of: impl Fn(&Row) -> Option<f64>) -> Vec<f64> {
    let mut places: Vec<f64> = rows.iter().filter_map(|row| of(row)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

/// The contestants of all rows, in the order of their columns.
pub(crate) fn names<'a>(rows: &[&'a Row]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for column in rows.iter().flat_map(|row| &row.columns) {
        if !names.contains(&column.name.as_str()) {
            names.push(&column.name);
        }
    }
    names
}

/// The row at a place.
pub(crate) fn at<'a>(rows: &[&'a Row], x: f64, y: f64) -> Option<&'a Row> {
    rows.iter().find(|row| row.x == Some(x) && row.y == Some(y)).copied()
}

/// A share in two digits.
pub(crate) fn shown(share: f64) -> String {
    if share.is_finite() { format!("{share:.2}") } else { "–".to_owned() }
}

/// Whether a contestant misses what it shall reach in this row.
pub(crate) fn falls_short(row: &Row, column: &Column) -> bool {
    let compared = row.comparisons.iter().filter(|comparison| comparison.ours == column.name);
    column.falls_short()
        || compared.filter_map(|comparison| comparison.verdict).any(|it| it.falls_short())
}

/// Prints the group.
pub(super) fn print(rows: &[&Row], axes: &Axes) {
    let (xs, ys) = (places(rows, |row| row.x), places(rows, |row| row.y));
    let (head, block) = (axes.y.chars().count().max(6), CELL * xs.len() + 2);
    let names = names(rows);
    let beside = ((WIDTH - head) / block).max(1);
    for names in names.chunks(beside) {
        let titles: String = names.iter().map(|name| format!("{name:<block$}")).collect();
        say!("    {:<head$}  {BOLD}{}{BOLD:#}", "", titles.trim_end());
        let steps: String = xs.iter().map(|x| format!("{:>CELL$}", step(*x))).collect();
        let steps = format!("{steps}  ").repeat(names.len());
        say!("    {:<head$}{}   {}", axes.y, steps.trim_end(), axes.x);
        for y in &ys {
            let cells = names.iter().map(|name| {
                let cells = xs.iter().map(|x| cell(at(rows, *x, *y), name));
                cells.collect::<String>() + "  "
            });
            say!("    {:>head$}{}", step(*y), cells.collect::<String>().trim_end());
        }
    }
}

/// The share of the limit; marked where something falls short.
fn cell(row: Option<&Row>, name: &str) -> String {
    let Some((row, column)) = row.and_then(|row| Some((row, row.column(name)?))) else {
        return " ".repeat(CELL);
    };
    let share = shown(row.share(column).unwrap_or(f64::NAN));
    match falls_short(row, column) {
        true => format!("{BAD}{:>CELL$}{BAD:#}", format!("{share}!")),
        false => format!("{:>1$} ", share, CELL - 1),
    }
}
