//! What is known and held: associations of both sides, packets that wait, and neighbours.

use alloc::collections::VecDeque;
use core::net::Ipv4Addr;

use stackwright_base::events::Ticket;
use stackwright_contract::services::{Credit, CreditBack, CreditGate, Datagrams};
use stackwright_contract::{Handle, Instant};
use stackwright_wire::Message;

use crate::packet::Packet;

/// Associations with next hops that are kept below.
pub(crate) const HOPS_MOST: usize = 64;
/// Packets that wait for a route (the send buffer).
pub(crate) const WAITING_MOST: usize = 50;
/// Packets that are kept until their next hop acknowledges (RexmtBufferSize).
pub(crate) const COPIES_MOST: usize = 50;
/// Next hops whose acknowledgements are kept in mind.
pub(crate) const NEIGHBORS_MOST: usize = 64;
/// Stations that are searched for at once.
pub(crate) const SEARCHES_MOST: usize = 32;
/// Requests and answers that wait for their jitter.
pub(crate) const DELAYED_MOST: usize = 8;
/// Initiators of requests, and requests of each, that are remembered (RequestTableSize,
/// RequestTableIds).
pub(crate) const INITIATORS_MOST: usize = 64;
pub(crate) const IDS_MOST: usize = 16;

/// An open name above.
pub(crate) struct Above {
    pub(crate) host: Ipv4Addr,
    pub(crate) to: To,
    /// Upward.
    pub(crate) credit: Credit,
    /// Whether `Opened` was told.
    pub(crate) told: bool,
}

/// Where an association above leads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum To {
    /// It is delivered what arrives.
    Link,
    /// To several, which need no route.
    Group,
    Host,
}

/// An association below.
pub(crate) enum Hop<M: Message> {
    /// What arrives.
    Link,
    To {
        host: Ipv4Addr,
        gate: CreditGate<Datagrams<M>>,
        is_open: bool,
        /// Packets for which no credit came back: they have not left yet.
        inside: usize,
        turn: u64,
    },
}

/// A packet on its way.
pub(crate) struct Kept<M: Message> {
    pub(crate) packet: Packet<M>,
    /// The last station of its route.
    pub(crate) to: Ipv4Addr,
    /// The association above that sent it; `None`: it is relayed.
    pub(crate) from: Option<Handle>,
    pub(crate) back: CreditBack,
    /// When it is of no use any more.
    pub(crate) until: Instant,
}

impl<M: Message> Kept<M> {
    /// Returns a copy, for which nobody gets credit.
    pub(crate) fn copy(&self) -> Self {
        Kept { packet: self.packet.share(), back: None, ..*self }
    }
}

/// A search for a station.
pub(crate) struct Search {
    /// Requests that were sent.
    pub(crate) tries: u8,
    pub(crate) timer: Ticket,
}

/// A station that is a next hop.
#[derive(Default)]
pub(crate) struct Neighbor<M: Message> {
    /// When it last proved that it is there.
    pub(crate) confirmed: Option<Instant>,
    pub(crate) asked: Option<Asked<M>>,
}

/// A next hop that was asked to acknowledge.
pub(crate) struct Asked<M: Message> {
    pub(crate) id: u16,
    pub(crate) tries: u8,
    /// How often the time was prolonged, because packets had not left, or it was heard meanwhile.
    pub(crate) prolonged: u8,
    /// Whether something has arrived from it since.
    pub(crate) heard: bool,
    pub(crate) timer: Ticket,
    /// What it was sent since; the first has the request in it, if it has a route.
    pub(crate) copies: VecDeque<Kept<M>>,
}

/// Requests of one initiator.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) turn: u64,
    pub(crate) ids: VecDeque<(u16, Ipv4Addr)>,
}

/// What is due at some time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// The next request for a station.
    Search(Ipv4Addr),
    /// An acknowledgement of a neighbour did not come.
    Asked(Ipv4Addr),
    /// A packet has waited for its route for too long.
    Waiting,
    /// A jitter is over.
    Delayed,
}
