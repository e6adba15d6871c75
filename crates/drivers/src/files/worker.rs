//! A thread that owns its open files and makes the calls that may wait for the disk.

use std::collections::VecDeque;
use std::fs::{File, Metadata};
use std::mem;
use std::num::NonZero;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::thread;

use rustix::fs::{Advice, fadvise};
use stackwright_contract::rules::HEADER_ROOM_MOST;
use stackwright_contract::services::{Failure, FilesIndication, Keep, Purpose};
use stackwright_contract::{Handle, Mirror};
use stackwright_wire::{Message, Region};

use super::creation::Creation;
use super::disk::{READ_MOST, SMALL};
use super::hashing::Hashing;
use super::job::{Answer, Job, Signal};
use super::listing::Listing;
use super::octets::read_at;
use super::place::Place;
use super::root::{Root, failure, version};

pub(super) enum OpenFile {
    Reading {
        /// Shared with the regions in answers.
        opened: Arc<File>,
        /// Whether it has the size that the operating system says.
        is_sized: bool,
    },
    Creating(Creation),
    Listing(Listing),
}

/// What is done a share at a time.
struct Unfinished<M: Message> {
    name: Handle,
    what: Long,
    /// The jobs of that name that arrived meanwhile.
    waiting: VecDeque<Job<M>>,
}

enum Long {
    /// The first `from` octets of the old file are being copied.
    TakeOver {
        creation: Creation,
        from: u64,
    },
    Hash(Hashing),
}

/// The state of the thread.
pub(super) struct Worker<M: Message> {
    root: Root,
    sync: bool,
    answers: Sender<Answer<M>>,
    /// `None` on the stack's own thread, which needs no wake-up.
    signal: Option<Arc<Signal>>,
    files: Mirror<OpenFile>,
    unfinished: VecDeque<Unfinished<M>>,
    random: fastrand::Rng,
    scratch: Vec<u8>,
    /// Messages that are written by one call: empty between two jobs, kept for its memory.
    together: Vec<M>,
}

/// The most messages that are written by one call.
const WRITES_TOGETHER: usize = 4;
/// How many octets of a file without a size are read by one call.
const BLOCK: usize = 64 << 10;

impl<M: Message> Worker<M> {
    pub(super) fn new(
        root: Root,
        sync: bool,
        answers: Sender<Answer<M>>,
        signal: Option<Arc<Signal>>,
    ) -> Self {
        Worker {
            root,
            sync,
            answers,
            signal,
            files: Mirror::default(),
            unfinished: VecDeque::new(),
            random: fastrand::Rng::new(),
            scratch: Vec::new(),
            together: Vec::new(),
        }
    }

    /// Works until the queue of jobs is closed. Jobs in the queue are still done; what is
    /// unfinished leaves no trace.
    pub(super) fn run(mut self, jobs: Receiver<Job<M>>) {
        let mut next = None;
        loop {
            if self.unfinished.is_empty() {
                let Some(job) = next.take().or_else(|| jobs.recv().ok()) else { return };
                next = self.perform_together(job, &jobs);
                continue;
            }
            match next.take().map_or_else(|| jobs.try_recv(), Ok) {
                Ok(job) => {
                    let begun = self.unfinished.iter().position(|begun| begun.name == job.name());
                    match (begun, &job) {
                        (Some(nth), Job::Close { keep: Keep::Nothing, .. }) => {
                            self.give_up_long(nth)
                        }
                        (Some(nth), _) => self.unfinished[nth].waiting.push_back(job),
                        (None, _) => self.perform(job),
                    }
                }
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return,
            }
            self.go_on();
        }
    }

    /// Performs a job. Queued writes that continue where it ends are combined with it into one
    /// system call. Returns the first job that does not continue it.
    fn perform_together(&mut self, job: Job<M>, jobs: &Receiver<Job<M>>) -> Option<Job<M>> {
        let Job::Write { file, offset, message } = job else {
            self.perform(job);
            return None;
        };
        let mut end = offset.saturating_add(message.len() as u64);
        self.together.push(message);
        let other = loop {
            if self.together.len() == WRITES_TOGETHER {
                break None;
            }
            match jobs.try_recv() {
                Ok(Job::Write { file: same, offset, message }) if same == file && offset == end => {
                    end = end.saturating_add(message.len() as u64);
                    self.together.push(message);
                }
                other => break other.ok(),
            }
        };
        self.write(file, offset);
        other
    }

