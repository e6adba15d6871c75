//! Views, the state at their beginning, and what becomes of operations on their way.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use stackwright_contract::Instant;
use stackwright_contract::services::{GroupNotice, GroupView, Rank};

use super::{Gift, Outcome, Pending, Replica, STATE_MOST};
use crate::log::{Applied, Known};
use crate::machine::Machine;
use crate::pieces::{Assembly, Front};

impl<S: Machine> Replica<S> {
    pub(super) fn told<M>(&mut self, now: Instant, notice: GroupNotice<M>) {
        match notice {
            GroupNotice::Block => (self.blocked, self.stops) = (true, true),
            GroupNotice::View(view) => self.enter(now, view),
            GroupNotice::StateWanted(to) => {
                let octets = self.snapshot.take().unwrap_or_else(|| self.snapshot());
                self.snapshot = Some(octets.clone());
                self.gifts.push_back(Gift { to, octets, left: 0 });
            }
            GroupNotice::Suspected(Rank(rank)) => {
                if let Some(suspect) = self.suspects.get_mut(usize::from(rank)) {
                    *suspect = true;
                }
                // What has not left is refused at once.
                if let Some(hindrance) = self.hindrance() {
                    self.casts.clear();
                    for Pending { token, octets, .. } in self.queue.drain(..) {
                        self.octets -= octets.len();
                        self.outcomes.push_back((token, Outcome::Refused(hindrance.clone())));
                    }
                }
            }
            GroupNotice::Heard(Rank(rank)) => {
                if let Some(suspect) = self.suspects.get_mut(usize::from(rank)) {
                    *suspect = false;
                }
            }
            GroupNotice::Held { by: Rank(by), upto, .. } if !upto.is_empty() => {
                if let Some(held) = self.held.get_mut(usize::from(by)) {
                    *held = upto.iter().map(|count| u64::from(*count)).sum();
                }
            }
            _ => {}
        }
    }

    pub(super) fn leave(&mut self) {
        (self.view, self.is_current) = (None, false);
    }

    fn enter(&mut self, now: Instant, view: Arc<GroupView>) {
        (self.blocked, self.stops, self.snapshot) = (false, false, None);
        self.casts.clear();
        self.gifts.clear();
        self.getting = Vec::new();
        self.suspects = view.members.iter().map(|_| false).collect();
        self.held = view.members.iter().map(|_| 0).collect();
        self.assemblies = view.members.iter().map(|_| Assembly::default()).collect();
        if view.me.is_none() {
            return self.leave();
        }
        // It has begun the group.
        if self.view.is_none() && view.members.len() == 1 {
            (self.has_state, self.is_current) = (true, true);
        }
        // The first member's clock goes on from the time that the group had.
        self.clock = (self.time_at(now), now);
        self.tells = now;
        self.view = Some(view);
        if self.is_current {
            self.repeat();
        }
    }

    /// What was cast and not answered, was not applied: all casts of the last view are delivered.
    fn repeat(&mut self) {
        while let Some(pending) = self.sent.pop_back() {
            self.queue.push_front(pending);
        }
    }

    /// The state is there: it says what was applied while this replica was not in the group.
    fn resolve(&mut self) {
        let mut again = VecDeque::new();
        let mut reads = Vec::new();
        for pending in self.sent.drain(..) {
            let outcome = match self.applied.know(self.origin, pending.number) {
                Known::New => {
                    again.push_back(pending);
                    continue;
                }
                Known::Lost if pending.reads => {
                    reads.push(pending);
                    continue;
                }
                Known::Done(reply) => Outcome::Done(reply),
                Known::Lost => Outcome::Unknown,
            };
            self.octets -= pending.octets.len();
            self.outcomes.push_back((pending.token, outcome));
        }
        again.append(&mut self.queue);
        self.queue = again;
        for pending in reads {
            self.numbers += 1;
            self.queue.push_back(Pending { number: self.numbers, ..pending });
        }
    }

    pub(super) fn get(&mut self, now: Instant, piece: &[u8], last: bool) {
        if self.is_current || self.getting.len() + piece.len() > STATE_MOST {
            return;
        }
        self.getting.extend(piece);
        if last {
            let octets = core::mem::take(&mut self.getting);
            if self.restore(&octets).is_some() {
                (self.has_state, self.is_current) = (true, true);
                self.clock = (self.time, now);
                self.resolve();
            }
        }
    }

    fn restore(&mut self, octets: &[u8]) -> Option<()> {
        let mut front = Front(octets);
        let time = front.u64()?;
        let applied = Applied::restored(&mut front)?;
        self.machine.restore(front.0).then_some(())?;
        (self.time, self.applied) = (time.max(self.time), applied);
        Some(())
    }

    fn snapshot(&self) -> Arc<[u8]> {
        let mut octets = Vec::new();
        octets.extend(self.time.to_be_bytes());
        self.applied.snapshot(&mut octets);
        self.machine.snapshot(&mut octets);
        octets.into()
    }
}
