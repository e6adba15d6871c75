//! Associations on bad links: what a configuration promises is kept. `SEEDS=10 cargo test
//! --release -p stackwright-tailored talks` tries 2000 seeds of each.

use stackwright_contract::Duration;
use stackwright_policies::profile::{Bounds, PolicyValues};
use stackwright_simulator::{Conditions, Deed, Event};
use stackwright_tailored::configurations::{
    AnyOrder, BestEffort, DedicatedLine, InOrder, LatestOnly, Selective, WholeWindow,
};
use stackwright_tailored::{
    Config, Demand, Named, Planned, TailoredHost, TailoredKey, Tailoring, demand,
};
use stackwright_transport::slots::Rtt as _;
use stackwright_transport::words::SECOND;
use stackwright_transport::{Configuration, Slots};
use stackwright_trial::setting::{M, bad, pass_narrow_paths, seeds};
use stackwright_trial::{Promise, Talk, Trial};

/// Short packets, so that messages have several; the peers are patient.
const PACKET: u16 = 600;
const BOUNDS: Bounds =
    Bounds { window: 64, silence: 120 * SECOND, linger: 600 * SECOND, ..Bounds::DEFAULT };

fn config(side: usize) -> Config {
    Config { packet: PACKET, ..Config::new([side as u8; 16]) }
}

/// What these services demand.
fn demanded(services: &str) -> Demand {
    let services: Vec<(&str, Vec<&str>)> = services
        .split(';')
        .map(str::trim)
        .map(|service| match service.split_once('(') {
            None => (service, Vec::new()),
            Some((name, rest)) => {
                (name, rest.trim_end_matches(')').split(',').map(str::trim).collect())
            }
        })
        .collect();
    demand(services.iter().map(|(name, arguments)| (*name, &arguments[..]))).expect(services[0].0)
}

/// One end of a configuration that is named; the first opens.
fn named<C: Configuration<Message = M>>(services: &str) -> impl Fn(usize) -> Slots<C>
where
    Named<C>: Tailoring<Configuration = C, Message = M>,
    C::Integrity: stackwright_policies::profile::FromValues,
{
    let plan = demanded(services).plan().expect("it can be met");
    // The types are those that the plan selects.
    for choice in plan.choices() {
        let place = stackwright_transport::SLOTS.iter().position(|slot| *slot == choice.slot);
        assert_eq!(C::PARTS[place.expect("a slot")].name, choice.name, "{services}");
    }
    let values = PolicyValues { bounds: BOUNDS, ..plan.values(&BOUNDS) };
    move |side| ends(Named::<C>::new(values), side)
}

/// One end of what a plan selects.
fn planned(services: &str) -> impl Fn(usize) -> Slots<<Planned<M> as Tailoring>::Configuration> {
    let plan = demanded(services).plan().expect("it can be met");
    move |side| ends(Planned::new(plan.clone(), &BOUNDS).expect("they fit"), side)
}

fn ends<T: Tailoring<Message = M>>(tailoring: T, side: usize) -> Slots<T::Configuration> {
    with(tailoring, config(side), side)
}

fn with<T: Tailoring<Message = M>>(
    tailoring: T,
    config: Config,
    side: usize,
) -> Slots<T::Configuration> {
    let key = TailoredKey { ours: side == 0, number: 7 };
    TailoredHost::new(tailoring, config).association(key, 0x1234_5678)
}

const ANY_ORDER: &str = "reliable; flow_control(256); checksum(internet); open(implicit)";
const IN_ORDER: &str = "reliable; ordered; flow_control(256); checksum(internet); open(implicit)";
const SELECTIVE: &str = "reliable; unordered; selective_retransmission; congestion(bbr); \
                         flow_control(256); checksum(crc32c, full); alf; open(implicit)";
const DEDICATED: &str = "reliable; nak; dedicated(125000); flow_control(256); checksum(crc32c)";
const WHOLE_WINDOW: &str = "reliable; ordered; go_back_n; dedicated(125000); checksum(internet)";
const LATEST: &str = "rising; checksum(internet); open(implicit)";
const BEST_EFFORT: &str = "rate(125000); checksum(internet); open(implicit)";

/// One end of what a plan selects, with packets of the usual length.
fn long(services: &str) -> impl Fn(usize) -> Slots<<Planned<M> as Tailoring>::Configuration> {
    let plan = demanded(services).plan().expect("it can be met");
    let config = |side| Config::new([side as u8; 16]);
    move |side| with(Planned::new(plan.clone(), &BOUNDS).expect("they fit"), config(side), side)
}

#[test]
fn everything_arrives_over_a_path_that_drops_long_packets() {
    for services in [ANY_ORDER, SELECTIVE, DEDICATED] {
        pass_narrow_paths(long(services), Promise::Once);
    }
    for services in [IN_ORDER, WHOLE_WINDOW] {
        pass_narrow_paths(long(services), Promise::InOrder);
    }
}

