//! Causal order: a message is delivered after what its sender had delivered when it sent it. It
//! carries what has changed of that since its sender's last cast.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use stackwright_contract::services::{
    Batch, Credit, GroupKind, GroupNotice, GroupOrder, GroupProperties,
};
use stackwright_contract::{Facts, Guarantees};
use stackwright_wire::{Header, Message};

use crate::layer::{GroupHooks, GroupPlace, OF_GROUPS};
use crate::room::Room;

const NAME: &str = "group causal";

/// Changes before a message, at most: more of them are cast before it.
const CHANGES_MOST: usize = 16;

/// What waits of a sender; one that keeps to its credit stays below it.
const WAITS_MOST: Credit =
    Credit { octets: 4 * Credit::ROOM.octets, messages: 4 * Credit::ROOM.messages };

/// The header of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub(crate) struct CausalHeader {
    /// 0: a message follows the changes; 1: there are only changes.
    pub kind: u8,
    /// The low octet of the number of the view in which that was: a cast may wait for the next.
    pub view: u8,
    /// How many changes follow.
    pub count: u16,
}

/// What its sender had delivered of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub(crate) struct ChangeHeader {
    /// The rank of that other.
    pub origin: u16,
    /// Up to this of its casts.
    pub upto: u32,
}

/// The hooks of the layer.
pub struct CausalOrder<M> {
    /// The view, and the own rank.
    view: u8,
    me: usize,
    /// Of each sender, by rank, what it cast; none: there is no view.
    senders: Vec<Sender<M>>,
    /// What the layer above has room for, and room that a sender beyond its credit has taken.
    room: Room,
    kept: Credit,
    /// Credit from below, but for headers.
    below: Room,
}

struct Sender<M> {
    /// Up to which of its casts was delivered, and up to which own casts have said so.
    delivered: u32,
    said: u32,
    waits: VecDeque<Waits<M>>,
    cost: Credit,
}

/// What waits until others were delivered.
struct Waits<M> {
    after: Vec<ChangeHeader>,
    /// `None`: it says only what its sender had delivered.
    batch: Option<Batch<M>>,
    from: GroupProperties,
    /// What it cost as it came.
    cost: Credit,
}

impl<M: Message> CausalOrder<M> {
    /// Makes the hooks.
    pub const fn new() -> Self {
        let (room, kept, below) = (Room::NONE, Credit::NONE, Room::NONE);
        CausalOrder { view: 0, me: 0, senders: Vec::new(), room, kept, below }
    }

    /// Returns what was delivered since the last cast said so.
    fn changes(&self) -> Vec<ChangeHeader> {
        let all = self.senders.iter().enumerate();
        let all = all.filter(|(rank, _)| *rank != self.me);
        let new = all.filter(|(_, sender)| sender.said < sender.delivered);
        new.map(|(rank, sender)| ChangeHeader { origin: rank as u16, upto: sender.delivered })
            .collect()
    }

    fn say(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        kind: u8,
        changes: &[ChangeHeader],
        mut message: M,
        to: GroupProperties,
    ) {
        changes.iter().for_each(|change| message.push(change));
        message.push(&CausalHeader { kind, view: self.view, count: changes.len() as u16 });
        let head = CausalHeader::LENGTH + changes.len() * ChangeHeader::LENGTH;
        self.below.use_up(Credit { octets: head, messages: usize::from(kind) });
        if to.kind == GroupKind::Cast {
            self.senders.iter_mut().for_each(|sender| sender.said = sender.delivered);
        }
        at.send(message.into(), to);
    }

