//! The associations below, and the streams inside them.

use alloc::collections::{BTreeMap, VecDeque};
use core::net::SocketAddr;

use stackwright_contract::{Handle, Instant, Participant};
use stackwright_wire::{Header, Message};

use crate::header::{CHUNK_MOST, ChunkHeader, ChunkKind, ChunkNumber, OpenChunk};

/// How many octets of a stream its receiver takes before it has said a word: its layer above may
/// have given less credit yet.
pub const CREDIT_FIRST: usize = CHUNK_MOST;
/// The octets that are free before a chunk, for the layers below.
const HEADROOM: usize = 64;
/// The least content that a chunk is cut to where there is little credit below: less is not worth
/// its header.
const CUT_LEAST: usize = 256;

/// What a name below stands for.
pub(crate) enum Below {
    /// The listener at which associations arrive.
    Listener { above: Handle },
    /// It waits at this one.
    Awaited { listener: Handle },
    /// An association, opened or being opened.
    Carrier(Handle),
}

/// A listener above.
pub(crate) struct Door {
    pub(crate) local: Participant,
    /// Its name below, if associations arrive there, too.
    pub(crate) below: Option<Handle>,
    /// Streams, each with its carrier, that came before a name waited for them.
    pub(crate) early: VecDeque<(Handle, u16)>,
}

/// An association below.
pub(crate) struct Carrier<M> {
    /// Its name below, until its last word.
    pub(crate) below: Option<Handle>,
    pub(crate) opened_here: bool,
    pub(crate) phase: Phase,
    pub(crate) local: Participant,
    pub(crate) remote: Participant,
    pub(crate) credit: usize,
    /// Chunks that wait for the end of the batch, or for credit.
    pub(crate) unsent: Option<M>,
    /// Octets that are no whole chunk yet.
    pub(crate) arrived: Option<M>,
    /// The chunk of data that is arriving: its stream, and how much is missing.
    pub(crate) arriving: Option<(u16, usize)>,
    pub(crate) streams: BTreeMap<u16, Stream<M>>,
    /// The number of the next stream that is opened here.
    pub(crate) next: u32,
    /// The least number of the next one that the peer opens.
    pub(crate) next_of_peer: u32,
    /// The stream that sent last.
    pub(crate) turn: u16,
    /// Whether the end of the batch looks at it.
    pub(crate) is_due: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    Opening,
    Open,
    /// Its end was requested, or has come: only its last word is awaited, and streams that have all
    /// that they need of it.
    Over,
}

/// A stream.
pub(crate) struct Stream<M> {
    pub(crate) owner: Owner,
    /// Its port here; 0: any.
    pub(crate) port: u16,
    pub(crate) peer_port: u16,
    /// What waits to be sent, and how much more the peer takes.
    pub(crate) queue: Option<M>,
    pub(crate) promise: usize,
    pub(crate) half: Half,
    /// What waits for credit of the layer above.
    pub(crate) arrived: Option<M>,
    pub(crate) up: usize,
    /// How much more the peer was told that it may send, and how much that was when it was told.
    pub(crate) told: usize,
    pub(crate) window: usize,
    pub(crate) peer_half: Half,
    /// Closed above: what arrives is discarded, and the peer's end waited for until then.
    pub(crate) closes: Option<Instant>,
}

/// Who has a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// The name above.
    Name(Handle),
    /// Nobody yet: it waits at this listener.
    Early(Handle),
}

/// How far one direction is: its end waits behind octets, or has passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Half {
    Open,
    Ending,
    Ended,
}

impl<M: Message> Carrier<M> {
    pub(crate) fn new(below: Handle, remote: Participant, opened_here: bool) -> Self {
        Carrier {
            below: Some(below),
            opened_here,
            phase: Phase::Opening,
            local: remote,
            remote,
            credit: 0,
            unsent: None,
            arrived: None,
            arriving: None,
            streams: BTreeMap::new(),
            next: u32::from(!opened_here),
            next_of_peer: u32::from(opened_here),
            turn: 0,
            is_due: false,
        }
    }

    /// Returns whether a stream of this number was opened, by whichever side.
    pub(crate) fn has_known(&self, stream: u16) -> bool {
        let stream = u32::from(stream);
        let bound = if self.is_of_peer(stream) { self.next_of_peer } else { self.next };
        stream < bound
    }

    pub(crate) fn is_of_peer(&self, stream: u32) -> bool {
        stream % 2 == u32::from(self.opened_here)
    }

    /// Returns how many octets wait for credit.
    pub(crate) fn waiting(&self) -> usize {
        self.unsent.as_ref().map_or(0, M::len)
    }

