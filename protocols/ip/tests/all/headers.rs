//! Headers that are wrong: each is dropped, for its own reason.

use stackwright_ip::Config;

use crate::hosts::{Host, at, ip};
use crate::packets::{check, packet, read_icmp};

const OWN: &str = "10.0.0.1";
const PEER: &str = "10.0.0.2";
const OWN6: &str = "2001:db8::1";
const PEER6: &str = "2001:db8::2";

fn both() -> Host {
    let mut config = Config::host(ip(OWN), 24);
    config.interfaces[0].addresses.push((ip(OWN6), 64));
    Host::new(config)
}

/// Returns a packet of IPv4 that was altered, and whose check agrees again.
fn altered(alter: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut packet = packet(PEER, OWN, 99, b"payload!");
    alter(&mut packet);
    check(packet)
}

#[test]
fn each_error_of_a_header_has_its_reason() {
    let with_option = |option: [u8; 4]| {
        altered(|packet| {
            packet.splice(20..20, option);
            (packet[0], packet[3]) = (0x46, packet[3] + 4);
        })
    };
    let corrupt = {
        let mut packet = packet(PEER, OWN, 99, b"payload!");
        packet[8] ^= 1;
        packet
    };
    let cases: [(Vec<u8>, &str); 18] = [
        (vec![], "a packet of a version that nobody listens for"),
        (vec![0x45; 19], "a packet shorter than its header"),
        (vec![0x75; 40], "a packet of another version"),
        (altered(|packet| packet[0] = 0x44), "a header length that is impossible"),
        (altered(|packet| packet[0] = 0x4f), "a packet shorter than its header"),
        (altered(|packet| packet[3] += 1), "a total length that is impossible"),
        (altered(|packet| packet[3] = 19), "a total length that is impossible"),
        (altered(|packet| packet[6] |= 0x80), "a header whose reserved bit is set"),
        (corrupt, "a header whose check does not agree"),
        (with_option([131, 3, 4, 0]), "a packet with a source route"),
        (with_option([137, 3, 4, 0]), "a packet with a source route"),
        (with_option([7, 9, 0, 0]), "an option that is malformed"),
        (packet("127.0.0.1", OWN, 99, b"x"), "a packet whose source is no host"),
        (packet("224.0.0.1", OWN, 99, b"x"), "a packet whose source is no host"),
        (packet("255.255.255.255", OWN, 99, b"x"), "a packet whose source is no host"),
        (
            packet("10.0.0.255", OWN, 99, b"x"),
            "a packet from an address of this host, or of several",
        ),
        (packet(OWN, OWN, 99, b"x"), "a packet from an address of this host, or of several"),
        (packet(PEER, "10.0.0.9", 99, b"x"), "a packet for another host"),
    ];
    let mut host = both();
    let names = host.listen(at("0.0.0.0", 99), 1);
    for (packet, reason) in &cases[1..] {
        host.arrive(0, packet);
        assert_eq!(host.dropped(), [*reason], "{packet:?}");
        assert_eq!(host.left().len(), 0, "{reason}: no answer");
    }
    // What is ignored is delivered.
    host.arrive(0, &with_option([148, 4, 0, 0]));
    host.arrive(0, &altered(|packet| packet.extend([0; 26])));
    let told = host.told(names[0]);
    assert_eq!(told.messages.iter().map(|told| &told.0[..]).collect::<Vec<_>>(), [b"payload!"; 2]);
    assert_eq!(host.dropped(), [""; 0]);
}

/// Returns extension headers before "payload!", of these kinds, behind each other.
fn extended(headers: &[(u8, &[u8])], last: u8) -> Vec<u8> {
    let mut behind = Vec::new();
    for (place, (_, octets)) in headers.iter().enumerate() {
        let next = headers.get(place + 1).map_or(last, |next| next.0);
        behind.push(next);
        behind.extend(*octets);
    }
    behind.extend(b"payload!");
    packet(PEER6, OWN6, headers[0].0, &behind)
}

const NOTHING: [u8; 7] = [0, 1, 4, 0, 0, 0, 0];

