//! `get` and `cat`: from servers to this machine.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use super::arguments::{Cat, Get, Selection};
use super::copying::{Copy, Ends, Kind, copy_all, tree};
use super::place::{Local, Place, STANDARD};
use super::report::{Manner, Report};
use super::{Route, SERVER, Session, names};
use crate::arguments::Connection;
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
    if dest.is_some_and(|dest| dest.as_os_str() == STANDARD) {
        return output(urls, connection);
    }
    let mut sources = Vec::new();
    for url in urls {
        sources.push(Source::parse(url)?);
    }
    if let [source] = &sources[..]
        && let Some(name) = source.remote.file_name().filter(|_| !source.is_pattern)
    {
        return one(source, Place::target(dest, name)?, selection, connection);
    }
    several(&sources, dest, selection, connection)
}

pub(crate) fn cat(cat: &Cat) -> Result<(), Problem> {
    output(&cat.urls, &cat.connection)
}

/// A file, a folder or a pattern on a server.
struct Source {
    remote: Remote,
    is_pattern: bool,
}

impl Source {
    fn parse(url: &str) -> Result<Self, Problem> {
        let (remote, is_pattern) = names::parse(url)?;
        Ok(Source { remote, is_pattern })
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

/// Fetches what may be a file.
fn one(
    source: &Source,
    place: Place,
    selection: &Selection,
    connection: &Connection,
) -> Result<(), Problem> {
    let manner = Manner { is_single: true, ..Manner::default() };
    let kind = if place.is_repeatable() { Kind::File } else { Kind::Stream };
    let copy = Copy {
        from: SERVER,
        source: source.remote.path.clone(),
        target: place.name().into(),
        kind,
    };
    let local = Local::from(place);
    let mut report = Report::new(connection, manner);
    fetch(&source.remote, local, &[copy], selection, connection, &mut report)?;
    report.end()
}

/// Fetches into a folder.
fn several(
    sources: &[Source],
    dest: Option<&Path>,
    selection: &Selection,
    connection: &Connection,
) -> Result<(), Problem> {
    let (folder, new) = target_folder(sources, dest)?;
    let mut report = Report::new(connection, Manner::default());
    let mut taken = BTreeSet::new();
    let mut rest = sources;
    while let Some(first) = rest.first() {
        // Those that are asked of one server in succession share its connections.
        let same = rest
            .iter()
            .take_while(|source| names::same_server(&source.remote, &first.remote))
            .count();
        let (now, later) = rest.split_at(same);
        rest = later;
        let mut copies = Vec::new();
        for source in now {
            let target = match (&new, source.name()) {
                (Some(new), _) => new.clone(),
                (None, Some(name)) if !taken.insert(name.to_owned()) => {
                    let why = "two of the files would have this name";
                    return Err(Problem::Unfit { what: name.into(), why });
                }
                (None, name) => name.unwrap_or_default().into(),
            };
            let (source, kind) = (source.remote.path.clone(), source.kind(selection));
            copies.push(Copy { from: SERVER, source, target, kind });
        }
        let local = Local::Folder(folder.clone());
        fetch(&first.remote, local, &copies, selection, connection, &mut report)?;
    }
    report.end()
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

/// Writes files to standard output, one behind the other.
fn output(urls: &[String], connection: &Connection) -> Result<(), Problem> {
    if connection.json {
        let why = "the file and the events of --json would both go to standard output";
        return Err(Problem::Unfit { what: STANDARD.into(), why });
    }
    let mut copies = Vec::new();
    let mut server: Option<Remote> = None;
    for url in urls {
        let remote = Remote::parse(url)?;
        if remote.file_name().is_none() {
            return Err(Problem::Url { url: url.clone(), why: "it names a folder, not a file" });
        }
        let first = server.get_or_insert_with(|| remote.clone());
        if !names::same_server(first, &remote) {
            return Err(Problem::Url { url: url.clone(), why: "it is on another server" });
        }
        let (from, source, target) = (SERVER, remote.path, STANDARD.into());
        copies.push(Copy { from, source, target, kind: Kind::Stream });
    }
    let Some(remote) = server else { return Ok(()) };
    let local = Local::from(Place::target(Some(Path::new(STANDARD)), "")?);
    let is_single = copies.len() == 1;
    let mut report =
        Report::new(connection, Manner { is_single, output_is_taken: true, dry_run: false });
    // One at a time, or they would be mixed.
    let selection = Selection { exclude: Vec::new(), parallel: 1 };
    fetch(&remote, local, &copies, &selection, connection, &mut report)?;
    report.end()
}

fn fetch(
    remote: &Remote,
    local: Local,
    copies: &[Copy],
    selection: &Selection,
    connection: &Connection,
    report: &mut Report,
) -> Result<(), Problem> {
    let ends = Ends::new(remote.clone(), &local);
    let route = Route::find(remote, connection)?;
    let mut session = Session::new(route, local).with_sessions(selection.parallel);
    copy_all(&mut session, &ends, copies, selection, report)?;
    session.close()
}
