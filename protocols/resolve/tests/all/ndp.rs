//! Neighbour discovery: RFC 4861, RFC 4862 §5.4.

use std::net::Ipv6Addr;

use stackwright_resolve::Config;

use crate::rig::{
    ALL_NODES, Host, Ndp, OTHER, OWN, OWN_GROUP, OWN_NODE, OWN6, PEER, PEER_GROUP, PEER6, frame,
    option, packet6,
};

const NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const PEER_NODE: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff44, 0x5566);
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;

fn ip(to: [u8; 6], number: u8) -> Vec<u8> {
    frame(to, OWN, 0x86dd, &packet6(number))
}

/// What we ask for the peer with: all of its group, or it alone.
fn question(to: Option<[u8; 6]>) -> Vec<u8> {
    Ndp {
        link: (to.unwrap_or(PEER_GROUP), OWN),
        hosts: (OWN6, if to.is_some() { PEER6 } else { PEER_NODE }),
        target: PEER6,
        options: option(1, OWN),
        ..Ndp::solicitation()
    }
    .frame()
}

/// What we answer or announce with.
fn answer(flags: u8, link: [u8; 6], host: Ipv6Addr) -> Vec<u8> {
    let hosts = (OWN6, host);
    let (target, options) = (OWN6, option(2, OWN));
    Ndp { link: (link, OWN), hosts, target, options, ..Ndp::advertisement(flags, None) }.frame()
}

/// What one that looks for duplicates of our address asks with.
fn probe(from: [u8; 6]) -> Ndp {
    let hosts = (Ipv6Addr::UNSPECIFIED, OWN_NODE);
    Ndp { link: (OWN_GROUP, from), hosts, options: vec![], ..Ndp::solicitation() }
}

#[test]
fn an_address_is_probed_once_then_used_and_announced() {
    let mut host = Host::new(OWN, Config::default());
    let (listener, link) = host.listen(OWN6.into());
    host.wait(999);
    assert!(host.told().is_empty());
    // Tentative, it is not answered for (RFC 4862 §5.4.3).
    host.arrives(&Ndp::solicitation().frame());
    host.wait(5_000);
    let announcement = answer(OVERRIDE, ALL_NODES, NODES);
    assert_eq!(host.sent(), [probe(OWN).frame(), announcement]);
    let opened = format!("Opened {} to the other end, 1500 true", link.index);
    assert_eq!(host.told(), [format!("Listening {}", listener.index), opened]);
    assert_eq!(host.known().0, 0);
}

#[test]
fn a_duplicate_is_not_used() {
    let other_has = Ndp { link: (ALL_NODES, PEER), target: OWN6, ..Ndp::advertisement(0, None) };
    let other_has = Ndp { hosts: (OWN6, NODES), ..other_has };
    for conflict in [probe(PEER), other_has] {
        let mut host = Host::new(OWN, Config::default());
        let (listener, link) = host.listen(OWN6.into());
        host.arrives(&conflict.frame());
        let expected = [link, listener].map(|name| format!("Ended {} Unavailable", name.index));
        assert_eq!(host.told(), expected);
        host.wait(10_000);
        assert!(host.sent().is_empty());
        // One in use stays so, and whoever looks for duplicates is told.
        let mut host = Host::settled();
        host.arrives(&conflict.frame());
        let told = answer(OVERRIDE, ALL_NODES, NODES);
        assert_eq!(host.sent(), if conflict.kind == 135 { vec![told] } else { vec![] });
        assert!(host.told().is_empty());
    }
}

/// RFC 4861 §7.2.3 and §7.2.4.
#[test]
fn a_solicitation_is_answered_and_its_sender_known() {
    let mut host = Host::settled();
    host.arrives(&Ndp::solicitation().frame());
    assert_eq!(host.sent(), [answer(SOLICITED | OVERRIDE, PEER, PEER6)]);
    let next = host.open(PEER6);
    host.send(next, &packet6(1));
    assert_eq!(host.sent(), [ip(PEER, 1)]);
    host.wait(5_000);
    assert_eq!(host.sent(), [question(Some(PEER))]);
    // It moved.
    host.arrives(&Ndp { options: option(1, OTHER), ..Ndp::solicitation() }.frame());
    host.send(next, &packet6(2));
    assert_eq!(host.sent()[1..], [ip(OTHER, 2)]);
}

