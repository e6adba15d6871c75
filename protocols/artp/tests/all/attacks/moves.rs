//! Somebody off the path who says that a session is lost, or that its peer has moved. What proves
//! that has to be guessed: 128 bits, or 64. And somebody who knows the nonces, but receives nothing
//! at the address to which a session shall move.

use fastrand::Rng;
use stackwright_artp::header::{Challenge, ControlKind, Identity, PacketKind, Proposal};
use stackwright_artp::items;
use stackwright_contract::{Duration, Participant};
use stackwright_wire::Header;

use crate::attacks::injection::{tries, works};
use crate::attacks::packets::{
    CHALLENGE, IDENTIFY, SESSION, arrangement, datagram, encoded, packet,
};
use crate::attacks::scene::{ASKS, GRANTS, acquainted, config, said};
use crate::attacks::strangers::{Server, address};

const HEADER: usize = 20;

fn identity(kind: ControlKind, token: u64, own: u64, challenge: u64) -> Vec<u8> {
    let identity = Identity { session: SESSION, reserved: (), token, own, challenge };
    arrangement(kind, IDENTIFY, &encoded(&identity))
}

/// Each try hits with 2⁻¹²⁸. Others are no more than hints, of which few are heeded.
#[test]
fn a_guessed_reset_ends_nothing() {
    let mut ends = acquainted(&config(), 11);
    let mut random = Rng::with_seed(11);
    let mut identified = 0;
    for _ in 0..tries() {
        let token = random.u128(..).to_be_bytes();
        ends.inject(random.usize(..2), &packet(PacketKind::Unknown, SESSION, 0, &[], &token));
        identified += said(&mut ends, ASKS).len() + said(&mut ends, GRANTS).len();
    }
    // No time has passed.
    assert!(identified <= 2, "{identified}");
    assert!(works(&mut ends));
}

/// Each try hits with 2⁻⁶⁴.
#[test]
fn a_guessed_challenge_is_not_answered_and_changes_no_token() {
    let mut ends = acquainted(&config(), 12);
    let mut random = Rng::with_seed(12);
    for _ in 0..tries() {
        let (token, challenge, reset) = (random.u64(..), random.u64(..), [7; 16]);
        let challenge = Challenge { session: SESSION, reserved: (), token, challenge, reset };
        let side = random.usize(..2);
        ends.inject(side, &arrangement(ControlKind::Request, CHALLENGE, &encoded(&challenge)));
    }
    assert!(said(&mut ends, ASKS).is_empty() && said(&mut ends, GRANTS).is_empty());
    for side in [ASKS, GRANTS] {
        ends.inject(side, &packet(PacketKind::Unknown, SESSION, 0, &[], &[7; 16]));
    }
    assert!(works(&mut ends));
}

/// Each try hits with 2⁻⁶⁴.
#[test]
fn a_guessed_identity_is_not_answered() {
    let mut ends = acquainted(&config(), 13);
    let mut random = Rng::with_seed(13);
    for _ in 0..tries() {
        let kind = if random.bool() { ControlKind::Request } else { ControlKind::Reply };
        let [token, own, challenge] = [(); 3].map(|()| random.u64(..));
        ends.inject(random.usize(..2), &identity(kind, token, own, challenge));
    }
    assert!(said(&mut ends, ASKS).is_empty() && said(&mut ends, GRANTS).is_empty());
    assert!(works(&mut ends));
}

/// A server with one session, which the peer has at `address(1)` with the nonce 1.
fn server() -> (Server, Proposal) {
    let mut server = Server::new(config());
    let granted = server.lets_in(address(1), 1);
    server.answers.clear();
    (server, granted)
}

/// The last answer to `to`.
fn answered(server: &mut Server, to: Participant) -> Option<Vec<u8>> {
    let (remote, octets) = server.answers.pop()?;
    assert_eq!((remote, server.answers.len()), (to, 0));
    Some(octets)
}

/// The challenge in an answer.
fn challenge(octets: &[u8]) -> Challenge {
    let item = items(&octets[HEADER..]).next().expect("an item").expect("a sound one");
    assert_eq!((item.kind, item.id), (ControlKind::Request, CHALLENGE));
    Challenge::decode(item.value).expect("a challenge")
}

/// The peer moves to `to`, where it is challenged. Returns what is said to the old address.
fn moves(server: &mut Server, granted: &Proposal, to: Participant) -> Vec<(Participant, Vec<u8>)> {
    let request = identity(ControlKind::Request, granted.nonce, 1, 0);
    server.arrives(to, &request);
    let octets = answered(server, to).expect("a challenge");
    assert!(octets.len() <= 3 * request.len());
    let Challenge { token, challenge, .. } = challenge(&octets);
    assert_eq!(token, 1);
    server.arrives(to, &identity(ControlKind::Reply, granted.nonce, 1, challenge));
    core::mem::take(&mut server.answers)
}

