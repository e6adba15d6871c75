//! Containment: a path of the service leads to something below the root, or nowhere.
//!
//! A path is first brought into its plain form, in text: it begins at the root and has neither `.`
//! nor `..`. What is left for an attacker are symbolic links, also ones that are put in place while
//! we look. These are the kernel's part: every path is walked by `openat2` with `RESOLVE_BENEATH`
//! (cap-std does that), which refuses to leave the root at any step.

use std::io;
use std::path::Path;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;
use rustix::io::Errno;
use stackwright_contract::services::{Failure, FileKind, Status};

/// The longest name in a folder, in octets: what Linux allows.
const NAME_MOST: usize = 255;
/// The longest path, in octets: what Linux allows, less the end mark.
const PATH_MOST: usize = 4095;

/// The folder that contains all files of the service.
#[derive(Clone, Debug)]
pub struct Root {
    folder: Arc<Dir>,
}

impl Root {
    /// Opens the folder at `path`, a path of this machine.
    ///
    /// It stays the same folder when it is moved or another takes its name.
    ///
    /// # Errors
    /// If it does not exist, is not a folder or may not be entered.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Root { folder: Arc::new(Dir::open_ambient_dir(path, ambient_authority())?) })
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

    /// Returns the metadata of `place`, with links followed as far as they stay inside.
    pub(super) fn metadata(&self, place: &Place) -> Result<Metadata, Failure> {
        self.folder.metadata(place.path()).map_err(failure)
    }

    /// Returns the status of `place`. A link whose target does not exist, or is outside the root,
    /// is of [`FileKind::Other`].
    pub(super) fn status(&self, place: &Place) -> Result<Status, Failure> {
        let metadata = self.folder.symlink_metadata(place.path()).map_err(failure)?;
        Ok(self.followed(&metadata, place.path()))
    }

