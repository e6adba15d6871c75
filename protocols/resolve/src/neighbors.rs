//! The table of neighbours: states, ages and the packets that wait (RFC 4861 §5.1, §7.3). ARP has
//! the same states.

use alloc::collections::VecDeque;
use core::net::IpAddr;

use stackwright_base::events::Ticket;
use stackwright_contract::{Handle, Instant};
use stackwright_wire::Message;

use crate::Resolve;
use crate::stations::{Queued, Used};

/// How many neighbours are known at most, besides the configured ones.
const NEIGHBORS_MOST: usize = 256;
/// Packets that wait for the address of one neighbour at most (RFC 4861 §7.2.2).
pub(crate) const WAITING_MOST: usize = 3;

/// The states of RFC 4861 §7.3.2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Its address is asked for.
    Incomplete,
    /// It answered a short time ago. Stale after that time, which is noticed when it is used.
    Reachable(Instant),
    /// Its address is known, and may not be right any more.
    Stale,
    /// It is used, and given time to confirm that.
    Delay,
    /// It is asked whether it has its address still.
    Probe,
    /// It was configured.
    Permanent,
    /// It follows from the call sign of a station that was heard.
    Derived,
}

/// A host on the link.
pub(crate) struct Neighbor<M: Message> {
    pub(crate) host: IpAddr,
    pub(crate) state: State,
    /// Its link-layer address; not known in Incomplete.
    pub(crate) address: [u8; 6],
    /// Solicitations that were sent in this state.
    pub(crate) tries: u8,
    pub(crate) timer: Option<Ticket>,
    /// What waits for its address, in Incomplete.
    pub(crate) waiting: VecDeque<Queued<M>>,
    /// The own address from which it is asked: that of the first packet (RFC 4861 §7.2.2).
    pub(crate) from: Option<IpAddr>,
    pub(crate) used: Used,
}

impl<M: Message> Neighbor<M> {
    /// Returns a host whose address is not known.
    pub(crate) fn new(host: IpAddr, used: Used) -> Self {
        Neighbor {
            host,
            state: State::Incomplete,
            address: [0; 6],
            tries: 0,
            timer: None,
            waiting: VecDeque::new(),
            from: None,
            used,
        }
    }

    /// Returns whether a solicitation for it is not answered yet.
    pub(crate) fn is_asked(&self) -> bool {
        matches!(self.state, State::Incomplete | State::Probe)
    }
}

impl<M: Message> Resolve<M> {
    /// Returns the name of a host. All that are known are so few that they are looked through.
    pub(crate) fn neighbor(&self, host: IpAddr) -> Option<Handle> {
        self.neighbors.iter().find(|(_, known)| known.host == host).map(|(id, _)| id)
    }

    /// Returns the neighbour whose place the next takes, where the table is full.
    pub(crate) fn least_used(&self) -> Option<Handle> {
        let known = || self.neighbors.iter().filter(|(_, known)| known.state != State::Permanent);
        let is_full = known().count() >= NEIGHBORS_MOST;
        known().min_by_key(|(_, known)| known.used).map(|(id, _)| id).filter(|_| is_full)
    }
}
