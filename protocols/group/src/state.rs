//! The state of a group: who joins gets it from the first member that has it, and delivers nothing
//! before it is there.

use alloc::collections::VecDeque;

use stackwright_contract::services::{
    Batch, Credit, GroupKind, GroupNotice, GroupOrder, GroupProperties, Rank,
};
use stackwright_contract::{Facts, Guarantees};
use stackwright_wire::Message;

use crate::layer::{GroupHooks, GroupPlace};
use crate::room::Room;

/// What waits for the state. Beyond it the room of this member fills up: it falls silent, the
/// others go on without it, and it joins again.
const WAITS_MOST: Credit = Credit { octets: 16 << 20, messages: 1 << 16 };

/// The hooks of the layer.
pub struct StateTransfer<M> {
    /// The own rank, and that of the member that has the state and is the first.
    view: Option<(Rank, Option<Rank>)>,
    is_ready: bool,
    /// What comes after the state.
    waits: VecDeque<(Batch<M>, GroupProperties)>,
    /// What the layer above has room for; what waits here waits for the state.
    room: Room,
    /// What waits costs, and the room of it that was not given back.
    cost: Credit,
    kept: Credit,
}

impl<M: Message> StateTransfer<M> {
    /// Makes the hooks.
    pub const fn new() -> Self {
        StateTransfer {
            view: None,
            is_ready: false,
            waits: VecDeque::new(),
            room: Room::NONE,
            cost: Credit::NONE,
            kept: Credit::NONE,
        }
    }

    /// Nothing waits any more; returns what did.
    fn end_wait(&mut self, at: &mut dyn GroupPlace<M>) -> VecDeque<(Batch<M>, GroupProperties)> {
        self.cost = Credit::NONE;
        let kept = core::mem::take(&mut self.kept);
        self.room(at, kept);
        core::mem::take(&mut self.waits)
    }

    fn deliver(&mut self, at: &mut dyn GroupPlace<M>, (batch, from): (Batch<M>, GroupProperties)) {
        self.room.use_up(batch.cost());
        at.deliver(batch, from);
    }
}

impl<M: Message> Default for StateTransfer<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Message> GroupHooks<M> for StateTransfer<M> {
    const FACTS: Facts = Facts {
        needs: Guarantees::SYNCHRONY.and(Guarantees::TOTAL).and(Guarantees::PRIMARY),
        gives: Guarantees::STATE,
        passes: Guarantees::RELIABLE
            .and(Guarantees::ORDERED)
            .and(Guarantees::ONCE)
            .and(Guarantees::CHECKED)
            .and(Guarantees::VIEWS)
            .and(Guarantees::SYNCHRONY)
            .and(Guarantees::PRIMARY)
            .and(Guarantees::SAFE)
            .and(Guarantees::TOTAL)
            .and(Guarantees::CAUSAL),
        ..Facts::named("group state")
    };

    fn delivered(&mut self, at: &mut dyn GroupPlace<M>, batch: Batch<M>, from: GroupProperties) {
        let cost = batch.cost();
        if !self.is_ready && from.kind != GroupKind::State {
            self.cost += cost;
            if WAITS_MOST.covers(self.cost) {
                self.room(at, cost);
            } else {
                self.kept += cost;
            }
            return self.waits.push_back((batch, from));
        }
        self.room(at, cost);
        match (from.kind, self.view) {
            // Who has it was told twice: in two views in a row it did not vote.
            (GroupKind::State, _) if self.is_ready => {}
            (GroupKind::State, Some((_, Some(first)))) if from.member == first => {
                self.deliver(at, (batch, from));
                if from.last {
                    self.is_ready = true;
                    at.order(GroupOrder::Ready);
                    for next in self.end_wait(at) {
                        self.deliver(at, next);
                    }
                }
            }
            (GroupKind::State, _) => at.cx().dropped("state", "of a member that is not asked"),
            _ => self.deliver(at, (batch, from)),
        }
    }

    fn room(&mut self, at: &mut dyn GroupPlace<M>, credit: Credit) {
        self.room.give(credit);
        at.take(self.room.take());
    }

    fn notice(&mut self, at: &mut dyn GroupPlace<M>, notice: GroupNotice<M>) {
        let GroupNotice::View(view) = notice else { return at.notice(notice) };
        let voters = || view.members.iter().enumerate().filter(|(_, member)| member.votes);
        let first = voters().next().map(|(rank, _)| Rank(rank as u16));
        self.view = view.me.map(|me| (me, first));
        self.end_wait(at);
        // Who began the group has its state.
        self.is_ready = view.me.is_some() && (self.is_ready || view.members.len() == 1);
        at.notice(GroupNotice::View(view.clone()));
        if view.me.is_some() && view.me == first {
            let joins = view.members.iter().enumerate().filter(|(_, member)| !member.votes);
            for (rank, _) in joins {
                at.notice(GroupNotice::StateWanted(Rank(rank as u16)));
            }
        }
    }

    fn ended(&mut self) {
        *self = StateTransfer::new();
    }
}
