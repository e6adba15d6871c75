//! Every window: exhaustively where numbers have three bits, at the edges where they have seven.

use alloc::vec::Vec;

use stackwright_wire::{BufferTree, Message, Pool};

use super::incoming::{Carried, Incoming, Standing};
use super::length::Learned;
use super::outgoing::Outgoing;
use crate::config::{Config, FrameLength};
use crate::header::{Modulus, pid};

/// One octet a frame: its number in the stream.
fn outgoing(
    modulus: Modulus,
    window: u8,
    acknowledged: u8,
    sent: u8,
    pool: &Pool<BufferTree>,
) -> Outgoing<BufferTree> {
    let call = "N0CALL".parse().expect("a call sign");
    let config = Config { frame: FrameLength::Fixed(1), ..Config::new(call) };
    let mut outgoing = Outgoing::new(&config, 0, Learned::default());
    outgoing.window = window;
    outgoing.push(BufferTree::with_headroom(0, &[7; 300]));
    for number in 0..acknowledged {
        send(&mut outgoing, 0, modulus, pool);
        outgoing.acknowledge(modulus.add(number, 1), modulus, pool);
    }
    for place in 0..sent {
        let number = send(&mut outgoing, place.into(), modulus, pool);
        assert_eq!(number, modulus.add(acknowledged, place));
    }
    outgoing
}

fn send(
    outgoing: &mut Outgoing<BufferTree>,
    place: usize,
    modulus: Modulus,
    pool: &Pool<BufferTree>,
) -> u8 {
    let number = outgoing.number(place, modulus, pool);
    let (frame, _) = outgoing.send(place, &[]);
    assert_eq!(frame.len(), 1);
    number
}

/// Sends everything again that can be sent, and returns the numbers.
fn drain(
    outgoing: &mut Outgoing<BufferTree>,
    modulus: Modulus,
    pool: &Pool<BufferTree>,
) -> Vec<u8> {
    let mut numbers = Vec::new();
    while let Some(place) = outgoing.sendable() {
        let last = outgoing.is_last_sendable(place);
        numbers.push(send(outgoing, place, modulus, pool));
        assert_eq!(last, outgoing.sendable().is_none());
    }
    numbers
}

fn answers(modulus: Modulus, windows: &[u8], starts: &[u8]) -> usize {
    let pool = Pool::new(256, 16);
    let mut states = 0;
    for window in windows {
        for acknowledged in starts {
            let edges = |sent: &u8| *window < 8 || [0, 1, window / 2, *window].contains(sent);
            for sent in (0..=*window).filter(edges) {
                for received in 0..modulus.count() {
                    let make = || outgoing(modulus, *window, *acknowledged, sent, &pool);
                    let count = modulus.distance(*acknowledged, received);
                    let mut there = make();
                    assert_eq!(there.is_valid(received, modulus), count <= sent);
                    if count <= sent {
                        let (octets, frames) = there.acknowledge(received, modulus, &pool);
                        assert_eq!((octets, frames), (count.into(), count.into()));
                        assert_eq!(there.is_outstanding(), count < sent);
                        // Back to N(R): what is not acknowledged, in order, and what is new.
                        there.go_back();
                        let numbers = drain(&mut there, modulus, &pool);
                        let most = (*window).min(16);
                        let expected = (0..most).map(|step| modulus.add(received, step));
                        assert!(numbers.into_iter().eq(expected));
                        let beyond = modulus.add(received, *window + 1);
                        assert!(beyond == received || !there.is_valid(beyond, modulus));
                    }
                    // One alone is sent again.
                    let mut there = make();
                    assert_eq!(there.request(received, modulus), count < sent);
                    let numbers = drain(&mut there, modulus, &pool);
                    let is_next = count == sent && sent < (*window).min(16);
                    assert_eq!(numbers.first() == Some(&received), count < sent || is_next);
                    states += 1;
                }
            }
        }
    }
    states
}