#[test]
fn a_peer_that_has_moved_is_known_there_and_nowhere_else() {
    let (mut server, granted) = server();
    let said = moves(&mut server, &granted, address(2));
    let [(probed, probe), rest @ ..] = said.as_slice() else { panic!("the old address is probed") };
    assert_eq!((*probed, challenge(probe).reset), (address(1), [0; 16]));
    assert!(rest.iter().all(|(to, _)| *to == address(2)));
    assert_eq!(server.layer.associations(), 1);
    // It is acknowledged where it is, and unknown where it was.
    server.arrives(address(2), &datagram(77, 1, b"here"));
    server.pass(Duration::from_millis(100));
    assert!(server.answers.drain(..).all(|(to, octets)| to == address(2) && octets[0] & 15 == 3));
    server.arrives(address(1), &datagram(78, 2, b"there"));
    let unknown = answered(&mut server, address(1)).expect("an answer");
    assert_eq!(unknown[0] & 15, PacketKind::Unknown as u8);
}

/// Who forwards a peer's packets from another address draws the session there, as long as the peer
/// does not answer at the old one: RFC 9000 §9.3.3.
#[test]
fn a_peer_that_is_still_where_it_was_gets_its_session_back() {
    let (mut server, granted) = server();
    let said = moves(&mut server, &granted, address(2));
    let probe = challenge(&said[0].1);
    server.arrives(address(1), &identity(ControlKind::Reply, granted.nonce, 1, probe.challenge));
    server.answers.clear();
    server.arrives(address(1), &datagram(77, 1, b"here"));
    server.pass(Duration::from_millis(100));
    assert!(!server.answers.is_empty());
    assert!(server.answers.iter().all(|(to, octets)| *to == address(1) && octets[0] & 15 == 3));
}

/// An attacker that knows both nonces answers challenges that it has not received: each try hits
/// with 2⁻⁶⁴, and a challenge for one address is none for another.
#[test]
fn without_its_challenge_no_session_moves() {
    let (mut server, granted) = server();
    let mut random = Rng::with_seed(14);
    server.arrives(address(3), &identity(ControlKind::Request, granted.nonce, 1, 0));
    let octets = answered(&mut server, address(3)).expect("a challenge");
    let others = challenge(&octets).challenge;
    let answer = |challenge| identity(ControlKind::Reply, granted.nonce, 1, challenge);
    server.arrives(address(2), &answer(others));
    for _ in 0..tries() {
        server.arrives(address(2), &answer(random.u64(..)));
    }
    assert!(server.answers.is_empty(), "and none is answered");
    // Nor does it move when the challenge is old.
    server.pass(Duration::from_secs(21));
    server.answers.clear();
    server.arrives(address(3), &answer(others));
    server.arrives(address(1), &datagram(77, 1, b"here"));
    server.pass(Duration::from_millis(100));
    assert!(!server.answers.is_empty());
    assert!(server.answers.iter().all(|(to, octets)| *to == address(1) && octets[0] & 15 == 3));
}

/// One that does not know the nonce is not even challenged.
#[test]
fn a_guessed_nonce_finds_no_session() {
    let (mut server, _) = server();
    let mut random = Rng::with_seed(15);
    for _ in 0..tries() {
        let kind = if random.bool() { ControlKind::Request } else { ControlKind::Reply };
        let [token, own, challenge] = [(); 3].map(|()| random.u64(..));
        server.arrives(address(2), &identity(kind, token, own, challenge));
        for (to, octets) in server.answers.drain(..) {
            assert_eq!((to, octets[0] & 15), (address(2), PacketKind::Unknown as u8));
        }
    }
    assert_eq!(server.layer.associations(), 1);
}

/// Somebody who knows the nonce has a session challenged three times a second, wherever from.
#[test]
fn a_session_is_challenged_three_times_a_second() {
    let (mut server, granted) = server();
    let mut challenges = 0;
    for nth in 0..10_000 {
        server.arrives(address(nth + 2), &identity(ControlKind::Request, granted.nonce, 1, 0));
        challenges += server.answers.drain(..).count();
        server.pass(Duration::from_millis(1));
    }
    assert!((29..=31).contains(&challenges), "{challenges}");
}

/// Packets of no session are answered a hundred times a second, each address once, with less than
/// came, and what is short is not; nor is an answer.
#[test]
fn packets_of_no_session_are_answered_seldom_and_shortly() {
    let mut server = Server::new(config());
    let (mut answers, seconds) = (0, 10);
    for nth in 0..10_000 * seconds {
        let octets = packet(PacketKind::Data, SESSION, nth, &[], &vec![0; 8 + nth as usize % 50]);
        server.arrives(address(nth % 1000), &octets);
        for (_, answer) in server.answers.drain(..) {
            assert!(answer.len() < octets.len());
            answers += 1;
        }
        server.pass(Duration::from_micros(100));
    }
    assert!(answers <= 100 * (seconds + 1), "{answers}");
    assert!(answers >= 90 * seconds, "{answers}");
    server.pass(Duration::from_secs(2));
    server.arrives(address(1), &packet(PacketKind::Unknown, SESSION, 0, &[], &[0; 50]));
    assert!(server.answers.is_empty());
}
