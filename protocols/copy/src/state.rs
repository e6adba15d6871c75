//! A copy under way.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use core::marker::PhantomData;

use stackwright_contract::services::{Failure, FileVersion};
use stackwright_contract::{Handle, Instant};

use crate::CopySide;
use crate::tree::{Part, Tree};

/// The most octets between the two sides: read or requested, and not written.
pub(crate) const AHEAD: usize = 1 << 20;
/// How many octets are read at once: as many as a processor's cache holds from one side to the
/// other.
pub(crate) const READ_AT_ONCE: usize = 64 << 10;
/// As many on a slow link, where the target is on a disk, so that its part is never far behind what
/// has arrived.
pub(crate) const READ_LEAST: usize = 4 << 10;

/// What a handle given below stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    /// An end of a file under way.
    Copy(Handle),
    /// The one request of a job.
    Job(Handle),
    /// A request of a tree.
    Tree { job: Handle, unit: Handle, part: Part },
    /// A request whose job has ended: its answer means nothing.
    Nobody,
}

/// What the application asked for.
pub(crate) enum Job {
    /// `Copy` or `Resume`: one of the files under way.
    Copy(Handle),
    List {
        side: CopySide,
        folder: Handle,
    },
    /// `Stat` or `Do`.
    Ask {
        side: CopySide,
    },
    /// `Tree` or `RemoveTree`. It is absent while it is worked on.
    Tree(Option<Box<Tree>>),
}

/// A file that is copied.
pub(crate) struct FileCopy<M> {
    /// The job, as the application names it.
    pub(crate) job: Handle,
    /// Whether the job is a tree, and this one of its files.
    pub(crate) in_tree: bool,
    /// Whether the target is not opened before the tree says so.
    pub(crate) held: bool,
    /// Whether its source is opened last, or with the target.
    pub(crate) source_last: bool,
    /// When the source was modified, as the list of its folder tells it.
    pub(crate) listed: Option<u64>,
    /// The same, where the list does not tell it to the second.
    pub(crate) roughly: Option<u64>,
    pub(crate) from: CopySide,
    pub(crate) source_path: String,
    pub(crate) target_path: String,
    /// How it is resumed, unless it is a plain copy.
    pub(crate) resume: Option<Box<Resume>>,
    /// The source, once it was requested.
    pub(crate) source: Option<Handle>,
    pub(crate) source_open: bool,
    /// The target, once it was requested.
    pub(crate) target: Option<Handle>,
    pub(crate) target_open: bool,
    pub(crate) size: Option<u64>,
    /// When the source was modified, where it is known.
    pub(crate) modified: Option<u64>,
    /// The version of the source as it was opened, where it is known.
    pub(crate) version: Option<FileVersion>,
    /// Octets of the target that were there.
    pub(crate) there: u64,
    /// The version of the source of which they are the beginning, as it was noted with them.
    pub(crate) noted: Option<FileVersion>,
    pub(crate) began: Instant,
    /// Where the next read begins.
    pub(crate) next: u64,
    /// How many octets are read at once.
    pub(crate) at_once: usize,
    /// When a read was answered last.
    pub(crate) answered: Option<Instant>,
    /// The lengths of the reads that were requested, in order.
    pub(crate) asked: VecDeque<usize>,
    /// Octets that were read or requested, and are not written.
    pub(crate) between: usize,
    /// Octets that were written.
    pub(crate) written: u64,
    /// Where the source ends, once that is read.
    pub(crate) end: Option<u64>,
    /// Whether it waits for the rate to read on.
    pub(crate) waits: bool,
    pub(crate) step: Step,
    pub(crate) message: PhantomData<M>,
}

/// The step of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Opening,
    /// What is there of the target is compared with the source.
    Comparing,
    Moving,
    /// All octets are written, and compared with the source.
    Checking,
    /// The target is getting its name.
    Keeping,
    /// It has its name, and is compared with the source.
    Confirming,
    /// Its side was lost before it said whether it has its name: it is compared with the source.
    Doubted(Failure),
}

/// How a copy is resumed.
pub(crate) struct Resume {
    pub(crate) checked_first: bool,
    /// Whether what was there was no beginning of the source: there is no third try.
    pub(crate) is_anew: bool,
    /// Whether there are no digests: the version of the source is compared with the one noted.
    pub(crate) by_version: bool,
    /// What was said of both so far.
    pub(crate) source: Option<Said>,
    pub(crate) target: Option<Said>,
}

/// What a side says of a file that is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    /// A digest, and of how many octets.
    Digest([u8; 32], u64),
    /// The size, and the version, where it is known.
    Status(u64, Option<FileVersion>),
    /// It cannot say it.
    Nothing,
}

impl Resume {
    pub(crate) fn new(checked_first: bool) -> Self {
        Resume { checked_first, is_anew: false, by_version: false, source: None, target: None }
    }
}
