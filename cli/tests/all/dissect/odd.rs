//! What is cut, damaged, or older.

use stackwright::wire::Header;
use stackwright::wire::capture::{
    Capture, Cooked, Cooked2, Ends, Frame, LinkType, PacketDirection, Payload,
};
use stackwright::wire::internet::Ethernet;

use crate::dissect::{said, shown};

/// The octets of a packet of IPv4 and UDP with five octets of payload.
fn packet() -> Vec<u8> {
    let ends = Ends::between("192.0.2.1:1".parse().unwrap(), "192.0.2.2:2".parse().unwrap());
    let frame = Frame::datagram(ends, Payload::from(&b"hello"[..])).expect("it is short");
    frame.pieces().flatten().copied().collect()
}

/// A capture of these octets as they are.
fn captured(link: LinkType, octets: &[u8]) -> Vec<u8> {
    let mut capture = Capture::new("test");
    let boundary = capture.interface("here", "", link);
    capture.packet(
        boundary,
        0,
        PacketDirection::Inbound,
        &Frame::plain(Payload::from(octets)),
        None,
    );
    capture.take()
}

/// The same in the older format, with the most significant octet first, in nanoseconds or
/// microseconds.
fn older(link: u32, octets: &[u8], original: u32, nanoseconds: bool) -> Vec<u8> {
    let magic = if nanoseconds { 0xa1b2_3c4d_u32 } else { 0xa1b2_c3d4 };
    let mut file = magic.to_be_bytes().to_vec();
    for half in [2_u16, 4] {
        file.extend(half.to_be_bytes());
    }
    for word in [0, 0, 65_535, link, 1_000_000_000, 5, octets.len() as u32, original] {
        file.extend(word.to_be_bytes());
    }
    file.extend(octets);
    file
}

#[test]
fn the_older_format_is_read_too() {
    let packet = packet();
    for (nanoseconds, time) in [(true, ".000000005"), (false, ".000005000")] {
        let shown = shown(&older(101, &packet, packet.len() as u32, nanoseconds), &[]);
        assert!(
            shown.starts_with(&format!(
                "1  2001-09-09 01:46:40{time}  192.0.2.1:1 → 192.0.2.2:2  33 "
            )),
            "{shown}"
        );
        assert!(shown.contains("  Payload, 5 octets\n    hello\n"), "{shown}");
    }
}

#[test]
fn other_links_have_headers_of_their_own() {
    let mut ethernet = vec![0; Ethernet::LENGTH];
    Ethernet { destination: [2; 6], source: [4; 6], ether_type: 0x800 }.encode(&mut ethernet);
    let mut cooked = vec![0; Cooked::LENGTH];
    Cooked {
        packet_type: 0,
        arphrd_type: 1,
        address_length: 6,
        address: [4; 8],
        protocol_type: 0x800,
    }
    .encode(&mut cooked);
    let mut cooked2 = vec![0; Cooked2::LENGTH];
    let header = Cooked2 {
        protocol_type: 0x800,
        reserved: 0,
        interface_index: 3,
        arphrd_type: 1,
        packet_type: 0,
        address_length: 6,
        address: [4; 8],
    };
    header.encode(&mut cooked2);
    for (link, name, mut octets) in [
        (LinkType::ETHERNET, "Ethernet", ethernet),
        (LinkType::LINUX_SLL, "Cooked", cooked),
        (LinkType::LINUX_SLL2, "Cooked2", cooked2),
    ] {
        octets.extend(packet());
        octets.extend([0; 13]); // padding, as short frames have it
        let shown = shown(&captured(link, &octets), &[]);
        assert!(shown.contains(&format!("  {name}\n")), "{shown}");
        assert!(shown.contains("  Payload, 5 octets\n    hello\n\n"), "{shown}");
    }
}

