//! `rm`, `mkdir` and `mv`: names on a server.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use stackwright::contract::services::{Failure, FileKind};
use stackwright::copy::{FileChange, Indication, Request};

use super::arguments::{Connection, Mkdir, Mv, Rm};
use super::engine::Told;
use super::expand::expand;
use super::job::Watch;
use super::{Done, Job, Route, SERVER, Session, name, names};
use crate::graphs::Local;
use crate::problem::Problem;
use crate::remote::Remote;
use crate::report::say;

pub(crate) fn rm(rm: &Rm) -> Result<(), Problem> {
    let mut parsed = Vec::new();
    for url in &rm.urls {
        parsed.push(names::parse(url)?);
    }
    let server =
        |one: &(Remote, bool), other: &(Remote, bool)| names::same_server(&one.0, &other.0);
    for same in parsed.chunk_by(server) {
        let mut session = session(&same[0].0, &rm.connection)?;
        let mut remotes = Vec::new();
        for (remote, is_pattern) in same {
            remotes.extend(expand(&mut session, remote, *is_pattern)?);
        }
        remove(&mut session, &remotes, rm.recursive, rm.connection.json)?;
        session.close()?;
    }
    Ok(())
}

pub(crate) fn mkdir(mkdir: &Mkdir) -> Result<(), Problem> {
    each_server(&mkdir.urls, &mkdir.connection, |session, remotes| {
        for remote in remotes {
            make_folder(session, remote, mkdir.parents)?;
            if mkdir.connection.json {
                say!("{}", json!({ "event": "made", "url": names::url(remote, &remote.path) }));
            }
        }
        Ok(())
    })
}

pub(crate) fn mv(mv: &Mv) -> Result<(), Problem> {
    let remote = Remote::parse(&mv.url)?;
    let to = if names::is_address(&mv.to) {
        let to = Remote::parse(&mv.to)?;
        if !names::same_server(&remote, &to) {
            let why = "it is on another server; copy the file with get and put";
            return Err(Problem::Unfit { what: mv.to.clone(), why });
        }
        to.path
    } else {
        mv.to.clone()
    };
    each_server(&[&mv.url], &mv.connection, |session, _| {
        let to = rename(session, &remote, &to)?;
        if mv.connection.json {
            let (url, to) = (names::url(&remote, &remote.path), names::url(&remote, &to));
            say!("{}", json!({ "event": "moved", "url": url, "to": to }));
        }
        Ok(())
    })
}

/// A session that copies nothing.
fn session<'a>(remote: &Remote, connection: &'a Connection) -> Result<Session<'a>, Problem> {
    // The disk is not used, but it has to be somewhere.
    Ok(Session::new(Route::find(remote, connection)?, Local::Folder(PathBuf::from("."))))
}

/// Runs `work` with the addresses of each server, in one session.
fn each_server(
    urls: &[impl AsRef<str>],
    connection: &Connection,
    mut work: impl FnMut(&mut Session<'_>, &[Remote]) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let remotes: Vec<_> =
        urls.iter().map(|url| Remote::parse(url.as_ref())).collect::<Result<_, _>>()?;
    for remotes in remotes.chunk_by(names::same_server) {
        let mut session = session(&remotes[0], connection)?;
        work(&mut session, remotes)?;
        session.close()?;
    }
    Ok(())
}

/// Removes files, or folders with all that is below them.
pub(crate) fn remove(
    session: &mut Session<'_>,
    remotes: &[Remote],
    recursive: bool,
    json: bool,
) -> Result<(), Problem> {
    let mut jobs = Vec::new();
    for (index, remote) in remotes.iter().enumerate() {
        let (job, side, path) = (name(index), SERVER, remote.path.clone());
        let url = names::url(remote, &path);
        if path.trim_end_matches('/').is_empty() {
            let why = "it is the top of the server, which cannot be removed";
            return Err(Problem::Unfit { what: url, why });
        }
        let request = match recursive {
            true => Request::RemoveTree { job, side, path },
            false => Request::Do { job, side, deed: FileChange::Remove { path } },
        };
        jobs.push(Job { is_repeatable: true, ..Job::on_server(request, url) });
    }
    let mut removing =
        Removing { remotes, jobs: &jobs, json, again: BTreeSet::new(), single: None, worst: None };
    session.all(&jobs, 1, &mut removing)?;
    match (removing.single, removing.worst) {
        (Some(problem), _) => Err(problem),
        (None, Some(code)) => Err(Problem::Told { code }),
        (None, None) => Ok(()),
    }
}

/// What hears of removals.
struct Removing<'a> {
    remotes: &'a [Remote],
    jobs: &'a [Job],
    json: bool,
    /// Those that were tried again: what is not found then may have been removed before.
    again: BTreeSet<usize>,
    /// The failure of the only one.
    single: Option<Problem>,
    /// The exit code of the worst of several failures.
    worst: Option<u8>,
}

impl Removing<'_> {
    fn removed(&self, url: &str) {
        if self.json {
            say!("{}", json!({ "event": "removed", "url": url }));
        }
    }

    fn failed(&mut self, url: &str, problem: &Problem) {
        self.worst = self.worst.max(Some(problem.exit_code()));
        if self.json {
            let mut told = problem.told();
            told["url"] = url.into();
            say!("{told}");
        } else {
            eprintln!("stackwright: {problem}");
        }
    }
}

