//! The state of the sessions of a server.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::mem;
use core::net::{IpAddr, SocketAddr};
use core::ops::Range;

use stackwright_base::{Subject, generate};
use stackwright_contract::services::Purpose;
use stackwright_contract::{Handle, Instant};

use super::moving::Coding;
use super::question::{Question, Style};
use super::{Config, Rights, TransferDirection, Trouble};
use crate::command::DEFLATE_LEVEL;
use crate::facts::Facts;
use crate::form::Form;
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

/// The longest command line, in octets: a path of PATH_MAX, and the verb.
pub(super) const LINE_MOST: usize = 4096 + 16;
/// Credit of a control association, in octets: how much a client may send before it is obeyed. It
/// is less than a line: what belongs to the line that is being gathered is given back.
pub(super) const CONTROL_CREDIT: usize = 2048;
/// Credit of a data association, in octets: how much may be on its way to the disk.
pub(super) const DATA_CREDIT: usize = 1 << 20;
/// The part of it that a client has without a login.
pub(super) const EARLY_CREDIT: usize = 16 << 10;
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
/// How many octets they may have.
pub(super) const WAITING_OCTETS_MOST: usize = LINE_MOST;
/// How many commands of one session are obeyed in one turn, so that the commands of one client do
/// not keep the other sessions and their transfers waiting.
pub(super) const OBEYED_MOST: usize = 32;
/// How many octets of replies a client may leave unread before no more of its commands are obeyed.
pub(super) const UNSENT_MOST: usize = 4096;
/// How many octets of replies may be on their way in the layers below, whatever credit they give:
/// what waits there is memory, too, and more of it than here where it is in small pieces.
pub(super) const REPLIES_MOST: usize = 2048;
/// How many octets of memory for what arrives a session keeps when it is parsed: short lines.
pub(super) const RAW_KEPT: usize = 64;
/// How many octets of memory for replies a session keeps when all are sent.
pub(super) const UNSENT_KEPT: usize = 1024;
/// How many wrong passwords end a session.
pub(super) const TRIES_MOST: u8 = 5;
/// How many clients may arrive in one batch.
pub(super) const ARRIVALS: usize = 16;
/// How many clients that are told to come again later may still be connected; the others are
/// reset.
pub(super) const REFUSED_MOST: usize = 64;

/// What a handle given to the streams stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stream {
    /// A listener for all sessions, and how many associations wait for an arrival.
    Listener {
        awaited: usize,
        arrives: Arrives,
    },
    /// Waits for a client, or for its data.
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
    /// A client that was told to come again later. Only its end is awaited.
    Refused {
        until: Instant,
    },
}

/// What arrives at a listener.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrives {
    Client,
    /// One that begins with TLS.
    SecureClient,
    /// The data association of a session whose client has the same address and port.
    Data,
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
    Recital {
        session: Handle,
    },
    /// Its end is awaited by a later session, which takes over what was stored.
    TakenOver {
        by: Handle,
    },
    /// Only its end is awaited.
    Forgotten,
}

pub(super) struct Session<M> {
    pub(super) control: Control,
    pub(super) login: Login,
    /// When a client that has not logged in is sent away. No command of a stranger moves it.
    pub(super) login_until: Instant,
    pub(super) tries: u8,
    /// The working folder.
    pub(super) folder: String,
    /// The form of the next transfers (TYPE, MODE, STRU).
    pub(super) form: Form,
    /// The level of compression in MODE Z (OPTS).
    pub(super) level: u8,
    /// The octet at which the next transfer begins (REST).
    pub(super) restart: u64,
    /// The octets that the next RETR or HASH is about (RANG).
    pub(super) range: Option<Range<u64>>,
    /// What RNTO renames, if it is the next command.
    pub(super) rename_from: Option<String>,
    /// Whether `EPSV ALL` was sent.
    pub(super) epsv_only: bool,
    /// The facts of MLST and MLSD.
    pub(super) facts: Facts,
    /// Whether failed uploads are kept, to be resumed (ARST).
    pub(super) autorestart: bool,
    /// Whether replies have only the text that is needed (SUPP).
    pub(super) terse: bool,
    pub(super) protection: Protected,
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

/// How the associations of a session are protected (RFC 4217).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Protected {
    /// The control association is.
    pub(super) control: bool,
    /// PBSZ was sent, which PROT needs.
    pub(super) sized: bool,
    /// Data associations are.
    pub(super) data: bool,
    /// TLS began with the first octet: data associations are protected unless the client says PROT
    /// C.
    pub(super) from_start: bool,
    /// A data association has resumed the session of the control association: its client can, so
    /// one that does not is another's.
    pub(super) resumes: bool,
}

