//! Files, asked of the side that has a disk, or of a protocol that reaches one.

use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::Range;

use crate::{CommandError, Fingerprint, Handle, Life, SecurityError, Service, Word};

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
        matches!(self, Self::Create { .. } | Self::Append | Self::New | Self::Resume)
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

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileKind {
    /// Octets.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, as a list of its folder shows it. Elsewhere links are followed, as far as
    /// they stay below the root.
    Link,
    /// Something else: a device, a link that leads to nothing. It cannot be read or written here.
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
    /// How many seconds later than `modified` it may be: 0 where that is told to the second.
    /// Otherwise it is as a list shows it, in a time zone that is not known.
    pub rough: u32,
    /// The permissions of owner, group and others, as Unix writes them (`0o644`), where they are
    /// known.
    pub mode: Option<u16>,
    /// The same number for the same file under whatever name, where it is known.
    pub unique: Option<u64>,
    /// Its version, where it is known.
    pub version: Option<FileVersion>,
}

/// What tells the versions of a file apart: a digest of its size, its time of modification, and
/// whatever else its side knows that changes with the octets. Two that are equal are of one
/// version, as far as that side can tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileVersion(u64);

impl FileVersion {
    /// Returns the version that has these facts (FNV-1a).
    pub fn of(facts: &[u8]) -> Self {
        let digest =
            |digest: u64, octet: &u8| (digest ^ u64::from(*octet)).wrapping_mul(0x100_0000_01b3);
        FileVersion(facts.iter().fold(0xcbf2_9ce4_8422_2325, digest))
    }

    /// Returns it as octets, to be kept.
    pub const fn to_octets(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    /// Returns the version that was kept.
    pub const fn from_octets(octets: [u8; 8]) -> Self {
        FileVersion(u64::from_be_bytes(octets))
    }
}

impl Status {
    /// Returns the status of a file or folder of which no more is known.
    pub const fn new(kind: FileKind, size: u64) -> Self {
        Status { kind, size, modified: None, rough: 0, mode: None, unique: None, version: None }
    }

    /// Returns whether it is known to the second when it was modified.
    pub const fn is_timed(&self) -> bool {
        self.modified.is_some() && self.rough == 0
    }
}

/// A name in a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FolderEntry {
    /// Without its folder.
    pub name: String,
    /// What is known of it.
    pub status: Status,
    /// Where a [link](FileKind::Link) leads to.
    pub target: Option<String>,
}

impl FolderEntry {
    /// Returns the entry of something that is no link.
    pub fn new(name: impl Into<String>, status: Status) -> Self {
        FolderEntry { name: name.into(), status, target: None }
    }
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
    /// A file or folder has that name already.
    #[error("there is a file or folder of that name already")]
    Exists,
    /// A folder that is to be removed has entries.
    #[error("the folder is not empty")]
    NotEmpty,
    /// The name cannot be a file's name, or names the wrong kind of thing.
    #[error("the name does not fit")]
    BadName,
    /// No room.
    #[error("there is no room left on the disk")]
    Full,
    /// The file has fewer octets than the transfer counts on.
    #[error("the file is shorter than expected")]
    Short,
    /// The octets are not those that were sent.
    #[error("what arrived is not what was sent")]
    Damaged,
    /// The disk reports an error.
    #[error("the disk reports an error")]
    Broken,
    /// The far side says what the protocol does not allow.
    #[error("the other side does not keep to the protocol")]
    Garbled,
    /// A listing of which nothing was understood: of a form that belongs to this system.
    #[error("the listing is of a form that is not known ({0})")]
    UnknownListing(&'static str),
    /// The far side cannot prove its identity.
    #[error("{}", CommandError::Insecure { why: *.why, certificate: *.certificate })]
    Untrusted {
        /// What is wrong with its certificate.
        why: SecurityError,
        /// The certificate: for a person to compare and pin.
        certificate: Option<Fingerprint>,
    },
    /// The connection to the far side cannot be kept secret.
    #[error("the connection is not secure: {0}")]
    Insecure(SecurityError),
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