    /// Delivers what waits for nothing any more.
    fn rise(&mut self, at: &mut dyn GroupPlace<M>) {
        let mut rank = 0;
        while let Some(sender) = self.senders.get(rank) {
            let is_before = |change: &ChangeHeader| {
                let origin = self.senders.get(usize::from(change.origin));
                origin.is_none_or(|origin| origin.delivered >= change.upto)
            };
            if !sender.waits.front().is_some_and(|next| next.after.iter().all(is_before)) {
                rank += 1;
                continue;
            }
            let sender = &mut self.senders[rank];
            let Some(Waits { batch, from, cost, .. }) = sender.waits.pop_front() else { return };
            sender.cost -= cost;
            if from.kind == GroupKind::Cast {
                sender.delivered = from.number;
            }
            if let Some(batch) = batch {
                self.room.use_up(batch.cost());
                at.deliver(batch, from);
            }
            rank = 0;
        }
        if self.senders.iter().all(|sender| WAITS_MOST.covers(sender.cost)) {
            let kept = core::mem::take(&mut self.kept);
            self.room(at, kept);
        }
    }
}

impl<M: Message> Default for CausalOrder<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Message> GroupHooks<M> for CausalOrder<M> {
    const FACTS: Facts = Facts {
        needs: Guarantees::VIEWS.and(Guarantees::RELIABLE).and(Guarantees::ORDERED),
        gives: Guarantees::CAUSAL,
        passes: OF_GROUPS,
        header_room: CausalHeader::LENGTH + CHANGES_MOST * ChangeHeader::LENGTH,
        ..Facts::named(NAME)
    };

    fn send(&mut self, at: &mut dyn GroupPlace<M>, batch: Batch<M>, to: GroupProperties) {
        let mut changes = self.changes();
        if changes.len() > CHANGES_MOST {
            let all = core::mem::take(&mut changes);
            let message = M::with_headroom(64 + all.len() * ChangeHeader::LENGTH, &[]);
            self.say(at, 1, &all, message, GroupProperties::default());
        }
        self.say(at, 0, &changes, batch.into_single(), to);
    }

    fn delivered(&mut self, at: &mut dyn GroupPlace<M>, batch: Batch<M>, from: GroupProperties) {
        let (room, mut message) = (batch.cost(), batch.into_single());
        let header = message.pull::<CausalHeader>();
        let count = header.map_or(0, |header| usize::from(header.count));
        let mut changes: Vec<_> = (0..count).map_while(|_| message.pull().ok()).collect();
        let sender = self.senders.get_mut(usize::from(from.member.0));
        let (Ok(header), Some(sender), true) = (header, sender, changes.len() == count) else {
            self.room(at, room);
            return at.cx().dropped(NAME, "no header");
        };
        if header.view != self.view {
            changes.clear();
        }
        let batch = (header.kind == 0).then(|| Batch::from(message));
        let was_within = WAITS_MOST.covers(sender.cost);
        sender.cost += room;
        sender.waits.push_back(Waits { after: changes, batch, from, cost: room });
        if WAITS_MOST.covers(sender.cost) {
            self.room(at, room);
        } else {
            // Its room fills up, which stops it; others go on without that sender, or without it.
            self.kept += room;
            if was_within {
                at.order(GroupOrder::Suspect(from.member));
            }
        }
        self.rise(at);
    }

    fn room(&mut self, at: &mut dyn GroupPlace<M>, credit: Credit) {
        at.take(self.room.pass(credit));
    }

    fn credit(&mut self, at: &mut dyn GroupPlace<M>, credit: Credit) {
        at.give(self.below.pass(credit));
    }

    fn notice(&mut self, at: &mut dyn GroupPlace<M>, notice: GroupNotice<M>) {
        if let GroupNotice::View(view) = &notice {
            // What still waits follows something that is lost with its sender: at all the same.
            let sender =
                || Sender { delivered: 0, said: 0, waits: VecDeque::new(), cost: Credit::NONE };
            let members = if view.me.is_some() { view.members.len() } else { 0 };
            self.view = view.number as u8;
            self.me = view.me.map_or(0, |me| usize::from(me.0));
            self.senders.clear();
            self.senders.resize_with(members, sender);
            let kept = core::mem::take(&mut self.kept);
            self.room(at, kept);
        }
        at.notice(notice);
    }

    fn ended(&mut self) {
        *self = CausalOrder::new();
    }
}
