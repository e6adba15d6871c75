//! The person, or the pipe, at this end of the link.
//!
//! On the air, lines end with CR, as terminals of packet radio have them; between pipes, octets
//! pass as they are.

use std::io::{self, IsTerminal, Read, Write};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;

use rustix::io::ioctl_fionread;
use stackwright_drivers::Waker;

use crate::printable::Printable;

/// How many octets are read at a time, and how many blocks of them may wait for the link.
const BLOCK: usize = 4096;
const BLOCKS_MOST: usize = 4;

const CR: u8 = b'\r';
const LF: u8 = b'\n';

/// Standard input and output.
pub(super) struct Terminal {
    typed: Receiver<Vec<u8>>,
    /// What was read, and waits for credit.
    waiting: Vec<u8>,
    is_over: bool,
    /// Something was read.
    has_read: bool,
    types: bool,
    shows: bool,
    shown: Shown,
}

impl Terminal {
    /// Begins to read, on a thread of its own: the link lives meanwhile.
    pub(super) fn start(waker: Waker) -> Self {
        let (sender, typed) = sync_channel(BLOCKS_MOST);
        thread::spawn(move || {
            let mut block = [0; BLOCK];
            while let Ok(length @ 1..) = io::stdin().read(&mut block) {
                if sender.send(block[..length].to_vec()).is_err() {
                    return;
                }
                // What is not woken up now looks after its next deadline.
                let _ = waker.wake();
            }
            drop(sender);
            let _ = waker.wake();
        });
        let (types, shows) = (io::stdin().is_terminal(), io::stdout().is_terminal());
        Terminal {
            typed,
            waiting: Vec::new(),
            is_over: false,
            has_read: false,
            types,
            shows,
            shown: Shown::default(),
        }
    }

    /// Returns how a person ends the link.
    pub(super) fn end_key(&self) -> &'static str {
        if self.types { "Ctrl-D" } else { "the end of the input" }
    }

    /// Takes what was typed, at most `most` octets.
    pub(super) fn take(&mut self, most: usize) -> Option<Vec<u8>> {
        if most == 0 {
            return None;
        }
        if self.waiting.is_empty() {
            match self.typed.try_recv() {
                Ok(octets) => (self.waiting, self.has_read) = (octets, true),
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => {
                    self.is_over = true;
                    return None;
                }
            }
            if self.types {
                on_air(&mut self.waiting);
            }
        }
        let rest = self.waiting.split_off(most.min(self.waiting.len()));
        Some(std::mem::replace(&mut self.waiting, rest))
    }

    /// Returns whether all that was typed is taken, and nothing more will be.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns whether the input is none of a person, and ended before it began.
    pub(super) fn is_without_input(&self) -> bool {
        !self.types && self.is_over && !self.has_read
    }

    /// Returns whether a pipe or a file holds more, as far as it is known now.
    pub(super) fn holds_input(&mut self) -> bool {
        if self.types {
            return false;
        }
        if self.waiting.is_empty() {
            self.waiting = self.typed.try_recv().unwrap_or_default();
        }
        // What the thread has not read yet counts, too.
        !self.waiting.is_empty() || ioctl_fionread(io::stdin()).is_ok_and(|octets| octets > 0)
    }

    /// Shows what came.
    ///
    /// # Errors
    /// Where nobody reads on.
    pub(super) fn show(&mut self, octets: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if self.shows {
            out.write_all(self.shown.add(octets).as_bytes())?;
        } else {
            out.write_all(octets)?;
        }
        out.flush()
    }
}

/// Ends lines as on the air.
fn on_air(octets: &mut [u8]) {
    octets.iter_mut().filter(|octet| **octet == LF).for_each(|octet| *octet = CR);
}

/// What the peer sent, as a terminal shows it: lines end with LF, and nothing moves its cursor or
/// changes its colours.
#[derive(Default)]
struct Shown {
    /// The last letter was a CR.
    after_cr: bool,
    /// The octets of a letter that is not complete.
    begun: Vec<u8>,
}

impl Shown {
    fn add(&mut self, octets: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(octets);
        let mut shown = String::with_capacity(all.len());
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            for letter in chunk.valid().chars() {
                let was_cr = std::mem::replace(&mut self.after_cr, letter == '\r');
                match letter {
                    '\n' if was_cr => {} // CR LF is one end
                    '\r' | '\n' => shown.push('\n'),
                    '\t' | '\x07' => shown.push(letter),
                    letter => shown.push_str(&Printable(letter).to_string()),
                }
            }
            let rest = chunk.invalid();
            let is_begun = std::str::from_utf8(rest).is_err_and(|why| why.error_len().is_none());
            if is_begun && chunks.peek().is_none() {
                self.begun = rest.to_vec();
            } else if !rest.is_empty() {
                shown.push(char::REPLACEMENT_CHARACTER);
            }
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_with_cr_on_the_air() {
        let mut line = *b"one\ntwo\n";
        on_air(&mut line);
        assert_eq!(&line, b"one\rtwo\r");
    }

    #[test]
    fn a_terminal_shows_lines_and_obeys_nothing() {
        let mut shown = Shown::default();
        let mut show = |octets: &[u8]| shown.add(octets);
        assert_eq!(show(b"hi\rthere\r\nx\n"), "hi\nthere\nx\n");
        assert_eq!(show(b"a\r"), "a\n");
        assert_eq!(show(b"\nb"), "b", "the LF of a CR in the frame before");
        assert_eq!(show(b"\x1b[2J\xc2\x9b2J\x08"), "\\x1b[2J\\u009b2J\\x08");
        assert_eq!(show(b"Gr\xc3"), "Gr", "a letter in two frames");
        assert_eq!(show(b"\xbc\xc3\x9fe \xfc!"), "\u{fc}\u{df}e \u{fffd}!");
    }
}
