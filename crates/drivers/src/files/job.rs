//! What the disk's stack thread and its workers tell each other.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use mio::Waker;
use stackwright_contract::Handle;
use stackwright_contract::services::{Attribute, FileVersion, FilesIndication, Keep, Purpose};
use stackwright_wire::Message;

use super::place::Place;
use super::worker::OpenFile;

/// A job for a worker: a request whose paths are parsed, with the memory for its answer.
pub(super) enum Job<M: Message> {
    /// A file that another worker began.
    TakeOver {
        file: Handle,
        opened: OpenFile,
    },
    Open {
        file: Handle,
        place: Place,
        purpose: Purpose,
    },
    Read {
        file: Handle,
        offset: u64,
        length: usize,
        memory: Option<M::Block>,
    },
    Next {
        file: Handle,
    },
    Write {
        file: Handle,
        offset: u64,
        message: M,
    },
    Note {
        file: Handle,
        version: FileVersion,
    },
    Close {
        file: Handle,
        keep: Keep,
    },
    Stat {
        token: Handle,
        place: Place,
        part: bool,
    },
    Digest {
        token: Handle,
        place: Place,
        octets: Range<u64>,
        part: bool,
    },
    Room {
        token: Handle,
        place: Place,
    },
    MakeFolder {
        token: Handle,
        place: Place,
    },
    Set {
        token: Handle,
        place: Place,
        attribute: Attribute,
    },
    Rename {
        token: Handle,
        from: Place,
        to: Place,
    },
    Remove {
        token: Handle,
        place: Place,
    },
}

impl<M: Message> Job<M> {
    /// Returns whether it may take long, whatever its size: it is done in shares, by a worker.
    pub(super) fn may_take_long(&self) -> bool {
        matches!(
            self,
            Job::Open { purpose: Purpose::Append | Purpose::Create { from: 1.. }, .. }
                | Job::Digest { .. }
        )
    }

    /// Returns the name on which it waits for its turn.
    pub(super) fn name(&self) -> Handle {
        match *self {
            Job::TakeOver { file, .. }
            | Job::Open { file, .. }
            | Job::Read { file, .. }
            | Job::Next { file }
            | Job::Write { file, .. }
            | Job::Note { file, .. }
            | Job::Close { file, .. }
            | Job::Stat { token: file, .. }
            | Job::Digest { token: file, .. }
            | Job::Room { token: file, .. }
            | Job::MakeFolder { token: file, .. }
            | Job::Set { token: file, .. }
            | Job::Rename { token: file, .. }
            | Job::Remove { token: file, .. } => file,
        }
    }
}

/// An answer of a worker.
pub(super) enum Answer<M: Message> {
    /// An indication for the layer above.
    Tell(FilesIndication<M>),
    /// A block that is not needed any more.
    Block(M::Block),
    /// A message that will not be written.
    Message(M),
    /// A message that was written.
    Written { file: Handle, octets: usize, message: M },
    /// This many names were left out of a list, because no path could lead to them.
    LeftOut(usize),
    /// A job crossed the closing of its name.
    Crossed,
    /// The worker broke an invariant and is gone.
    Panicked,
}

/// Wakes the stack's thread, once for a burst of answers.
pub(super) struct Signal {
    waker: Waker,
    raised: AtomicBool,
}

impl Signal {
    pub(super) fn new(waker: Waker) -> Self {
        Signal { waker, raised: AtomicBool::new(false) }
    }

    /// Signals that an answer is in the queue.
    ///
    /// No answer is left behind: it is put into the queue *before* the swap here, and the reader
    /// swaps *before* it looks into the queue. All swaps of one flag have one order. If ours finds
    /// the flag raised, the reader's next swap comes after ours and, both being acquire and
    /// release, it then sees our answer; if ours finds it lowered, we wake the reader.
    pub(super) fn raise(&self) {
        if !self.raised.swap(true, Ordering::AcqRel) {
            // It fails only if the poll, and with it the reader, is gone.
            let _ = self.waker.wake();
        }
    }

    /// Lowers the flag: the reader is about to look into the queue.
    pub(super) fn lower(&self) {
        self.raised.swap(false, Ordering::AcqRel);
    }
}
