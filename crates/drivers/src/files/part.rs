//! The part of a file that can be resumed: a file with a fixed [hidden name](super::place::part).
//!
//! To write, rename, replace or remove a part takes the lock (flock(2)) of the file that has the
//! name at that time. So a part has one writer, whatever programs there are, and the end of a
//! program frees it.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, XattrFlags, fgetxattr, flock,
    fremovexattr, fsetxattr, fstat, openat, unlinkat,
};
use rustix::io::Errno;
use rustix::path::Arg;
use stackwright_contract::services::{Failure, FileVersion};

use super::place::{is_part, part};
use super::root::failure;
use super::target::found;

/// The attribute that tells of which version of its source a part is the beginning. It belongs to
/// the file, whatever becomes of its name; where the file system has no attributes, or the program
/// ends before it is set, there is none, and nothing is resumed on its word.
const VERSION: &str = "user.stackwright.version";

/// How often a part may get its name just before it is locked.
const TRIES: usize = 8;

/// Opens the part of this name and locks it. `create` has the permissions of one that is created
/// where there is none; without, there may be none.
///
/// # Errors
/// [`Failure::Denied`] if another holds the lock.
pub(super) fn lock(
    folder: &Dir,
    part: &str,
    create: Option<Mode>,
) -> Result<Option<File>, Failure> {
    let flags = create.map_or(OFlags::empty(), |_| OFlags::CREATE);
    for _ in 0..TRIES {
        let opened = match open(folder, part, OFlags::WRONLY | flags, create) {
            Err(Failure::NotFound) if create.is_none() => return Ok(None),
            opened => opened?,
        };
        match flock(&opened, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(Failure::Denied),
            Err(error) => return Err(failure(error)),
        }
        // The holder before may have given the file its own name, or removed it.
        let opened_is = fstat(&opened).map_err(failure)?;
        let is_it = found(folder, part)?.is_some_and(|found| {
            (found.st_dev, found.st_ino) == (opened_is.st_dev, opened_is.st_ino)
        });
        if is_it {
            return Ok(Some(opened));
        }
    }
    Err(Failure::Denied)
}

/// Opens the part of this name for reading, whether it is locked or not.
pub(super) fn read(folder: &Dir, part: &str) -> Result<File, Failure> {
    open(folder, part, OFlags::RDONLY, None)
}

/// Notes the version of which a part is the beginning.
pub(super) fn note(part: &File, version: FileVersion) {
    let _ = fsetxattr(part, VERSION, &version.to_octets(), XattrFlags::empty());
}

/// Returns the version that was noted.
pub(super) fn noted(part: &File) -> Option<FileVersion> {
    let mut octets = [0; 8];
    let length = fgetxattr(part, VERSION, &mut octets).ok()?;
    (length == octets.len()).then(|| FileVersion::from_octets(octets))
}

/// Forgets the version that was noted.
pub(super) fn forget(part: &File) {
    let _ = fremovexattr(part, VERSION);
}

/// Removes the part of this name, unless it is locked.
pub(super) fn remove(folder: &Dir, part: &str) {
    // A failure does no harm: what cannot be removed stays hidden.
    if let Ok(Some(_locked)) = lock(folder, part, None) {
        let _ = unlinkat(folder, part, AtFlags::empty());
    }
}

/// Removes what is in a folder if it is nothing but parts: they are hidden, so it seems empty.
pub(super) fn remove_all(folder: &Dir) -> Result<(), Failure> {
    let mut parts = Vec::new();
    for entry in folder.entries().map_err(failure)? {
        match entry.map_err(failure)?.file_name().into_string() {
            Ok(name) if is_part(&name) => parts.push(name),
            _ => return Err(Failure::NotEmpty),
        }
    }
    parts.iter().for_each(|part| remove(folder, part));
    Ok(())
}

/// Returns where the part of the file at `path` is: beside it, where a [`Disk`](super::Disk) keeps
/// it until the file is whole.
pub fn part_path(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(part(&name))
}

/// Opens the part of the file at `path` to be read and written, whether it is locked or not. To
/// write takes its lock, by [`File::try_lock`].
///
/// # Errors
/// [`Failure::NotFound`] without a part, and [`Failure::Denied`] where something else has its name.
pub fn open_part(path: &Path) -> Result<File, Failure> {
    open(CWD, part_path(path), OFlags::RDWR, None)
}

fn open(
    folder: impl AsFd,
    part: impl Arg,
    flags: OFlags,
    mode: Option<Mode>,
) -> Result<File, Failure> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = openat(folder, part, flags, mode.unwrap_or(Mode::empty())).map_err(failure)?;
    let stat = fstat(&opened).map_err(failure)?;
    // A second name would be another file's.
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || stat.st_nlink > 1 {
        return Err(Failure::Denied);
    }
    Ok(opened.into())
}
