//! Taking turns.

use stackwright_contract::{Duration, Instant};
use stackwright_simulator::{Channel, ChannelConditions, Hearing};

use crate::channel::{at, millis, plain, probe, rest, told, until};

#[test]
fn a_frame_takes_key_up_framing_octets_and_delay() {
    let conditions = ChannelConditions {
        overhead: 4,
        key_up: millis(500),
        tail: millis(10),
        delay: millis(3),
        ..plain()
    };
    let mut channel = Channel::new(conditions, 2, 0);
    channel.send(at(0), 0, Some(1), probe(0, 96));
    channel.send(at(0), 0, Some(1), probe(1, 46));
    // Both in one transmission.
    assert_eq!(told(&rest(&mut channel)), [(603, 1, 0), (653, 1, 1)]);
    assert_eq!(channel.counts().on_air, millis(500 + 100 + 50 + 10));
    // The transmitter is off now: the next one has its own key-up.
    channel.send(at(1000), 0, Some(1), probe(2, 96));
    assert_eq!(told(&rest(&mut channel)), [(1603, 1, 2)]);
}

#[test]
fn two_that_hear_each_other_do_not_collide_when_one_starts_later() {
    for later in [1, 2, 50, 99, 100, 101, 150] {
        let mut channel = Channel::new(ChannelConditions { key_up: millis(50), ..plain() }, 2, 0);
        channel.send(at(0), 0, Some(1), probe(0, 100));
        let mut heard = until(&mut channel, at(later));
        channel.send(at(later), 1, Some(0), probe(1, 100));
        heard.extend(rest(&mut channel));
        // The second waits until the first is off the air.
        assert_eq!(told(&heard), [(150, 1, 0), (150 + 150, 0, 1)], "{later} ms later");
        assert_eq!(channel.counts().collided, 0);
    }
}

#[test]
fn who_waits_begins_when_the_tail_has_reached_it() {
    let conditions = ChannelConditions { tail: millis(30), delay: millis(5), ..plain() };
    let mut channel = Channel::new(conditions, 2, 0);
    channel.send(at(0), 0, Some(1), probe(0, 100));
    let mut heard = until(&mut channel, at(20));
    channel.send(at(20), 1, Some(0), probe(1, 100));
    heard.extend(rest(&mut channel));
    let begins = 100 + 30 + 5;
    assert_eq!(told(&heard), [(105, 1, 0), (begins + 105, 0, 1)]);
}

#[test]
fn two_that_begin_before_they_can_hear_each_other_collide() {
    for later in [0, 1, 4] {
        let conditions = ChannelConditions { delay: millis(5), ..plain() };
        let mut channel = Channel::new(conditions, 3, 0);
        channel.send(at(0), 0, Some(2), probe(0, 100));
        let mut heard = until(&mut channel, at(later));
        channel.send(at(later), 1, Some(2), probe(1, 100));
        heard.extend(rest(&mut channel));
        assert_eq!(told(&heard), [], "{later} ms later");
        assert_eq!(channel.counts().collided, 2);
    }
}

#[test]
fn hidden_stations_collide_where_both_are_heard() {
    let hidden = ChannelConditions { hearing: Hearing::hiding(&[(0, 1)]), ..plain() };
    let mut channel = Channel::new(hidden, 3, 0);
    channel.send(at(0), 0, Some(2), probe(0, 100));
    let mut heard = until(&mut channel, at(60));
    channel.send(at(60), 1, Some(2), probe(1, 100));
    heard.extend(rest(&mut channel));
    assert_eq!((told(&heard), channel.counts().collided), (vec![], 2));
    // One behind the other, they do not; and they do not hear each other at all.
    for (number, from) in [(2, 0), (3, 1)] {
        channel.send(at(number * 1000), from, None, probe(number, 100));
        heard.extend(rest(&mut channel));
    }
    assert_eq!(told(&heard), [(2100, 2, 2), (3100, 2, 3)]);
    assert_eq!(channel.counts().unheard, 2);
}

#[test]
fn a_key_up_spoils_what_it_overlaps_and_touching_does_not() {
    for (later, arrives) in [(99, false), (100, true)] {
        let conditions = ChannelConditions {
            key_up: millis(50),
            hearing: Hearing::hiding(&[(0, 1)]),
            ..plain()
        };
        let mut channel = Channel::new(conditions, 3, 0);
        channel.send(at(0), 0, Some(2), probe(0, 50));
        let mut heard = until(&mut channel, at(later));
        channel.send(at(later), 1, Some(2), probe(1, 50));
        heard.extend(rest(&mut channel));
        let first = if arrives { vec![(100, 2, 0)] } else { vec![] };
        let second = vec![(later + 100, 2, 1)];
        // The tail of the first is over before the second frame begins: only its key-up was in the
        // way.
        assert_eq!(told(&heard), [first, second].concat());
    }
}

#[test]
fn who_sends_hears_nothing() {
    // Station 1 does not hear 0, and sends when it likes; 0 waits for nobody, since it does not
    // hear 1 either.
    let conditions = ChannelConditions { hearing: Hearing::ALL.without(1, 0), ..plain() };
    let mut channel = Channel::new(conditions, 2, 0);
    channel.send(at(0), 0, Some(1), probe(0, 100));
    let mut heard = until(&mut channel, at(10));
    channel.send(at(10), 1, Some(0), probe(1, 20));
    heard.extend(rest(&mut channel));
    assert_eq!(told(&heard), []);
    assert_eq!((channel.counts().collided, channel.counts().unheard), (1, 1));
}

