//! Containment: a path of the service leads to something below the root, or nowhere.
//!
//! A path is first brought into its plain form, in text: it begins at the root and has neither `.`
//! nor `..`. What is left for an attacker are symbolic links, also ones that are put in place while
//! we look. These are the kernel's part: every path is walked by `openat2` with `RESOLVE_BENEATH`
//! (cap-std does that), which refuses to leave the root at any step.

use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, chmodat, fstat,
    fstatvfs, openat, utimensat,
};
use rustix::io::Errno;
use stackwright_contract::services::{Attribute, Failure, FileKind, FileVersion, Status};

use super::part;
use super::place::{self, Place};
use super::target::Target;

/// The permissions that can be set: nothing here gives a file its owner's rights.
const MODE_MOST: u16 = 0o777;

/// The folder that contains all files of the service.
#[derive(Clone, Debug)]
pub struct Root {
    folder: Arc<Dir>,
    /// Whether a file can be created without a name, and get one later: the latter needs procfs.
    nameless: bool,
}

impl Root {
    /// Opens the folder at `path`, a path of this machine.
    ///
    /// It stays the same folder when it is moved or another takes its name.
    ///
    /// # Errors
    /// If it does not exist, is not a folder or may not be entered.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let folder = Arc::new(Dir::open_ambient_dir(path, ambient_authority())?);
        let nameless = rustix::fs::access("/proc/self/fd", rustix::fs::Access::EXISTS).is_ok();
        Ok(Root { folder, nameless })
    }

    /// Whether files can be created without a name, if the file system can.
    pub(super) fn has_nameless(&self) -> bool {
        self.nameless
    }

    /// Makes every file have a name, as on a file system without others.
    #[cfg(test)]
    pub(super) fn without_nameless(self) -> Self {
        Root { nameless: false, ..self }
    }

    /// Opens a file for reading.
    pub(super) fn open_file(&self, place: &Place) -> Result<File, Failure> {
        open_regular(&self.folder, place.path())
    }

    /// Opens a folder: operations on names in it are not affected by what happens to its path
    /// meanwhile.
    pub(super) fn open_folder(&self, path: &str) -> Result<Dir, Failure> {
        self.folder.open_dir(path).map_err(failure)
    }

    /// Opens the part of a file that can be resumed, for reading.
    pub(super) fn open_part(&self, place: &Place) -> Result<File, Failure> {
        let target = Target::for_file(self, place)?;
        part::read(&target.folder, &place::part(&target.name)).map(File::from_std)
    }

    /// Returns the status of `place`. A link whose target does not exist, or is outside the root,
    /// is of [`FileKind::Other`].
    pub(super) fn status(&self, place: &Place) -> Result<Status, Failure> {
        if place.enters() {
            let inside = format!("{}/.", place.path());
            return self.folder.metadata(inside).map(|inside| status(&inside)).map_err(failure);
        }
        let metadata = self.folder.symlink_metadata(place.path()).map_err(failure)?;
        match metadata.is_symlink().then(|| self.folder.metadata(place.path())) {
            Some(Ok(behind)) => Ok(status(&behind)),
            None | Some(Err(_)) => Ok(status(&metadata)),
        }
    }

    /// Returns the status of the part of a file that can be resumed.
    pub(super) fn status_of_part(&self, place: &Place) -> Result<Status, Failure> {
        self.open_part(place)?.metadata().map(|metadata| status(&metadata)).map_err(failure)
    }

    /// Returns how many octets the file system of a folder has room for.
    pub(super) fn room(&self, place: &Place) -> Result<u64, Failure> {
        let room = fstatvfs(self.open_folder(place.path())?).map_err(failure)?;
        Ok(room.f_bavail.saturating_mul(room.f_frsize))
    }

    /// Makes a folder.
    pub(super) fn make_folder(&self, place: &Place) -> Result<(), Failure> {
        let (folder, name) = place.split().ok_or(Failure::Exists)?;
        self.open_folder(folder)?.create_dir(name).map_err(failure)
    }

    /// Sets an attribute of a file or folder, to which links may lead.
    pub(super) fn set(&self, place: &Place, attribute: Attribute) -> Result<(), Failure> {
        if place.split().is_none() {
            return Err(Failure::Denied); // the root is not the service's
        }
        if matches!(attribute, Attribute::Mode(mode) if mode > MODE_MOST) {
            return Err(Failure::Denied);
        }
        let target = Target::find(self, place)?;
        // Not through its name, which may be a link by now; and not through a file that is open for
        // reading, which its present permissions may forbid.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&target.folder, &target.name, flags, Mode::empty()).map_err(failure)?;
        let before = fstat(&file).map_err(failure)?;
        match FileType::from_raw_mode(before.st_mode) {
            FileType::RegularFile | FileType::Directory => {}
            _ => return Err(Failure::Denied),
        }
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        match attribute {
            Attribute::Modified(seconds) => {
                let set = |tv_sec: i64, tv_nsec| {
                    let times = Timestamps {
                        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
                        last_modification: Timespec { tv_sec, tv_nsec },
                    };
                    utimensat(CWD, &path, &times, AtFlags::empty()).map_err(failure)
                };
                let seconds = i64::try_from(seconds).map_err(|_| Failure::Denied)?;
                set(seconds, 0)?;
                // A file system that has no such time takes the nearest that it has.
                if fstat(&file).map_err(failure)?.st_mtime != seconds {
                    set(before.st_mtime, before.st_mtime_nsec as _)?;
                    return Err(Failure::Denied);
                }
                Ok(())
            }
            Attribute::Mode(mode) => {
                let mode = Mode::from_raw_mode(mode.into());
                chmodat(CWD, path, mode, AtFlags::empty()).map_err(failure)
            }
        }
    }

    /// Renames `from` to `to`; a link is moved, not followed.
    pub(super) fn rename(&self, from: &Place, to: &Place) -> Result<(), Failure> {
        let (from_folder, from_name) = from.split().ok_or(Failure::Denied)?;
        let (to_folder, to_name) = to.split().ok_or(Failure::Denied)?;
        let (from_folder, to_folder) =
            (self.open_folder(from_folder)?, self.open_folder(to_folder)?);
        from_folder.rename(from_name, &to_folder, to_name).map_err(failure)
    }

    /// Removes a file, a link (not its target), or a folder that holds nothing but parts that are
    /// not locked.
    pub(super) fn remove(&self, place: &Place) -> Result<(), Failure> {
        let (folder, name) = place.split().ok_or(Failure::Denied)?;
        let folder = self.open_folder(folder)?;
        if folder.symlink_metadata(name).map_err(failure)?.is_dir() {
            match folder.remove_dir(name).map_err(failure) {
                Err(Failure::NotEmpty) => {
                    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    let opened = openat(&folder, name, flags, Mode::empty()).map_err(failure)?;
                    part::remove_all(&Dir::from_std_file(opened.into()))?;
                    folder.remove_dir(name).map_err(failure)
                }
                removed => removed,
            }
        } else {
            folder.remove_file(name).map_err(failure)
        }
    }
}

