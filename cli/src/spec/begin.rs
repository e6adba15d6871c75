//! A first text.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use super::arguments::{Beginning, New};
use crate::problem::Problem;
use crate::report::say;

const PING_PONG: &str = include_str!("../../../crates/spec/tests/sources/ping-pong.protocol");
const STOP_AND_WAIT: &str =
    include_str!("../../../crates/spec/tests/sources/stop-and-wait.protocol");

pub(super) fn new(new: &New) -> Result<(), Problem> {
    let is_name = new.name.starts_with(|first: char| first.is_ascii_uppercase())
        && new.name.chars().all(|letter| letter.is_ascii_alphanumeric());
    if !is_name {
        return Err(Problem::Unfit {
            what: new.name.clone(),
            why: "a protocol has a name of letters and digits, the first of them large",
        });
    }
    let (text, name) = match new.from {
        Beginning::PingPong => (PING_PONG, "PingPong"),
        Beginning::StopAndWait => (STOP_AND_WAIT, "StopAndWait"),
    };
    let text = text.replacen(&format!("protocol {name}"), &format!("protocol {}", new.name), 1);
    let path = PathBuf::from(format!("{}.protocol", new.name.to_lowercase()));
    // A file that is there is not overwritten.
    let made = OpenOptions::new().write(true).create_new(true).open(&path);
    made.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|why| Problem::Path { path: path.clone(), why })?;
    say!("{} is written; next: stackwright spec check {}", path.display(), path.display());
    Ok(())
}
