//! Requests to a copy, and its indications.

use alloc::string::String;
use alloc::vec::Vec;

use stackwright_contract::services::{Attribute, Failure, FolderEntry, Status};
use stackwright_contract::words::Speaks;
use stackwright_contract::{Duration, Handle, Service};
use stackwright_wire::Message;

use crate::tree::{SkipReason, TreeOptions, TreeTotals};

/// The service of a copy.
///
/// The application names each job; the name is free again after the job's last word.
#[derive(Debug)]
pub struct Copying;

impl Service for Copying {
    const NAME: &'static str = "Copying";
    type Request = Request;
    type Indication = Indication;
    type Name = Handle;
}

/// In a graph, its words travel as those of an application.
impl<M: Message, B: Service> Speaks<M, B> for Copying {}

/// One of the two services below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopySide {
    /// The first.
    Left,
    /// The second.
    Right,
}

impl CopySide {
    /// Returns the other side.
    pub fn other(self) -> Self {
        match self {
            CopySide::Left => CopySide::Right,
            CopySide::Right => CopySide::Left,
        }
    }
}

/// What an application requests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// Copies a file from one side to the other. Answered by `Copied` or `Failed`.
    Copy {
        /// The job's name.
        job: Handle,
        /// The side of the source.
        from: CopySide,
        /// The path of the source there.
        source: String,
        /// The path of the target on the other side.
        target: String,
        /// Whether the target is opened before the source is known to exist. It saves a round trip,
        /// and is right only where the target's side makes files whole or not at all.
        early: bool,
    },
    /// Copies a file as `Copy` does, and goes on behind what an earlier one left of it, if that is
    /// the beginning of the source. What arrives is kept for the next time if the copy fails. Where
    /// the target's side cannot do that, it is a `Copy`.
    Resume {
        /// The job's name.
        job: Handle,
        /// The side of the source.
        from: CopySide,
        /// The path of the source there.
        source: String,
        /// The path of the target on the other side.
        target: String,
        /// Whether the target is compared with the source before it gets its name: its side has
        /// written what it has told to be written. Otherwise that is done afterwards.
        checked_first: bool,
    },
    /// Lists a folder. Answered by `Entries`, any number of times, then `Listed` or `Failed`.
    List {
        /// The job's name.
        job: Handle,
        /// The side of the folder.
        side: CopySide,
        /// The path of the folder there.
        path: String,
    },
    /// Asks for the status of a file or folder. Answered by `Stated` or `Failed`.
    Stat {
        /// The job's name.
        job: Handle,
        /// The side of the file.
        side: CopySide,
        /// Its path there.
        path: String,
    },
    /// Changes one name or attribute. Answered by `Done` or `Failed`.
    Do {
        /// The job's name.
        job: Handle,
        /// The side where it is done.
        side: CopySide,
        /// What is done.
        deed: FileChange,
    },
    /// Copies a folder with everything below it into the folder `target`, which is made if it does
    /// not exist; or, where the last component of `source` has `*`, `?` or `[`, what matches it.
    /// Answered by `Entered`, `FileBegan` and the like, then `TreeDone` or `Failed`.
    Tree {
        /// The job's name.
        job: Handle,
        /// The side of the source.
        from: CopySide,
        /// The path of the folder there, or a pattern.
        source: String,
        /// The path of the folder on the other side.
        target: String,
        /// How.
        options: TreeOptions,
    },
    /// Removes a folder with everything below it; a symbolic link is removed, not followed.
    /// Answered by `Removed` and `FileFailed`, any number of times, then `TreeDone` or `Failed`.
    RemoveTree {
        /// The job's name.
        job: Handle,
        /// The side of the folder.
        side: CopySide,
        /// Its path there.
        path: String,
    },
    /// Gives up all jobs. Each answers with `Failed`, except a copy whose target is getting its
    /// name already: it ends with its own result.
    GiveUp,
    /// Leaves both sides: no job comes for now, and connections that are kept for one need not be.
    /// No answer; jobs that are open go on.
    Leave,
}

/// A change of one name or attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileChange {
    /// Makes a folder.
    MakeFolder {
        /// Its path; the folder above it exists, and nothing has this name.
        path: String,
    },
    /// Renames a file or folder.
    Rename {
        /// Its path.
        from: String,
        /// Its new path; what has that name is replaced.
        to: String,
    },
    /// Removes a file, or an empty folder.
    Remove {
        /// Its path.
        path: String,
    },
    /// Sets an attribute.
    Set {
        /// The path of the file.
        path: String,
        /// The attribute and its value.
        attribute: Attribute,
    },
}

