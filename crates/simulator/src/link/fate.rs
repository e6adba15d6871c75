//! The fate of one packet, beyond what happens to all of them.

use serde::{Deserialize, Serialize};
use stackwright_contract::Duration;

use super::description::time;

/// A deed: one thing that happens to a packet.
///
/// In a file: `"lose"`, `{ delay = { by = "5 ms" } }`, `{ alter = { bit = 7 } }` and so on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Deed {
    /// It never arrives. A stream's segment is sent again, and is late.
    Lose,
    /// A copy of it arrives too.
    Duplicate {
        /// How much later than a packet without deeds.
        #[serde(with = "time")]
        by: Duration,
    },
    /// It arrives later. Those behind it wait for it if the link keeps the order.
    Delay {
        /// How much later. A stream's segment with [`NEVER`](Deed::NEVER) does not arrive at all.
        #[serde(with = "time")]
        by: Duration,
    },
    /// It arrives later, and those behind it overtake it.
    HoldBack {
        /// How much later.
        #[serde(with = "time")]
        by: Duration,
    },
    /// One of its bits is flipped.
    Alter {
        /// The bit: see [`LinkPacket::alter`](crate::LinkPacket::alter).
        bit: u64,
    },
}

impl Deed {
    /// The delay of a packet that never arrives.
    pub const NEVER: Duration = Duration::from_nanos(u64::MAX);
}

/// A deed that happened, or is to happen, to one of the packets offered to a link. A packet may
/// have several.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// The packet's number, counted from 0 in the order of offers.
    pub nth: u64,
    /// What happens to it.
    pub deed: Deed,
}

/// Everything that happens to one packet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Fate {
    pub(super) lost: bool,
    /// How late its copy is, if there is one.
    pub(super) twin: Option<Duration>,
    pub(super) late: Duration,
    pub(super) held: Duration,
    /// The bits that are flipped. A packet without needs no allocation.
    pub(super) altered: Vec<u64>,
}

impl Fate {
    pub(super) fn add(&mut self, deed: Deed) {
        match deed {
            Deed::Lose => self.lost = true,
            Deed::Duplicate { by } => self.twin = Some(by),
            Deed::Delay { by } => self.late = self.late.saturating_add(by),
            Deed::HoldBack { by } => self.held = self.held.saturating_add(by),
            Deed::Alter { bit } => self.altered.push(bit),
        }
    }

    /// Iterates over the deeds that, added to an empty fate, make this one.
    pub(super) fn deeds(&self) -> impl Iterator<Item = Deed> {
        let late = |by: Duration| (!by.is_zero()).then_some(by);
        let lost = self.lost.then_some(Deed::Lose);
        let twin = self.twin.map(|by| Deed::Duplicate { by });
        let delay = late(self.late).map(|by| Deed::Delay { by });
        let held = late(self.held).map(|by| Deed::HoldBack { by });
        let altered = self.altered.iter().map(|bit| Deed::Alter { bit: *bit });
        lost.into_iter().chain(twin).chain(altered).chain(delay).chain(held)
    }
}
