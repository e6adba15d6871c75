//! The state of a client: its sessions with the server, and the jobs that were requested from
//! above.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;

use stackwright_contract::services::FolderEntry;
use stackwright_contract::{Handle, Instant};

use crate::reply::Replies;

/// Credit of a control association, in octets.
pub(super) const CONTROL_CREDIT: usize = 4096;
/// Credit for a file before its first read is requested, in octets.
pub(super) const FIRST_CREDIT: u64 = 256 << 10;
/// Credit for a listing, in octets.
pub(super) const LISTING_CREDIT: usize = 64 << 10;

/// What a handle given to the streams stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stream {
    Control {
        session: Handle,
    },
    /// A listener for one data association.
    DataListener {
        session: Handle,
    },
    Data {
        session: Handle,
    },
    /// Only its end is awaited. A server that does not close is cut off.
    Lingering {
        until: Instant,
    },
}

/// A session with the server: one control association.
pub(super) struct Session {
    pub(super) control: Handle,
    /// Both addresses of the control association, once it is open.
    pub(super) ends: Option<(SocketAddr, SocketAddr)>,
    pub(super) replies: Replies,
    /// Commands for which there is no credit.
    pub(super) unsent: Vec<u8>,
    pub(super) credit: usize,
    pub(super) credit_most: usize,
    pub(super) step: Step,
    /// What it works for.
    pub(super) job: Option<Handle>,
    pub(super) data: Data,
    /// Whether the server does not know EPSV.
    pub(super) only_pasv: bool,
    /// Whether this end of the control association is finished.
    pub(super) finished: bool,
    pub(super) deadline: Instant,
}

/// What the session waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Connecting,
    Greeting,
    User,
    Pass,
    Type,
    /// Logged in, nothing to do.
    Idle,
    Size,
    Epsv,
    Pasv,
    /// The listener of the data association.
    Listening,
    Port,
    Rest,
    /// RETR, STOR or LIST was sent.
    Begin,
    /// The server replied 1xx. The final reply may come before or after the end of the data.
    Moving,
    /// The server replied that it is done.
    Complete,
    /// ABOR was sent, and this many final replies are still to come.
    Aborting(u8),
    Quitting,
}

/// The data association of a session.
pub(super) enum Data {
    Absent,
    /// It was lost, and perhaps the server with it.
    Gone,
    /// A listener, and the association that waits for the server.
    Awaited {
        listener: Handle,
        association: Option<Handle>,
    },
    Opening {
        association: Handle,
    },
    Open {
        association: Handle,
        credit: usize,
    },
    /// The server has sent everything.
    Finished {
        association: Handle,
    },
}

impl Data {
    pub(super) fn association(&self) -> Option<Handle> {
        match self {
            Data::Absent | Data::Gone => None,
            Data::Awaited { association, .. } => *association,
            Data::Opening { association }
            | Data::Open { association, .. }
            | Data::Finished { association } => Some(*association),
        }
    }
}

/// A request from above, under the handle of the application.
pub(super) struct Job<M> {
    pub(super) path: String,
    pub(super) session: Option<Handle>,
    pub(super) what: What<M>,
}

pub(super) enum What<M> {
    Stat,
    Read(Read<M>),
    Create(Create<M>),
    List(List),
}

/// A file that is fetched.
pub(super) struct Read<M> {
    pub(super) size: Option<u64>,
    /// Reads that were requested and not answered, in order: offset and length.
    pub(super) asked: VecDeque<(u64, usize)>,
    /// Octets that arrived, and that no complete read takes yet.
    pub(super) gathered: Option<M>,
    /// Whether the first read was requested, and so the file is open.
    pub(super) begun: bool,
    /// Where the next read must begin.
    pub(super) next_asked: u64,
    /// Up to where the data association was given credit.
    pub(super) credit_to: u64,
    /// How many octets of the file have arrived, from its beginning.
    pub(super) position: u64,
    /// Whether all octets are here.
    pub(super) end: bool,
}

/// A file that is stored.
pub(super) struct Create<M> {
    pub(super) from: u64,
    pub(super) next: u64,
    /// What was written before the data association was open, and what it had no credit for.
    pub(super) unsent: VecDeque<M>,
    /// Whether `Close` was requested: all octets are here.
    pub(super) closing: bool,
    /// Whether this end of the data association is finished.
    pub(super) finished: bool,
}

/// A folder that is listed.
pub(super) struct List {
    pub(super) partial: Vec<u8>,
    pub(super) entries: Vec<FolderEntry>,
    /// Octets for which no credit was given back.
    pub(super) withheld: usize,
    pub(super) wanted: bool,
    pub(super) end: bool,
}
