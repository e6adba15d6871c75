//! The associations that were requested, and their faults.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use stackwright_contract::Instant;

use crate::Segment;

/// Selects the associations that a fault affects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// Each of them.
    Any,
    /// The n-th that is requested in this world, counted from 0.
    Nth(usize),
    /// All that are requested of this address and port.
    To(SocketAddr),
}

/// A fault of an association. Octets of both directions are counted together, as they are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// When this many octets have passed, both sides see a reset, each when it reaches it.
    Cut {
        /// In octets.
        after: u64,
    },
    /// When this many octets have passed, nothing arrives any more, and neither side is told.
    Blackhole {
        /// In octets.
        after: u64,
    },
    /// The attempt to open it is refused.
    Refuse,
}

/// One association that was requested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Association {
    /// The side that opened it.
    pub from: SocketAddr,
    /// The side that was asked.
    pub to: SocketAddr,
    /// How many octets were sent on it so far, in both directions together.
    pub octets: u64,
    pub(super) fault: Option<Fault>,
    pub(super) passes: bool,
}

impl Association {
    /// Returns after how many octets it is over.
    pub(super) fn end(&self) -> Option<u64> {
        match self.fault? {
            Fault::Cut { after } | Fault::Blackhole { after } => Some(after),
            Fault::Refuse => None,
        }
    }
}

/// All associations, in the order in which they were requested.
#[derive(Clone, Debug, Default)]
pub(super) struct Associations {
    faults: Vec<(Which, Fault)>,
    pub(super) all: Vec<Association>,
    directions: BTreeMap<(SocketAddr, SocketAddr, u64), Direction>,
}

/// One direction of an association.
#[derive(Clone, Copy, Debug)]
pub(super) struct Direction {
    pub(super) association: usize,
    /// When the last segment arrives: none of this direction arrives before it.
    pub(super) last: Instant,
}

impl Associations {
    pub(super) fn fail(&mut self, which: Which, fault: Fault) {
        self.faults.push((which, fault));
    }

    /// Returns the direction of `segment`; the first segment between two makes it an association.
    pub(super) fn direction<M>(&mut self, segment: &Segment<M>) -> &mut Direction {
        let Segment { from, to, number, .. } = *segment;
        let Associations { directions, all, faults } = self;
        if !directions.contains_key(&(from, to, number)) {
            let association = all.len();
            let befalls = |which: &Which| match *which {
                Which::Any => true,
                Which::Nth(nth) => nth == association,
                Which::To(address) => address == to,
            };
            let fault = faults.iter().find(|(which, _)| befalls(which)).map(|(_, fault)| *fault);
            all.push(Association { from, to, octets: 0, fault, passes: true });
            let direction = Direction { association, last: Instant::START };
            directions.insert((from, to, number), direction);
            directions.insert((to, from, number), direction);
        }
        directions.get_mut(&(from, to, number)).expect("made above")
    }
}
