//! A stack that copies, and its driver, whatever they consist of.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stackwright::contract::ask::{NothingBelow, PathReport, PathStatistics, ask};
use stackwright::contract::{Handle, Outlet, Protocol, RequestOf};
use stackwright::copy::{Copying, Indication, Request};
use stackwright_drivers::{Driver, Lanes, Waker};

use super::dialogue::Said;

/// What a copy told, and what the server had said just before.
pub(crate) struct Told {
    pub(crate) indication: Indication,
    /// The server's last words, where something failed.
    pub(crate) said: Option<String>,
}

/// Runs a copy.
pub(crate) trait Engine {
    /// Makes a request of the copy.
    fn request(&mut self, request: Request);

    /// Runs one batch: waits for input, for a deadline, or for `most`.
    fn turn(&mut self, most: Option<Duration>) -> io::Result<()>;

    /// Returns what the transport below a job knows of its path.
    fn path(&self, job: Handle) -> Option<PathReport>;

    /// Returns what was told next.
    fn told(&mut self) -> Option<Told>;

    /// Whether the program may end now: the kernel closes TCP connections for a program that has
    /// exited; a transport of the program's own has to send its end before.
    fn may_exit(&self) -> bool;

    /// Returns how many lines of listings were not understood since the last call.
    fn take_unreadable(&mut self) -> u64;

    /// Returns what ends a batch that waits from another thread.
    fn waker(&mut self) -> io::Result<Arc<Waker>>;
}

/// An engine of a stack whose type is known.
pub(crate) struct Running<S> {
    driver: Driver,
    waker: Option<Arc<Waker>>,
    stack: S,
    heard: Heard,
}

impl<S: Protocol<Provides = Copying, Uses: Lanes>> Running<S> {
    pub(crate) fn new(driver: Driver, stack: S, said: Arc<Mutex<Said>>) -> Self {
        Running { driver, waker: None, stack, heard: Heard { told: VecDeque::new(), said } }
    }
}

impl<S: Protocol<Provides = Copying, Uses: Lanes>> Engine for Running<S> {
    fn request(&mut self, request: Request) {
        self.driver.request(&mut self.stack, request, &mut self.heard);
    }

    fn turn(&mut self, most: Option<Duration>) -> io::Result<()> {
        self.driver.turn(&mut self.stack, &mut self.heard, most)
    }

    fn path(&self, job: Handle) -> Option<PathReport> {
        ask(&self.stack, job, PathStatistics, &NothingBelow)
    }

    fn told(&mut self) -> Option<Told> {
        self.heard.told.pop_front()
    }

    fn may_exit(&self) -> bool {
        self.stack.may_exit()
    }

    fn take_unreadable(&mut self) -> u64 {
        std::mem::take(&mut self.heard.said().unreadable)
    }

    fn waker(&mut self) -> io::Result<Arc<Waker>> {
        match &self.waker {
            Some(waker) => Ok(Arc::clone(waker)),
            None => Ok(Arc::clone(self.waker.insert(Arc::new(self.driver.waker()?)))),
        }
    }
}

/// The application above the stack.
struct Heard {
    told: VecDeque<Told>,
    said: Arc<Mutex<Said>>,
}

impl Heard {
    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Protocol<Provides = Copying>> Outlet<S> for Heard {
    fn indicate(&mut self, indication: Indication) {
        let failed = matches!(indication, Indication::Failed { .. });
        let said = failed.then(|| self.said().last.clone()).flatten();
        self.told.push_back(Told { indication, said });
    }

    /// Adapters call the operating system: there is nothing that they could ask.
    fn request(&mut self, _: RequestOf<S>) {}
}