fn talks<C: Configuration<Message = M>>(make: impl Fn(usize) -> Slots<C>, promise: Promise) {
    for seed in seeds(200) {
        let mut trial = Trial::new(&make, &bad(seed), seed);
        let talk =
            Talk { there: 16, back: seed % 2 * 12, longest: 3000, promise, ..Talk::default() };
        let outcome = trial.talk(&talk, seed, |_, _| {});
        assert!(outcome.is_ok(), "seed {seed}: {outcome:?}, {:?}", trial.reasons());
    }
}

/// Nothing is answered: there is one direction, and the end may be lost.
fn speaks<C: Configuration<Message = M>>(make: impl Fn(usize) -> Slots<C>, promise: Promise) {
    let mut delivered = 0;
    for seed in seeds(200) {
        let mut trial = Trial::new(&make, &bad(seed), seed);
        let talk = Talk { there: 24, back: 0, longest: 1500, promise, ..Talk::default() };
        let outcome = trial.talk(&talk, seed, |_, _| {});
        delivered += outcome.unwrap_or_else(|why| panic!("seed {seed}: {why}")).delivered;
    }
    assert!(delivered > 0, "something arrives");
}

/// Whichever packet of the first 64 is lost, doubled, late or altered, in either direction,
/// everything arrives.
fn survives<C: Configuration<Message = M>>(make: impl Fn(usize) -> Slots<C>, promise: Promise) {
    let conditions = Conditions { delay: Duration::from_millis(10), ..Conditions::IDEAL };
    for nth in 0..64 {
        let by = Duration::from_millis(35);
        let bit = 77 * nth;
        for deed in [Deed::Lose, Deed::Duplicate { by }, Deed::HoldBack { by }, Deed::Alter { bit }]
        {
            for side in 0..2 {
                let mut events = [Vec::new(), Vec::new()];
                events[side].push(Event { nth, deed });
                let mut trial = Trial::scripted(&make, &conditions, events);
                let talk = Talk { there: 40, back: 12, longest: 2000, promise, ..Talk::default() };
                let outcome = trial.talk(&talk, nth, |_, _| {});
                assert!(outcome.is_ok(), "packet {nth} of {side}, {deed:?}: {outcome:?}");
            }
        }
    }
}

#[test]
fn any_order() {
    talks(named::<AnyOrder<M>>(ANY_ORDER), Promise::Once);
    survives(named::<AnyOrder<M>>(ANY_ORDER), Promise::Once);
}

#[test]
fn in_order() {
    talks(named::<InOrder<M>>(IN_ORDER), Promise::InOrder);
    survives(named::<InOrder<M>>(IN_ORDER), Promise::InOrder);
}

#[test]
fn selective() {
    talks(named::<Selective<M>>(SELECTIVE), Promise::Once);
    survives(named::<Selective<M>>(SELECTIVE), Promise::Once);
}

#[test]
fn dedicated_line() {
    talks(named::<DedicatedLine<M>>(DEDICATED), Promise::Once);
    survives(named::<DedicatedLine<M>>(DEDICATED), Promise::Once);
}

#[test]
fn whole_window() {
    talks(named::<WholeWindow<M>>(WHOLE_WINDOW), Promise::InOrder);
    survives(named::<WholeWindow<M>>(WHOLE_WINDOW), Promise::InOrder);
}

#[test]
fn latest_only() {
    speaks(named::<LatestOnly<M>>(LATEST), Promise::Rising);
}

#[test]
fn best_effort() {
    speaks(named::<BestEffort<M>>(BEST_EFFORT), Promise::AtMostOnce);
}

/// Where only the tail of a burst is asked about, acknowledgements tell the round trip: a sender
/// that goes on without a pause knows it, too.
#[test]
fn a_sender_that_never_asks_knows_the_round_trip() {
    let delay = Duration::from_millis(40);
    let conditions = Conditions { delay, ..Conditions::IDEAL };
    let mut trial = Trial::new(named::<Selective<M>>(SELECTIVE), &conditions, 1);
    let now = trial.now();
    trial.ends[0].open(now);
    for _ in 0..200 {
        let now = trial.now();
        trial.ends[0].send(now, &[7; 400], Default::default());
        trial.pass(now + Duration::from_millis(1));
    }
    let estimate = trial.ends[0].association.slots().rtt().estimate();
    assert!((80_000_000..120_000_000).contains(&estimate.smoothed), "{estimate:?}");
}

/// What a plan boxes puts the same on the wire, at the same time, as what a program names.
#[test]
fn a_plan_and_a_name_have_the_same_trace() {
    for seed in 0..20 {
        let talk = Talk { there: 16, back: 12, longest: 3000, ..Talk::default() };
        let one = Trial::new(named::<Selective<M>>(SELECTIVE), &bad(seed), seed);
        let other = Trial::new(planned(SELECTIVE), &bad(seed), seed);
        let (mut one, mut other) = (one, other);
        let traces = (one.talk(&talk, seed, |_, _| {}), other.talk(&talk, seed, |_, _| {}));
        assert!(traces.0.is_ok(), "seed {seed}: {traces:?}");
        assert_eq!(traces.0, traces.1, "seed {seed}");
    }
}
