//! Signals as something to wait for beside packets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level::pipe};

/// The signals that end a link, and the one that tells of a command's end.
#[derive(Debug)]
pub(super) struct Signals {
    wake: UnixStream,
    write: UnixStream,
    interrupted: Arc<AtomicBool>,
    terminated: Arc<AtomicBool>,
}

/// Why it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// Somebody pressed Ctrl-C.
    Interrupted,
    /// Somebody asked it to end, or the terminal is gone.
    Terminated,
}

impl Signals {
    /// From now on they are noted, and do not end the program.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub(super) fn note() -> io::Result<Signals> {
        let (wake, write) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let [interrupted, terminated] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        // The flag first, so that whoever is woken finds it.
        flag::register(SIGINT, Arc::clone(&interrupted))?;
        flag::register(SIGTERM, Arc::clone(&terminated))?;
        flag::register(SIGHUP, Arc::clone(&terminated))?;
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGCHLD] {
            pipe::register(signal, write.try_clone()?)?;
        }
        Ok(Signals { wake, write, interrupted, terminated })
    }

    /// Written to, it wakes as a signal does.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub(super) fn waker(&self) -> io::Result<UnixStream> {
        self.write.try_clone()
    }

    /// Whether it is to end.
    pub(super) fn stop(&self) -> Option<Stop> {
        if self.interrupted.load(Ordering::Relaxed) {
            Some(Stop::Interrupted)
        } else {
            self.terminated.load(Ordering::Relaxed).then_some(Stop::Terminated)
        }
    }

    /// Forgets what woke, so that waiting waits again.
    pub(super) fn clear(&self) {
        let mut octets = [0; 64];
        while matches!(io::Read::read(&mut &self.wake, &mut octets), Ok(1..)) {}
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
