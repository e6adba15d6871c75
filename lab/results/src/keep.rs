//! Writes a file whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

use crate::Problem;

/// Puts `content` under the name `file`, in the place of what was there. Until it is whole and on
/// the disk, what was there stays.
///
/// # Errors
/// Where the folder cannot be made or written, or has no room. Nothing is left of the attempt.
pub fn replace(file: &Path, content: &str) -> Result<(), Problem> {
    let attempt = || {
        let mut temporary = beside(file)?;
        temporary.write_all(content.as_bytes())?;
        temporary.as_file().sync_all()?;
        temporary.persist(file)?;
        Ok(())
    };
    attempt().map_err(|why| problem(file, &why))
}

/// Whether `file` could be written, asked before hours are spent on its content.
///
/// # Errors
/// As [`replace`].
pub fn try_out(file: &Path) -> Result<(), Problem> {
    beside(file).map(drop).map_err(|why| problem(file, &why))
}

/// A new file in the same folder, which is gone where anything fails.
fn beside(file: &Path) -> io::Result<NamedTempFile> {
    let folder =
        file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // Readable to all, as other files are.
    Builder::new().prefix(".lab-").permissions(readable()).tempfile_in(folder)
}

fn problem(file: &Path, why: &io::Error) -> Problem {
    Problem::new(format!("cannot write {}: {why}", file.display()))
        .advise("check space and permissions there, or choose another folder with --into DIR")
}

fn readable() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    fs::Permissions::from_mode(0o644)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("new/results.json");
        replace(&file, "first").expect("there is room");
        replace(&file, "second").expect("there is room");
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "second");
        assert_eq!(fs::read_dir(file.parent().expect("its folder")).expect("readable").count(), 1);
    }

    #[test]
    fn a_folder_that_cannot_be_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("file"), "").expect("there is room");
        assert!(replace(&folder.path().join("file/results.json"), "content").is_err());
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1);
    }

    #[test]
    fn who_may_not_write_is_told_what_to_do() {
        let problem =
            replace(Path::new("/proc/results.json"), "content").expect_err("nobody writes there");
        assert!(format!("{problem:?}").contains("--into"));
    }
}
