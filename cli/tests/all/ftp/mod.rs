//! The program and servers that nobody here wrote: some are scripts, some are real.

mod doubts;
mod fake;
mod files;
mod listings;
mod resume;
mod strangers;
mod words;

use std::path::Path;
use std::process::Command;
use std::sync::Once;

use stackwright_programs::processes::{Outcome, run, stackwright, use_program};

/// The program that was built with this test.
fn program() -> Command {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| use_program(env!("CARGO_BIN_EXE_stackwright").into()));
    Command::new(stackwright())
}

fn say(arguments: &[&str]) -> Outcome {
    run(program().args(arguments))
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a scratch folder's name is a text")
}

fn complaints(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.complaints).into_owned()
}
