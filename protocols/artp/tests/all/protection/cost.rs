//! What a protection costs in memory: nothing is copied that need not be.

use stackwright_artp::Messages;
use stackwright_contract::Instant;
use stackwright_contract::services::MessageProperties;
use stackwright_transport::slots::Framing as _;
use stackwright_transport::words::Unit;
use stackwright_wire::{Block, BufferTree, Leaf, Message, Pool, Unshared};

use crate::allocator::allocations;
use crate::protection::setting::{CIPHERS, VIEW, config, framings, sealed, signed};

/// Where its last octet lies.
fn last(message: &BufferTree) -> *const u8 {
    let leaf = message.leaves().last().expect("octets");
    match leaf {
        Leaf::Octets(octets) => &octets[octets.len() - 1],
        Leaf::Region(_) => panic!("octets"),
    }
}

fn filled(headroom: usize, octets: usize) -> BufferTree {
    let mut block = Unshared::zeroed(headroom + octets);
    block[headroom..].fill(9);
    BufferTree::from_block(block, headroom, headroom + octets)
}

/// Goes through both framings; gives how often memory was asked for, and whether the octets stayed
/// where they were.
fn through(framings: &mut [Messages<BufferTree>; 2], message: BufferTree) -> (u64, bool) {
    let pool = Pool::new(2048, 4);
    let place = last(&message);
    let before = allocations();
    let (body, label, _) = framings[0]
        .begin(message, &MessageProperties::default(), 1400, &pool)
        .expect("not too long");
    let unit = Unit { span: 0..1, label, body, since: Instant::START, lifetime: None };
    let (unit, mut body) = unit.into_parts();
    framings[1].join(&VIEW, &unit, &mut body, &pool).expect("no forger").expect("one piece");
    let asked = allocations() - before;
    let mut octets = vec![0; body.len()];
    body.copy_to(&mut octets);
    assert!(octets.iter().all(|octet| *octet == 9));
    (asked, last(&body) == place)
}

#[test]
fn a_datagram_is_protected_where_it_lies() {
    // A signature is too long to stand before octets in the message itself: it takes a block, with
    // its count of holders.
    let sealed = CIPHERS.map(sealed);
    let protect = |nth: usize, side| sealed.get(nth).copied().unwrap_or_else(|| signed(side));
    for (nth, asked) in [(0, 0), (1, 0), (2, 2)] {
        let protect = |side| protect(nth, side);
        let framings = &mut framings(|side| config(protect(side)));
        assert_eq!(through(framings, filled(128, 1000)), (0, true), "with headroom");
        assert_eq!(through(framings, filled(0, 1000)), (asked, true), "without");
    }
}

#[test]
fn a_datagram_that_others_hold_is_copied_once() {
    for cipher in CIPHERS {
        let framings = &mut framings(|_| config(sealed(cipher)));
        let message = filled(128, 1000);
        let twin = message.share();
        assert_eq!(through(framings, message), (2, false), "one block, with its count of holders");
        let mut octets = [0; 1000];
        twin.copy_to(&mut octets);
        assert_eq!(octets, [9; 1000], "what others hold is as it was");
        let mut pieces = filled(128, 500);
        pieces.join(filled(0, 500));
        assert_eq!(through(framings, pieces), (2, false), "in two pieces");
    }
}

#[test]
fn a_signature_reads_pieces_where_they_lie() {
    let framings = &mut framings(|side| config(signed(side)));
    let mut pieces = filled(128, 500);
    pieces.join(filled(0, 500));
    let asked = through(framings, pieces);
    assert!(asked.1, "{asked:?}");
}
