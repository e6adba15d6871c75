//! The protocol: requests become jobs, answers become indications.

mod hired;

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use stackwright_contract::rules::HEADER_ROOM_MOST;
use stackwright_contract::services::{Failure, Files, FilesIndication, FilesRequest, Purpose};
use stackwright_contract::{Context, Facts, Guarantees, Handle, Mirror, Outlet, Protocol};
use stackwright_wire::{Block, Message, Pool};

use super::NAME;
use super::job::{Answer, Job, Signal};
use super::options::DiskOptions;
use super::place::Place;
use super::root::Root;
use super::worker::Worker;
use crate::readiness::{Readiness, Ready};
use crate::registry::Registry;
use hired::Hired;

/// The longest read that is answered with octets.
pub const READ_MOST: usize = 16 << 20;

/// Up to this many octets, a read gets memory of its own instead of a block.
pub(super) const SMALL: usize = 4096;
/// How many jobs of one file may wait. The credit of the layer above is smaller by far.
const JOBS_MOST: usize = 4096;
/// How many answers are delivered before other adapters have their turn.
const TURN: usize = 256;

/// The files below a [`Root`].
///
/// # What a file is here
/// Only regular files are read or replaced: devices, pipes and sockets are denied. Links are
/// followed as long as they stay below the root, except that a rename and a removal move and remove
/// the link itself. What is written through a link replaces the file that it leads to; one that
/// leads to nothing is denied. A file that replaces another has its permissions, and its owner and
/// group as far as the system allows. A file under creation is
/// [`Closed`](FilesIndication::Closed) with [`Failure::GivenUp`] if it is not kept.
///
/// # What is left over
/// A file under creation has no name where the file system can do that, and leaves nothing over
/// when the program is killed. Elsewhere, and for a moment when a file is replaced, it is called
/// `.NAME.0123456789abcdef.part`. A [part](stackwright_contract::services::Keep::Part) is called
/// `.NAME.0000000000000000.part` (a name of more than 232 octets is cut short, and the number tells
/// it apart), and is locked (`flock`) while it is written. The version that was noted with it is
/// its attribute `user.stackwright.version`. It goes when a file of its name is complete, or its
/// folder is removed. No path leads to either; parts that were not resumed for a month are found by
///
/// ```sh
/// find ROOT -name '.*.????????????????.part' -mtime +30
/// ```
///
/// # When it is dropped
/// Jobs that were requested are still done and the threads are joined. Files that were not closed,
/// or whose old octets are still being copied, leave no trace; those that were resumed stay parts.
pub struct Disk<M: Message> {
    root: Root,
    options: DiskOptions,
    registry: Arc<Registry>,
    lane: usize,
    pool: Arc<Pool<M>>,
    asked: Mirror<Asked>,
    /// How many names are alive.
    names: usize,
    /// The worker of the stack's own thread, for files of which few octets have moved.
    own: Worker<M>,
    own_answers: Receiver<Answer<M>>,
    /// Its answers, until the batch is done.
    told: VecDeque<Answer<M>>,
    /// The workers, at the index of their queue; `None` until the first job.
    workers: Vec<Option<Hired<M>>>,
    signal: Option<Arc<Signal>>,
    answers: Receiver<Answer<M>>,
    /// Cloned for new workers.
    answering: Sender<Answer<M>>,
    /// Whether there may be more answers than one turn delivered.
    due: bool,
}

/// The state of a living name: its file is the worker's.
enum Asked {
    File {
        closing: bool,
        /// Whether it is read as octets even where regions are allowed.
        as_octets: bool,
        jobs: usize,
        /// How many octets more before a worker takes over; `None` since it has.
        at_once: Option<u64>,
    },
    Question,
    /// A question that takes long, and can be given up.
    Digest,
}

