//! Wireshark, with the plug-in that we write for it.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Write};
use std::process::Command;

use serde_json::Value;
use tempfile::NamedTempFile;

use crate::over_udp::{json, path, say};

pub(crate) fn file(suffix: &str, octets: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::with_suffix(suffix).expect("a place for temporary files");
    file.write_all(octets).expect("room for a file");
    file
}

/// What tshark says; `None` where it is not installed.
fn tshark(capture: &NamedTempFile, script: &NamedTempFile, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("tshark");
    command.args([
        "-n",
        "-X",
        &format!("lua_script:{}", path(script.path())),
        "-r",
        path(capture.path()),
    ]);
    match command.args(arguments).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("skipped: tshark is not installed");
            None
        }
        output => {
            let output = output.expect("tshark runs");
            let complaints = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && !complaints.contains("Lua"), "{complaints}");
            Some(String::from_utf8(output.stdout).expect("text"))
        }
    }
}

/// Insists that `dissect` and Wireshark find the same values of the same fields in every packet,
/// and nothing odd. Gives the names of the headers that `dissect` found.
pub(crate) fn agrees(protocol: &str, capture: &[u8], ports: &[u16]) -> Vec<String> {
    let capture = file(".pcapng", capture);
    let known: Vec<String> = ports.iter().map(|port| format!("--port={port}={protocol}")).collect();
    let mut arguments = vec!["dissect", path(capture.path()), "--json"];
    arguments.extend(known.iter().map(String::as_str));
    let packets: Vec<Value> = say(&arguments).succeeded().text().lines().map(json).collect();
    assert!(!packets.is_empty());
    let mut headers = BTreeSet::new();
    let mut fields = BTreeSet::new();
    for packet in &packets {
        assert_eq!(packet["remarks"], Value::Array(Vec::new()), "{packet}");
        for (header, field, _) in values(packet) {
            headers.insert(header.clone());
            fields.insert((header, field));
        }
    }
    let own = own(protocol);
    let script = file(".lua", &say(&["dissector", protocol]).succeeded().output);
    let at_ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
    let preference = format!("{own}.ports:{}", at_ports.join(","));
    let names: Vec<String> =
        fields.iter().map(|(header, field)| filter(&own, header, field)).collect();
    let mut arguments =
        vec!["-o", &preference, "-T", "fields", "-E", "separator=;", "-E", "occurrence=a"];
    let odd = format!("{own}.odd");
    for field in
        ["frame.number", "_ws.malformed", &odd].into_iter().chain(names.iter().map(String::as_str))
    {
        arguments.extend(["-e", field]);
    }
    let Some(said) = tshark(&capture, &script, &arguments) else { return Vec::from_iter(headers) };
    assert_eq!(said.lines().count(), packets.len());
    for (line, packet) in said.lines().zip(&packets) {
        let mut expected = vec![packet["number"].to_string(), String::new(), String::new()];
        expected.extend(fields.iter().map(|(header, field)| {
            let same = |there: &&(String, String, String)| there.0 == *header && there.1 == *field;
            let all = values(packet);
            all.iter()
                .filter(same)
                .map(|(_, _, value)| value.as_str())
                .collect::<Vec<_>>()
                .join(",")
        }));
        assert_eq!(line.split(';').collect::<Vec<_>>(), expected, "{packet}");
    }
    Vec::from_iter(headers)
}

/// Whether Wireshark finds each packet odd, at a port that it knows; `None` where it is not
/// installed.
pub(crate) fn odd(capture: &[u8]) -> Option<Vec<bool>> {
    let script = file(".lua", &say(&["dissector", "artp"]).succeeded().output);
    let fields = ["-T", "fields", "-e", "frame.number", "-e", "artp.odd", "-e", "_ws.malformed"];
    let said = tshark(&file(".pcapng", capture), &script, &fields)?;
    let one = |line: &str| {
        let mut words = line.split('\t').skip(1);
        let odd = words.next().is_some_and(|odd| !odd.is_empty());
        assert_eq!(words.next(), Some(""), "Wireshark itself has nothing to complain about");
        odd
    };
    Some(said.lines().map(one).collect())
}

