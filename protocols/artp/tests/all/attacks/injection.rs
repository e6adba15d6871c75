//! Somebody off the path, who knows addresses, ports and the session. What he sends has to be
//! guessed: the numbers of packets have 32 bits, what shows that one was heard has 64. A datagram
//! with a guessed number gets through where the number lies in the window: once in 2³² / 4096 = 2²⁰
//! tries. Who must not accept that seals what he sends.

use fastrand::Rng;
use stackwright_artp::header::{ControlKind, PacketKind, Verdict};
use stackwright_simulator::seeds;
use stackwright_transport::words::Phase;

use crate::attacks::packets::{
    CLOSE, CONFIRM, OPEN, SESSION, arrangement, datagram, encoded, packet, proposal, ranges,
    request, token,
};
use crate::attacks::scene::{
    ASKS, Ends, GRANTS, acquainted, config, cut, heard, later, said, send, strangers,
};

/// How often an attacker tries: with `SEEDS=16`, 2²⁰ times.
pub(crate) fn tries() -> u32 {
    seeds(1 << 16).count() as u32
}

/// How many hits there may be where one try in 2²⁰ hits: more come once in 10⁶ runs.
const HITS_MOST: usize = 10;

/// Whether both still hear each other.
pub(crate) fn works(ends: &mut Ends) -> bool {
    send(ends, ASKS, 500..510);
    send(ends, GRANTS, 600..610);
    ends.pass(later(ends, 5));
    let there = heard(ends, GRANTS).iter().filter(|number| (500..510).contains(*number)).count();
    let back = heard(ends, ASKS).iter().filter(|number| (600..610).contains(*number)).count();
    (there, back) == (10, 10)
}

#[test]
fn a_datagram_with_a_guessed_number_gets_through_once_in_2_to_the_20() {
    let mut ends = acquainted(&config(), 1);
    let (mut random, mut hits) = (Rng::with_seed(1), 0);
    for _ in 0..tries() {
        ends.inject(GRANTS, &datagram(random.u32(..), 7, b"never sent"));
        hits += heard(&mut ends, GRANTS).len();
    }
    assert!(hits <= HITS_MOST, "{hits} got through");
    assert!(hits > 0 || works(&mut ends));
}

#[test]
fn a_control_message_with_a_guessed_number_gets_through_once_in_2_to_the_20() {
    let mut ends = acquainted(&config(), 2);
    let (mut random, mut hits) = (Rng::with_seed(2), 0);
    for _ in 0..tries() {
        ends.inject(
            GRANTS,
            &packet(PacketKind::Control, SESSION, random.u32(..), &[], &[0, 4, 1, 0x80]),
        );
        let now = ends.now();
        hits += usize::from(ends.ends[GRANTS].take(now).is_some());
    }
    assert!(hits <= HITS_MOST, "{hits} got through");
    assert!(hits > 0 || works(&mut ends));
}

/// What is acknowledged must be on its way: three packets of 2³².
#[test]
fn a_guessed_acknowledgement_settles_nothing_and_gives_no_credit() {
    let mut ends = acquainted(&config(), 3);
    cut(&mut ends, true);
    send(&mut ends, ASKS, 0..100);
    said(&mut ends, ASKS);
    let before = ends.ends[ASKS].association.sending().settled_upto();
    let credit = format!("{:?}", ends.ends[ASKS].association.slots().flow());
    let mut random = Rng::with_seed(3);
    for _ in 0..tries() {
        let first = random.u32(..);
        let last = first.wrapping_add(random.u32(..8));
        ends.inject(ASKS, &ranges(&[(first, last)], Some(random.u32(..))));
    }
    assert_eq!(ends.ends[ASKS].association.sending().settled_upto(), before);
    assert_eq!(format!("{:?}", ends.ends[ASKS].association.slots().flow()), credit);
    cut(&mut ends, false);
    assert!(works(&mut ends));
}

/// Each try hits with 2⁻⁶⁴.
#[test]
fn a_guessed_end_ends_nothing() {
    let mut ends = acquainted(&config(), 4);
    let mut random = Rng::with_seed(4);
    for _ in 0..tries() {
        let kind = if random.bool() { ControlKind::Request } else { ControlKind::Reply };
        let side = random.usize(..2);
        ends.inject(side, &token(kind, CLOSE, random.u64(..)));
    }
    assert!(works(&mut ends));
}

/// Each try hits with 2⁻⁶⁴: an answer shows what was asked with, and who has an answer hears no
/// other.
#[test]
fn a_guessed_proposal_changes_nothing() {
    let mut ends = acquainted(&config(), 5);
    let mut random = Rng::with_seed(5);
    for _ in 0..tries() / 4 {
        let side = random.usize(..2);
        ends.inject(side, &request(random.u64(..)));
        for verdict in [Verdict::Granted, Verdict::Refused, Verdict::Again] {
            let answer = encoded(&proposal(verdict, random.u64(..), random.u64(..)));
            ends.inject(side, &arrangement(ControlKind::Reply, OPEN, &answer));
        }
    }
    assert!(works(&mut ends));
}

/// Who asks is not told by a stranger that he is granted, refused, or asked himself.
#[test]
fn guessed_answers_to_who_asks_change_nothing() {
    let mut ends = strangers(&config(), 6);
    ends.ends[ASKS].open(ends.now());
    said(&mut ends, ASKS);
    let mut random = Rng::with_seed(6);
    for _ in 0..tries() / 4 {
        ends.inject(ASKS, &request(random.u64(..)));
        for verdict in [Verdict::Granted, Verdict::Refused, Verdict::Again] {
            let answer = encoded(&proposal(verdict, random.u64(..), random.u64(..)));
            ends.inject(ASKS, &arrangement(ControlKind::Reply, OPEN, &answer));
        }
    }
    assert_eq!(ends.ends[ASKS].phase(ends.now()), Phase::Opening);
    ends.pass(later(&ends, 2));
    assert!(works(&mut ends));
}

/// Who is granted a session has to show what he was granted it with: 2⁻⁶⁴ for a token, and 3 of 2³²
/// for an acknowledgement.
#[test]
fn nobody_confirms_by_guessing() {
    let mut ends = strangers(&config(), 7);
    cut(&mut ends, true);
    ends.inject(GRANTS, &request(1));
    send(&mut ends, GRANTS, 0..10);
    said(&mut ends, GRANTS);
    let mut random = Rng::with_seed(7);
    for _ in 0..tries() / 2 {
        ends.inject(GRANTS, &token(ControlKind::Request, CONFIRM, random.u64(..)));
        let number = random.u32(..);
        ends.inject(GRANTS, &ranges(&[(number, number)], None));
    }
    assert!(ends.ends[GRANTS].association.is_half_open());
}

/// Whose session it is, is guessed once in 256 tries; what shows that he belongs to it, with 2⁻²⁰
/// at best.
#[test]
fn octets_by_chance_are_delivered_to_nobody() {
    let mut ends = acquainted(&config(), 8);
    let mut random = Rng::with_seed(8);
    let mut octets = [0; 64];
    for _ in 0..tries() {
        random.fill(&mut octets);
        octets[0] = [0x11, 0x12, 0x13][random.usize(..3)];
        octets[2..4].fill(0);
        let side = random.usize(..2);
        ends.inject(side, &octets);
        assert!(heard(&mut ends, side).is_empty());
    }
    assert!(works(&mut ends));
}
