//! Two hosts on one link.

use std::net::{IpAddr, Ipv4Addr};

use stackwright_contract::services::{Batch, FramesIndication};
use stackwright_resolve::Config;
use stackwright_wire::Message;

use crate::rig::{Host, M, OWN, OWN4, OWN6, PEER, PEER4, PEER6, packet4, packet6};

/// Lets both go on for a time, and each receive what the other sends. Returns the frames.
fn run(hosts: &mut [Host; 2], milliseconds: u64) -> usize {
    let mut count = 0;
    for _ in 0..milliseconds.div_ceil(10) {
        loop {
            let [one, other] = hosts.each_mut().map(|host| host.sent());
            if one.is_empty() && other.is_empty() {
                break;
            }
            count += one.len() + other.len();
            one.iter().for_each(|frame| hosts[1].arrives(frame));
            other.iter().for_each(|frame| hosts[0].arrives(frame));
        }
        hosts.iter_mut().for_each(|host| host.wait(10));
    }
    count
}

#[test]
fn they_reach_each_other_with_both_versions() {
    let mut hosts = [OWN, PEER].map(|address| Host::new(address, Config::default()));
    let addresses: [[IpAddr; 2]; 2] = [[OWN4.into(), OWN6.into()], [PEER4.into(), PEER6.into()]];
    let [links, _] = [0, 1].map(|at| addresses[at].map(|own| hosts[at].listen(own).1));
    // Three probes and two announcements of ARP, one of each of NDP, on both sides.
    assert_eq!(run(&mut hosts, 12_000), 14);
    hosts.iter_mut().for_each(|host| assert_eq!(host.told().len(), 4));

    for (version, packet) in [packet4(5), packet6(5)].into_iter().enumerate() {
        let there = hosts[0].open(addresses[1][version]);
        let back = hosts[1].open(addresses[0][version]);
        hosts[0].send(there, &packet);
        assert_eq!(run(&mut hosts, 10), 3, "a question, its answer and the packet");
        hosts[1].send(back, &packet);
        assert_eq!(run(&mut hosts, 10), 1, "the question made it known");
        let delivered = format!("Delivered {} {packet:?}", links[version].index);
        assert!(hosts[0].told().contains(&delivered));
        // It is believed no longer than five seconds, and confirmed by one question.
        assert_eq!(run(&mut hosts, 60_000), 2);
        let batch = Batch::new(M::with_headroom(64, &packet.repeat(3)), packet.len());
        (*hosts[0]).send(there, batch);
        assert_eq!(run(&mut hosts, 10), 3, "it is used, and asked after its time");
        assert_eq!(run(&mut hosts, 10_000), 2);
    }
}

#[test]
fn of_two_that_want_one_address_none_or_one_has_it() {
    for seed in 1..200_u8 {
        let mut hosts = [[2, 0, 0, 0, 1, seed], [2, 0, 0, 0, 2, seed.wrapping_mul(7)]]
            .map(|address| Host::new(address, Config::default()));
        for host in &mut hosts {
            host.listen(IpAddr::from(Ipv4Addr::new(10, 0, 0, 1)));
            host.listen(OWN6.into());
        }
        run(&mut hosts, 9_000);
        let told = hosts.each_mut().map(|host| host.told());
        for listener in [1, 3] {
            let in_use = format!("Listening {listener}");
            let ended = format!("Ended {listener} Unavailable");
            let has = told.iter().filter(|told| told.contains(&in_use)).count();
            let lost = told.iter().filter(|told| told.contains(&ended)).count();
            assert!(has <= 1 && has + lost == 2, "{told:?}");
        }
    }
}

#[test]
fn a_shorter_link_is_told_above() {
    let mut host = Host::settled();
    let next = host.open(PEER4);
    host.told();
    let path = stackwright_contract::PathLimits::of_longest(1294);
    host.tell(FramesIndication::Changed { port: 0, path });
    let mut told = host.told();
    told.sort();
    assert_eq!(told.len(), 3, "both links and the next hop: {told:?}");
    assert!(told.contains(&format!("Changed {} 1280", next.index)));
}
