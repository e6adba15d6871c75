//! The workers of a disk: hired with the first job of a name, joined when the disk is dropped.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use mio::Waker;
use stackwright_contract::Handle;
use stackwright_wire::Message;

use super::super::NAME;
use super::super::job::{Job, Signal};
use super::super::worker::Worker;
use super::Disk;
use crate::readiness::token;

pub(super) struct Hired<M: Message> {
    jobs: Sender<Job<M>>,
    thread: JoinHandle<()>,
}

impl<M: Message + Send> Disk<M> {
    /// Returns the worker of a name: always the same, so that its answers arrive in the order of
    /// the requests.
    pub(super) fn desk(&self, name: Handle) -> usize {
        name.index as usize % self.workers.len()
    }

    /// Starts the worker of `name` if it is not running.
    pub(super) fn hire(&mut self, name: Handle) -> io::Result<()> {
        let desk = self.desk(name);
        if self.workers[desk].is_some() {
            return Ok(());
        }
        let signal = match &self.signal {
            Some(signal) => Arc::clone(signal),
            None => {
                let token = token(self.lane, Handle { index: 0, generation: 0 });
                let signal = Arc::new(Signal::new(Waker::new(&self.registry, token)?));
                Arc::clone(self.signal.insert(signal))
            }
        };
        let worker =
            Worker::new(self.root.clone(), self.options.sync, self.answering.clone(), Some(signal));
        let (jobs, queue) = mpsc::channel();
        let thread =
            thread::Builder::new().name(format!("{NAME}-{desk}")).spawn(|| worker.run(queue))?;
        self.workers[desk] = Some(Hired { jobs, thread });
        Ok(())
    }

    pub(super) fn send(&self, name: Handle, job: Job<M>) {
        let worker =
            self.workers[self.desk(name)].as_ref().expect("hired with the first job of this name");
        // It fails only if the worker has panicked: its last answer says so, and ends this thread
        // too.
        let _ = worker.jobs.send(job);
    }
}

impl<M: Message> Drop for Disk<M> {
    fn drop(&mut self) {
        if self.names == 0 {
            return; // all names have ended: the threads hold nothing, and end by themselves
        }
        // First all queues end, then each thread is joined: so they finish in parallel.
        let threads: Vec<_> =
            self.workers.drain(..).flatten().map(|Hired { jobs: _, thread }| thread).collect();
        for thread in threads {
            // Its panic was its own; dropping must not add another.
            let _ = thread.join();
        }
    }
}
