//! What commands ask of the disk.

use alloc::string::String;
use core::ops::Range;

use stackwright_contract::pattern::Pattern;

/// The reason for which the disk was asked, and what happens with its answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Question {
    /// CWD
    Folder,
    /// SIZE, of the part that can be resumed or of the file.
    Size { part: bool },
    /// MDTM
    Modified,
    /// MLST
    Facts,
    /// STAT with a path
    Recital,
    /// LIST, NLST, MLSD
    List(Style),
    /// DELE
    Delete,
    /// RMD
    RemoveFolder,
    /// RNFR
    RenameFrom,
    /// REST and STOR, where parts are resumed
    Resume,
    /// HASH, XSHA256
    Digest { octets: Range<u64>, part: bool, hash: bool },
    /// AVBL
    Room,
    /// What was asked is done: RNTO, MKD and the like.
    Done(Deed),
}

/// What the disk does for a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Deed {
    Made,
    Removed,
    Renamed,
    Modified(u64),
    Mode,
}

/// How a listing looks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Style {
    /// As `ls -l`; the names of this pattern.
    Long(Option<Pattern>),
    /// Names alone, of this pattern and behind this folder.
    Names(Option<Pattern>, String),
    /// The facts of MLSD.
    Facts,
}
