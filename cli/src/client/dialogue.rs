//! What is said while a request is carried out: by the server, and of the TNC.

use std::fmt::Arguments;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stackwright::contract::{Instant, Listener};
use stackwright::ftp::client::UNCONFIRMED;
use stackwright::ftp::listing::UNREADABLE;

use crate::printable::Printable;
use crate::report::note;
use crate::tnc::{TncFrames, state_of_tnc};

/// What was said during a request that its outcome does not tell.
#[derive(Default)]
pub(super) struct Said {
    /// The last thing the server said.
    pub(super) last: Option<String>,
    /// How many lines of listings were not understood.
    pub(super) unreadable: u64,
}

/// Remembers what was said, and says everything where that was asked.
pub(super) struct Dialogue {
    verbose: bool,
    said: Arc<Mutex<Said>>,
    /// The line to the TNC, where there is one, and whether it was told that nobody is there.
    line: String,
    is_gone: bool,
}

impl Dialogue {
    pub(super) fn new(verbose: bool, line: String) -> (Self, Arc<Mutex<Said>>) {
        let said = Arc::default();
        (Dialogue { verbose, said: Arc::clone(&said), line, is_gone: false }, said)
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Dialogue {
    fn dropped(&mut self, now: Instant, protocol: &'static str, reason: &'static str) {
        if self.verbose {
            note(now, protocol, &format_args!("dropped: {reason}"));
        }
        if reason == UNREADABLE {
            self.said().unreadable += 1;
        }
    }

    fn event(&mut self, now: Instant, protocol: &'static str, what: Arguments<'_>) {
        let text = what.to_string();
        if self.verbose {
            note(now, protocol, &text);
        } else if TncFrames::tells_state(protocol) {
            // It is tried again and again.
            let was_gone = std::mem::replace(&mut self.is_gone, text != "up");
            if was_gone != self.is_gone {
                eprintln!("{}", state_of_tnc(&self.line, &text));
            }
        } else if text == UNCONFIRMED {
            eprintln!("stackwright: {text}");
        }
        // A farewell (RFC 959 §4.2: 221) explains nothing that went before.
        if let Some(said) = text.strip_prefix("◂ ").filter(|said| !said.starts_with("221")) {
            let line = said.lines().next().unwrap_or_default();
            self.said().last = Some(Printable(line).to_string());
        }
    }
}