impl<M: Message + Send> Disk<M> {
    /// Makes an adapter for the files below `root` that is woken through `registry` in `lane` and
    /// takes its blocks from `pool`.
    ///
    /// Threads start with the first job; until then nothing is registered.
    ///
    /// # Panics
    /// If `options` has no workers.
    pub fn new(
        root: Root,
        options: DiskOptions,
        registry: Arc<Registry>,
        lane: usize,
        pool: Arc<Pool<M>>,
    ) -> Self {
        assert!(options.workers > 0, "somebody must do the work");
        let (answering, answers) = mpsc::channel();
        let (own_answering, own_answers) = mpsc::channel();
        Disk {
            own: Worker::new(root.clone(), options.sync, own_answering, None),
            own_answers,
            told: VecDeque::new(),
            root,
            workers: (0..options.workers).map(|_| None).collect(),
            options,
            registry,
            lane,
            pool,
            asked: Mirror::default(),
            names: 0,
            signal: None,
            answers,
            answering,
            due: false,
        }
    }

    /// Checks that an operation that `changes` the disk, or does not, is allowed here at all.
    fn may(&self, changes: bool) -> Result<(), Failure> {
        if changes && !self.options.writable { Err(Failure::Denied) } else { Ok(()) }
    }

    /// Accepts a new name, with its first job.
    fn begin(&mut self, name: Handle, asked: Asked, job: Job<M>) -> Result<(), Failure> {
        if self.names >= self.options.names {
            return Err(Failure::Denied);
        }
        let at_once = self.options.at_once > 0 && !job.may_take_long();
        if !at_once {
            self.hire(name).map_err(|_| Failure::Broken)?;
        }
        self.asked.insert(name, asked);
        self.names += 1;
        if at_once {
            self.perform(job);
        } else {
            if let Some(Asked::File { at_once, .. }) = self.asked.get_mut(name) {
                *at_once = None;
            }
            self.send(name, job);
        }
        Ok(())
    }

    /// Accepts a question about one path.
    fn ask(
        &mut self,
        token: Handle,
        changes: bool,
        path: &str,
        job: impl FnOnce(Place) -> Job<M>,
    ) -> Result<(), Failure> {
        self.may(changes)?;
        self.begin(token, Asked::Question, job(Place::parse(path)?))
    }

    /// Does a job on this thread; its answers are delivered when the batch is done.
    fn perform(&mut self, job: Job<M>) {
        self.own.perform(job);
        while let Ok(answer) = self.own_answers.try_recv() {
            match answer {
                // At once: the next read finds the block while it is still in the processor's
                // cache.
                Answer::Block(block) => self.pool.give(block),
                Answer::Message(message) => message.reclaim(&self.pool),
                Answer::Written { file, octets, message } => {
                    message.reclaim(&self.pool);
                    self.told.push_back(Answer::Tell(FilesIndication::Written { file, octets }));
                }
                answer => self.told.push_back(answer),
            }
        }
        self.due = true;
    }

    /// Does one more job of a file, on this thread while few of its octets have moved.
    fn go_on(&mut self, file: Handle, job: Job<M>) {
        let cost = match &job {
            Job::Read { length, memory: Some(_), .. } => *length as u64,
            Job::Write { message, .. } => message.len() as u64,
            _ => 0,
        };
        let Some(Asked::File { at_once, .. }) = self.asked.get_mut(file) else { return };
        match at_once {
            Some(left) if cost <= *left => {
                *left -= cost;
                return self.perform(job);
            }
            Some(_) => *at_once = None,
            None => return self.send(file, job),
        }
        if self.hire(file).is_err() {
            // No thread can be started: the job is done here.
            if let Some(Asked::File { at_once, .. }) = self.asked.get_mut(file) {
                *at_once = Some(u64::MAX);
            }
            return self.perform(job);
        }
        if let Some(opened) = self.own.give_up(file) {
            self.send(file, Job::TakeOver { file, opened });
        }
        self.send(file, job);
    }

