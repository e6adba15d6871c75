//! Blocks and options.

use proptest::prelude::*;
use stackwright_wire::capture::{Capture, Frame, LinkType, PacketDirection, Payload};
use stackwright_wire::{BufferTree, Message};

use crate::capture::read::{Interface, Packet, Read, read};

const MOST: usize = 262_144;

proptest! {
    /// Whatever is written is read, and padding of all lengths is right; it is the same however
    /// often it is taken.
    #[test]
    fn what_is_written_is_read(
        application: String,
        interfaces in prop::collection::vec((any::<String>(), any::<String>(), any::<u16>()), 1..4),
        packets in prop::collection::vec(
            (any::<usize>(), any::<u64>(), any::<Vec<u8>>(), any::<bool>(), any::<Option<String>>(), any::<bool>()),
            0..10,
        ),
    ) {
        let mut capture = Capture::new(&application);
        let mut file = Vec::new();
        let mut expected = Read { application, ..Read::default() };
        let mut ids = Vec::new();
        for (name, description, link) in interfaces {
            ids.push(capture.interface(&name, &description, LinkType(link)));
            let (link, captured_most, units_a_second) = (link.into(), MOST as u32, 1_000_000_000);
            expected.interfaces.push(Interface { name, description, link, captured_most, units_a_second });
        }
        for (which, nanoseconds, octets, outbound, comment, takes) in packets {
            let which = which % ids.len();
            let direction = if outbound { PacketDirection::Outbound } else { PacketDirection::Inbound };
            let (front, back) = octets.split_at(octets.len() / 2);
            let mut rope = BufferTree::with_headroom(0, front);
            rope.join(BufferTree::with_headroom(0, back));
            let frame = Frame::plain(Payload::of(&rope));
            capture.packet(ids[which], nanoseconds, direction, &frame, comment.as_deref());
            expected.packets.push(Packet {
                interface: which as u32,
                nanoseconds,
                original: octets.len() as u32,
                octets,
                flags: if outbound { 2 } else { 1 },
                comment,
            });
            if takes {
                let waited = capture.waiting();
                let taken = capture.take();
                prop_assert_eq!((taken.len(), capture.waiting()), (waited, 0));
                file.extend(taken);
            }
        }
        file.extend(capture.take());
        prop_assert_eq!(read(&file), expected);
    }
}

/// The octets of a small file, put together by hand from the draft.
#[test]
fn octet_by_octet() {
    let mut capture = Capture::new("abc");
    let boundary = capture.interface("if", "", LinkType::USER0);
    let frame = Frame::plain(Payload::from(&b"hello"[..]));
    capture.packet(boundary, 0x0123_4567_89ab_cdef, PacketDirection::Outbound, &frame, None);
    let section = [
        &[0x0a, 0x0d, 0x0d, 0x0a, 40, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..],
        &[0xff; 8],
        &[4, 0, 3, 0, b'a', b'b', b'c', 0, 0, 0, 0, 0, 40, 0, 0, 0],
    ];
    let interface = [
        &[1, 0, 0, 0, 44, 0, 0, 0, 147, 0, 0, 0, 0, 0, 4, 0][..],
        &[2, 0, 2, 0, b'i', b'f', 0, 0],
        &[3, 0, 0, 0],
        &[9, 0, 1, 0, 9, 0, 0, 0],
        &[0, 0, 0, 0, 44, 0, 0, 0],
    ];
    let packet = [
        &[6, 0, 0, 0, 52, 0, 0, 0, 0, 0, 0, 0, 0x67, 0x45, 0x23, 0x01, 0xef, 0xcd, 0xab, 0x89][..],
        &[5, 0, 0, 0, 5, 0, 0, 0],
        b"hello\0\0\0",
        &[2, 0, 4, 0, 2, 0, 0, 0],
        &[0, 0, 0, 0, 52, 0, 0, 0],
    ];
    assert_eq!(capture.take(), [section.concat(), interface.concat(), packet.concat()].concat());
}

#[test]
fn a_packet_that_is_too_long_is_cut_and_says_so() {
    const LENGTHS: [usize; 3] = [MOST, MOST + 1, MOST + 1000];
    let mut capture = Capture::new("");
    let boundary = capture.interface("", "", LinkType::USER0);
    for length in LENGTHS {
        let octets = vec![7; length];
        let frame = Frame::plain(Payload::from(&octets[..]));
        capture.packet(boundary, 0, PacketDirection::Inbound, &frame, None);
    }
    let packets = read(&capture.take()).packets;
    let lengths: Vec<_> =
        packets.iter().map(|packet| (packet.octets.len(), packet.original as usize)).collect();
    assert_eq!(lengths, LENGTHS.map(|length| (MOST, length)));
}

#[test]
fn a_text_that_is_too_long_is_cut_between_two_characters() {
    let text = "ä".repeat(40_000);
    let mut capture = Capture::new(&text);
    let boundary = capture.interface(&text, &text, LinkType::RAW);
    capture.packet(
        boundary,
        0,
        PacketDirection::Inbound,
        &Frame::plain(Payload::default()),
        Some(&text),
    );
    let read = read(&capture.take());
    let cut = "ä".repeat(65_535 / 2);
    assert!(read.application == cut && read.interfaces[0].name == cut);
    assert!(
        read.interfaces[0].description == cut && read.packets[0].comment.as_ref() == Some(&cut)
    );
}

#[test]
#[should_panic = "an interface comes before its packets"]
fn a_packet_needs_its_interface() {
    let boundary = Capture::new("").interface("", "", LinkType::RAW);
    let frame = Frame::plain(Payload::default());
    Capture::new("").packet(boundary, 0, PacketDirection::Inbound, &frame, None);
}
