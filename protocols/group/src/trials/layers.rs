//! Single layers between neighbours that a test plays.

use std::sync::Arc;
use std::vec;
use std::vec::Vec;

use stackwright_contract::services::{
    Ballot, Batch, Credit, GroupKind, GroupMember, GroupNotice, GroupOrder, GroupProperties,
    GroupView, Outsider, Rank,
};
use stackwright_wire::Message;

use super::hostile::{Place, view};
use super::seeds::{M, at};
use crate::causal::{CausalHeader, ChangeHeader};
use crate::layer::GroupHooks;
use crate::nak::NakHeader;
use crate::{CastFragments, CausalOrder, GroupSeal, Nak, NakConfig, TotalOrder, wire};

fn place() -> Place {
    Place { keeps: true, ..Place::new() }
}

fn octets(count: usize) -> Vec<u8> {
    (0..count).map(|place| (place % 251) as u8).collect()
}

/// Hands what was sent in `from` to a layer of another member.
fn hand<H: GroupHooks<M>>(from: &mut Place, by: u16, hooks: &mut H, to: &mut Place) {
    for (message, properties) in from.sent.drain(..) {
        let from = GroupProperties { member: Rank(by), ..properties };
        hooks.delivered(to, message.into(), from);
    }
}

#[test]
fn a_message_comes_back_from_its_pieces() {
    for length in [0, 1, 99, 100, 101, 300, 5000, 100_000] {
        let (mut here, mut there) = (place(), place());
        let (mut sends, mut takes) = (CastFragments::new(100), CastFragments::new(7));
        sends.notice(&mut here, view(2));
        takes.notice(&mut there, view(2));
        let message = M::with_headroom(64, &octets(length));
        let to = GroupProperties { kind: GroupKind::State, last: true, ..Default::default() };
        sends.send(&mut here, message.into(), to);
        let pieces = here.sent.len();
        assert_eq!(pieces, length.div_ceil(100).max(1));
        assert!(here.sent.iter().all(|(piece, _)| piece.len() <= 101), "each fits");
        let lasts = here.sent.iter().filter(|(_, to)| to.last).count();
        assert_eq!(lasts, 1, "only the last piece is the last of the state");
        // What comes back from below is what the message cost above.
        let cost = here.sent.iter().map(|(piece, _)| piece.len()).sum();
        sends.credit(&mut here, Credit { octets: cost, messages: pieces });
        assert_eq!(here.above, Credit { octets: length, messages: 1 });
        hand(&mut here, 1, &mut takes, &mut there);
        let heard: Vec<_> = there.heard.iter().map(|(octets, _)| octets.clone()).collect();
        assert_eq!(heard, [octets(length)]);
        // And the room for it is used up until the layer above gives it back.
        takes.room(&mut there, Credit { octets: length, messages: 1 });
        assert_eq!(there.below, Credit { octets: cost, messages: pieces });
    }
}

#[test]
fn pieces_of_a_message_without_an_end_are_dropped_with_the_view() {
    let (mut here, mut there) = (place(), place());
    let (mut sends, mut takes) = (CastFragments::new(10), CastFragments::new(10));
    takes.notice(&mut there, view(2));
    for part in [0..3, 3..5] {
        sends.send(&mut here, M::with_headroom(64, &octets(50)).into(), Default::default());
        here.sent = here.sent.drain(..).take(part.end).skip(part.start).collect();
        hand(&mut here, 0, &mut takes, &mut there);
        takes.notice(&mut there, view(3));
    }
    assert_eq!((there.delivered, there.cx.dropped_count()), (0, 2));
    sends.send(&mut here, M::with_headroom(64, &octets(50)).into(), Default::default());
    hand(&mut here, 0, &mut takes, &mut there);
    assert_eq!(there.heard[0].0, octets(50), "the next is whole");
}

#[test]
fn a_message_that_does_not_end_is_bounded() {
    let (mut there, mut takes) = (place(), CastFragments::new(10));
    takes.notice(&mut there, view(2));
    let piece = |first: bool| [vec![u8::from(first) << 7], vec![0; 60_000]].concat();
    for nth in 0..100 {
        let message = M::with_headroom(0, &piece(nth == 0));
        takes.delivered(&mut there, message.into(), GroupProperties::default());
    }
    let most = Credit::ROOM.octets / 60_000;
    assert_eq!((there.delivered, there.cx.dropped_count()), (0, 100 - most as u64));
}

