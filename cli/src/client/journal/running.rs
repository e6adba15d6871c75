//! The journals of the copies of a command, while they run.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use super::folder::{self, OnDisk};
use super::keeper::Keeper;
use super::{Direction, Journal, State, VERSION};
use crate::client::SERVER;
use crate::client::copying::{Copy, Ends, Kind};
use crate::client::names::is_pattern;
use crate::kept::Kept;
use crate::problem::Problem;

/// The journals of a command, by the number of its copy.
#[derive(Default)]
pub(crate) struct Running(Vec<Option<Slot>>);

struct Slot {
    keeper: Keeper<OnDisk>,
    /// Of a folder: the octets of its files that are whole.
    whole: u64,
    /// Whether it is known to be under way.
    has_begun: bool,
}

impl Running {
    /// Finds the journals of earlier runs. `options` are those of the command; without, there are
    /// no journals.
    pub(crate) fn new(options: Option<&[String]>, ends: &Ends, copies: &[Copy]) -> Self {
        let Some((options, folder)) = options.zip(folder::folder()) else {
            return Running::default();
        };
        Running(copies.iter().map(|copy| Slot::of(options, &folder, ends, copy)).collect())
    }

    /// A file is under way. Returns why it starts over, where it does.
    pub(crate) fn began(
        &mut self,
        job: usize,
        (size, modified, there): (Option<u64>, Option<u64>, u64),
    ) -> Result<Option<&'static str>, Problem> {
        let why = self.with(job, |slot| slot.keeper.began(size, modified, there))?;
        Ok(why.flatten())
    }

    /// That many octets of a file are there.
    pub(crate) fn moved(&mut self, job: usize, octets: u64) -> Result<(), Problem> {
        self.with(job, |slot| slot.keeper.moved(octets)).map(|_| ())
    }

    /// A folder is under way, and `octets` more of it are whole.
    pub(crate) fn moved_in(&mut self, job: usize, octets: u64) -> Result<(), Problem> {
        let moved = self.with(job, |slot| {
            if !std::mem::replace(&mut slot.has_begun, true) {
                slot.keeper.begins()?;
            }
            slot.whole += octets;
            slot.keeper.moved(slot.whole)
        });
        moved.map(|_| ())
    }

    /// It pauses, and is tried again by itself.
    pub(crate) fn again(
        &mut self,
        job: usize,
        problem: &Problem,
        pause: Duration,
    ) -> Result<(), Problem> {
        let again = Timestamp::try_from(SystemTime::now() + pause).ok();
        let again = again.map(|again| format!("{again:.0}"));
        let paused = self.with(job, |slot| {
            (slot.whole, slot.has_begun) = (0, false);
            slot.keeper.pause(State::Paused { why: problem.to_string(), again })
        });
        paused.map(|_| ())
    }

    /// It has failed. Returns what to say: it may go on later.
    pub(crate) fn failed(&mut self, job: usize, problem: Problem) -> Problem {
        match self.pause(job, &problem) {
            Some(kept) if problem.may_pass() => {
                Problem::Paused { problem: Box::new(problem), kept: vec![kept] }
            }
            _ => problem,
        }
    }

    /// All that have not ended have failed.
    pub(crate) fn all_failed(&mut self, problem: Problem) -> Problem {
        let kept: Vec<_> = (0..self.0.len()).filter_map(|job| self.pause(job, &problem)).collect();
        if kept.is_empty() || !problem.may_pass() {
            return problem;
        }
        Problem::Paused { problem: Box::new(problem), kept }
    }

    /// It is done.
    pub(crate) fn done(&mut self, job: usize) -> Result<(), Problem> {
        let done = self.with(job, |slot| slot.keeper.done());
        self.0.get_mut(job).map(Option::take);
        done.map(|_| ())
    }

    fn pause(&mut self, job: usize, problem: &Problem) -> Option<Kept> {
        let why = problem.to_string();
        let state = if problem.is_of_one_file() {
            State::Refused { why }
        } else {
            State::Paused { why, again: None }
        };
        let paused = self.with(job, |slot| {
            let kept = slot.keeper.pause(state)?;
            Ok(kept.then(|| {
                let Journal { id, direction, known, size, .. } = &slot.keeper.journal;
                let is_sent = *direction == Direction::Put;
                Kept { id: id.clone(), is_sent, known: *known, size: *size }
            }))
        });
        self.0.get_mut(job).map(Option::take);
        // What cannot be written is said where the transfer goes on without it.
        paused.ok().flatten().flatten()
    }

    /// Does something with a journal; where that fails, it is the last time.
    fn with<R>(
        &mut self,
        job: usize,
        deed: impl FnOnce(&mut Slot) -> io::Result<R>,
    ) -> Result<Option<R>, Problem> {
        let Some(slot) = self.0.get_mut(job) else { return Ok(None) };
        let Some(kept) = slot else { return Ok(None) };
        match deed(kept) {
            Ok(done) => Ok(Some(done)),
            Err(why) => {
                *slot = None;
                // Another program keeps it.
                if why.kind() == ErrorKind::WouldBlock {
                    Ok(None)
                } else {
                    Err(Problem::NoJournal { why })
                }
            }
        }
    }
}

impl Slot {
    fn of(options: &[String], folder: &Path, ends: &Ends, copy: &Copy) -> Option<Self> {
        let (has_part, verb) = match &copy.kind {
            Kind::Stream => return None,
            Kind::Tree(options) if options.dry_run => return None,
            Kind::Tree(_) if !is_pattern(&copy.source) => (false, "mirror"),
            Kind::File if copy.from == SERVER => (true, "get"),
            Kind::Tree(_) if copy.from == SERVER => (false, "get"),
            Kind::File | Kind::Tree(_) => (false, "put"),
        };
        let source = ends.given(copy.from, &copy.source)?;
        let destination = ends.given(copy.from.other(), &copy.target)?;
        let (id, found) = folder::find(folder, &source, &destination);
        let mut store = OnDisk::new(folder, &id, Path::new(&destination));
        let journal = Journal {
            version: VERSION,
            id,
            direction: if copy.from == SERVER { Direction::Get } else { Direction::Put },
            size: found.as_ref().and_then(|found| found.size),
            mtime: found.as_ref().and_then(|found| found.mtime.clone()),
            known: found.as_ref().map_or(0, |found| found.known),
            crc: found.as_ref().map_or(Vec::new(), |found| found.crc.clone()),
            attempts: found.as_ref().map_or(0, |found| found.attempts),
            state: State::Running,
            command: [
                &[verb.to_owned()],
                options,
                &["--".into(), source.clone(), destination.clone()],
            ]
            .concat(),
            folder: std::env::current_dir().ok()?,
            source,
            destination,
        };
        let keeper = if found.is_some() {
            // Where another program has it, or its part, that program keeps it.
            store.claim().ok()?;
            Keeper::found(store, journal, has_part).ok()?
        } else {
            Keeper::new(store, journal, has_part)
        };
        Some(Slot { keeper, whole: 0, has_begun: false })
    }
}
