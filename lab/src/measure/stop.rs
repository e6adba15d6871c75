//! Ctrl-C: the first one asks for a tidy end, the second one ends at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Whether somebody asked for the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Listens to Ctrl-C and to a request to terminate.
    ///
    /// # Errors
    /// When the system does not allow it.
    pub(crate) fn on_signals() -> io::Result<Self> {
        let stop = Stop::default();
        for signal in [SIGINT, SIGTERM] {
            // The order counts: the first signal finds the flag down and raises it, the second one
            // finds it raised.
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop.0))?;
            flag::register(signal, Arc::clone(&stop.0))?;
        }
        Ok(stop)
    }

    /// Has somebody?
    pub(crate) fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Asks for it.
    #[cfg(test)]
    pub(crate) fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
