//! Nothing is allocated in the steady state: the memory of messages is used again, with all that
//! lies beside the octets.

#[path = "../../compose/benches/crossing/count.rs"]
#[allow(dead_code, reason = "only allocations are counted")]
mod count;

use stackwright_wire::{BufferTree, Message, Pool, SegmentLayout, SingleBuffer};

const ROUNDS: usize = 1000;
const HEADER: usize = 16;
const PAYLOAD: usize = 200;
/// Octets before the payload.
const ROOM: usize = 40;

/// Does `round` once, so that all memory has been asked for, and a thousand times more.
fn steady(what: &str, mut round: impl FnMut(usize)) {
    round(0);
    assert_eq!(count::allocations(|| (0..ROUNDS).for_each(round)), 0, "{what}");
}

fn push<M: Message>(message: &mut M, round: usize) {
    message.push_front(HEADER).fill(round as u8);
}

/// One message of a pool, from its octets to the wire.
fn pooled<M: Message>(kind: &str) {
    let pool = Pool::<M>::new(512, 4);
    steady(&format!("{kind}: a block of a pool with a header"), |round| {
        let mut message = M::from_block(pool.take(), ROOM, ROOM + PAYLOAD);
        push(&mut message, round);
        assert_eq!(message.len(), HEADER + PAYLOAD);
        message.reclaim(&pool);
    });
    steady(&format!("{kind}: nothing but headers"), |round| {
        let mut message = M::from_block(pool.take(), ROOM, ROOM);
        push(&mut message, round);
        push(&mut message, round);
        message.advance(2 * HEADER);
        message.reclaim(&pool);
    });
    let whole = M::with_headroom(0, &[7; PAYLOAD]);
    steady(&format!("{kind}: a copy of a pool"), |round| {
        let mut packet = whole.copy_into(&pool, ROOM);
        push(&mut packet, round);
        assert_eq!(packet.len(), HEADER + PAYLOAD);
        packet.reclaim(&pool);
    });
}

/// What is kept until it is acknowledged gets a header in place each time it is sent.
fn sent_again() {
    let mut body = BufferTree::with_headroom(ROOM, &[7; PAYLOAD]);
    let place = |message: &mut BufferTree| message.front(1).map(|octets| octets.as_ptr().addr());
    let first = place(&mut body);
    steady("a body that is sent again and again", |round| {
        push(&mut body, round);
        let packet = body.share();
        body.advance(HEADER);
        assert_eq!((packet.len(), packet.leaves().count()), (HEADER + PAYLOAD, 1));
    });
    assert_eq!(place(&mut body), first, "its header was written in place");
}

/// A long message is cut into slices.
fn split() {
    let mut whole = BufferTree::with_headroom(0, &[7; (ROUNDS + 1) * PAYLOAD]);
    steady("slices of one piece", |_| {
        let slice = whole.split_to(PAYLOAD);
        assert_eq!(slice.len(), PAYLOAD);
    });
    assert!(whole.is_empty());
}

/// A header in a block of its own, before a body that others hold, too; and two bodies joined.
fn two_pieces() {
    let pool = Pool::<BufferTree>::new(512, 4);
    let body = BufferTree::with_headroom(0, &[7; PAYLOAD]);
    steady("a header in a piece of its own", |round| {
        let mut packet = BufferTree::from_block(pool.take(), ROOM, ROOM);
        push(&mut packet, round);
        packet.join(body.share());
        assert_eq!((packet.len(), packet.leaves().count()), (HEADER + PAYLOAD, 2));
        packet.reclaim(&pool);
    });
    steady("two blocks in one message", |round| {
        let mut message = BufferTree::from_block(pool.take(), ROOM, ROOM + PAYLOAD);
        message.join(BufferTree::from_block(pool.take(), ROOM, ROOM + PAYLOAD));
        push(&mut message, round);
        assert_eq!((message.len(), message.leaves().count()), (HEADER + 2 * PAYLOAD, 2));
        message.reclaim(&pool);
    });
}

/// Packets that came in one block, as what they carry; read piece by piece.
fn packets() {
    const COUNT: usize = 7;
    let pool = Pool::<BufferTree>::new(COUNT * (HEADER + PAYLOAD), 4);
    let layout =
        SegmentLayout::new(HEADER + PAYLOAD, HEADER).in_messages(COUNT, HEADER, HEADER + 1);
    steady("the bodies of packets that came in one block", |_| {
        let mut packets = BufferTree::from_block(pool.take(), 0, pool.block());
        let mut message = packets.split_to(HEADER + PAYLOAD);
        message.join(packets);
        message.drop_gaps(&layout);
        assert_eq!(message.len(), COUNT * PAYLOAD - 1);
        message.advance(PAYLOAD + 1);
        assert_eq!(message.leaves().count(), COUNT - 1);
        message.reclaim(&pool);
    });
}

#[test]
fn nothing_is_allocated() {
    pooled::<SingleBuffer>("SingleBuffer");
    pooled::<BufferTree>("BufferTree");
    sent_again();
    split();
    two_pieces();
    packets();
}
