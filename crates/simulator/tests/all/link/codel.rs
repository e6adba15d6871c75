//! A queue that CoDel keeps short, beside one that drops at its tail.

use stackwright_contract::{Duration, Instant};
use stackwright_simulator::{Carried, Conditions, Discipline, Link, Queue};

use crate::link::{Probe, arrivals, at, millis};

const RATE: u64 = 1_250_000;
const OCTETS: usize = 1250;

fn conditions(discipline: Discipline) -> Conditions {
    let queue = Queue { packets: Some(1000), octets: None, discipline };
    Conditions { rate: Some(RATE), mtu: Some(OCTETS), queue, ..Conditions::IDEAL }
}

/// How long each packet that arrived had waited, where one comes every `gap`.
fn sojourns(arrived: &[(Instant, Probe)], gap: Duration) -> Vec<Duration> {
    let came = |probe: &Probe| at(probe.number * gap.as_nanos() as u64);
    arrived.iter().map(|(time, probe)| time.since(came(probe)) - millis(1)).collect()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[test]
fn codel_holds_the_wait_near_its_target_and_a_plain_queue_does_not() {
    // A packet takes 1 ms, and 5 % more come than can leave.
    let gap = Duration::from_micros(952);
    let mut plain = Link::new(conditions(Discipline::DropTail), 0);
    let plain_waits = sojourns(&arrivals(&mut plain, 100_000, OCTETS, gap), gap);
    assert!(median(plain_waits) > millis(900), "a thousand packets of 1 ms wait");
    assert!(plain.counts().dropped_at_tail > 0);
    let mut codel = Link::new(conditions(Discipline::CODEL), 0);
    let arrived = arrivals(&mut codel, 100_000, OCTETS, gap);
    // The first drops come seldom, until their rate is that of what is too much.
    let waits = sojourns(&arrived[arrived.len() / 2..], gap);
    let middle = median(waits);
    assert!((millis(2)..millis(15)).contains(&middle), "they wait for {middle:?}");
    assert_eq!(codel.counts().dropped_at_tail, 0);
    // The link never rests: what was dropped was too much.
    let sent = arrived.len() as u64 * OCTETS as u64;
    let last = arrived.last().expect("most arrive").0.nanoseconds();
    assert!(sent * 1_000_000_000 / last > RATE * 99 / 100, "the link stays busy");
}

#[test]
fn codel_drops_as_its_control_law_says() {
    // All come at once, so all that wait longer than the target do so from the start.
    let mut link = Link::new(conditions(Discipline::CODEL), 0);
    let arrived = arrivals(&mut link, 1000, OCTETS, Duration::ZERO);
    let numbers: Vec<u64> = arrived.iter().map(|(_, probe)| probe.number).collect();
    let mut dropped = (0..1000).filter(|number| !numbers.contains(number));
    // The fifth packet has waited 5 ms; 100 ms later, at 105 ms, the first is dropped. Then the
    // time to the next is 100 ms through the root of the number of drops so far, and what was
    // dropped takes no time.
    let mut next = 105.0;
    for count in 1..=10_u32 {
        let expected = f64::ceil(next) as u64 + u64::from(count - 1);
        assert_eq!(dropped.next(), Some(expected), "drop {count}");
        next += 100.0 / f64::from(count).sqrt();
    }
}

/// RFC 3168 §5: what can be marked is marked where it would be dropped, in the same order, and
/// takes its time.
#[test]
fn codel_marks_what_can_be_marked_and_drops_the_rest() {
    let mut link = Link::new(conditions(Discipline::CODEL), 0);
    let carry = |link: &mut Link, number, ecn| match link
        .carry(Instant::START, Probe { ecn, ..Probe::new(number, OCTETS) })
    {
        Carried::Once(_, probe) => Some(probe),
        Carried::Lost => None,
        Carried::Twice(_) => unreachable!("nothing is doubled"),
    };
    let came = (0..500).filter_map(|number| carry(&mut link, number, 0b10));
    let marked: Vec<u64> =
        came.filter(|probe| probe.ecn == 0b11).map(|probe| probe.number).collect();
    // As above, but that what is marked leaves as the others do.
    let mut next = 105.0;
    for (count, number) in (1..).zip(&marked) {
        assert_eq!(*number, f64::ceil(next) as u64, "mark {count}");
        next += 100.0 / f64::from(count).sqrt();
    }
    assert!(next > 500.0, "no mark is missing");
    let counts = link.counts();
    assert_eq!(
        (counts.marked, counts.dropped_by_codel, counts.delivered),
        (marked.len() as u64, 0, 500)
    );
    let arrived = (500..600).filter_map(|number| carry(&mut link, number, 0)).count() as u64;
    let dropped = link.counts().dropped_by_codel;
    assert!(dropped > 0, "who cannot be marked is dropped");
    assert_eq!(arrived + dropped, 100);
}

#[test]
fn a_packet_of_the_mtu_may_always_wait_for_one_like_it() {
    // At 1000 b/s a packet takes 10 s: a target of 5 ms would drop whatever waits.
    let slow = Conditions { rate: Some(125), ..conditions(Discipline::CODEL) };
    let mut link = Link::new(slow.clone(), 0);
    for number in 0..500 {
        // Two come at once, so that one of them waits for exactly one packet, and the next two when
        // both have left.
        let carried = link.carry(at(number / 2 * 20_000_000_000), Probe::new(number, OCTETS));
        assert!(!matches!(carried, Carried::Lost), "packet {number}");
    }
    // Where two always wait, the second waits too long; when it is dropped, only one does.
    let mut link = Link::new(slow, 0);
    arrivals(&mut link, 2, OCTETS, Duration::ZERO);
    assert_eq!(arrivals(&mut link, 500, OCTETS, Duration::from_secs(10)).len(), 499);
}
