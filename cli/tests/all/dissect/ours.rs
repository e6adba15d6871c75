//! Captures that our own crates write.

use std::net::SocketAddr;
use std::process::Stdio;

use serde_json::{Value, json};
use stackwright::group::header::{MeshHeader, NakHeader, OutsideHeader, ViewsHeader};
use stackwright::stop_and_wait::StopAndWaitHeader;
use stackwright::wire::Header;
use stackwright::wire::capture::{
    Capture, Ends, Frame, LinkType, PacketDirection, Payload, TcpSegment,
};

use crate::dissect::{command, file, said, shown};

const TIME: u64 = 1_709_251_199_000_000_007; // the last second of a leap day

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

/// A datagram of stop-and-wait, on an interface with this description.
fn numbered(description: &str) -> Vec<u8> {
    let mut payload = [0; StopAndWaitHeader::LENGTH + 2];
    StopAndWaitHeader { reserved: (), acknowledgement: false, number: 258 }.encode(&mut payload);
    payload[StopAndWaitHeader::LENGTH..].copy_from_slice(&[0xfe, 0x41]);
    let mut capture = Capture::new("test");
    let boundary = capture.interface("stop-and-wait over udp", description, LinkType::RAW);
    let ends = Ends::between(address("192.0.2.1:4000"), address("192.0.2.2:7"));
    let frame = Frame::datagram(ends, Payload::from(&payload[..])).expect("it is short");
    capture.packet(boundary, TIME, PacketDirection::Outbound, &frame, Some("Datagrams Send"));
    capture.take()
}

#[test]
fn the_interface_says_who_is_above() {
    let shown = shown(&numbered("stop-and-wait"), &[]);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(
        lines[..2],
        [
            "1  2024-02-29 23:59:59.000000007  stop-and-wait over udp  out  192.0.2.1:4000 → 192.0.2.2:7  33 octets",
            "  # Datagrams Send",
        ]
    );
    for expected in [
        "  Ipv4\n    version ",
        "  Udp\n    source_port       4000   (0xfa0)",
        "  StopAndWaitHeader\n    reserved         0    (0x0)    Reserved, 0.\n    acknowledgement  0    (0x0)    Whether this acknowledges the message of this number; no payload follows then.\n    number           258  (0x102)",
        "  Payload, 2 octets\n    0000  fe 41                                            .A\n",
    ] {
        assert!(shown.contains(expected), "{expected} is not in {shown}");
    }
}

/// JOIN, and a report of a member.
#[test]
fn packets_of_a_group() {
    let header = |header: &dyn Fn(&mut [u8]), length: usize| {
        let mut octets = vec![0; length];
        header(&mut octets);
        octets
    };
    let mesh = |kind, rank| {
        let mesh = MeshHeader { version: (), kind, mark: 0, rank, tag: 0xfeed };
        header(&|octets| mesh.encode(octets), MeshHeader::LENGTH)
    };
    let nak = |kind| {
        let nak = NakHeader { kind, detail: 1, origin: 0, number: 0 };
        header(&|octets| nak.encode(octets), NakHeader::LENGTH)
    };
    let outside = OutsideHeader { incarnation: 77, group: 99 };
    let outside = header(&|octets| outside.encode(octets), OutsideHeader::LENGTH);
    let mut join = vec![0; ViewsHeader::LENGTH];
    join[..2].copy_from_slice(&[6, 1]);
    let join = [mesh(1, 4370), outside, nak(2), join].concat();
    let report = [mesh(0, 2), nak(1), vec![0, 2, 0, 0, 0, 5, 0, 0, 0, 6]].concat();
    let mut capture = Capture::new("test");
    let boundary = capture.interface("group over udp", "group", LinkType::RAW);
    let ends = Ends::between(address("192.0.2.1:4370"), address("192.0.2.2:4370"));
    for packet in [&join, &report] {
        let frame = Frame::datagram(ends, Payload::from(&packet[..])).expect("it is short");
        capture.packet(boundary, TIME, PacketDirection::Outbound, &frame, None);
    }
    let shown = shown(&capture.take(), &["--json"]);
    let packets = shown.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let packets: Vec<Value> = packets.collect();
    let names = |packet: &Value| {
        let headers = packet["headers"].as_array().expect("a list").iter();
        headers.map(|header| header["name"].to_string().replace('"', "")).collect::<Vec<_>>()
    };
    let join = ["Ipv4", "Udp", "MeshHeader", "OutsideHeader", "NakHeader", "ViewsHeader"];
    assert_eq!(names(&packets[0]), join);
    assert_eq!(packets[0]["headers"][5]["fields"]["kind"], 6);
    let report =
        ["Ipv4", "Udp", "MeshHeader", "NakHeader", "SendersHeader", "CountHeader", "CountHeader"];
    assert_eq!(names(&packets[1]), report);
    assert_eq!(packets[1]["headers"][6]["fields"]["upto"], 6);
    assert_eq!(packets[1]["remarks"], json!([]));
}

