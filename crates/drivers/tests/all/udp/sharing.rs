//! Several adapters at one address: whose a peer is, and for how long.

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};

use stackwright_contract::services::{DatagramsIndication as Told, DatagramsRequest as Ask, Ended};

use crate::udp::side::{AMPLE, Side, delivered, name, octets, stranger};

const PEERS: u32 = 64;

/// So many adapters at one address, with a name for each peer.
fn sharers(count: usize) -> (Vec<Side>, SocketAddr) {
    let mut sides = vec![Side::sharing()];
    let at = sides[0].listen("127.0.0.1:0");
    while sides.len() < count {
        let mut side = Side::sharing();
        assert_eq!(side.listen(&at.to_string()), at);
        sides.push(side);
    }
    sides.iter_mut().for_each(expect_all);
    (sides, at)
}

fn expect_all(side: &mut Side) {
    (1..=PEERS).for_each(|index| side.expect(name(index), AMPLE));
}

fn peers() -> Vec<UdpSocket> {
    (0..PEERS).map(|_| stranger("127.0.0.1:0")).collect()
}

fn came(side: &Side) -> usize {
    side.heard.0.iter().filter(|told| matches!(told, Told::Delivered { .. })).count()
}

/// Every peer says his number and the round's, and all of it has come to one side or another.
fn say_all(sides: &mut [Side], peers: &[UdpSocket], at: SocketAddr, round: u32) {
    let before: usize = sides.iter().map(came).sum();
    for (number, peer) in (0_u32..).zip(peers) {
        peer.send_to(&(number << 8 | round).to_be_bytes(), at).unwrap();
    }
    for _ in 0..1000 {
        sides.iter_mut().for_each(|side| side.turn(1));
        if sides.iter().map(came).sum::<usize>() == before + peers.len() {
            return;
        }
    }
    panic!("what was said in round {round} has not come");
}

/// To which side each peer's words came, round by round.
fn places(sides: &[Side]) -> HashMap<u32, Vec<(u32, usize)>> {
    let mut places = HashMap::<_, Vec<_>>::new();
    for (place, side) in sides.iter().enumerate() {
        for told in &side.heard.0 {
            if let Told::Delivered { batch: messages, .. } = told {
                let word = u32::from_be_bytes(octets(messages.as_octets()).try_into().unwrap());
                places.entry(word >> 8).or_default().push((word & 0xff, place));
            }
        }
    }
    places.values_mut().for_each(|words| words.sort_unstable());
    places
}

/// How many associations a side has had.
fn arrived(side: &Side) -> usize {
    side.heard.0.iter().filter(|told| matches!(told, Told::Opened { .. })).count()
}

#[test]
fn associations_spread_over_two_sockets_stay_on_theirs() {
    let (mut sides, at) = sharers(2);
    let peers = peers();
    (0..10).for_each(|round| say_all(&mut sides, &peers, at, round));
    for (number, words) in places(&sides) {
        assert_eq!(words.len(), 10, "peer {number} was heard each time");
        assert!(
            words.iter().all(|(_, place)| *place == words[0].1),
            "peer {number} was dealt anew: {words:?}"
        );
    }
    let arrived = sides.iter().map(arrived).collect::<Vec<_>>();
    assert!(arrived.iter().all(|count| *count > 0), "both have some: {arrived:?}");
    assert_eq!(arrived.iter().sum::<usize>(), PEERS as usize, "nobody arrived twice");
    assert!(sides.iter().all(|side| side.dropped() == 0));
}

