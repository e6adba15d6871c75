//! Adapters that join a group.

use std::net::UdpSocket;

use stackwright_contract::services::{DatagramsIndication as Told, DatagramsRequest as Ask, Ended};

use crate::udp::side::{AMPLE, Side, address, delivered, name};

/// Returns a port that nobody has now.
fn port() -> u16 {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Returns groups of both families on the loopback interface, as far as the system lets us join and
/// has a route there. For IPv6 it has none, as a rule.
fn groups() -> Vec<String> {
    let groups = [format!("239.77.1.1:{}", port()), format!("[ff12::77:1%1]:{}", port())];
    let joins = |group: &String| {
        let mut side = Side::joining();
        let (association, remote) = (name(1), address(group).into());
        side.ask(Ask::Open { association, remote, credit: AMPLE, local: None });
        let mut joins = side.heard.0.iter().any(|told| matches!(told, Told::Opened { .. }));
        if joins {
            side.send(name(1), b"is there a route?");
            side.idle();
            joins = side.dropped() == 0;
        }
        if !joins {
            eprintln!("skipped: this system does not let us send to {group}");
        }
        joins
    };
    groups.into_iter().filter(joins).collect()
}

fn open(side: &mut Side, group: &str) {
    let (association, remote) = (name(1), address(group).into());
    side.ask(Ask::Open { association, remote, credit: AMPLE, local: None });
    assert_eq!(side.remote(name(1)), address(group));
}

/// One that opens, and two that listen.
fn members(group: &str) -> [Side; 3] {
    let mut sides = [(); 3].map(|()| Side::joining());
    for side in &mut sides[1..] {
        assert_eq!(side.listen(group), address(group));
        side.expect(name(1), AMPLE);
    }
    open(&mut sides[0], group);
    sides
}

#[test]
fn a_group_is_one_peer_no_matter_which_member_sends() {
    for group in groups() {
        let mut sides = members(&group);
        sides[0].send(name(1), b"one");
        sides[0].turn(1);
        for side in &mut sides[1..] {
            assert_eq!(side.remote(name(1)), address(&group));
            side.hears(name(1), &[b"one"]);
        }
        sides[1].send(name(1), b"another");
        sides[1].turn(1);
        sides[0].hears(name(1), &[b"one", b"another"]);
        sides[2].hears(name(1), &[b"one", b"another"]);
    }
}

#[test]
fn several_datagrams_of_one_word_reach_all() {
    for group in groups() {
        let mut sides = members(&group);
        let octets: Vec<u8> = (0..50_000_u32).map(|at| (at / 1000) as u8).collect();
        sides[0].send_several(name(1), &octets, 1000);
        for side in &mut sides {
            side.until(|told| (delivered(told, name(1)).concat() == octets).then_some(()));
        }
    }
}

#[test]
fn a_group_has_one_association_and_is_left_with_it() {
    for group in groups() {
        let mut side = Side::joining();
        open(&mut side, &group);
        let (association, remote) = (name(2), address(&group).into());
        side.ask(Ask::Open { association, remote, credit: AMPLE, local: None });
        assert_eq!(side.ended(name(2)), Ended::Unavailable);
        side.ask(Ask::Close { name: name(1) });
        assert_eq!(side.ended(name(1)), Ended::Finished);
        side.heard.0.clear();
        open(&mut side, &group);
    }
}

#[test]
fn an_interface_that_is_not_there_leads_nowhere() {
    let mut side = Side::new();
    let multicast =
        stackwright_drivers::udp::Multicast { interface: Some(0x7fff_ffff), ..Default::default() };
    side.udp = side.udp.joining(multicast);
    let (association, remote) = (name(1), address("239.77.1.1:7").into());
    side.ask(Ask::Open { association, remote, credit: AMPLE, local: None });
    assert_eq!(side.ended(name(1)), Ended::Unreachable);
}

/// Every address of the loopback network is one of this host, as if it were another host's.
#[test]
fn members_that_name_their_addresses_are_told_apart() {
    let port = port();
    let group = format!("239.77.1.2:{port}");
    let hosts = ["127.0.0.1", "127.0.0.2"];
    let mut sides = hosts.map(|host| {
        let mut side = Side::new();
        let (association, remote) = (name(1), address(&group).into());
        let local = Some(address(&format!("{host}:1")).into());
        side.ask(Ask::Open { association, remote, credit: AMPLE, local });
        assert_eq!(side.remote(name(1)), address(&group));
        assert_eq!(side.listen(&group), address(&group));
        side.expect(name(2), AMPLE);
        side.expect(name(3), AMPLE);
        side
    });
    for (side, said) in sides.iter_mut().zip([b"one", b"two"]) {
        side.send(name(1), said);
        side.turn(1);
    }
    for side in &mut sides {
        // What it has sent comes back, once.
        for (association, host, said) in [(2, hosts[0], b"one"), (3, hosts[1], b"two")] {
            assert_eq!(side.remote(name(association)), address(&format!("{host}:{port}")));
            side.hears(name(association), &[said]);
        }
    }
    // What follows belongs to the same.
    sides[1].send(name(1), b"more");
    sides[1].turn(1);
    for side in &mut sides {
        side.hears(name(3), &[b"two", b"more"]);
    }
}
