//! Packets of every kind, with every option, whole and broken.

use std::io::Write;

use serde_json::{Value, json};
use stackwright::artp::Item;
use stackwright::artp::header::{
    ControlKind, Fragment, Microseconds, Packet, PacketKind, Signed, Version,
};
use stackwright::artp::option::{Large, PacketOption, Part};
use stackwright::wire::Header;
use stackwright::wire::capture::{Capture, Ends, Frame, LinkType, PacketDirection, Payload};

use crate::over_udp::{path, say, wireshark};

const PORT: u16 = stackwright::artp::PORT;

fn packet(version: Version, kind: PacketKind, options: &[PacketOption], body: &[u8]) -> Vec<u8> {
    let mut written = Vec::new();
    options.iter().for_each(|option| option.write(&mut written));
    let header = Packet {
        version,
        kind,
        session: 5,
        options: written.len() as u16,
        sequence: u32::MAX,
        seconds: 1_100_000_000,
        microseconds: Microseconds::of(250_000),
        expiry: 0,
    };
    let mut octets = vec![0; Packet::LENGTH];
    header.encode(&mut octets);
    [&octets[..], &written, body].concat()
}

fn fragment(index: u16, rest: &[u8]) -> Vec<u8> {
    let mut octets = vec![0; Fragment::LENGTH];
    Fragment { datagram: 7, index, count: 3 }.encode(&mut octets);
    [&octets[..], rest].concat()
}

fn signed(signature: u32, rest: &[u8]) -> Vec<u8> {
    let mut octets = vec![0; Signed::LENGTH];
    Signed { signature }.encode(&mut octets);
    [&octets[..], rest].concat()
}

fn capture(port: u16, payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut capture = Capture::new("test");
    let boundary = capture.interface("line", "", LinkType::RAW);
    let [here, there] = [format!("192.0.2.1:{port}"), "192.0.2.2:40000".into()];
    let ends = Ends::between(here.parse().expect("an address"), there.parse().expect("an address"));
    for payload in payloads {
        let frame = Frame::datagram(ends, Payload::from(&payload[..])).expect("it is short");
        capture.packet(boundary, 1_000_000_000, PacketDirection::Outbound, &frame, None);
    }
    capture.take()
}

/// A capture of one packet with data.
pub(crate) fn one(port: u16) -> Vec<u8> {
    capture(port, &[packet(Version::One, PacketKind::Data, &[], &fragment(0, &signed(0, b"hi")))])
}

fn dissected(payloads: &[Vec<u8>]) -> Vec<Value> {
    let mut file = tempfile::NamedTempFile::new().expect("a place for temporary files");
    file.write_all(&capture(PORT, payloads)).expect("room for a file");
    let shown = say(&["dissect", path(file.path()), "--json"]).succeeded().text();
    shown.lines().map(crate::over_udp::json).collect()
}

/// The headers behind those of IP and UDP, by their names.
fn names(packet: &Value) -> Vec<&str> {
    let headers = packet["headers"].as_array().expect("a list");
    headers[2..].iter().filter_map(|header| header["name"].as_str()).collect()
}

fn every_kind() -> Vec<Vec<u8>> {
    use PacketKind::{Acknowledge, Control, Data};
    let (credit, large) =
        (PacketOption::Credit(77), PacketOption::Large(Large { index: 1, count: 2 }));
    let part = |offset| PacketOption::Part(Part { offset, whole: 20 });
    let mut items = Vec::new();
    Item { kind: ControlKind::Request, id: 0x80, value: b"how many?" }.write(&mut items);
    Item { kind: ControlKind::Reply, id: 0x81, value: b"" }.write(&mut items);
    let numbers = [[0, 0, 0, 1], [0, 0, 0, 2], [255, 255, 255, 255], [0, 0, 0, 0]].concat();
    vec![
        packet(Version::One, Data, &[], &fragment(0, &signed(0, b"hi"))),
        packet(
            Version::One,
            Data,
            &[PacketOption::Priority(3)],
            &fragment(0, &signed(4, b"sign and text")),
        ),
        packet(Version::One, Data, &[], &fragment(0, &signed(100, b"goes on in the next"))),
        packet(Version::One, Data, &[PacketOption::Settled(9)], &fragment(2, b"the rest")),
        packet(Version::Two, Data, &[large], &fragment(0, b"not the first")),
        packet(Version::Two, Data, &[part(0)], &fragment(0, &signed(0, b"in two"))),
        packet(Version::Two, Data, &[part(10)], &fragment(0, b"parts")),
        packet(Version::Two, Control, &[part(10)], &items[3..]),
        packet(Version::One, Control, &[], &items),
        packet(Version::One, Acknowledge, &[credit], &numbers),
        packet(Version::One, Acknowledge, &[credit, PacketOption::Ranges], &numbers),
    ]
}

