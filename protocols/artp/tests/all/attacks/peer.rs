//! The peer itself: he has a session, and what he says is not so.

use std::time;

use stackwright_artp::Config;
use stackwright_artp::header::{ControlKind, PacketKind};
use stackwright_contract::{Duration, Instant};
use stackwright_transport::slots::Congestion as _;
use stackwright_transport::words::{Dropped, Ending, Phase};

use crate::attacks::packets::{CLOSE, OPEN, SESSION, arrangement, packet, ranges};
use crate::attacks::scene::{
    ASKS, Ends, GRANTS, acquainted, config, cut, heard, later, said, send, watch,
};

fn window(ends: &Ends) -> u64 {
    ends.ends[ASKS].association.slots().congestion().window()
}

/// The numbers that are on their way.
fn flight(ends: &Ends) -> std::ops::Range<u64> {
    let sending = ends.ends[ASKS].association.sending();
    sending.settled_upto()..sending.sent_upto()
}

/// An acknowledgement that is cut into a hundred of the same packet opens the window as one does.
#[test]
fn acknowledging_often_opens_the_window_by_one_packet_for_each_packet_at_most() {
    let mut ends = acquainted(&config(), 1);
    cut(&mut ends, true);
    send(&mut ends, ASKS, 0..100);
    said(&mut ends, ASKS);
    let (before, flight) = (window(&ends), flight(&ends));
    for _ in 0..100 {
        for number in flight.clone() {
            ends.inject(ASKS, &ranges(&[(number as u32, number as u32)], None));
        }
    }
    let packets = flight.end - flight.start;
    let grown = window(&ends) - before;
    assert!(grown <= packets * u64::from(config().packet), "{grown} octets for {packets} packets");
}

/// He names a number more than was ever sent: all of it is refused.
#[test]
fn acknowledging_what_was_never_sent_settles_nothing() {
    let mut ends = acquainted(&config(), 2);
    cut(&mut ends, true);
    send(&mut ends, ASKS, 0..100);
    said(&mut ends, ASKS);
    let (before, flight) = (window(&ends), flight(&ends));
    for beyond in [0, 1, 1000, 1 << 30] {
        ends.inject(ASKS, &ranges(&[(flight.start as u32, (flight.end + beyond) as u32)], None));
    }
    assert!(ends.dropped().contains(&(ASKS, Dropped::AcknowledgesUnsent)));
    let settled = ends.ends[ASKS].association.sending().settled_upto();
    assert_eq!(settled, flight.start);
    assert_eq!(window(&ends), before);
}

/// The longest packet full of ranges, each of which is all that is on its way but the first: what
/// is done for it does not grow with the product of both.
#[test]
fn a_packet_of_eight_thousand_ranges_costs_no_more_than_what_is_on_its_way() {
    let mut ends = acquainted(&config(), 3);
    let sixty_four = 1 << 16;
    for round in 0..40 {
        send(&mut ends, ASKS, round * 50..round * 50 + 50);
        ends.pass(ends.now() + Duration::from_millis(300));
    }
    cut(&mut ends, true);
    send(&mut ends, ASKS, 10_000..12_000);
    said(&mut ends, ASKS);
    let flight = flight(&ends);
    assert!(flight.end - flight.start > 50, "{flight:?}");
    let pair = (flight.start as u32 + 1, flight.end as u32 - 1);
    ends.inject(ASKS, &ranges(&vec![pair; sixty_four / 8 - 10], None));
    let refused = ends.dropped().last().is_some_and(|(_, dropped)| *dropped == Dropped::Malformed);
    assert!(refused, "it says more often than once what can be said once");
}

/// Options of 0 to 3 octets, beyond the end, and as many as fit.
#[test]
fn options_that_go_round_in_circles_come_to_an_end() {
    let mut ends = acquainted(&config(), 4);
    for size in [0_u16, 1, 2, 3, 5, 4096, u16::MAX] {
        let option = [&size.to_be_bytes()[..], &[0, 9]].concat();
        ends.inject(GRANTS, &packet(PacketKind::Data, SESSION, 0, &option, &[0; 12]));
        assert_eq!(ends.dropped().last(), Some(&(GRANTS, Dropped::Malformed)), "{size}");
    }
    let begin = time::Instant::now();
    for _ in 0..100 {
        let options = [0, 4, 0, 9].repeat(16_000);
        ends.inject(GRANTS, &packet(PacketKind::Data, SESSION, 0, &options, &[0; 12]));
    }
    // Not a measurement: what is quadratic takes minutes.
    assert!(begin.elapsed() < time::Duration::from_secs(30));
}

