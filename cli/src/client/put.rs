//! `put`: from this machine to a server.

use std::fs;
use std::path::{Path, PathBuf};

use super::arguments::{Put, Selection};
use super::copying::{Copy, Ends, Kind, copy_all, tree};
use super::place::Place;
use super::report::{Manner, Report};
use super::{DISK, Route, Session, names};
use crate::graphs::Local;
use crate::problem::Problem;
use crate::remote::Remote;

/// The root of this machine's files. Files that are stored may lie anywhere, and links in their
/// folders may lead anywhere.
pub(crate) const ROOT: &str = "/";

pub(crate) fn run(put: &Put) -> Result<(), Problem> {
    let Put { words, selection, connection } = put;
    // The command line has two words at least.
    let Some((url, files)) = words.split_last() else { return Ok(()) };
    let remote = Remote::parse(url)?;
    let Plan { copies, streams, is_single } = plan(files, &remote, selection)?;
    let mut report = Report::new(connection, Manner { is_single, ..Manner::default() });
    let mut session = Session::new(Route::find(&remote, connection)?, Local::Folder(ROOT.into()));
    session.set_most(selection.parallel);
    store(&mut session, &remote, &copies, streams, selection, &mut report)?;
    session.close()?;
    report.end()
}

/// Stores what was planned, with a session whose place is [`ROOT`].
pub(crate) fn store(
    session: &mut Session<'_>,
    remote: &Remote,
    copies: &[Copy],
    streams: Vec<(Local, Copy)>,
    selection: &Selection,
    report: &mut Report,
) -> Result<(), Problem> {
    let ends = Ends::new(remote.clone(), &Local::Folder(ROOT.into()));
    copy_all(session, &ends, copies, selection, report)?;
    for (local, copy) in streams {
        let ends = Ends::new(remote.clone(), &local);
        let mut beside = session.beside(local);
        copy_all(&mut beside, &ends, &[copy], selection, report)?;
        beside.close()?;
    }
    Ok(())
}

/// Which files are stored, and where to.
pub(crate) struct Plan {
    /// Of files and folders, by their paths from [`ROOT`].
    pub(crate) copies: Vec<Copy>,
    /// Of what can be read once.
    pub(crate) streams: Vec<(Local, Copy)>,
    pub(crate) is_single: bool,
}

/// Plans where each of the files goes: `remote` is its new path, or a folder.
pub(crate) fn plan(
    files: &[String],
    remote: &Remote,
    selection: &Selection,
) -> Result<Plan, Problem> {
    let keeps_name = files.len() > 1;
    let (mut copies, mut streams) = (Vec::new(), Vec::new());
    for file in files {
        let source = Source::find(Path::new(file))?;
        let target = source.target(remote, keeps_name)?;
        let (source, kind) = match source {
            Source::Open(place) => {
                let source = place.name().into();
                let copy = Copy { from: DISK, source, target, kind: Kind::Stream };
                streams.push((place.into(), copy));
                continue;
            }
            Source::File { path, .. } => (path, Kind::File),
            Source::Tree { path, .. } => (path, Kind::Tree(tree(DISK, selection))),
        };
        copies.push(Copy { from: DISK, source, target, kind });
    }
    let has_tree = copies.iter().any(|copy| matches!(copy.kind, Kind::Tree(_)));
    Ok(Plan { copies, streams, is_single: !keeps_name && !has_tree })
}

/// What is to be stored, by its path from [`ROOT`].
enum Source {
    File {
        path: String,
        name: String,
    },
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
        let text = path.to_str().ok_or_else(|| Problem::NotAFile { path: path.into() })?;
        if names::is_pattern(text) && !path.exists() {
            let (folder, pattern) = names::split(text);
            let folder = if folder.is_empty() { "." } else { folder };
            let path = names::join(&from_root(Path::new(folder))?, pattern);
            return Ok(Source::Tree { path, name: None });
        }
        if path.is_dir() {
            let whole = from_root(path)?;
            // `.` and `..` have none.
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.unwrap_or(names::split(&whole).1).to_owned();
            let name = Some(name).filter(|name| !name.is_empty());
            return Ok(Source::Tree { path: whole, name });
        }
        match Place::source(path)? {
            Place::Folder { name, .. } => Ok(Source::File { path: from_root(path)?, name }),
            open => Ok(Source::Open(open)),
        }
    }

    /// The path where it is stored.
    fn target(&self, remote: &Remote, keeps_name: bool) -> Result<String, Problem> {
        let path = &remote.path;
        let names_a_file = remote.file_name().is_some();
        match self {
            Source::Tree { name: None, .. } => Ok(path.clone()),
            _ if names_a_file && !keeps_name => Ok(path.clone()),
            Source::Tree { name: Some(name), .. } => Ok(names::join(path, name)),
            Source::File { name, .. } => Ok(names::join(path, name)),
            Source::Open(place) if place.is_input() => Err(Problem::Url {
                url: names::url(remote, path),
                why: "standard input has no name, so it must name the file",
            }),
            Source::Open(place) => Ok(names::join(path, names::split(&place.shown()).1)),
        }
    }
}

/// The path of a file or folder, without links, from [`ROOT`].
pub(crate) fn from_root(path: &Path) -> Result<String, Problem> {
    let of_path = |why| Problem::Path { path: path.into(), why };
    let whole: PathBuf = fs::canonicalize(path).map_err(of_path)?;
    whole.into_os_string().into_string().map_err(|_| Problem::NotAFile { path: path.into() })
}
