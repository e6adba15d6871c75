//! Whether a person, or the system, wants the program to end.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Becomes true when the program is to end: SIGTERM, SIGHUP.
pub(crate) fn ends() -> io::Result<Arc<AtomicBool>> {
    static ENDED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(ended) = ENDED.get() {
        return Ok(Arc::clone(ended));
    }
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&ended))?;
    }
    Ok(Arc::clone(ENDED.get_or_init(|| ended)))
}

/// Becomes true with SIGINT, SIGTERM and SIGHUP.
pub(crate) fn interrupts() -> io::Result<Arc<AtomicBool>> {
    static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(interrupted) = INTERRUPTED.get() {
        return Ok(Arc::clone(interrupted));
    }
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // A second one ends the program at once.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&interrupted))?;
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(Arc::clone(INTERRUPTED.get_or_init(|| interrupted)))
}
