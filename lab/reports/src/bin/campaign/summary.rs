//! All results of a campaign as one table: `summary.csv` and `summary.json`, a row for each cell.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use serde_json::{Map, Value};
use stackwright_results::Problem;

use crate::description::Campaign;
use crate::flatten::flatten;
use crate::folder::Folder;
use crate::sweep::{Cell, SEED};
use crate::verdict::fell_short;

/// Columns of the widest summary.
const COLUMNS_MOST: usize = 10_000;
/// Failed cells that are named.
const NAMED_MOST: usize = 20;
/// What a column that came from a result begins with: a parameter may have the same name.
const RESULT: &str = "result.";

/// What was joined.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) files: [PathBuf; 2],
    pub(crate) done: u64,
    /// Results that say that a promise was broken, or a workload not done.
    pub(crate) fell_short: u64,
    pub(crate) failed: u64,
    /// The first of those that failed, and what kept their words.
    pub(crate) named: Vec<(String, PathBuf)>,
    /// Cells that were not run yet, or were interrupted.
    pub(crate) missing: u64,
}

/// Joins what there is. Results are read twice, and none is kept in memory: there may be millions.
pub(crate) fn write(campaign: &Campaign, folder: &Folder) -> Result<Summary, Problem> {
    folder.exists()?;
    let columns = columns(campaign, folder)?;
    let files = [folder.file("summary.csv"), folder.file("summary.json")];
    let mut summary = Summary {
        files: files.clone(),
        done: 0,
        fell_short: 0,
        failed: 0,
        named: Vec::new(),
        missing: 0,
    };
    folder.write(&files[0], |file| {
        let mut csv = csv::Writer::from_writer(file);
        csv.write_record(&columns).map_err(of_the_disk)?;
        for cell in campaign.cells() {
            let row = row(&cell, folder, folder.read(&cell));
            let values = columns.iter().map(|column| row.get(column).map_or(String::new(), plain));
            csv.write_record(values).map_err(of_the_disk)?;
        }
        csv.flush()
    })?;
    folder.write(&files[1], |file| {
        file.write_all(b"[\n")?;
        for cell in campaign.cells() {
            let result = folder.read(&cell);
            summary.fell_short += u64::from(result.as_ref().is_some_and(fell_short));
            let row = row(&cell, folder, result);
            match row.get("state").and_then(Value::as_str) {
                Some("done") => summary.done += 1,
                Some("failed") => {
                    summary.failed += 1;
                    if summary.named.len() < NAMED_MOST {
                        summary.named.push((cell.full_name(), folder.words(&cell)));
                    }
                }
                _ => summary.missing += 1,
            }
            if cell.index > 0 {
                file.write_all(b",\n")?;
            }
            serde_json::to_writer(&mut *file, &row)?;
        }
        file.write_all(b"\n]\n")
    })?;
    Ok(summary)
}

/// What is known of every cell, the parameters of all sweeps in order, and what the results have.
fn columns(campaign: &Campaign, folder: &Folder) -> Result<Vec<String>, Problem> {
    let mut columns: Vec<String> = ["cell", "sweep", "state", SEED].map(str::to_owned).into();
    for parameter in campaign.sweeps().iter().flat_map(|sweep| &sweep.parameters) {
        if !columns.contains(&parameter.name) {
            columns.push(parameter.name.clone());
        }
    }
    let mut results = BTreeSet::new();
    for cell in campaign.cells() {
        if let Some(result) = folder.read(&cell) {
            flatten(&result, &mut |name, _| {
                if !results.contains(name) {
                    results.insert(name.to_owned());
                }
            });
        }
        if results.len() > COLUMNS_MOST {
            let says = format!(
                "the results need more than {COLUMNS_MOST} columns, counted up to {}",
                cell.full_name()
            );
            return Err(Problem::new(says)
                .advise("put values that need no column, such as one per packet, into a list"));
        }
    }
    columns.extend(results.into_iter().map(|name| format!("{RESULT}{name}")));
    Ok(columns)
}

fn row(cell: &Cell<'_>, folder: &Folder, result: Option<Value>) -> Map<String, Value> {
    let mut row = Map::new();
    row.insert("cell".into(), cell.full_name().into());
    row.insert("sweep".into(), cell.sweep.name.clone().into());
    if let Some(seed) = cell.seed {
        row.insert(SEED.into(), seed.into());
    }
    for (parameter, value) in cell.sweep.parameters.iter().zip(&cell.values) {
        row.insert(parameter.name.clone(), number_or_text(value));
    }
    let state = match result {
        Some(result) => {
            flatten(&result, &mut |name, value| {
                row.insert(format!("{RESULT}{name}"), value.clone());
            });
            "done"
        }
        None if folder.words(cell).exists() => "failed",
        None => "missing",
    };
    row.insert("state".into(), state.into());
    row
}

/// The disk's own error, so that a full one is known as such.
fn of_the_disk(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// A parameter as a number where it is one, so that both files say the same of it.
fn number_or_text(value: &str) -> Value {
    value.parse().map_or_else(|_| value.into(), Value::Number)
}

/// As it stands in a table: a text without quotes.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