    fn push(&mut self, kind: ChunkKind, stream: u16, mut content: M) {
        content.push(&ChunkHeader { kind, stream, octets: content.len() as u16 });
        append(&mut self.unsent, content);
    }

    pub(crate) fn push_number(&mut self, kind: ChunkKind, stream: u16, number: u32) {
        let mut content = [0; ChunkNumber::LENGTH];
        ChunkNumber { number }.encode(&mut content);
        self.push(kind, stream, M::with_headroom(HEADROOM, &content));
    }

    pub(crate) fn push_open(&mut self, stream: u16, open: &OpenChunk) {
        let mut content = [0; OpenChunk::LENGTH];
        open.encode(&mut content);
        self.push(ChunkKind::Open, stream, M::with_headroom(HEADROOM, &content));
    }

    /// Makes a chunk of what a stream may send, if it leaves now. Returns its octets.
    pub(crate) fn push_data(&mut self, number: u16) -> usize {
        let room = self.credit.saturating_sub(self.waiting());
        let Some(stream) = self.streams.get_mut(&number).filter(|_| room > 0) else { return 0 };
        let cut = room.saturating_sub(ChunkHeader::LENGTH).clamp(CUT_LEAST, CHUNK_MOST);
        let octets = stream.queue.as_ref().map_or(0, M::len).min(stream.promise).min(cut);
        let part = split(&mut stream.queue, octets).filter(|_| octets > 0);
        let Some(part) = part else { return 0 };
        stream.promise -= octets;
        self.turn = number;
        self.push(ChunkKind::Data, number, part);
        octets
    }

    /// Says how much more may be sent, where that is worth a chunk, and the end behind the last
    /// octet.
    pub(crate) fn push_words(&mut self, number: u16) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        let credit = stream.tell();
        let ends = stream.half == Half::Ending && stream.queue.is_none();
        if ends {
            stream.half = Half::Ended;
        }
        if let Some(credit) = credit {
            self.push_number(ChunkKind::Credit, number, credit);
        }
        if ends {
            self.push(ChunkKind::Finish, number, M::with_headroom(HEADROOM, &[]));
        }
    }
}

impl<M: Message> Stream<M> {
    pub(crate) fn new(owner: Owner, ports: (u16, u16), up: usize) -> Self {
        Stream {
            owner,
            port: ports.0,
            peer_port: ports.1,
            queue: None,
            promise: CREDIT_FIRST,
            half: Half::Open,
            arrived: None,
            up,
            told: CREDIT_FIRST,
            window: CREDIT_FIRST,
            peer_half: Half::Open,
            closes: None,
        }
    }

    /// Returns the credit that the peer is told now: at least half of what it may have, once it has
    /// used half of what it had, so that a direction of few octets costs nothing.
    fn tell(&mut self) -> Option<u32> {
        let waiting = self.arrived.as_ref().map_or(0, M::len);
        let more = self.up.saturating_sub(waiting + self.told).min(u32::MAX as usize);
        let is_used = self.told <= self.window / 2 && self.peer_half == Half::Open;
        let tells = is_used && more > 0 && more >= self.told;
        if tells {
            self.told += more;
            self.window = self.told;
        }
        tells.then_some(more as u32)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.half == Half::Ended && self.peer_half == Half::Ended
    }

    pub(crate) fn name(&self) -> Option<Handle> {
        if let Owner::Name(name) = self.owner { Some(name) } else { None }
    }
}

/// Appends octets.
pub(crate) fn append<M: Message>(to: &mut Option<M>, octets: M) {
    match to {
        Some(before) => before.join(octets),
        none => *none = Some(octets),
    }
}

/// Splits at most so many octets off the front.
pub(crate) fn split<M: Message>(from: &mut Option<M>, octets: usize) -> Option<M> {
    let all = from.as_mut()?;
    if all.len() <= octets { from.take() } else { Some(all.split_to(octets)) }
}

/// Returns the same address with another port; one without ports stays.
pub(crate) fn with_port(of: Participant, port: u16) -> Participant {
    let Some(mut address) = of.internet() else { return of };
    address.set_port(port);
    Participant { interface: of.interface, ..address.into() }
}

/// Returns the host that an address is of, as the key of its associations.
pub(crate) fn host(of: SocketAddr) -> SocketAddr {
    let mut host = of;
    host.set_ip(of.ip().to_canonical());
    host.set_port(0);
    host
}

/// Returns the port of an address; 0 where it has none.
pub(crate) fn port(of: Participant) -> u16 {
    of.internet().map_or(0, |address| address.port())
}
