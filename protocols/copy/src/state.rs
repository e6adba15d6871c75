//! A copy under way.

use alloc::collections::VecDeque;
use alloc::string::String;
use core::marker::PhantomData;

use stackwright_contract::{Handle, Instant};

use crate::CopySide;

/// The most octets between the two sides: read or requested, and not written.
pub(crate) const AHEAD: usize = 1 << 20;
/// How many octets are read at once: as many as a processor's cache holds from one side to the
/// other.
pub(crate) const READ_AT_ONCE: usize = 64 << 10;

/// What a handle given below stands for: a part of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Use {
    pub(crate) job: Handle,
}

pub(crate) enum Job<M> {
    Copy(Copying<M>),
    List { side: CopySide, folder: Handle },
}

pub(crate) struct Copying<M> {
    pub(crate) from: CopySide,
    pub(crate) target_path: String,
    pub(crate) source: Handle,
    pub(crate) source_open: bool,
    /// The target, once it was requested.
    pub(crate) target: Option<Handle>,
    pub(crate) target_open: bool,
    pub(crate) size: Option<u64>,
    pub(crate) began: Instant,
    /// Where the next read begins.
    pub(crate) next: u64,
    /// The lengths of the reads that were requested, in order.
    pub(crate) asked: VecDeque<usize>,
    /// Octets that were read or requested, and are not written.
    pub(crate) between: usize,
    pub(crate) written: u64,
    pub(crate) end: bool,
    pub(crate) step: Step,
    pub(crate) message: PhantomData<M>,
}

/// The step of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Opening,
    Moving,
    /// The target is getting its name.
    Keeping,
}
