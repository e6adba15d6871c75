//! The state of the sessions of a server.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::net::SocketAddr;

use stackwright_base::{Subject, generate};
use stackwright_contract::{Duration, Handle, Instant};

use super::moving::Coding;
use super::{Rights, TransferDirection};
use crate::form::Form;
use crate::form::deflate::LEVEL;
use crate::line::{LineEvent, Lines};

generate! {
    /// The base of the sessions, as in the documents (thesis §4.4): a session is found by its
    /// association below.
    strict pub(super) FtpBase<M> { session: Present, events: Simple, opening: ActivePassive }
}

/// The hooks of that base.
pub(super) struct Sessions<M>(PhantomData<fn() -> M>);

impl<M> Subject for Sessions<M> {
    /// The control association.
    type Key = Handle;
    type PassiveKey = ();
    type Association = Session<M>;
    type Enabled = ();
    /// The timeout of a session is the only timer.
    type Timer = ();
}

/// The longest command line, in octets.
pub(super) const LINE_MOST: usize = 512;
/// Credit of a control association, in octets: how much a client may send before it is obeyed.
pub(super) const CONTROL_CREDIT: usize = 2048;
/// Credit of a data association, in octets: how much may be on its way to the disk.
pub(super) const DATA_CREDIT: usize = 1 << 20;
/// How many octets are requested from the disk at once.
pub(super) const READ_AT_ONCE: usize = 512 << 10;
/// How many octets are requested from the disk at once where they are encoded, and made of what
/// arrives at once where that is decoded.
pub(super) const CODED_AT_ONCE: usize = 64 << 10;
/// How many octets are gathered while the disk writes others: a client that sends octet by octet
/// must not make a job of each.
pub(super) const WRITE_AT_ONCE: usize = 32 << 10;
/// How many commands may wait while one is obeyed.
pub(super) const WAITING_MOST: usize = 8;
/// How many commands of one session are obeyed in one turn, so that the commands of one client do
/// not keep the other sessions and their transfers waiting.
pub(super) const OBEYED_MOST: usize = 32;
/// How many octets of replies a client may leave unread before no more of its commands are obeyed.
pub(super) const UNSENT_MOST: usize = 4096;
/// How many wrong passwords end a session.
pub(super) const TRIES_MOST: u8 = 5;
/// How many clients may arrive in one batch.
pub(super) const ARRIVALS: usize = 16;

/// What a handle given to the streams stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stream {
    /// A listener for clients, and how many associations wait for one.
    Listener {
        awaited: usize,
    },
    /// Waits for a client.
    Arrival {
        listener: Handle,
    },
    Control {
        session: Handle,
    },
    /// A listener for one data association.
    DataListener {
        session: Handle,
    },
    /// A data association: awaited, being opened, or open.
    Data {
        session: Handle,
    },
    /// Only its end is awaited. A peer that does not close is cut off.
    Lingering {
        until: Instant,
    },
}

/// What a handle given to the files stands for.
#[derive(Clone, Debug)]
pub(super) enum FileUse {
    Transfer {
        session: Handle,
    },
    Question {
        session: Handle,
    },
    /// Only its end is awaited.
    Forgotten,
}

pub(super) struct Session<M> {
    pub(super) control: Control,
    pub(super) login: Login,
    pub(super) tries: u8,
    /// The working folder.
    pub(super) folder: String,
    /// The form of the next transfers (TYPE, MODE, STRU).
    pub(super) form: Form,
    /// The level of compression in MODE Z (OPTS).
    pub(super) level: u8,
    /// The octet at which the next transfer begins (REST).
    pub(super) restart: u64,
    /// Whether `EPSV ALL` was sent.
    pub(super) epsv_only: bool,
    pub(super) data: Data<M>,
    pub(super) work: Work<M>,
    /// The data association of the last transfer, until the peer closes it.
    pub(super) lingering: Option<Handle>,
    /// The end of the timeout; what happens then depends on `work`.
    pub(super) deadline: Instant,
    /// When its timer expires: then or before. A deadline that moves on costs one idle look, not a
    /// timer per event.
    pub(super) looked_at: Instant,
}

/// The control association.
pub(super) struct Control {
    pub(super) name: Handle,
    /// The listener at which the client arrived: its place is given again when the client leaves.
    pub(super) listener: Handle,
    pub(super) peer: SocketAddr,
    pub(super) local: SocketAddr,
    pub(super) lines: Lines,
    /// Lines that arrived and were not obeyed.
    pub(super) waiting: VecDeque<LineEvent>,
    /// Octets that arrived and for which no credit was given back.
    pub(super) withheld: usize,
    /// How many commands were obeyed in this turn.
    pub(super) obeyed: usize,
    /// Replies that the end of the batch sends, or for which there is no credit.
    pub(super) unsent: Vec<u8>,
    pub(super) credit: usize,
    /// Whether the client sends no more.
    pub(super) peer_finished: bool,
    pub(super) leaving: Leaving,
    /// Whether it is among the sessions that the end of the batch looks at.
    pub(super) due: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Leaving {
    No,
    /// The last reply was gathered.
    Said,
    /// This end is finished.
    Finished,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Login {
    Stranger,
    Named(String),
    User(Rights),
}

/// The state of the next data association.
pub(super) enum Data<M> {
    Absent,
    /// PASV or EPSV was sent; the address of the listener is awaited.
    Listening {
        listener: Handle,
        extended: bool,
    },
    /// The client was told the address, and may connect.
    Awaited {
        listener: Handle,
        association: Handle,
    },
    /// The client has connected.
    Arrived(Link<M>),
    /// PORT or EPRT was sent: the server shall connect to this address.
    Target(SocketAddr),
    /// The server is connecting.
    Opening {
        association: Handle,
    },
}

/// An open data association.
pub(super) struct Link<M> {
    pub(super) association: Handle,
    /// The credit when nothing is on its way.
    pub(super) credit_most: usize,
    pub(super) credit: usize,
    /// What arrived before the file was open, or while the disk is busy.
    pub(super) early: Option<M>,
    /// Whether the client has sent everything.
    pub(super) peer_finished: bool,
    /// Whether this end has sent everything.
    pub(super) finished: bool,
    /// Whether it is open after a transfer, for another one.
    pub(super) kept: bool,
}

/// What a session is busy with. Further commands wait until it is idle.
pub(super) enum Work<M> {
    Idle,
    /// An answer of the disk is awaited.
    Asked(Question),
    /// The reply to a wrong password is withheld until the deadline.
    Penalty,
    Transfer(Transfer<M>),
}

/// The reason for which the disk was asked for a status.
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
    pub(super) form: Form,
    pub(super) coding: Coding<M>,
    /// How many octets of the file, or of the listing, have moved.
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

/// The direction of the octets, and how far they are.
pub(super) enum Motion<M> {
    Retrieve {
        next: u64,
        /// The lengths requested from the disk, in order.
        asked: VecDeque<usize>,
        /// How many octets were announced.
        expected: Option<u64>,
        end: bool,
    },
    Store {
        next: u64,
        /// Octets on their way to the disk.
        unwritten: usize,
    },
    List {
        names_only: bool,
        /// Lines for which there is no credit.
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
            form: Form::default(),
            level: LEVEL,
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

    /// Returns whether nothing keeps the session busy, and the client reads its replies.
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
        listener: Handle,
        local: SocketAddr,
        peer: SocketAddr,
        credit: usize,
    ) -> Self {
        Control {
            name,
            listener,
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
