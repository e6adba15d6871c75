//! A stranger that knows the group's name, and says anything.

use std::sync::Arc;
use std::vec;
use std::vec::Vec;

use fastrand::Rng;
use stackwright_contract::services::{
    Ballot, Batch, Credit, DatagramsRequest, GroupKind, GroupMember, GroupNotice, GroupOrder,
    GroupProperties, GroupView, MessageProperties, Outsider, Rank,
};
use stackwright_contract::{Context, Duration, Handle};
use stackwright_simulator::{CheckedDatagrams, Heard, World};
use stackwright_wire::{Header, Message, SingleBuffer};

use super::seeds::{M, at, group, host, mark, opened};
use crate::layer::{GroupHooks, GroupPlace};
use crate::mesh::MeshHeader;
use crate::nak::NakHeader;
use crate::{SafeDelivery, StateTransfer, TotalOrder, wire};

/// A packet of no member: most of it well made, and then anything.
fn packet(random: &mut Rng, seen: &[u8]) -> Vec<u8> {
    let mut octets = vec![0; MeshHeader::LENGTH];
    let (kind, mark) = (random.u8(..3), mark());
    let (rank, tag) = (random.u16(..), random.u32(..));
    MeshHeader { version: (), kind, mark, rank, tag }.encode(&mut octets);
    octets.extend(random.u64(..).to_be_bytes());
    octets.extend(wire::group(group()).to_be_bytes());
    let head = octets.len();
    octets.resize(head + NakHeader::LENGTH, 0);
    let (kind, detail, origin) = (random.u8(..6), random.u8(..5), random.u16(..4));
    let number = random.u32(..) >> random.u32(..32);
    NakHeader { kind, detail, origin, number }.encode(&mut octets[head..]);
    octets.push(random.u8(..12));
    octets.push(random.u8(..4));
    octets.extend(&seen[..random.usize(..=seen.len())]);
    octets.extend((0..random.usize(..64)).map(|_| random.u8(..) >> random.u32(..8)));
    octets
}

#[test]
fn a_stranger_that_says_anything_breaks_nothing() {
    for seed in 0..20 {
        let mut random = Rng::with_seed(seed);
        let mut world = World::<M>::new(seed);
        let member = opened(&mut world, 2);
        let stranger = CheckedDatagrams::checked(host(9), Credit::ROOM);
        let stranger = world.add(host(9), stranger, Heard::default());
        let association = Handle { index: 0, generation: 0 };
        let (remote, local, credit) = (at(0), None, Credit::ROOM);
        world.ask(stranger, DatagramsRequest::Open { association, remote, local, credit });
        world.run_for(Duration::from_secs(3));
        let number = |world: &World<M>| world.application(member[0]).view.as_ref().unwrap().number;
        assert!(number(&world) > 1, "both are in a view");
        for _ in 0..2_000 {
            let octets = packet(&mut random, &[0, 0, 0, 2]);
            let batch = SingleBuffer::with_headroom(0, &octets).into();
            let properties = MessageProperties::default();
            let word: DatagramsRequest<M> =
                DatagramsRequest::<M>::Send { association, batch, properties };
            world.ask(stranger, word);
            world.run_for(Duration::from_millis(1));
        }
        world.run_for(Duration::from_secs(20));
        let views: Vec<_> = member.iter().map(|one| world.application(*one).view.clone()).collect();
        assert!(views.iter().all(|view| view.is_some()), "seed {seed}: a member has no view");
    }
}

#[test]
fn a_view_is_as_large_as_it_may_be() {
    let member = [&[1][..], &[0; 8], &[4, 10, 0, 0, 1], &[0, 1]].concat();
    let view = |count: u16| {
        let head = [&[0; 16][..], &count.to_be_bytes()].concat();
        let octets = [head, member.repeat(usize::from(count))].concat();
        wire::Reader(&octets).view().map(|view| view.members.len())
    };
    assert_eq!((view(0), view(1024), view(1025)), (None, Some(1024), None));
}

/// What a layer did to its neighbours.
pub(super) struct Place {
    pub(super) cx: Context,
    /// Credit that it gave below, and above.
    pub(super) below: Credit,
    pub(super) above: Credit,
    pub(super) delivered: usize,
    pub(super) suspected: Vec<Rank>,
    /// What it sent, and what it delivered, where that is kept.
    pub(super) keeps: bool,
    pub(super) sent: Vec<(M, GroupProperties)>,
    pub(super) outside: Vec<Outsider<M>>,
    pub(super) heard: Vec<(Vec<u8>, GroupProperties)>,
}

impl Place {
    pub(super) fn new() -> Self {
        let (cx, below, above) = (Context::new(1), Credit::NONE, Credit::NONE);
        let (keeps, sent, outside, heard) = (false, Vec::new(), Vec::new(), Vec::new());
        Place { cx, below, above, delivered: 0, suspected: Vec::new(), keeps, sent, outside, heard }
    }
}

impl GroupPlace<SingleBuffer> for Place {
    fn cx(&self) -> &Context {
        &self.cx
    }

    fn send(&mut self, batch: Batch<SingleBuffer>, to: GroupProperties) {
        if self.keeps {
            self.sent.push((batch.into_single(), to));
        }
    }

