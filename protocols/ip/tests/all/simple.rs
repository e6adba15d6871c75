//! A packet in gives a packet out.

use std::net::IpAddr;

use stackwright_contract::services::{DatagramsRequest, Ended};
use stackwright_ip::Config;
use stackwright_wire::check::Internet;

use crate::hosts::{Host, at, carry, host, ip};

#[test]
fn a_message_takes_a_name_that_waits_and_is_answered() {
    for (here, there) in [("10.0.0.1", "10.0.0.2"), ("2001:db8::1", "2001:db8::2")] {
        let (mut one, mut other) = (host(here), host(there));
        let names = other.listen(at(there, 99), 2);
        let opened = one.open(at(there, 99));
        assert_eq!(one.told(opened).opened.map(|opened| opened.0), Some(ip(here)));
        one.send(opened, b"hello");
        carry(&mut [&mut one, &mut other], |from, _| (1 - from, 0));
        let told = other.told(names[0]);
        assert_eq!(told.opened.map(|told| (told.0, told.1)), Some((ip(there), ip(here))));
        assert_eq!(told.messages[0].0, b"hello");
        other.send(names[0], b"and back");
        carry(&mut [&mut one, &mut other], |from, _| (1 - from, 0));
        assert_eq!(one.told(opened).messages[0].0, b"and back");
        assert!(other.told(names[1]).opened.is_none());
        assert_eq!((one.dropped(), other.dropped()), (vec![], vec![]));
    }
}

#[test]
fn what_a_path_takes_is_less_by_the_header() {
    for (here, there, longest) in
        [("10.0.0.1", "10.0.0.2", 1480), ("2001:db8::1", "2001:db8::2", 1460)]
    {
        let mut one = host(here);
        let opened = one.open(at(there, 99));
        assert_eq!(one.told(opened).opened.map(|told| told.2.longest), Some(longest));
    }
}

#[test]
fn an_echo_request_is_answered() {
    let mut one = host("10.0.0.1");
    let mut packet = vec![
        0x45, 2, 0, 30, 1, 2, 0, 0, 9, 1, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1, 8, 0, 0, 0, 0, 7, 0, 1,
        b'x', b'y',
    ];
    let check = Internet::of(&packet[20..]).to_be_bytes();
    packet[22..24].copy_from_slice(&check);
    let check = Internet::of(&packet[..20]).to_be_bytes();
    packet[10..12].copy_from_slice(&check);
    packet.extend([0; 16]); // padding of a link
    one.arrive(0, &packet);
    let left = one.left();
    let [(0, hop, answer)] = &left[..] else { panic!("one answer: {left:?}") };
    assert_eq!(*hop, ip("10.0.0.2"));
    assert_eq!((&answer[12..16], &answer[16..20]), (&packet[16..20], &packet[12..16]));
    assert_eq!((answer.len(), answer[20], &answer[24..]), (30, 0, &packet[24..30]));
    assert_eq!((Internet::of(&answer[..20]), Internet::of(&answer[20..])), (0, 0));
    packet[29] ^= 1;
    one.arrive(0, &packet);
    assert_eq!(one.left().len(), 0);
    assert_eq!(one.dropped(), ["an ICMP message whose check does not agree"]);
}

#[test]
fn an_association_waits_for_its_interface() {
    let config = Config::host(ip("10.0.0.1"), 24).through(ip("10.0.0.9"), 0);
    let mut one = Host::down(config, stackwright_contract::PathLimits::of_longest(576));
    let name = one.names.name(());
    let open = DatagramsRequest::Open {
        association: name,
        remote: at("192.0.2.7", 17),
        local: None,
        credit: crate::hosts::AMPLE,
    };
    use stackwright_contract::Protocol as _;
    one.ip.handle_request(&one.cx, open, &mut one.words);
    assert!(one.told(name).opened.is_none());
    one.settle();
    assert_eq!(one.told(name).opened.map(|told| told.2.longest), Some(556));
    one.send(name, b"far away");
    let hops: Vec<IpAddr> = one.left().iter().map(|(_, hop, _)| *hop).collect();
    assert_eq!(hops, [ip("10.0.0.9")]);
}

#[test]
fn without_a_route_or_an_address_an_association_ends() {
    let mut one = host("10.0.0.1");
    for (remote, why) in [
        (at("10.9.0.1", 17), Ended::Unreachable),
        (at("2001:db8::1", 17), Ended::Unreachable),
        (at("127.0.0.1", 17), Ended::Unreachable),
        (stackwright_contract::Participant::OTHER_END, Ended::Unavailable),
    ] {
        let name = one.open(remote);
        assert_eq!(one.told(name).ended, Some(why), "{remote}");
    }
    let first = one.open(at("10.0.0.2", 17));
    let second = one.open(at("10.0.0.2", 17));
    assert_eq!(one.told(second).ended, Some(Ended::Unavailable), "one a pair and protocol");
    one.ask(DatagramsRequest::Close { name: first });
    assert_eq!(one.told(first).ended, Some(Ended::Finished));
    let third = one.open(at("10.0.0.2", 17));
    assert!(one.told(third).opened.is_some());
}
