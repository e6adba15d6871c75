//! What is known of the TNC, from what its line tells.

use std::fmt::Arguments;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stackwright::contract::{Instant, Listener};

use crate::printable::Printable;
use crate::report::log;
use crate::tnc::{TncFrames, state_of_tnc};

#[derive(Default)]
struct State {
    up: bool,
    /// It was up before.
    was_up: bool,
    /// Why it is down.
    why: String,
}

/// The state of the line to the TNC.
pub(crate) struct Tnc(Arc<Mutex<State>>);

/// Watches the line, and says when the TNC goes and comes back.
pub(crate) struct Watch {
    line: String,
    verbose: bool,
    state: Arc<Mutex<State>>,
}

impl Tnc {
    pub(crate) fn new(line: String, verbose: bool) -> (Self, Watch) {
        let state = Arc::<Mutex<State>>::default();
        (Tnc(Arc::clone(&state)), Watch { line, verbose, state })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_up(&self) -> bool {
        self.state().up
    }

    /// Returns why it is not up.
    pub(crate) fn why(&self) -> String {
        self.state().why.clone()
    }
}

impl Listener for Watch {
    fn dropped(&mut self, _now: Instant, protocol: &'static str, reason: &'static str) {
        if self.verbose {
            log(protocol, &format_args!("dropped {reason}"));
        }
    }

    fn event(&mut self, _now: Instant, protocol: &'static str, what: Arguments<'_>) {
        if self.verbose {
            log(protocol, &what);
        }
        if !TncFrames::tells_state(protocol) {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let what = what.to_string();
        let line = &self.line;
        if let Some(why) = what.strip_prefix("down: ") {
            why.clone_into(&mut state.why);
            if std::mem::take(&mut state.up) {
                eprintln!("the TNC at {line} is gone ({}); it is tried again", Printable(why));
            } else {
                let says = state_of_tnc(line, &what);
                eprintln!("{}", Printable(&says));
            }
        } else if what == "up" {
            state.up = true;
            if std::mem::replace(&mut state.was_up, true) {
                eprintln!("the TNC at {line} is back");
            }
        }
    }
}