/// How far a client is with what it sends on an association.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum PeerHalf {
    Open,
    /// The end has arrived, and octets before it may wait.
    Ending,
    /// All octets are here.
    Finished,
    /// And the association has ended.
    Over,
}

/// The control association.
pub(super) struct Control {
    pub(super) name: Handle,
    pub(super) peer: SocketAddr,
    pub(super) local: SocketAddr,
    pub(super) lines: Lines,
    /// Octets that arrived while enough lines waited: as lines, the shortest take many times the
    /// memory.
    pub(super) raw: Vec<u8>,
    /// Lines that arrived and were not obeyed.
    pub(super) waiting: VecDeque<LineEvent>,
    /// The octets of these lines.
    pub(super) waiting_octets: usize,
    /// Octets that arrived and for which no credit was given back.
    pub(super) withheld: usize,
    /// How many commands were obeyed in this turn.
    pub(super) obeyed: usize,
    /// Replies that the end of the batch sends, or for which there is no credit.
    pub(super) unsent: Vec<u8>,
    pub(super) credit: usize,
    pub(super) half: PeerHalf,
    /// Its end arrived while the data association was open still, or where there was none: what an
    /// upload has then is not a whole file.
    pub(super) ended_first: bool,
    pub(super) leaving: Leaving,
    /// Whether TLS begins behind the replies that are gathered.
    pub(super) secures: bool,
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
    User { name: String, rights: Rights },
}

/// The state of the next data association.
pub(super) enum Data<M> {
    Absent,
    /// PASV or EPSV was sent; the address of the listener is awaited.
    Listening {
        listener: Handle,
        extended: bool,
        /// The ports that are tried next, where this one is taken.
        ports: Ports,
    },
    /// The client was told the address, and may connect.
    Awaited {
        listener: Handle,
        association: Handle,
    },
    /// A client has connected, and TLS begins. Another may come instead while it is not known
    /// whether it is the right one.
    Securing {
        listener: Option<Handle>,
        link: Link<M>,
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
    /// Credit that the peer gets with its transfer: before a login it would cost memory.
    pub(super) withheld: usize,
    /// What arrived before the file was open, or while the disk is busy.
    pub(super) early: Option<M>,
    pub(super) half: PeerHalf,
    /// Whether this end has sent everything.
    pub(super) finished: bool,
    /// Whether it is open after a transfer, for another one.
    pub(super) kept: bool,
}

impl<M> Link<M> {
    pub(super) fn new(association: Handle, credit: usize) -> Self {
        Link {
            association,
            credit_most: credit,
            credit,
            withheld: 0,
            early: None,
            half: PeerHalf::Open,
            finished: false,
            kept: false,
        }
    }
}

/// Ports that may be listened on, of a configured range.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Ports {
    pub(super) next: u16,
    pub(super) left: u16,
}

/// What a session is busy with. Further commands wait until it is idle.
pub(super) enum Work<M> {
    Idle,
    /// An answer of the disk about this path is awaited.
    Asked(Question, String),
    /// The reply to a wrong password is withheld until the deadline.
    Penalty,
    /// This password is not tried before the deadline: too many from that address were wrong.
    Delayed(String),
    /// TLS begins on the control association.
    Securing,
    /// A listing in the reply.
    Recital(Recital),
    Transfer(Transfer<M>),
}

/// A listing in the reply to STAT.
pub(super) struct Recital {
    pub(super) file: File,
    /// Whether more entries are awaited; otherwise the client reads slowly.
    pub(super) asked: bool,
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
    pub(super) purpose: Purpose,
    /// How many octets the file had that is being stored: with fewer, what is behind them would
    /// stay.
    pub(super) least: u64,
    /// The end of an upload that is being kept as a part.
    pub(super) ending: Option<Ending>,
}

impl<M> Transfer<M> {
    pub(super) fn stores(&self) -> bool {
        matches!(self.motion, Motion::Store { .. })
    }

