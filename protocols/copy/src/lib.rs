//! A copy between two [`Files`]: a disk and a server, two servers, two disks.
//!
//! It provides [`Copying`] and uses `Both<Files, Files>`; each request says which of them is the
//! source. Reads run ahead of writes by a bounded number of octets, so that both sides are busy and
//! memory does not grow with the file.
//!
//! | file | what |
//! | --- | --- |
//! | `words.rs` | requests and indications |
//! | `state.rs` | a copy under way |
//! | `send.rs` | requests downward: reads, writes, the end |
//! | `resume.rs` | what was left of an earlier copy: whether it is a beginning of the source |
//! | `receive.rs` | answers from below |
//! | `config.rs` | what can be configured |
//! | `pace.rs` | the rate of all copies together |
//! | `tree/` | folders with everything below them |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod config;
mod pace;
mod receive;
mod resume;
mod send;
mod state;
mod tree;
mod words;

pub use config::Config;
pub use tree::{Comparison, SkipReason, TreeOptions, TreeTotals};
pub use words::{CopySide, Copying, FileChange, Indication, Request};

use alloc::boxed::Box;
use core::num::NonZeroU64;

use stackwright_contract::ask::{Ask, Question};
use stackwright_contract::described::{Described, Parameter, ParameterKind};
use stackwright_contract::services::{Files, FilesRequest};
use stackwright_contract::{
    Both, Context, Either, Facts, Handle, IndicationTo, Instant, Mirror, Names, Outlet, Protocol,
};
use stackwright_wire::Message;

use pace::Pace;
use state::{FileCopy, Job, Resume, Use};

const NAME: &str = "copy";

/// Copies files, as many at once as are requested.
pub struct Copy<M> {
    /// What the application asked for.
    jobs: Mirror<Job>,
    /// The files under way, of a job or of a tree.
    copies: Names<FileCopy<M>>,
    /// The handles given to the two sides.
    left: Names<Use>,
    right: Names<Use>,
    pace: Pace,
}

type Out<'a, M> = &'a mut dyn Outlet<Copy<M>>;

impl<M: Message> Default for Copy<M> {
    fn default() -> Self {
        Copy::new(Config::default())
    }
}

const PARAMETERS: &[Parameter] = &[Parameter::new(
    "rate",
    ParameterKind::Number,
    "the most octets a second that all jobs move together",
)];

/// Returns how a file describes the protocol.
pub const fn described<M: Message>() -> Described<Copy<M>> {
    Described {
        parameters: PARAMETERS,
        make: |table, _| {
            let rate = table.within("rate", 1..=i64::MAX as u64)?.and_then(NonZeroU64::new);
            Ok(Copy::new(Config { rate }))
        },
    }
}

impl<M: Message> Copy<M> {
    /// Makes a copy that has no jobs.
    pub fn new(Config { rate }: Config) -> Self {
        Copy {
            jobs: Mirror::default(),
            copies: Names::default(),
            left: Names::default(),
            right: Names::default(),
            pace: Pace::new(rate),
        }
    }

    /// Returns how many handles it has given to files on both sides that have not closed yet.
    pub fn names(&self) -> usize {
        self.left.len() + self.right.len()
    }

    fn names_at(&mut self, side: CopySide) -> &mut Names<Use> {
        match side {
            CopySide::Left => &mut self.left,
            CopySide::Right => &mut self.right,
        }
    }

    fn ask(out: Out<'_, M>, side: CopySide, request: FilesRequest<M>) {
        out.request(match side {
            CopySide::Left => Either::Left(request),
            CopySide::Right => Either::Right(request),
        });
    }
}

impl<M: Message> Protocol for Copy<M> {
    const FACTS: Facts = Facts::named(NAME);
    type Provides = Copying;
    type Uses = Both<Files<M>, Files<M>>;

    fn handle_request(&mut self, cx: &Context, request: Request, out: &mut impl Outlet<Self>) {
        match request {
            Request::Copy { job, from, source, target, early } => {
                let copying = FileCopy::new(cx.now(), job, from, source, target, None);
                let copy = self.copy(cx, copying, early, out);
                self.jobs.insert(job, Job::Copy(copy));
            }
            Request::Resume { job, from, source, target, checked_first } => {
                let resume = Some(Box::new(Resume::new(checked_first)));
                let copying = FileCopy::new(cx.now(), job, from, source, target, resume);
                let copy = self.resume(copying, out);
                self.jobs.insert(job, Job::Copy(copy));
            }
            Request::List { job, side, path } => self.list(job, side, path, out),
            Request::Stat { job, side, path } => self.stat(job, side, path, out),
            Request::Do { job, side, deed } => self.deed(job, side, deed, out),
            Request::Tree { job, from, source, target, options } => {
                self.begin_tree(cx, job, from, (source, target), options, out);
            }
            Request::RemoveTree { job, side, path } => {
                self.begin_removal(cx, job, side, path, out);
            }
            Request::GiveUp => self.give_up(cx, out),
            Request::Leave => {
                Self::ask(out, CopySide::Left, FilesRequest::Leave);
                Self::ask(out, CopySide::Right, FilesRequest::Leave);
            }
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            Either::Left(indication) => self.on_files(cx, CopySide::Left, indication, out),
            Either::Right(indication) => self.on_files(cx, CopySide::Right, indication, out),
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.go_on_reading(cx, out);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.pace.next()
    }

    /// A question about a job is one about the first of its files that are under way: the target,
    /// or the source if nothing there answers.
    fn ask(&self, job: Handle, question: &mut Question<'_>, below: &dyn Ask<Self::Uses>) {
        let mut copies = self.copies.iter().map(|(_, copy)| copy);
        let Some(copy) = copies.find(|copy| copy.job == job && copy.target_open) else { return };
        for (side, file) in [(copy.from.other(), copy.target), (copy.from, copy.source)] {
            match (side, file.filter(|_| question.is_open())) {
                (CopySide::Left, Some(file)) => below.ask(Either::Left(file), question),
                (CopySide::Right, Some(file)) => below.ask(Either::Right(file), question),
                (_, None) => {}
            }
        }
    }
}