    /// Gives the file up to another worker.
    pub(super) fn give_up(&mut self, file: Handle) -> Option<OpenFile> {
        self.files.remove(file)
    }

    fn answer(&self, answer: Answer<M>) {
        self.put(answer);
        self.wake();
    }

    /// Queues an answer that others follow, without a wake-up.
    fn put(&self, answer: Answer<M>) {
        // It fails only if the disk is being dropped.
        let _ = self.answers.send(answer);
    }

    fn wake(&self) {
        if let Some(signal) = &self.signal {
            signal.raise();
        }
    }

    fn tell(&self, indication: FilesIndication<M>) {
        self.answer(Answer::Tell(indication));
    }

    pub(super) fn perform(&mut self, job: Job<M>) {
        match job {
            Job::TakeOver { file, opened } => self.files.insert(file, opened),
            Job::Open { file, place, purpose } => self.open(file, &place, purpose),
            Job::Read { file, offset, length, memory } => self.read(file, offset, length, memory),
            Job::Next { file } => self.next(file),
            Job::Write { file, offset, message } => {
                self.together.push(message);
                self.write(file, offset);
            }
            Job::Note { file, version } => {
                if let Some(OpenFile::Creating(creation)) = self.files.get(file) {
                    creation.note(version);
                }
            }
            Job::Close { file, keep } => self.close(file, keep),
            Job::Stat { token, place, part } => {
                let root = &self.root;
                let result = if part { root.status_of_part(&place) } else { root.status(&place) };
                self.tell(FilesIndication::Stated { token, result });
            }
            Job::Digest { token, place, octets, part } => {
                match Hashing::begin(&self.root, &place, octets, part) {
                    Ok(hashing) => self.begin_long(token, Long::Hash(hashing)),
                    Err(why) => {
                        self.tell(FilesIndication::Digested { token, result: Err(why) });
                    }
                }
            }
            Job::Room { token, place } => {
                self.tell(FilesIndication::Room { token, result: self.root.room(&place) });
            }
            Job::MakeFolder { token, place } => {
                self.tell(FilesIndication::Done { token, result: self.root.make_folder(&place) });
            }
            Job::Set { token, place, attribute } => {
                let result = self.root.set(&place, attribute);
                self.tell(FilesIndication::Done { token, result });
            }
            Job::Rename { token, from, to } => {
                self.tell(FilesIndication::Done { token, result: self.root.rename(&from, &to) });
            }
            Job::Remove { token, place } => {
                self.tell(FilesIndication::Done { token, result: self.root.remove(&place) });
            }
        }
    }

    fn open(&mut self, file: Handle, place: &Place, purpose: Purpose) {
        let opened = match purpose {
            Purpose::Read { .. } => self.root.open_file(place).and_then(|opened| {
                let opened = opened.into_std();
                let metadata = opened.metadata().map_err(failure)?;
                let size = size(&opened, &metadata);
                let modified = u64::try_from(metadata.mtime()).ok();
                let version = version([
                    metadata.dev(),
                    metadata.ino(),
                    metadata.len(),
                    metadata.mtime() as u64,
                    metadata.mtime_nsec() as u64,
                    metadata.ctime() as u64,
                    metadata.ctime_nsec() as u64,
                ]);
                let reading =
                    OpenFile::Reading { opened: Arc::new(opened), is_sized: size.is_some() };
                Ok((reading, size, modified, Some(version)))
            }),
            Purpose::List => Listing::open(&self.root, place)
                .map(|listing| (OpenFile::Listing(listing), None, None, None)),
            _ => match Creation::begin(&self.root, place, purpose, &mut self.random) {
                Ok((creation, from)) if creation.is_unfinished() => {
                    return self.begin_long(file, Long::TakeOver { creation, from });
                }
                begun => begun.map(|(creation, size)| {
                    let noted = creation.noted();
                    (OpenFile::Creating(creation), Some(size), None, noted)
                }),
            },
        };
        match opened {
            Ok((opened, size, modified, version)) => {
                self.files.insert(file, opened);
                self.tell(FilesIndication::Opened { file, size, modified, version });
            }
            Err(why) => self.tell(FilesIndication::Closed { file, result: Err(why) }),
        }
    }

