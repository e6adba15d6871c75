//! Clocks that are hours apart and do not run alike: what is late by true time is not delivered,
//! and what is not late is.

use fastrand::Rng;
use stackwright_artp::Config;
use stackwright_contract::{Duration, Instant};
use stackwright_simulator::{Conditions, Deed, Event, Outages};
use stackwright_trial::{DriftingClock, Trial};

use crate::engine::conversation::{Conversation, Ends};
use crate::engine::setting::{any_config, bad, config, end, seeds};

/// Some day, in microseconds since 1970.
const DAY: u64 = 1_700_000_000_000_000;

const HOUR: i64 = 3_600_000_000;

/// Two clocks.
#[derive(Clone, Copy)]
struct Clocks {
    /// In microseconds since 1970, at the start of time.
    epochs: [u64; 2],
    /// In parts per million.
    drifts: [i64; 2],
}

impl Clocks {
    /// Up to an hour from the day, fast or slow by up to 100 ppm.
    fn any(random: &mut Rng) -> Self {
        Clocks {
            epochs: [0; 2].map(|_: u8| DAY.saturating_add_signed(random.i64(-HOUR..=HOUR))),
            drifts: [0; 2].map(|_: u8| random.i64(-100..=100)),
        }
    }

    fn set(self, ends: &mut Ends) {
        for side in [0, 1] {
            ends.ends[side].clock = DriftingClock { drift: self.drifts[side] };
        }
    }

    /// What the clock of `side` shows now, in microseconds since 1970.
    fn shows(self, ends: &Ends, side: usize) -> i64 {
        let now = ends.now().nanoseconds() as i64;
        self.epochs[side] as i64 + (now + now / 1_000_000 * self.drifts[side]) / 1000
    }

    /// By how much `side` is wrong about the difference of the clocks, in microseconds, where it
    /// has an opinion.
    fn error(self, ends: &Ends, side: usize) -> Option<i64> {
        let believed = ends.ends[side].association.slots().lifetime().difference()?;
        Some((believed - (self.shows(ends, side) - self.shows(ends, 1 - side))).abs())
    }
}

/// What a clock that shows microseconds cannot tell, and what two that do not run alike diverge in
/// a second.
const GRAIN: i64 = 2 + 200;

/// Every packet of the second end takes `slower` longer than every one of the first.
fn error_within_half_a_round_trip(slower: Duration) {
    let way = Duration::from_millis(10);
    for seed in seeds(30) {
        let random = &mut Rng::with_seed(seed);
        let clocks = Clocks::any(random);
        let make =
            |side| end(&Config { epoch: clocks.epochs[side], expires: true, ..config() }, side);
        let late = |nth| Event { nth, deed: Deed::Delay { by: slower } };
        let events = [Vec::new(), (0..if slower.is_zero() { 0 } else { 5000 }).map(late).collect()];
        let conditions = Conditions { delay: way, ..Conditions::IDEAL };
        let mut ends = Trial::scripted(make, &conditions, events);
        clocks.set(&mut ends);
        let conversation = Conversation {
            lifetime: Some([1000, 500_000]),
            pauses: false,
            ..Conversation::default()
        };
        // Two ways, and how long an acknowledgement is held back.
        let round_trip = (2 * way + slower).as_micros() as i64 + config().gather as i64 / 1000;
        let (mut opinions, mut greatest) = (0, 0);
        let outcome = conversation.hold(&mut ends, seed, |ends| {
            for side in [0, 1] {
                let Some(error) = clocks.error(ends, side) else { continue };
                opinions += 1;
                greatest = greatest.max(error);
                if error > round_trip / 2 + GRAIN {
                    return Err(format!("wrong by {error} µs at a round trip of {round_trip} µs"));
                }
            }
            Ok(())
        });
        assert!(outcome.is_ok() && opinions > 0, "seed {seed}: {:?}", outcome.err());
    }
}

#[test]
fn the_difference_is_wrong_by_half_a_round_trip_at_most_where_both_ways_are_equal() {
    error_within_half_a_round_trip(Duration::ZERO);
}

#[test]
fn the_difference_is_wrong_by_half_a_round_trip_at_most_where_one_way_is_ten_times_the_other() {
    error_within_half_a_round_trip(Duration::from_millis(90));
}

