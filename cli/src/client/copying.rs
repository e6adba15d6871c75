//! Copies under way: which file on the server is which on this machine, for the report.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf, absolute};
use std::time::Duration;

use stackwright::contract::Handle;
use stackwright::contract::ask::PathReport;
use stackwright::contract::services::FileKind;
use stackwright::copy::{Comparison, CopySide, Indication, Request, TreeOptions, TreeTotals};

use super::arguments::Selection;
use super::engine::Told;
use super::job::{Done, Job, Watch, name};
use super::journal::Running;
use super::left::AirTime;
use super::report::Report;
use super::session::Session;
use super::{DISK, SERVER, names};
use crate::graphs::Local;
use crate::printable::Printable;
use crate::problem::Problem;
use crate::remote::Remote;

/// A server and a place of this machine, between which files are copied.
pub(crate) struct Ends {
    remote: Remote,
    near: Near,
}

/// What files of this machine are called.
enum Near {
    In(PathBuf),
    Open(String),
}

impl Ends {
    pub(crate) fn new(remote: Remote, local: &Local) -> Self {
        let near = match local {
            Local::Folder(folder) => Near::In(folder.clone()),
            Local::Open(_, shown) => Near::Open(shown.clone()),
        };
        Ends { remote, near }
    }

    /// What a pattern of one side is called.
    fn pattern(&self, side: CopySide, path: &str) -> String {
        let (folder, pattern) = names::split(path);
        format!("{}{pattern}", self.shown(side, folder))
    }

    /// A path of one side as a command names it, wherever it is given; `None` for what is open.
    pub(crate) fn given(&self, side: CopySide, path: &str) -> Option<String> {
        let folder = match (side, &self.near) {
            (SERVER, _) if names::is_pattern(path) => {
                return Some(names::pattern(&self.remote, path));
            }
            (SERVER, _) => return Some(names::url(&self.remote, path)),
            (DISK, Near::In(folder)) => folder,
            (DISK, Near::Open(_)) => return None,
        };
        let whole: PathBuf = absolute(folder.join(path)).ok()?.components().collect();
        whole.into_os_string().into_string().ok()
    }

    /// What a path of one side is called.
    fn shown(&self, side: CopySide, path: &str) -> String {
        match (side, &self.near) {
            (SERVER, _) => names::url(&self.remote, path),
            (DISK, Near::In(folder)) if folder == Path::new(".") => path.into(),
            (DISK, Near::In(folder)) => folder.join(path).display().to_string(),
            (DISK, Near::Open(shown)) => shown.clone(),
        }
    }
}

/// What is to be copied, and how.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    /// The side of the source.
    pub(crate) from: CopySide,
    pub(crate) source: String,
    pub(crate) target: String,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A file, which goes on where an earlier copy of it ended.
    File,
    /// A file from, or to, what cannot be read or written twice.
    Stream,
    /// A folder, or what matches a pattern.
    Tree(TreeOptions),
}

/// How trees are copied where nobody says otherwise.
pub(crate) fn tree(from: CopySide, selection: &Selection) -> TreeOptions {
    TreeOptions {
        at_once: selection.parallel.into(),
        exclude: selection.exclude.clone(),
        compare: Comparison::SizeAndTime,
        resume: true,
        // A disk has written what it has told to be written.
        checked_first: from == SERVER,
        ..TreeOptions::default()
    }
}

impl Copy {
    fn job(&self, ends: &Ends, index: usize) -> Job {
        let Copy { from, source, target, kind } = self.clone();
        let (remote, local) = if from == SERVER { (&source, &target) } else { (&target, &source) };
        let (remote, local) = (ends.shown(SERVER, remote), ends.shown(DISK, local));
        let is_repeatable = !matches!(kind, Kind::Stream);
        let job = name(index);
        let request = match kind {
            Kind::File => {
                Request::Resume { job, from, source, target, checked_first: from == SERVER }
            }
            Kind::Stream => Request::Copy { job, from, source, target, early: from == SERVER },
            Kind::Tree(options) => Request::Tree { job, from, source, target, options },
        };
        Job { request, remote, local, is_repeatable }
    }

    /// The source's path of a file in this tree, whose target is `path`.
    fn source_of(&self, path: &str) -> String {
        let below = path.strip_prefix(self.target.trim_end_matches('/')).unwrap_or(path);
        let folder = match names::is_pattern(&self.source) {
            true => names::split(&self.source).0,
            false => &self.source,
        };
        names::join(folder, below.trim_start_matches('/'))
    }
}

