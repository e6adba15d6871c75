//! What the sender knows while it runs.

use std::sync::{Condvar, Mutex, OnceLock};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::control::Count;
use crate::plan::Goal;
use crate::problem::Problem;
use crate::watch::{Lap, Watch};

/// The receiver's count, and what the sender's watch showed when it came.
type Outcome = Result<(Count, Lap), Problem>;

/// One run at its sending end.
#[derive(Debug)]
pub(crate) struct Course {
    watch: OnceLock<Watch>,
    outcome: Mutex<Option<Outcome>>,
    changed: Condvar,
    over: CancellationToken,
}

impl Course {
    pub(crate) fn new() -> Self {
        Course {
            watch: OnceLock::new(),
            outcome: Mutex::new(None),
            changed: Condvar::new(),
            over: CancellationToken::new(),
        }
    }

    /// The transport is set up and now opens: time counts from here. What a library does once in
    /// the life of a program, such as testing its ciphers, is no cost of an association.
    pub(crate) fn begin(&self) {
        let outcome = self.outcome.lock();
        self.watch();
        drop(outcome);
        self.changed.notify_all();
    }

    fn watch(&self) -> &Watch {
        self.watch.get_or_init(Watch::start)
    }

    /// What was used until now.
    pub(crate) fn lap(&self) -> Lap {
        self.watch().lap()
    }

    /// Whether the receiver has counted, or will not.
    pub(crate) fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    pub(crate) async fn over(&self) {
        self.over.cancelled().await;
    }

    /// Whether there is another request, after so many.
    pub(crate) fn goes_on(&self, goal: Goal, done: u64) -> bool {
        !self.is_over()
            && match goal {
                Goal::Number(number) => done < number,
                Goal::Seconds(seconds) => self.watch().elapsed().as_secs_f64() < seconds,
            }
    }

    /// The receiver has spoken.
    pub(crate) fn end(&self, count: Result<Count, Problem>) {
        let lap = self.lap();
        let mut outcome = self.outcome.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        outcome.get_or_insert(count.map(|count| (count, lap)));
        self.over.cancel();
        self.changed.notify_all();
    }

    /// Waits until the receiver has spoken.
    ///
    /// # Errors
    /// What the receiver says went wrong.
    pub(crate) fn wait(&self) -> Outcome {
        let mut outcome = self.outcome.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        loop {
            if let Some(outcome) = &*outcome {
                return outcome.clone();
            }
            outcome = self.changed.wait(outcome).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// Waits until time counts, or the receiver has already spoken.
    pub(crate) fn wait_for_begin(&self) {
        let outcome = self.outcome.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let waiting =
            |outcome: &mut Option<Outcome>| outcome.is_none() && self.watch.get().is_none();
        drop(self.changed.wait_while(outcome, waiting));
    }

    /// Waits for the receiver for a while; whether it has spoken.
    pub(crate) fn wait_for(&self, time: Duration) -> bool {
        let outcome = self.outcome.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let waited = self.changed.wait_timeout_while(outcome, time, |outcome| outcome.is_none());
        waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0.is_some()
    }
}