#[test]
fn what_follows_depends_on_what_was_read() {
    let packets = dissected(&every_kind());
    let found: Vec<_> = packets.iter().map(names).collect();
    assert_eq!(
        found,
        [
            &["Packet", "Fragment", "Signed"][..],
            &["Packet", "OptionHeader", "Priority", "Fragment", "Signed", "signature"],
            &["Packet", "Fragment", "Signed", "signature"],
            &["Packet", "OptionHeader", "Settled", "Fragment"],
            &["Packet", "OptionHeader", "Large", "Fragment"],
            &["Packet", "OptionHeader", "Part", "Fragment", "Signed"],
            &["Packet", "OptionHeader", "Part", "Fragment"],
            &["Packet", "OptionHeader", "Part", "part"],
            &["Packet", "ControlHeader", "value", "ControlHeader"],
            &["Packet", "OptionHeader", "Credit", "Arrived", "Arrived", "Arrived", "Arrived"],
            &["Packet", "OptionHeader", "Credit", "OptionHeader", "ArrivedRange", "ArrivedRange"],
        ]
    );
    assert_eq!(packets[0]["payload"]["text"], "hi");
    assert_eq!(packets[1]["headers"][7], json!({ "name": "signature", "octets": "7369676e" }));
    assert_eq!(packets[1]["payload"]["text"], " and text");
    assert_eq!(packets[5]["payload"]["text"], "in two");
    assert_eq!(packets[10]["headers"][7]["fields"], json!({ "first": u32::MAX, "last": 0 }));
    assert!(packets.iter().all(|packet| packet["remarks"] == json!([])), "{packets:?}");
    wireshark::agrees("artp", &capture(PORT, &every_kind()), &[PORT]);
}

#[test]
fn what_does_not_fit_is_said() {
    let mut size = packet(Version::One, PacketKind::Data, &[PacketOption::Priority(3)], &[]);
    size[Packet::LENGTH + 1] = 3;
    let mut options = packet(Version::One, PacketKind::Data, &[], &[]);
    options[3] = 9;
    let short = packet(Version::One, PacketKind::Acknowledge, &[], &[0, 0, 1]);
    let mut kind = packet(Version::One, PacketKind::Data, &[], b"?");
    kind[0] = 0x1f;
    let mut more = packet(Version::One, PacketKind::Data, &[], &fragment(2, b"x"));
    more.splice(Packet::LENGTH..Packet::LENGTH, [0, 7, 0, 4, 1, 2, 3]);
    more[3] = 7;
    let broken = [size, options, short, kind, more];
    let packets = dissected(&broken);
    let remarks: Vec<_> = packets.iter().map(|packet| packet["remarks"].to_string()).collect();
    assert_eq!(
        remarks,
        [
            "[\"`size` of OptionHeader says 3, which does not fit\"]",
            "[\"`options` of Packet says 9, which does not fit\"]",
            "[\"Arrived has 4 octets, of which only 3 are here\"]",
            "[\"Packet is malformed: the field `kind` has a value that it must not have\"]",
            "[]",
        ]
    );
    if let Some(odd) = wireshark::odd(&capture(PORT, &broken)) {
        // It has the tables, and not the values that a field may have.
        assert_eq!(odd, [true, true, true, false, false]);
    }
    assert_eq!(
        names(&packets[4]),
        ["Packet", "OptionHeader", "Priority", "unexplained", "Fragment"]
    );
}

#[test]
fn another_port_is_told() {
    let mut file = tempfile::NamedTempFile::new().expect("a place for temporary files");
    file.write_all(&one(5000)).expect("room for a file");
    let shown = |options: &[&str]| {
        say(&[&["dissect", path(file.path())], options].concat()).succeeded().text()
    };
    assert!(!shown(&[]).contains("  Fragment\n"));
    assert!(shown(&["--port", "5000=artp"]).contains("  Fragment\n"));
    assert!(
        shown(&["--as", "artp"])
            .contains("  Signed\n    signature  0  (0x0)  The octets of the signature")
    );
    say(&["dissect", path(file.path()), "--port", "5000"]).exited(2);
    say(&["dissect", path(file.path()), "--port", "5000=nothing"]).exited(2);
}
