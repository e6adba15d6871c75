//! `get` and `cat`: from servers to this machine.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use super::arguments::{Cat, Connection, Get, Selection};
use super::copying::{Copy, Ends, Kind, copy_all, tree};
use super::place::{Place, STANDARD};
use super::report::{Manner, Report};
use super::{Route, SERVER, Session, names};
use crate::graphs::Local;
use crate::problem::Problem;
use crate::remote::Remote;

pub(crate) fn run(get: &Get) -> Result<(), Problem> {
    let Get { words, selection, connection } = get;
    let (urls, dest) = match words.split_last() {
        Some((last, urls)) if !urls.is_empty() && !names::is_address(last) => {
            (urls, Some(Path::new(last)))
        }
        _ => (&words[..], None),
    };
    carry_out(&parse(urls)?, dest, selection, connection)
}

pub(crate) fn cat(cat: &Cat) -> Result<(), Problem> {
    let selection = Selection::one_by_one();
    carry_out(&parse(&cat.urls)?, Some(Path::new(STANDARD)), &selection, &cat.connection)
}

fn parse(urls: &[String]) -> Result<Vec<Source>, Problem> {
    let parsed = urls.iter().map(|url| {
        let (remote, is_pattern) = names::parse(url)?;
        Ok(Source { remote, is_pattern })
    });
    parsed.collect()
}

/// Fetches from one server after the other.
fn carry_out(
    sources: &[Source],
    dest: Option<&Path>,
    selection: &Selection,
    connection: &Connection,
) -> Result<(), Problem> {
    let Plan { local, copies, manner } = plan(sources, dest, selection)?;
    if manner.output_is_taken && connection.json {
        let why = "the file and the events of --json would both go to standard output";
        return Err(Problem::Unfit { what: STANDARD.into(), why });
    }
    let mut report = Report::new(connection, manner);
    let mut copies = &copies[..];
    // What is asked of one server in succession shares its connections.
    for same in sources.chunk_by(|one, other| names::same_server(&one.remote, &other.remote)) {
        let (now, later) = copies.split_at(same.len());
        copies = later;
        let remote = &same[0].remote;
        let ends = Ends::new(remote.clone(), &local);
        let route = Route::find(remote, connection)?;
        let mut session = Session::new(route, local.try_clone()?);
        session.set_most(selection.parallel);
        copy_all(&mut session, &ends, now, selection, &mut report)?;
        session.close()?;
    }
    report.end()
}

/// A file, a folder or a pattern on a server.
pub(crate) struct Source {
    pub(crate) remote: Remote,
    pub(crate) is_pattern: bool,
}

impl Source {
    /// A file.
    pub(crate) fn file(remote: Remote) -> Self {
        Source { remote, is_pattern: false }
    }

    fn is_folder(&self) -> bool {
        self.remote.file_name().is_none()
    }

    /// The name of what is copied; `None` for a pattern, and for the top of a server.
    fn name(&self) -> Option<&str> {
        let path = self.remote.path.trim_end_matches('/');
        let name = names::split(path).1;
        Some(name).filter(|name| !name.is_empty() && !self.is_pattern)
    }

    fn kind(&self, selection: &Selection) -> Kind {
        if self.is_folder() || self.is_pattern {
            Kind::Tree(tree(SERVER, selection))
        } else {
            Kind::File
        }
    }
}

/// Which files are fetched, and where to.
pub(crate) struct Plan {
    pub(crate) local: Local,
    /// One for each source.
    pub(crate) copies: Vec<Copy>,
    pub(crate) manner: Manner,
}

/// Plans where each of the sources goes: `dest` is a file or folder, or standard output.
pub(crate) fn plan(
    sources: &[Source],
    dest: Option<&Path>,
    selection: &Selection,
) -> Result<Plan, Problem> {
    let is_single = matches!(sources, [one] if !one.is_folder() && !one.is_pattern);
    let output_is_taken = dest.is_some_and(|dest| dest.as_os_str() == STANDARD);
    let manner = Manner { is_single, output_is_taken, dry_run: false };
    let name = sources[0].name().unwrap_or_default();
    if is_single || output_is_taken {
        let place = Place::target(dest, name)?;
        let target = place.name().to_owned();
        let is_open = !place.is_repeatable();
        let copy = |source: &Source| {
            let path = source.remote.path.clone();
            if is_open && (source.is_folder() || source.is_pattern) {
                let (url, why) = (names::url(&source.remote, &path), "it does not name one file");
                return Err(Problem::Url { url, why });
            }
            let kind = if is_open { Kind::Stream } else { Kind::File };
            Ok(Copy { from: SERVER, source: path, target: target.clone(), kind })
        };
        let copies = sources.iter().map(copy).collect::<Result<_, _>>()?;
        return Ok(Plan { local: place.into(), copies, manner });
    }
    let (folder, new) = target_folder(sources, dest)?;
    let mut taken = BTreeSet::new();
    let mut copies = Vec::new();
    for source in sources {
        let target = match (&new, source.name()) {
            (Some(new), _) => new.clone(),
            (None, Some(name)) if !taken.insert(name) => {
                let why = "two of the files would have this name";
                return Err(Problem::Unfit { what: name.into(), why });
            }
            (None, name) => name.unwrap_or_default().into(),
        };
        let (source, kind) = (source.remote.path.clone(), source.kind(selection));
        copies.push(Copy { from: SERVER, source, target, kind });
    }
    Ok(Plan { local: Local::Folder(folder), copies, manner })
}

/// Returns the folder for the sources, and the name that a single folder gets in it, if it does not
/// keep its own.
fn target_folder(
    sources: &[Source],
    dest: Option<&Path>,
) -> Result<(PathBuf, Option<String>), Problem> {
    let Some(dest) = dest else { return Ok((env::current_dir()?, None)) };
    if dest.is_dir() {
        return Ok((dest.into(), None));
    }
    match sources {
        [source] if source.is_folder() && !dest.exists() => {
            match Place::target(Some(&dest.components().collect::<PathBuf>()), "")? {
                Place::Folder { folder, name } => Ok((folder, Some(name))),
                Place::Open { .. } => Err(Problem::NoFolder { path: dest.into() }),
            }
        }
        _ => Err(Problem::NoFolder { path: dest.into() }),
    }
}
