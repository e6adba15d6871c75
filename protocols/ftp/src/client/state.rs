//! The state of a client: its sessions with the server, and the jobs that were requested from
//! above.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;

use stackwright_contract::services::{
    Failure, FileKind, FileVersion, FolderEntry, Purpose, Status,
};
use stackwright_contract::{Handle, Instant};

use super::ahead::{Before, NextPort};
use super::deed::Deed;
use super::features::Features;
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
    /// Commands that wait for the replies to those before them.
    pub(super) held: VecDeque<String>,
    /// How many commands were sent whose final reply is still to come.
    pub(super) unanswered: u32,
    /// Whether the server is known to execute several commands that arrive together.
    pub(super) pipelines: bool,
    /// Whether the server has accepted the user.
    pub(super) is_logged_in: bool,
    pub(super) credit: usize,
    pub(super) credit_most: usize,
    /// The number of its TLS sessions, which no other session of the client has.
    pub(super) group: u64,
    pub(super) step: Step,
    /// The step whose command was sent together with that of `step`: its reply is the next one.
    pub(super) then: Option<Step>,
    /// The commands whose replies come before.
    pub(super) before: VecDeque<Before>,
    pub(super) next_port: NextPort,
    /// Whether the server executes what is sent during a transfer when that is over.
    pub(super) lets_wait: bool,
    /// How many transfers have ended here.
    pub(super) transfers: u32,
    /// What it works for.
    pub(super) job: Option<Handle>,
    pub(super) data: Data,
    pub(super) features: Features,
    /// The folder into which the server put the user, once it was asked.
    pub(super) home: Option<String>,
    /// Whether the working folder is another one.
    pub(super) away: bool,
    /// Whether the server keeps what arrived of an upload (ARST).
    pub(super) autorestart: bool,
    /// Whether this end of the control association is finished.
    pub(super) finished: bool,
    pub(super) deadline: Instant,
}

/// What the session waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Connecting,
    /// The handshake of TLS.
    Securing,
    Greeting,
    Auth,
    User,
    Pass,
    /// PBSZ was sent, together with PROT.
    BufferSize,
    Protection,
    Type,
    /// FEAT was sent, together with TYPE.
    Features,
    /// Logged in, nothing to do.
    Idle,
    /// On the way back to the folder into which the server put the user.
    Home,
    /// ARST or NARS.
    Autorestart,
    /// MLST, or the commands that were there before it.
    Facts,
    Size,
    Modified,
    /// PWD, together with the CWD that follows.
    Working,
    /// CWD, which shows that there is such a folder.
    Folder,
    /// CWD, to a folder that is to be listed.
    Enter,
    /// STAT, of a folder whose list is empty.
    Recital,
    /// MLST or SIZE, which shows whether there is such a file.
    Exists,
    /// SIZE, together with ARST: of the file, and not of its part.
    SizeOfFile,
    /// SIZE, together with the command that arranges the data association.
    SizeBefore,
    /// The commands of a job that moves no data.
    Deed,
    Epsv,
    /// The reply to the EPSV that was sent ahead.
    Prepared,
    Pasv,
    /// The listener of the data association.
    Listening,
    Port,
    Rest,
    /// RETR, STOR, APPE, LIST or MLSD was sent.
    Begin,
    /// The server replied 1xx. The final reply may come before or after the end of the data.
    Moving,
    /// The server replied that it is done.
    Complete,
    /// ABOR was sent, and this many final replies are still to come.
    Aborting(u8),
    /// INTR was sent: the server keeps what arrived.
    Interrupting,
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
        /// Whether EPSV named the port.
        extended: bool,
    },
    Open {
        association: Handle,
        credit: usize,
        /// Whether it is secure, where it has to be.
        is_ready: bool,
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
            Data::Opening { association, .. }
            | Data::Open { association, .. }
            | Data::Finished { association } => Some(*association),
        }
    }
}

/// A request from above, under the handle of the application.
pub(super) struct Job<M> {
    pub(super) path: String,
    pub(super) session: Option<Handle>,
    /// Whether `Opened` was told.
    pub(super) opened: bool,
    pub(super) what: What<M>,
}

impl<M> Job<M> {
    /// Returns whether a transfer waits for it: what the server has of the file is compared.
    pub(super) fn is_awaited(&self) -> bool {
        matches!(&self.what, What::Deed(deed) if deed.is_of_part())
    }

    /// Returns whether it is about the part of an upload that was interrupted.
    pub(super) fn is_of_part(&self) -> bool {
        match &self.what {
            What::Stat(stat) => stat.part,
            What::Create(create) => create.purpose == Purpose::Resume,
            What::Deed(deed) => deed.is_of_part(),
            What::Read(_) | What::List(_) => false,
        }
    }
}

