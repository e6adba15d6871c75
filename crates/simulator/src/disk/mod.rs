//! [`Files`] in memory: answers arrive late, in order for each file, in any order across files, and
//! some of them are failures.
//!
//! | file | what |
//! | --- | --- |
//! | `tree.rs` | the folders and files, shared with the test |
//! | `operations.rs` | what the disk does with them |
//! | `faults.rs` | what a test lets go wrong |
//! | `work.rs` | how each request is answered |
//!
//! Parts that can be resumed are the tree's: they survive the disk. Permissions are told and set,
//! and never checked.

mod faults;
mod operations;
mod tree;
mod work;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;

use stackwright_contract::services::{
    Attribute, FileVersion, Files, FilesRequest, FolderEntry, Keep, Purpose,
};
use stackwright_contract::{
    Context, Duration, Facts, Guarantees, Handle, Instant, Mirror, Nothing, Outlet, Protocol,
};
use stackwright_wire::Message;

use crate::ledger::Ledger;
use crate::segments::octets_of;
pub use faults::{DiskFaults, Unsynced};
use tree::Inode;
pub use tree::Tree;

const NAME: &str = "simulated disk";

/// The simulated disk.
#[derive(Debug)]
pub struct SimulatedDisk<M> {
    tree: Rc<RefCell<Tree>>,
    ledger: Ledger,
    files: Mirror<File>,
    /// The requests, by the time of their answer.
    work: BTreeMap<(Instant, u64), (Handle, Work)>,
    asked: u64,
    message: std::marker::PhantomData<M>,
}

/// A file that is open, or requested.
#[derive(Debug)]
struct File {
    purpose: Purpose,
    content: Content,
    /// The time of its latest answer: no later request for this file is answered before it.
    last: Instant,
    /// `Close` was requested.
    closing: bool,
}

#[derive(Debug)]
enum Content {
    Unopened,
    Read(Inode),
    /// The file has its name, `place`, only when it is closed.
    Created {
        place: String,
        inode: Inode,
    },
    Listed(VecDeque<FolderEntry>),
}

/// A request that is not answered yet.
#[derive(Debug)]
enum Work {
    Open { path: String },
    Read { offset: u64, length: usize },
    Next,
    Write { offset: u64, octets: Vec<u8> },
    Note { version: FileVersion },
    Close { keep: Keep },
    Stat { path: String, part: bool },
    Digest { path: String, octets: Range<u64>, part: bool },
    GiveUp,
    Room { path: String },
    MakeFolder { path: String },
    Set { path: String, attribute: Attribute },
    Rename { from: String, to: String },
    Remove { path: String },
}

impl<M: Message> SimulatedDisk<M> {
    /// Makes the disk for `tree`, which a test may examine and change at any time.
    pub fn new(tree: Rc<RefCell<Tree>>) -> Self {
        SimulatedDisk {
            tree,
            ledger: Ledger::new(NAME),
            files: Mirror::default(),
            work: BTreeMap::new(),
            asked: 0,
            message: std::marker::PhantomData,
        }
    }

    /// Returns how many names of files are alive.
    pub fn open_files(&self) -> usize {
        self.files.iter().count()
    }

    /// Queues a request for a file that is, or will be, open; one that crossed its end is dropped.
    fn ask_file(&mut self, cx: &Context, file: Handle, work: Work) {
        if !self.ledger.lives(file) {
            return cx.dropped(NAME, "a word for a file that is closed");
        }
        let Some(state) = self.files.get_mut(file) else {
            panic!("{NAME}: a word for {file:?}, which is a question and not a file")
        };
        assert!(!state.closing, "{NAME}: a word for {file:?} comes after its Close");
        let (fits, what) = match &work {
            Work::Read { .. } => (matches!(state.purpose, Purpose::Read { .. }), "a Read from"),
            Work::Next => (state.purpose == Purpose::List, "a Next of"),
            Work::Write { .. } => (state.purpose.creates(), "a Write to"),
            Work::Note { .. } => (state.purpose == Purpose::Resume, "a Note of"),
            _ => (true, "a word for"),
        };
        assert!(fits, "{NAME}: {what} {file:?}, which was opened for {:?}", state.purpose);
        state.closing = matches!(work, Work::Close { .. });
        if let Work::Write { octets, .. } = &work {
            self.tree.borrow_mut().hold(octets.len());
        }
        let time = self.answer_time(cx);
        let state = self.files.get_mut(file).expect("looked at above");
        state.last = state.last.max(time);
        let time = state.last;
        self.put(time, file, work);
    }

