//! Programs that nobody here wrote: installed where that can be done, else left out.

use std::process::{Command, Stdio};
use std::sync::Once;

use stackwright_programs::processes::find;
use stackwright_results::source;

/// The programs of all FTP tables.
const STRANGERS: [&str; 6] = ["vsftpd", "pure-ftpd", "ncftpget", "ncftpput", "lftp", "curl"];

/// Installs what is missing, as `./test` does: as root on Debian, with all services off. Elsewhere
/// nothing is done; who is still missing then is left out of the tables, which a note tells.
pub(super) fn install() {
    // One attempt for all tables of a run.
    static TRIED: Once = Once::new();
    TRIED.call_once(attempt);
}

fn attempt() {
    let missing: Vec<_> = STRANGERS.into_iter().filter(|name| find(name).is_none()).collect();
    let script = source().join("tests/strangers/install");
    if missing.is_empty() || !script.is_file() {
        return;
    }
    eprintln!("lab: missing {}; trying to install (their services stay off)", missing.join(", "));
    let mut command = Command::new(script);
    command.args(missing).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Its success shows in what is found afterwards.
    let _ = command.status();
}

/// Which of `programs` are missing, as a note; nothing where all are there.
pub(super) fn note(programs: &[&str]) -> Option<String> {
    let missing: Vec<_> = programs.iter().copied().filter(|name| find(name).is_none()).collect();
    let are = if missing.len() == 1 { "is" } else { "are" };
    (!missing.is_empty())
        .then(|| format!("{} {are} not installed, and left out.", missing.join(", ")))
}