#[test]
fn stations_draw_once_a_slot() {
    let conditions = ChannelConditions { persistence: 0.25, slot: millis(100), ..plain() };
    let mut slots = [0_u64; 4];
    let trials = 4000;
    for seed in 0..trials {
        let mut channel = Channel::new(conditions.clone(), 2, seed);
        channel.send(at(0), 0, Some(1), probe(0, 10));
        let (time, ..) = told(&rest(&mut channel))[0];
        assert_eq!(time % 100, 10, "it begins with a slot");
        if let Some(slot) = slots.get_mut(time as usize / 100) {
            *slot += 1;
        }
    }
    // A geometric distribution: each slot that is reached is taken with p.
    let mut left = trials;
    for taken in slots {
        let (mean, deviation) = (left as f64 * 0.25, (left as f64 * 0.25 * 0.75).sqrt());
        assert!((taken as f64 - mean).abs() < 5.0 * deviation, "{taken} of {left}");
        left -= taken;
    }
}

/// Two stations that always have something for each other, for so long. Gives how much was
/// delivered to each.
fn busy(
    conditions: ChannelConditions,
    seed: u64,
    end: Instant,
) -> ([u64; 2], Channel<crate::channel::Probe>) {
    let mut channel = Channel::new(ChannelConditions { queue: 4, ..conditions }, 2, seed);
    let mut delivered = [0; 2];
    for now in (0..).map(|step| Instant::START + step * millis(10)).take_while(|now| *now < end) {
        for reception in until(&mut channel, now) {
            delivered[reception.station] += 100;
        }
        for from in 0..2 {
            channel.send(now, from, Some(1 - from), probe(0, 100));
        }
    }
    (delivered, channel)
}

#[test]
fn two_busy_stations_share_the_rate() {
    let conditions =
        ChannelConditions { persistence: 0.25, slot: millis(20), key_up: millis(20), ..plain() };
    for seed in 0..5 {
        let (delivered, channel) = busy(conditions.clone(), seed, at(200_000));
        let total: u64 = delivered.iter().sum();
        assert!(total < 200 * 1000, "{total} octets in 200 s");
        assert!(total > 200 * 1000 / 3, "{total} octets in 200 s");
        assert!(delivered.iter().all(|share| share * 3 > total), "{delivered:?}");
        // On the air at once they were only where they collided.
        let counts = channel.counts();
        assert!(counts.collided > 0 && counts.sent >= counts.delivered + counts.collided);
        assert_eq!(counts.octets, total);
    }
}

#[test]
fn stations_that_are_all_hidden_are_pure_aloha() {
    // Who hears nobody sends when it likes. A frame survives where no other begins within its time
    // before or after its own beginning: with a load of G frames in that time, one in e^2G.
    const STATIONS: usize = 200;
    const FRAMES: u32 = 20_000;
    for (seed, load) in [(1, 0.1), (2, 0.5), (3, 1.0)] {
        let mut hearing = Hearing::ALL;
        for listener in 1..STATIONS {
            hearing =
                (1..STATIONS).fold(hearing, |hearing, speaker| hearing.without(listener, speaker));
        }
        let mut channel = Channel::new(ChannelConditions { hearing, ..plain() }, STATIONS, seed);
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut now, mut heard) = (at(0), Vec::new());
        for _ in 0..FRAMES {
            // A Poisson process: the times between are exponential. A frame takes 0.1 s.
            now = now + Duration::from_secs_f64(-(1.0 - random.f64()).ln() * 0.1 / load);
            heard.extend(until(&mut channel, now));
            channel.send(now, random.usize(1..STATIONS), Some(0), probe(0, 100));
        }
        heard.extend(rest(&mut channel));
        let (share, expected) = (heard.len() as f64 / f64::from(FRAMES), f64::exp(-2.0 * load));
        assert!((share - expected).abs() < 0.015, "{share} of the frames survive, not {expected}");
    }
}

#[test]
fn a_station_that_never_hears_silence_never_sends() {
    let mut channel = Channel::new(plain(), 3, 0);
    // As long as 1000 s of frames wait in station 0 ...
    for number in 0..1000 {
        channel.send(at(0), 0, Some(2), probe(number, 1000));
    }
    let mut heard = until(&mut channel, at(5));
    channel.send(at(5), 1, Some(2), probe(1000, 100));
    heard.extend(rest(&mut channel));
    // ... they go in one transmission, and station 1 comes last.
    assert!(told(&heard).iter().map(|(.., number)| *number).eq(0..=1000));
}

#[test]
fn a_full_queue_and_a_long_frame_are_counted() {
    let conditions = ChannelConditions { queue: 2, mtu: Some(100), ..plain() };
    let mut channel = Channel::new(conditions, 2, 0);
    for (number, octets) in [100, 101, 100, 100].into_iter().enumerate() {
        channel.send(at(0), 0, Some(1), probe(number as u64, octets));
    }
    assert_eq!(told(&rest(&mut channel)), [(100, 1, 0), (200, 1, 2)]);
    let counts = channel.counts();
    assert_eq!(
        (counts.offered, counts.too_long, counts.dropped_at_tail, counts.sent),
        (4, 1, 1, 2)
    );
    assert_eq!(channel.packets().count(), 0);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let conditions = ChannelConditions {
        persistence: 0.25,
        slot: millis(20),
        delay: Duration::from_micros(100),
        bit_errors: 1e-3,
        ..plain()
    };
    let run = |seed| {
        let (delivered, channel) = busy(conditions.clone(), seed, at(50_000));
        (delivered, channel.counts())
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
#[should_panic(expected = "a station that never sends")]
fn a_persistence_of_nothing_is_a_bug() {
    Channel::<crate::channel::Probe>::new(ChannelConditions { persistence: 0.0, ..plain() }, 2, 0);
}