    fn ask(&mut self, cx: &Context, token: Handle, work: Work) {
        self.ledger.given(token);
        let time = self.answer_time(cx);
        self.put(time, token, work);
    }

    /// Answers a digest now, for which nobody waits any more.
    fn give_up(&mut self, cx: &Context, token: Handle) {
        let asked = self.work.extract_if(.., |_, (name, _)| *name == token).next();
        assert!(
            matches!(asked, Some((_, (_, Work::Digest { .. })))),
            "{NAME}: a Close of {token:?}, which is another question"
        );
        self.put(cx.now(), token, Work::GiveUp);
    }

    fn put(&mut self, time: Instant, name: Handle, work: Work) {
        self.asked += 1;
        self.work.insert((time, self.asked), (name, work));
    }

    fn answer_time(&self, cx: &Context) -> Instant {
        let DiskFaults { delay, jitter, .. } = self.tree.borrow().faults;
        let jitter = u64::try_from(jitter.as_nanos()).unwrap_or(u64::MAX);
        cx.now() + delay + Duration::from_nanos(cx.random(jitter.saturating_add(1)))
    }
}

impl<M: Message> Protocol for SimulatedDisk<M> {
    const FACTS: Facts = Facts { gives: Guarantees::WHOLE_FILES, ..Facts::named(NAME) };
    type Provides = Files<M>;
    type Uses = Nothing;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: FilesRequest<M>,
        _out: &mut impl Outlet<Self>,
    ) {
        match request {
            FilesRequest::Open { file, path, purpose } => {
                self.ledger.given(file);
                let state = File {
                    purpose,
                    content: Content::Unopened,
                    last: Instant::START,
                    closing: false,
                };
                self.files.insert(file, state);
                self.ask_file(cx, file, Work::Open { path });
            }
            FilesRequest::Read { file, offset, length } => {
                assert!(
                    length > 0,
                    "{NAME}: a Read of nothing from {file:?}: its length is never zero"
                );
                self.ask_file(cx, file, Work::Read { offset, length });
            }
            FilesRequest::Next { file } => self.ask_file(cx, file, Work::Next),
            FilesRequest::Write { file, offset, message } => {
                self.ask_file(cx, file, Work::Write { offset, octets: octets_of(&message) });
            }
            FilesRequest::Note { file, version } => {
                self.ask_file(cx, file, Work::Note { version });
            }
            FilesRequest::Close { file, .. }
                if self.ledger.lives(file) && self.files.get(file).is_none() =>
            {
                self.give_up(cx, file);
            }
            FilesRequest::Close { file, keep } => self.ask_file(cx, file, Work::Close { keep }),
            FilesRequest::Stat { token, path, part, .. } => {
                self.ask(cx, token, Work::Stat { path, part });
            }
            FilesRequest::Digest { token, path, octets, part } => {
                self.ask(cx, token, Work::Digest { path, octets, part });
            }
            FilesRequest::Room { token, path } => self.ask(cx, token, Work::Room { path }),
            FilesRequest::MakeFolder { token, path } => {
                self.ask(cx, token, Work::MakeFolder { path });
            }
            FilesRequest::Set { token, path, attribute } => {
                self.ask(cx, token, Work::Set { path, attribute });
            }
            FilesRequest::Rename { token, from, to } => {
                self.ask(cx, token, Work::Rename { from, to });
            }
            FilesRequest::Remove { token, path } => self.ask(cx, token, Work::Remove { path }),
            FilesRequest::Leave => {}
        }
    }

    fn handle_indication(
        &mut self,
        _cx: &Context,
        indication: std::convert::Infallible,
        _out: &mut impl Outlet<Self>,
    ) {
        match indication {}
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        while let Some(entry) = self.work.first_entry()
            && entry.key().0 <= cx.now()
        {
            let (name, work) = entry.remove();
            self.answer(cx, name, work, out);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.work.first_key_value().map(|((time, _), _)| *time)
    }
}