    fn begin_long(&mut self, name: Handle, what: Long) {
        self.unfinished.push_back(Unfinished { name, what, waiting: VecDeque::new() });
    }

    /// Ends what is done a share at a time, and nobody waits for any more.
    fn give_up_long(&mut self, nth: usize) {
        let Some(Unfinished { name, what, .. }) = self.unfinished.remove(nth) else { return };
        let answer = match &what {
            Long::TakeOver { .. } => {
                FilesIndication::Closed { file: name, result: Err(Failure::GivenUp) }
            }
            Long::Hash(_) => {
                FilesIndication::Digested { token: name, result: Err(Failure::GivenUp) }
            }
        };
        drop(what); // no trace is left before that is indicated
        self.tell(answer);
    }

    /// Does one share for one file; then it is the next file's turn, and that of other jobs.
    fn go_on(&mut self) {
        let Some(mut begun) = self.unfinished.pop_front() else { return };
        let name = begun.name;
        let answer = match &mut begun.what {
            Long::TakeOver { creation, .. } => match creation.take_over() {
                Ok(false) => return self.unfinished.push_back(begun),
                Ok(true) => None,
                Err(why) => Some(FilesIndication::Closed { file: name, result: Err(why) }),
            },
            Long::Hash(hashing) => match hashing.go_on(&mut self.scratch).transpose() {
                None => return self.unfinished.push_back(begun),
                Some(result) => Some(FilesIndication::Digested { token: name, result }),
            },
        };
        match (begun.what, answer) {
            (Long::TakeOver { creation, from }, None) => {
                self.files.insert(name, OpenFile::Creating(creation));
                let (size, modified, version) = (Some(from), None, None);
                self.tell(FilesIndication::Opened { file: name, size, modified, version });
            }
            (what, answer) => {
                drop(what); // no trace is left before that is indicated
                answer.into_iter().for_each(|answer| self.tell(answer));
            }
        }
        for job in begun.waiting {
            self.perform(job);
        }
    }

    /// Gives the file up; later jobs for it cross this indication.
    fn fail(&mut self, file: Handle, why: Failure) {
        drop(self.files.remove(file)); // no trace is left before that is indicated
        self.tell(FilesIndication::Closed { file, result: Err(why) });
    }

    fn read(&mut self, file: Handle, offset: u64, length: usize, memory: Option<M::Block>) {
        let read = match (self.files.get(file), memory) {
            (Some(OpenFile::Reading { opened, .. }), Some(memory)) => {
                self.octets(opened, offset, length, memory)
            }
            (Some(OpenFile::Reading { opened, is_sized: true }), None) => {
                region(opened, offset, length)
            }
            (Some(OpenFile::Reading { opened, is_sized: false }), None) => {
                copied(opened, offset, length)
            }
            (other, memory) => {
                let lives = other.is_some();
                if let Some(memory) = memory {
                    self.answer(Answer::Block(memory));
                }
                if !lives {
                    return self.answer(Answer::Crossed);
                }
                Err(Failure::Unsupported)
            }
        };
        match read {
            Ok(message) => self.tell(FilesIndication::Read { file, offset, message }),
            Err(why) => self.fail(file, why),
        }
    }

    /// Reads into `memory`, behind headroom for headers as far as there is some.
    fn octets(
        &self,
        file: &File,
        offset: u64,
        length: usize,
        mut memory: M::Block,
    ) -> Result<M, Failure> {
        let start = (memory.len() - length).min(HEADER_ROOM_MOST);
        let filled = match read_at(file, &mut memory[start..start + length], offset) {
            Ok(filled) => filled,
            Err(error) => {
                self.answer(Answer::Block(memory));
                return Err(failure(error));
            }
        };
        if filled <= SMALL && length > SMALL {
            // The end of a file: few octets must not hold a large block for as long as a slow peer
            // pleases.
            let message = M::with_headroom(HEADER_ROOM_MOST, &memory[start..start + filled]);
            self.answer(Answer::Block(memory));
            return Ok(message);
        }
        Ok(M::from_block(memory, start, start + filled))
    }

