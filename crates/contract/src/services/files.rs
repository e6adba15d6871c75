//! Files, asked of the side that has a disk, or of a protocol that reaches one.

use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::{Handle, Life, Service, Word};

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
    Read,
    /// To write a file that appears under its name only when it is closed with `keep`; until then
    /// what had that name stays as it was.
    Create {
        /// Octets of the file that has the name now which are taken over first; writing goes on
        /// behind them. It fails with [`Failure::Short`] where the file has fewer.
        from: u64,
    },
    /// To list a folder.
    List,
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
    /// Answered by `Closed`: the last word on this name.
    Close {
        /// The file.
        file: Handle,
        /// Whether a created file gets its name. Otherwise it leaves no trace.
        keep: bool,
    },
    /// Answered by `Stated`: the last word on this name.
    Stat {
        /// The question's name.
        token: Handle,
        /// The path.
        path: String,
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
    /// Removes a file, or an empty folder. Answered by `Done`: the last word on this name.
    Remove {
        /// The question's name.
        token: Handle,
        /// The file.
        path: String,
    },
}

/// What is told about files.
#[derive(Debug)]
pub enum FilesIndication<M> {
    /// Answers `Open`.
    Opened {
        /// The file.
        file: Handle,
        /// The size now, in octets, where it is known.
        size: Option<u64>,
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
        /// Whether it succeeded. After a failure a created file has left no trace.
        result: Result<(), Failure>,
    },
    /// Answers `Stat`.
    Stated {
        /// The question's name.
        token: Handle,
        /// The status.
        result: Result<Status, Failure>,
    },
    /// Answers `Rename` and `Remove`.
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
            | FilesIndication::Done { token: name, .. } => *name,
        }
    }
}

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileKind {
    /// Octets.
    File,
    /// A folder.
    Folder,
    /// Something else: a link, a device. It cannot be read or written here.
    Other,
}

/// The status of a file or folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// What it is.
    pub kind: FileKind,
    /// In octets; 0 for a folder.
    pub size: u64,
    /// In seconds since 1970-01-01 00:00 UTC, where it is known.
    pub modified: Option<u64>,
}

/// A name in a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FolderEntry {
    /// Without its folder.
    pub name: String,
    /// What is known of it.
    pub status: Status,
}

/// Why a request about a file failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// Nothing has that name.
    #[error("there is no such file or folder")]
    NotFound,
    /// Not allowed, or outside the root.
    #[error("that is not allowed")]
    Denied,
    /// The name cannot be a file's name, or names the wrong kind of thing.
    #[error("the name does not fit")]
    BadName,
    /// No room.
    #[error("there is no room left on the disk")]
    Full,
    /// The file has fewer octets than the transfer counts on.
    #[error("the file is shorter than expected")]
    Short,
    /// The disk reports an error.
    #[error("the disk reports an error")]
    Broken,
    /// What reaches the files (a connection, a server) is gone.
    #[error("the connection to the files was lost")]
    Lost,
    /// The far side did not accept the user or the password.
    #[error("the user name or the password was not accepted")]
    NotLoggedIn,
    /// The far side cannot do that.
    #[error("the other side cannot do that")]
    Unsupported,
    /// It took too long.
    #[error("the other side took too long")]
    Expired,
    /// The address does not answer.
    #[error("the other side cannot be reached")]
    Unreachable,
    /// Closed from above before it was complete.
    #[error("it was given up")]
    GivenUp,
}

impl<M> Word for FilesRequest<M> {
    type Message = M;

    fn primitive(&self) -> &'static str {
        match self {
            Self::Open { .. } => "Open",
            Self::Read { .. } => "Read",
            Self::Next { .. } => "Next",
            Self::Write { .. } => "Write",
            Self::Close { .. } => "Close",
            Self::Stat { .. } => "Stat",
            Self::Rename { .. } => "Rename",
            Self::Remove { .. } => "Remove",
        }
    }

    fn life(&self) -> Life {
        match self {
            Self::Open { .. } | Self::Stat { .. } | Self::Rename { .. } | Self::Remove { .. } => {
                Life::Begins
            }
            _ => Life::Continues,
        }
    }

    fn name_mut(&mut self) -> Option<&mut Handle> {
        match self {
            Self::Open { file: name, .. }
            | Self::Read { file: name, .. }
            | Self::Next { file: name }
            | Self::Write { file: name, .. }
            | Self::Close { file: name, .. }
            | Self::Stat { token: name, .. }
            | Self::Rename { token: name, .. }
            | Self::Remove { token: name, .. } => Some(name),
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
            Self::Done { .. } => "Done",
        }
    }

    fn life(&self) -> Life {
        match self {
            Self::Closed { .. } | Self::Stated { .. } | Self::Done { .. } => Life::Ends,
            _ => Life::Continues,
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
            | Self::Done { token: name, .. } => Some(name),
        }
    }

    fn message(&self) -> Option<&M> {
        if let Self::Read { message, .. } = self { Some(message) } else { None }
    }
}
