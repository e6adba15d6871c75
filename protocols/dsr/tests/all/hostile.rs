//! What a station may hear from others that are not what they say.

use std::net::Ipv4Addr;

use stackwright_dsr::{Config, Dsr};
use stackwright_wire::internet::complete_ipv4;

use crate::air::{M, host};
use crate::hosts::{Hosts, number};

const EVE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 66);

/// A packet of DSR's that carries options alone, or a packet of the test with a number.
fn dsr(from: Ipv4Addr, to: Ipv4Addr, number: Option<u32>, options: &[u8]) -> Vec<u8> {
    let payload: Vec<u8> =
        number.map_or(Vec::new(), |number| [&[0xaa; 16][..], &number.to_be_bytes()].concat());
    let total = (24 + options.len() + payload.len()) as u8;
    let mut packet = vec![0x45, 0, 0, total, 0, 0, 0x40, 0, 64, 48, 0, 0];
    packet.extend(from.octets());
    packet.extend(to.octets());
    complete_ipv4(&mut packet);
    packet.extend([if number.is_some() { 17 } else { 59 }, 0, 0, options.len() as u8]);
    packet.extend(options);
    packet.extend(payload);
    packet
}

fn option(front: &[u8], list: &[Ipv4Addr]) -> Vec<u8> {
    let mut option = front.to_vec();
    list.iter().for_each(|host| option.extend(host.octets()));
    option.insert(1, (option.len() - 1) as u8);
    option
}

fn request(id: u16, target: Ipv4Addr, list: &[Ipv4Addr]) -> Vec<u8> {
    let [high, low] = id.to_be_bytes();
    option(&[1, high, low], &[&[target], list].concat())
}

fn reply(list: &[Ipv4Addr]) -> Vec<u8> {
    option(&[2, 0], list)
}

fn error(source: Ipv4Addr, destination: Ipv4Addr, unreachable: Ipv4Addr) -> Vec<u8> {
    option(&[3, 1, 0], &[source, destination, unreachable])
}

fn route(left: u8, list: &[Ipv4Addr]) -> Vec<u8> {
    option(&[96, 0, left], list)
}

/// Four in a line, of which the first knows the route to the last.
fn settled() -> Hosts {
    let mut hosts = Hosts::new(4, 7, &Config::default());
    hosts.air.line(false);
    hosts.send(0, 3);
    hosts.run(3_000);
    assert_eq!(hosts.came.len(), 1);
    hosts.air.sent.clear();
    hosts
}

/// The first reaches the last by the route that it knew.
fn is_unmoved(mut hosts: Hosts) {
    hosts.air.sent.clear();
    let number = hosts.send(0, 3);
    hosts.run(3_000);
    assert!(hosts.came.contains(&number));
    assert!(hosts.air.sent.iter().all(|(_, next, _)| !next.is_broadcast()), "nobody searches");
}

#[test]
fn a_forged_error_is_not_believed() {
    let mut hosts = settled();
    let [one, two, three, four] = [0, 1, 2, 3].map(host);
    // From a station that is not the end of the link, for another, or of a link that is none.
    for (from, error) in [
        (EVE, error(two, one, three)),
        (EVE, error(EVE, one, three)),
        (two, error(three, one, four)),
        (two, error(two, EVE, three)),
        (two, error(two, one, four)),
    ] {
        hosts.air.arrives(0, &dsr(from, one, None, &error));
    }
    let reason = "an error from another station, or of a link that is none";
    assert_eq!(hosts.dropped(reason), 5);
    is_unmoved(hosts);
}

#[test]
fn a_forged_reply_is_not_believed() {
    let mut hosts = settled();
    let [one, two, .., four] = [0, 1, 2, 3].map(host);
    let searched = host(8);
    hosts.send_octets(0, 8, &crate::hosts::packet(0, 8, 99));
    hosts.run(20);
    for (list, reason) in [
        (&[EVE, four][..], "a reply that was not asked for"),
        (&[EVE, EVE, searched], "a reply with a route that is none"),
        (&[two, one, searched], "a reply with a route that is none"),
        (&[EVE; 0], ""),
    ] {
        hosts.air.arrives(0, &dsr(EVE, one, None, &reply(list)));
        assert!(reason.is_empty() || hosts.air.stations[0].reasons.of(reason) > 0, "{list:?}");
    }
    let long: Vec<_> = (20..30).map(host).chain([searched]).collect();
    hosts.air.arrives(0, &dsr(EVE, one, None, &reply(&long)));
    // One that we relay, of a request that we did not pass on.
    let forged = [reply(&[two, EVE]), route(1, &[two])].concat();
    hosts.air.arrives(1, &dsr(EVE, one, None, &forged));
    assert_eq!(hosts.air.stations[1].reasons.of("a reply that was not asked for"), 1);
    hosts.air.sent.clear();
    hosts.send(0, 3);
    hosts.run(30);
    let by_eve = hosts.air.sent.iter().filter(|(_, next, _)| *next == EVE);
    assert_eq!(by_eve.count(), 0);
}

