//! A file that is being written.
//!
//! It takes its name in one step when it is complete. Until then it has none, where the file system
//! has such files (`O_TMPFILE`): whatever ends it, also the end of the program, leaves no trace.
//! Elsewhere it has a temporary name in the folder where it will belong; a crash leaves that over,
//! hidden. A [part](super::part) that is resumed has a name that is meant to be left over.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsRawFd;

use cap_std::fs::Dir;
use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, RenameFlags, Uid, fchmod, fchown, fstat, linkat,
    openat, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use stackwright_contract::services::{Failure, FileVersion, Keep, Purpose};
use stackwright_wire::Message;

use super::octets::write;
use super::part;
use super::place::{self, Place};
use super::root::{Root, failure};
use super::target::{Target, found};

/// How many octets are copied from the old file before other files have their turn: some
/// milliseconds.
const COPIED_AT_ONCE: u64 = 8 << 20;
/// Temporary names are random: a collision means an attack, and a few tries suffice.
const TRIES: usize = 8;
/// The permissions of a new file, of which the process takes some away (umask).
const NEW_MODE: Mode = Mode::from_raw_mode(0o666);
/// The permissions that a file takes over from the one that it replaces.
const TAKEN_OVER: u32 = 0o777;

/// A file without a name of its own yet.
pub(super) struct Creation {
    file: File,
    /// The old file whose octets are still to be copied, and how many.
    source: Option<(File, u64)>,
    folder: Dir,
    name: String,
    has: Has,
    purpose: Purpose,
    /// Whether there was a file of that name when it began.
    replaces: bool,
}

/// The name that a file has on the disk while it is written.
enum Has {
    /// None, and it vanishes by itself.
    NoName,
    Temporary(String),
    /// That of the part, whose lock it holds.
    Part,
    /// The one that it will keep.
    Settled,
}

impl Creation {
    /// Begins a file at `place`. Returns it with how many octets it begins with: before anything is
    /// written, those of the old file must be [copied](Creation::take_over).
    pub(super) fn begin(
        root: &Root,
        place: &Place,
        purpose: Purpose,
        random: &mut fastrand::Rng,
    ) -> Result<(Self, u64), Failure> {
        let Target { folder, name, found } = match purpose {
            Purpose::New => Target::for_new(root, place)?,
            _ => Target::for_file(root, place)?,
        };
        // Not even for a moment may others read what replaces a file that is not theirs to read.
        let mode = found.as_ref().map_or(NEW_MODE, |old| {
            Mode::from_raw_mode(old.st_mode & TAKEN_OVER) | Mode::RUSR | Mode::WUSR
        });
        let mut source = None;
        let part = match purpose {
            Purpose::Resume | Purpose::Part => {
                match part::lock(&folder, &place::part(&name), Some(mode)) {
                    Err(Failure::Denied) if purpose == Purpose::Part => None,
                    locked => locked?,
                }
            }
            _ => None,
        };
        let (file, has, size) = if let Some(file) = part {
            if purpose == Purpose::Part {
                file.set_len(0).map_err(failure)?;
            }
            let size = file.metadata().map_err(failure)?.len();
            if size == 0 {
                part::forget(&file); // what was noted before is not of what comes
            }
            (file, Has::Part, size)
        } else {
            let from = match purpose {
                Purpose::Create { from } => from,
                Purpose::Append => found.as_ref().map_or(0, |old| old.st_size as u64),
                _ => 0,
            };
            if from > 0 {
                source = Some((old_file(&folder, &name, from)?, from));
            }
            let (file, has) = new_file(root, &folder, &name, mode, random)?;
            (file, has, from)
        };
        let replaces = found.is_some();
        Ok((Creation { file, source, folder, name, has, purpose, replaces }, size))
    }

    /// Notes of which version of its source the part is the beginning.
    pub(super) fn note(&self, version: FileVersion) {
        if let Has::Part = self.has {
            part::note(&self.file, version);
        }
    }

    /// Returns the version that was noted with the part.
    pub(super) fn noted(&self) -> Option<FileVersion> {
        if let Has::Part = self.has { part::noted(&self.file) } else { None }
    }

    /// Whether octets of the old file are still to be copied.
    pub(super) fn is_unfinished(&self) -> bool {
        self.source.is_some()
    }

    /// Copies one share of the old file, and returns whether that was all. The kernel copies, and
    /// shares the blocks if the disk can.
    pub(super) fn take_over(&mut self) -> Result<bool, Failure> {
        let Some((source, left)) = &mut self.source else { return Ok(true) };
        let share = (*left).min(COPIED_AT_ONCE);
        let copied = io::copy(&mut (&*source).take(share), &mut &self.file).map_err(failure)?;
        if copied < share {
            return Err(Failure::Short); // it shrank meanwhile
        }
        *left -= share;
        if *left == 0 {
            self.source = None;
        }
        Ok(self.source.is_none())
    }