#[test]
fn control_items_that_go_round_in_circles_come_to_an_end() {
    let mut ends = acquainted(&config(), 5);
    for size in [0_u16, 1, 2, 3, 5, 4096, u16::MAX] {
        let item = [&size.to_be_bytes()[..], &[1, 0x80]].concat();
        for session in [SESSION, 0] {
            ends.inject(GRANTS, &packet(PacketKind::Control, session, 0, &[], &item));
            assert_eq!(ends.dropped().last(), Some(&(GRANTS, Dropped::Malformed)), "{size}");
        }
    }
    let items = [0, 4, 1, 0x80].repeat(16_000);
    let next = ends.ends[GRANTS].association.receipts().upto() as u32;
    ends.inject(GRANTS, &packet(PacketKind::Control, SESSION, next, &[], &items));
    let now = ends.now();
    assert_eq!(ends.ends[GRANTS].take(now).map(|(octets, _)| octets.len()), Some(64_000));
}

/// Every field of a packet and of a proposal at its extremes, one at a time and all together:
/// overflow is a panic here.
#[test]
fn no_field_overflows_at_its_extremes() {
    let honest = [
        crate::attacks::packets::datagram(0, 0, b"octets"),
        ranges(&[(0, 0)], Some(0)),
        crate::attacks::packets::request(3),
        crate::attacks::packets::token(ControlKind::Request, CLOSE, 3),
        crate::attacks::packets::fragment(0, 1, 70_000, 80_000, b"octets"),
        crate::attacks::packets::part(0, 1, 100, 110, b"octets"),
    ];
    for (seed, packet) in honest.iter().enumerate() {
        let mut ends = acquainted(&config(), seed as u64);
        for at in 1..packet.len() {
            for (long, octet) in
                [1, 2, 4, 8].into_iter().flat_map(|long| [(long, 0), (long, 255), (long, 127)])
            {
                let mut packet = packet.clone();
                let end = (at + long).min(packet.len());
                packet[at..end].fill(octet);
                packet[1] = if seed == 2 || seed == 3 { 0 } else { SESSION };
                for side in [ASKS, GRANTS] {
                    ends.inject(side, &packet);
                    said(&mut ends, side);
                    heard(&mut ends, side);
                }
            }
        }
    }
    for id in [OPEN, CLOSE] {
        let mut ends = crate::attacks::scene::strangers(&config(), 9);
        let now = ends.now();
        ends.inject(GRANTS, &arrangement(ControlKind::Request, id, &[255; 52]));
        ends.ends[ASKS].open(now);
        ends.inject(ASKS, &arrangement(ControlKind::Reply, id, &[255; 52]));
        ends.pass(later(&ends, 1));
    }
}

/// The clock of the day may be set; that of a run only goes on: a day ahead it may be, as after a
/// sleep.
#[test]
fn a_clock_that_jumps_a_day_ahead_or_stands_still_ends_nothing() {
    let mut ends = acquainted(&config(), 6);
    for day in 0..3_u32 {
        send(&mut ends, ASKS, day * 100..day * 100 + 20);
        said(&mut ends, ASKS); // it is on its way when the lid is shut
        let end = Instant::from_nanoseconds(ends.now().nanoseconds() + 86_400_000_000_000);
        // Nothing is done meanwhile: what was armed rings late.
        ends.sleep(end);
        ends.pass(later(&ends, 10));
        assert_eq!(heard(&mut ends, GRANTS).len(), 20, "day {day}");
        for side in [ASKS, GRANTS] {
            assert_eq!(ends.ends[side].phase(ends.now()), Phase::Open);
        }
    }
}

