//! The dialogue of our client with a server, as a transcript for `stackwright spec monitor`: each
//! command and reply is a transition of the specification. `crates/spec/tests/transcripts` has some
//! that were made so.

use stackwright_spec::{TranscriptMonitor, compile};

const SPECIFICATION: &str = include_str!("../../../crates/spec/tests/sources/ftp.protocol");

/// What the client says to each server alike.
const ALIKE: &str = "user = USER anonymous\npassword = PASS ****\npassive = EPSV\n";

/// Makes a transcript of what `get --verbose` says of one connection.
pub(crate) fn transcript(verbose: &str) -> String {
    // `   8.333 ms  ftp  ▸ USER anonymous`; further lines of a reply begin with a blank.
    let said = verbose.lines().filter_map(|line| line.split_once("  ftp  ")).map(|(_, said)| said);
    let lines = said.filter_map(|said| {
        if let Some(reply) = said.strip_prefix("◂ ") {
            return Some(format!("< Reply {reply}\n"));
        }
        let Some(command) = said.strip_prefix("▸ ") else {
            return (said == "end of data").then(|| "Whole\n".into());
        };
        // What its application asked for shows in what it says first.
        let asked = match command.split_once(' ') {
            Some(("MDTM" | "MLST", name)) => format!(
                "modified = {command}\nsize = SIZE {name}\nretrieve = RETR {name}\nGet {name}\n"
            ),
            None if command == "QUIT" => "Quit\n".into(),
            _ => String::new(),
        };
        Some(format!("{asked}> Command {command}\n"))
    });
    std::iter::once(ALIKE.to_owned()).chain(lines).collect()
}

/// Follows a transcript, in which so many commands may come before the reply to the one before.
///
/// # Panics
/// Where a line is no transition of the client.
pub(crate) fn follow(transcript: &str, ahead_most: usize) {
    let compiled = compile(SPECIFICATION).expect("it compiles");
    let mut monitor = TranscriptMonitor::new(&compiled, 0, ahead_most);
    for line in transcript.lines() {
        monitor.line(line).unwrap_or_else(|why| panic!("{line}: {why}\n{transcript}"));
    }
    monitor.end().unwrap_or_else(|why| panic!("{why}\n{transcript}"));
    assert!(transcript.contains("< Reply 226"), "{transcript}");
}