#[test]
fn what_is_in_time_is_delivered() {
    for seed in seeds(30) {
        let random = &mut Rng::with_seed(seed);
        let clocks = Clocks::any(random);
        let make =
            |side| end(&Config { epoch: clocks.epochs[side], expires: true, ..config() }, side);
        let conditions = Conditions { delay: Duration::from_millis(10), ..Conditions::IDEAL };
        let mut ends = Trial::new(make, &conditions, seed);
        clocks.set(&mut ends);
        // Far apart, so that none waits for the window: each has 10 ms to go, and half a second at
        // least.
        let conversation = Conversation {
            lifetime: Some([500_000, 1_000_000]),
            every: Duration::from_millis(100),
            pauses: false,
            ..Conversation::default()
        };
        let outcome = conversation.hold(&mut ends, seed, |_| Ok(()));
        let heard = outcome.map(|outcome| outcome.heard.map(|heard| heard[0] + heard[1]));
        assert_eq!(heard, Ok([20, 10]), "seed {seed}");
    }
}

/// The longest that an outage lasts, in seconds.
const OUTAGE_MOST: u64 = 600;

/// What is wished for a while only is gone when the link was down for longer, and everything else
/// arrives soon after it is up.
#[test]
fn after_an_outage_what_expired_is_gone_and_the_rest_goes_on() {
    for seed in seeds(20) {
        let random = &mut Rng::with_seed(!seed);
        let clocks = Clocks::any(random);
        let configs = clocks.epochs.map(|epoch| Config {
            epoch,
            expires: true,
            silence: 2 * OUTAGE_MOST * 1_000_000_000,
            // One of ten thousand is not open yet when the link goes down: it is asked for until it
            // is up again.
            tries: OUTAGE_MOST as u32,
            ..any_config(random)
        });
        let begin = Instant::from_nanoseconds(random.u64(6_000_000_000..9_000_000_000));
        let outage = Duration::from_millis(random.u64(1000..1000 * OUTAGE_MOST));
        let outages = Outages::Spans(vec![begin..begin + outage]);
        let mut ends = Trial::new(
            |side| end(&configs[side], side),
            &Conditions { outages, ..bad(seed) },
            seed,
        );
        clocks.set(&mut ends);
        let count = 40 + outage.as_secs() as u32;
        let conversation = Conversation {
            counts: [count, count / 2],
            longest: 1000,
            lifetime: Some([10_000, 2_000_000]),
            every: Duration::from_millis(1000),
            pauses: false,
            // A timeout may have grown to a twelfth of the silence, 100 s, and the packet after it
            // may be lost, too.
            limit: outage + Duration::from_secs(600),
            ..Conversation::default()
        };
        let mut wrong_most = 0;
        let outcome = conversation.hold(&mut ends, seed, |ends| {
            let wrong = [0, 1].map(|side| clocks.error(ends, side).unwrap_or(0));
            wrong_most = wrong_most.max(wrong[0]).max(wrong[1]);
            Ok(())
        });
        let late = match outcome {
            Ok(outcome) => outcome.late_most,
            Err(failure) => panic!("seed {seed}, {outage:?}: {failure}"),
        };
        assert!(late <= wrong_most + GRAIN, "seed {seed}: {late} µs late, {wrong_most} µs wrong");
    }
}

#[test]
fn an_acknowledgement_that_took_long_spoils_nothing_that_is_known_of_the_peers_clock() {
    for seed in seeds(50) {
        let random = &mut Rng::with_seed(seed);
        let clocks = Clocks::any(random);
        let make =
            |side| end(&Config { epoch: clocks.epochs[side], expires: true, ..config() }, side);
        // Late all together: none is overtaken, nor sent twice.
        let late = |nth| Event { nth, deed: Deed::Delay { by: Duration::from_millis(40) } };
        let conditions = Conditions { delay: Duration::from_millis(1), ..Conditions::IDEAL };
        let mut ends =
            Trial::scripted(make, &conditions, [(20..60).map(late).collect(), Vec::new()]);
        clocks.set(&mut ends);
        let conversation = Conversation {
            lifetime: Some([500_000, 1_000_000]),
            every: Duration::from_millis(1),
            pauses: false,
            ..Conversation::default()
        };
        let most = 1000 + config().gather as i64 / 2000 + GRAIN;
        let outcome = conversation.hold(&mut ends, seed, |ends| match clocks.error(ends, 0) {
            Some(error) if error > most => {
                Err(format!("wrong by {error} µs, and {most} are the most"))
            }
            _ => Ok(()),
        });
        assert!(outcome.is_ok(), "seed {seed}: {:?}", outcome.err());
    }
}
