//! `put`: from this machine to a server.

use std::fs;
use std::path::{Path, PathBuf};

use super::arguments::{Put, Selection};
use super::copying::{Copy, Ends, Kind, copy_all, tree};
use super::place::{Local, Place};
use super::report::{Manner, Report};
use super::{DISK, Route, Session, names};
use crate::problem::Problem;
use crate::remote::Remote;

pub(crate) fn run(put: &Put) -> Result<(), Problem> {
    let Put { words, selection, connection } = put;
    // The command line has two words at least.
    let Some((url, files)) = words.split_last() else { return Ok(()) };
    let remote = Remote::parse(url)?;
    let mut sources = Vec::new();
    for file in files {
        sources.push(Source::find(Path::new(file))?);
    }
    let is_single = matches!(&sources[..], [Source::File(_) | Source::Open(_)]);
    let mut report = Report::new(connection, Manner { is_single, ..Manner::default() });
    let to = To { remote, keeps_name: sources.len() > 1 };
    let route = || Route::find(&to.remote, connection);
    let mut copies = Vec::new();
    let mut streams = Vec::new();
    for source in sources {
        let target = to.path(&source)?;
        match source {
            Source::Open(place) => streams.push((place, target)),
            Source::File(path) => copies.push((path, target, Kind::File)),
            Source::Tree { path, .. } => {
                copies.push((path, target, Kind::Tree(tree(DISK, selection))));
            }
        }
    }
    if !copies.is_empty() {
        let copies: Vec<_> = copies
            .into_iter()
            .map(|(source, target, kind)| Copy { from: DISK, source, target, kind })
            .collect();
        store(&to.remote, route()?, Local::Folder("/".into()), &copies, selection, &mut report)?;
    }
    for (place, target) in streams {
        let source = place.name().into();
        let copy = Copy { from: DISK, source, target, kind: Kind::Stream };
        store(&to.remote, route()?, place.into(), &[copy], selection, &mut report)?;
    }
    report.end()
}

/// What is to be stored. Paths are below the root of this machine's files: links in them may lead
/// anywhere.
enum Source {
    File(String),
    /// A folder, or, without a name of its own, what matches a pattern.
    Tree {
        path: String,
        name: Option<String>,
    },
    /// What can be read once.
    Open(Place),
}

impl Source {
    fn find(path: &Path) -> Result<Self, Problem> {
        let is_folder = path.is_dir();
        let text = path.to_str().ok_or_else(|| Problem::NotAFile { path: path.into() })?;
        if !is_folder && names::is_pattern(text) && !path.exists() {
            let (folder, pattern) = names::split(text);
            let folder = if folder.is_empty() { "." } else { folder };
            let path = names::join(&below_root(Path::new(folder))?, pattern);
            return Ok(Source::Tree { path, name: None });
        }
        if is_folder {
            let path = below_root(path)?;
            let name = names::split(&path).1.to_owned();
            return Ok(Source::Tree { path, name: Some(name).filter(|name| !name.is_empty()) });
        }
        match Place::source(path)? {
            Place::Folder { .. } => Ok(Source::File(below_root(path)?)),
            open => Ok(Source::Open(open)),
        }
    }
}

/// The path of a file or folder without links, from the root of this machine.
fn below_root(path: &Path) -> Result<String, Problem> {
    let of_path = |why| Problem::Path { path: path.into(), why };
    let whole: PathBuf = fs::canonicalize(path).map_err(of_path)?;
    whole.into_os_string().into_string().map_err(|_| Problem::NotAFile { path: path.into() })
}

/// Where files are stored.
struct To {
    remote: Remote,
    /// Whether what is stored keeps its name: there are several.
    keeps_name: bool,
}

impl To {
    fn path(&self, source: &Source) -> Result<String, Problem> {
        let path = &self.remote.path;
        let is_folder = self.remote.file_name().is_none();
        match source {
            Source::Tree { name: None, .. } => Ok(path.clone()),
            _ if !is_folder && !self.keeps_name => Ok(path.clone()),
            Source::Tree { name: Some(name), .. } => Ok(names::join(path, name)),
            Source::File(file) => Ok(names::join(path, names::split(file).1)),
            Source::Open(place) if place.is_input() => Err(Problem::Url {
                url: names::url(&self.remote, path),
                why: "standard input has no name, so it must name the file",
            }),
            Source::Open(place) => {
                let shown = place.shown();
                Ok(names::join(path, names::split(&shown).1))
            }
        }
    }
}

fn store(
    remote: &Remote,
    route: Route<'_>,
    local: Local,
    copies: &[Copy],
    selection: &Selection,
    report: &mut Report,
) -> Result<(), Problem> {
    let ends = Ends::new(remote.clone(), &local);
    let mut session = Session::new(route, local).with_sessions(selection.parallel);
    copy_all(&mut session, &ends, copies, selection, report)?;
    session.close()
}