    /// Writes all of `messages`, one behind the other, beginning at `offset`. `scratch` is a buffer
    /// for regions of other files.
    pub(super) fn write<M: Message>(
        &self,
        offset: u64,
        messages: &[M],
        scratch: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        write(&self.file, offset, messages, scratch)
    }

    /// Ends the file as `keep` says. With `sync`, what is kept survives a loss of power from here
    /// on.
    pub(super) fn close(
        mut self,
        keep: Keep,
        sync: bool,
        random: &mut fastrand::Rng,
    ) -> Result<(), Failure> {
        // Opened before a name is given: errors should occur while the old file is still there.
        let synced = if sync && keep != Keep::Nothing { Some(self.folder.open(".")) } else { None };
        let folder = synced.transpose().map_err(failure)?;
        match keep {
            Keep::Nothing => {
                if let Has::Part = self.has {
                    self.remove(&place::part(&self.name));
                }
                drop(self); // no trace is left before that is indicated
                return Err(Failure::GivenUp);
            }
            Keep::Part => self.keep_part(sync, random)?,
            Keep::Whole => self.keep_whole(sync, random)?,
        }
        match folder.map_or(Ok(()), |folder| folder.sync_all()) {
            // Some file systems make their folders durable themselves and lack this call.
            Err(error) if error.kind() != ErrorKind::InvalidInput => Err(Failure::Broken),
            _ => Ok(()),
        }
    }

    fn keep_whole(&mut self, sync: bool, random: &mut fastrand::Rng) -> Result<(), Failure> {
        if self.replaces {
            self.take_over_permissions()?;
        }
        if let Has::Part = self.has {
            part::forget(&self.file);
        }
        self.sync(sync)?;
        let may_be_first = matches!(self.has, Has::NoName) && !self.replaces;
        let was_part = matches!(self.has, Has::Part);
        if !(may_be_first && self.link(&self.name)?) {
            if self.purpose == Purpose::New {
                self.rename_to_new()?;
            } else {
                if !self.replaces {
                    // Another was quicker; and its permissions count.
                    self.take_over_permissions()?;
                    self.sync(sync)?;
                }
                let temporary = self.named(random)?;
                renameat(&self.folder, &temporary, &self.folder, &self.name).map_err(failure)?;
            }
        }
        self.has = Has::Settled;
        if !was_part {
            part::remove(&self.folder, &place::part(&self.name));
        }
        Ok(())
    }

    /// Gives the file its name unless something has it.
    fn rename_to_new(&mut self) -> Result<(), Failure> {
        let Has::Temporary(temporary) = &self.has else { return Err(Failure::Exists) };
        let (folder, name) = (&self.folder, &self.name);
        match renameat_with(folder, temporary, folder, name, RenameFlags::NOREPLACE) {
            // Not every file system can: a second name has the same effect.
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(folder, temporary, folder, name, AtFlags::empty()).map_err(failure)?;
                self.remove(&temporary.clone());
                Ok(())
            }
            renamed => renamed.map_err(failure),
        }
    }

    fn keep_part(&mut self, sync: bool, random: &mut fastrand::Rng) -> Result<(), Failure> {
        if self.file.metadata().map_err(failure)?.len() == 0 {
            return Ok(()); // it has nothing to go on from
        }
        self.sync(sync)?;
        let part = place::part(&self.name);
        match self.has {
            Has::Part => {}
            Has::NoName if self.link(&part)? => {}
            _ => {
                // Only the holder of the lock may touch that name.
                let _locked = part::lock(&self.folder, &part, Some(NEW_MODE))?;
                let temporary = self.named(random)?;
                renameat(&self.folder, &temporary, &self.folder, &part).map_err(failure)?;
            }
        }
        self.has = Has::Settled;
        Ok(())
    }

    fn sync(&self, sync: bool) -> Result<(), Failure> {
        if sync { self.file.sync_all().map_err(failure) } else { Ok(()) }
    }

    /// Takes over the permissions of the file that will be replaced, and whose it is as far as that
    /// is allowed.
    fn take_over_permissions(&self) -> Result<(), Failure> {
        let Some(old) = found(&self.folder, &self.name)? else { return Ok(()) };
        if FileType::from_raw_mode(old.st_mode) != FileType::RegularFile {
            return Ok(());
        }
        let own = fstat(&self.file).map_err(failure)?;
        if own.st_uid != old.st_uid {
            let _ = fchown(&self.file, Some(Uid::from_raw(old.st_uid)), None);
        }
        let mut mode = old.st_mode & TAKEN_OVER;
        if own.st_gid != old.st_gid
            && fchown(&self.file, None, Some(Gid::from_raw(old.st_gid))).is_err()
        {
            // Another group gets no more than all others have.
            mode &= !0o070 | (mode & 0o007) << 3;
        }
        if own.st_mode & TAKEN_OVER != mode {
            // Some file systems have no permissions.
            let _ = fchmod(&self.file, Mode::from_raw_mode(mode));
        }
        Ok(())
    }

    /// Returns the name that the file has on the disk; it gets a temporary one if it has none.
    fn named(&mut self, random: &mut fastrand::Rng) -> Result<String, Failure> {
        match &self.has {
            Has::Temporary(temporary) => return Ok(temporary.clone()),
            Has::Part => return Ok(place::part(&self.name)),
            Has::NoName | Has::Settled => {}
        }
        for _ in 0..TRIES {
            let temporary = place::temporary(&self.name, random.u64(1..));
            if self.link(&temporary)? {
                self.has = Has::Temporary(temporary.clone());
                return Ok(temporary);
            }
        }
        Err(Failure::Denied)
    }

    /// Gives a file without a name this one. Returns whether it got it: something else may have it.
    fn link(&self, name: &str) -> Result<bool, Failure> {
        let file = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        match linkat(CWD, file, &self.folder, name, AtFlags::SYMLINK_FOLLOW) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(error) => Err(failure(error)),
        }
    }

    fn remove(&mut self, name: &str) {
        self.has = Has::Settled;
        // A failure can no longer be reported: the name stays hidden.
        let _ = unlinkat(&self.folder, name, AtFlags::empty());
    }
}

