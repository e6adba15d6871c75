//! How an association ends, and what ends none.

use stackwright_contract::services::{DatagramsIndication as Told, DatagramsRequest as Ask, Ended};
use stackwright_contract::{Handle, Participant, Protocol as _};

use crate::namespace::{alone, ip};
use crate::udp::side::{
    AMPLE, BOTH, Side, address, arrival, delivered, end_of, hear, name, opened, rooms, stranger,
};

#[test]
fn who_cannot_be_reached_and_where_nobody_may_listen() {
    let mut side = Side::new();
    let nobody = [
        Participant::OTHER_END,
        address("127.0.0.1:0").into(),
        address("255.255.255.255:9").into(),
    ];
    for (index, remote) in (1..).zip(nobody) {
        side.ask(Ask::Open { association: name(index), remote, credit: AMPLE, local: None });
        assert_eq!(side.ended(name(index)), Ended::Unreachable, "{remote}");
    }
    let somebody = stranger("127.0.0.1:0");
    let taken = somebody.local_addr().unwrap().into();
    for (index, local) in (11..).zip([taken, address("192.0.2.1:0").into(), Participant::OTHER_END])
    {
        side.ask(Ask::Listen { listener: name(index), local });
        assert_eq!(side.ended(name(index)), Ended::Unavailable);
    }
}

#[test]
fn a_refused_datagram_ends_what_we_opened_where_nobody_was_heard() {
    for local in BOTH {
        let (mut side, association, peer, _) = opened(local);
        side.heard.0.clear();
        drop(peer);
        side.send(association, b"are you there?");
        assert_eq!(side.ended(association), Ended::Unreachable);
        // What crosses the last word is dropped and counted.
        side.send(association, b"hello?");
        side.ask(Ask::Credit { association, credit: AMPLE });
        side.ask(Ask::Close { name: association });
        assert_eq!(side.dropped(), 3);
        let ends = side.heard.0.iter().filter(|told| matches!(told, Told::Ended { .. })).count();
        assert_eq!(ends, 1);
    }
}

#[test]
fn a_refused_datagram_is_a_hint_where_the_peer_was_heard() {
    for local in BOTH {
        let (mut side, association, peer, at) = opened(local);
        let there = peer.local_addr().unwrap();
        side.heard.0.clear();
        // He may have been heard after it was refused, even: what he said comes first.
        peer.send_to(b"back in a moment", at).unwrap();
        drop(peer);
        for _ in 0..3 {
            side.send(association, b"are you there?");
            side.idle();
        }
        assert_eq!(delivered(&side.heard.0, association), [b"back in a moment"]);
        assert!(side.dropped() > 0, "a hint is counted");
        let peer = stranger(&there.to_string());
        // What a hint was told instead of waits for its turn, and is not lost.
        side.send(association, b"and now?");
        side.idle();
        side.send(association, b"now?");
        side.idle();
        while hear(&peer).0 != b"now?" {}
        peer.send_to(b"I am", at).unwrap();
        side.hears(association, &[b"back in a moment", b"I am"]);
        assert_eq!(end_of(&side.heard.0, association), None);
    }
}

