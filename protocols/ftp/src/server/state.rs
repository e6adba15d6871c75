//! What a server knows of its clients.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::net::SocketAddr;

use stackwright_base::{Subject, generate};
use stackwright_contract::{Duration, Handle, Instant};

use super::{Rights, TransferDirection};
use crate::line::{LineEvent, Lines};

generate! {
    /// What the sessions of a server stand on, as in the documents (thesis §4.4): a session is
    /// found by the association below that it came with.
    strict pub(super) FtpBase<M> { session: Present, events: Simple, opening: ActivePassive }
}

/// What that base is filled with.
pub(super) struct Sessions<M>(PhantomData<fn() -> M>);

impl<M> Subject for Sessions<M> {
    /// The control association.
    type Key = Handle;
    type PassiveKey = ();
    type Association = Session<M>;
    type Enabled = ();
    /// Patience: the only one there is.
    type Timer = ();
}

/// The longest command line, in octets.
pub(super) const LINE_MOST: usize = 512;
/// Room on a control association: how much a client may say before it is heard.
pub(super) const CONTROL_ROOM: usize = 2048;
/// Room on a data association: how much may be on its way to the disk.
pub(super) const DATA_ROOM: usize = 1 << 20;
/// How many octets are asked of the disk at once.
pub(super) const READ_AT_ONCE: usize = 512 << 10;
/// How many octets are gathered while the disk writes others: a client that sends octet by octet
/// must not make a job of each.
pub(super) const WRITE_AT_ONCE: usize = 32 << 10;
/// How many commands may wait while one is obeyed.
pub(super) const WAITING_MOST: usize = 8;
/// How many commands of one session are obeyed in one turn, so that nobody's crowd of commands
/// keeps the other sessions and their transfers waiting.
pub(super) const OBEYED_MOST: usize = 32;
/// A client that does not read its replies is not heard beyond so many octets of them.
pub(super) const UNSENT_MOST: usize = 4096;
/// How many wrong passwords end a session.
pub(super) const TRIES_MOST: u8 = 5;
/// How many clients may arrive in one batch.
pub(super) const ARRIVALS: usize = 16;

/// What a name given to the streams stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stream {
    /// A listener for clients, and how many names wait for one.
    Door {
        awaited: usize,
    },
    /// Waits for a client.
    Arrival {
        door: Handle,
    },
    Control {
        session: Handle,
    },
    /// A listener for one data association.
    DataDoor {
        session: Handle,
    },
    /// A data association: awaited, being opened, or open.
    Data {
        session: Handle,
    },
    /// Nobody cares any more; its last word is awaited. A peer that does not let go is cut off.
    Lingering {
        until: Instant,
    },
}

/// What a name given to the files stands for.
#[derive(Clone, Debug)]
pub(super) enum FileUse {
    Transfer {
        session: Handle,
    },
    Question {
        session: Handle,
    },
    /// Nobody cares any more; its last word is awaited.
    Forgotten,
}

pub(super) struct Session<M> {
    pub(super) control: Control,
    pub(super) login: Login,
    pub(super) tries: u8,
    /// The working folder.
    pub(super) folder: String,
    /// Where the next transfer begins (REST).
    pub(super) restart: u64,
    /// After `EPSV ALL`.
    pub(super) epsv_only: bool,
    pub(super) data: Data<M>,
    pub(super) work: Work<M>,
    /// The data association of the last transfer, until the peer lets go of it.
    pub(super) lingering: Option<Handle>,
    /// When patience ends; what then, depends on `work`.
    pub(super) deadline: Instant,
    /// When its timer expires: then or before. A deadline that moves on costs one idle look, not a
    /// timer per event.
    pub(super) looked_at: Instant,
}

