//! A key that all members have: what was not said by one of them is dropped before it is looked at.
//! Nothing is hidden.

use alloc::vec::Vec;
use core::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher24};
use stackwright_contract::services::{
    Batch, Credit, GroupNotice, GroupOrder, GroupProperties, Outsider, Rank,
};
use stackwright_contract::{Facts, Guarantees, Participant};
use stackwright_wire::{Header, Message};

use crate::layer::{GroupHooks, GroupPlace, OF_GROUPS};
use crate::room::Room;
use crate::wire;

const NAME: &str = "group seal";

/// The header of every message: SipHash-2-4 of 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub(crate) struct SealHeader {
    /// One half.
    pub first: u64,
    /// The other.
    pub second: u64,
}

/// The hooks of the layer.
pub struct GroupSeal {
    key: [u8; 16],
    own: Participant,
    /// The mark of the view, and the own rank.
    view: Option<(u32, Rank)>,
    /// Credit from below, but for headers.
    below: Room,
}

impl GroupSeal {
    /// Makes the hooks of the members that have this key.
    pub const fn new(key: [u8; 16]) -> Self {
        GroupSeal { key, own: Participant::OTHER_END, view: None, below: Room::NONE }
    }

    fn seal<M: Message>(&self, said: &[u8], message: &M) -> SealHeader {
        let mut hasher = SipHasher24::new_with_key(&self.key);
        hasher.write(said);
        message.each(|octets| hasher.write(octets));
        let seal = hasher.finish128();
        SealHeader { first: seal.h1, second: seal.h2 }
    }

    /// Returns what the seal of a member's cast covers beside its octets.
    fn place(&self, member: Rank) -> [u8; 8] {
        let (is_member, tag) = self.view.map_or((0, 0), |(tag, _)| (1, tag));
        let ([a, b, c, d], [e, f]) = (u32::to_be_bytes(tag), member.0.to_be_bytes());
        [0, is_member, a, b, c, d, e, f]
    }

    /// Takes the seal off; returns whether it is the right one.
    fn is_sealed<M: Message>(&self, said: &[u8], message: &mut M) -> bool {
        let seal = message.pull::<SealHeader>();
        let right = self.seal(said, message);
        // All is compared, whatever differs: how long it takes tells nothing.
        seal.is_ok_and(|it| ((it.first ^ right.first) | (it.second ^ right.second)) == 0)
    }
}

/// Returns what the seal of a message in no view covers beside its octets.
fn outside(from: Participant, incarnation: u64) -> Vec<u8> {
    let mut octets = Vec::from([1]);
    wire::push_participant(&mut octets, from);
    octets.extend(incarnation.to_be_bytes());
    octets
}

impl<M: Message> GroupHooks<M> for GroupSeal {
    const FACTS: Facts = Facts {
        gives: Guarantees::CHECKED,
        passes: OF_GROUPS,
        header_room: SealHeader::LENGTH,
        ..Facts::named(NAME)
    };

    fn opened(&mut self, at: &mut dyn GroupPlace<M>, local: Participant, credit: Credit) {
        self.own = local;
        at.opened(local, credit);
    }

    fn send(&mut self, at: &mut dyn GroupPlace<M>, batch: Batch<M>, to: GroupProperties) {
        let mut message = batch.into_single();
        let me = self.view.map_or(Rank(0), |(_, me)| me);
        let seal = self.seal(&self.place(me), &message);
        message.push(&seal);
        self.below.use_up(Credit::of_octets(SealHeader::LENGTH));
        at.send(message.into(), to);
    }

    fn delivered(&mut self, at: &mut dyn GroupPlace<M>, batch: Batch<M>, from: GroupProperties) {
        let (room, mut message) = (batch.cost(), batch.into_single());
        if self.is_sealed(&self.place(from.member), &mut message) {
            at.take(Credit::of_octets(SealHeader::LENGTH));
            return at.deliver(message.into(), from);
        }
        at.take(room);
        at.cx().dropped(NAME, "of a member that has not the key");
    }

    fn credit(&mut self, at: &mut dyn GroupPlace<M>, credit: Credit) {
        at.give(self.below.pass(credit));
    }

    fn order(&mut self, at: &mut dyn GroupPlace<M>, mut order: GroupOrder<M>) {
        match &mut order {
            GroupOrder::Install(view) => self.view = view.me.map(|me| (wire::tag(0, view), me)),
            GroupOrder::Outside(outsider) => {
                let Outsider { incarnation, message, .. } = &mut **outsider;
                let seal = self.seal(&outside(self.own, *incarnation), message);
                message.push(&seal);
            }
            _ => {}
        }
        at.order(order);
    }

    fn notice(&mut self, at: &mut dyn GroupPlace<M>, mut notice: GroupNotice<M>) {
        if let GroupNotice::Outside(outsider) = &mut notice {
            let Outsider { participant, incarnation, message } = &mut **outsider;
            if !self.is_sealed(&outside(*participant, *incarnation), message) {
                return at.cx().dropped(NAME, "of a process that has not the key");
            }
        }
        at.notice(notice);
    }

    fn ended(&mut self) {
        *self = GroupSeal::new(self.key);
    }
}