pub(super) enum What<M> {
    Stat(Stat),
    Read(Read<M>),
    Create(Create<M>),
    List(List),
    Deed(Deed),
}

/// A status that is asked.
pub(super) struct Stat {
    pub(super) part: bool,
    /// Whether it is known to be a file.
    pub(super) is_file: bool,
    /// What is known so far.
    pub(super) status: Status,
    /// What the server said to SIZE, if that was a refusal, or to CWD where it is listed.
    pub(super) refused: Option<Failure>,
}

impl Stat {
    pub(super) const fn new(part: bool) -> Self {
        Stat { part, is_file: part, status: Status::new(FileKind::File, 0), refused: None }
    }
}

/// A file that is fetched.
pub(super) struct Read<M> {
    /// Whether somebody looks at what arrives.
    pub(super) as_octets: bool,
    /// Whether its version has to be told.
    pub(super) versioned: bool,
    /// The version, if MLST told it.
    pub(super) version: Option<FileVersion>,
    /// What MDTM told.
    pub(super) stamp: Option<String>,
    /// Where the transfer begins that runs.
    pub(super) restart: u64,
    /// The size, if the server told it before or at the beginning of the transfer.
    pub(super) size: Option<u64>,
    /// Whether the server was asked for the size.
    pub(super) size_asked: bool,
    /// When it was modified, if the server was asked and told it.
    pub(super) modified: Option<u64>,
    /// Whether it was asked for that.
    pub(super) modified_asked: bool,
    /// Reads that were requested and not answered, in order: offset and length.
    pub(super) asked: VecDeque<(u64, usize)>,
    /// Octets that arrived, and that no complete read takes yet.
    pub(super) gathered: Option<M>,
    /// Whether the first read was requested.
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

impl<M> Default for Read<M> {
    fn default() -> Self {
        Read {
            as_octets: false,
            versioned: false,
            version: None,
            stamp: None,
            restart: 0,
            size: None,
            size_asked: false,
            modified: None,
            modified_asked: false,
            asked: VecDeque::new(),
            gathered: None,
            begun: false,
            next_asked: 0,
            credit_to: 0,
            position: 0,
            end: false,
        }
    }
}

/// A file that is stored.
pub(super) struct Create<M> {
    pub(super) purpose: Purpose,
    /// Octets that are there already, where it is known.
    pub(super) there: Option<u64>,
    /// The size of the file whose part is resumed, once it was asked; `None` inside: there is none.
    pub(super) file: Option<Option<u64>>,
    /// Where the next write must begin.
    pub(super) next: u64,
    /// What was written before the data association was open, and what it had no credit for.
    pub(super) unsent: VecDeque<M>,
    /// Whether `Close` was requested: all octets are here.
    pub(super) closing: bool,
    /// Whether this end of the data association is finished.
    pub(super) finished: bool,
}

impl<M> Create<M> {
    pub(super) fn new(purpose: Purpose) -> Self {
        let from = if let Purpose::Create { from } = purpose { from } else { 0 };
        let there = (!matches!(purpose, Purpose::Append | Purpose::Resume)).then_some(from);
        Create {
            purpose,
            there,
            file: None,
            next: from,
            unsent: VecDeque::new(),
            closing: false,
            finished: false,
        }
    }
}

/// A folder that is listed.
#[derive(Default)]
pub(super) struct List {
    pub(super) partial: Vec<u8>,
    /// Whether the line is longer than any that is read.
    pub(super) overlong: bool,
    /// Whether the server lists with MLSD.
    pub(super) facts: bool,
    pub(super) entries: Vec<FolderEntry>,
    /// What is known of a file that is listed, and is no folder.
    pub(super) of_file: Option<Stat>,
    /// How many entries there were.
    pub(super) read: u64,
    /// How many lines were not understood.
    pub(super) unknown: u64,
    /// Those of them that were not told.
    pub(super) left_out: Vec<String>,
    /// The system to which the form of one belongs.
    pub(super) system: Option<&'static str>,
    /// Whether something was said that belongs to a folder which was read: the folder itself, or
    /// the one above it.
    pub(super) has_itself: bool,
    /// How many blocks its files take, as it says.
    pub(super) blocks: u64,
    /// Whether it may not be all that is in the folder.
    pub(super) is_doubtful: bool,
    /// Whether the server denied in its last words that it has listed the folder.
    pub(super) is_denied: bool,
    /// Octets for which no credit was given back.
    pub(super) withheld: usize,
    pub(super) wanted: bool,
    pub(super) end: bool,
}
