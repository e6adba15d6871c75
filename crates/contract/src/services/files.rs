//! Files, asked of the side that has a disk, or of a protocol that reaches one.

mod failure;
mod status;

use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::Range;

use crate::{Handle, Life, Service, Word};

pub use failure::Failure;
pub use status::{FileKind, FileVersion, FolderEntry, Status};

/// Whole files below one root.
///
/// Paths are separated by `/`, and begin at the root whether or not they begin with `/`. Answers
/// about one file come in the order asked; across files in any order.
pub struct Files<M>(PhantomData<M>);

impl<M> Service for Files<M> {
    const NAME: &'static str = "Files";
    type Request = FilesRequest<M>;
    type Indication = FilesIndication<M>;
    type Name = Handle;
}

/// What a file is opened for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// To read a file that exists.
    Read {
        /// Whether the answers hold octets, because somebody looks at them: otherwise they may be
        /// regions of the file.
        as_octets: bool,
        /// Whether `Opened` has to tell the [version](FileVersion), where it can be had: what is
        /// read may be resumed another time.
        versioned: bool,
    },
    /// To write a file that appears under its name only when it is closed with `keep`; until then
    /// what had that name stays as it was.
    Create {
        /// Octets of the file that has the name now which are taken over first; writing goes on
        /// behind them. It fails with [`Failure::Short`] where the file has fewer.
        from: u64,
    },
    /// As `Create` from the first octet on, as a [part](Keep::Part) in place of one that was kept
    /// before: so the end of the program keeps what was written. While another writes that part, it
    /// is as `Create`.
    Part,
    /// As `Create`, behind all octets of the file that has the name now, if any.
    Append,
    /// As `Create`, and it does not get its name if something else has it by then: it fails with
    /// [`Failure::Exists`].
    New,
    /// As `Create`, behind what was [kept as a part](Keep::Part) before; the end of the program
    /// keeps it, too. Nothing of it is the beginning of a new file. Only one may do so at a time;
    /// another is denied.
    Resume,
    /// To list a folder.
    List,
}

impl Purpose {
    /// Returns whether a file is written.
    pub fn creates(&self) -> bool {
        !matches!(self, Self::Read { .. } | Self::List)
    }
}

/// What becomes of a created file when it is closed. A file that was read is closed with `Nothing`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// It leaves no trace.
    Nothing,
    /// It is complete, and gets its name.
    Whole,
    /// It is kept under no name that a path leads to, until it is [resumed](Purpose::Resume).
    Part,
}

/// An attribute of a file that can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attribute {
    /// When it was modified, in seconds since 1970-01-01 00:00 UTC.
    Modified(u64),
    /// Its permissions, as in [`Status::mode`].
    Mode(u16),
}