/// However the way to a peer is taken away: what is sent meanwhile is lost, at once, and the driver
/// has nothing to do until something is due.
#[test]
fn without_a_way_to_the_peer_a_datagram_is_lost_and_nothing_is_tried_again() {
    const PEER: &str = "10.77.0.2:0";
    let ways = [
        ("route add unreachable 10.77.0.2/32", "route del unreachable 10.77.0.2/32"),
        ("route add prohibit 10.77.0.2/32", "route del prohibit 10.77.0.2/32"),
        ("route add blackhole 10.77.0.2/32", "route del blackhole 10.77.0.2/32"),
        ("route del 10.77.0.0/24 dev one", "route add 10.77.0.0/24 dev one"),
        ("link set one down", "link set one up"),
        ("address del 10.77.0.1/24 dev one", "address add 10.77.0.1/24 dev one"),
    ];
    for (gone, back) in ways {
        alone(move || {
            // Nobody is behind the interface; the peer is heard all the same.
            ip("link add one type veth peer name two");
            ip("link set two up");
            ip("link set one up");
            ip("address add 10.77.0.1/24 dev one");
            let mut side = Side::new();
            let remote = (address(PEER).ip(), 9).into();
            let open = Ask::Open { association: name(1), remote, credit: AMPLE, local: None };
            side.ask(open);
            let here = side.until(|told| {
                told.iter().find_map(|told| match told {
                    Told::Opened { local, .. } => local.internet(),
                    _ => None,
                })
            });
            ip("address add 10.77.0.2/32 dev lo");
            let peer = stranger("10.77.0.2:9");
            peer.send_to(b"hello", here).unwrap();
            side.hears(name(1), &[b"hello"]);
            drop(peer);
            ip("address del 10.77.0.2/32 dev lo");
            side.heard.0.clear();
            ip(gone);
            let before = side.dropped();
            for _ in 0..20 {
                side.send_several(name(1), &[7; 5000], 1000);
            }
            let mut turns = 0;
            while side.udp.wants_flush() {
                side.turn(0);
                turns += 1;
                assert!(turns < 5, "{gone}: it is tried again and again");
            }
            assert!(side.dropped() >= before + 100, "{gone}: what is lost is counted");
            let credit: usize =
                rooms(&side.heard.0, name(1)).iter().map(|room| room.messages).sum();
            assert_eq!(credit, 100, "{gone}: its credit is given back");
            assert_eq!(end_of(&side.heard.0, name(1)), None, "{gone}: its timers judge that");
            ip(back);
            let before = side.dropped();
            side.send(name(1), b"again");
            side.turn(0);
            assert_eq!(side.dropped(), before, "{back}: it leaves again");
        });
    }
}

/// Ports and descriptors run out, and a group has no interface: each is said for what it is.
#[test]
fn what_this_system_does_not_have_is_said() {
    alone(|| {
        std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", "40000 40003").unwrap();
        let mut side = Side::new();
        let remote = address("127.0.0.1:9").into();
        let open = |index, local| {
            let association = name(index);
            Ask::Open { association, remote, credit: AMPLE, local }
        };
        for index in 1..=4 {
            side.ask(open(index, None));
            side.remote(name(index));
        }
        side.ask(open(5, None));
        assert_eq!(side.ended(name(5)), Ended::Exhausted);
        side.ask(open(6, Some(address("127.0.0.1:0").into())));
        assert_eq!(side.ended(name(6)), Ended::Exhausted);
        side.ask(Ask::Listen { listener: name(7), local: address("0.0.0.0:0").into() });
        assert_eq!(side.ended(name(7)), Ended::Exhausted);
        side.ask(open(8, Some(address("127.0.0.1:40001").into())));
        assert_eq!(side.ended(name(8)), Ended::Unavailable, "that one is in use");
        let group: Participant = address("239.77.1.1:41000").into();
        side.ask(Ask::Listen { listener: name(9), local: group });
        assert_eq!(side.ended(name(9)), Ended::Unreachable);
        side.ask(Ask::Open { association: name(10), remote: group, credit: AMPLE, local: None });
        assert_eq!(side.ended(name(10)), Ended::Unreachable);
    });
}

#[test]
fn a_refused_datagram_ends_nobody_at_a_listener() {
    let (mut side, association, peer, at) = arrival("127.0.0.1:0", AMPLE);
    side.expect(name(2), AMPLE);
    drop(peer);
    for _ in 0..3 {
        side.send(association, b"are you there?");
        side.idle();
    }
    stranger("127.0.0.1:0").send_to(b"I am", at).unwrap();
    side.hears(name(2), &[b"I am"]);
    assert_eq!(end_of(&side.heard.0, association), None);
}

#[test]
fn close_lets_leave_what_was_sent_before_and_frees_the_peer() {
    for (mut side, association, peer, at) in [arrival("127.0.0.1:0", AMPLE), opened("127.0.0.1:0")]
    {
        side.heard.0.clear();
        side.send(association, b"one more");
        side.ask(Ask::Close { name: association });
        side.send(association, b"too late");
        assert_eq!(side.dropped(), 1);
        assert_eq!(side.ended(association), Ended::Finished);
        assert_eq!(side.heard.0.len(), 1, "no word about room comes to who is leaving");
        assert_eq!(hear(&peer).0, b"one more");
        side.ask(Ask::Close { name: association });
        assert_eq!(side.dropped(), 2);
        if association == name(1) {
            // The same peer is a stranger again, under the next name, which may have the same
            // place.
            let next = Handle { index: 1, generation: 1 };
            side.expect(next, AMPLE);
            peer.send_to(b"again", at).unwrap();
            side.hears(next, &[b"again"]);
            assert_eq!(side.remote(next), peer.local_addr().unwrap());
        }
    }
}
