//! `transfers`, `resume`, `forget`: what is done with journals.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::HumanBytes;
use serde_json::json;

use super::folder::{self, OnDisk};
use super::{Direction, Journal, State, Unusable};
use crate::printable::Printable;
use crate::problem::Problem;
use crate::report::say;

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright transfers
  stackwright transfers --json")]
pub(crate) struct Transfers {
    /// Print JSON lines.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright resume
  stackwright resume 7f3a")]
pub(crate) struct Resume {
    /// Its name, as `stackwright transfers` shows it [default: all that are paused, one after the
    /// other].
    pub(crate) id: Option<String>,
    /// Report events as JSON lines on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Report failures only.
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright forget 7f3a")]
pub(crate) struct Forget {
    /// The names of transfers, as `stackwright transfers` shows them.
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,
}

/// Lists what there is.
pub(crate) fn transfers(transfers: &Transfers) -> Result<(), Problem> {
    let folder = folder()?;
    for journal in usable(&folder)? {
        let lives = is_claimed(&folder, &journal.id)?;
        let next = next(&journal, lives);
        let Journal { id, direction, source, destination, known, size, attempts, .. } = &journal;
        if transfers.json {
            let state = match journal.state {
                State::Running if lives => "running",
                State::Running | State::Paused { .. } => "paused",
                State::Refused { .. } => "refused",
            };
            say!(
                "{}",
                json!({
                    "id": id, "direction": direction.name(), "source": source,
                    "destination": destination, "known": known, "size": size,
                    "mtime": journal.mtime, "attempts": attempts, "state": state, "next": next,
                })
            );
            continue;
        }
        let of = size.map(|size| {
            let percent = (u128::from(*known) * 100).checked_div(size.into()).unwrap_or(100);
            format!(" of {} ({percent} %)", HumanBytes(size))
        });
        let (known, of) = (HumanBytes(*known), of.unwrap_or_default());
        let times = if *attempts == 1 { "attempt" } else { "attempts" };
        say!("{id}  {} {known}{of}, {attempts} {times}", direction.name());
        say!("      {} to {}", Printable(source), Printable(destination));
        say!("      {}", Printable(next));
    }
    Ok(())
}

/// What will happen next, and when.
fn next(journal: &Journal, lives: bool) -> String {
    let id = &journal.id;
    match &journal.state {
        State::Running if lives => "is under way".into(),
        State::Paused { why, again: Some(again) } if lives => {
            format!("paused: {why}; its program tries again at {again}")
        }
        State::Running => {
            format!("paused: its program was ended; `stackwright resume {id}` goes on")
        }
        State::Paused { why, .. } => {
            format!("paused: {why}; `stackwright resume {id}` goes on")
        }
        State::Refused { why } => {
            format!("refused: {why}; `stackwright forget {id}` gives it up")
        }
    }
}

/// Gives a command again; `None` where it is none that copies.
type Again<'a> = &'a dyn Fn(Vec<OsString>) -> Option<Result<(), Problem>>;

/// Goes on with one, or with all that are paused.
pub(crate) fn resume(resume: &Resume, again: Again<'_>) -> Result<(), Problem> {
    let folder = folder()?;
    let journals = match &resume.id {
        Some(id) => vec![found(&folder, id)?],
        None => usable(&folder)?
            .into_iter()
            .filter(|journal| !matches!(journal.state, State::Refused { .. }))
            .collect(),
    };
    let (mut worst, mut idle) = (0, true);
    for journal in journals {
        let done = if !is_claimed(&folder, &journal.id)? {
            idle = false;
            go_on(&journal, resume, again)
        } else if resume.id.is_some() {
            let why = "is under way in another program";
            Err(Problem::BadTransfer { id: journal.id, why })
        } else {
            Ok(())
        };
        match done {
            Err(Problem::Interrupted) => return Err(Problem::Interrupted),
            Err(problem) if resume.id.is_some() => return Err(problem),
            Err(problem) => {
                problem.tell(resume.json);
                worst = worst.max(problem.exit_code());
                if problem.is_interrupted() {
                    break;
                }
            }
            Ok(()) => {}
        }
    }
    if idle && !resume.json && !resume.quiet {
        say!("There is nothing to resume.");
    }
    if worst == 0 { Ok(()) } else { Err(Problem::Told { code: worst }) }
}

/// Gives the command of a transfer again, where it was given.
fn go_on(journal: &Journal, resume: &Resume, again: Again<'_>) -> Result<(), Problem> {
    env::set_current_dir(&journal.folder).map_err(of(&journal.folder))?;
    let shown = [("--json", resume.json), ("--quiet", resume.quiet)];
    let shown = shown.into_iter().filter(|(_, is_given)| *is_given).map(|(option, _)| option);
    let (verb, words_behind) = journal.command.split_at(journal.command.len().min(1));
    let words = ["stackwright"].into_iter().chain(verb.iter().map(String::as_str)).chain(shown);
    let words = words.chain(words_behind.iter().map(String::as_str)).map(OsString::from);
    let why = "has no command of this version";
    again(words.collect())
        .unwrap_or_else(|| Err(Problem::BadTransfer { id: journal.id.clone(), why }))
}

/// Removes journals, and parts on this machine.
pub(crate) fn forget(forget: &Forget) -> Result<(), Problem> {
    let folder = folder()?;
    for id in &forget.ids {
        let unknown = || Problem::NoTransfer { id: id.clone() };
        let known = Some(id).filter(|id| folder::is_id(id)).ok_or_else(unknown)?;
        let found = folder::read(&folder, known).map_err(of(&folder))?.ok_or_else(unknown)?;
        let Some(_lock) = folder::claim(&folder, id).map_err(of(&folder))? else {
            let why = "is under way in another program";
            return Err(Problem::BadTransfer { id: id.clone(), why });
        };
        if let Ok(Journal { direction: Direction::Get, destination, size: Some(_), .. }) = found {
            let target = Path::new(&destination);
            OnDisk::new(&folder, id, target).remove_part().map_err(of(target))?;
        }
        folder::remove(&folder, id).map_err(of(&folder))?;
    }
    Ok(())
}

/// Returns the journals that can be used; the others are counted, and named.
fn usable(folder: &Path) -> Result<Vec<Journal>, Problem> {
    let (mut usable, mut torn) = (Vec::new(), Vec::new());
    for (id, found) in folder::all(folder).map_err(of(folder))? {
        match found {
            Ok(journal) => usable.push(journal),
            Err(Unusable::Torn) => torn.push(id),
            Err(Unusable::Later) => {
                eprintln!("stackwright: the journal {id} is of a later version: it is left alone");
            }
        }
    }
    if !torn.is_empty() {
        let (count, them) = (torn.len(), torn.join(" "));
        let are = if count == 1 { "journal is" } else { "journals are" };
        eprintln!("stackwright: {count} {are} torn, and dropped: {them}");
        eprintln!("  the same command goes on with what is there; `stackwright forget {them}`");
    }
    Ok(usable)
}

fn found(folder: &Path, id: &str) -> Result<Journal, Problem> {
    let known = Some(id).filter(|id| folder::is_id(id));
    let found = known.map(|id| folder::read(folder, id)).transpose().map_err(of(folder))?.flatten();
    let why = match found.ok_or_else(|| Problem::NoTransfer { id: id.into() })? {
        Ok(journal) => return Ok(journal),
        Err(Unusable::Torn) => "is not known any more: its journal is torn",
        Err(Unusable::Later) => "was begun by a later version of stackwright",
    };
    Err(Problem::BadTransfer { id: id.into(), why })
}

/// Whether another program has it.
fn is_claimed(folder: &Path, id: &str) -> Result<bool, Problem> {
    folder::is_claimed(folder, id).map_err(of(folder))
}

fn folder() -> Result<PathBuf, Problem> {
    folder::folder().ok_or(Problem::NoHome)
}

fn of(path: &Path) -> impl Fn(io::Error) -> Problem {
    let path = path.to_owned();
    move |why| Problem::Path { path: path.clone(), why }
}