/// Casts as far as it has credit, in views of so many members, of which nobody says what it has;
/// returns what its log keeps then.
fn kept(views: &[usize]) -> Vec<usize> {
    const PIECE: usize = 4096;
    let (mut place, mut nak) = (place(), Nak::<M>::new(NakConfig::default()));
    nak.opened(&mut place, at(0), Credit::NONE);
    let mut kept = Vec::new();
    for (number, members) in views.iter().enumerate() {
        let member = |rank: usize| GroupMember {
            participant: at(rank % 250),
            incarnation: rank as u64,
            votes: true,
        };
        let (ballot, me) = (Ballot::default(), Some(Rank(0)));
        let (number, members) = (number as u32, (0..*members).map(member).collect());
        let parts = Vec::new();
        let view = GroupView { number, ballot, members, me, primary: true, parts };
        nak.order(&mut place, GroupOrder::Install(Arc::new(view)));
        let before = nak.octets();
        while place.above.covers(Credit { octets: PIECE, messages: 1 }) {
            place.above -= Credit { octets: PIECE, messages: 1 };
            nak.send(&mut place, M::with_headroom(64, &octets(PIECE)).into(), Default::default());
        }
        // The log of the view before is kept, too.
        kept.push(nak.octets() - before);
    }
    kept
}

#[test]
fn windows_of_many_members_share_the_log() {
    assert_eq!(kept(&[3, 64, 64]), [1 << 20; 3], "up to 64 members");
    let shared = (64 << 20) / 1024;
    assert_eq!(kept(&[3, 1024, 1024, 128, 2]), [1 << 20, shared, shared, 512 << 10, 1 << 20]);
}

/// A cast of a member, which had delivered `upto` casts of another in that view.
fn caused(view: u8, by: u16, number: u32, (origin, upto): (u16, u32)) -> (M, GroupProperties) {
    let mut message = M::with_headroom(64, &[by as u8, number as u8]);
    message.push(&ChangeHeader { origin, upto });
    message.push(&CausalHeader { kind: 0, view, count: 1 });
    (message, GroupProperties { member: Rank(by), number, ..GroupProperties::default() })
}

#[test]
fn what_follows_waits_for_what_it_follows() {
    let (mut place, mut causal) = (place(), CausalOrder::new());
    causal.notice(&mut place, view(2));
    for (view, by, number, after) in [
        (2, 1, 1, (0, 2)),
        (2, 1, 2, (0, 0)),
        (2, 0, 1, (1, 0)),
        (1, 0, 2, (1, 9)),
        (2, 0, 3, (1, 2)),
    ] {
        let (message, from) = caused(view, by, number, after);
        causal.delivered(&mut place, message.into(), from);
    }
    let order: Vec<_> = place.heard.iter().map(|(octets, _)| [octets[0], octets[1]]).collect();
    // What the fourth had delivered was in the view before.
    assert_eq!(order, [[0, 1], [0, 2], [1, 1], [1, 2], [0, 3]]);
}

/// Its own cast says what it had delivered, and the next one only what is new.
#[test]
fn a_cast_says_what_has_changed() {
    let (mut place, mut causal) = (place(), CausalOrder::new());
    causal.notice(&mut place, view(2));
    let mut says = |causal: &mut CausalOrder<M>| {
        causal.send(&mut place, M::with_headroom(64, b"cast").into(), GroupProperties::default());
        let (mut message, _) = place.sent.pop().unwrap();
        let count = message.pull::<CausalHeader>().unwrap().count;
        let changes = (0..count).map(|_| message.pull::<ChangeHeader>().unwrap());
        changes.map(|change| (change.origin, change.upto)).collect::<Vec<_>>()
    };
    let mut there = Place { keeps: true, ..Place::new() };
    assert_eq!(says(&mut causal), []);
    for number in 1..=3 {
        let (message, from) = caused(2, 0, number, (0, 0));
        causal.delivered(&mut there, message.into(), from);
    }
    assert_eq!(says(&mut causal), [(0, 3)]);
    assert_eq!(says(&mut causal), [], "it has said so");
}

#[test]
fn what_waits_for_what_never_comes_is_bounded() {
    let (mut place, mut causal) = (Place::new(), CausalOrder::new());
    causal.notice(&mut place, view(2));
    for number in 1..=10_000 {
        let (message, from) = caused(2, 1, number, (0, 7));
        causal.delivered(&mut place, message.into(), from);
    }
    let most = 4 * Credit::ROOM.messages;
    assert_eq!((place.below.messages, place.delivered), (most, 0));
    assert_eq!(place.suspected, [Rank(1)], "once");
    causal.notice(&mut place, view(3));
    assert_eq!(place.below.messages, 10_000, "the room is there again");
}

/// A seal of a member with this rank, in this view.
fn sealed(key: u8, number: u32, me: u16) -> GroupSeal {
    let mut seal = GroupSeal::new([key; 16]);
    let GroupNotice::View(view) = view(number) else { unreachable!() };
    let view = GroupView { me: Some(Rank(me)), ..(*view).clone() };
    let order = GroupOrder::<M>::Install(Arc::new(view));
    seal.order(&mut place(), order);
    seal
}

