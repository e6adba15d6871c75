//! Where a path leads to: a name in an open folder, with the links on the way followed.

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType, Stat, readlinkat, statat};
use rustix::io::Errno;
use stackwright_contract::services::Failure;

use super::place::{Place, is_temporary};
use super::root::{Root, failure};

/// The most links behind each other, as in Linux.
const LINKS_MOST: usize = 40;

/// A name in a folder, which is no link: what happens to the path meanwhile does not matter.
pub(super) struct Target {
    pub(super) folder: Dir,
    pub(super) name: String,
    /// What has the name.
    pub(super) found: Option<Stat>,
}

impl Target {
    /// Follows a path to its end. Each step is taken from the root, which it cannot leave.
    ///
    /// # Errors
    /// If a link leads out of the root, or to nothing: a link must not bring a file to life.
    pub(super) fn find(root: &Root, place: &Place) -> Result<Self, Failure> {
        let (folder, name) = place.split().ok_or(Failure::BadName)?;
        let target = Self::at(root, folder, name)?;
        if !target.is(FileType::Symlink) {
            return Ok(target);
        }
        let (mut target, mut path) = (target, folder.to_owned());
        for _ in 0..LINKS_MOST {
            let next = readlinkat(&target.folder, &target.name, Vec::new()).map_err(failure)?;
            // What is no text cannot be asked for without a link, either.
            let next = next.to_str().map_err(|_| Failure::Denied)?;
            if next.starts_with('/') {
                return Err(Failure::Denied);
            }
            path.push('/');
            path.push_str(next);
            let (folder, name) = path.rsplit_once('/').expect("it was put there");
            if matches!(name, "" | "." | "..") {
                return Err(Failure::BadName); // a folder
            }
            if is_temporary(name) {
                return Err(Failure::Denied);
            }
            target = Self::at(root, folder, name)?;
            if !target.is(FileType::Symlink) {
                target.found.ok_or(Failure::Denied)?;
                return Ok(target);
            }
            path.truncate(folder.len());
        }
        Err(Failure::BadName)
    }

    /// Finds where a file can be created: what has the name is a regular file or nothing.
    pub(super) fn for_file(root: &Root, place: &Place) -> Result<Self, Failure> {
        let target = Self::find(root, place)?;
        match target.kind() {
            None | Some(FileType::RegularFile) => Ok(target),
            Some(FileType::Directory) => Err(Failure::BadName),
            Some(_) => Err(Failure::Denied),
        }
    }

    /// Finds where a file can be created whose name nothing has, no link either.
    pub(super) fn for_new(root: &Root, place: &Place) -> Result<Self, Failure> {
        let (folder, name) = place.split().ok_or(Failure::BadName)?;
        let target = Self::at(root, folder, name)?;
        if target.found.is_some() { Err(Failure::Exists) } else { Ok(target) }
    }

    fn at(root: &Root, folder: &str, name: &str) -> Result<Self, Failure> {
        let folder = root.open_folder(folder)?;
        let found = found(&folder, name)?;
        Ok(Target { folder, name: name.to_owned(), found })
    }

    /// Returns what kind of thing has the name.
    pub(super) fn kind(&self) -> Option<FileType> {
        self.found.as_ref().map(|found| FileType::from_raw_mode(found.st_mode))
    }

    fn is(&self, kind: FileType) -> bool {
        self.kind() == Some(kind)
    }
}

/// Returns the status of what has a name in a folder; a link is not followed.
pub(super) fn found(folder: &Dir, name: &str) -> Result<Option<Stat>, Failure> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(failure(error)),
    }
}