/// What a copy tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Indication {
    /// Both files are open.
    Began {
        /// The job.
        job: Handle,
        /// The source's size in octets, where it is known.
        size: Option<u64>,
        /// When the source was modified, in seconds since 1970-01-01 00:00 UTC, where it is known.
        modified: Option<u64>,
        /// How many octets of it are there already.
        there: u64,
    },
    /// More octets of the file are written.
    Moved {
        /// The job.
        job: Handle,
        /// How many since the beginning.
        octets: u64,
    },
    /// The file is whole, under its name. The job's last word.
    Copied {
        /// The job.
        job: Handle,
        /// Its length in octets.
        octets: u64,
        /// How many of them were moved now.
        moved: u64,
        /// The time from the request to now.
        took: Duration,
    },
    /// Some entries of a folder.
    Entries {
        /// The job.
        job: Handle,
        /// The entries, in the folder's order.
        entries: Vec<FolderEntry>,
    },
    /// The folder was listed to its end. The job's last word.
    Listed {
        /// The job.
        job: Handle,
    },
    /// The status that was asked for. The job's last word.
    Stated {
        /// The job.
        job: Handle,
        /// The status.
        status: Status,
    },
    /// The change is made. The job's last word.
    Done {
        /// The job.
        job: Handle,
    },
    /// The files of a source folder are copied from now on; its target exists.
    Entered {
        /// The job.
        job: Handle,
        /// The path of the target folder.
        folder: String,
    },
    /// Both ends of a file in a tree are open.
    FileBegan {
        /// The job.
        job: Handle,
        /// The name of the file until its `FileCopied` or `FileFailed`.
        file: Handle,
        /// The path of the target.
        path: String,
        /// The source's size in octets, where it is known.
        size: Option<u64>,
        /// How many octets of it are there already.
        there: u64,
    },
    /// More octets of a file in a tree are written.
    FileMoved {
        /// The job.
        job: Handle,
        /// The file.
        file: Handle,
        /// How many since its beginning.
        octets: u64,
    },
    /// A file in a tree is whole, under its name. A dry run tells it of each file that would be
    /// copied, with no `FileBegan` before it.
    FileCopied {
        /// The job.
        job: Handle,
        /// The file.
        file: Handle,
        /// The path of the target.
        path: String,
        /// Its length in octets.
        octets: u64,
        /// How many of them were moved now.
        moved: u64,
    },
    /// Something below the source is not copied.
    Skipped {
        /// The job.
        job: Handle,
        /// The path on the side of the source.
        path: String,
        /// Why.
        why: SkipReason,
    },
    /// A file or an empty folder was removed; in a dry run, it would be.
    Removed {
        /// The job.
        job: Handle,
        /// Its path.
        path: String,
    },
    /// A file or folder in a tree failed. The tree goes on without it, unless the failure is about
    /// the whole side: a connection that is lost, a disk that is full. Then `Failed` follows.
    FileFailed {
        /// The job.
        job: Handle,
        /// Its path on the side that failed.
        path: String,
        /// The side that failed.
        side: CopySide,
        /// Why.
        failure: Failure,
    },
    /// A tree is at its end; what failed was told. The job's last word.
    TreeDone {
        /// The job.
        job: Handle,
        /// What was done.
        totals: TreeTotals,
    },
    /// A job failed as a whole. Its last word. No file has the target's name that did not have it
    /// before, except those that a tree told to be copied, and one that was resumed and
    /// [damaged](Failure::Damaged), and was not checked first.
    Failed {
        /// The job.
        job: Handle,
        /// The side that failed.
        side: CopySide,
        /// Why.
        failure: Failure,
    },
}

impl Indication {
    /// Returns the name of the job that it is about.
    pub fn job(&self) -> Handle {
        match self {
            Indication::Began { job, .. }
            | Indication::Moved { job, .. }
            | Indication::Copied { job, .. }
            | Indication::Entries { job, .. }
            | Indication::Listed { job }
            | Indication::Stated { job, .. }
            | Indication::Done { job }
            | Indication::Entered { job, .. }
            | Indication::FileBegan { job, .. }
            | Indication::FileMoved { job, .. }
            | Indication::FileCopied { job, .. }
            | Indication::Skipped { job, .. }
            | Indication::Removed { job, .. }
            | Indication::FileFailed { job, .. }
            | Indication::TreeDone { job, .. }
            | Indication::Failed { job, .. } => *job,
        }
    }
}
