//! Two to five stations, with all that a channel, a TNC and an application do to each other.

use std::panic::catch_unwind;

use fastrand::Rng;
use stackwright_ax25::{Config, FrameLength, LinkVersion};
use stackwright_contract::services::{Ended, StreamsRequest};
use stackwright_contract::{Duration, Instant};
use stackwright_simulator::{ChannelConditions, Hearing, seeds};

use crate::simulated::air::{Air, Fate, call, name, station};
use crate::simulated::exchange::radio;
use crate::simulated::talk::{End, check, data};

/// How long faults happen, and how long everything may take after that.
const FAULTS: Duration = Duration::from_secs(600);
const LIMIT: Duration = Duration::from_secs(4 * 3600);

struct Pair {
    ends: [End; 2],
    /// Ended from above before its time, or the TNC went.
    disturbed: bool,
}

fn conditions(random: &mut Rng, stations: usize) -> ChannelConditions {
    let fast = random.bool();
    let mut conditions = radio(if fast { "packet-radio-9600" } else { "packet-radio-1200" });
    conditions.bit_errors = [0.0, 0.0, 1e-4, 5e-4, 1e-3][random.usize(..5)];
    if stations > 2 && random.bool() {
        // The last two do not hear one another.
        conditions.hearing = Hearing::hiding(&[(stations - 2, stations - 1)]);
    }
    conditions
}

fn config(random: &mut Rng, number: usize, rate: u32) -> Config {
    let version = [LinkVersion::Auto, LinkVersion::Auto, LinkVersion::V20, LinkVersion::V22]
        [random.usize(..4)];
    let frame = match random.usize(..3) {
        0 => FrameLength::Fixed([16, 64, 256][random.usize(..3)]),
        _ => FrameLength::Adaptive,
    };
    Config {
        version,
        frame,
        rate,
        window: random.u8(1..8),
        window_extended: [1, 4, 32, 63][random.usize(..4)],
        buffer: [300, 2000, 8192][random.usize(..3)],
        access: Duration::from_millis(if rate > 5000 { 300 } else { 900 }),
        aliases: (1..5).map(|alias| call(&format!("N{number}CALL-{alias}"))).collect(),
        ..Config::new(call(&format!("N{number}CALL")))
    }
}

