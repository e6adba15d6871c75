//! What is requested of a tree, and what it tells.

use alloc::string::String;
use alloc::vec::Vec;

use stackwright_contract::Duration;

/// How a tree is copied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeOptions {
    /// The most files under way at once; at least 1.
    pub at_once: usize,
    /// Whether files and folders of the target are removed that the source does not have.
    pub delete: bool,
    /// If any, only files whose name matches one of these patterns are copied; folders always are.
    pub include: Vec<String>,
    /// Files and folders that match one of these patterns are neither copied nor removed. A pattern
    /// is matched with the name; one that holds `/`, with the path below the source.
    pub exclude: Vec<String>,
    /// Which files are not copied again.
    pub compare: Comparison,
    /// Whether a file goes on behind what an earlier copy left of it, as with
    /// [`Resume`](crate::Request::Resume); otherwise it is a [`Copy`](crate::Request::Copy).
    pub resume: bool,
    /// As in [`Resume`](crate::Request::Resume).
    pub checked_first: bool,
    /// As in [`Copy`](crate::Request::Copy).
    pub early: bool,
    /// Whether nothing is changed, and only told what would be.
    pub dry_run: bool,
}

impl Default for TreeOptions {
    fn default() -> Self {
        TreeOptions {
            at_once: 4,
            delete: false,
            include: Vec::new(),
            exclude: Vec::new(),
            compare: Comparison::SizeAndTime,
            resume: false,
            checked_first: false,
            early: false,
            dry_run: false,
        }
    }
}

/// Which files of a tree are taken for the same on both sides, and are not copied again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// None.
    Never,
    /// Those of the same size that were modified at the same time, as far as both sides tell it.
    SizeAndTime,
    /// Those of the same size.
    Size,
}

/// Why something below the source is not copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SkipReason {
    /// The target has it already.
    #[error("it is the same on both sides")]
    Same,
    /// It is a symbolic link, which is not followed.
    #[error("it is a symbolic link")]
    Link,
    /// It is neither a file nor a folder.
    #[error("it is neither a file nor a folder")]
    Other,
    /// Its name cannot be a name in the target folder, or its path is too long.
    #[error("its name does not fit")]
    BadName,
    /// It is a folder that is above itself.
    #[error("it is a folder that holds itself")]
    Loop,
    /// It is a folder with more names than are remembered.
    #[error("the folder has too many names")]
    TooLong,
    /// It is a folder, and more of them wait already than are remembered.
    #[error("too many folders wait already")]
    TooMany,
    /// Too many folders are above it.
    #[error("it is too deep")]
    TooDeep,
    /// An option excludes it.
    #[error("it is excluded")]
    Excluded,
    /// Its name cannot be used, or the line of the list that tells of it is not understood.
    #[error("it cannot be named, or the list does not tell it in a known form")]
    Unread,
    /// It is a folder whose list may not be complete, so nothing is removed from the target's.
    #[error("its list may not be complete, so nothing is removed there")]
    Doubtful,
}

/// What a tree did; in a dry run, what it would do.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TreeTotals {
    /// Folders that were entered.
    pub folders: u64,
    /// Files that were copied.
    pub files: u64,
    /// Their length in octets.
    pub octets: u64,
    /// How many of these were moved: the others were there.
    pub moved: u64,
    /// Files that were the same on both sides.
    pub same: u64,
    /// What else was skipped.
    pub skipped: u64,
    /// Files and folders that were removed.
    pub removed: u64,
    /// Files and folders that failed.
    pub failed: u64,
    /// The time from the request to now.
    pub took: Duration,
}
