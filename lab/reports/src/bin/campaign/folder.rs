//! Where results lie: a folder a sweep, a file a cell. A result appears under its name when it is
//! whole, or not at all.
//!
//! ```text
//! DIR/.lock                       who runs here: all cells at once, or several who run some
//! DIR/loss/command                what the sweep's cells run: another command needs another folder
//! DIR/loss/loss=0.1,seed=7.json   a result
//! DIR/loss/loss=0.1,seed=8.stderr what a failed cell said, and why it failed
//! DIR/loss/.….part                a result that is being made
//! ```

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use stackwright_results::Problem;
use tempfile::{NamedTempFile, TempPath};

use crate::description::Campaign;
use crate::sweep::{Cell, Sweep};

const RESULT: &str = "json";
const WORDS: &str = "stderr";
const PART: &str = ".part";

/// A folder with results of one campaign.
pub(crate) struct Folder {
    root: PathBuf,
}

/// Until it is dropped, nobody runs all cells here.
pub(crate) struct Lock(Option<File>);

impl Folder {
    /// The folder as it is; nothing is made.
    pub(crate) fn at(root: &Path) -> Self {
        Folder { root: root.to_owned() }
    }

    /// There are results to be read.
    pub(crate) fn exists(&self) -> Result<(), Problem> {
        if self.root.is_dir() {
            return Ok(());
        }
        Err(Problem::new(format!("{}: no such folder", self.root.display()))
            .advise("run the campaign first, without --summary"))
    }

    /// Makes the folder, and a folder for each sweep.
    ///
    /// Where they are already, their results have to be of the same commands.
    pub(crate) fn make(root: &Path, campaign: &Campaign) -> Result<Self, Problem> {
        fs::create_dir_all(root).map_err(|error| cannot_write(root, &error))?;
        let root = fs::canonicalize(root).map_err(|error| cannot_write(root, &error))?;
        let folder = Folder { root };
        for sweep in campaign.sweeps() {
            let place = folder.root.join(&sweep.name);
            fs::create_dir_all(&place).map_err(|error| cannot_write(&place, &error))?;
            folder.claim(&place.join("command"), sweep)?;
        }
        Ok(folder)
    }

    /// Says which command the sweep's results are of, or finds that it is said.
    fn claim(&self, path: &Path, sweep: &Sweep) -> Result<(), Problem> {
        let command = sweep.command();
        match fs::read_to_string(path) {
            Ok(there) if there == command => Ok(()),
            Ok(_) => Err(Problem::new(format!(
                "{} has results of a different command of the sweep `{}`",
                self.root.display(),
                sweep.name
            ))
            .advise("choose another folder, or rename the sweep")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.write(path, |file| file.write_all(command.as_bytes()))
            }
            Err(error) => Err(cannot_write(path, &error)),
        }
    }

    /// Nobody else runs cells here, so that half results are nobody's, and are removed.
    pub(crate) fn lock_all(&self, campaign: &Campaign) -> Result<Lock, Problem> {
        let lock = self.lock(|file| file.try_lock(), "another process is running cells here")?;
        // Without a lock they may be somebody's.
        for sweep in campaign.sweeps().iter().filter(|_| lock.0.is_some()) {
            let place = self.root.join(&sweep.name);
            let files = fs::read_dir(&place).map_err(|error| cannot_write(&place, &error))?;
            for file in files.flatten() {
                if file.file_name().to_string_lossy().ends_with(PART) {
                    fs::remove_file(file.path())
                        .map_err(|error| cannot_write(&file.path(), &error))?;
                }
            }
        }
        Ok(lock)
    }

    /// Others may run cells here too.
    pub(crate) fn lock_some(&self) -> Result<Lock, Problem> {
        self.lock(|file| file.try_lock_shared(), "another process is running all cells here")
    }

