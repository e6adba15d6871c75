//! Where journals are, and which program keeps which: the one that holds the lock (flock) of
//! `ID.lock`.
//!
//! They lie in `$XDG_STATE_HOME/stackwright/transfers` (else below `~/.local/state`).

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

use stackwright::contract::services::Failure;
use stackwright_drivers::files::{open_part, part_path};
use stackwright_wire::check::Crc32c;

use super::keeper::Store;
use super::{Journal, Unusable};
use crate::state_folder::state_folder;

/// The digits of the shortest name of a journal.
const DIGITS: usize = 4;

/// What is read of a journal's file.
pub(super) type Found = Result<Journal, Unusable>;

/// Returns the folder of the journals; `None` without a home.
pub(super) fn folder() -> Option<PathBuf> {
    Some(state_folder()?.join("transfers"))
}

/// Returns all journals by their names, in order.
pub(super) fn all(folder: &Path) -> io::Result<Vec<(String, Found)>> {
    let entries = match fs::read_dir(folder) {
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut all = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let id = name.to_str().and_then(|name| name.strip_suffix(".toml"));
        if let Some(id) = id.filter(|id| is_id(id))
            && let Some(found) = read(folder, id)?
        {
            all.push((id.to_owned(), found));
        }
    }
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(all)
}

/// Whether this can be the name of a journal.
pub(super) fn is_id(text: &str) -> bool {
    (DIGITS..=8).contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Reads the journal of this name, if there is one.
pub(super) fn read(folder: &Path, id: &str) -> io::Result<Option<Found>> {
    match fs::read(file(folder, id)) {
        Ok(octets) => {
            let text = str::from_utf8(&octets).map_err(|_| Unusable::Torn);
            let found = text.and_then(Journal::read);
            Ok(Some(
                found
                    .and_then(|found| if found.id == id { Ok(found) } else { Err(Unusable::Torn) }),
            ))
        }
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
        Err(why) => Err(why),
    }
}

/// Returns the name of a transfer's journal, and the journal if there is one: a part of a check of
/// what is copied, as long as it takes to be that of no other transfer.
pub(super) fn find(folder: &Path, source: &str, destination: &str) -> (String, Option<Journal>) {
    let whole = format!("{:08x}", Crc32c::of(format!("{source}\0{destination}").as_bytes()));
    for digits in DIGITS..whole.len() {
        let id = &whole[..digits];
        match read(folder, id) {
            Ok(Some(Ok(found)))
                if (&*found.source, &*found.destination) == (source, destination) =>
            {
                return (id.into(), Some(found));
            }
            Ok(None | Some(Err(Unusable::Torn))) => return (id.into(), None),
            _ => {}
        }
    }
    let found = read(folder, &whole).ok().flatten().and_then(Result::ok);
    let found =
        found.filter(|found| (&*found.source, &*found.destination) == (source, destination));
    (whole, found)
}

/// Takes a journal; `None` where another has it.
pub(super) fn claim(folder: &Path, id: &str) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    let lock = options.write(true).create(true).truncate(false).open(lock(folder, id))?;
    Ok(is_free(&lock)?.then_some(lock))
}

/// Returns whether another program has a journal.
pub(super) fn is_claimed(folder: &Path, id: &str) -> io::Result<bool> {
    match File::open(lock(folder, id)) {
        Ok(lock) => is_free(&lock).map(|is_free| !is_free),
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(false),
        Err(why) => Err(why),
    }
}

/// Locks a file, if nobody has.
fn is_free(lock: &File) -> io::Result<bool> {
    match lock.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(why)) => Err(why),
    }
}

/// Removes a journal that was [claimed](claim).
pub(super) fn remove(folder: &Path, id: &str) -> io::Result<()> {
    for path in [file(folder, id), lock(folder, id)] {
        match fs::remove_file(path) {
            Err(why) if why.kind() != ErrorKind::NotFound => return Err(why),
            _ => {}
        }
    }
    Ok(())
}

fn file(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.toml"))
}

fn lock(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.lock"))
}

/// A journal on the disk, and the target that it is about.
pub(super) struct OnDisk {
    folder: PathBuf,
    id: String,
    /// Held from the first time on that the journal is written.
    lock: Option<File>,
    target: PathBuf,
    /// The part, once it was synced.
    part: Option<File>,
}

impl OnDisk {
    pub(super) fn new(folder: &Path, id: &str, target: &Path) -> Self {
        // Where the target is a link, the part lies where that leads.
        let target = fs::canonicalize(target).unwrap_or(target.into());
        OnDisk { folder: folder.into(), id: id.into(), lock: None, target, part: None }
    }

    /// Takes the journal.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`] if another program has it.
    pub(super) fn claim(&mut self) -> io::Result<()> {
        if self.lock.is_none() {
            let lock = claim(&self.folder, &self.id)?;
            self.lock = Some(lock.ok_or(ErrorKind::WouldBlock)?);
        }
        Ok(())
    }

    /// Removes what a transfer has left of its target.
    pub(super) fn remove_part(&self) -> io::Result<()> {
        match fs::remove_file(part_path(&self.target)) {
            Err(why) if why.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn open_part(&self) -> io::Result<File> {
        open_part(&self.target).map_err(|failure| match failure {
            Failure::NotFound => ErrorKind::NotFound.into(),
            failure => io::Error::other(failure.to_string()),
        })
    }
}

impl Store for OnDisk {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn part(&self) -> io::Result<Option<u64>> {
        match fs::symlink_metadata(part_path(&self.target)) {
            Ok(found) if found.is_file() => Ok(Some(found.len())),
            Ok(_) => Ok(None),
            Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
            Err(why) => Err(why),
        }
    }

    fn read_part(&self, octets: Range<u64>) -> io::Result<Vec<u8>> {
        let mut part = self.open_part()?;
        part.seek(SeekFrom::Start(octets.start))?;
        let mut read = Vec::new();
        part.take(octets.end - octets.start).read_to_end(&mut read)?;
        Ok(read)
    }

    fn sync_part(&mut self) -> io::Result<()> {
        let is_first = self.part.is_none();
        let part = self.open_part()?;
        // Not its octets alone: the version of the source is noted as an attribute.
        part.sync_all()?;
        self.part = Some(part);
        if is_first { sync_folder(&self.target) } else { Ok(()) }
    }

    fn cut_part(&mut self, octets: u64) -> io::Result<()> {
        let part = self.open_part()?;
        // Another program may be writing it.
        part.try_lock().map_err(io::Error::from)?;
        part.set_len(octets)
    }

    fn sync_target(&mut self) -> io::Result<()> {
        File::open(&self.target)?.sync_all()?;
        sync_folder(&self.target)
    }

    fn write(&mut self, journal: &str) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        self.claim()?;
        let mut written = tempfile::NamedTempFile::new_in(&self.folder)?;
        written.write_all(journal.as_bytes())?;
        written.as_file().sync_all()?;
        let path = file(&self.folder, &self.id);
        written.persist(&path)?;
        sync_folder(&path)
    }

    fn remove(&mut self) -> io::Result<()> {
        remove(&self.folder, &self.id)
    }
}

/// Syncs the folder of a file: its name survives a loss of power from then on.
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent().map(|folder| File::open(folder).and_then(|folder| folder.sync_all())) {
        // Some file systems make their folders durable themselves and lack this call.
        Some(Err(why)) if why.kind() != ErrorKind::InvalidInput => Err(why),
        _ => Ok(()),
    }
}
