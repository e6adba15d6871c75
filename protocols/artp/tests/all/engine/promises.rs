//! What is acknowledged is delivered, whole and once, whatever is urgent and whatever number it
//! has.

use std::num::NonZeroU32;

use fastrand::Rng;
use stackwright_artp::{Config, Congestion};
use stackwright_contract::services::{Credit, MessageProperties};
use stackwright_contract::{Duration, Instant};
use stackwright_simulator::{Conditions, Deed, Event};
use stackwright_transport::Memory;
use stackwright_transport::words::Phase;
use stackwright_trial::Trial;
use stackwright_wire::{BufferTree, Message as _};

use crate::engine::conversation::Ends;
use crate::engine::setting::{config, end};

const WAY: Conditions = Conditions { delay: Duration::from_millis(1), ..Conditions::IDEAL };

/// Two ends that have a session.
fn open(config: &Config, events: Vec<Event>) -> Ends {
    let mut ends = Trial::scripted(|side| end(config, side), &WAY, [events, Vec::new()]);
    ends.ends[0].open(ends.now());
    ends.pass(ends.now() + Duration::from_secs(1));
    assert_eq!(ends.ends[0].phase(ends.now()), Phase::Open);
    ends
}

/// The datagrams that the second end has heard until nothing is left to be said.
fn heard(ends: &mut Ends, most: Duration) -> Vec<Vec<u8>> {
    let (mut heard, until) = (Vec::new(), ends.now() + most);
    loop {
        ends.speak(|_, _, _| {});
        let now = ends.now();
        heard.extend(std::iter::from_fn(|| ends.ends[1].take(now)).map(|(octets, _)| octets));
        let sending = ends.ends[0].association.sending();
        if sending.is_idle() && sending.is_drained() || !ends.until(until) {
            return heard;
        }
    }
}

/// Datagrams of 60 kB, each of which is more urgent than the one before it, which has left but for
/// its end.
fn overtaken(window: u32, datagrams: u8) {
    let config = Config { longest: 64 << 10, window, packet: 1200, ..config() };
    let mut ends = open(&config, Vec::new());
    let (mut random, mut sent) = (Rng::with_seed(u64::from(datagrams)), Vec::new());
    let mut arrived = Vec::new();
    for nth in 0..datagrams {
        let mut octets = vec![nth; 60_000];
        random.fill(&mut octets[1..]);
        let properties = MessageProperties { priority: 250 - nth, ..MessageProperties::default() };
        let now = ends.now();
        ends.ends[0].send(now, &octets, properties);
        sent.push(octets);
        for _ in 0..10_000 {
            let now = ends.now();
            let before = ends.ends[0].association.sending().waiting_octets();
            if before % 60_000 < 3000 {
                break;
            }
            ends.speak(|_, _, _| {});
            arrived.extend(std::iter::from_fn(|| ends.ends[1].take(now)).map(|(octets, _)| octets));
            ends.until(Instant::from_nanoseconds(now.nanoseconds() + 100_000));
        }
    }
    arrived.extend(heard(&mut ends, Duration::from_secs(600)));
    arrived.sort();
    sent.sort();
    assert_eq!(arrived.len(), sent.len(), "{datagrams} datagrams in a window of {window}");
    assert!(arrived == sent);
    // And nothing is in the way of what follows.
    for nth in 0..5 {
        let now = ends.now();
        ends.ends[0].send(now, &[nth; 60_000], MessageProperties::default());
        assert_eq!(heard(&mut ends, Duration::from_secs(60)).len(), 1);
    }
}

#[test]
fn datagrams_that_are_overtaken_near_their_ends_arrive() {
    for (window, datagrams) in [(64, 3), (64, 10), (64, 100), (4096, 100), (4096, 200)] {
        overtaken(window, datagrams);
    }
}

/// Two of the same number are on their way, or one whose number was counted and one that was given
/// it: each arrives as it was sent.
#[test]
fn datagrams_of_one_number_are_not_mixed() {
    for lost in 0..20 {
        for (numbers, second) in [
            ([Some(7), Some(7), Some(7)], 3000),
            ([None, Some(0), None], 3000),
            ([Some(u32::MAX), None, Some(0)], 3000),
            // In one packet it is never mixed, but what follows it is counted from its number.
            ([None, Some(u32::MAX), None], 10),
        ] {
            let lengths = [3000, second, 3000];
            let packets = open(&config(), Vec::new()).packets() as usize;
            let events = vec![Event { nth: (packets / 2 + lost) as u64, deed: Deed::Lose }];
            let mut ends = open(&config(), events);
            let sent: Vec<_> =
                b"ABC".iter().zip(lengths).map(|(fill, length)| vec![*fill; length]).collect();
            for (number, octets) in numbers.into_iter().zip(&sent) {
                let (now, properties) =
                    (ends.now(), MessageProperties { number, ..MessageProperties::default() });
                ends.ends[0].send(now, octets, properties);
            }
            let mut heard = heard(&mut ends, Duration::from_secs(60));
            heard.sort();
            assert!(heard == sent, "{numbers:?}, packet {lost} is lost, {} heard", heard.len());
        }
    }
}

