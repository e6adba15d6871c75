//! Flow-control credit.

use core::ops::{AddAssign, SubAssign};

/// Flow-control credit: octets of payload, and the messages that they may be in. A
/// [`Transfer`](super::Transfer) says what a batch costs; streams charge no messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Credit {
    /// In octets of payload.
    pub octets: usize,
    /// In messages.
    pub messages: usize,
}

impl Credit {
    /// No credit.
    pub const NONE: Self = Credit { octets: 0, messages: 0 };

    /// Credit of one association of a layer that handles at once what it is given: used up only
    /// where a layer further on takes less.
    pub const ROOM: Self = Credit { octets: 1 << 20, messages: 1024 };

    /// Returns credit for octets of a stream.
    pub const fn of_octets(octets: usize) -> Self {
        Credit { octets, messages: 0 }
    }

    /// Returns whether `cost` is within this credit.
    #[inline]
    pub const fn covers(self, cost: Credit) -> bool {
        self.octets >= cost.octets && self.messages >= cost.messages
    }
}

impl AddAssign for Credit {
    #[inline]
    fn add_assign(&mut self, more: Credit) {
        self.octets += more.octets;
        self.messages += more.messages;
    }
}

impl SubAssign for Credit {
    #[inline]
    fn sub_assign(&mut self, cost: Credit) {
        self.octets -= cost.octets;
        self.messages -= cost.messages;
    }
}
