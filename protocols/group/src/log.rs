//! The casts of a view that some member may lack. Every member keeps them, and can repeat them.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use stackwright_contract::services::{Batch, Credit, GroupProperties};
use stackwright_wire::Message;

/// Casts of one sender that may lie beyond a gap, at most.
pub(crate) const AHEAD_MOST: u32 = 4096;

/// The log of a view, by sender.
pub(crate) struct Log<M> {
    senders: Vec<Sender<M>>,
    /// Of each sender all up to this number were delivered.
    have: Vec<u32>,
}

struct Sender<M> {
    /// The number of the first that is kept.
    first: u32,
    casts: VecDeque<Option<Cast<M>>>,
}

/// A cast as it is kept.
pub(crate) struct Cast<M> {
    pub(crate) message: M,
    /// For whom, as its sender said it.
    pub(crate) to: GroupProperties,
}

impl<M: Message> Log<M> {
    /// Makes the log of a view with that many members.
    pub(crate) fn new(members: usize) -> Self {
        let sender = || Sender { first: 1, casts: VecDeque::new() };
        Log { senders: (0..members).map(|_| sender()).collect(), have: alloc::vec![0; members] }
    }

    /// Returns how many octets it keeps.
    #[cfg(test)]
    pub(crate) fn octets(&self) -> usize {
        let casts = self.senders.iter().flat_map(|sender| sender.casts.iter().flatten());
        casts.map(|cast| cast.message.len()).sum()
    }

    /// Returns whether it keeps no cast: all members have all of them, as far as it is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.senders.iter().all(|sender| sender.casts.is_empty())
    }

    /// Returns up to which number there is every cast of a sender, delivered or not.
    pub(crate) fn reach(&self, origin: usize) -> u32 {
        let have = self.have[origin];
        let ahead = (have + 1..).take_while(|number| self.get(origin, *number).is_some());
        have + ahead.count() as u32
    }

    /// Returns up to which number every cast of each sender was delivered.
    pub(crate) fn have(&self) -> &[u32] {
        &self.have
    }

    /// Keeps a cast; returns whether it is new, and not too far ahead of what is missing.
    pub(crate) fn insert(&mut self, origin: usize, number: u32, cast: Cast<M>) -> bool {
        let Some(have) = self.have.get(origin).copied() else { return false };
        if number <= have || number - have > AHEAD_MOST {
            return false;
        }
        let sender = &mut self.senders[origin];
        let place = (number - sender.first) as usize;
        if sender.casts.len() <= place {
            sender.casts.resize_with(place + 1, || None);
        }
        let is_new = sender.casts[place].is_none();
        if is_new {
            sender.casts[place] = Some(cast);
        }
        is_new
    }

    /// Returns the next cast of a sender in order, and its number, if it is here and `takes` it.
    pub(crate) fn next(
        &mut self,
        origin: usize,
        takes: impl FnOnce(&Cast<M>) -> bool,
    ) -> Option<(u32, &Cast<M>)> {
        let number = self.have[origin] + 1;
        let sender = &self.senders[origin];
        let cast = sender.casts.get((number - sender.first) as usize)?.as_ref()?;
        if !takes(cast) {
            return None;
        }
        self.have[origin] = number;
        Some((number, cast))
    }

    /// Returns a cast that is kept.
    pub(crate) fn get(&self, origin: usize, number: u32) -> Option<&Cast<M>> {
        let sender = self.senders.get(origin)?;
        sender.casts.get(number.checked_sub(sender.first)? as usize)?.as_ref()
    }

    /// Returns the first run of casts up to `upto` that are missing: its first number, and how
    /// many.
    pub(crate) fn missing(&self, origin: usize, upto: u32) -> Option<(u32, u32)> {
        let first = self.reach(origin) + 1;
        let run = (first..=upto.min(first.saturating_add(AHEAD_MOST)))
            .take_while(|number| self.get(origin, *number).is_none());
        let count = run.count() as u32;
        (count > 0).then_some((first, count))
    }

    /// Drops what all members have; returns what the casts of `me` among it cost.
    pub(crate) fn drop_stable(&mut self, upto: impl Fn(usize) -> u32, me: usize) -> Credit {
        let mut back = Credit::NONE;
        for (origin, sender) in self.senders.iter_mut().enumerate() {
            while sender.first <= upto(origin).min(self.have[origin]) {
                let cast = sender.casts.pop_front().flatten();
                sender.first += 1;
                if let Some(cast) = cast.filter(|_| origin == me) {
                    back += Batch::from(cast.message).cost();
                }
            }
        }
        back
    }
}
