//! The `campaign` program: many cells of one file, each a command with a seed that makes one
//! result, run here or anywhere.
//!
//! | file | what |
//! | --- | --- |
//! | `description.rs`, `read.rs` | the file, and why it is refused |
//! | `sweep.rs`, `template.rs` | cells: their order, their names, their words |
//! | `folder.rs` | where results lie, whole or not at all |
//! | `child.rs`, `run.rs` | one cell; all of them |
//! | `summary.rs`, `flatten.rs` | the results as one table |
//! | `verdict.rs` | whether a result says that something went wrong |
#![deny(unsafe_code)]

mod child;
mod description;
mod flatten;
mod folder;
mod read;
mod run;
mod summary;
mod sweep;
mod template;
mod verdict;

use std::fs;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use clap::{ArgGroup, Parser};
use stackwright_results::{Problem, say};

use description::Campaign;
use folder::Folder;
use run::{Run, Tally};

/// Run the cells of a campaign, or continue an interrupted one
///
/// A cell is one command with one seed; it makes one result. Cells with a result are not run again.
#[derive(Parser, Debug)]
#[command(name = "campaign", version, group(ArgGroup::new("instead").args(["list", "count", "summary", "cell"])))]
struct Arguments {
    /// The campaign file; lab/campaign/example.toml explains the format
    file: PathBuf,
    /// The folder for results; created if missing
    #[arg(long, value_name = "DIR", required_unless_present_any = ["list", "count"])]
    into: Option<PathBuf>,
    /// The number of cells that run at once [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    jobs: Option<u16>,
    /// List number, name and command of each cell, one per line
    #[arg(long)]
    list: bool,
    /// Print the number of cells
    #[arg(long)]
    count: bool,
    /// Combine the results into summary.csv and summary.json
    #[arg(long)]
    summary: bool,
    /// Run only this cell or range of cells, counted from 0: 7, or 100-199
    #[arg(long, value_name = "I", value_parser = some)]
    cell: Option<(u64, u64)>,
    /// Print JSON: one object, with --list one per line
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    match campaign(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => problem.end("campaign"),
    }
}

/// `7`, or `100-199`.
fn some(text: &str) -> Result<(u64, u64), String> {
    let number = |text: &str| {
        text.parse::<u64>().map_err(|_| format!("{text:?} is not the number of a cell"))
    };
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    if first > last { Err(format!("{last} is before {first}")) } else { Ok((first, last)) }
}

/// Does what the arguments ask for.
fn campaign(arguments: &Arguments) -> Result<(), Problem> {
    let (campaign, base) = read(&arguments.file)?;
    if arguments.count {
        say!("{}", campaign.count());
        return Ok(());
    }
    if arguments.list {
        return list(&campaign, arguments);
    }
    let Some(into) = &arguments.into else {
        return Err(Problem::usage("name a folder for the results with --into DIR"));
    };
    if arguments.summary {
        return summarise(&campaign, &Folder::at(into), arguments.json);
    }
    let folder = Folder::make(into, &campaign)?;
    let (cells, _lock) = match arguments.cell {
        Some(some) => (chosen(&campaign, some)?, folder.lock_some()?),
        None => (0..campaign.count(), folder.lock_all(&campaign)?),
    };
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let workers =
        arguments.jobs.map_or(processors, usize::from).min((cells.end - cells.start) as usize);
    let quiet = arguments.json || arguments.cell.is_some();
    let tally =
        Run { campaign: &campaign, folder: &folder, base: &base, cells, workers, quiet }.run()?;
    tell(&tally, into, arguments)
}

/// The campaign, and the folder of its file.
fn read(file: &Path) -> Result<(Campaign, PathBuf), Problem> {
    let unreadable = |error: io::Error| Problem::usage(format!("{}: {error}", file.display()));
    let text = fs::read_to_string(file).map_err(unreadable)?;
    let whole = fs::canonicalize(file).map_err(unreadable)?;
    let base = whole.parent().unwrap_or(Path::new("/")).to_owned();
    let campaign = Campaign::read(&text).map_err(|flaw| flaw.problem(file))?;
    Ok((campaign, base))
}

