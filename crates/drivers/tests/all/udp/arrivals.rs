//! Who comes, and under which name.

use std::net::{SocketAddr, UdpSocket};

use stackwright_contract::Handle;
use stackwright_contract::services::{DatagramsIndication as Told, DatagramsRequest as Ask, Ended};
use stackwright_drivers::udp::SEND_ROOM;

use crate::udp::side::{AMPLE, Side, address, arrival, delivered, hear, name, stranger};

#[test]
fn what_comes_is_said_of_both_addresses() {
    let (side, association, peer, at) = arrival("127.0.0.1:0", AMPLE);
    let first = side.heard.0.iter().find(|told| matches!(told, Told::Opened { .. }));
    let Some(Told::Opened { association: opened, local, remote, credit, .. }) = first else {
        unreachable!()
    };
    assert_eq!((*opened, *local, *credit), (association, at.into(), SEND_ROOM));
    assert_eq!(*remote, peer.local_addr().unwrap().into());
}

#[test]
fn many_peers_share_one_listener() {
    const COUNT: u32 = 200;
    let mut side = Side::new();
    let at = side.listen("127.0.0.1:0");
    for index in 1..=COUNT {
        side.expect(name(index), AMPLE);
    }
    let peers: Vec<UdpSocket> = (0..COUNT).map(|_| stranger("127.0.0.1:0")).collect();
    for round in 0..3_u32 {
        for peer in &peers {
            let port = u32::from(peer.local_addr().unwrap().port());
            peer.send_to(&(port << 2 | round).to_be_bytes(), at).unwrap();
            side.turn(0);
        }
    }
    side.until(|told| {
        let came = told.iter().filter(|told| matches!(told, Told::Delivered { .. })).count();
        (came == 3 * COUNT as usize).then_some(())
    });
    for index in 1..=COUNT {
        let port = u32::from(side.remote(name(index)).port());
        let rounds = [0, 1, 2].map(|round| (port << 2 | round).to_be_bytes().to_vec());
        assert_eq!(delivered(&side.heard.0, name(index)), rounds);
        side.send(name(index), &port.to_be_bytes());
    }
    side.idle();
    for peer in &peers {
        let port = u32::from(peer.local_addr().unwrap().port());
        assert_eq!(hear(peer), (port.to_be_bytes().to_vec(), at));
    }
    assert_eq!(side.dropped(), 0);
}

#[test]
fn an_ipv4_peer_of_a_socket_for_both_families_is_an_ipv4_peer() {
    let mut side = Side::new();
    let port = side.listen("[::]:0").port();
    side.expect(name(1), AMPLE);
    side.expect(name(2), AMPLE);
    let peer = stranger("127.0.0.1:0");
    peer.send_to(b"one", ("127.0.0.1", port)).unwrap();
    peer.send_to(b"two", ("127.0.0.1", port)).unwrap();
    side.hears(name(1), &[b"one", b"two"]);
    assert_eq!(side.remote(name(1)), peer.local_addr().unwrap());
    side.send(name(1), b"back");
    side.turn(0);
    assert_eq!(hear(&peer), (b"back".to_vec(), SocketAddr::new(address("127.0.0.1:0").ip(), port)));
    let other = stranger("[::1]:0");
    other.send_to(b"six", ("::1", port)).unwrap();
    side.hears(name(2), &[b"six"]);

    // The mapped form of an address that we are told means the same peer.
    let mapped =
        SocketAddr::new(address("[::ffff:127.0.0.1]:0").ip(), peer.local_addr().unwrap().port());
    side.ask(Ask::Open { association: name(3), remote: mapped.into(), credit: AMPLE, local: None });
    assert_eq!(side.remote(name(3)), peer.local_addr().unwrap());
}

#[test]
fn nobody_arrives_without_a_name_and_unlisten_ends_all_that_wait() {
    let mut side = Side::new();
    let at = side.listen("127.0.0.1:0");
    let peer = stranger("127.0.0.1:0");
    peer.send_to(b"lost", at).unwrap();
    side.idle();
    assert_eq!((side.dropped(), side.heard.0.len()), (1, 1));
    for waiting in [1, 2, 3] {
        side.expect(name(waiting), AMPLE);
    }
    side.ask(Ask::Close { name: name(1) });
    assert_eq!(side.ended(name(1)), Ended::Finished);
    peer.send_to(b"found", at).unwrap();
    side.hears(name(2), &[b"found"]);

    side.ask(Ask::Close { name: name(0) });
    assert_eq!(side.ended(name(3)), Ended::Unlistened);
    assert_eq!(side.ended(name(0)), Ended::Unlistened);
    side.ask(Ask::Close { name: name(0) });
    assert_eq!(side.dropped(), 2, "it is over");
    side.expect(name(4), AMPLE);
    assert_eq!(side.ended(name(4)), Ended::Unlistened);
    side.ask(Ask::Close { name: name(0) });
    assert_eq!(side.dropped(), 3);
}

#[test]
fn who_has_arrived_goes_on_when_nobody_listens_any_more() {
    let (mut side, association, peer, at) = arrival("127.0.0.1:0", AMPLE);
    side.ask(Ask::Close { name: name(0) });
    stranger("127.0.0.1:0").send_to(b"too late", at).unwrap();
    peer.send_to(b"still here", at).unwrap();
    side.hears(association, &[b"hello", b"still here"]);
    assert_eq!(side.dropped(), 1);
    side.send(association, b"so am I");
    side.turn(0);
    assert_eq!(hear(&peer).0, b"so am I");

    // Who listens there again shares the socket with those who arrived before.
    let again = Handle { index: 0, generation: 1 };
    side.ask(Ask::Listen { listener: again, local: at.into() });
    side.ask(Ask::Await { listener: again, association: name(2), credit: AMPLE });
    side.ask(Ask::Close { name: association });
    let other = stranger("127.0.0.1:0");
    other.send_to(b"in time", at).unwrap();
    side.hears(name(2), &[b"in time"]);
    side.ask(Ask::Close { name: again });
    UdpSocket::bind(at).expect_err("somebody still speaks through it");
    side.ask(Ask::Close { name: name(2) });
    UdpSocket::bind(at).expect("the last one has closed it");
}