/// Copies all, as many files as `at_once` at a time. Where a file may be a folder, it is copied as
/// one.
pub(crate) fn copy_all(
    session: &mut Session<'_>,
    ends: &Ends,
    copies: &[Copy],
    selection: &Selection,
    report: &mut Report,
) -> Result<(), Problem> {
    let at_once = selection.parallel.into();
    report.copies_by(ends.remote.air.as_ref().map(AirTime::of));
    let (trees, files): (Vec<_>, Vec<_>) =
        copies.iter().cloned().partition(|copy| matches!(copy.kind, Kind::Tree(_)));
    let suspects = run(session, ends, &files, at_once, report, true)?;
    let (mut trees, mut again) = (trees, Vec::new());
    for (index, problem) in suspects {
        let copy = &files[index];
        let path = if copy.from == SERVER { &copy.source } else { &copy.target };
        match (is_folder(session, ends, path)?, copy.from, &copy.kind) {
            (true, SERVER, Kind::File) => {
                let kind = Kind::Tree(tree(copy.from, selection));
                trees.push(Copy { kind, ..copy.clone() });
                report.has_tree();
            }
            // The file keeps its name there.
            (true, DISK, _) => {
                let target = names::join(path, names::split(&copy.source).1);
                again.push(Copy { target, ..copy.clone() });
            }
            (true, ..) => {
                let (key, url) = (report.key(), ends.shown(SERVER, path));
                report.failed(key, Some(url.clone()), Problem::IsAFolder { url });
            }
            (false, ..) => {
                let (key, problem) = (report.key(), blamed(session, ends, copy, problem)?);
                report.failed(key, Some(ends.shown(SERVER, path)), problem);
            }
        }
    }
    run(session, ends, &again, at_once, report, false)?;
    // Each copies several files at a time.
    for (index, problem) in run(session, ends, &trees, 1, report, true)? {
        let problem = blamed(session, ends, &trees[index], problem)?;
        let key = report.key();
        report.failed(key, Some(ends.shown(SERVER, &trees[index].target)), problem);
    }
    Ok(())
}

/// What is not found of a file that is stored may be its folder.
fn blamed(
    session: &mut Session<'_>,
    ends: &Ends,
    copy: &Copy,
    problem: Problem,
) -> Result<Problem, Problem> {
    let (above, _) = names::split(copy.target.trim_end_matches('/'));
    let may_be = copy.from == DISK && problem.is_not_found() && above.len() > 1;
    if may_be && !is_folder(session, ends, above)? {
        return Ok(Problem::NoFolderAbove { url: ends.shown(SERVER, &copy.target) });
    }
    Ok(problem)
}

/// Runs copies to their end. With `suspects`, those that may have failed because the source is a
/// folder are not told to have failed, but returned.
fn run(
    session: &mut Session<'_>,
    ends: &Ends,
    copies: &[Copy],
    at_once: usize,
    report: &mut Report,
    suspects: bool,
) -> Result<Vec<(usize, Problem)>, Problem> {
    let jobs: Vec<Job> =
        copies.iter().enumerate().map(|(index, copy)| copy.job(ends, index)).collect();
    let mut heard = Heard {
        ends,
        copies,
        jobs: &jobs,
        report,
        journals: Running::new(session.options(), ends, copies),
        keys: BTreeMap::new(),
        suspects: suspects.then(Vec::new),
    };
    session
        .all(&jobs, at_once, &mut heard)
        .map_err(|problem| heard.journals.all_failed(problem))?;
    Ok(heard.suspects.unwrap_or_default())
}

/// Whether a path of the server is that of a folder, as far as it says.
fn is_folder(session: &mut Session<'_>, ends: &Ends, path: &str) -> Result<bool, Problem> {
    let request = Request::Stat { job: name(0), side: SERVER, path: path.into() };
    let job = Job::on_server(request, ends.shown(SERVER, path));
    match session.one(job, &mut |_| ()) {
        Ok(Done::Stated(status)) => Ok(status.kind == FileKind::Folder),
        Err(Problem::Interrupted) => Err(Problem::Interrupted),
        _ => Ok(false),
    }
}

/// Tells a report what is heard of copies.
struct Heard<'a> {
    ends: &'a Ends,
    copies: &'a [Copy],
    jobs: &'a [Job],
    report: &'a mut Report,
    journals: Running,
    /// The keys of what is under way: files of trees have names of their own.
    keys: BTreeMap<(usize, Option<Handle>), u64>,
    suspects: Option<Vec<(usize, Problem)>>,
}

impl Heard<'_> {
    fn key(&mut self, job: usize, file: Option<Handle>) -> u64 {
        *self.keys.entry((job, file)).or_insert_with(|| self.report.key())
    }

    /// Where a journal cannot be kept, the transfer goes on without it.
    fn kept<R: Default>(&mut self, done: Result<R, Problem>) -> R {
        done.unwrap_or_else(|problem| {
            self.report.note(&problem.to_string());
            R::default()
        })
    }

    /// The address of a job's file, and what the file is called once it is there.
    fn names(&self, job: usize) -> (String, String) {
        let Job { remote, local, .. } = &self.jobs[job];
        let shown = if self.copies[job].from == SERVER { local } else { remote };
        (remote.clone(), shown.clone())
    }

    /// The same of a file in a tree, whose target is `path`.
    fn names_in(&self, job: usize, path: &str) -> (String, String) {
        let copy = &self.copies[job];
        let shown = self.ends.shown(copy.from.other(), path);
        match copy.from {
            SERVER => (self.ends.shown(SERVER, &copy.source_of(path)), shown),
            DISK => (shown.clone(), shown),
        }
    }
}

