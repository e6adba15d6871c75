//! Whether the terminal shows graphics.
//!
//! It is asked, as the protocol says: by a query of a picture of one pixel, which only terminals
//! with graphics answer, and behind it one for the device's attributes (DA1), which all answer.
//! That holds over SSH, and where another program is in between, whereas variables of the
//! environment may be those of another terminal.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// The query for graphics, and DA1.
const QUERY: &[u8] = b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c";
/// What a terminal with graphics answers.
const GRAPHICS: &[u8] = b"\x1b_Gi=31;OK";
/// How the answer to DA1 begins; it ends with `c`.
const ATTRIBUTES: &[u8] = b"\x1b[?";

/// How long an answer is awaited: several round trips of a slow line.
const PATIENCE: Duration = Duration::from_secs(1);
/// What is read at most: keys that are pressed meanwhile come with the answer.
const ANSWER_MOST: usize = 1024;

/// Asks the terminal, if standard output is one. It takes a second at most.
pub(super) fn graphics() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    io::stdout().is_terminal() && !is_dumb && ask().unwrap_or(false)
}

fn ask() -> io::Result<bool> {
    let terminal = File::options().read(true).write(true).open("/dev/tty")?;
    // A program in the background that reads from its terminal is stopped.
    if tcgetpgrp(&terminal)? != getpgrp() {
        return Ok(false);
    }
    let quiet = Quiet::begin(&terminal)?;
    (&terminal).write_all(QUERY)?;
    let (end, mut heard) = (Instant::now() + PATIENCE, Vec::new());
    while heard.len() < ANSWER_MOST && quiet.is_readable(end)? {
        let mut octets = [0; 256];
        let length = (&terminal).read(&mut octets)?;
        heard.extend_from_slice(&octets[..length]);
        if let Some(shows) = answered(&heard) {
            return Ok(shows);
        }
    }
    Ok(false)
}

/// Returns whether the terminal shows graphics, once it has answered DA1.
fn answered(heard: &[u8]) -> Option<bool> {
    let find = |words: &[u8]| heard.windows(words.len()).position(|octets| octets == words);
    let mut attributes = heard[find(ATTRIBUTES)? + ATTRIBUTES.len()..].iter();
    let end = attributes.find(|octet| !matches!(octet, b'0'..=b'9' | b';'))?;
    (*end == b'c').then(|| find(GRAPHICS).is_some())
}

/// A terminal that neither shows what is typed nor keeps it until the end of a line, until this is
/// dropped. Keys that interrupt still do.
struct Quiet<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> Quiet<'a> {
    fn begin(terminal: &'a File) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(terminal, OptionalActions::Now, &quiet)?;
        Ok(Quiet { terminal, before })
    }

    /// Waits until there is something to read, until `end`, or until a signal comes, which is an
    /// error.
    fn is_readable(&self, end: Instant) -> io::Result<bool> {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        Ok(poll(&mut [PollFd::new(self.terminal, PollFlags::IN)], Some(&left))? > 0)
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        // An answer that comes too late is no command for the shell.
        let _ = tcsetattr(self.terminal, OptionalActions::Flush, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphics_are_announced_before_the_attributes_of_the_device() {
        assert_eq!(answered(b"\x1b_Gi=31;OK\x1b\\\x1b[?62;22c"), Some(true));
        assert_eq!(answered(b"\x1b[?1;2c"), Some(false));
        assert_eq!(answered(b"\x1b_Gi=31;EINVAL:no\x1b\\\x1b[?62c"), Some(false));
        assert_eq!(answered(b"keys\x1b_Gi=31;OK\x1b\\more keys\x1b[?62c"), Some(true));
        for part in [&b""[..], b"\x1b_Gi=31;OK\x1b\\", b"\x1b[?62;2", b"\x1b[?", b"\x1b[?6n"] {
            assert_eq!(answered(part), None, "{part:?}");
        }
    }
}
