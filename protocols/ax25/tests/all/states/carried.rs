//! What I frames carry: text, segments of longer messages, and what is for nobody here.

use fastrand::Rng;
use stackwright_ax25::LinkState;
use stackwright_ax25::header::{Modulus, Role, Unnumbered};
use stackwright_ax25::segment;
use stackwright_contract::services::{Credit, StreamsRequest};
use stackwright_wire::{BufferTree, Message};

use crate::states::machine::{Machine, STREAM};

const TEXT: u8 = 0xf0;
const SEGMENT: u8 = 0x08;
const NETROM: u8 = 0xcf;

/// A station that was called, and whose program takes all that comes.
fn called(kind: Unnumbered) -> Machine {
    let mut machine = Machine::at(LinkState::Disconnected);
    machine.hear_u(Role::Command, kind, true);
    let credit = Credit::of_octets(1 << 20);
    machine.ask(StreamsRequest::Credit { association: STREAM, credit });
    machine.left();
    machine.take();
    machine
}

/// Returns a message in segments, as the information of I frames.
fn segments(pid: u8, octets: &[u8], longest: usize) -> Vec<Vec<u8>> {
    let count = segment::count(octets.len(), longest).expect("it is short enough");
    let mut message = BufferTree::with_headroom(8, octets);
    let nth = |place| {
        let own = (place == 0).then_some(pid);
        let segment = segment::next(&mut message, own, count - place, longest);
        let mut information = vec![0; segment.len()];
        segment.copy_to(&mut information);
        information
    };
    (0..count).map(nth).collect()
}

/// Text, segmented text and other protocols follow one another, with copies and, where there is
/// SREJ, frames that overtake others: all of the text arrives, nothing else does, and all is
/// acknowledged.
#[test]
fn all_text_arrives_in_segments_or_not() {
    for seed in 0..300 {
        let mut random = Rng::with_seed(seed);
        let extended = random.bool();
        let (kind, modulus) = match extended {
            true => (Unnumbered::Sabme, Modulus::Extended),
            false => (Unnumbered::Sabm, Modulus::Eight),
        };
        let mut machine = called(kind);
        let (mut frames, mut text) = (Vec::new(), Vec::new());
        for _ in 0..random.usize(1..12) {
            let length = random.usize(0..2000);
            let octets: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
            match random.u8(..4) {
                0 => {
                    let pid = [NETROM, 0, 0xcc][random.usize(..3)];
                    frames.push((pid, octets[..length.min(256)].to_vec()));
                    continue;
                }
                1 => {
                    let longest = random.usize(18..=256);
                    let pid = if random.u8(..8) == 0 { NETROM } else { TEXT };
                    let parts = segments(pid, &octets, longest);
                    frames.extend(parts.into_iter().map(|part| (SEGMENT, part)));
                    if pid == NETROM {
                        continue;
                    }
                }
                _ => frames.extend(octets.chunks(256).map(|part| (TEXT, part.to_vec()))),
            }
            text.extend(octets);
        }
        let (mut delivered, mut place) = (Vec::new(), 0);
        while place < frames.len() {
            let hear = |machine: &mut Machine, place: usize| {
                let (pid, information) = &frames[place];
                machine.hear_of(modulus, place as u8 & (modulus.count() - 1), *pid, information);
            };
            if extended && place + 1 < frames.len() && random.u8(..4) == 0 {
                hear(&mut machine, place + 1);
                hear(&mut machine, place);
                place += 1;
            } else {
                hear(&mut machine, place);
            }
            if random.u8(..4) == 0 {
                hear(&mut machine, place); // a copy
            }
            place += 1;
            delivered.extend(machine.delivered());
        }
        assert!(delivered == text, "seed {seed}: {} of {}", delivered.len(), text.len());
        let link = machine.link().expect("it lives");
        assert_eq!((link.state, link.held), (LinkState::Connected, 0), "seed {seed}");
        if extended {
            machine.extended();
        }
        machine.take();
        machine.hear_in(modulus, Role::Command, poll(), &[]);
        let expected = frames.len() as u8 & (modulus.count() - 1);
        assert_eq!(machine.take(), [format!("RR {expected} F=1")], "seed {seed}");
    }
}

fn poll() -> stackwright_ax25::header::ControlField {
    let kind = stackwright_ax25::header::Supervisory::ReceiveReady;
    stackwright_ax25::header::ControlField::Supervisory { kind, received: 0, poll: true }
}

/// Error Z (figure C6.2): what was begun is dropped, and the link goes on.
#[test]
fn segments_in_the_wrong_order_are_dropped_and_the_link_lives() {
    let good = segments(TEXT, &[7; 100], 40);
    let [first, second, third] = &good[..] else { panic!("three segments") };
    let text = |octets: &[u8]| (TEXT, octets.to_vec());
    let part = |part: &Vec<u8>| (SEGMENT, part.clone());
    for (before, expected) in [
        (vec![part(second), part(third)], vec![]),
        (vec![part(third)], vec![]),
        (vec![part(first), part(third)], vec![]),
        (vec![part(first), part(first)], vec![]),
        (vec![part(first), part(second), text(b"between"), part(third)], b"between".to_vec()),
        (vec![(SEGMENT, vec![])], vec![]),
        (vec![(SEGMENT, vec![0x80])], vec![]),
        (vec![(SEGMENT, vec![0x80, SEGMENT, 1])], vec![]),
    ] {
        let mut machine = called(Unnumbered::Sabm);
        let mut sent = 0;
        let mut hear = |machine: &mut Machine, (pid, information): &(u8, Vec<u8>)| {
            machine.hear_of(Modulus::Eight, sent, *pid, information);
            sent = (sent + 1) % 8;
        };
        before.iter().for_each(|frame| hear(&mut machine, frame));
        assert_eq!(machine.delivered(), expected, "{before:x?}");
        good.iter().for_each(|frame| hear(&mut machine, &part(frame)));
        assert_eq!(machine.delivered(), [7; 100], "{before:x?}");
        assert_eq!(machine.link().map(|link| link.state), Some(LinkState::Connected));
    }
}

/// Segments that no end follows are no lever for memory.
#[test]
fn segments_are_bounded() {
    let mut machine = called(Unnumbered::Sabm);
    for nth in 0..1000u32 {
        let left = 127 - (nth % 128) as u8;
        let head = if left == 127 { vec![0xff, TEXT] } else { vec![left] };
        machine.hear_of(Modulus::Eight, (nth % 8) as u8, SEGMENT, &[&head[..], &[7; 900]].concat());
        let held = machine.link().expect("it lives").held;
        assert!(held <= 128 * 256, "{held}");
    }
    assert!(machine.delivered().is_empty(), "each of the messages was too long");
}
