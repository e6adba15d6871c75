//! The results in a folder.

use std::path::Path;
use std::{fs, mem};

use stackwright_results::outcome::{FORMAT, Outcome};
use stackwright_results::{Conditions, Problem};

use crate::campaign::{self, Sweep};

/// The table with which a report begins: what most ask first is what a path can carry.
const FIRST: &str = "paths";
/// The largest file that is read, in octets: results are far smaller.
const MOST: u64 = 64 << 20;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Results {
    /// In the order of their tables.
    pub(crate) outcomes: Vec<Outcome>,
    /// The sweeps of campaigns, by their summaries.
    pub(crate) sweeps: Vec<Sweep>,
    /// Files that are no results, and why.
    pub(crate) unreadable: Vec<(String, String)>,
}

/// Reads all `*.json` of a folder. `paths` comes first, the other tables in the order of `lab table
/// all`, others behind them by name; cells of one table that were measured one by one are one
/// table.
///
/// # Errors
/// Where the folder cannot be read, or holds no results at all.
pub(crate) fn read(folder: &Path) -> Result<Results, Problem> {
    let unreadable = |why| {
        Problem::new(format!("cannot read {}: {why}", folder.display()))
            .advise("`lab table all --quick` writes results to lab-results")
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
            Ok(Kind::Table(outcome)) => found.outcomes.push(*outcome),
            Ok(Kind::Campaign(sweeps)) => found.sweeps.extend(sweeps),
            Err(why) => {
                let name = file.file_name().unwrap_or_default().display().to_string();
                found.unreadable.push((name, why));
            }
        }
    }
    if found.outcomes.is_empty() && found.sweeps.is_empty() {
        return Err(nothing(folder, &found.unreadable));
    }
    // What was written before tables had places comes last.
    let place = |outcome: &Outcome| outcome.place.unwrap_or(u32::MAX);
    found.outcomes.sort_by_key(|outcome| (outcome.table != FIRST, place(outcome)));
    found.outcomes = joined(found.outcomes);
    Ok(found)
}

/// Cells of one table that the same program measured on the same machine, in the table's order.
/// Where one was measured twice, the later one is told.
fn joined(outcomes: Vec<Outcome>) -> Vec<Outcome> {
    let mut all: Vec<Outcome> = Vec::new();
    for outcome in outcomes {
        match all.iter_mut().find(|other| are_one(other, &outcome)) {
            Some(other) => join(other, outcome),
            None => all.push(outcome),
        }
    }
    for outcome in &mut all {
        outcome.rows.sort_by_key(|row| row.place);
    }
    all
}

fn are_one(one: &Outcome, other: &Outcome) -> bool {
    let made = |outcome: &Outcome| {
        let Conditions { processor, cores, kernel, commit, rustc, .. } = outcome.conditions.clone();
        (outcome.table.clone(), processor, cores, kernel, commit, rustc)
    };
    made(one) == made(other)
}

fn join(into: &mut Outcome, outcome: Outcome) {
    let (mut earlier, mut later) = (into.clone(), outcome);
    if later.conditions.date < earlier.conditions.date {
        mem::swap(&mut earlier, &mut later);
    }
    earlier.rows.retain(|row| later.rows.iter().all(|other| other.key != row.key));
    earlier.rows.append(&mut later.rows);
    for note in later.notes {
        if !earlier.notes.contains(&note) {
            earlier.notes.push(note);
        }
    }
    earlier.complete &= later.complete;
    earlier.command = format!("lab table {} --cell NAME, for each row", earlier.table);
    *into = earlier;
}

/// What a file holds.
enum Kind {
    Table(Box<Outcome>),
    Campaign(Vec<Sweep>),
}

/// There is nothing to report on: what to do depends on what lies there instead.
fn nothing(folder: &Path, unreadable: &[(String, String)]) -> Problem {
    let says = format!("no results in {}", folder.display());
    if let Some((file, why)) = unreadable.first() {
        return Problem::new(format!("{says}: {file}: {why}"))
            .advise("results are what `lab table` writes, and summary.json of a campaign");
    }
    let is_sweep = |entry: fs::DirEntry| entry.path().join("command").is_file();
    let campaign = fs::read_dir(folder).is_ok_and(|all| all.flatten().any(is_sweep));
    Problem::new(says).advise(if campaign {
        "it holds a campaign: `campaign FILE --into DIR --summary` writes the summary that is reported on"
    } else {
        "`lab table all --quick` writes results to lab-results"
    })
}

fn one(file: &Path) -> Result<Kind, String> {
    let length = fs::metadata(file).map_err(|why| why.to_string())?.len();
    if length > MOST {
        return Err(format!("the file is too long for results ({length} octets)"));
    }
    let text = fs::read_to_string(file).map_err(|why| why.to_string())?;
    if text.trim_start().starts_with('[') {
        let summary = serde_json::from_str(&text).map_err(|why| why.to_string())?;
        return campaign::sweeps(&summary).map(Kind::Campaign).ok_or_else(|| {
            "it is a list, but not the summary of a campaign, which has `sweep` and `state` of each cell".into()
        });
    }
    let mut outcome: Outcome = serde_json::from_str(&text).map_err(|why| why.to_string())?;
    if outcome.format != FORMAT {
        return Err(format!(
            "it has format {}; this program reads format {FORMAT}",
            outcome.format
        ));
    }
    // What follows from the samples is not believed, but worked out again.
    outcome.settle();
    Ok(Kind::Table(Box::new(outcome)))
}
