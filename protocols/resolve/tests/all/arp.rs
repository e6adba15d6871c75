//! ARP: RFC 826, RFC 5227, and the ages of RFC 4861 §7.3.

use std::net::Ipv4Addr;

use stackwright_contract::Protocol as _;
use stackwright_contract::services::Batch;
use stackwright_resolve::Config;
use stackwright_wire::Message;

use crate::rig::{
    ALL, Host, M, OTHER, OWN, OWN4, PEER, PEER4, arp, frame, packet4, quiet, request,
};

const NOBODY: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

fn ip(to: [u8; 6], number: u8) -> Vec<u8> {
    frame(to, OWN, 0x800, &packet4(number))
}

fn reply(from: [u8; 6]) -> Vec<u8> {
    arp(OWN, 2, (from, PEER4), (OWN, OWN4))
}

#[test]
fn an_address_is_probed_three_times_then_used_and_announced_twice() {
    let mut host = Host::new(OWN, Config::default());
    let (listener, link) = host.listen(OWN4.into());
    let next = host.open(PEER4);
    assert_eq!(host.told(), [format!("Opened {} to {PEER4} protocol 0, 1500 true", next.index)]);
    host.wait(3_900);
    assert!(host.told().is_empty(), "two times PROBE_MIN, and ANNOUNCE_WAIT");
    host.wait(8_000);
    let probe = request(ALL, (OWN, NOBODY), OWN4);
    let announcement = request(ALL, (OWN, OWN4), OWN4);
    assert_eq!(host.sent(), [vec![probe; 3], vec![announcement; 2]].concat());
    let opened = format!("Opened {} to the other end, 1500 true", link.index);
    assert_eq!(host.told(), [format!("Listening {}", listener.index), opened]);
    host.arrives(&frame(OWN, PEER, 0x800, &[0x45]));
    assert_eq!(host.told(), [format!("Delivered {} [69]", link.index)]);
    assert_eq!(host.stack.next_deadline(), None);
}

#[test]
fn an_address_that_another_has_or_wants_is_not_used() {
    for from in [PEER4, OWN4, NOBODY] {
        let mut host = Host::new(OWN, Config::default());
        let (listener, link) = host.listen(OWN4.into());
        host.wait(2_000);
        host.arrives(&request(ALL, (PEER, from), OWN4));
        let expected = [link, listener].map(|name| format!("Ended {} Unavailable", name.index));
        // Who only asks for it is a neighbour, and is not answered yet.
        let is_conflict = from != PEER4;
        assert_eq!(host.told(), if is_conflict { expected.to_vec() } else { vec![] });
        assert!(host.sent().iter().all(|sent| *sent == request(ALL, (OWN, NOBODY), OWN4)));
        host.wait(20_000);
        assert_eq!(host.told().is_empty(), is_conflict);
    }
}

#[test]
fn an_address_in_use_is_defended_once_in_ten_seconds() {
    let mut host = Host::settled();
    let claim = request(ALL, (PEER, OWN4), OWN4);
    let defence = request(ALL, (OWN, OWN4), OWN4);
    for (wait, defended) in [(0, true), (9_000, false), (1_100, true), (100, false)] {
        host.wait(wait);
        host.arrives(&claim);
        assert_eq!(host.sent(), if defended { vec![defence.clone()] } else { vec![] });
    }
    assert_eq!((host.told(), host.known().0), (vec![], 0));
}

/// RFC 826: whoever asks for us is known from then on; RFC 4861 §7.3.3: and not believed.
#[test]
fn a_request_for_us_is_answered_and_its_sender_probed_when_it_is_used() {
    let mut host = Host::settled();
    host.arrives(&request(ALL, (PEER, PEER4), OWN4));
    assert_eq!(host.sent(), [arp(PEER, 2, (OWN, OWN4), (PEER, PEER4))]);
    let next = host.open(PEER4);
    host.send(next, &packet4(1));
    assert_eq!(host.sent(), [ip(PEER, 1)]);
    host.wait(4_900);
    assert!(host.sent().is_empty());
    host.wait(2_200);
    let unicast = request(PEER, (OWN, OWN4), PEER4);
    assert_eq!(host.sent(), [unicast.clone(), unicast.clone(), unicast.clone()]);
    host.send(next, &packet4(2));
    assert_eq!(host.sent(), [ip(PEER, 2)], "packets leave as long as it is probed");
    // It does not answer: it is forgotten, and asked for again.
    host.wait(1_000);
    host.send(next, &packet4(3));
    assert_eq!(host.sent(), [request(ALL, (OWN, OWN4), PEER4)]);
    // It answers: it is reachable for a while, and no packet makes it asked.
    host.arrives(&reply(OTHER));
    assert_eq!(host.sent(), [ip(OTHER, 3)]);
    host.wait(14_000);
    host.send(next, &packet4(4));
    host.wait(400);
    assert_eq!(host.sent(), [ip(OTHER, 4)]);
    host.wait(31_000);
    host.send(next, &packet4(5));
    host.wait(5_500);
    host.arrives(&reply(OTHER));
    host.wait(10_000);
    assert_eq!(host.sent(), [ip(OTHER, 5), request(OTHER, (OWN, OWN4), PEER4)]);
}