/// The control association.
pub(super) struct Control {
    pub(super) name: Handle,
    /// Where the client came in: its place is given again when it leaves.
    pub(super) door: Handle,
    pub(super) peer: SocketAddr,
    pub(super) local: SocketAddr,
    pub(super) lines: Lines,
    /// Heard, not obeyed.
    pub(super) waiting: VecDeque<LineEvent>,
    /// Octets heard for which no room was given back.
    pub(super) withheld: usize,
    /// How many commands were obeyed in this turn.
    pub(super) obeyed: usize,
    /// Replies that the end of the batch sends, or for which there is no room.
    pub(super) unsent: Vec<u8>,
    pub(super) credit: usize,
    /// The client will say no more.
    pub(super) peer_finished: bool,
    pub(super) leaving: Leaving,
    /// It is among the sessions that the end of the batch looks at.
    pub(super) due: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Leaving {
    No,
    /// The last reply was given.
    Said,
    /// Our end is finished.
    Finished,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Login {
    Stranger,
    Named(String),
    User(Rights),
}

/// How the next data association comes about.
pub(super) enum Data<M> {
    Absent,
    /// PASV or EPSV was asked; the listener's address is awaited.
    Listening {
        door: Handle,
        extended: bool,
    },
    /// The client was told where; it may come.
    Awaited {
        door: Handle,
        association: Handle,
    },
    /// The client came.
    Arrived(Link<M>),
    /// PORT or EPRT: we shall connect there.
    Target(SocketAddr),
    /// We connect there.
    Opening {
        association: Handle,
    },
}

/// An open data association.
pub(super) struct Link<M> {
    pub(super) association: Handle,
    /// The room when nothing is on its way.
    pub(super) room_most: usize,
    pub(super) credit: usize,
    /// What arrived before the file was open, or while the disk is busy.
    pub(super) early: Option<M>,
    /// The client has sent all.
    pub(super) peer_finished: bool,
    /// We have sent all.
    pub(super) finished: bool,
}

/// What a session is busy with. Further commands wait until it is idle.
pub(super) enum Work<M> {
    Idle,
    /// An answer of the disk is awaited.
    Asked(Question),
    /// A wrong password is not answered before the deadline.
    Penalty,
    Transfer(Transfer<M>),
}

/// Why the disk was asked for a status.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Question {
    Size,
    Folder { path: String },
    List { path: String, names_only: bool },
}

pub(super) struct Transfer<M> {
    pub(super) path: String,
    pub(super) file: File,
    pub(super) link: Option<Link<M>>,
    pub(super) motion: Motion<M>,
    pub(super) octets: u64,
    pub(super) began: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum File {
    /// A listing of one file needs none.
    Absent,
    Opening(Handle),
    Open(Handle),
    /// A stored file is getting its name.
    Keeping(Handle),
}

/// Which way the octets go, and how far they are.
pub(super) enum Motion<M> {
    Retrieve {
        next: u64,
        /// Lengths asked of the disk, in order.
        asked: VecDeque<usize>,
        /// So many octets were announced.
        expected: Option<u64>,
        end: bool,
    },
    Store {
        next: u64,
        /// On its way to the disk.
        unwritten: usize,
    },
    List {
        names_only: bool,
        /// Lines for which there is no room.
        text: Option<M>,
        asked: bool,
        end: bool,
    },
}

impl<M> Motion<M> {
    pub(super) fn direction(&self) -> TransferDirection {
        match self {
            Motion::Retrieve { .. } => TransferDirection::Sent,
            Motion::Store { .. } => TransferDirection::Received,
            Motion::List { .. } => TransferDirection::Listed,
        }
    }
}

impl<M> Session<M> {
    pub(super) fn new(control: Control, now: Instant, idle: Duration) -> Self {
        Session {
            control,
            login: Login::Stranger,
            tries: 0,
            folder: "/".into(),
            restart: 0,
            epsv_only: false,
            data: Data::Absent,
            work: Work::Idle,
            lingering: None,
            deadline: now + idle,
            looked_at: Instant::END,
        }
    }

    pub(super) fn rights(&self) -> Option<Rights> {
        match self.login {
            Login::User(rights) => Some(rights),
            _ => None,
        }
    }

    /// Whether nothing keeps the session busy, and the client reads its replies.
    pub(super) fn can_obey(&self) -> bool {
        matches!(self.work, Work::Idle)
            && !matches!(self.data, Data::Listening { .. })
            && self.control.leaving == Leaving::No
            && self.control.unsent.len() < UNSENT_MOST
    }

    pub(super) fn transfer(&mut self) -> Option<&mut Transfer<M>> {
        match &mut self.work {
            Work::Transfer(transfer) => Some(transfer),
            _ => None,
        }
    }
}

impl Control {
    pub(super) fn new(
        name: Handle,
        door: Handle,
        local: SocketAddr,
        peer: SocketAddr,
        credit: usize,
    ) -> Self {
        Control {
            name,
            door,
            peer,
            local,
            lines: Lines::new(LINE_MOST),
            waiting: VecDeque::new(),
            withheld: 0,
            obeyed: 0,
            unsent: Vec::new(),
            credit,
            peer_finished: false,
            leaving: Leaving::No,
            due: false,
        }
    }
}