impl Watch for Removing<'_> {
    fn told(&mut self, job: usize, told: &Told) {
        match &told.indication {
            Indication::Removed { path, .. } => {
                self.removed(&names::url(&self.remotes[job], path));
            }
            &Indication::FileFailed { ref path, failure, .. } => {
                let place = names::url(&self.remotes[job], path);
                let url = place.clone();
                let problem = Problem::Transfer { place, failure, said: told.said.clone() };
                self.failed(&url, &problem);
            }
            _ => {}
        }
    }

    fn ended(&mut self, job: usize, outcome: Result<Done, Problem>) {
        let url = &self.jobs[job].remote;
        match outcome {
            Ok(Done::Tree(_)) => {}
            Ok(_) => self.removed(url),
            Err(Problem::Transfer { failure: Failure::NotFound, .. })
                if self.again.contains(&job) =>
            {
                self.removed(url);
            }
            Err(problem) if self.jobs.len() == 1 => self.single = Some(problem),
            Err(problem) => self.failed(&url.clone(), &problem),
        }
    }

    fn again(&mut self, job: usize, problem: &Problem, pause: Duration, tries: u32, most: u32) {
        self.again.insert(job);
        if !self.json {
            let seconds = pause.as_secs();
            eprintln!("stackwright: {problem}; trying again in {seconds} s ({tries} of {most})");
        }
    }
}

/// Makes a folder; with `parents`, also those above it, and one that exists is no failure.
pub(crate) fn make_folder(
    session: &mut Session<'_>,
    remote: &Remote,
    parents: bool,
) -> Result<(), Problem> {
    let path = remote.path.trim_end_matches('/');
    match change(session, remote, FileChange::MakeFolder { path: path.into() }) {
        Err(Problem::Interrupted) => Err(Problem::Interrupted),
        // It exists, or what is above it does not: servers tell neither from another refusal.
        Err(problem) if parents && problem.is_of_one_file() => {
            let (above, _) = names::split(path);
            if is_folder(session, remote, path) {
                return Ok(());
            }
            if above.trim_end_matches('/').is_empty() {
                return Err(problem);
            }
            let above = Remote { path: above.into(), ..remote.clone() };
            make_folder(session, &above, true)?;
            change(session, remote, FileChange::MakeFolder { path: path.into() })
        }
        Err(problem @ Problem::Transfer { .. }) if problem.is_of_one_file() => {
            match kind(session, remote, path) {
                Ok(Some(_)) => Err(problem.with(Failure::Exists)),
                _ if problem.is_not_found() => {
                    let (above, _) = names::split(path);
                    match above.len() <= 1 || is_folder(session, remote, above) {
                        true => Err(problem),
                        false => Err(Problem::NoFolderAbove { url: names::url(remote, path) }),
                    }
                }
                _ => Err(problem),
            }
        }
        done => done,
    }
}

fn is_folder(session: &mut Session<'_>, remote: &Remote, path: &str) -> bool {
    matches!(kind(session, remote, path), Ok(Some(FileKind::Folder)))
}

/// Returns what a path leads to; `None` if the server does not say.
fn kind(
    session: &mut Session<'_>,
    remote: &Remote,
    path: &str,
) -> Result<Option<FileKind>, Problem> {
    let request = Request::Stat { job: name(0), side: SERVER, path: path.into() };
    let job = Job { is_repeatable: true, ..Job::on_server(request, names::url(remote, path)) };
    match session.one(job, &mut |_| ()) {
        Ok(Done::Stated(status)) => Ok(Some(status.kind)),
        Ok(_) | Err(Problem::Transfer { failure: Failure::Unsupported, .. }) => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// Makes sure that an address names a folder, as far as the server tells.
pub(crate) fn check_folder(session: &mut Session<'_>, remote: &Remote) -> Result<(), Problem> {
    match kind(session, remote, &remote.path)? {
        Some(FileKind::Folder) | None => Ok(()),
        Some(_) => Err(Problem::NotAFolder { url: names::url(remote, &remote.path) }),
    }
}

/// Renames a file or folder: to a path from the top, or to a name in the same folder. Returns its
/// new path.
pub(crate) fn rename(
    session: &mut Session<'_>,
    remote: &Remote,
    to: &str,
) -> Result<String, Problem> {
    let from = remote.path.trim_end_matches('/');
    let (folder, old) = names::split(from);
    let mut to = if to.starts_with('/') { to.to_owned() } else { names::join(folder, to) };
    if to.ends_with('/') {
        to.push_str(old);
    }
    change(session, remote, FileChange::Rename { from: from.into(), to: to.clone() })?;
    Ok(to)
}

fn change(session: &mut Session<'_>, remote: &Remote, deed: FileChange) -> Result<(), Problem> {
    let request = Request::Do { job: name(0), side: SERVER, deed };
    let job = Job::on_server(request, names::url(remote, &remote.path));
    session.one(job, &mut |_| ()).map(|_| ())
}
