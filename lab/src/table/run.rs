//! Measures a table cell by cell, and keeps what there is after each.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use stackwright_results::outcome::{Axes, FORMAT, Outcome, Row};
use stackwright_results::{Conditions, Problem};

use super::{AnyTable, tables};
use crate::measure::{Course, Effort, Probe, Stop};

/// What of a table is wanted.
pub(crate) struct Run {
    /// How sure the figures shall be.
    pub(crate) effort: Effort,
    /// One cell alone.
    pub(crate) cell: Option<String>,
    /// What is drawn, and the order of each round.
    pub(crate) seed: u64,
    /// Whether somebody asked for the end.
    pub(crate) stop: Stop,
}

/// How long what was measured may be kept in memory alone.
const KEEP: Duration = Duration::from_secs(2);

/// Measures it. The second result says why it is not complete.
///
/// # Errors
/// Where nothing could be measured.
pub(crate) fn run(
    table: &dyn AnyTable,
    asked: &Run,
    keep: &dyn Fn(&Outcome) -> Result<(), Problem>,
) -> Result<(Outcome, Result<(), Problem>), Problem> {
    let about = table.about();
    let Axes { x, y, log_x, log_y } = about.axes;
    let keys = chosen(table, asked)?;
    let mut outcome = Outcome {
        format: FORMAT,
        place: place(tables().iter().map(|table| table.about().name), about.name),
        table: about.name.to_owned(),
        title: about.title.to_owned(),
        measures: about.measures.to_owned(),
        source: about.source.to_owned(),
        complete: false,
        command: command(about.name, asked),
        conditions: Conditions::now(),
        axes: Axes { x: x.to_owned(), y: y.to_owned(), log_x, log_y },
        notes: Vec::new(),
        rows: Vec::new(),
    };
    let all = table.keys(Effort::Full);
    let mut measure = table.open(&keys, &mut outcome.notes)?;
    let style = ProgressStyle::with_template("{prefix} {bar:20} {pos}/{len} {wide_msg}");
    let progress = ProgressBar::new(keys.len() as u64).with_prefix(about.name);
    progress.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let probe = Probe::new(about.limit)
        .map_err(|why| Problem::new(format!("cannot probe the machine: {why}")))?;
    let mut course = Course {
        effort: asked.effort,
        seed: asked.seed,
        stop: asked.stop.clone(),
        probe,
        progress: progress.clone(),
    };
    let (mut ended, mut kept) = (Ok(()), None);
    for key in &keys {
        match measure(key, &mut course) {
            Ok(row) if row.columns.iter().any(|column| !column.samples.is_empty()) => {
                let place = place(all.iter().map(String::as_str), key);
                outcome.rows.push(Row { place, ..row });
            }
            Ok(_) => {}
            Err(problem) => ended = Err(problem.within(key)),
        }
        if asked.stop.asked() || ended.is_err() {
            break;
        }
        progress.inc(1);
        // Simulated cells take less time than a file that is written to the disk.
        if kept.is_some_and(|kept: Instant| kept.elapsed() < KEEP) {
            continue;
        }
        outcome.settle();
        ended = keep(&outcome);
        if ended.is_err() {
            break;
        }
        kept = Some(Instant::now());
    }
    progress.finish_and_clear();
    outcome.settle();
    if outcome.rows.is_empty() && ended.is_ok() && !asked.stop.asked() {
        ended = Err(Problem::new("nothing could be measured").advise(outcome.notes.join(" ")));
    }
    outcome.complete = ended.is_ok() && !asked.stop.asked();
    Ok((outcome, ended))
}

/// Where `name` stands among all.
fn place<'a>(mut all: impl Iterator<Item = &'a str>, name: &str) -> Option<u32> {
    all.position(|other| other == name).and_then(|place| place.try_into().ok())
}

/// All cells, or the one that was asked for.
fn chosen(table: &dyn AnyTable, asked: &Run) -> Result<Vec<String>, Problem> {
    let Some(cell) = &asked.cell else { return Ok(table.keys(asked.effort)) };
    // A cell alone may be one for which only a full run has time.
    let all = table.keys(Effort::Full);
    if all.contains(cell) {
        return Ok(vec![cell.clone()]);
    }
    let name = table.about().name;
    Err(Problem::usage(format!("the table {name} has no cell {cell}"))
        .advise(format!("`lab table {name} --cells --full` lists the cells")))
}

fn command(name: &str, asked: &Run) -> String {
    let cell = asked.cell.as_ref().map_or(String::new(), |cell| format!(" --cell {cell}"));
    let seed = if asked.seed == 0 { String::new() } else { format!(" --seed {}", asked.seed) };
    format!(
        "cargo run --release -p stackwright-lab -- table {name}{cell}{}{seed}",
        asked.effort.flag()
    )
}
