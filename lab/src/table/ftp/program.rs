//! The program that is measured.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{OnceLock, PoisonError, RwLock};
use std::{env, fs};

use stackwright_programs::processes::{built, use_program};
use stackwright_programs::scratch::Scratch;
use stackwright_results::{Problem, source};

/// Another build of the program, which competes with it.
static REFERENCE: OnceLock<PathBuf> = OnceLock::new();
/// Where its copy is.
static COPIED: RwLock<Option<PathBuf>> = RwLock::new(None);

/// From now on, all tables of FTP compare with this build, too.
pub(crate) fn compare_with(reference: PathBuf) {
    let _ = REFERENCE.set(reference); // the option is given once
}

/// The other build, where there is one.
pub(super) fn reference() -> Option<PathBuf> {
    COPIED.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Whether the other build has clients that encrypt.
pub(super) fn reference_encrypts() -> bool {
    let help =
        reference().and_then(|path| Command::new(path).args(["get", "--help"]).output().ok());
    help.is_some_and(|help| String::from_utf8_lossy(&help.stdout).contains("--pin"))
}

/// Finds the release build of `stackwright`, or makes it, and copies it to where it is measured.
///
/// A copy, as an installed program is: the linker leaves its output in the page cache in small
/// pieces, and starting it from there costs 7 % more than starting what was copied (strangers'
/// programs were copied into their places, too).
///
/// # Errors
/// Where there is none and none can be built.
pub(crate) fn copy(into: &Scratch) -> Result<(), Problem> {
    let program = into.join("stackwright");
    let from = match env::var_os("STACKWRIGHT") {
        Some(named) => named.into(),
        None => found().map_or_else(build, Ok)?,
    };
    let copied = |from: &Path, to: &Path| {
        let failed = |why| Problem::new(format!("cannot copy {}: {why}", from.display()));
        fs::copy(from, to).map(drop).map_err(failed)
    };
    copied(&from, &program)?;
    if let Some(reference) = REFERENCE.get() {
        let copy = into.join("reference");
        copied(reference, &copy)?;
        *COPIED.write().unwrap_or_else(PoisonError::into_inner) = Some(copy);
    }
    use_program(program);
    Ok(())
}

/// Beside this program, or in the build folder. A debug build is not measured.
fn found() -> Option<PathBuf> {
    let beside = env::current_exe().ok().and_then(|this| Some(this.parent()?.join("stackwright")));
    let beside = beside.filter(|file| !file.components().any(|part| part.as_os_str() == "debug"));
    beside.into_iter().chain([built("release/stackwright")]).find(|file| file.is_file())
}

fn build() -> Result<PathBuf, Problem> {
    eprintln!("lab: building stackwright: cargo build --release -p stackwright-cli");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "-p", "stackwright-cli"]).current_dir(source());
    match cargo.status() {
        Ok(status) if status.success() => Ok(built("release/stackwright")),
        Ok(status) => Err(Problem::new(format!("the build ended with {status}"))),
        Err(why) => Err(Problem::new(format!("cannot start cargo: {why}")).advise(
            "put the program stackwright beside lab, or set the variable STACKWRIGHT to its path",
        )),
    }
}