/// RFC 4861 §7.2.2, and §7.3.3 of one that does not answer.
#[test]
fn a_neighbor_is_asked_for_three_times() {
    let mut host = Host::settled();
    let next = host.open(PEER6);
    host.told();
    host.send(next, &packet6(9));
    host.wait(2_500);
    assert_eq!(host.sent(), vec![question(None); 3]);
    host.arrives(&Ndp::advertisement(SOLICITED, Some(PEER)).frame());
    assert_eq!(host.sent(), [ip(PEER, 9)]);
    let credit = format!("Credit {} 1", next.index);
    assert_eq!(host.told(), std::slice::from_ref(&credit));
    host.wait(100_000);
    host.send(next, &packet6(8));
    host.wait(8_000);
    let asked = question(Some(PEER));
    assert_eq!(host.sent(), [ip(PEER, 8), asked.clone(), asked.clone(), asked]);
    host.send(next, &packet6(7));
    host.wait(3_000);
    assert_eq!(host.sent(), vec![question(None); 3]);
    let returned = format!("Returned {} {:?}", next.index, packet6(7));
    assert_eq!(host.told(), [credit.clone(), credit, returned]);
}

/// The states of RFC 4861 §7.3.2, and what §7.2.5 makes of an advertisement in each. `?`: packets
/// wait. `o`, `n`: they go to the old or the new address, and that is probed then (Stale, Delay,
/// Probe); `O`, `N`: it is not (Reachable). In a group, the advertisement has no address, the old
/// and another; the groups are: no flag, override, solicited, both.
const STATES: [(&str, &str); 5] = [
    // "silently discard" without an address; else Reachable where solicited, or Stale.
    ("Incomplete", "?on ?on ?ON ?ON"),
    // Rule I: without override, another address makes it Stale, and is not taken.
    ("Reachable", "OOo OOn OOo OON"),
    // Rule I: "otherwise, the received advertisement should be ignored". Rule II: the rest.
    ("Stale", "ooo oon OOo OON"),
    ("Delay", "ooo oon OOo OON"),
    ("Probe", "ooo oon OOo OON"),
];

#[test]
fn an_advertisement_does_in_each_state_what_the_rfc_says() {
    for (state, expected) in STATES {
        let mut found = String::new();
        for flags in [0, OVERRIDE, SOLICITED, SOLICITED | OVERRIDE] {
            for address in [None, Some(PEER), Some(OTHER)] {
                found.push(outcome(state, flags, address));
            }
            found.push(' ');
        }
        assert_eq!(found.trim_end(), expected, "{state}");
    }
}

fn outcome(state: &str, flags: u8, address: Option<[u8; 6]>) -> char {
    let mut host = Host::settled();
    let next = host.open(PEER6);
    host.send(next, &packet6(1));
    if state != "Incomplete" {
        host.arrives(&Ndp::advertisement(SOLICITED, Some(PEER)).frame());
    }
    if ["Stale", "Delay", "Probe"].contains(&state) {
        host.wait(46_000);
    }
    if ["Delay", "Probe"].contains(&state) {
        host.send(next, &packet6(2));
    }
    if state == "Probe" {
        host.wait(5_500);
    }
    host.sent();
    host.arrives(&Ndp::advertisement(flags, address).frame());
    host.send(next, &packet6(3));
    let sent = host.sent();
    let last = sent.iter().rfind(|sent| sent.ends_with(&packet6(3)));
    let Some(last) = last else { return '?' };
    let to = last[..6].to_vec();
    host.wait(6_000);
    let probed = host.sent().iter().any(|sent| sent[..6] == to && sent[20] == 58);
    match (to == PEER, probed) {
        (true, true) => 'o',
        (true, false) => 'O',
        (false, true) => 'n',
        (false, false) => 'N',
    }
}

