//! Requests to a copy, and its indications.

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
        /// The side of the folder.
        side: CopySide,
        /// The path of the folder there.
        path: String,
    },
    /// Gives up all that is under way. Each copy answers with `Failed`, except one whose target is
    /// getting its name already: it ends with its own result.
    GiveUp,
}

/// What a copy tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Indication {
    /// Both files are open.
    Began {
        /// The source's size in octets, where it is known.
        size: Option<u64>,
        /// How many octets of it are there already.
        there: u64,
    },
    /// More octets of the file are written.
    Moved {
        /// How many since the beginning.
        octets: u64,
    },
    /// The file is whole, under its name.
    Copied {
        /// Its length in octets.
        octets: u64,
        /// How many of them were moved now.
        moved: u64,
        /// The time from the request to now.
        took: Duration,
    },
    /// Some entries of a folder.
    Entries {
        /// The entries, in the folder's order.
        entries: Vec<FolderEntry>,
    },
    /// The folder was listed to its end.
    Listed,
    /// A request failed. No file has the target's name that did not have it before; except where
    /// it was resumed and [damaged](Failure::Damaged), and was not checked first.
    Failed {
        /// The side that failed.
        side: CopySide,
        /// Why.
        failure: Failure,
    },
}
