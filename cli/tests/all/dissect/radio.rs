//! Frames of packet radio: each is shown as a file beside this one says.

use stackwright::agw::AgwHeader;
use stackwright::wire::Header;
use stackwright::wire::capture::{
    Capture, Ends, Frame, LinkType, PacketDirection, Payload, TcpSegment,
};

use crate::dissect::shown;

const TIME: u64 = 1_709_251_199_000_000_007;

/// N0AAA to N0BBB-7, a command.
const HEAD: &[u8] = b"\x9c\x60\x84\x84\x84\x40\xee\x9c\x60\x82\x82\x82\x40\x61";
/// The same by RELAY-1, which has repeated it, and RELAY-2, which has not.
const VIA: &[u8] = b"\x9c\x60\x84\x84\x84\x40\xee\x9c\x60\x82\x82\x82\x40\x60\
                     \xa4\x8a\x98\x82\xb2\x40\xe2\xa4\x8a\x98\x82\xb2\x40\x65";

fn capture(link: LinkType, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut capture = Capture::new("test");
    let interface = capture.interface("tnc", "", link);
    for frame in frames {
        let frame = Frame::plain(Payload::from(&frame[..]));
        capture.packet(interface, TIME, PacketDirection::Inbound, &frame, None);
    }
    capture.take()
}

/// Compares with a file, which `SNAPSHOTS=write` writes.
#[track_caller]
fn is(shown: &str, name: &str, expected: &str) {
    if std::env::var("SNAPSHOTS").is_ok_and(|value| value == "write") {
        let path = [env!("CARGO_MANIFEST_DIR"), "tests", "all", "dissect", "radio", name];
        let path: std::path::PathBuf = path.iter().collect();
        std::fs::write(path, shown).expect("a folder of ours");
        return;
    }
    assert_eq!(shown, expected, "{name}");
}

#[test]
fn frames_of_ax25() {
    let frames = [
        [HEAD, b"\x3f"].concat(),
        [VIA, b"\x73"].concat(),
        [HEAD, b"\xaf\x82\x80\x00\x04\x08\x01\x7f\x0a"].concat(),
        [HEAD, b"\x54\xf0hello"].concat(),
        [HEAD, b"\xb1"].concat(),
        [HEAD, b"\x87\x01\x02\x03"].concat(),
        [VIA, b"\x03\xf0to all"].concat(),
    ];
    is(&shown(&capture(LinkType::AX25, &frames), &[]), "ax25.txt", include_str!("radio/ax25.txt"));
}

/// A request for a route, and UDP behind a source route.
#[test]
fn packets_of_dsr() {
    let frames = [
        [
            HEAD,
            b"\x03\xcc\x45\x00\x00\x20\x00\x01\x00\x00\xff\x30\xb1\xac\x0a\x00\x00\x01\
              \xff\xff\xff\xff\x3b\x00\x00\x08\x01\x06\x00\x02\x0a\x00\x00\x03",
        ]
        .concat(),
        [
            HEAD,
            b"\x03\xcc\x45\x00\x00\x28\x00\x01\x00\x00\x40\x30\x66\x9f\x0a\x00\x00\x01\
              \x0a\x00\x00\x03\x11\x00\x00\x08\x60\x06\x00\x41\x0a\x00\x00\x02\
              \x00\x07\x00\x07\x00\x08\x00\x00",
        ]
        .concat(),
    ];
    is(&shown(&capture(LinkType::AX25, &frames), &[]), "dsr.txt", include_str!("radio/dsr.txt"));
}

/// What is broken is shown as far as it goes, with a remark.
#[test]
fn broken_frames_of_ax25() {
    let frames = [
        vec![0xff],
        HEAD[..13].to_vec(),
        HEAD.to_vec(),
        [HEAD, b"\x0b"].concat(), // no such U frame
        [HEAD, b"\x03"].concat(), // without its protocol
    ];
    let shown = shown(&capture(LinkType::AX25, &frames), &[]);
    is(&shown, "ax25_broken.txt", include_str!("radio/ax25_broken.txt"));
}

#[test]
fn frames_of_kiss() {
    let frames = [
        [&[0x00][..], HEAD, b"\x03\xf0hello"].concat(),
        [&[0x10][..], HEAD, b"\x3f"].concat(),
        vec![0x01, 50],
        vec![0x26, b'T', b'X', b'B', b'U', b'F', b':'],
        [&[0x0c, 0x12, 0x34][..], HEAD, b"\x3f"].concat(),
        vec![0xff],
        vec![0x00],
    ];
    let shown = shown(&capture(LinkType::AX25_KISS, &frames), &[]);
    is(&shown, "kiss.txt", include_str!("radio/kiss.txt"));
}

#[test]
fn frames_of_agw() {
    let mut name = [0; 10];
    name[..5].copy_from_slice(b"N0AAA");
    let header = AgwHeader { from: name, pid: 0xf0, length: 5, ..AgwHeader::of(b'D') };
    let mut octets = vec![0; AgwHeader::LENGTH];
    header.encode(&mut octets);
    octets.extend_from_slice(b"hello");
    let mut capture = Capture::new("test");
    let interface = capture.interface("lo", "", LinkType::RAW);
    let ends = ["127.0.0.1:40000", "127.0.0.1:8000"].map(|text| text.parse().expect("an address"));
    for frame in Frame::segments(
        Ends::between(ends[0], ends[1]),
        TcpSegment::default(),
        Payload::from(&octets[..]),
    ) {
        capture.packet(interface, TIME, PacketDirection::Outbound, &frame, None);
    }
    let shown = shown(&capture.take(), &["--as", "agw"]);
    let (_, agw) = shown.split_once("  AgwHeader\n").expect("it is shown");
    is(agw, "agw.txt", include_str!("radio/agw.txt"));
}
