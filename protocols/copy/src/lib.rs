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
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod receive;
mod resume;
mod send;
mod state;
mod words;

pub use words::{CopySide, Copying, Indication, Request};

use stackwright_contract::described::Described;
use stackwright_contract::services::{Files, FilesRequest};
use stackwright_contract::{Both, Context, Either, Facts, IndicationTo, Names, Outlet, Protocol};
use stackwright_wire::Message;

use state::{Job, Use};

const NAME: &str = "copy";

/// Copies files, as many at once as are requested.
pub struct Copy<M> {
    jobs: Names<Job<M>>,
    /// The handles given to the two sides.
    left: Names<Use>,
    right: Names<Use>,
}

type Out<'a, M> = &'a mut dyn Outlet<Copy<M>>;

impl<M: Message> Default for Copy<M> {
    fn default() -> Self {
        Copy { jobs: Names::default(), left: Names::default(), right: Names::default() }
    }
}

/// Returns how a file describes the protocol: it has no parameters.
pub const fn described<M: Message>() -> Described<Copy<M>> {
    Described { parameters: &[], make: |_, _| Ok(Copy::default()) }
}

impl<M: Message> Copy<M> {
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
            Request::Copy { from, source, target, early } => {
                self.copy(cx, from, source, target, early, out)
            }
            Request::Resume { from, source, target, checked_first } => {
                self.resume(cx, from, source, target, checked_first, out)
            }
            Request::List { side, path } => self.list(side, path, out),
            Request::GiveUp => self.give_up(out),
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
}