/// All fields of the protocol in a packet, as Wireshark shows their values.
fn values(packet: &Value) -> Vec<(String, String, String)> {
    let headers = packet["headers"].as_array().expect("a list");
    let ours = headers
        .iter()
        .filter(|header| !["Ipv4", "Ipv6", "Udp"].iter().any(|known| header["name"] == *known));
    let mut values = Vec::new();
    for header in ours {
        let name = header["name"].as_str().expect("a name").to_owned();
        match header["fields"].as_object() {
            Some(fields) => values.extend(
                fields.iter().map(|(field, value)| (name.clone(), field.clone(), shown(value))),
            ),
            None => values.push((name, String::new(), shown(&header["octets"]))),
        }
    }
    values
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

/// A protocol's name in filters: Wireshark has an XTP of its own.
fn own(protocol: &str) -> String {
    if protocol == "xtp" { "xtp_stackwright".into() } else { protocol.into() }
}

/// `OptionHeader` and `size` are `artp.option_header.size`.
fn filter(own: &str, header: &str, field: &str) -> String {
    let mut name = own.to_owned();
    for (index, letter) in header.char_indices() {
        match letter {
            letter if letter.is_uppercase() || index == 0 => {
                name.push(if index == 0 { '.' } else { '_' });
                name.push(letter.to_ascii_lowercase());
            }
            letter => name.push(letter),
        }
    }
    if field.is_empty() { name } else { format!("{name}.{field}") }
}

/// At a port that nobody told it, by "Decode As"; and at its own by itself.
#[test]
fn decode_as_knows_it() {
    let script = file(".lua", &say(&["dissector", "artp"]).succeeded().output);
    let shows = |port: u16, arguments: &[&str]| {
        let capture = file(".pcapng", &crate::over_udp::dissected::one(port));
        let arguments =
            [arguments, &["-T", "fields", "-e", "artp.packet.kind", "-e", "_ws.col.Protocol"]]
                .concat();
        tshark(&capture, &script, &arguments)
    };
    let Some(said) = shows(4330, &[]) else { return };
    assert_eq!(said.trim_end(), "1\tARTP");
    assert_eq!(shows(5000, &["-d", "udp.port==5000,artp"]).expect("tshark").trim_end(), "1\tARTP");
    assert_eq!(shows(5000, &["-o", "artp.ports:4000-6000"]).expect("tshark").trim_end(), "1\tARTP");
    assert_ne!(shows(4330, &["-o", "artp.ports:5000"]).expect("tshark").trim_end(), "1\tARTP");
}

/// Whatever names a syntax has: Wireshark refuses a script with one that it does not take.
#[test]
fn every_plug_in_is_loaded() {
    let capture = file(".pcapng", &crate::over_udp::dissected::one(5000));
    let entries = stackwright::catalogue::PROTOCOLS.iter();
    for entry in entries.filter(|entry| !entry.syntax.is_empty()) {
        let script = file(".lua", &say(&["dissector", entry.facts.name]).succeeded().output);
        let Some(said) = tshark(&capture, &script, &["-T", "fields", "-e", "frame.number"]) else {
            return;
        };
        assert_eq!(said.trim_end(), "1", "{}", entry.facts.name);
    }
}

/// Frames of KISS, without an interface between them and the plug-in.
#[test]
fn frames_of_a_tnc_are_decoded() {
    use stackwright::wire::capture::{Capture, Frame, LinkType, PacketDirection, Payload};
    let mut capture = Capture::new("test");
    let line = capture.interface("line", "kiss", LinkType::USER0);
    for frame in [&[0x21, 30][..], &[0x0c, 0x12, 0x34, 1, 2], b"\x06TXBUF:0", &[0x10, 9]] {
        let frame = Frame::plain(Payload::from(frame));
        capture.packet(line, 0, PacketDirection::Outbound, &frame, None);
    }
    let (script, capture) =
        (file(".lua", &say(&["dissector", "kiss"]).succeeded().output), capture.take());
    let link = "uat:user_dlts:\"User 0 (DLT=147)\",\"kiss\",\"0\",\"\",\"0\",\"\"";
    let mut arguments = vec!["-o", link, "-T", "fields", "-E", "separator=;"];
    let fields = [
        "kiss.kiss_type.port",
        "kiss.kiss_type.command",
        "kiss.kiss_parameter.value",
        "kiss.kiss_acknowledgement.id",
        "kiss.frame",
        "kiss.setting_of_the_hardware",
    ];
    arguments.extend(fields.iter().flat_map(|field| ["-e", field]));
    let Some(said) = tshark(&file(".pcapng", &capture), &script, &arguments) else { return };
    assert_eq!(said, "2;1;30;;;\n0;12;;4660;0102;\n0;6;;;;54584255463a30\n1;0;;;09;\n");
    let shown = say(&["dissect", "--as", "kiss", path(file(".pcapng", &capture).path())]);
    let shown = shown.succeeded().text();
    for part in ["KissParameter", "KissAcknowledgement", "setting of the hardware, 7 octets"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

/// Captures of `monitor`, and of others that begin with AX.25: the plug-ins find them, and
/// Wireshark's own decoding stays.
#[test]
fn links_of_packet_radio_are_found() {
    use stackwright::wire::capture::{Capture, Frame, LinkType, PacketDirection, Payload};
    let ui: &[u8] = b"\x86\xA2\x40\x40\x40\x40\xE0\x9C\x60\x86\x82\x98\x98\x6F\x03\xF0Hi";
    let kiss = [&[0x20], ui].concat();
    let captured = |link, frames: &[&[u8]]| {
        let mut capture = Capture::new("test");
        let interface = capture.interface("tnc", "KISS", link);
        for frame in frames {
            let frame = Frame::plain(Payload::from(*frame));
            capture.packet(interface, 0, PacketDirection::Inbound, &frame, None);
        }
        file(".pcapng", &capture.take())
    };
    let shows = |capture: &NamedTempFile, protocol: &str, fields: &[&str]| {
        let script = file(".lua", &say(&["dissector", protocol]).succeeded().output);
        let mut arguments = vec!["-T", "fields", "-E", "separator=;", "-e", "_ws.col.Protocol"];
        arguments.extend(fields.iter().flat_map(|field| ["-e", field]));
        tshark(capture, &script, &arguments)
    };
    let own = ["ax25_stackwright.address_field.ssid", "ax25_stackwright.information"];
    let Some(said) = shows(&captured(LinkType::AX25, &[ui]), "ax25", &own) else { return };
    assert_eq!(said, "AX.25-NoL3;0,7;4869\n");
    let capture = captured(LinkType::AX25_KISS, &[&kiss, b"\x06TXBUF:0"]);
    let said = shows(&capture, "ax25", &own).expect("tshark");
    assert!(said.starts_with("AX.25-NoL3;0,7;4869\n") && said.ends_with(";;\n"), "{said}");
    let fields = ["kiss.kiss_type.port", "kiss.kiss_type.command", "kiss.frame"];
    let said = shows(&capture, "kiss", &fields).expect("tshark");
    let frame: String = ui.iter().map(|octet| format!("{octet:02x}")).collect();
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].ends_with(&format!(";2;0;{frame}")) && lines[1].ends_with(";0;6;"), "{said}");
    // `dissect` finds the same in both.
    for link in [LinkType::AX25, LinkType::AX25_KISS] {
        let frame = if link == LinkType::AX25 { ui } else { &kiss };
        let capture = captured(link, &[frame]);
        let text = say(&["dissect", "--json", path(capture.path())]).succeeded().text();
        let packet = json(text.trim());
        assert_eq!(packet["source"], "N0CALL-7", "{text}");
        assert_eq!(packet["payload"]["text"], "Hi", "{text}");
    }
}

#[test]
fn only_what_has_packets_has_a_plug_in() {
    let known = say(&["dissector", "stop-and-wait"]).succeeded().text();
    assert!(known.contains("Proto(\"stop_and_wait\""), "{known}");
    let outcome = say(&["dissector", "ftp client"]).exited(2);
    assert!(
        crate::over_udp::complaints(&outcome).contains("lines of text"),
        "{}",
        crate::over_udp::complaints(&outcome)
    );
    say(&["dissector", "nothing"]).exited(2);
}
