//! A stranger reads it: Wireshark, by its program for terminals.

use std::io::{ErrorKind, Write};
use std::process::Command;

use stackwright_wire::capture::{
    Capture, Control, Ends, Frame, LinkType, PacketDirection, Payload, TcpSegment,
};

/// Three packets, the last of them between participants without Internet addresses.
fn file() -> Vec<u8> {
    let mut capture = Capture::new("stackwright");
    let internet = capture.interface("below", "between ftp and tcp", LinkType::RAW);
    let line = capture.interface("line", "a serial line", LinkType::USER0);
    let here = Ends::between("192.0.2.1:40000".parse().unwrap(), "198.51.100.2:7".parse().unwrap());
    let there =
        Ends::between("[2001:db8::1]:40001".parse().unwrap(), "[2001:db8::2]:21".parse().unwrap());

    let second = 1_700_000_000_000_000_000;
    let datagram = Frame::datagram(here, Payload::from(&b"echo me"[..])).unwrap();
    capture.packet(
        internet,
        second,
        PacketDirection::Outbound,
        &datagram,
        Some("what we asked for"),
    );
    let segment = TcpSegment {
        sequence: 1000,
        acknowledgement: Some(2000),
        control: Control::Finish,
        ..TcpSegment::default()
    };
    for frame in Frame::segments(there, segment, Payload::from(&b"QUIT\r\n"[..])) {
        capture.packet(internet, second + 1, PacketDirection::Inbound, &frame, None);
    }
    let frame = Frame::plain(Payload::from(&b"odd"[..]));
    capture.packet(line, second + 2_000_000_003, PacketDirection::Inbound, &frame, None);
    capture.take()
}

/// What tshark says of the file; `None` where it is not installed.
fn tshark(file: &[u8], arguments: &[&str]) -> Option<String> {
    let mut on_disk = tempfile::NamedTempFile::with_suffix(".pcapng").unwrap();
    on_disk.write_all(file).unwrap();
    let output =
        Command::new("tshark").arg("-n").arg("-r").arg(on_disk.path()).args(arguments).output();
    match output {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("skipped: tshark is not installed");
            None
        }
        output => {
            let output = output.unwrap();
            let complaints = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{complaints}");
            Some(String::from_utf8(output.stdout).unwrap())
        }
    }
}

#[test]
fn it_decodes_all_packets() {
    let Some(said) = tshark(&file(), &["-V"]) else { return };
    assert!(!said.to_lowercase().contains("malformed"), "{said}");
    for expected in [
        "what we asked for",
        "Interface name: below",
        "Interface description: between ftp and tcp",
        "Interface name: line",
        "User Datagram Protocol, Src Port: 40000, Dst Port: 7",
        "Transmission Control Protocol, Src Port: 40001, Dst Port: 21, Seq: 1, Ack: 1, Len: 6",
        "Request command: QUIT",
        "Data (3 bytes)",
    ] {
        assert!(said.contains(expected), "{expected:?} is not in {said}");
    }
}

#[test]
fn it_finds_all_checks_good_and_all_times_and_directions() {
    let fields = [
        "frame.time_epoch",
        "frame.packet_flags_direction",
        "ip.checksum.status",
        "udp.checksum.status",
        "tcp.checksum.status",
        "frame.len",
    ];
    let mut arguments = vec!["-T", "fields", "-E", "separator=,"];
    for check in ["ip.check_checksum:TRUE", "udp.check_checksum:TRUE", "tcp.check_checksum:TRUE"] {
        arguments.extend(["-o", check]);
    }
    for field in fields {
        arguments.extend(["-e", field]);
    }
    let Some(said) = tshark(&file(), &arguments) else { return };
    // Versions differ in how many zeros a number in hexadecimal begins with.
    let said = said.replace("0x0000000", "").replace("0x", "");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines,
        [
            "1700000000.000000000,2,1,1,,35",
            "1700000000.000000001,1,,,1,66",
            "1700000002.000000003,1,,,,3"
        ]
    );
}
