//! The results in a folder.

use std::fs;
use std::path::Path;

use crate::problem::Problem;
use crate::table::outcome::{FORMAT, Outcome};

/// The largest file that is read, in octets: results are far smaller.
const MOST: u64 = 64 << 20;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Results {
    /// In the order of their tables.
    pub(crate) outcomes: Vec<Outcome>,
    /// Files that are no results, and why.
    pub(crate) unreadable: Vec<(String, String)>,
}

/// Reads all `*.json` of a folder. The tables come in the order of `lab table all`, others behind them by name.
///
/// # Errors
/// Where the folder cannot be read, or holds no results at all.
pub(crate) fn read(folder: &Path) -> Result<Results, Problem> {
    let unreadable = |why| {
        Problem::new(format!("{} cannot be read: {why}", folder.display()))
            .advise("lab table all --quick writes results into lab-results")
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        if file.extension().is_some_and(|extension| extension == "json") {
            files.push(file);
        }
    }
    files.sort();
    let mut found = Results::default();
    for file in files {
        match one(&file) {
            Ok(outcome) => found.outcomes.push(outcome),
            Err(why) => {
                let name = file.file_name().unwrap_or_default().display().to_string();
                found.unreadable.push((name, why));
            }
        }
    }
    if found.outcomes.is_empty() && found.unreadable.is_empty() {
        return Err(Problem::new(format!("there are no results in {}", folder.display()))
            .advise("lab table all --quick writes results into lab-results"));
    }
    let order: Vec<_> = crate::table::tables().iter().map(|table| table.about().name).collect();
    let place = |outcome: &Outcome| order.iter().position(|name| *name == outcome.table);
    found.outcomes.sort_by_key(|outcome| place(outcome).unwrap_or(order.len()));
    Ok(found)
}

fn one(file: &Path) -> Result<Outcome, String> {
    let length = fs::metadata(file).map_err(|why| why.to_string())?.len();
    if length > MOST {
        return Err(format!("{length} octets are too many for results"));
    }
    let text = fs::read_to_string(file).map_err(|why| why.to_string())?;
    let mut outcome: Outcome = serde_json::from_str(&text).map_err(|why| why.to_string())?;
    if outcome.format != FORMAT {
        return Err(format!("it has form {}, this program reads {FORMAT}", outcome.format));
    }
    // What follows from the samples is not believed, but worked out again.
    outcome.settle();
    Ok(outcome)
}