/// Says something in a view; the rank of who seems to have said it, and a bit that is altered.
fn is_heard(says: &mut GroupSeal, hears: &mut GroupSeal, by: u16, bit: Option<usize>) -> bool {
    let (mut here, mut there) = (place(), place());
    says.send(&mut here, M::with_headroom(64, b"cast").into(), GroupProperties::default());
    let (message, _) = here.sent.pop().unwrap();
    let mut octets = message.octets().to_vec();
    bit.into_iter().for_each(|bit| octets[bit / 8] ^= 1 << (bit % 8));
    let from = GroupProperties { member: Rank(by), ..GroupProperties::default() };
    hears.delivered(&mut there, M::with_headroom(0, &octets).into(), from);
    assert_eq!(there.heard.len() as u64 + there.cx.dropped_count(), 1);
    there.heard.first().is_some_and(|(heard, _)| heard == b"cast")
}

#[test]
fn only_who_has_the_key_is_heard() {
    let mut hears = sealed(1, 2, 2);
    assert!(is_heard(&mut sealed(1, 2, 1), &mut hears, 1, None));
    assert!(!is_heard(&mut sealed(2, 2, 1), &mut hears, 1, None), "another key");
    assert!(!is_heard(&mut sealed(1, 2, 1), &mut hears, 0, None), "another member");
    assert!(!is_heard(&mut sealed(1, 3, 1), &mut hears, 1, None), "another view");
    for bit in 0..8 * (16 + 4) {
        assert!(!is_heard(&mut sealed(1, 2, 1), &mut hears, 1, Some(bit)), "bit {bit}");
    }
}

#[test]
fn outside_of_a_view_only_who_has_the_key_is_heard() {
    let hears = |key: u8, from: usize, incarnation: u64| {
        let (mut here, mut there) = (place(), place());
        let mut seal = GroupSeal::new([1; 16]);
        seal.opened(&mut here, at(1), Credit::NONE);
        let message = M::with_headroom(64, b"JOIN");
        let outsider = Outsider { participant: at(2), incarnation: 5, message };
        seal.order(&mut here, GroupOrder::Outside(outsider.into()));
        let mut outsider = here.outside.pop().unwrap();
        (outsider.participant, outsider.incarnation) = (at(from), incarnation);
        GroupSeal::new([key; 16]).notice(&mut there, GroupNotice::Outside(outsider.into()));
        there.outside.len() == 1
    };
    assert!(hears(1, 1, 5));
    assert!(!hears(2, 1, 5) && !hears(1, 3, 5) && !hears(1, 1, 6), "key, address, incarnation");
}

/// A member, the third of three, gives the layer above credit for its casts.
#[test]
fn where_others_order_casts_no_more_leave_than_they_can_deliver() {
    for facts in [None, Some(&CausalOrder::<M>::FACTS), Some(&TotalOrder::<M>::FACTS)] {
        let (mut place, mut nak) = (place(), Nak::new(NakConfig::default()));
        let packet = |kind, origin, number, rest: &[u8]| {
            let mut message = M::with_headroom(64, rest);
            message.push(&NakHeader { kind, detail: 0, origin, number });
            Batch::from(message)
        };
        let from = |rank| GroupProperties { member: Rank(rank), ..Default::default() };
        let reports = |nak: &mut Nak<M>, place: &mut Place, rank, have: [u32; 3]| {
            let mut octets = Vec::new();
            wire::push_counts(&mut octets, &have);
            nak.delivered(place, packet(1, 0, 0, &octets), from(rank));
        };
        facts.into_iter().for_each(|facts| nak.order(&mut place, GroupOrder::Layer(facts)));
        let GroupNotice::View(view) = view(2) else { unreachable!("it is one") };
        nak.order(&mut place, GroupOrder::Install(view));
        nak.room(&mut place, Credit::ROOM);
        nak.delivered(&mut place, packet(0, 1, 1, b"heard"), from(1));
        nak.send(&mut place, M::with_headroom(64, b"follows").into(), Default::default());
        let waited = place.above;
        // The first member has the own cast, and not the one that it follows.
        reports(&mut nak, &mut place, 1, [0, 1, 1]);
        reports(&mut nak, &mut place, 0, [0, 0, 1]);
        assert_eq!(place.above != waited, facts.is_none(), "{facts:?}");
        reports(&mut nak, &mut place, 0, [0, 1, 1]);
        assert_eq!(place.above.messages, waited.messages + 1, "{facts:?}");
    }
}