impl Watch for Heard<'_> {
    fn turned(&mut self, path: &dyn Fn(Handle) -> Option<PathReport>) {
        if self.report.is_timed() {
            for (&(job, _), &key) in &self.keys {
                self.report.looked(key, || path(name(job)));
            }
        }
    }

    fn told(&mut self, job: usize, told: &Told) {
        let from = self.copies[job].from;
        match &told.indication {
            &Indication::Began { size, modified, there, .. } => {
                let key = self.key(job, None);
                let names = self.names(job);
                let why = self.journals.began(job, (size, modified, there));
                if let Some(why) = self.kept(why) {
                    self.report.note(&format!("{}: starts over: {why}", Printable(&names.0)));
                }
                self.report.began(key, names, size, there);
            }
            &Indication::Moved { octets, .. } => {
                let key = self.key(job, None);
                self.report.moved(key, octets);
                let moved = self.journals.moved(job, octets);
                self.kept(moved);
            }
            Indication::Entered { .. } => {
                let entered = self.journals.moved_in(job, 0);
                self.kept(entered);
            }
            &Indication::FileBegan { file, ref path, size, there, .. } => {
                let key = self.report.key();
                self.keys.insert((job, Some(file)), key);
                self.report.began(key, self.names_in(job, path), size, there);
            }
            &Indication::FileMoved { file, octets, .. } => {
                let key = self.key(job, Some(file));
                self.report.moved(key, octets);
            }
            &Indication::FileCopied { file, ref path, octets, moved, .. } => {
                let key = self.key(job, Some(file));
                self.keys.remove(&(job, Some(file)));
                let names = self.names_in(job, path);
                self.report.copied(key, names, octets, moved, None);
                let moved = self.journals.moved_in(job, octets);
                self.kept(moved);
            }
            &Indication::Skipped { ref path, why, .. } => {
                self.report.skipped(&self.ends.shown(from, path), why);
            }
            Indication::Removed { path, .. } => {
                self.report.removed(&self.ends.shown(from.other(), path));
            }
            &Indication::FileFailed { ref path, side, failure, .. } => {
                let place = self.ends.shown(side, path);
                let said = told.said.clone().filter(|_| side == SERVER);
                let key = self.report.key_of(&place);
                let url = (side == SERVER).then(|| place.clone());
                let problem = Problem::Transfer { place, failure, said };
                let whole = self.copies[job].target.trim_end_matches('/');
                let of_all = from == DISK && path.trim_end_matches('/') == whole;
                match &mut self.suspects {
                    Some(suspects) if of_all && problem.is_not_found() => {
                        suspects.push((job, problem));
                    }
                    _ => self.report.failed(key, url, problem),
                }
            }
            _ => {}
        }
    }

    fn ended(&mut self, job: usize, outcome: Result<Done, Problem>) {
        let key = self.key(job, None);
        let outcome = match outcome {
            Ok(done) => {
                let ended = self.journals.done(job);
                self.kept(ended);
                Ok(done)
            }
            Err(problem) => Err(self.journals.failed(job, problem)),
        };
        match outcome {
            Ok(Done::Copied { octets, moved, took }) => {
                let names = self.names(job);
                self.report.copied(key, names, octets, moved, Some(took));
            }
            Ok(Done::Tree(totals)) => {
                let TreeTotals { files, same, skipped, failed, .. } = totals;
                let is_pattern = names::is_pattern(&self.copies[job].source);
                // The folder of a pattern is entered, too.
                if is_pattern && files + same + skipped + failed == 0 && totals.folders <= 1 {
                    let Copy { from, source, .. } = &self.copies[job];
                    let (place, side) = (self.ends.pattern(*from, source), *from);
                    let url = (side == SERVER).then(|| place.clone());
                    self.report.failed(key, url, Problem::NoMatch { pattern: place });
                }
            }
            Ok(_) => {}
            Err(problem) => match &mut self.suspects {
                Some(suspects)
                    if match self.copies[job].kind {
                        Kind::Tree(_) => self.copies[job].from == DISK && problem.is_not_found(),
                        _ => {
                            (self.copies[job].from == SERVER || self.jobs[job].is_repeatable)
                                && problem.is_of_one_file()
                        }
                    } =>
                {
                    suspects.push((job, problem));
                }
                _ => self.report.failed(key, Some(self.jobs[job].remote.clone()), problem),
            },
        }
    }

    fn again(&mut self, job: usize, problem: &Problem, pause: Duration, tries: u32, most: u32) {
        // What was under way in a tree gets other names.
        for (_, key) in self.keys.extract_if(.., |(of, file), _| *of == job && file.is_some()) {
            self.report.forget(key);
        }
        self.report.again(problem, pause, tries, most);
        let paused = self.journals.again(job, problem, pause);
        self.kept(paused);
    }
}
