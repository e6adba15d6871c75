//! Time that passes, and processor time that is used.

use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// A clock, and the processor time of the whole process, from a moment on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    begin: Instant,
    processor: f64,
}

/// What a watch showed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lap {
    /// Seconds.
    pub(crate) seconds: f64,
    /// Seconds of processor time, of the user and of the kernel for it.
    pub(crate) processor: f64,
}

impl Watch {
    pub(crate) fn start() -> Self {
        Watch { begin: Instant::now(), processor: processor() }
    }

    pub(crate) fn lap(&self) -> Lap {
        Lap { seconds: self.begin.elapsed().as_secs_f64(), processor: processor() - self.processor }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }
}

fn processor() -> f64 {
    // The call fails only for a bad pointer or a bad name, neither of which it can be given.
    getrusage(UsageWho::RUSAGE_SELF)
        .map_or(f64::NAN, |used| seconds(used.user_time()) + seconds(used.system_time()))
}

fn seconds(time: TimeVal) -> f64 {
    time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6
}
