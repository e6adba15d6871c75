//! Nothing is allocated in the steady state: what an end takes from the pool for a packet, it or
//! the other gives back.

#[path = "../../../crates/compose/benches/crossing/count.rs"]
#[allow(dead_code, reason = "instructions are the bench's")]
mod count;
#[path = "../benches/packet/ends.rs"]
#[allow(dead_code, reason = "some of it is for the bench only")]
mod ends;
#[path = "../benches/packet/monolith/mod.rs"]
#[allow(dead_code, reason = "it is here for the ends")]
mod monolith;

use std::sync::Arc;

use ends::{End, Pair, boxed, message, written_down};
use stackwright_artp::Config;
use stackwright_contract::services::MessageProperties;
use stackwright_transport::words::SECOND;
use stackwright_wire::Message;

/// Messages of a batch, of which all are acknowledged at once.
const BATCH: u64 = 16;

/// So many batches, there and back; each message is made in a block of the pool, taken, and given
/// back.
fn talk<E: End>(pair: &mut Pair<E, E>, batches: u64) {
    let pool = Arc::clone(&pair.memory.pool);
    for _ in 0..batches {
        for _ in 0..BATCH {
            pair.here.send(
                pair.now,
                message(&pool, 64),
                MessageProperties::default(),
                &pair.memory,
            );
            pair.there.send(
                pair.now,
                message(&pool, 64),
                MessageProperties::default(),
                &pair.memory,
            );
        }
        let mut arrived = 0;
        while arrived < 2 * BATCH {
            pair.exchange();
            let now = pair.now;
            while let Some((message, _)) = pair.here.take(now).or_else(|| pair.there.take(now)) {
                assert_eq!(message.len(), 64);
                message.reclaim(&pool);
                arrived += 1;
            }
        }
    }
}

fn nothing_is_allocated<E: End>(make: fn(&Config, u8) -> E, what: &str) {
    let config = Config { gather_most: BATCH, gather_full: BATCH as u32, ..Config::new([0; 16]) };
    let mut pair = Pair::new(make(&config, 0), make(&config, 1), &config);
    // More than once around each queue, and the window opens.
    talk(&mut pair, 500);
    assert_eq!(count::allocations(|| talk(&mut pair, 2000)), 0, "{what}");
    little_is_held(pair, what);
}

/// An association that is idle gives back what its queues held, and speaks again when it is wanted.
fn little_is_held<E: End>(mut pair: Pair<E, E>, what: &str) {
    for _ in 0..2 {
        talk(&mut pair, 1);
        pair.now = pair.now.later(60 * SECOND);
        pair.exchange();
    }
    let Pair { here, there, .. } = pair;
    for end in [here, there] {
        let held = count::held(|| drop(end)).1.wrapping_neg();
        assert!(held + size_of::<E>() < 4096, "{what}: {held} octets beside {}", size_of::<E>());
    }
}

// One test only: allocations of another one would be counted.
#[test]
fn nothing_is_allocated_for_a_packet() {
    nothing_is_allocated(written_down, "static");
    nothing_is_allocated(boxed, "boxed");
}