/// RFC 4861 §7.1.1 and §7.1.2: nothing that is not valid has an effect, and nothing that was not
/// asked for makes an entry.
#[test]
fn forged_packets_have_no_effect() {
    let asks = Ndp::solicitation();
    let says = Ndp::advertisement(OVERRIDE | SOLICITED, Some(OTHER));
    let mut bad = vec![
        Ndp { hop_limit: 254, ..asks.clone() }.frame(),
        Ndp { code: 1, ..asks.clone() }.frame(),
        Ndp { target: OWN_NODE, ..asks.clone() }.frame(),
        Ndp { options: vec![1, 0], ..asks.clone() }.frame(),
        Ndp { options: vec![1, 2, 0, 0, 0, 0, 0, 0], ..asks.clone() }.frame(),
        Ndp { hosts: (NODES, OWN_NODE), ..asks.clone() }.frame(),
        Ndp { options: option(1, PEER), ..probe(PEER) }.frame(),
        Ndp { hosts: (Ipv6Addr::UNSPECIFIED, OWN6), ..probe(PEER) }.frame(),
        Ndp { hop_limit: 64, ..says.clone() }.frame(),
        Ndp { hosts: (PEER6, NODES), ..says.clone() }.frame(),
        Ndp { options: vec![2, 0, 0, 0, 0, 0, 0, 0], ..says.clone() }.frame(),
    ];
    for valid in [asks.frame(), says.frame()] {
        let mut altered = valid.clone();
        altered[56] ^= 1; // the check
        bad.extend([altered, valid[..valid.len() - 9].to_vec()]);
    }
    let mut host = Host::settled();
    for (number, packet) in (1..).zip(&bad) {
        host.arrives(packet);
        assert_eq!(host.sent(), Vec::<Vec<u8>>::new(), "{number}");
        assert_eq!(host.cx.dropped_count(), number);
    }
    assert_eq!((host.known().0, host.told()), (0, vec![]));
    host.arrives(&says.frame());
    assert_eq!(host.known().0, 0, "nobody asked");
    // The same with an entry that could be poisoned.
    let next = host.open(PEER6);
    host.send(next, &packet6(1));
    host.arrives(&Ndp::advertisement(SOLICITED, Some(PEER)).frame());
    bad.iter().for_each(|packet| host.arrives(packet));
    host.sent();
    host.send(next, &packet6(2));
    host.wait(10_000);
    assert_eq!(host.sent(), [ip(PEER, 2)]);
}

#[test]
fn what_is_not_handled_passes_upward() {
    let mut host = Host::settled();
    let passes = [
        frame(OWN, PEER, 0x86dd, &packet6(1)),
        Ndp { kind: 134, hosts: (PEER6, NODES), ..Ndp::solicitation() }.frame(),
        Ndp { kind: 137, ..Ndp::solicitation() }.frame(),
        Ndp { kind: 128, ..Ndp::solicitation() }.frame(),
        frame(OWN, PEER, 0x86dd, &[]),
        frame(ALL_NODES, OTHER, 0x800, &[0x45, 1, 2]),
    ];
    for packet in &passes {
        host.arrives(packet);
        let told = host.told();
        assert!(told.len() == 1 && told[0].ends_with(&format!(" {:?}", &packet[14..])), "{told:?}");
    }
    assert_eq!(host.cx.dropped_count(), 0);
}

/// RFC 4861 §7.2.2: the source of the packet is the source of the question, where it is ours.
#[test]
fn the_question_comes_from_the_source_of_the_packet() {
    let mut host = Host::settled();
    let second = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
    host.listen(second.into());
    host.sent();
    let next = host.open(PEER6);
    let mut packet = packet6(1);
    packet[8..24].copy_from_slice(&second.octets());
    host.send(next, &packet);
    assert_eq!(host.sent()[0][22..38], second.octets());
}