#[test]
fn an_acknowledgement_is_believed_from_who_was_asked_alone() {
    let mut hosts = settled();
    let [one, two, ..] = [0, 1, 2, 3].map(host);
    for (from, by, to) in [(EVE, two, one), (two, EVE, one), (two, two, EVE), (two, two, one)] {
        for id in 0..100 {
            hosts.air.arrives(0, &dsr(from, one, None, &option(&[32, 0, id], &[by, to])));
        }
    }
    assert_eq!(hosts.dropped("an acknowledgement that was not asked for"), 100);
    is_unmoved(hosts);
}

#[test]
fn a_route_that_is_none_is_not_relayed() {
    let (one, two, three, four) = (host(0), host(1), host(2), host(3));
    for (left, list, destination) in [
        (2, vec![two, three, two], four),                  // a circle
        (2, vec![two, one], four),                         // by its source
        (2, vec![two, four], four),                        // by its destination
        (4, vec![two, three], four),                       // further than it is long
        (63, vec![two, three], four),                      // the most that can be said
        (2, vec![two, Ipv4Addr::new(224, 0, 0, 1)], four), // by a group
        (2, vec![two, Ipv4Addr::BROADCAST], four),         // by all
        (2, vec![two, Ipv4Addr::UNSPECIFIED], four),       // by none
        (1, vec![two], Ipv4Addr::BROADCAST),               // to all
        (1, vec![two], Ipv4Addr::new(224, 0, 0, 1)),       // to a group
        (1, vec![two, three], four),                       // by another
        (0, vec![two, three], four),                       // for another
    ] {
        let mut hosts = settled();
        let packet = dsr(one, destination, Some(0), &route(left, &list));
        hosts.air.arrives(1, &packet);
        hosts.run(1_000);
        assert_eq!(hosts.air.sent, [], "{left} {list:?}");
        let two_routes = [route(1, &[two]), route(1, &[two])].concat();
        hosts.air.arrives(1, &dsr(one, four, Some(0), &two_routes));
        assert_eq!(hosts.dropped("a packet with two routes"), 1);
    }
    // The same where it is one, and has hops left or not.
    for (hops, relayed) in [(64, 1), (1, 0)] {
        let mut hosts = settled();
        let mut packet = dsr(one, three, Some(0), &route(1, &[two]));
        packet[8] = hops;
        complete_ipv4(&mut packet[..20]);
        hosts.given[0] = 2;
        hosts.air.arrives(1, &packet);
        let data = hosts.air.sent.iter().filter(|(.., packet)| number(packet).is_some());
        assert_eq!(data.count(), relayed);
    }
}

#[test]
fn a_flood_of_requests_drives_out_itself() {
    let mut hosts = settled();
    for id in 0..3_000_u16 {
        let [high, low] = id.to_be_bytes();
        let made_up = Ipv4Addr::new(10, 9, high, low);
        let (initiator, list) = if id % 2 == 0 { (made_up, vec![EVE]) } else { (EVE, vec![]) };
        let mut packet = dsr(initiator, Ipv4Addr::BROADCAST, None, &request(id, made_up, &list));
        packet[8] = 2;
        complete_ipv4(&mut packet[..20]);
        hosts.air.arrives(0, &packet);
        if id % 10 == 0 {
            hosts.run(1);
        }
    }
    hosts.run(100);
    // In 0.4 s, 8 wait for 20 ms at most, which is 10 ms on average.
    let passed = hosts.air.sent.iter().filter(|(from, ..)| *from == 0).count();
    assert!((100..500).contains(&passed), "{passed}");
    let circles = [
        request(1, EVE, &[host(0)]),
        request(2, EVE, &[EVE]),
        request(3, EVE, &[host(1), host(1)]),
        request(4, Ipv4Addr::BROADCAST, &[]),
    ];
    hosts.air.sent.clear();
    for request in circles {
        hosts.air.arrives(0, &dsr(EVE, Ipv4Addr::BROADCAST, None, &request));
    }
    hosts.air.arrives(0, &dsr(EVE, host(0), None, &request(5, EVE, &[])));
    hosts.run(100);
    assert_eq!(hosts.air.sent, []);
    is_unmoved(hosts);
}

#[test]
fn whatever_arrives_is_survived() {
    let mut random = fastrand::Rng::with_seed(9);
    let mut hosts = settled();
    let [one, two, three, four] = [0, 1, 2, 3].map(host);
    let options = [
        request(7, four, &[EVE, three]),
        reply(&[two, three, four]),
        error(two, one, three),
        option(&[32, 0, 7], &[two, one]),
        route(1, &[one, three]),
        option(&[160, 0, 9], &[]),
    ];
    for _ in 0..20_000 {
        let some: Vec<u8> =
            (0..random.usize(..4)).flat_map(|_| options[random.usize(..6)].clone()).collect();
        let to = [one, four, Ipv4Addr::BROADCAST][random.usize(..3)];
        let mut packet = dsr([two, EVE][random.usize(..2)], to, Some(0), &some);
        for _ in 0..random.usize(..3) {
            let at = random.usize(..packet.len());
            packet[at] = random.u8(..);
        }
        packet.truncate(random.usize(20..=packet.len()).max(packet.len() - random.usize(..2) * 9));
        complete_ipv4(&mut packet[..20]);
        hosts.air.arrives(0, &packet);
        hosts.air.stations[0].lone.said.up.clear();
        let held = hosts.air.stations[0].lone.stack.held();
        assert!(held.iter().zip(Dsr::<M>::BOUNDS).all(|(held, bound)| *held <= bound), "{held:?}");
    }
}
