//! `stackwright dissect` on captures of ours and of strangers.

mod odd;
mod ours;
mod radio;
mod strangers;

use std::io::Write;
use std::process::{Command, Output, Stdio};

use tempfile::NamedTempFile;

/// A file with these octets.
fn file(octets: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a place for temporary files");
    file.write_all(octets).expect("room for a small file");
    file
}

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stackwright"));
    command.arg("dissect").stdin(Stdio::null());
    command
}

/// What the program says of a capture: whether it was content, what is on standard output, what on
/// standard error.
fn said(octets: &[u8], arguments: &[&str]) -> (Option<i32>, String, String) {
    let file = file(octets);
    let output = command().arg(file.path()).args(arguments).output().expect("our own program");
    let Output { status, stdout, stderr } = output;
    let text = |octets| String::from_utf8(octets).expect("text");
    (status.code(), text(stdout), text(stderr).replace(&file.path().display().to_string(), "FILE"))
}

/// What it says of a capture with which nothing is wrong.
fn shown(octets: &[u8], arguments: &[&str]) -> String {
    let (code, shown, complaints) = said(octets, arguments);
    assert_eq!((code, complaints.as_str()), (Some(0), ""), "{shown}");
    shown
}