#[test]
fn an_option_says_who_is_above() {
    let capture = numbered("something else");
    assert!(!shown(&capture, &[]).contains("StopAndWaitHeader"));
    assert!(shown(&capture, &["--as", "stop-and-wait"]).contains("  StopAndWaitHeader\n"));
    assert!(
        !shown(&numbered("stop-and-wait"), &["--as", "copy"]).contains("StopAndWaitHeader"),
        "the option wins"
    );
    let (code, _, complaint) = said(&capture, &["--as", "stop and wait"]);
    assert_eq!(code, Some(2));
    assert!(complaint.contains("unknown protocol `stop and wait`; known: "), "{complaint}");
}

#[test]
fn a_program_reads_one_line_for_each_packet() {
    let shown = shown(&numbered("stop-and-wait"), &["--json"]);
    let packet: Value = serde_json::from_str(&shown).expect("a line of JSON");
    assert_eq!(
        packet["headers"][2],
        json!({ "name": "StopAndWaitHeader", "fields": { "reserved": 0, "acknowledgement": 0, "number": 258 } })
    );
    assert_eq!(packet["payload"], json!({ "length": 2, "text": null, "begin": "fe41" }));
    assert_eq!(packet["direction"], "out");
    assert_eq!(packet["comments"], json!(["Datagrams Send"]));
    assert_eq!(packet["remarks"], json!([]));
}

/// So many segments of a dialogue, over IPv6.
fn dialogue(segments: usize) -> Vec<u8> {
    let mut capture = Capture::new("test");
    let boundary = capture.interface("ftp client over tcp", "ftp client", LinkType::RAW);
    let ends = Ends::between(address("[2001:db8::1]:40000"), address("[2001:db8::2]:21"));
    for _ in 0..segments {
        let payload = Payload::from(&b"USER ftp\r\nPASS \xc3\xa9\r\n"[..]);
        for frame in Frame::segments(ends, TcpSegment::default(), payload) {
            capture.packet(boundary, TIME, PacketDirection::Outbound, &frame, None);
        }
    }
    capture.take()
}

#[test]
fn text_is_shown_as_lines() {
    let shown = shown(&dialogue(1), &[]);
    assert!(shown.contains("  Payload, 19 octets\n    USER ftp\n    PASS é\n"), "{shown}");
    assert!(shown.contains("[2001:db8::1]:40000 → [2001:db8::2]:21"), "{shown}");
    assert!(shown.contains("source          0x20010db8000000000000000000000001"), "{shown}");
}

#[test]
fn long_payloads_are_cut() {
    let mut capture = Capture::new("test");
    let line = capture.interface("line", "", LinkType::USER0);
    for payload in [vec![0xff; 1000], b"a line\n".repeat(20)] {
        capture.packet(
            line,
            TIME,
            PacketDirection::Inbound,
            &Frame::plain(Payload::from(&payload[..])),
            None,
        );
    }
    let shown = shown(&capture.take(), &[]);
    assert_eq!(shown.matches("ff ff").count(), 4 * 8);
    assert!(
        shown.contains("    … and 936 octets more\n") && shown.contains("    … and 4 lines more\n"),
        "{shown}"
    );
}

#[test]
fn a_stranger_writes_nothing_that_harms_a_terminal() {
    let mut capture = Capture::new("test");
    let line = capture.interface("li\x1b[2Jne", "", LinkType::USER0);
    let frame = Frame::plain(Payload::from("text \u{9b}2J".as_bytes()));
    capture.packet(line, TIME, PacketDirection::Inbound, &frame, Some("a\x07b\u{202e}\nc"));
    let shown = shown(&capture.take(), &[]);
    assert!(
        shown.chars().all(|one| one == '\n' || !one.is_control()) && !shown.contains('\u{202e}'),
        "{shown:?}"
    );
}

/// Many more packets than are in memory at once.
#[test]
fn all_of_a_long_file_is_read() {
    let (code, shown, _) = said(&dialogue(20_000), &["--json"]);
    assert_eq!(code, Some(0));
    assert_eq!(shown.lines().count(), 20_000);
    assert!(shown.lines().last().is_some_and(|last| last.contains("\"number\":20000,")));
}

#[test]
fn nobody_reads_on() {
    let file = file(&dialogue(5000));
    let mut child = command()
        .arg(file.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("our own program");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}