/// Opens a regular file, and nothing else, for reading.
fn open_regular(folder: &Dir, path: &str) -> Result<File, Failure> {
    // Checked before, because opening alone can have an effect on a device (rewind a tape); and
    // again when it is open, because the name may denote something else by then. It does not wait
    // for a pipe's other end in any case.
    regular(&folder.metadata(path).map_err(failure)?)?;
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = folder
        .open_with(path, OpenOptions::new().read(true).custom_flags(flags.bits() as i32))
        .map_err(failure)?;
    regular(&file.metadata().map_err(failure)?)?;
    Ok(file)
}

/// Refuses what is not a regular file.
pub(super) fn regular(metadata: &Metadata) -> Result<(), Failure> {
    match kind(metadata) {
        FileKind::File => Ok(()),
        FileKind::Folder => Err(Failure::BadName),
        FileKind::Link | FileKind::Other => Err(Failure::Denied),
    }
}

/// Returns the kind of what is no link, or a link that leads to nothing.
fn kind(metadata: &Metadata) -> FileKind {
    if metadata.is_file() {
        FileKind::File
    } else if metadata.is_dir() {
        FileKind::Folder
    } else {
        FileKind::Other
    }
}

pub(super) fn status(metadata: &Metadata) -> Status {
    let kind = kind(metadata);
    let size = if kind == FileKind::File { metadata.len() } else { 0 };
    Status {
        modified: u64::try_from(metadata.mtime()).ok(),
        mode: Some((metadata.mode() & 0o7777) as u16),
        unique: Some(unique(metadata.dev(), metadata.ino())),
        version: (kind == FileKind::File).then(|| {
            version([
                metadata.dev(),
                metadata.ino(),
                metadata.len(),
                metadata.mtime() as u64,
                metadata.mtime_nsec() as u64,
                metadata.ctime() as u64,
                metadata.ctime_nsec() as u64,
            ])
        }),
        ..Status::new(kind, size)
    }
}

/// Returns the version of a file that has these numbers: device, inode, size, and the times of
/// modification and of change, which a program cannot set back.
pub(super) fn version(numbers: [u64; 7]) -> FileVersion {
    FileVersion::of(numbers.map(u64::to_be_bytes).as_flattened())
}

/// Mixes the number of a file system and of a file in it into one (SplitMix64): equal only for the
/// same file, but for a chance of 2^-64.
fn unique(device: u64, inode: u64) -> u64 {
    [device, inode].into_iter().fold(0, |mixed: u64, number| {
        let mut mixed = (mixed ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}

/// Translates an error of the operating system to the service's.
pub(super) fn failure(error: impl Into<io::Error>) -> Failure {
    let error = error.into();
    match Errno::from_io_error(&error) {
        Some(Errno::NOENT) => Failure::NotFound,
        Some(Errno::EXIST) => Failure::Exists,
        Some(Errno::NOTEMPTY) => Failure::NotEmpty,
        // A socket cannot be opened (NXIO); a folder that is in use is not removed.
        Some(
            Errno::ACCESS
            | Errno::PERM
            | Errno::ROFS
            | Errno::NXIO
            | Errno::NODEV
            | Errno::BUSY
            | Errno::TXTBSY,
        ) => Failure::Denied,
        Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => Failure::Full,
        Some(
            Errno::NAMETOOLONG
            | Errno::NOTDIR
            | Errno::ISDIR
            | Errno::INVAL
            | Errno::ILSEQ
            | Errno::LOOP,
        ) => Failure::BadName,
        // A rename cannot cross file systems.
        Some(Errno::XDEV) => Failure::Unsupported,
        Some(_) => Failure::Broken,
        // cap-std's own error: its refusal of a path that leads out has no number.
        None => match error.kind() {
            io::ErrorKind::PermissionDenied => Failure::Denied,
            io::ErrorKind::NotFound => Failure::NotFound,
            io::ErrorKind::InvalidInput => Failure::BadName,
            _ => Failure::Broken,
        },
    }
}
