//! Headers before payload.

use std::net::SocketAddr;
use std::sync::Arc;

use proptest::prelude::*;
use stackwright_wire::capture::{Control, Ends, Frame, LinkType, Payload, TcpSegment};
use stackwright_wire::internet::{Ipv4, Ipv6, Tcp, Udp};
use stackwright_wire::{BufferTree, Header, Message, Region};

use crate::capture::read::flat;

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn ends_v4() -> Ends {
    Ends::between(address("192.0.2.1:4000"), address("198.51.100.2:53"))
}

fn ends_v6() -> Ends {
    Ends::between(address("[2001:db8::1]:4000"), address("[2001:db8::2]:53"))
}

/// The sum of RFC 1071, the slow way.
fn sum(octets: &[u8]) -> u16 {
    let words = octets
        .chunks(2)
        .map(|word| u64::from(word[0]) << 8 | word.get(1).map_or(0, |low| u64::from(*low)));
    let mut sum: u64 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Looks through the network's header: protocol, and what it carries. Everything in it is right.
fn carried(packet: &[u8]) -> (u8, Vec<u8>) {
    let (protocol, addresses, carried) = match packet[0] >> 4 {
        4 => {
            let ip = Ipv4::decode(packet).unwrap();
            assert_eq!((usize::from(ip.total_length), ip.ihl), (packet.len(), 5));
            assert_eq!(sum(&packet[..20]), 0xffff);
            (ip.protocol, [ip.source, ip.destination].concat(), &packet[20..])
        }
        _ => {
            let ip = Ipv6::decode(packet).unwrap();
            assert_eq!(usize::from(ip.payload_length), packet.len() - 40);
            (ip.next_header, [ip.source, ip.destination].concat(), &packet[40..])
        }
    };
    let length = (carried.len() as u32).to_be_bytes();
    let all = [&addresses[..], &length, &[0, 0, 0, protocol], carried].concat();
    assert_eq!(sum(&all), 0xffff, "the check of what is carried");
    (protocol, carried.to_vec())
}

proptest! {
    #[test]
    fn datagrams_are_right(octets: Vec<u8>, six: bool, ports: (u16, u16)) {
        let (source, destination) =
            if six { ("[2001:db8::1]:0", "[fe80::2]:0") } else { ("192.0.2.1:0", "127.0.0.1:0") };
        let (mut source, mut destination) = (address(source), address(destination));
        source.set_port(ports.0);
        destination.set_port(ports.1);
        let frame = Frame::datagram(Ends::between(source, destination), Payload::from(&octets[..])).unwrap();
        let packet = flat(&frame);
        prop_assert_eq!(frame.len(), packet.len());
        let (protocol, datagram) = carried(&packet);
        let udp = Udp::decode(&datagram).unwrap();
        prop_assert_eq!((protocol, udp.source_port, udp.destination_port), (17, ports.0, ports.1));
        prop_assert_eq!(usize::from(udp.length), datagram.len());
        prop_assert_eq!(&datagram[8..], octets);
    }

    /// However a rope is cut into pieces, its packets carry it whole, and the numbers run on.
    #[test]
    fn segments_carry_a_stream(
        lengths in prop::collection::vec(0..90_000_usize, 0..5), six: bool, sequence: u32, kind in 0..4,
    ) {
        let control = [Control::Absent, Control::Synchronise, Control::Finish, Control::Reset][kind as usize];
        let octets: Vec<u8> = (0..lengths.iter().sum()).map(|place| (place % 251) as u8).collect();
        let mut rope = BufferTree::default();
        let mut start = 0;
        for length in lengths {
            rope.join(BufferTree::with_headroom(0, &octets[start..start + length]));
            start += length;
        }
        let ends = if six { ends_v6() } else { ends_v4() };
        let segment = TcpSegment { sequence, acknowledgement: Some(99), urgent: true, control };
        let packets: Vec<Vec<u8>> =
            Frame::segments(ends, segment, Payload::of(&rope)).map(|frame| flat(&frame)).collect();
        prop_assert_eq!(packets.len(), octets.len().div_ceil(65_495).max(1));
        let (mut expected, mut came) = (sequence, Vec::new());
        for (place, packet) in packets.iter().enumerate() {
            let (protocol, octets) = carried(packet);
            let tcp = Tcp::decode(&octets).unwrap();
            prop_assert_eq!((protocol, tcp.data_offset, tcp.sequence_number), (6, 5, expected));
            prop_assert_eq!((tcp.ack, tcp.acknowledgment_number), (true, 99));
            let (first, last) = (place == 0, place == packets.len() - 1);
            prop_assert_eq!(tcp.syn, first && control == Control::Synchronise);
            prop_assert_eq!(tcp.fin, last && control == Control::Finish);
            prop_assert_eq!(tcp.rst, last && control == Control::Reset);
            prop_assert_eq!(tcp.urg, last);
            let data = &octets[Tcp::LENGTH..];
            prop_assert_eq!(usize::from(tcp.urgent_pointer), if last { data.len() } else { 0 });
            came.extend_from_slice(data);
            expected = expected.wrapping_add(data.len() as u32 + u32::from(tcp.syn));
        }
        prop_assert!(came == octets);
    }
}

#[test]
fn who_speaks_first_acknowledges_nothing() {
    let segment = TcpSegment { control: Control::Synchronise, ..TcpSegment::default() };
    let packets: Vec<_> = Frame::segments(ends_v4(), segment, Payload::default()).collect();
    let [syn] = &packets[..] else { panic!("one packet opens") };
    let (_, octets) = carried(&flat(syn));
    let tcp = Tcp::decode(&octets).unwrap();
    assert!(tcp.syn && !tcp.ack && tcp.acknowledgment_number == 0);
}

/// RFC 768: "If the computed checksum is zero, it is transmitted as all ones".
#[test]
fn a_check_of_zero_is_written_as_all_ones() {
    let datagram = |octets: [u8; 2]| {
        let packet = flat(&Frame::datagram(ends_v4(), Payload::from(&octets[..])).unwrap());
        Udp::decode(&packet[Ipv4::LENGTH..]).unwrap().checksum
    };
    let check = datagram([0, 0]);
    assert_eq!(datagram(check.to_be_bytes()), 0xffff);
}

#[test]
fn the_longest_datagram_of_each_family() {
    let octets = vec![0; 65_528];
    let fits = |ends, length| Frame::datagram(ends, Payload::from(&octets[..length])).is_some();
    assert!(fits(ends_v4(), 65_507) && !fits(ends_v4(), 65_508));
    assert!(fits(ends_v6(), 65_527) && !fits(ends_v6(), 65_528));
}

#[test]
fn the_ends_are_of_one_family() {
    let (v4, v6) = (address("192.0.2.1:1"), address("[2001:db8::1]:2"));
    let mapped = address("[::ffff:192.0.2.1]:1");
    assert_eq!(Ends::between(mapped, mapped), Ends::between(v4, v4));
    let (SocketAddr::V6(mapped), SocketAddr::V6(six)) = (mapped, v6) else { unreachable!() };
    assert_eq!(Ends::between(v4, v6), Ends::V6(mapped, six));
    assert_eq!(Ends::between(v4, v6).reversed(), Ends::between(v6, v4));
    assert_eq!(LinkType::between(Some(v4), Some(v6)), LinkType::RAW);
    assert_eq!(LinkType::between(Some(v4), None), LinkType::USER0);
}

#[test]
fn a_region_of_a_file_is_counted_and_not_read() {
    let region = Region { source: Arc::new(()), offset: 7, length: 100_000 };
    let mut rope = BufferTree::with_headroom(0, b"head");
    rope.join(BufferTree::from_region(region).unwrap());
    rope.join(BufferTree::with_headroom(0, b"tail"));
    let segment =
        TcpSegment { acknowledgement: Some(1), control: Control::Finish, ..TcpSegment::default() };
    let frames: Vec<Frame<'_>> = Frame::segments(ends_v4(), segment, Payload::of(&rope)).collect();
    let [first, last] = &frames[..] else { panic!("two packets") };
    assert_eq!((first.len(), last.len()), (65_535, 40 + 100_008 - 65_495));
    assert_eq!(flat(first)[40..], *b"head");
    let tcp = Tcp::decode(&flat(last)[20..]).unwrap();
    assert!(tcp.fin && tcp.sequence_number == 65_495 && tcp.checksum == 0);
    assert_eq!(Ipv4::decode(&flat(first)).unwrap().total_length, 65_535);
    assert_eq!(sum(&flat(last)[..20]), 0xffff);
}