/// One datagram expires when a part of it has arrived, and another one has its number: of that the
/// peer makes no mixture, and takes it at once, whichever packet of it is lost, and however long it
/// is.
#[test]
fn a_datagram_is_not_mixed_with_one_of_its_number_that_expired_in_part() {
    let config = Config { expires: true, ..config() };
    let packets = open(&config, Vec::new()).packets() as usize;
    for (first, second, length) in (0..8).flat_map(|first| {
        (0..8).flat_map(move |second| [3000, 2000, 3001].map(|length| (first, second, length)))
    }) {
        let nth = (packets / 2 + first) as u64;
        let events = [nth, nth + 6 + second].map(|nth| Event { nth, deed: Deed::Lose });
        let mut ends = open(&config, events.into());
        let lifetime = NonZeroU32::new(5_000);
        let properties =
            MessageProperties { number: Some(7), lifetime, ..MessageProperties::default() };
        let now = ends.now();
        ends.ends[0].send(now, &[b'A'; 3000], properties);
        let mut arrived = heard(&mut ends, Duration::from_secs(5));
        let properties = MessageProperties { number: Some(7), ..MessageProperties::default() };
        let now = ends.now();
        ends.ends[0].send(now, &vec![b'B'; length], properties);
        arrived.extend(heard(&mut ends, Duration::from_secs(5)));
        arrived.retain(|octets| *octets != [b'A'; 3000]);
        let lengths: Vec<_> = arrived.iter().map(Vec::len).collect();
        assert!(arrived == [vec![b'B'; length]], "{first}, {second}: {lengths:?} of {length}");
    }
}

/// Long datagrams expire in part, one after the other: the peer does not take them for more than a
/// sender may begin.
#[test]
fn datagrams_that_expire_in_part_are_not_in_the_way_of_others() {
    // With slow start, the first would leave as a whole.
    let congestion = Congestion::Document;
    let config = Config {
        expires: true,
        longest: 64 << 10,
        window: 64,
        packet: 1200,
        congestion,
        ..config()
    };
    let mut ends = open(&config, Vec::new());
    for nth in 0..40 {
        let lifetime = NonZeroU32::new(5_000);
        let now = ends.now();
        ends.ends[0].send(
            now,
            &[nth; 60_000],
            MessageProperties { lifetime, ..MessageProperties::default() },
        );
        ends.pass(ends.now() + Duration::from_millis(1));
        ends.set_conditions(&Conditions { loss: 1.0.into(), ..WAY });
        ends.pass(ends.now() + Duration::from_millis(20));
        ends.set_conditions(&WAY);
        ends.pass(ends.now() + Duration::from_millis(500));
        assert_eq!(ends.ends[0].phase(ends.now()), Phase::Open, "after {nth}");
    }
    let now = ends.now();
    ends.ends[0].send(now, &[7; 60_000], MessageProperties::default());
    assert_eq!(heard(&mut ends, Duration::from_secs(5)), [vec![7; 60_000]]);
}

/// Room for everything.
const EVERYTHING: Credit = Credit { octets: usize::MAX, messages: usize::MAX };

#[test]
fn what_was_lost_in_several_places_is_retransmitted_as_one_batch() {
    let config =
        Config { packet: 1200, reordering: Some(1), congestion: Congestion::NewReno, ..config() };
    let mut ends = open(&config, Vec::new());
    let mut now = ends.now();
    // The congestion window grows.
    (0..60).for_each(|nth| ends.ends[0].send(now, &[nth; 900], MessageProperties::default()));
    assert_eq!(heard(&mut ends, Duration::from_secs(5)).len(), 60);
    now = ends.now();
    let [here, there] = &mut ends.ends;
    let memory = &mut Memory::new(2048, 32, 64).with_runs(1 << 16);
    (0..10).for_each(|nth| here.send(now, &[nth; 900], MessageProperties::default()));
    let sent: Vec<BufferTree> =
        core::iter::from_fn(|| here.association.transmit(now, memory, EVERYTHING))
            .flatten()
            .collect();
    assert_eq!(sent.len(), 10);
    for (nth, mut packet) in sent.into_iter().enumerate() {
        if ![1, 4, 6].contains(&nth) {
            let room = Credit::default();
            let received = there.association.receive(now, None, &mut packet, None, memory, room);
            assert_eq!(received.expect("it is taken"), None);
        }
    }
    now = now.later(config.gather);
    let report = there.association.transmit(now, memory, EVERYTHING).expect("it reports");
    let mut report = report.into_single();
    here.association
        .receive(now, None, &mut report, None, memory, EVERYTHING)
        .expect("it is heeded");
    let lost = here.association.transmit(now, memory, EVERYTHING).expect("some is lost");
    assert_eq!(lost.count(), 3);
    let last = |packet: BufferTree| {
        let mut octets = vec![0; packet.len()];
        packet.copy_to(&mut octets);
        octets.last().copied()
    };
    assert!(lost.into_iter().map(last).eq([Some(1), Some(4), Some(6)]));
    assert!(here.association.transmit(now, memory, EVERYTHING).is_none());
}
