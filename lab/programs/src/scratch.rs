//! A folder that is gone when its owner is.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};

/// A new, empty folder, removed with everything in it when dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// A folder among the temporary files of this machine.
    pub fn new() -> Self {
        Self::below(&env::temp_dir())
    }

    /// A folder below `parent`.
    ///
    /// # Panics
    ///
    /// When it cannot be made: no test can go on without.
    pub fn below(parent: &Path) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("stackwright-{}-{number}", process::id()));
        fs::create_dir(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { path }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the file called `name` would be.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// What is in it now, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(&self.path)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
            .collect();
        names.sort();
        names
    }
}

/// Makes a folder where everybody may write: a server that has given up its rights writes as
/// somebody else.
///
/// # Panics
///
/// When the system does not allow it.
pub fn open_to_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::create_dir(folder).expect("a folder of ours");
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).expect("a folder of ours");
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing is to be done about a folder that does not go, least of all a second panic.
        let _ = fs::remove_dir_all(&self.path);
    }
}