    fn deliver(&mut self, batch: Batch<SingleBuffer>, from: GroupProperties) {
        self.delivered += 1;
        if self.keeps {
            self.heard.push((batch.into_single().octets().to_vec(), from));
        }
    }

    fn order(&mut self, order: GroupOrder<SingleBuffer>) {
        match order {
            GroupOrder::Suspect(member) => self.suspected.push(member),
            GroupOrder::Outside(outsider) => self.outside.push(*outsider),
            _ => {}
        }
    }

    fn notice(&mut self, notice: GroupNotice<SingleBuffer>) {
        if let GroupNotice::Outside(outsider) = notice {
            self.outside.push(*outsider);
        }
    }

    fn give(&mut self, credit: Credit) {
        self.above += credit;
    }

    fn take(&mut self, credit: Credit) {
        self.below += credit;
    }

    fn opened(&mut self, _: stackwright_contract::Participant, credit: Credit) {
        self.above += credit;
    }

    fn close(&mut self) {}
}

/// A view of three, of which this is the last.
pub(super) fn view(number: u32) -> GroupNotice<SingleBuffer> {
    let member = |place| GroupMember { participant: at(place), incarnation: 1, votes: place < 2 };
    let members = (0..3).map(member).collect();
    let (ballot, me) = (Ballot::default(), Some(Rank(2)));
    let parts = Vec::new();
    GroupNotice::View(Arc::new(GroupView { number, ballot, members, me, primary: true, parts }))
}

/// A message of 1000 octets, with a header of [`TotalOrder`].
fn cast(member: u16, number: u32) -> (Batch<SingleBuffer>, GroupProperties) {
    let octets = SingleBuffer::with_headroom(64, &[0; 1000]);
    let kind = GroupKind::Cast;
    (octets.into(), GroupProperties { member: Rank(member), kind, last: false, number })
}

#[test]
fn what_waits_for_an_order_is_bounded_and_its_sender_suspected() {
    let (mut place, mut total) = (Place::new(), TotalOrder::new());
    total.notice(&mut place, view(2));
    for number in 1..=20_000 {
        let (batch, from) = cast(1, number);
        total.delivered(&mut place, batch, from);
    }
    // The rest stays in the log below, whose room is what it was given at the beginning.
    let most = 4 * Credit::ROOM.messages;
    assert_eq!((place.below.messages, place.delivered), (most, 0));
    assert_eq!(place.suspected, [Rank(1)], "once");
    total.notice(&mut place, view(3));
    total.room(&mut place, Credit { octets: 20_000 * 996, messages: 20_000 });
    assert_eq!((place.below.messages, place.delivered), (20_000, 20_000), "the view is over");
}

#[test]
fn orders_of_what_never_comes_are_bounded() {
    let (mut place, mut total) = (Place::new(), TotalOrder::new());
    total.notice(&mut place, view(2));
    let order = [[0, 1, 0, 1].repeat(250)].concat();
    for number in 1..=1000 {
        let octets = SingleBuffer::with_headroom(64, &[&[0x40, 0, 0, 250][..], &order].concat());
        let (_, from) = cast(0, number);
        total.delivered(&mut place, octets.into(), from);
    }
    let turns = 3 * 4 * Credit::ROOM.messages;
    let dropped = 1000 - turns.div_ceil(250) as u64;
    assert_eq!(place.cx.dropped_count(), dropped);
    assert_eq!(place.suspected.first(), Some(&Rank(0)));
}

#[test]
fn a_sender_whose_casts_get_no_order_has_no_credit() {
    let (mut place, mut total) = (Place::new(), TotalOrder::new());
    total.notice(&mut place, view(2));
    let mut casts = 0;
    while place.above.messages + 1 > casts && casts < 20_000 {
        let (batch, to) = cast(0, 0);
        let credit = batch.cost();
        total.send(&mut place, batch, to);
        casts += 1;
        // All members have it.
        total.credit(&mut place, Credit { octets: credit.octets + 4, ..credit });
    }
    assert!(casts <= Credit::ROOM.messages + 1, "{casts} casts wait for an order");
}

#[test]
fn what_waits_for_the_state_is_bounded() {
    let (mut place, mut state) = (Place::new(), StateTransfer::new());
    state.notice(&mut place, view(2));
    for number in 1..=100_000 {
        let (batch, from) = cast(1, number);
        state.delivered(&mut place, batch, from);
    }
    let most = (16 << 20) / 1000;
    assert_eq!((place.below.messages, place.delivered), (most, 0));
    // The state comes after all, and what waited for it with it.
    let (batch, from) = cast(0, 1);
    let from = GroupProperties { kind: GroupKind::State, last: true, ..from };
    state.delivered(&mut place, batch, from);
    state.room(&mut place, Credit { octets: 100_001 * 1000, messages: 100_001 });
    assert_eq!((place.below.messages, place.delivered), (100_001, 100_001));
}

/// What waits for a quorum keeps the room that it used up below.
#[test]
fn what_waits_for_a_quorum_is_bounded() {
    let (mut place, mut safe) = (Place::new(), SafeDelivery::new());
    safe.notice(&mut place, view(2));
    for number in 1..=1000 {
        let (batch, from) = cast(1, number);
        safe.delivered(&mut place, batch, from);
    }
    assert_eq!((place.below, place.delivered), (Credit::NONE, 0));
}
