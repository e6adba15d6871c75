//! The table of neighbours: states, ages and the packets that wait (RFC 4861 §5.1, §7.3). ARP has
//! the same states.

use alloc::collections::{BTreeMap, VecDeque};
use core::net::IpAddr;

use stackwright_base::events::Ticket;
use stackwright_contract::{Handle, Instant, Names};
use stackwright_wire::Message;

use crate::stations::Queued;

/// How worthy something is to be kept: whether something was ever sent to it, and when it was used.
/// So a flood of strangers drives out itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct Used {
    pub(crate) sent: bool,
    pub(crate) turn: u64,
}

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

/// All neighbours.
pub(crate) struct Neighbors<M: Message> {
    names: Names<Neighbor<M>>,
    by_host: BTreeMap<IpAddr, Handle>,
    /// How many are configured.
    permanent: usize,
}

impl<M: Message> Neighbors<M> {
    /// Makes a table of those that are configured.
    pub(crate) fn new(permanent: &[(IpAddr, [u8; 6])]) -> Self {
        let mut neighbors =
            Neighbors { names: Names::new(), by_host: BTreeMap::new(), permanent: 0 };
        for (host, address) in permanent {
            let id = neighbors.add(*host, Used::default());
            if let Some(neighbor) = neighbors.names.get_mut(id) {
                (neighbor.state, neighbor.address) = (State::Permanent, *address);
            }
        }
        neighbors.permanent = neighbors.names.len();
        neighbors
    }

    pub(crate) fn find(&self, host: IpAddr) -> Option<Handle> {
        self.by_host.get(&host).copied()
    }

    pub(crate) fn get_mut(&mut self, id: Handle) -> Option<&mut Neighbor<M>> {
        self.names.get_mut(id)
    }

    /// Returns whether a solicitation for it is not answered yet.
    pub(crate) fn is_asked(&self, id: Handle) -> bool {
        let state = self.names.get(id).map(|neighbor| neighbor.state);
        matches!(state, Some(State::Incomplete | State::Probe))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Neighbor<M>> {
        self.names.iter().map(|(_, neighbor)| neighbor)
    }

    /// Adds a host whose address is not known. The caller makes room before.
    pub(crate) fn add(&mut self, host: IpAddr, used: Used) -> Handle {
        let id = self.names.name(Neighbor {
            host,
            state: State::Incomplete,
            address: [0; 6],
            tries: 0,
            timer: None,
            waiting: VecDeque::new(),
            from: None,
            used,
        });
        self.by_host.insert(host, id);
        id
    }

    pub(crate) fn remove(&mut self, id: Handle) -> Option<Neighbor<M>> {
        let neighbor = self.names.forget(id)?;
        self.by_host.remove(&neighbor.host);
        Some(neighbor)
    }

    /// Returns the neighbour whose place the next takes, where the table is full.
    pub(crate) fn least_used(&self) -> Option<Handle> {
        if self.names.len() - self.permanent < NEIGHBORS_MOST {
            return None;
        }
        let known = self.names.iter().filter(|(_, known)| known.state != State::Permanent);
        known.min_by_key(|(_, known)| known.used).map(|(id, _)| id)
    }
}
