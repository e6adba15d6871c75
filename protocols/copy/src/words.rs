//! What is asked of a copy, and what it tells.

use alloc::string::String;
use alloc::vec::Vec;

use stackwright_contract::services::{Failure, FolderEntry};
use stackwright_contract::words::Speaks;
use stackwright_contract::{Duration, Service};
use stackwright_wire::Message;

/// The service of a copy.
#[derive(Debug)]
pub struct Copying;

impl Service for Copying {
    const NAME: &'static str = "Copying";
    type Request = Request;
    type Indication = Indication;
    type Name = ();
}

/// In a graph its words travel as an application's own.
impl<M: Message, B: Service> Speaks<M, B> for Copying {}

/// One of the two sides below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopySide {
    /// The first.
    Left,
    /// The second.
    Right,
}

impl CopySide {
    /// The other one.
    pub fn other(self) -> Self {
        match self {
            CopySide::Left => CopySide::Right,
            CopySide::Right => CopySide::Left,
        }
    }
}

/// What may be asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// Copy a file from one side to the other. Answered by `Copied` or `Failed`.
    Copy {
        /// Where the source lies.
        from: CopySide,
        /// Its path there.
        source: String,
        /// The path on the other side.
        target: String,
        /// Open the target before the source is known to exist. It saves time, and is right only
        /// where the target's side makes files whole or not at all.
        early: bool,
    },
    /// List a folder. Answered by `Entries` as often as there are some, then `Listed` or `Failed`.
    List {
        /// Which side.
        side: CopySide,
        /// Its path there.
        path: String,
    },
    /// Give up all that is under way. Each copy answers with `Failed`, but for one whose target is
    /// getting its name already: it ends as it ends.
    GiveUp,
}

/// What is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Indication {
    /// Both files are open.
    Began {
        /// The source's size in octets, where it is known.
        size: Option<u64>,
    },
    /// So many octets of the file are written.
    Moved {
        /// From the beginning.
        octets: u64,
    },
    /// The file is whole, under its name.
    Copied {
        /// Its length in octets.
        octets: u64,
        /// From the request to now.
        took: Duration,
    },
    /// Some names of a folder.
    Entries {
        /// In the folder's order.
        entries: Vec<FolderEntry>,
    },
    /// The folder was listed.
    Listed,
    /// It did not work; no file has the target's name that had it not before.
    Failed {
        /// Which side failed.
        side: CopySide,
        /// Why.
        failure: Failure,
    },
}
