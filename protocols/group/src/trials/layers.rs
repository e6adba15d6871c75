//! Single layers between neighbours that a test plays.

use std::sync::Arc;
use std::vec;
use std::vec::Vec;

use stackwright_contract::services::{
    Ballot, Credit, GroupKind, GroupMember, GroupOrder, GroupProperties, GroupView, Rank,
};
use stackwright_wire::Message;

use super::hostile::{Place, view};
use super::seeds::M;
use crate::layer::GroupHooks;
use crate::{CastFragments, Nak, NakConfig};

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
    nak.opened(&mut place, super::seeds::at(0), Credit::NONE);
    let mut kept = Vec::new();
    for (number, members) in views.iter().enumerate() {
        let member = |at: usize| GroupMember {
            participant: super::seeds::at(at % 250),
            incarnation: at as u64,
            votes: true,
        };
        let (ballot, me) = (Ballot::default(), Some(Rank(0)));
        let (number, members) = (number as u32, (0..*members).map(member).collect());
        let view = GroupView { number, ballot, members, me, primary: true };
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
