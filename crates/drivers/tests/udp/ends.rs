//! How an association ends, and what ends none.

use stackwright_contract::services::{DatagramsIndication as Told, DatagramsRequest as Ask, Ended};
use stackwright_contract::{Handle, Participant};

use crate::side::{
    AMPLE, BOTH, Side, address, arrival, delivered, end_of, hear, name, opened, stranger,
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