    fn lock(
        &self,
        lock: fn(&File) -> Result<(), TryLockError>,
        says: &str,
    ) -> Result<Lock, Problem> {
        let path = self.root.join(".lock");
        let file = File::options().create(true).append(true).open(&path);
        let file = file.map_err(|error| cannot_write(&path, &error))?;
        match lock(&file) {
            Ok(()) => Ok(Lock(Some(file))),
            Err(TryLockError::WouldBlock) => {
                Err(Problem::new(format!("{}: {says}", self.root.display()))
                    .advise("wait until it is done, or choose another folder"))
            }
            // Some shared file systems have no locks. Whoever makes the same result there writes
            // another file until it is whole, so that nothing but time is lost.
            Err(TryLockError::Error(_)) => Ok(Lock(None)),
        }
    }

    /// Where the result of a cell lies.
    pub(crate) fn result(&self, cell: &Cell<'_>) -> PathBuf {
        self.path(cell, RESULT)
    }

    /// Where the words of a failed cell lie.
    pub(crate) fn words(&self, cell: &Cell<'_>) -> PathBuf {
        self.path(cell, WORDS)
    }

    fn path(&self, cell: &Cell<'_>, ending: &str) -> PathBuf {
        self.root.join(&cell.sweep.name).join(format!("{}.{ending}", cell.name()))
    }

    /// Whether the cell has its result.
    pub(crate) fn is_done(&self, cell: &Cell<'_>) -> bool {
        fs::metadata(self.result(cell)).is_ok_and(|result| result.is_file() && result.len() > 0)
    }

    /// Reads the result of a cell; `None` where there is none.
    pub(crate) fn read(&self, cell: &Cell<'_>) -> Option<serde_json::Value> {
        let file = File::open(self.result(cell)).ok()?;
        serde_json::from_reader(io::BufReader::new(file)).ok()
    }

    /// A file for a result that is being made; it is removed with what is returned.
    pub(crate) fn begin(&self, cell: &Cell<'_>) -> Result<TempPath, Problem> {
        let place = self.root.join(&cell.sweep.name);
        let part = part().prefix(&format!(".{}.", cell.name())).tempfile_in(&place);
        Ok(part.map_err(|error| cannot_write(&place, &error))?.into_temp_path())
    }

    /// The result is whole.
    pub(crate) fn keep(&self, cell: &Cell<'_>, part: TempPath) -> Result<(), Problem> {
        let result = self.result(cell);
        part.persist(&result).map_err(|error| cannot_write(&result, &error.error))?;
        match fs::remove_file(self.words(cell)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(cannot_write(&self.words(cell), &error))
            }
            _ => Ok(()),
        }
    }

    /// Writes a file of the campaign itself, whole or not at all.
    pub(crate) fn write(
        &self,
        path: &Path,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Problem> {
        let place = path.parent().unwrap_or(&self.root);
        let written = part().prefix(".").tempfile_in(place).and_then(|file: NamedTempFile| {
            let mut buffered = io::BufWriter::new(file);
            write(&mut buffered)?;
            buffered.into_inner()?.persist(path)?;
            Ok(())
        });
        written.map_err(|error| cannot_write(path, &error))
    }

    /// A file of the campaign itself, next to the sweeps.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Whether hardly anything can be written any more.
    pub(crate) fn is_full(&self) -> bool {
        const LITTLE: u64 = 64 << 10;
        rustix::fs::statvfs(&self.root)
            .is_ok_and(|there| there.f_bavail.saturating_mul(there.f_frsize) < LITTLE)
    }

    /// There is no room for more results.
    pub(crate) fn full(&self) -> Problem {
        full(&self.root)
    }
}

/// Files with the rights that others have.
fn part() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.suffix(PART);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder
}

fn full(path: &Path) -> Problem {
    Problem::new(format!("{}: the disk is full", path.display()))
        .advise("free some space, and run the same command again: finished cells are kept")
}

/// A file or folder of the results cannot be made.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => full(path),
        _ => Problem::new(format!("{}: {error}", path.display()))
            .advise("choose a folder that you can write to"),
    }
}