/// He acknowledges, and never reads: what waits for him is what was given, packets come once a
/// timeout, and it goes on when he reads.
#[test]
fn a_peer_that_never_reads_gets_a_packet_each_timeout_and_no_more() {
    let small = Config { window: 16, ..config() };
    let mut ends = acquainted(&small, 7);
    ends.ends[GRANTS].takes = false;
    send(&mut ends, ASKS, 0..100);
    ends.pass(later(&ends, 10));
    let before = ends.packets();
    ends.pass(later(&ends, 1000));
    let packets = ends.packets() - before;
    assert!(packets > 10, "it tries again");
    assert!(
        packets < 2 * 1000 * 5 + 100,
        "{packets} packets in 1000 s, and no timeout is shorter than 200 ms"
    );
    // What would open the window again is lost, and so are some tries.
    cut(&mut ends, true);
    ends.pass(later(&ends, 5));
    ends.ends[GRANTS].takes = true;
    let mut all = heard(&mut ends, GRANTS);
    ends.pass(later(&ends, 5));
    cut(&mut ends, false);
    for _ in 0..100 {
        ends.pass(later(&ends, 1));
        all.extend(heard(&mut ends, GRANTS));
    }
    all.sort_unstable();
    assert_eq!(all, Vec::from_iter(0..100));
}

/// He is gone, and the way is known: what was sent is tried less and less often, until the silence
/// has lasted long enough.
#[test]
fn a_peer_that_is_gone_is_noticed_when_the_silence_is_over_and_is_sent_few_packets_until_then() {
    let mut ends = acquainted(&config(), 9);
    send(&mut ends, ASKS, 0..10);
    ends.pass(later(&ends, 1));
    cut(&mut ends, true);
    send(&mut ends, ASKS, 10..11);
    let mut packets = 0;
    for (seconds, phase) in [(80, Phase::Open), (20, Phase::Ended(Ending::Silent))] {
        let end = later(&ends, seconds);
        watch(&mut ends, end, |_, _| packets += 1);
        assert_eq!(ends.ends[ASKS].phase(ends.now()), phase);
    }
    assert!(packets < 45, "{packets} packets in 90 s");
}

/// Twenty times the silence, and what was given for him is free again.
#[test]
fn a_peer_that_never_reads_holds_what_is_closed_for_ten_minutes() {
    let small = Config { window: 16, ..config() };
    let mut ends = acquainted(&small, 10);
    ends.ends[GRANTS].takes = false;
    send(&mut ends, ASKS, 0..100);
    ends.pass(later(&ends, 10));
    ends.ends[ASKS].association.close();
    ends.pass(later(&ends, 500));
    assert_eq!(ends.ends[ASKS].phase(ends.now()), Phase::Open);
    ends.pass(later(&ends, 120));
    assert_eq!(ends.ends[ASKS].phase(ends.now()), Phase::Ended(Ending::Silent));
}

/// Nothing is on its way, and the line is cut: both ask five times, and know. As long as it is not,
/// a question a minute is all.
#[test]
fn a_peer_that_died_in_silence_is_noticed_by_who_asks_whether_he_is_there() {
    let curious = Config { keepalive: Some(60_000_000_000), idle: None, ..config() };
    let mut ends = acquainted(&curious, 11);
    let before = ends.packets();
    ends.pass(later(&ends, 3600));
    assert!(ends.packets() - before < 2 * 3 * 60 + 10, "{} packets", ends.packets() - before);
    for side in [ASKS, GRANTS] {
        assert_eq!(ends.ends[side].phase(ends.now()), Phase::Open);
    }
    cut(&mut ends, true);
    // Five probes, 31 timeouts of 220 ms.
    ends.pass(later(&ends, 60 + 8));
    for side in [ASKS, GRANTS] {
        assert_eq!(ends.ends[side].phase(ends.now()), Phase::Ended(Ending::Silent));
    }
}

/// The side that asked confirms until it knows that this was heard: in an idle session, until one
/// side was asked whether it is there.
#[test]
fn a_session_is_confirmed_no_longer_than_until_the_first_probe() {
    let mut ends = acquainted(&config(), 12);
    ends.pass(later(&ends, 12));
    let before = ends.packets();
    ends.pass(later(&ends, 100));
    // A probe and its answer each nine seconds or so, and nothing else.
    let packets = ends.packets() - before;
    assert!((20..=24).contains(&packets), "{packets} packets");
}

/// It acknowledges all and never answers the end, which is repeated three times.
#[test]
fn a_peer_that_never_lets_go_is_told_four_times() {
    let mut ends = acquainted(&config(), 8);
    send(&mut ends, ASKS, 0..10);
    ends.pass(later(&ends, 1));
    cut(&mut ends, true);
    ends.ends[ASKS].association.close();
    let (mut farewells, end) = (0, later(&ends, 100));
    watch(&mut ends, end, |side, _| farewells += usize::from(side == ASKS));
    assert_eq!(farewells, 4);
    assert!(matches!(ends.ends[ASKS].phase(ends.now()), Phase::Ended(_)));
}
