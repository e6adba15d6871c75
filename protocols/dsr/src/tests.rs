//! The vectors of the specification, and what a peer could send in their place.

use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use stackwright_contract::{Duration, Instant};
use stackwright_wire::{BufferTree, Message as _};

use crate::header::{Opt, SourceRoute, is_host, read_options, repeats};
use crate::links::{LINKS_MOST, Links};
use crate::packet::Packet;

type M = BufferTree;

fn at(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, last)
}

fn octets(message: &M) -> Vec<u8> {
    let mut octets = Vec::new();
    message.append_to(&mut octets);
    octets
}

/// A request with id 2 from 10.0.0.1 for 10.0.0.3.
const REQUEST: [u8; 32] = [
    0x45, 0, 0, 0x20, 0, 1, 0, 0, 0xff, 0x30, 0xb1, 0xac, 10, 0, 0, 1, 0xff, 0xff, 0xff, 0xff,
    0x3b, 0, 0, 8, 1, 6, 0, 2, 10, 0, 0, 3,
];

#[test]
fn a_request_is_read_and_written_as_it_came() {
    let packet = Packet::read(M::with_headroom(0, &REQUEST)).expect("a packet");
    assert_eq!(packet.options, [Opt::Request { id: 2, target: at(3), list: vec![] }]);
    assert_eq!((packet.source(), packet.destination()), (at(1), Ipv4Addr::BROADCAST));
    assert!(packet.is_ours && !packet.has_payload());
    assert_eq!(octets(&packet.write()), REQUEST);
}

#[test]
fn a_source_route_is_put_before_udp_and_taken_off_again() {
    let plain = Packet::<M>::own(at(1), at(3), 64, vec![]).write();
    let mut udp = octets(&plain);
    udp.extend([0, 7, 0, 7, 0, 8, 0, 0]);
    (udp[3], udp[9]) = (28, 17);
    stackwright_wire::internet::complete_ipv4(&mut udp[..20]);
    let mut packet = Packet::read(M::with_headroom(64, &udp)).expect("a packet");
    assert!(!packet.is_ours && packet.route().is_none());
    let route = SourceRoute { left: 1, list: vec![at(2)], ..SourceRoute::default() };
    packet.options.push(Opt::Route(route.clone()));
    let routed = octets(&packet.write());
    assert_eq!(routed[20..32], [0x11, 0, 0, 8, 0x60, 6, 0, 1, 10, 0, 0, 2]);
    let mut packet = Packet::read(M::with_headroom(0, &routed)).expect("it is sound");
    assert_eq!(packet.route(), Some(&route));
    packet.options.clear();
    assert_eq!(octets(&packet.write()), udp);
}

#[test]
fn every_option_is_read_as_it_was_written() {
    let [source, destination, unreachable] = [1, 2, 3].map(at);
    let options = vec![
        Opt::Request { id: 7, target: at(9), list: vec![at(4), at(5)] },
        Opt::Reply { list: vec![at(4), at(9)] },
        Opt::Error { salvage: 15, source, destination, unreachable },
        Opt::Acknowledgement { id: 65535, source, destination },
        Opt::Route(SourceRoute {
            first_external: true,
            last_external: true,
            salvage: 15,
            left: 63,
            list: vec![at(6)],
        }),
        Opt::AckRequest { id: 8 },
    ];
    let mut written = vec![224, 0, 3, 0, 0, 0, 128, 2, 1, 1]; // Pad1, PadN, a timeout of flows
    options.iter().for_each(|option| option.write(&mut written));
    assert_eq!(read_options(&written), Ok(options));
    let cut = (1..written.len()).filter(|end| read_options(&written[..*end]).is_err()).count();
    assert!(cut > 40, "what is cut off within an option is no header: {cut}");
}

#[test]
fn a_route_by_a_group_or_by_nobody_is_refused() {
    for wrong in [[224, 0, 0, 1], [255; 4], [0; 4], [127, 0, 0, 1]] {
        assert!(!is_host(wrong.into()));
        let mut route = vec![96, 6, 0, 1];
        route.extend(wrong);
        assert!(read_options(&route).is_err(), "{wrong:?}");
    }
    assert!(repeats(&[at(1), at(2), at(1)]) && !repeats(&[at(1), at(2)]));
}

#[test]
fn a_flood_of_links_drives_out_itself() {
    let (now, later) = (Instant::START, Instant::START + Duration::from_secs(300));
    let mut links = Links::default();
    links.learn(now, later, &[at(1), at(2), at(3)], true);
    links.touch(&[at(1), at(2), at(3)]);
    for number in 0..5_000_u32 {
        let made_up = Ipv4Addr::from(0x0b00_0000 + number);
        links.learn(now, later + Duration::from_secs(1), &[at(1), made_up], true);
        assert!(links.len() <= LINKS_MOST);
    }
    assert_eq!(links.route(now, (at(1), at(3)), &[], &[], 5), Some(vec![at(1), at(2), at(3)]));
}

#[test]
fn the_shortest_route_is_found_until_its_links_are_gone() {
    let (now, until) = (Instant::START, Instant::START + Duration::from_secs(300));
    let mut links = Links::default();
    links.learn(now, until, &[1, 2, 3, 4, 5, 1].map(at), true); // a ring
    let route = |links: &Links, without: &[Ipv4Addr], relays| {
        links.route(now, (at(1), at(3)), without, &[], relays)
    };
    assert_eq!(route(&links, &[], 5), Some([1, 2, 3].map(at).into()));
    assert_eq!(route(&links, &[at(2)], 5), Some([1, 5, 4, 3].map(at).into()));
    assert_eq!(route(&links, &[at(2)], 1), None, "more relays than may be");
    let broken = [(at(2), at(1))];
    assert_eq!(
        links.route(now, (at(1), at(3)), &[], &broken, 5),
        Some([1, 5, 4, 3].map(at).into())
    );
    assert!(links.has(at(3), at(2)));
    links.break_link(until, (at(3), at(2)));
    links.learn(now, until, &[at(2), at(3)], false);
    assert_eq!(route(&links, &[], 5), Some([1, 5, 4, 3].map(at).into()));
    assert_eq!(links.route(until, (at(1), at(3)), &[], &[], 5), None, "all have aged");
}