#[test]
fn what_is_odd_is_said() {
    let packet = packet();
    let with = |place: usize, value: u8| {
        let mut packet = packet.clone();
        packet[place] = value;
        packet
    };
    for (link, octets, says) in [
        (LinkType::RAW, packet[..30].to_vec(), "Ipv4 carries 13 octets, of which 10 were captured"),
        (LinkType::RAW, packet[..22].to_vec(), "Udp has 8 octets, of which 2 were captured"),
        (LinkType::RAW, packet[..3].to_vec(), "Ipv4 has 20 octets, of which 3 were captured"),
        (LinkType::RAW, Vec::new(), "nothing is here"),
        (LinkType::RAW, with(0, 0x75), "IP version 7 is not supported"),
        (LinkType::RAW, with(0, 0x44), "Ipv4 has an invalid length of 16 octets"),
        (LinkType::RAW, with(0, 0x4f), "Ipv4 has 40 octets of options, not all captured"),
        (
            LinkType::RAW,
            with(6, 0x80),
            "Ipv4 is malformed: the field `reserved` has a value that it must not have",
        ),
        (LinkType::RAW, with(7, 3), "not the first fragment of its packet"),
        (LinkType::RAW, with(9, 89), "IP protocol 89 is not supported"),
        (LinkType::RAW, with(25, 7), "UDP's length is shorter than its header"),
        (LinkType(9), packet.clone(), "link type 9 is not supported"),
        (LinkType::ETHERNET, vec![6; 20], "EtherType 0x0606 is not supported"),
    ] {
        let shown = shown(&captured(link, &octets), &[]);
        assert!(shown.contains(&format!("  ! {says}\n")), "{says} is not in {shown}");
    }
    assert!(
        shown(&captured(LinkType::RAW, &with(9, 89)), &[])
            .contains("  192.0.2.1 → 192.0.2.2  33 octets\n")
    );
    let shown = shown(&older(101, &packet[..25], 33, true), &[]);
    assert!(shown.contains("  ! 25 of 33 octets were captured\n"), "{shown}");
}

#[test]
fn a_file_that_ends_too_soon_is_shown_as_far_as_it_goes() {
    let mut file = captured(LinkType::RAW, &packet());
    let whole = file.len();
    file.extend_from_within(whole - 100..);
    let (code, shown, complaint) = said(&file[..whole + 90], &[]);
    assert_eq!(code, Some(1));
    assert!(shown.contains("hello"), "{shown}");
    assert!(complaint.starts_with("stackwright: FILE: "), "{complaint}");
    for length in 1..whole {
        let (code, ..) = said(&file[..length], &[]);
        assert!(code.is_some_and(|code| code < 2), "{length} octets");
    }
    let (code, shown, complaint) = said(&file[..whole - 4], &[]);
    assert_eq!((code, shown.as_str()), (Some(1), ""));
    assert_eq!(
        complaint,
        "stackwright: FILE: the file ends within a packet\n  the capture was interrupted; all complete packets are shown\n"
    );
}

#[test]
fn what_is_no_capture_is_refused() {
    let advice = "stackwright: FILE: not a capture\n  use a pcapng or pcap file, as saved by Wireshark or `tcpdump -w FILE`\n";
    for octets in [&b""[..], b"a letter", &[0; 4000]] {
        assert_eq!(said(octets, &[]), (Some(1), String::new(), advice.to_owned()));
    }
    let (code, shown, _) = said(b"a letter", &["--json"]);
    assert_eq!(code, Some(1));
    assert!(shown.contains(r#""event":"failed""#), "{shown}");
    let output = crate::dissect::command().arg("/").output().expect("our own program");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not a regular file"));
}

/// In front of a network card, and on the loopback interface, they are one.
#[test]
fn datagrams_that_left_together_are_told() {
    let ends = Ends::between("127.0.0.1:1".parse().unwrap(), "127.0.0.1:2".parse().unwrap());
    let of = |octets: usize| {
        let octets = vec![0; octets];
        let frame = Frame::datagram(ends, Payload::from(&octets[..])).expect("it is short");
        let packet: Vec<u8> = frame.pieces().flatten().copied().collect();
        shown(&captured(LinkType::RAW, &packet), &[])
    };
    assert!(of(1473).contains("left together"), "{}", of(1473));
    assert!(!of(1472).contains("left together"));
}