    /// Returns the file, if what was stored of it can be kept as a part.
    pub(super) fn part(&self) -> Option<Handle> {
        match (self.file, self.purpose) {
            (File::Open(file), Purpose::Create { from: 0 } | Purpose::Part | Purpose::Resume)
            | (File::Opening(file), Purpose::Part | Purpose::Resume) => Some(file),
            _ => None,
        }
    }
}

/// The end of a transfer that is not whole.
pub(super) struct Ending {
    pub(super) trouble: Trouble,
    pub(super) code: u16,
    pub(super) text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum File {
    /// A listing of one file needs none.
    Absent,
    /// It is opened when this one is closed: that of the upload which is taken over.
    Awaiting(Handle),
    Opening(Handle),
    Open(Handle),
    /// A stored file is getting its name.
    Keeping(Handle),
    /// What was stored is being kept as a part.
    Parting(Handle),
}

/// The direction of the octets, and how far they are.
pub(super) enum Motion<M> {
    Retrieve {
        next: u64,
        /// The first octet that is not wanted (RANG).
        until: u64,
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
        style: Style,
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
    pub(super) fn new(control: Control, now: Instant, config: &Config) -> Self {
        Session {
            control,
            login: Login::Stranger,
            login_until: now + config.login_wait,
            tries: 0,
            folder: "/".into(),
            form: Form::INITIAL,
            level: DEFLATE_LEVEL,
            restart: 0,
            range: None,
            rename_from: None,
            epsv_only: false,
            facts: Facts::default(),
            autorestart: false,
            terse: config.terse,
            protection: Protected::default(),
            data: Data::Absent,
            work: Work::Idle,
            lingering: None,
            deadline: now + config.idle,
            looked_at: Instant::END,
        }
    }

    /// Forgets everything that commands have set (REIN). How often the password was wrong is not
    /// forgotten. `terse`: how sessions begin.
    pub(super) fn begin_anew(&mut self, login_until: Instant, terse: bool) {
        self.log_out(Login::Stranger, login_until);
        self.folder = "/".into();
        (self.restart, self.range, self.rename_from) = (0, None, None);
        (self.epsv_only, self.facts) = (false, Facts::default());
        (self.form, self.level) = (Form::INITIAL, DEFLATE_LEVEL);
        (self.autorestart, self.terse) = (false, terse);
        // The association stays what it is; what it was used for does not.
        let Protected { control, from_start, resumes, .. } = self.protection;
        let data = from_start;
        self.protection = Protected { control, sized: false, data, from_start, resumes };
    }

    /// Forgets who is logged in. A client that was not wins no time by that.
    pub(super) fn log_out(&mut self, login: Login, login_until: Instant) {
        if let Login::User { .. } = mem::replace(&mut self.login, login) {
            self.login_until = login_until;
        }
    }

    pub(super) fn rights(&self) -> Option<Rights> {
        match self.login {
            Login::User { rights, .. } => Some(rights),
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

    /// Returns whose upload of which file it is that writes a part, or waits for it.
    pub(super) fn upload(&self) -> Option<(&str, IpAddr, &str)> {
        match (&self.login, &self.work) {
            (Login::User { name, .. }, Work::Transfer(Transfer { path, purpose, .. })) => {
                let is_part = matches!(purpose, Purpose::Part | Purpose::Resume);
                is_part.then(|| (name.as_str(), self.control.peer.ip(), path.as_str()))
            }
            _ => None,
        }
    }

    /// Returns the open data association, of a transfer or of the next one.
    pub(super) fn link(&mut self) -> Option<&mut Link<M>> {
        match (&mut self.data, &mut self.work) {
            (Data::Arrived(link) | Data::Securing { link, .. }, _) => Some(link),
            (_, Work::Transfer(Transfer { link, .. })) => link.as_mut(),
            _ => None,
        }
    }

    /// Returns whether no data association was arranged. Where they are `merged`, nothing is
    /// arranged before they come.
    pub(super) fn lacks_data(&self, merged: bool) -> bool {
        let has_link = matches!(&self.work, Work::Transfer(Transfer { link: Some(_), .. }));
        matches!(self.data, Data::Absent) && !has_link && !merged
    }

    /// Returns the name of the data association that is not at the disposal of a transfer yet.
    pub(super) fn coming(&self) -> Option<Handle> {
        match &self.data {
            Data::Awaited { association, .. } | Data::Opening { association } => Some(*association),
            Data::Securing { link, .. } => Some(link.association),
            _ => None,
        }
    }

    /// Returns how far the client is on that; where there is none, it may still come.
    fn data_half(&self) -> PeerHalf {
        match (&self.data, &self.work) {
            (Data::Arrived(link) | Data::Securing { link, .. }, _)
            | (_, Work::Transfer(Transfer { link: Some(link), .. })) => link.half,
            _ => PeerHalf::Open,
        }
    }

    /// Notes that the end of the control association has arrived, if that is new.
    pub(super) fn control_ends(&mut self) {
        if self.control.half == PeerHalf::Open {
            self.control.ended_first = self.data_half() == PeerHalf::Open;
            self.control.half = PeerHalf::Ending;
        }
    }

    /// Returns whether a file is being stored, and not all of it is here, whose client is gone.
    pub(super) fn is_forsaken(&self) -> bool {
        let Work::Transfer(Transfer { motion: Motion::Store { .. }, file, .. }) = &self.work else {
            return false;
        };
        matches!(file, File::Awaiting(_) | File::Opening(_) | File::Open(_))
            && self.control.is_gone()
            && self.data_half() < PeerHalf::Finished
    }
}

impl Stream {
    /// Returns until when it may linger, if it does.
    pub(super) fn lingers_until(&self) -> Option<Instant> {
        match self {
            Stream::Lingering { until } | Stream::Refused { until } => Some(*until),
            _ => None,
        }
    }
}

impl Control {
    /// Takes a command that waits, the first or a later one.
    #[inline]
    pub(super) fn take(&mut self, place: usize) -> Option<LineEvent> {
        let event = match place {
            0 => self.waiting.pop_front(),
            later => self.waiting.remove(later),
        }?;
        self.waiting_octets -= event.length();
        Some(event)
    }

    /// Returns whether few enough lines wait.
    pub(super) fn has_few(&self) -> bool {
        self.waiting.len() < WAITING_MOST && self.waiting_octets < WAITING_OCTETS_MOST
    }

    /// Makes lines of what arrived.
    pub(super) fn parse(&mut self) {
        if self.raw.is_empty() {
            return;
        }
        let mut parsed = 0;
        while parsed < self.raw.len() && self.has_few() {
            let (event, taken) = self.lines.feed(&self.raw[parsed..]);
            parsed += taken;
            if let Some(event) = event {
                self.waiting_octets += event.length();
                self.waiting.push_back(event);
            }
        }
        self.raw.drain(..parsed);
        if self.raw.is_empty() && self.raw.capacity() > RAW_KEPT {
            self.raw = Vec::new();
        }
    }

    /// Returns whether the client closed it without QUIT, and before the data association ended:
    /// that aborts what runs (RFC 959 §4.1.1).
    pub(super) fn is_gone(&self) -> bool {
        let quits = |event: &LineEvent| matches!(event, LineEvent::Line(line) if line.trim().eq_ignore_ascii_case("QUIT"));
        self.half >= PeerHalf::Finished && self.ended_first && !self.waiting.iter().any(quits)
    }

    /// Returns whether that end has arrived, but not yet what the client said before it.
    pub(super) fn ends_first(&self) -> bool {
        self.half == PeerHalf::Ending && self.ended_first
    }

    /// Returns whether nothing can be said there any more.
    pub(super) fn is_over(&self) -> bool {
        self.half == PeerHalf::Over
    }

    /// Says nothing any more.
    pub(super) fn hush(&mut self) {
        self.leaving = Leaving::Finished;
        self.forget_waiting();
        (self.credit, self.withheld, self.unsent) = (0, 0, Vec::new());
    }

    /// Forgets what waits.
    pub(super) fn forget_waiting(&mut self) {
        (self.waiting, self.waiting_octets) = (VecDeque::new(), 0);
        self.raw = Vec::new();
    }

    pub(super) fn new(name: Handle, local: SocketAddr, peer: SocketAddr, credit: usize) -> Self {
        Control {
            name,
            peer,
            local,
            lines: Lines::new(LINE_MOST),
            raw: Vec::new(),
            waiting: VecDeque::new(),
            waiting_octets: 0,
            withheld: 0,
            obeyed: 0,
            unsent: Vec::new(),
            credit: credit.min(REPLIES_MOST),
            half: PeerHalf::Open,
            ended_first: false,
            leaving: Leaving::No,
            secures: false,
            due: false,
        }
    }
}