    fn next(&mut self, file: Handle) {
        let next = match self.files.get_mut(file) {
            Some(OpenFile::Listing(listing)) => listing.next(),
            Some(_) => Err(Failure::Unsupported),
            None => return self.answer(Answer::Crossed),
        };
        match next {
            Ok((entries, left_out)) => {
                if !left_out.is_empty() {
                    self.answer(Answer::LeftOut(left_out.len()));
                }
                let is_doubtful = false;
                self.tell(FilesIndication::Entries { file, entries, left_out, is_doubtful });
            }
            Err(why) => self.fail(file, why),
        }
    }

    /// Writes the messages that were put together, and answers each of them.
    fn write(&mut self, file: Handle, offset: u64) {
        let written = match self.files.get(file) {
            Some(OpenFile::Creating(creation)) => {
                Some(creation.write(offset, &self.together, &mut self.scratch))
            }
            Some(_) => Some(Err(Failure::Unsupported)),
            None => None,
        };
        let mut together = mem::take(&mut self.together);
        for message in together.drain(..) {
            let octets = message.len();
            match written {
                Some(Ok(())) => self.put(Answer::Written { file, octets, message }),
                Some(Err(_)) => self.put(Answer::Message(message)),
                None => {
                    self.put(Answer::Message(message));
                    self.put(Answer::Crossed);
                }
            }
        }
        self.wake();
        self.together = together;
        if let Some(Err(why)) = written {
            self.fail(file, why);
        }
    }

    fn close(&mut self, file: Handle, keep: Keep) {
        let result = match self.files.remove(file) {
            Some(OpenFile::Creating(creation)) => creation.close(keep, self.sync, &mut self.random),
            Some(_) => Ok(()),
            None => return self.answer(Answer::Crossed),
        };
        self.tell(FilesIndication::Closed { file, result });
    }
}

impl<M: Message> Drop for Worker<M> {
    fn drop(&mut self) {
        if thread::panicking() {
            let _ = self.answers.send(Answer::Panicked);
            if let Some(signal) = &self.signal {
                signal.raise();
            }
        }
    }
}

/// Returns the part of the requested range that the file has now, without reading it.
fn region<M: Message>(file: &Arc<File>, offset: u64, length: usize) -> Result<M, Failure> {
    let size = file.metadata().map_err(failure)?.len();
    let length = usize::try_from(size.saturating_sub(offset)).unwrap_or(usize::MAX).min(length);
    let Some(octets) = NonZero::new(length as u64) else { return Ok(M::with_headroom(0, &[])) };
    // It will be sent from the stack's thread, which must not wait for the disk. It is advice:
    // nothing is lost if the file system ignores it.
    let _ = fadvise(&**file, offset, Some(octets), Advice::WillNeed);
    let source = Arc::clone(file);
    M::from_region(Region { source, offset, length }).map_err(|_| Failure::Unsupported)
}

/// Returns the size of a file. The kernel's own files (procfs) have octets and no size: one that
/// says it is empty is asked for an octet.
fn size(file: &File, metadata: &Metadata) -> Option<u64> {
    match metadata.len() {
        0 => matches!(read_at(file, &mut [0], 0), Ok(0)).then_some(0),
        size => Some(size),
    }
}

/// Reads octets of a file that has no size, and so no regions. Such files are small: no more than
/// [`READ_MOST`] are read.
fn copied<M: Message>(file: &File, offset: u64, length: usize) -> Result<M, Failure> {
    let most = length.min(READ_MOST);
    let mut octets = Vec::new();
    loop {
        let before = octets.len();
        octets.resize(most.min(before + BLOCK), 0);
        let from = offset.saturating_add(before as u64);
        let read = read_at(file, &mut octets[before..], from).map_err(failure)?;
        let is_end = before + read < octets.len() || octets.len() == most;
        octets.truncate(before + read);
        if is_end {
            return Ok(M::with_headroom(HEADER_ROOM_MOST, &octets));
        }
    }
}