/// What may be asked about files.
#[derive(Debug)]
pub enum FilesRequest<M> {
    /// Answered by `Opened`, or by `Closed` with the failure.
    Open {
        /// The file's name on this boundary.
        file: Handle,
        /// Its path.
        path: String,
        /// Its purpose.
        purpose: Purpose,
    },
    /// Answered by `Read`. Several may be asked at once.
    Read {
        /// The file.
        file: Handle,
        /// The offset, in octets.
        offset: u64,
        /// The most octets to read. Never zero.
        length: usize,
    },
    /// Asks for the next entries of a folder. Answered by `Entries`.
    Next {
        /// The file.
        file: Handle,
    },
    /// Answered by `Written`.
    Write {
        /// The file.
        file: Handle,
        /// The offset, in octets.
        offset: u64,
        /// The octets.
        message: M,
    },
    /// Notes of which version of its source a file that is [resumed](Purpose::Resume) is the
    /// beginning: `Opened` tells it when it is resumed again. No answer; a side that cannot keep it
    /// tells none.
    Note {
        /// The file.
        file: Handle,
        /// The version.
        version: FileVersion,
    },
    /// Answered by `Closed`: the last word on this name. Of a digest, whose last word is
    /// `Digested`, it says that nobody waits for it any more.
    Close {
        /// The file, or the question.
        file: Handle,
        /// What becomes of it.
        keep: Keep,
    },
    /// Answered by `Stated`: the last word on this name.
    Stat {
        /// The question's name.
        token: Handle,
        /// The path. With `/.` at its end it is that of a folder, which has to be one that can be
        /// entered.
        path: String,
        /// Whether it is asked of the part of a file that can be [resumed](Purpose::Resume).
        part: bool,
        /// Whether it is known to be a file: what it is need not be found out.
        is_file: bool,
    },
    /// Asks for the SHA-256 of the octets of a file. Answered by `Digested`: the last word on this
    /// name.
    Digest {
        /// The question's name.
        token: Handle,
        /// The path.
        path: String,
        /// Which octets: from the first, up to and without the last. What is beyond the end of the
        /// file does not count.
        octets: Range<u64>,
        /// Whether it is asked of the part of a file that can be [resumed](Purpose::Resume).
        part: bool,
    },
    /// Asks how many octets could be written more. Answered by `Room`: the last word on this name.
    Room {
        /// The question's name.
        token: Handle,
        /// A folder.
        path: String,
    },
    /// Makes a folder. Answered by `Done`: the last word on this name.
    MakeFolder {
        /// The question's name.
        token: Handle,
        /// The path; the folder above it exists, and nothing has this name.
        path: String,
    },
    /// Sets an attribute. Answered by `Done`: the last word on this name.
    Set {
        /// The question's name.
        token: Handle,
        /// The path.
        path: String,
        /// The attribute.
        attribute: Attribute,
    },
    /// Answered by `Done`: the last word on this name.
    Rename {
        /// The question's name.
        token: Handle,
        /// The file.
        from: String,
        /// The new path; what has that name is replaced.
        to: String,
    },
    /// Removes a file, or a folder that holds nothing but parts that are not being written.
    /// Answered by `Done`: the last word on this name.
    Remove {
        /// The question's name.
        token: Handle,
        /// The file.
        path: String,
    },
    /// Nothing is requested for now: what is kept for further requests, such as a connection
    /// without one, is ended at once, and what is used when its use ends. No answer; a later
    /// request begins anew.
    Leave,
}

/// What is told about files.
#[derive(Debug)]
pub enum FilesIndication<M> {
    /// Answers `Open`.
    Opened {
        /// The file.
        file: Handle,
        /// The size now, in octets, where it is known: of a file that is created, how many are
        /// there already.
        size: Option<u64>,
        /// When a file that is read was modified, in seconds since 1970-01-01 00:00 UTC, where it
        /// is known.
        modified: Option<u64>,
        /// The version of a file that is read, where that was asked for and is known; of one that
        /// is resumed, the version that was noted.
        version: Option<FileVersion>,
    },
    /// Answers `Read`. It is shorter than asked only at the end of the file; empty is the end.
    Read {
        /// The file.
        file: Handle,
        /// As asked.
        offset: u64,
        /// Octets, or a region of the file.
        message: M,
    },
    /// Answers `Next`; empty is the end.
    Entries {
        /// The file.
        file: Handle,
        /// Some entries, in the order of the folder.
        entries: Vec<FolderEntry>,
        /// What was left out since the answer before, in words that can be shown: names to which no
        /// path leads, lines that were not understood.
        left_out: Vec<String>,
        /// Whether, at the end, the list may not be all that is in the folder: its side said so, or
        /// what it said does not fit together.
        is_doubtful: bool,
    },
    /// Answers `Write`, or several of them.
    Written {
        /// The file.
        file: Handle,
        /// The octets written of those that were asked for, from the first not yet told.
        octets: usize,
    },
    /// The last word on a file: answers `Close`, and comes unasked where something failed.
    Closed {
        /// The file.
        file: Handle,
        /// Whether it succeeded. After a failure a created file has left no trace, except that
        /// what was [resumed](Purpose::Resume) stays a part.
        result: Result<(), Failure>,
    },
    /// Answers `Stat`.
    Stated {
        /// The question's name.
        token: Handle,
        /// The status.
        result: Result<Status, Failure>,
    },
    /// Answers `Digest`.
    Digested {
        /// The question's name.
        token: Handle,
        /// The SHA-256 of the octets, and how many they are.
        result: Result<([u8; 32], u64), Failure>,
    },
    /// Answers `Room`.
    Room {
        /// The question's name.
        token: Handle,
        /// In octets.
        result: Result<u64, Failure>,
    },
    /// Answers `MakeFolder`, `Set`, `Rename` and `Remove`.
    Done {
        /// The question's name.
        token: Handle,
        /// Whether it succeeded.
        result: Result<(), Failure>,
    },
}