    /// Checks that one more job of a living file may be sent.
    fn continues(&mut self, cx: &Context, file: Handle) -> bool {
        match self.asked.get_mut(file) {
            Some(Asked::File { closing: false, jobs, .. }) => {
                *jobs += 1;
                assert!(*jobs <= JOBS_MOST, "whoever asks is bound by its credit");
                true
            }
            Some(_) => {
                cx.dropped(NAME, "the file was closed before");
                false
            }
            None => {
                cx.dropped(NAME, "no such file");
                false
            }
        }
    }

    /// Returns memory for the answer to a read; `None` if it will be a region.
    fn memory(&self, file: Handle, length: usize) -> Option<M::Block> {
        assert!(length > 0, "a read of nothing has no answer that is not the end");
        let as_octets = matches!(self.asked.get(file), Some(Asked::File { as_octets: true, .. }));
        if self.options.regions && M::HOLDS_REGIONS && !as_octets {
            return None;
        }
        assert!(length <= READ_MOST, "a read of {length} octets at once");
        if length > SMALL && length <= self.pool.block() {
            return Some(self.pool.take());
        }
        Some(M::Block::zeroed(HEADER_ROOM_MOST + length))
    }

    /// Delivers the workers' answers, one turn's worth.
    fn turn(&mut self, cx: &Context, out: &mut dyn Outlet<Self>) {
        self.due = false;
        if let Some(signal) = &self.signal {
            signal.lower();
        }
        for _ in 0..TURN {
            // Own answers first: a file's later ones come from the worker that took it over.
            let Some(answer) = self.told.pop_front().or_else(|| self.answers.try_recv().ok())
            else {
                return;
            };
            self.hear(cx, answer, out);
        }
        self.due = true;
    }

    fn hear(&mut self, cx: &Context, answer: Answer<M>, out: &mut dyn Outlet<Self>) {
        let indication = match answer {
            Answer::Tell(indication) => indication,
            Answer::Block(block) => return self.pool.give(block),
            Answer::Message(message) => return message.reclaim(&self.pool),
            Answer::Written { file, octets, message } => {
                message.reclaim(&self.pool); // first, so that its block can serve the next read
                FilesIndication::Written { file, octets }
            }
            Answer::LeftOut(count) => {
                return cx.event(
                    NAME,
                    format_args!("{count} names cannot be told and were left out of a list"),
                );
            }
            Answer::Crossed => {
                return cx.dropped(NAME, "a request crossed the last word on its file");
            }
            Answer::Panicked => panic!("a thread of the disk has panicked"),
        };
        match &indication {
            FilesIndication::Closed { file: name, .. }
            | FilesIndication::Stated { token: name, .. }
            | FilesIndication::Digested { token: name, .. }
            | FilesIndication::Room { token: name, .. }
            | FilesIndication::Done { token: name, .. } => {
                let last = self.asked.remove(*name);
                assert!(last.is_some(), "one last word on a name");
                self.names -= 1;
            }
            FilesIndication::Opened { file, .. }
            | FilesIndication::Read { file, .. }
            | FilesIndication::Entries { file, .. }
            | FilesIndication::Written { file, .. } => match self.asked.get_mut(*file) {
                Some(Asked::File { jobs, .. }) => *jobs -= 1,
                _ => unreachable!("a file lives until its last word"),
            },
        }
        out.indicate(indication);
    }
}