    /// Returns the status of `path`, whose `metadata` was read without following a link.
    pub(super) fn followed(&self, metadata: &Metadata, path: &str) -> Status {
        match metadata.is_symlink().then(|| self.folder.metadata(path)) {
            Some(Ok(behind)) => status(&behind),
            None | Some(Err(_)) => status(metadata),
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

    /// Removes a file, a link (not its target) or an empty folder.
    pub(super) fn remove(&self, place: &Place) -> Result<(), Failure> {
        let (folder, name) = place.split().ok_or(Failure::Denied)?;
        let folder = self.open_folder(folder)?;
        if folder.symlink_metadata(name).map_err(failure)?.is_dir() {
            folder.remove_dir(name).map_err(failure)
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

fn kind(metadata: &Metadata) -> FileKind {
    if metadata.is_file() {
        FileKind::File
    } else if metadata.is_dir() {
        FileKind::Folder
    } else {
        FileKind::Other
    }
}

fn status(metadata: &Metadata) -> Status {
    let kind = kind(metadata);
    let size = if kind == FileKind::File { metadata.len() } else { 0 };
    Status { modified: u64::try_from(metadata.mtime()).ok(), ..Status::new(kind, size) }
}

/// A path in its plain form: no empty name, no `.`, no `..`, nothing that cannot be a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// Names joined by `/`; empty for the root.
    names: String,
}

impl Place {
    /// Parses a path of the service.
    ///
    /// `..` removes the name before it, whatever that name is: to look at the disk would be to
    /// trust it, and where a link has that name, the textual meaning is the one that the reader of
    /// the path sees.
    pub(super) fn parse(path: &str) -> Result<Self, Failure> {
        if path.len() > PATH_MOST {
            return Err(Failure::BadName);
        }
        let mut names: Vec<&str> = Vec::new();
        for name in path.split('/') {
            match name {
                "" | "." => {}
                ".." => {
                    names.pop().ok_or(Failure::Denied)?;
                }
                name if !is_name(name) => return Err(Failure::BadName),
                name if is_temporary(name) => return Err(Failure::Denied),
                name => names.push(name),
            }
        }
        Ok(Place { names: names.join("/") })
    }

    /// Returns the path as the operating system takes it, relative to the root.
    pub(super) fn path(&self) -> &str {
        if self.names.is_empty() { "." } else { &self.names }
    }

    /// Returns the path of its folder, and its name in it; `None` for the root.
    pub(super) fn split(&self) -> Option<(&str, &str)> {
        match self.names.rsplit_once('/') {
            Some(parts) => Some(parts),
            None => (!self.names.is_empty()).then_some((".", &self.names)),
        }
    }
}

/// Whether this can be a name in a folder. Control characters cannot: a line end in a name becomes
/// a second command, or a second entry, in some protocol above.
pub(super) fn is_name(name: &str) -> bool {
    name.len() <= NAME_MOST && !name.chars().any(char::is_control)
}

const TEMPORARY_END: &str = ".part";
const TEMPORARY_DIGITS: usize = 16;

/// Returns the name that a file has while it is written: `.NAME.0123456789abcdef.part`, in the same
/// folder, because only there it can be renamed atomically.
pub(super) fn temporary(name: &str, random: u64) -> String {
    let room = NAME_MOST - ".".len() - ".".len() - TEMPORARY_DIGITS - TEMPORARY_END.len();
    format!(".{}.{random:016x}{TEMPORARY_END}", &name[..name.floor_char_boundary(room)])
}

/// Whether [`temporary`] makes such names. They are hidden, and cannot be requested: an incomplete
/// file is no file.
pub(super) fn is_temporary(name: &str) -> bool {
    let digits = name.strip_suffix(TEMPORARY_END).and_then(|name| name.strip_prefix('.'));
    digits.and_then(|name| name.rsplit_once('.')).is_some_and(|(name, digits)| {
        !name.is_empty()
            && digits.len() == TEMPORARY_DIGITS
            && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Translates an error of the operating system to the service's.
pub(super) fn failure(error: impl Into<io::Error>) -> Failure {
    let error = error.into();
    match Errno::from_io_error(&error) {
        Some(Errno::NOENT) => Failure::NotFound,
        // A socket cannot be opened (NXIO); a folder that is not empty, or in use, is not removed.
        Some(
            Errno::ACCESS
            | Errno::PERM
            | Errno::ROFS
            | Errno::NXIO
            | Errno::NODEV
            | Errno::NOTEMPTY
            | Errno::EXIST
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_one_plain_form() {
        for (path, plain) in [
            ("", "."),
            ("/", "."),
            ("a", "a"),
            ("/a//b/", "a/b"),
            ("./a/./b/..", "a"),
            ("a/../b", "b"),
            ("a/..", "."),
            ("a/...", "a/..."),
            ("ä/日本", "ä/日本"),
        ] {
            assert_eq!(Place::parse(path).as_ref().map(Place::path), Ok(plain), "{path:?}");
        }
    }

    #[test]
    fn paths_that_lead_out_are_denied() {
        for path in ["..", "/..", "a/../..", "a/../../a", "./../a", "a/b/../../../c"] {
            assert_eq!(Place::parse(path), Err(Failure::Denied), "{path:?}");
        }
    }

    #[test]
    fn names_that_are_none_are_refused() {
        let long = "x".repeat(256);
        let deep = "x/".repeat(2100);
        for path in ["a\0b", "a\rb", "a\nb", "\u{7f}", "a/\u{1b}[2J", "\u{85}", &long, &deep] {
            assert_eq!(Place::parse(path), Err(Failure::BadName), "{path:?}");
        }
        assert!(Place::parse(&"x".repeat(255)).is_ok());
    }

    #[test]
    fn a_place_is_a_name_in_a_folder() {
        let split = |path: &str| {
            let place = Place::parse(path).expect("a path");
            place.split().map(|(folder, name)| (folder.to_owned(), name.to_owned()))
        };
        assert_eq!(split("/"), None);
        assert_eq!(split("a"), Some((".".into(), "a".into())));
        assert_eq!(split("a/b/c"), Some(("a/b".into(), "c".into())));
    }

    #[test]
    fn temporary_names_fit_and_are_known_again() {
        for name in ["a", ".a", "日".repeat(85).as_str(), "x".repeat(255).as_str()] {
            let temporary = temporary(name, 0x1234);
            assert!(temporary.len() <= 255, "{temporary}");
            assert!(is_temporary(&temporary), "{temporary}");
            assert_eq!(Place::parse(&temporary), Err(Failure::Denied));
        }
        for name in [
            ".a.part",
            ".a.0123.part",
            "a.0123456789abcdef.part",
            "..0123456789abcdef.part",
            ".part",
        ] {
            assert!(!is_temporary(name), "{name}");
        }
    }
}