#[test]
fn extension_headers_are_read_to_their_end_or_refused() {
    let mut host = both();
    let names = host.listen(at("::", 99), 1);
    let ninefold = [(60, &NOTHING[..]); 9];
    let long = {
        let mut options = vec![31, 1, 251];
        options.extend([0; 252]);
        options
    };
    let silent = |packet: Vec<u8>, reason| (packet, reason, None);
    for (packet, reason, problem) in [
        silent(extended(&ninefold, 99), "more extension headers than are read"),
        silent(extended(&[(60, &long), (60, &NOTHING)], 99), "extension headers that do not end"),
        silent(
            extended(&[(60, &[200, 0, 0, 0, 0, 0, 0])], 99),
            "extension headers that do not end",
        ),
        silent(extended(&[(60, &[0, 0x45, 9, 0, 0, 0, 0])], 99), "an option that is malformed"),
        silent(
            extended(&[(60, &[0, 0x45, 4, 0, 0, 0, 0])], 99),
            "an option that is not known and must be",
        ),
        silent(packet(PEER6, OWN6, 59, b""), "a packet that carries nothing"),
        (
            extended(&[(60, &[0, 0x85, 4, 0, 0, 0, 0])], 99),
            "an option that is not known and must be",
            Some((2, 42)),
        ),
        (
            extended(&[(43, &[0, 0, 1, 0, 0, 0, 0])], 99),
            "a routing header with segments left",
            Some((0, 42)),
        ),
        (
            extended(&[(60, &NOTHING), (0, &NOTHING)], 99),
            "a hop-by-hop header that is not the first",
            Some((1, 40)),
        ),
        (
            packet(PEER6, OWN6, 98, b"x"),
            "a packet of a protocol that nobody here has",
            Some((1, 6)),
        ),
    ] {
        host.arrive(0, &packet);
        assert_eq!(host.dropped(), [reason]);
        let told = host.left().first().map(|(_, _, packet)| read_icmp(packet));
        assert_eq!(
            told.as_ref().map(|told| (told.0, told.1, told.2)),
            problem.map(|(code, at)| (4, code, at)),
            "{reason}"
        );
        assert!(told.is_none_or(|told| told.3 == packet), "all of it is quoted");
    }
    host.arrive(0, &extended(&[(0, &NOTHING), (60, &NOTHING), (43, &[0; 7])], 99));
    host.arrive(0, &extended(&[(60, &[0, 0x05, 4, 0, 0, 0, 0])], 99));
    assert_eq!(host.told(names[0]).messages.len(), 2);
    assert_eq!(host.dropped(), [""; 0]);
}

#[test]
fn what_is_for_several_hosts_is_for_those_that_listen() {
    let mut host = both();
    let names = host.listen(at("0.0.0.0", 99), 8);
    let group = host.listen(at("239.1.2.3", 99), 1);
    for destination in ["255.255.255.255", "10.0.0.255", "224.0.0.1", "239.1.2.3"] {
        host.arrive(0, &packet(PEER, destination, 99, b"to all"));
        assert_eq!(host.dropped(), [""; 0], "{destination}");
    }
    assert_eq!(names.iter().filter(|name| host.told(**name).opened.is_some()).count(), 3);
    assert_eq!(host.told(group[0]).messages.len(), 1);
    // Answers come from an address of its own.
    host.send(group[0], b"here");
    assert_eq!(host.left()[0].2[12..20], [10, 0, 0, 1, 10, 0, 0, 2]);
    host.arrive(0, &packet(PEER, "239.9.9.9", 99, b"to others"));
    assert_eq!(host.dropped(), ["a packet to a group that nobody here has joined"]);
    host.listen(at("::", 99), 8);
    for destination in ["ff02::1", "ff02::1:ff00:1"] {
        host.arrive(0, &packet(PEER6, destination, 99, b"to all"));
        assert_eq!(host.dropped(), [""; 0], "{destination}");
    }
    host.arrive(0, &packet(PEER6, "ff02::1:ff00:2", 99, b"to others"));
    assert_eq!(host.dropped(), ["a packet to a group that nobody here has joined"]);
}