fn chosen(campaign: &Campaign, (first, last): (u64, u64)) -> Result<Range<u64>, Problem> {
    let count = campaign.count();
    if first >= count {
        return Err(Problem::usage(format!(
            "there is no cell {first}: there are {count}, the last is {}",
            count - 1
        )));
    }
    Ok(first..last.saturating_add(1).min(count))
}

fn list(campaign: &Campaign, arguments: &Arguments) -> Result<(), Problem> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let into = arguments.into.as_deref().unwrap_or(Path::new("DIR"));
    let folder = Folder::at(into);
    let mut line = |cell: sweep::Cell<'_>| -> io::Result<()> {
        let mut words = vec![cell.sweep.program.clone().unwrap_or_else(|| "lab".into())];
        words.extend(cell.words(&folder.result(&cell)));
        if arguments.json {
            let object = serde_json::json!({ "cell": cell.index, "name": cell.full_name(), "command": words });
            return writeln!(out, "{object}");
        }
        // One line is one cell; --json has the words as they are. A NUL, which alone could not be
        // quoted, is in no word.
        let command = shlex::try_join(words.iter().map(String::as_str))
            .unwrap_or_default()
            .replace('\n', " ");
        writeln!(out, "{}\t{}\t{command}", cell.index, cell.full_name())
    };
    let said = campaign.cells().try_for_each(&mut line).and_then(|()| out.flush());
    match said {
        // Whoever read has read enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        said => said.map_err(|error| Problem::new(format!("cannot write the list: {error}"))),
    }
}

fn tell(tally: &Tally, into: &Path, arguments: &Arguments) -> Result<(), Problem> {
    let Tally { cells, before, done, fell_short, failed, named, took } = tally;
    if arguments.json {
        let named: Vec<_> = named
            .iter()
            .map(|(cell, why)| serde_json::json!({ "cell": cell, "why": why }))
            .collect();
        let object = serde_json::json!({
            "cells": cells, "before": before, "done": done, "fell_short": fell_short, "failed": failed, "failures": named,
            "seconds": took.as_secs_f64(),
        });
        say!("{object}");
    } else {
        let noun = if *cells == 1 { "cell" } else { "cells" };
        say!(
            "{cells} {noun}: {done} done in {:.1} s, {before} before, {failed} failed{}",
            took.as_secs_f64(),
            verdict::said(*fell_short)
        );
        for (cell, why) in named.iter().take(10) {
            say!("  {cell}: {why}");
        }
    }
    match failed {
        0 => Ok(()),
        _ => Err(Problem::new(format!("{failed} of {cells} failed")).advise(format!(
            "their messages are in {}/*/*.stderr; the same command runs them again",
            into.display()
        ))),
    }
}

fn summarise(campaign: &Campaign, folder: &Folder, json: bool) -> Result<(), Problem> {
    let summary = summary::write(campaign, folder)?;
    let [csv, all] = &summary.files;
    if json {
        let named: Vec<&str> = summary.named.iter().map(|(cell, _)| cell.as_str()).collect();
        let object = serde_json::json!({
            "csv": csv, "json": all, "done": summary.done, "fell_short": summary.fell_short, "failed": summary.failed, "failures": named,
            "missing": summary.missing,
        });
        say!("{object}");
        return Ok(());
    }
    let short = verdict::said(summary.fell_short);
    say!("{}, {}: {} results{short}", csv.display(), all.display(), summary.done);
    for (cell, words) in &summary.named {
        say!("  {cell} failed: see {}", words.display());
    }
    let more = summary.failed - summary.named.len() as u64;
    if more > 0 {
        say!("  {more} more failed: see their rows");
    }
    if summary.missing > 0 {
        say!("  {} missing: run the campaign again to complete it", summary.missing);
    }
    Ok(())
}
