//! Room that the layer above has, where more may be delivered than it has.

use stackwright_contract::services::Credit;

/// Credit, and what was delivered beyond it: that is paid back first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Room {
    credit: Credit,
    debt: Credit,
}

impl Room {
    pub(crate) const NONE: Self = Room { credit: Credit::NONE, debt: Credit::NONE };

    /// Adds credit.
    pub(crate) fn give(&mut self, credit: Credit) {
        self.credit += credit;
        self.settle();
    }

    /// Adds credit and takes what is not owed: what a layer hands on.
    pub(crate) fn pass(&mut self, credit: Credit) -> Credit {
        self.give(credit);
        self.take()
    }

    /// Uses up room that may not be there.
    pub(crate) fn use_up(&mut self, cost: Credit) {
        self.debt += cost;
        self.settle();
    }

    /// Returns whether there is room for a message of this cost.
    pub(crate) fn covers(&self, cost: Credit) -> bool {
        self.credit.covers(cost)
    }

    /// Takes what is not owed.
    pub(crate) fn take(&mut self) -> Credit {
        core::mem::take(&mut self.credit)
    }

    fn settle(&mut self) {
        let both = Credit {
            octets: self.credit.octets.min(self.debt.octets),
            messages: self.credit.messages.min(self.debt.messages),
        };
        self.credit -= both;
        self.debt -= both;
    }
}