/// Associations that are opened from one local port: each receives what its peer sends.
#[test]
fn associations_leave_from_one_port() {
    let peers = peers();
    let free = stranger("127.0.0.1:0");
    let at = free.local_addr().unwrap();
    drop(free);
    let mut side = Side::sharing();
    for (index, peer) in (1..).zip(&peers) {
        let (association, remote) = (name(index), peer.local_addr().unwrap().into());
        side.ask(Ask::Open { association, remote, local: Some(at.into()), credit: AMPLE });
    }
    assert_eq!(arrived(&side), peers.len());
    for (index, peer) in (1..).zip(&peers) {
        side.send(name(index), b"whose");
        let mut octets = [0; 8];
        side.turn(1);
        assert_eq!(peer.recv_from(&mut octets).unwrap(), (5, at));
        peer.send_to(&index.to_be_bytes(), at).unwrap();
        let word = side.until(|told| delivered(told, name(index)).pop());
        assert_eq!(word, index.to_be_bytes());
    }
}

#[test]
fn a_listener_that_ceases_leaves_the_others_associations_alone() {
    let (mut sides, at) = sharers(2);
    let peers = peers();
    say_all(&mut sides, &peers, at, 0);
    let first = places(&sides);
    // One of them goes: its listener, its associations, and so its socket.
    let mut gone = sides.remove(0);
    gone.ask(Ask::Close { name: name(0) });
    (1..=PEERS).for_each(|index| gone.ask(Ask::Close { name: name(index) }));
    assert_eq!(gone.ended(name(0)), Ended::Unlistened);
    let stay: Vec<_> = (0_u32..).zip(peers).filter(|(number, _)| first[number][0].1 == 1).collect();
    let kept = arrived(&sides[0]);
    for round in 1..4_u32 {
        for (number, peer) in &stay {
            peer.send_to(&(number << 8 | round).to_be_bytes(), at).unwrap();
        }
        let all = stay.len() * (round as usize + 1);
        sides[0].until(|told| {
            let came = told.iter().filter(|told| matches!(told, Told::Delivered { .. })).count();
            (came == all).then_some(())
        });
    }
    assert_eq!((arrived(&sides[0]), sides[0].dropped()), (kept, 0), "each came as who he was");
}

#[test]
fn who_begins_to_listen_beside_another_is_dealt_some_of_his_peers() {
    // It is the kernel's way, and said of `Udp::sharing_port`: were it to change, that should say
    // so.
    let (mut sides, at) = sharers(1);
    let peers = peers();
    say_all(&mut sides, &peers, at, 0);
    let mut second = Side::sharing();
    assert_eq!(second.listen(&at.to_string()), at);
    expect_all(&mut second);
    sides.push(second);
    (1..4).for_each(|round| say_all(&mut sides, &peers, at, round));
    let places = places(&sides);
    let moved = places.values().filter(|words| words[1].1 == 1).count();
    assert!((1..PEERS as usize).contains(&moved), "{moved} of {PEERS}");
    assert_eq!(arrived(&sides[1]), moved, "they are strangers there");
    assert!(places.values().all(|words| words[1..].iter().all(|(_, place)| *place == words[1].1)));
}

#[test]
fn an_address_is_shared_only_where_both_say_so() {
    let (_sides, at) = sharers(1);
    let mut alone = Side::new();
    alone.ask(Ask::Listen { listener: name(0), local: at.into() });
    assert_eq!(alone.ended(name(0)), Ended::Unavailable);
    let mut alone = Side::new();
    let at = alone.listen("127.0.0.1:0");
    let mut sharer = Side::sharing();
    sharer.ask(Ask::Listen { listener: name(0), local: at.into() });
    assert_eq!(sharer.ended(name(0)), Ended::Unavailable);
}

#[test]
fn over_ipv6_an_address_is_shared_as_well() {
    let mut sides = [Side::sharing(), Side::sharing()];
    let at = sides[0].listen("[::1]:0");
    assert_eq!(sides[1].listen(&at.to_string()), at);
    sides.iter_mut().for_each(|side| side.expect(name(1), AMPLE));
    stranger("[::1]:0").send_to(b"hello", at).unwrap();
    for _ in 0..100 {
        sides.iter_mut().for_each(|side| side.turn(1));
    }
    let heard: usize = sides.iter().map(|side| delivered(&side.heard.0, name(1)).len()).sum();
    assert_eq!(heard, 1);
}