#[test]
fn what_nobody_asked_for_makes_no_entry_and_moves_one_as_rfc_826_says() {
    let mut host = Host::settled();
    let gratuitous = |from| request(ALL, (from, PEER4), PEER4);
    let unsolicited = [
        gratuitous(OTHER),
        arp(ALL, 2, (OTHER, PEER4), (OTHER, PEER4)),
        reply(OTHER),
        request(ALL, (OTHER, PEER4), Ipv4Addr::new(192, 0, 2, 9)),
        request(ALL, (OTHER, NOBODY), PEER4),
    ];
    for packet in &unsolicited {
        host.arrives(packet);
    }
    assert_eq!((host.known().0, host.sent()), (0, vec![]));
    let next = host.open(PEER4);
    host.send(next, &packet4(1));
    host.arrives(&reply(PEER));
    host.sent();
    host.arrives(&gratuitous(OTHER));
    host.send(next, &packet4(2));
    host.wait(6_000);
    let sent = host.sent();
    assert_eq!(sent[0], ip(OTHER, 2));
    assert_eq!(sent[1], request(OTHER, (OWN, OWN4), PEER4), "it is not believed without a probe");
    // The true owner answers.
    host.arrives(&reply(PEER));
    host.send(next, &packet4(3));
    assert_eq!(host.sent().last(), Some(&ip(PEER, 3)));
}

/// RFC 4861 §7.2.2.
#[test]
fn three_packets_wait_and_the_oldest_is_dropped() {
    let mut host = Host::settled();
    let next = host.open(PEER4);
    host.told();
    (1..=5).for_each(|number| host.send(next, &packet4(number)));
    assert_eq!(host.sent(), [request(ALL, (OWN, OWN4), PEER4)]);
    let credit = format!("Credit {} 1", next.index);
    assert_eq!((host.told(), host.cx.dropped_count()), (vec![credit.clone(); 2], 2));
    assert!(!host.stack.may_exit());
    host.arrives(&reply(PEER));
    assert_eq!(host.sent(), [3, 4, 5].map(|number| ip(PEER, number)));
    assert_eq!(host.told(), vec![credit; 3]);
}

#[test]
fn packets_to_a_host_that_does_not_answer_come_back() {
    let mut host = Host::settled();
    let next = host.open(PEER4);
    host.told();
    host.send(next, &packet4(7));
    host.send(next, &packet4(8));
    host.wait(2_999);
    assert_eq!(host.sent(), vec![request(ALL, (OWN, OWN4), PEER4); 3]);
    assert!(host.told().is_empty());
    host.wait(1);
    let returned = |number| {
        let name = next.index;
        [format!("Credit {name} 1"), format!("Returned {name} {:?}", packet4(number))]
    };
    assert_eq!(host.told(), [returned(7), returned(8)].concat());
    assert_eq!(host.known().0, 0);
}

#[test]
fn groups_all_and_configured_neighbors_are_not_asked_for() {
    let mut config = quiet();
    config.neighbors.push((PEER4.into(), PEER));
    let mut host = Host::new(OWN, config);
    host.listen(OWN4.into());
    let hosts = [Ipv4Addr::new(224, 0, 0, 251), Ipv4Addr::BROADCAST, PEER4];
    let expected = [[1, 0, 0x5e, 0, 0, 251], ALL, PEER];
    host.sent();
    host.arrives(&request(ALL, (OTHER, PEER4), PEER4));
    for (next, to) in hosts.into_iter().zip(expected) {
        let next = host.open(next);
        host.send(next, &packet4(1));
        assert_eq!(host.sent(), [ip(to, 1)]);
    }
    host.wait(100_000);
    assert!(host.sent().is_empty());
}

#[test]
fn a_batch_leaves_as_one_and_what_the_link_does_not_take_comes_back() {
    let mut host = Host::settled();
    let next = host.open(PEER4);
    let three = [packet4(1), packet4(2), packet4(3)].concat();
    (*host).send(next, Batch::new(M::with_headroom(64, &three), 20));
    host.arrives(&reply(PEER));
    host.told();
    assert_eq!(host.sent()[1..], [1, 2, 3].map(|number| ip(PEER, number)));
    host.send(next, &[0x45; 1501]);
    assert_eq!((host.told(), host.sent()), (vec![format!("Credit {} 1", next.index)], vec![]));
}
