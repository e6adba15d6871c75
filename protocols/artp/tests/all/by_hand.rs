//! What the engine is measured against is ARTP indeed: it speaks to the engine, both ways.

use crate::ends::{self, End, HEADROOM, Pair};
use stackwright_artp::Config;
use stackwright_contract::Instant;
use stackwright_contract::services::{MessageKind, MessageProperties};
use stackwright_transport::Memory;
use stackwright_transport::words::SECOND;
use stackwright_wire::{BufferTree, Message};

fn config() -> Config {
    // By hand, no probe is answered.
    let (keepalive, idle) = (None, None);
    Config {
        packet: 600,
        gather_most: 16,
        gather_full: 16,
        keepalive,
        idle,
        ..Config::new([0; 16])
    }
}

/// Octets of the message with this number: one packet for the most part, several for some.
fn octets(number: u32) -> Vec<u8> {
    let length = 4 + (number as usize * 977) % if number.is_multiple_of(5) { 5000 } else { 500 };
    let mut octets = vec![number as u8; length];
    octets[..4].copy_from_slice(&number.to_be_bytes());
    octets
}

/// Sends a hundred messages from the one end, and looks at what the other takes.
fn sends(from: &mut impl End, now: Instant, memory: &Memory<BufferTree>) {
    for number in 0..100 {
        let properties = MessageProperties { number: Some(number), ..MessageProperties::default() };
        from.send(now, BufferTree::with_headroom(HEADROOM, &octets(number)), properties, memory);
    }
}

fn arrived(to: &mut impl End, now: Instant, numbers: &mut Vec<u32>) {
    while let Some((message, properties)) = to.take(now) {
        let mut taken = vec![0; message.len()];
        message.copy_to(&mut taken);
        let number = properties.number.expect("data have numbers");
        assert_eq!((properties.kind, taken), (MessageKind::Data, octets(number)));
        numbers.push(number);
    }
}

/// Both send, and both hear all.
fn talk<A: End, B: End>(mut pair: Pair<A, B>) {
    sends(&mut pair.here, pair.now, &pair.memory);
    sends(&mut pair.there, pair.now, &pair.memory);
    let (mut here, mut there) = (Vec::new(), Vec::new());
    for _ in 0..1000 {
        pair.exchange();
        arrived(&mut pair.here, pair.now, &mut here);
        arrived(&mut pair.there, pair.now, &mut there);
    }
    here.sort_unstable();
    there.sort_unstable();
    assert_eq!((here, there), (Vec::from_iter(0..100), Vec::from_iter(0..100)));
    for released in [pair.here.released(), pair.there.released()] {
        assert_eq!(released.messages, 100, "everything was acknowledged");
        assert_eq!(released.octets, (0..100).map(|number| octets(number).len()).sum());
    }
}

#[test]
fn the_monolith_opens_and_talks_to_the_engine() {
    let config = config();
    talk(Pair::new(ends::by_hand(&config, 0), ends::written_down(&config, 1), &config));
}

#[test]
fn the_engine_opens_and_talks_to_the_monolith() {
    let config = config();
    talk(Pair::new(ends::written_down(&config, 0), ends::by_hand(&config, 1), &config));
}

#[test]
fn lists_of_single_numbers_are_understood_too() {
    let config = Config { ranges: false, ..config() };
    talk(Pair::new(ends::by_hand(&config, 0), ends::boxed(&config, 1), &config));
}

/// The one sends, and some of all packets are lost.
fn loses<A: End, B: End>(mut pair: Pair<A, B>, seed: u64) {
    sends(&mut pair.here, pair.now, &pair.memory);
    let (mut random, mut there, mut released) = (fastrand::Rng::with_seed(seed), Vec::new(), 0);
    for _ in 0..200_000 {
        pair.now = pair.now.later(5_000_000);
        pair.exchange_some(|| random.u8(..8) > 0);
        arrived(&mut pair.there, pair.now, &mut there);
        released += pair.here.released().messages;
        if released == 100 && there.len() == 100 {
            break;
        }
    }
    there.sort_unstable();
    assert_eq!(there, Vec::from_iter(0..100), "seed {seed}");
    assert_eq!(released, 100, "seed {seed}");
}

#[test]
fn what_is_lost_is_sent_again_by_hand_too() {
    // Nobody is believed to be dead.
    let config = Config { silence: 1000 * SECOND, ..config() };
    for seed in 0..30 {
        loses(Pair::new(ends::by_hand(&config, 0), ends::written_down(&config, 1), &config), seed);
        loses(Pair::new(ends::written_down(&config, 0), ends::by_hand(&config, 1), &config), seed);
        loses(Pair::new(ends::by_hand(&config, 0), ends::by_hand(&config, 1), &config), seed);
    }
}