/// Returns how many octets arrived.
fn run(seed: u64) -> usize {
    let mut random = Rng::with_seed(seed);
    let count = random.usize(2..6);
    let conditions = conditions(&mut random, count);
    let rate = conditions.rate as u32 * 8;
    let configs = (0..count).map(|number| config(&mut random, number, rate)).collect();
    // One in six keeps to a share of the time.
    let duties: Vec<_> =
        (0..count).map(|_| (random.u8(..6) == 0).then(|| random.u8(3..60))).collect();
    let mut air = Air::ruled(conditions, configs, seed, |station| duties[station]);
    air.says_left = random.u8(..4) > 0;
    let faulty = [0, 0, 3, 10, 25][random.usize(..5)];
    for frame in 0..2000 {
        if random.u64(..100) < faulty {
            let fate = [Fate::Lost, Fate::Doubled, Fate::Altered][random.usize(..3)];
            air.fates.insert(frame, fate);
        }
    }
    // Each of the others has a stream with the first, or with the one before it.
    let mut pairs = Vec::new();
    for number in 1..count {
        let to = if random.bool() { 0 } else { number - 1 };
        let index = number as u32;
        let mut ends = [(number, 1), (to, 2)].map(|(station, salt)| {
            let length = [0, 1, 100, 3000][random.usize(..4)];
            let mut end = End::new(station, index, data(length, salt + 16 * number as u8));
            end.room = [1, 100, 1000, 1 << 16][random.usize(..4)];
            end
        });
        // At least one finishes, or the other does nothing for ever.
        let finishes = random.usize(..3);
        ends[0].finishes = finishes != 1;
        ends[1].finishes = finishes != 0;
        // Each has a call sign of its own there, so that it is known who arrives.
        ends[1].listen(&mut air, &format!("N{to}CALL-{number}"));
        pairs.push(Pair { ends, disturbed: false });
    }
    for Pair { ends: [one, other], .. } in &pairs {
        one.open(&mut air, station(&format!("N{}CALL-{}", other.station, one.station)));
    }
    let mischief = random.u8(..4) == 0;
    let mut next = Instant::START;
    let done = air.run_until(LIMIT, |air| {
        for pair in &mut pairs {
            pair.ends[0].turn(air);
            pair.ends[1].turn(air);
        }
        for Pair { ends: [one, other], .. } in &pairs {
            check(one, other);
            check(other, one);
        }
        let now = air.now();
        if mischief && now >= next && now < Instant::START + FAULTS {
            next = now + Duration::from_secs(random.u64(1..120));
            disturb(air, &mut random, &mut pairs);
        }
        pairs.iter().all(|pair| {
            let [one, other] = &pair.ends;
            // A name that nobody arrived for waits for ever.
            one.ended.is_some() && (other.ended.is_some() || !other.opened)
        })
    });
    let say = || {
        format!(
            "seed {seed} at {:?}: {:?}",
            air.now(),
            pairs
                .iter()
                .map(|pair| &pair.ends)
                .map(|ends| ends.each_ref().map(brief))
                .collect::<Vec<_>>()
        )
    };
    if !done && std::env::var("SHOW").is_ok() {
        for there in &air.stations {
            println!("{} {:?}", there.call, there.stack.upper.links().collect::<Vec<_>>());
            for sent in there.sent.iter().rev().take(12) {
                println!("    {sent:02x?}");
            }
        }
    }
    assert!(done, "{}", say());
    let mut octets = 0;
    for Pair { ends: [one, other], disturbed } in &pairs {
        if one.opened && other.opened && !disturbed {
            let kept = |from: &End, to: &End| {
                from.ended != Some(Ended::Finished) || !from.finishes || to.received == from.data
            };
            assert!(kept(one, other) && kept(other, one), "a promise was broken: {}", say());
        }
        octets += one.received.len() + other.received.len();
    }
    octets
}

fn brief(end: &End) -> String {
    format!(
        "{}/{}: {} sent, {} acknowledged, {} received, {:?}, {:?}",
        end.station,
        end.index,
        end.data.len(),
        end.acknowledged,
        end.received.len(),
        end.opened,
        end.ended
    )
}

fn disturb(air: &mut Air, random: &mut Rng, pairs: &mut [Pair]) {
    let pair = random.usize(..pairs.len());
    let pair = &mut pairs[pair];
    let end = random.usize(..2);
    let end = &mut pair.ends[end];
    let (station, association) = (end.station, name(end.index));
    if end.ended.is_some() {
        return;
    }
    match random.u8(..3) {
        0 => {
            air.set_up(station, false);
            air.set_up(station, true);
            return;
        }
        1 => air.ask_stream(station, StreamsRequest::Abort { association, code: 7 }),
        _ => air.ask_stream(station, StreamsRequest::Close { name: association }),
    }
    pair.disturbed = true;
}

/// Every second seed, so that both halves run at once.
fn half(half: u64) {
    let seen = |seed| catch_unwind(|| run(seed)).unwrap_or_else(|_| panic!("with the seed {seed}"));
    let seeds = seeds(400).filter(|seed| seed % 2 == half);
    let (count, octets) =
        seeds.fold((0, 0), |(count, octets), seed| (count + 1, octets + seen(seed)));
    println!("{octets} octets with {count} seeds");
    assert!(octets > 1000 * count || count < 100);
}

#[test]
fn octets_arrive_or_the_end_is_told_with_even_seeds() {
    half(0);
}

#[test]
fn octets_arrive_or_the_end_is_told_with_odd_seeds() {
    half(1);
}
