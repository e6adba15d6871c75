//! What a recorder writes, read back by a parser that nobody here wrote.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use pcap_parser::{Block, OptionCode, PcapBlockOwned, PcapNGSlice};
use stackwright_compose::filter::{Passage, Tap};
use stackwright_compose::graph::Inserted;
use stackwright_compose::graph::modules::Recorder;
use stackwright_wire::{Message, SingleBuffer};

use crate::graph::echoes::{Woven, run_from, run_with};

/// What a parser finds in a packet of TCP over IPv4.
#[derive(Clone, Debug)]
struct Segment {
    inbound: bool,
    primitive: String,
    /// The ports: who speaks, and to whom.
    ports: (u16, u16),
    sequence: u32,
    syn: bool,
    fin: bool,
    octets: Vec<u8>,
}

fn segments(file: &[u8]) -> Vec<Segment> {
    let mut segments = Vec::new();
    if file.is_empty() {
        return segments;
    }
    for block in PcapNGSlice::from_slice(file).expect("it begins with a section") {
        let PcapBlockOwned::NG(block) = block.expect("whole blocks") else {
            panic!("an older format")
        };
        match block {
            Block::InterfaceDescription(interface) => {
                assert_eq!(interface.if_name(), Some(Ok("echo over streams")));
                assert_eq!(interface.if_description(), Some(Ok("echo")));
            }
            Block::EnhancedPacket(packet) => {
                let option =
                    |code| packet.options.iter().find(|option| option.code == code).unwrap();
                let octets = &packet.data[..packet.caplen as usize];
                let number = |at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
                segments.push(Segment {
                    inbound: option(OptionCode(2)).as_u32_le().unwrap() == 1,
                    primitive: option(OptionCode::Comment).as_str().unwrap().to_owned(),
                    ports: (number(20), number(22)),
                    sequence: u32::from(number(24)) << 16 | u32::from(number(26)),
                    syn: octets[33] & 2 != 0,
                    fin: octets[33] & 1 != 0,
                    octets: octets[40..].to_vec(),
                });
            }
            Block::SectionHeader(_) => {}
            other => panic!("nobody wrote {other:?}"),
        }
    }
    segments
}

type Heard = Rc<RefCell<Vec<(bool, Vec<u8>)>>>;

/// Puts a tap, and below it a recorder, between an echo and its streams.
fn push(graph: &mut Woven<SingleBuffer>, heard: &Heard, file: &Rc<RefCell<Vec<u8>>>) {
    let (heard, file) = (heard.clone(), file.clone());
    let tap = Tap::new(move |passage: &Passage<'_, SingleBuffer>| {
        let Some(message) = passage.message else { return };
        let mut octets = vec![0; message.len()];
        message.copy_to(&mut octets);
        heard.borrow_mut().push((passage.primitive == "Delivered", octets));
    });
    let sink = move |octets: Vec<u8>| {
        assert!(!octets.is_empty(), "something is handed over, or nobody is called");
        file.borrow_mut().extend(octets);
    };
    graph.push("echo", "streams", "tap", Inserted(tap)).expect("it fits there");
    let recorder = Recorder::new("echo over streams", "echo", 0, sink);
    graph.push("tap", "streams", "recorder", recorder).expect("it fits there");
}

/// Whether each number follows from the one before, in every association and direction.
fn numbers_follow(segments: &[Segment]) {
    let mut next = BTreeMap::new();
    for segment in segments {
        let expected = next.entry(segment.ports).or_insert(u32::from(!segment.syn));
        if segment.syn {
            *expected = 0; // another association between the same ports
        }
        assert_eq!(segment.sequence, *expected, "{segment:?}");
        *expected += segment.octets.len() as u32 + u32::from(segment.syn) + u32::from(segment.fin);
    }
}

/// Whether what was written is what was heard, but for answers that crossed the end of their
/// association, which its receiver drops. Returns how much that is.
fn are_heard(
    seed: u64,
    written: impl Iterator<Item = (bool, Vec<u8>)>,
    heard: &[(bool, Vec<u8>)],
) -> usize {
    let mut written = written.peekable();
    let mut crossed = 0;
    for (delivered, message) in heard {
        if written.next_if(|next| (next.0, &next.1) == (*delivered, message)).is_none() {
            assert!(!delivered, "seed {seed}: a delivery was not written");
            crossed += 1;
        }
    }
    assert_eq!(written.next(), None, "seed {seed}: it was not heard");
    heard.len() - crossed
}

#[test]
fn hold_exactly_what_passed() {
    let mut octets = 0;
    for seed in 0..300 {
        let expected = run_with(seed, |_, _| ());
        let (heard, file) = (Heard::default(), Rc::default());
        let recorded = run_from(seed, |graph| push(graph, &heard, &file), |_, _| ());
        assert_eq!(expected, recorded, "seed {seed}");
        let segments = segments(&file.borrow());
        let written: Vec<_> =
            segments.iter().filter(|segment| !segment.octets.is_empty()).collect();
        for segment in &written {
            let primitive = if segment.inbound { "Streams Delivered, " } else { "Streams Send, " };
            assert!(segment.primitive.starts_with(primitive), "{segment:?}");
            octets += segment.octets.len();
        }
        let written = written.into_iter().map(|segment| (segment.inbound, segment.octets.clone()));
        are_heard(seed, written, &heard.borrow());
        numbers_follow(&segments);
    }
    assert!(octets > 100_000, "{octets} octets were recorded");
}

#[test]
fn change_nothing_while_they_come_and_go() {
    let mut messages = 0;
    for seed in 0..300 {
        let expected = run_with(seed, |_, _| ());
        let (heard, file) = (Heard::default(), Rc::default());
        let recorded = run_with(seed, |graph, turn| {
            if turn % 2 == 1 {
                push(graph, &heard, &file);
            } else {
                graph.pop_now("tap").expect("it holds nothing");
                drop(graph.pop_now("recorder").expect("it holds nothing"));
            }
        });
        assert_eq!(expected, recorded, "seed {seed}");
        let segments = segments(&file.borrow());
        let written = segments.into_iter().filter(|segment| !segment.octets.is_empty());
        let written = written.map(|segment| (segment.inbound, segment.octets));
        messages += are_heard(seed, written, &heard.borrow());
    }
    assert!(messages > 100, "{messages} messages were recorded");
}
