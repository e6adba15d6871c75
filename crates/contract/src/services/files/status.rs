//! What there is under a name: its kind, its size, its times; entries of folders.

use alloc::string::String;

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
