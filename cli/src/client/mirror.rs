//! `mirror`: makes a folder like another, in either direction.

use std::fs;
use std::path::{Path, PathBuf};

use stackwright::copy::{CopySide, TreeOptions};

use super::arguments::Mirror;
use super::copying::{Copy, Ends, Kind, copy_all, tree};
use super::place::Place;
use super::report::{Manner, Report};
use super::{DISK, Route, SERVER, Session, names};
use crate::graphs::Local;
use crate::problem::Problem;
use crate::remote::Remote;

pub(crate) fn run(mirror: &Mirror) -> Result<(), Problem> {
    let Mirror { source, target, connection, .. } = mirror;
    let (from, url, folder) = match (names::is_address(source), names::is_address(target)) {
        (true, false) => (SERVER, source, target),
        (false, true) => (DISK, target, source),
        (true, true) => {
            let why = "both are on a server: mirror to a folder of this machine first";
            return Err(Problem::Unfit { what: target.clone(), why });
        }
        (false, false) => {
            let why = "both are folders of this machine: one must be an address, ftp://host/folder";
            return Err(Problem::Unfit { what: target.clone(), why });
        }
    };
    let remote = Remote::parse(url)?;
    let (folder, name) = prepare(Path::new(folder), from, mirror.dry_run)?;
    let route = Route::find(&remote, connection)?;
    let local = Local::Folder(folder);
    let ends = Ends::new(remote.clone(), &local);
    let mut session = Session::new(route, local);
    session.set_most(mirror.selection.parallel);
    let manner = Manner { dry_run: mirror.dry_run, ..Manner::default() };
    let mut report = Report::new(connection, manner);
    let options = TreeOptions {
        delete: mirror.delete,
        dry_run: mirror.dry_run,
        ..tree(from, &mirror.selection)
    };
    let copy = copy(from, &remote.path, &name, options);
    copy_all(&mut session, &ends, &[copy], &mirror.selection, &mut report)?;
    session.close()?;
    report.end()
}

/// The copy of all that is in a folder of the server, or goes there.
pub(crate) fn copy(from: CopySide, remote: &str, local: &str, options: TreeOptions) -> Copy {
    let (source, target) =
        if from == SERVER { (remote.into(), local.into()) } else { (local.into(), remote.into()) };
    Copy { from, source, target, kind: Kind::Tree(options) }
}

/// Returns a folder of this machine that exists, and the name in it of the one that is copied or
/// becomes a copy: nothing, if that one exists.
pub(crate) fn prepare(
    folder: &Path,
    from: CopySide,
    dry_run: bool,
) -> Result<(PathBuf, String), Problem> {
    if folder.is_dir() {
        return Ok((folder.into(), String::new()));
    }
    if from == DISK || folder.exists() {
        return Err(Problem::NoFolder { path: folder.into() });
    }
    // A name that ends in a slash is the same without it.
    let folder: PathBuf = folder.components().collect();
    let (above, name) = match Place::target(Some(&folder), "")? {
        Place::Folder { folder: above, name } => (above, name),
        Place::Open { .. } => return Err(Problem::NoFolder { path: folder }),
    };
    if !above.is_dir() {
        if dry_run {
            return Err(Problem::NoFolder { path: above });
        }
        let why = |why| Problem::Path { path: above.clone(), why };
        fs::create_dir_all(&above).map_err(why)?;
    }
    Ok((above, name))
}