impl<M> FilesIndication<M> {
    /// Returns the name that it is about.
    pub fn name(&self) -> Handle {
        match self {
            FilesIndication::Opened { file: name, .. }
            | FilesIndication::Read { file: name, .. }
            | FilesIndication::Entries { file: name, .. }
            | FilesIndication::Written { file: name, .. }
            | FilesIndication::Closed { file: name, .. }
            | FilesIndication::Stated { token: name, .. }
            | FilesIndication::Digested { token: name, .. }
            | FilesIndication::Room { token: name, .. }
            | FilesIndication::Done { token: name, .. } => *name,
        }
    }
}

impl<M> Word for FilesRequest<M> {
    type Message = M;

    fn primitive(&self) -> &'static str {
        match self {
            Self::Open { .. } => "Open",
            Self::Read { .. } => "Read",
            Self::Next { .. } => "Next",
            Self::Write { .. } => "Write",
            Self::Note { .. } => "Note",
            Self::Close { .. } => "Close",
            Self::Stat { .. } => "Stat",
            Self::Digest { .. } => "Digest",
            Self::Room { .. } => "Room",
            Self::MakeFolder { .. } => "MakeFolder",
            Self::Set { .. } => "Set",
            Self::Rename { .. } => "Rename",
            Self::Remove { .. } => "Remove",
            Self::Leave => "Leave",
        }
    }

    fn life(&self) -> Life {
        match self {
            Self::Read { .. }
            | Self::Next { .. }
            | Self::Write { .. }
            | Self::Note { .. }
            | Self::Close { .. }
            | Self::Leave => Life::Continues,
            _ => Life::Begins,
        }
    }

    fn name_mut(&mut self) -> Option<&mut Handle> {
        match self {
            Self::Open { file: name, .. }
            | Self::Read { file: name, .. }
            | Self::Next { file: name }
            | Self::Write { file: name, .. }
            | Self::Note { file: name, .. }
            | Self::Close { file: name, .. }
            | Self::Stat { token: name, .. }
            | Self::Digest { token: name, .. }
            | Self::Room { token: name, .. }
            | Self::MakeFolder { token: name, .. }
            | Self::Set { token: name, .. }
            | Self::Rename { token: name, .. }
            | Self::Remove { token: name, .. } => Some(name),
            Self::Leave => None,
        }
    }

    fn message(&self) -> Option<&M> {
        if let Self::Write { message, .. } = self { Some(message) } else { None }
    }
}

impl<M> Word for FilesIndication<M> {
    type Message = M;

    fn primitive(&self) -> &'static str {
        match self {
            Self::Opened { .. } => "Opened",
            Self::Read { .. } => "Read",
            Self::Entries { .. } => "Entries",
            Self::Written { .. } => "Written",
            Self::Closed { .. } => "Closed",
            Self::Stated { .. } => "Stated",
            Self::Digested { .. } => "Digested",
            Self::Room { .. } => "Room",
            Self::Done { .. } => "Done",
        }
    }

    fn life(&self) -> Life {
        match self {
            Self::Opened { .. }
            | Self::Read { .. }
            | Self::Entries { .. }
            | Self::Written { .. } => Life::Continues,
            _ => Life::Ends,
        }
    }

    fn name_mut(&mut self) -> Option<&mut Handle> {
        match self {
            Self::Opened { file: name, .. }
            | Self::Read { file: name, .. }
            | Self::Entries { file: name, .. }
            | Self::Written { file: name, .. }
            | Self::Closed { file: name, .. }
            | Self::Stated { token: name, .. }
            | Self::Digested { token: name, .. }
            | Self::Room { token: name, .. }
            | Self::Done { token: name, .. } => Some(name),
        }
    }

    fn message(&self) -> Option<&M> {
        if let Self::Read { message, .. } = self { Some(message) } else { None }
    }
}