#[test]
fn every_answer() {
    let all: Vec<u8> = (0..8).collect();
    assert_eq!(answers(Modulus::Eight, &[1, 2, 3, 4, 5, 6, 7], &all), 8 * 8 * 35);
    answers(Modulus::Extended, &[1, 32, 63], &[0, 1, 64, 127]);
}

fn carried(octet: u8) -> Carried<BufferTree> {
    Carried { pid: pid::NONE, information: BufferTree::with_headroom(0, &[octet]) }
}

/// All sets of held frames behind all V(R), and each number that may arrive next.
fn arrivals(modulus: Modulus, starts: &[u8], ahead: u8) -> usize {
    let mut states = 0;
    for expected in starts {
        for set in 0..1u32 << (ahead - 1) {
            let held: Vec<u8> = (1..ahead).filter(|step| set >> (step - 1) & 1 == 1).collect();
            for number in 0..modulus.count() {
                let mut incoming = Incoming::<BufferTree>::new(1 << 20);
                incoming.expected = *expected;
                for step in &held {
                    let there = modulus.add(*expected, *step);
                    assert_eq!(incoming.standing(there, modulus, true), Standing::Ahead);
                    incoming.hold(there, carried(*step), modulus);
                }
                let step = modulus.distance(*expected, number);
                let frame = carried(step);
                let mut delivered = Vec::new();
                match incoming.standing(number, modulus, true) {
                    Standing::Next => {
                        assert_eq!(step, 0);
                        incoming.take(frame, modulus, |octets| {
                            octets
                                .expect("its own")
                                .each(|octets| delivered.extend_from_slice(octets));
                        });
                    }
                    Standing::Ahead => {
                        assert!((1..modulus.count() / 2).contains(&step));
                        incoming.hold(number, frame, modulus);
                    }
                    Standing::Repeated => assert!(step >= modulus.count() / 2),
                }
                let run = (1..ahead).take_while(|step| held.contains(step)).count() as u8;
                let all: Vec<u8> = if step == 0 { (0..=run).collect() } else { Vec::new() };
                assert_eq!(delivered, all);
                let next = modulus.add(*expected, all.len() as u8);
                assert_eq!(incoming.expected, next);
                // Everything that is missing before the last that is held is requested, once.
                let mut there: Vec<u8> =
                    held.iter().copied().filter(|step| *step >= all.len() as u8).collect();
                if incoming.standing(number, modulus, true) == Standing::Ahead {
                    there.push(step);
                }
                let last = there.iter().copied().max();
                let missing = last.map_or(Vec::new(), |last| {
                    (all.len() as u8..last).filter(|step| !there.contains(step)).collect()
                });
                let mut wanted = Vec::new();
                while let Some(number) = incoming.next_wanted(modulus) {
                    wanted.push(modulus.distance(*expected, number));
                }
                wanted.reverse();
                assert_eq!(wanted, missing, "{expected} {held:?} {step}");
                incoming.want_all(modulus);
                assert_eq!(incoming.wanted.count_ones() as usize, missing.len());
                states += 1;
            }
        }
    }
    states
}

#[test]
fn every_gap() {
    let all: Vec<u8> = (0..8).collect();
    assert_eq!(arrivals(Modulus::Eight, &all, 4), 8 * 8 * 8);
    arrivals(Modulus::Extended, &[0, 1, 64, 127], 8);
}

/// Without SREJ nothing is held: all of V(R) and N(S).
#[test]
fn every_number_without_a_set() {
    for expected in 0..8 {
        for number in 0..8 {
            let mut incoming = Incoming::<BufferTree>::new(0);
            incoming.expected = expected;
            let standing = match Modulus::Eight.distance(expected, number) {
                0 => Standing::Next,
                7 => Standing::Repeated,
                _ => Standing::Ahead,
            };
            assert_eq!(incoming.standing(number, Modulus::Eight, false), standing);
        }
    }
}