impl<M: Message + Send> Protocol for Disk<M> {
    const FACTS: Facts = Facts { gives: Guarantees::WHOLE_FILES, ..Facts::named(NAME) };
    type Provides = Files<M>;
    type Uses = Readiness;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: FilesRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            FilesRequest::Open { file, path, purpose } => {
                let begun = self
                    .may(purpose.creates())
                    .and_then(|()| Place::parse(&path))
                    .and_then(|place| {
                        let asked = Asked::File {
                            closing: false,
                            as_octets: purpose
                                == Purpose::Read { as_octets: true, versioned: false },
                            jobs: 1,
                            at_once: Some(self.options.at_once),
                        };
                        self.begin(file, asked, Job::Open { file, place, purpose })
                    });
                if let Err(why) = begun {
                    out.indicate(FilesIndication::Closed { file, result: Err(why) });
                }
            }
            FilesRequest::Read { file, offset, length } => {
                if self.continues(cx, file) {
                    let memory = self.memory(file, length);
                    self.go_on(file, Job::Read { file, offset, length, memory });
                }
            }
            FilesRequest::Next { file } => {
                if self.continues(cx, file) {
                    self.go_on(file, Job::Next { file });
                }
            }
            FilesRequest::Write { file, offset, message } => {
                if self.continues(cx, file) {
                    self.go_on(file, Job::Write { file, offset, message });
                } else {
                    message.reclaim(&self.pool);
                }
            }
            FilesRequest::Note { file, version } => {
                if matches!(self.asked.get(file), Some(Asked::File { closing: false, .. })) {
                    self.go_on(file, Job::Note { file, version });
                }
            }
            FilesRequest::Close { file, keep }
                if matches!(self.asked.get(file), Some(Asked::Digest)) =>
            {
                // Where there is no worker, its answer is on its way.
                if self.workers[self.desk(file)].is_some() {
                    self.send(file, Job::Close { file, keep });
                }
            }
            FilesRequest::Close { file, keep } => {
                if self.continues(cx, file) {
                    if let Some(Asked::File { closing, .. }) = self.asked.get_mut(file) {
                        *closing = true;
                    }
                    self.go_on(file, Job::Close { file, keep });
                }
            }
            FilesRequest::Stat { token, path, part, .. } => {
                let begun = self.ask(token, false, &path, |place| Job::Stat { token, place, part });
                if let Err(why) = begun {
                    out.indicate(FilesIndication::Stated { token, result: Err(why) });
                }
            }
            FilesRequest::Digest { token, path, octets, part } => {
                let begun = Place::parse(&path).and_then(|place| {
                    self.begin(token, Asked::Digest, Job::Digest { token, place, octets, part })
                });
                if let Err(why) = begun {
                    out.indicate(FilesIndication::Digested { token, result: Err(why) });
                }
            }
            FilesRequest::Room { token, path } => {
                let begun = self.ask(token, false, &path, |place| Job::Room { token, place });
                if let Err(why) = begun {
                    out.indicate(FilesIndication::Room { token, result: Err(why) });
                }
            }
            FilesRequest::MakeFolder { token, path } => {
                let begun = self.ask(token, true, &path, |place| Job::MakeFolder { token, place });
                if let Err(why) = begun {
                    out.indicate(FilesIndication::Done { token, result: Err(why) });
                }
            }
            FilesRequest::Set { token, path, attribute } => {
                let job = |place| Job::Set { token, place, attribute };
                if let Err(why) = self.ask(token, true, &path, job) {
                    out.indicate(FilesIndication::Done { token, result: Err(why) });
                }
            }
            FilesRequest::Rename { token, from, to } => {
                let begun = self.may(true).and_then(|()| {
                    let job =
                        Job::Rename { token, from: Place::parse(&from)?, to: Place::parse(&to)? };
                    self.begin(token, Asked::Question, job)
                });
                if let Err(why) = begun {
                    out.indicate(FilesIndication::Done { token, result: Err(why) });
                }
            }
            FilesRequest::Remove { token, path } => {
                let begun = self.ask(token, true, &path, |place| Job::Remove { token, place });
                if let Err(why) = begun {
                    out.indicate(FilesIndication::Done { token, result: Err(why) });
                }
            }
            FilesRequest::Leave => {}
        }
    }

    fn handle_indication(&mut self, cx: &Context, _ready: Ready, out: &mut impl Outlet<Self>) {
        self.turn(cx, out);
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if mem::take(&mut self.due) {
            self.turn(cx, out);
        }
    }

    fn wants_flush(&self) -> bool {
        self.due
    }
}
