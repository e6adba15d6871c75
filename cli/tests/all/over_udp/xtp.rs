//! XTP's packets, read by Wireshark's own dissector and by a reader that shares no code with ours.

use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::process::{Command, Output};

use serde_json::{Value, json};
use stackwright::wire::capture::{Capture, Frame, LinkType, PacketDirection, Payload};

use crate::over_udp::wireshark::file;
use crate::over_udp::{path, say};

const READER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/xtp/reader.py");

/// The options by their bits, the highest first.
const OPTIONS: [&str; 15] = [
    "NOCHECK", "EDGE", "NOERR", "MULTI", "RES", "SORT", "NOFLOW", "FASTNAK", "SREQ", "DREQ",
    "RCLOSE", "WCLOSE", "EOM", "END", "BTAG",
];

/// Returns the packets as the payload of IPv4 (protocol 36), where Wireshark expects them.
fn capture(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut capture = Capture::new("test");
    let line = capture.interface("line", "", LinkType::RAW);
    for packet in packets {
        let mut octets = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 36, 0, 0];
        octets.extend([192, 0, 2, 1, 192, 0, 2, 2]);
        octets[2..4].copy_from_slice(&(20 + packet.len() as u16).to_be_bytes());
        octets.extend(packet);
        let frame = Frame::plain(Payload::from(&octets[..]));
        capture.packet(line, 1_000_000_000, PacketDirection::Outbound, &frame, None);
    }
    capture.take()
}

/// What a program says; `None` where it is not installed.
fn run(command: &mut Command) -> Option<Output> {
    match command.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("skipped: {} is not installed", command.get_program().display());
            None
        }
        output => Some(output.expect("it runs")),
    }
}

/// What our dissector found, under the names of the definition.
fn under_other_names(packet: &Value) -> Value {
    let headers = packet["headers"].as_array().expect("a list");
    let find = |name: &str| headers.iter().find(|header| header["name"] == name);
    let field =
        |header: &str, field: &str| find(header).map(|found| found["fields"][field].clone());
    let own = |name: &str| field("XtpPacket", name).expect("a packet");
    let bits = own("options").as_u64().expect("a number");
    let options = OPTIONS.iter().enumerate();
    let options: Vec<_> =
        options.filter(|(nth, _)| bits >> (22 - nth) & 1 == 1).map(|(_, name)| name).collect();
    let spans: Vec<_> = headers.iter().filter(|header| header["name"] == "SpanSegment").collect();
    let spans: Vec<_> =
        spans.iter().map(|span| json!([span["fields"]["left"], span["fields"]["right"]])).collect();
    // Numbers of formats, and their names in the definition.
    let formats =
        ["DATA", "CNTL", "FIRST", "ECNTL", "", "TCNTL", "", "JCNTL", "DIAG"].map(Value::from);
    let format = formats[own("format").as_u64().expect("a number") as usize].clone();
    let carries = format == "DATA" || format == "FIRST";
    // `dissect` shows a tag as the first of the data.
    let tag = if format == "DATA" && options.contains(&&"BTAG") { 8 } else { 0 };
    let data = packet["payload"]["length"].as_u64().unwrap_or(0);
    let host = |name: &str| {
        let host = field("InternetAddress", name)?.as_u64().expect("a number") as u32;
        Some(Ipv4Addr::from_bits(host).to_string())
    };
    json!({
        "format": format, "data": carries.then(|| data - tag),
        "adomain": field("AddressHeader", "domain"),
        "dsthost": host("destination"), "srchost": host("source"),
        "key": own("key"), "return": own("returned") == json!(1), "options": options,
        "dlen": own("length"), "sort": own("sort"), "sync": own("sync"), "seq": own("sequence"),
        "rseq": field("ControlSegment", "received"), "alloc": field("ControlSegment", "allocated"),
        "echo": field("ControlSegment", "echo"), "xkey": field("KeyExchange", "key"),
        "spans": find("SpanCount").map(|_| spans),
        "service": field("TrafficHeader", "service"), "tlen": field("TrafficHeader", "length"),
        "tformat": field("TrafficHeader", "format"), "maxdata": field("TrafficTerms", "longest"),
        "inrate": field("TrafficTerms", "rate_in"), "inburst": field("TrafficTerms", "burst_in"),
        "outrate": field("TrafficTerms", "rate_out"),
        "outburst": field("TrafficTerms", "burst_out"), "alen": field("AddressHeader", "length"),
        "aformat": field("AddressHeader", "format"),
        "dstport": field("InternetAddress", "destination_port"),
        "srcport": field("InternetAddress", "source_port"),
        "code": field("DiagnosticSegment", "code"), "value": field("DiagnosticSegment", "value"),
    })
}

/// Insists that no reader finds a packet odd, and that all read the same in it. Returns what the
/// other reader says of each packet; nothing where it is not installed.
pub(crate) fn is_read_alike(packets: &[Vec<u8>]) -> Vec<Value> {
    let file = file(".pcapng", &capture(packets));
    let shown = say(&["dissect", path(file.path()), "--json"]).succeeded().text();
    let ours: Vec<Value> = shown.lines().map(crate::over_udp::json).collect();
    assert_eq!(ours.len(), packets.len());

    let mut tshark = Command::new("tshark");
    tshark.args(["-n", "-r", path(file.path()), "-T", "fields", "-E", "separator=;"]);
    for field in ["xtp.key", "xtp.checksum.status", "_ws.malformed", "xtp.spans_bad"] {
        tshark.args(["-e", field]);
    }
    if let Some(output) = run(&mut tshark) {
        let said = String::from_utf8(output.stdout).expect("text");
        assert_eq!(said.lines().count(), packets.len());
        for line in said.lines() {
            let (key, rest) = line.split_once(';').expect("fields");
            assert!(!key.is_empty() && rest == "1;;", "{line}");
        }
    }

    let Some(output) = run(Command::new("python3").args([READER, path(file.path())])) else {
        return Vec::new();
    };
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let theirs: Vec<Value> = said.lines().map(crate::over_udp::json).collect();
    assert_eq!(theirs.len(), packets.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let named = under_other_names(ours);
        for (name, value) in named.as_object().expect("an object") {
            let there = theirs.get(name).or_else(|| theirs["traffic"].get(name));
            let there = there.or_else(|| theirs["address"].get(name));
            assert_eq!(value, there.unwrap_or(&Value::Null), "{name} of {theirs}: {ours}");
        }
    }
    theirs
}