impl Drop for Creation {
    fn drop(&mut self) {
        match &self.has {
            Has::NoName | Has::Settled => {}
            Has::Temporary(temporary) => self.remove(&temporary.clone()),
            // One that has nothing to go on from would only be in the way.
            Has::Part => {
                if self.file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
                    self.remove(&place::part(&self.name));
                }
            }
        }
    }
}

/// Opens the file whose first `from` octets are copied.
fn old_file(folder: &Dir, name: &str, from: u64) -> Result<File, Failure> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let old = openat(folder, name, flags | OFlags::CLOEXEC, Mode::empty()).map_err(failure)?;
    let old = File::from(old);
    let metadata = old.metadata().map_err(failure)?;
    if !metadata.is_file() {
        return Err(Failure::Denied);
    }
    if metadata.len() < from { Err(Failure::Short) } else { Ok(old) }
}

fn new_file(
    root: &Root,
    folder: &Dir,
    name: &str,
    mode: Mode,
    random: &mut fastrand::Rng,
) -> Result<(File, Has), Failure> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    if root.has_nameless() {
        match openat(folder, ".", flags | OFlags::TMPFILE, mode) {
            Ok(file) => return Ok((file.into(), Has::NoName)),
            // This file system has none.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {}
            Err(error) => return Err(failure(error)),
        }
    }
    for _ in 0..TRIES {
        let temporary = place::temporary(name, random.u64(1..));
        match openat(folder, &temporary, flags | OFlags::CREATE | OFlags::EXCL, mode) {
            Ok(file) => return Ok((file.into(), Has::Temporary(temporary))),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(failure(error)),
        }
    }
    Err(Failure::Denied)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use stackwright_wire::SingleBuffer;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("the folder");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
            .collect();
        names.sort();
        names
    }

    /// Where every file has a name, all ends are the same.
    #[test]
    fn a_file_system_may_lack_files_without_names() {
        let home = tempfile::tempdir().expect("a folder");
        let root = Root::open(home.path()).expect("a root").without_nameless();
        let random = &mut fastrand::Rng::new();
        let mut begin = |name: &str, purpose| {
            let place = Place::parse(name).expect("a path");
            let (creation, size) = Creation::begin(&root, &place, purpose, random)?;
            let content = [SingleBuffer::with_headroom(0, b"content")];
            creation.write(size, &content, &mut Vec::new())?;
            Ok::<_, Failure>(creation)
        };
        let random = &mut fastrand::Rng::new();
        let create = Purpose::Create { from: 0 };

        drop(begin("a", create).expect("begun"));
        assert_eq!(names(home.path()), [""; 0]);
        let given_up = begin("a", create).expect("begun");
        assert_eq!(names(home.path()).len(), 1);
        assert_eq!(given_up.close(Keep::Nothing, false, random), Err(Failure::GivenUp));
        for sync in [false, true] {
            let whole = begin("a", create).expect("begun");
            assert_eq!(whole.close(Keep::Whole, sync, random), Ok(()));
            assert_eq!(names(home.path()), ["a"]);
        }

        let [first, second] = [(); 2].map(|()| begin("new", Purpose::New).expect("begun"));
        assert_eq!(second.close(Keep::Whole, false, random), Ok(()));
        assert_eq!(first.close(Keep::Whole, false, random), Err(Failure::Exists));
        assert_eq!(names(home.path()), ["a", "new"]);

        let part = begin("a", create).expect("begun");
        assert_eq!(part.close(Keep::Part, true, random), Ok(()));
        assert_eq!(names(home.path()), [".a.0000000000000000.part", "a", "new"]);
        let resumed = begin("a", Purpose::Resume).expect("begun");
        assert_eq!(resumed.close(Keep::Whole, false, random), Ok(()));
        assert_eq!(fs::read(home.path().join("a")).expect("a"), b"contentcontent");
        assert_eq!(names(home.path()), ["a", "new"]);
    }
}
