//! Which jobs are open, which wait, and which are tried again later.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

/// How long it is waited before a job is tried again for the first time; each time is twice as long
/// as the one before.
const PAUSE: Duration = Duration::from_secs(1);

/// How often it is looked whether a person wants the work to end.
pub(super) const LOOK: Duration = Duration::from_millis(250);

/// Jobs by their index.
pub(super) struct Work {
    waiting: VecDeque<usize>,
    later: Vec<(Instant, usize)>,
    open: BTreeSet<usize>,
    /// How often each was tried again.
    tries: Vec<u32>,
    at_once: usize,
}

impl Work {
    pub(super) fn new(jobs: usize, at_once: usize) -> Self {
        Work {
            waiting: (0..jobs).collect(),
            later: Vec::new(),
            open: BTreeSet::new(),
            tries: vec![0; jobs],
            at_once: at_once.max(1),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.later.is_empty() && self.open.is_empty()
    }

    /// Opens a job, if one may be.
    pub(super) fn begin(&mut self) -> Option<usize> {
        let now = Instant::now();
        for (_, job) in self.later.extract_if(.., |(at, _)| *at <= now) {
            self.waiting.push_front(job);
        }
        let job = (self.open.len() < self.at_once).then(|| self.waiting.pop_front()).flatten()?;
        self.open.insert(job);
        Some(job)
    }

    /// How long may be waited at most until something is due here.
    pub(super) fn wait_most(&self) -> Duration {
        let next = self.later.iter().map(|(at, _)| *at).min();
        next.map_or(LOOK, |at| at.saturating_duration_since(Instant::now()).min(LOOK))
    }

    pub(super) fn is_open(&self, job: usize) -> bool {
        self.open.contains(&job)
    }

    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    pub(super) fn end(&mut self, job: usize) {
        self.open.remove(&job);
    }

    /// Returns how often a job was tried again.
    pub(super) fn tries(&self, job: usize) -> u32 {
        self.tries[job]
    }

    /// Opens a job again later, and returns the pause before.
    pub(super) fn again(&mut self, job: usize) -> Duration {
        self.open.remove(&job);
        let pause = PAUSE * 2_u32.saturating_pow(self.tries[job]);
        self.tries[job] += 1;
        self.later.push((Instant::now() + pause, job));
        pause
    }

    /// Opens anew what is open.
    pub(super) fn restart(&mut self) {
        while let Some(job) = self.open.pop_last() {
            self.waiting.push_front(job);
        }
    }

    /// Forgets everything.
    pub(super) fn give_up(&mut self) {
        self.waiting.clear();
        self.later.clear();
        self.open.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_are_open_than_may_be() {
        let mut work = Work::new(3, 2);
        assert_eq!((work.begin(), work.begin(), work.begin()), (Some(0), Some(1), None));
        work.end(0);
        assert_eq!((work.begin(), work.begin()), (Some(2), None));
        work.end(1);
        work.end(2);
        assert!(work.is_done());
    }

    #[test]
    fn a_job_is_tried_again_after_a_pause_that_doubles() {
        let mut work = Work::new(1, 1);
        work.begin();
        assert_eq!(work.again(0), PAUSE);
        assert!(!work.is_done() && work.begin().is_none() && work.wait_most() <= LOOK);
        work.later[0].0 = Instant::now();
        assert_eq!(work.begin(), Some(0));
        assert_eq!((work.again(0), work.tries(0)), (2 * PAUSE, 2));
    }

    #[test]
    fn what_was_open_comes_first_again_and_in_order() {
        let mut work = Work::new(3, 2);
        assert!(work.begin().is_some() && work.begin().is_some());
        work.restart();
        assert_eq!((work.begin(), work.begin()), (Some(0), Some(1)));
    }
}
