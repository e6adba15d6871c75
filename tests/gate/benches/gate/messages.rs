//! A buffer tree in one piece, as a transport uses it; and one whose header lies in a piece of its
//! own.

use std::hint::black_box;

use stackwright_gate::subject::{Figure, Subject};
use stackwright_wire::{BufferTree, Message, Pool};

const ROUNDS: u64 = 1024;
/// Octets of a header.
const HEADER: usize = 16;
/// Octets of a packet's payload.
const PAYLOAD: usize = 1024;
const BLOCK: usize = 2048;
/// Headroom.
const ROOM: usize = 64;

pub(crate) fn add(figures: &mut Vec<Figure>) {
    figures.push(Figure::new("message/BufferTree/share", ROUNDS, Sending::new));
    figures.push(Figure::new("message/BufferTree/split", ROUNDS, Cut::default));
    figures.push(Figure::new("message/BufferTree/pool", ROUNDS, Pooled::new));
    figures.push(Figure::new("message/BufferTree/apart", ROUNDS, Apart::new));
}

fn push(message: &mut BufferTree, round: u64) {
    message.push_front(HEADER)[..8].copy_from_slice(&round.to_be_bytes());
}

/// What is kept until it is acknowledged gets a header, is shared with the layer below, and loses
/// the header again.
struct Sending {
    body: BufferTree,
}

impl Sending {
    fn new() -> Self {
        Sending { body: BufferTree::with_headroom(ROOM, &[7; PAYLOAD]) }
    }
}

impl Subject for Sending {
    fn work(&mut self) -> u64 {
        let mut octets = 0;
        for round in 0..ROUNDS {
            push(&mut self.body, round);
            let packet = black_box(self.body.share());
            self.body.advance(HEADER);
            octets += packet.len();
        }
        assert_eq!(octets, ROUNDS as usize * (HEADER + PAYLOAD), "every packet has its header");
        octets as u64
    }
}

/// Slices of one block, in order.
#[derive(Default)]
struct Cut {
    whole: BufferTree,
}

impl Subject for Cut {
    fn ready(&mut self) {
        self.whole = BufferTree::with_headroom(0, &vec![7; ROUNDS as usize * PAYLOAD]);
    }

    fn work(&mut self) -> u64 {
        let mut octets = 0;
        for _round in 0..ROUNDS {
            octets += black_box(self.whole.split_to(PAYLOAD)).len();
        }
        assert!(self.whole.is_empty(), "all of it is cut off");
        octets as u64
    }
}

/// A block becomes a message, gets a header and is given back.
struct Pooled {
    pool: Pool<BufferTree>,
}

impl Pooled {
    fn new() -> Self {
        Pooled { pool: Pool::new(BLOCK, 4) }
    }
}

impl Subject for Pooled {
    fn work(&mut self) -> u64 {
        let mut octets = 0;
        for round in 0..ROUNDS {
            let mut message = BufferTree::from_block(self.pool.take(), ROOM, ROOM + PAYLOAD);
            push(&mut message, round);
            let message = black_box(message);
            octets += message.len();
            message.reclaim(&self.pool);
        }
        assert_eq!(octets, ROUNDS as usize * (HEADER + PAYLOAD), "every packet has its header");
        octets as u64
    }
}

/// A header in a block of its own before a body that somebody else holds, too.
struct Apart {
    pool: Pool<BufferTree>,
    body: BufferTree,
}

impl Apart {
    fn new() -> Self {
        Apart { pool: Pool::new(BLOCK, 4), body: BufferTree::with_headroom(0, &[7; PAYLOAD]) }
    }
}

impl Subject for Apart {
    fn work(&mut self) -> u64 {
        let mut octets = 0;
        for round in 0..ROUNDS {
            let mut packet = BufferTree::from_block(self.pool.take(), ROOM, ROOM + HEADER);
            push(&mut packet, round);
            packet.join(self.body.share());
            let packet = black_box(packet);
            octets += packet.len();
            packet.reclaim(&self.pool);
        }
        assert_eq!(
            octets,
            ROUNDS as usize * (2 * HEADER + PAYLOAD),
            "every packet has its headers"
        );
        octets as u64
    }
}
