//! Plans whose services change while data flow.

use fastrand::Rng;
use stackwright_contract::services::MessageProperties;
use stackwright_contract::{Guarantees, PhaseRule};
use stackwright_policies::profile::{Plan, PolicyValues};
use stackwright_policies::switching::{InPhases, Negotiated, PlannedSwitching};
use stackwright_simulator::Conditions;
use stackwright_tailored::configurations::{AnyOrder, Phased};
use stackwright_tailored::header::TailoredHeader;
use stackwright_tailored::{
    Config, Demand, Named, Planned, TailoredHost, TailoredKey, Tailoring, demand,
};
use stackwright_transport::configuration;
use stackwright_transport::{Association, Boxed, Configuration, SLOTS, Slots};
use stackwright_trial::Trial;
use stackwright_trial::setting::{M, bad, seeds};

configuration! {
    /// What is lost is sent again a few times in some phases, and congestion control fits the path.
    Fitting<M> like AnyOrder {
        Ordering: stackwright_policies::ordering::ByEpoch<M>,
        Recovery: stackwright_policies::recovery::LimitedRetransmissions<
            stackwright_policies::recovery::RackTlp,
        >,
        Congestion: stackwright_policies::congestion::Fitted,
    } switching [Negotiated]
}

const IN_ORDER: &[(&str, &[&str])] =
    &[("reliable", &[]), ("ordered", &[]), ("flow_control", &["64"]), ("checksum", &["internet"])];
const ANY_ORDER: &[(&str, &[&str])] =
    &[("reliable", &[]), ("flow_control", &["64"]), ("checksum", &["internet"])];
const FEW_TRIES: &[(&str, &[&str])] = &[
    ("reliable", &[]),
    ("resends", &["2"]),
    ("flow_control", &["64"]),
    ("checksum", &["internet"]),
];

fn demanded(services: &[(&'static str, &'static [&'static str])], fenced: bool) -> (Demand, bool) {
    (demand(services.iter().copied()).expect("there are such services"), fenced)
}

fn phased() -> Demand {
    Demand::in_phases(&[demanded(IN_ORDER, false), demanded(ANY_ORDER, true)]).expect("two phases")
}

fn negotiated() -> Demand {
    let phases = [demanded(IN_ORDER, false), demanded(ANY_ORDER, true), demanded(FEW_TRIES, false)];
    Demand::negotiated(&phases).expect("three phases")
}

fn planned(demand: &Demand) -> (Plan, Planned<M, PlannedSwitching>) {
    let plan = demand.plan().expect("it can be met");
    let planned = Planned::new(plan.clone(), &demand.bounds).expect("it fits");
    (plan, planned)
}

fn ends<T: Tailoring<Message = M>>(
    tailoring: impl Fn() -> T,
) -> impl Fn(usize) -> Slots<T::Configuration> {
    move |side| {
        let config = Config { packet: 600, ..Config::new([side as u8; 16]) };
        let key = TailoredKey { ours: side == 0, number: 7 };
        TailoredHost::new(tailoring(), config).association(key, 9)
    }
}

/// Sends by one rule or phase after the other over a bad link, and returns each packet that left.
fn packets<C>(make: impl Fn(usize) -> Slots<C>, seed: u64, negotiates: bool) -> Vec<Vec<u8>>
where
    C: Configuration<Message = M>,
{
    let (mut trial, mut random) = (Trial::new(make, &bad(seed), seed), Rng::with_seed(seed));
    let (mut packets, mut arrived) = (Vec::new(), 0);
    let now = trial.now();
    trial.ends[0].open(now);
    for nth in 0..60_u8 {
        let now = trial.now();
        let ordered = nth % 2 == 0;
        let rule = PhaseRule { ordered, fenced: !ordered, resends: None };
        let association = &mut trial.ends[0].association;
        if negotiates {
            association.require(now, rule);
        } else {
            assert!(association.enter(u8::from(!ordered)));
        }
        trial.ends[0].send(now, &[nth; 40], MessageProperties::default());
        for _ in 0..random.u8(..8) {
            trial.speak(|_, side, octets| packets.push([&[side as u8][..], octets].concat()));
            trial.step();
            let now = trial.now();
            arrived += std::iter::from_fn(|| trial.ends[1].take(now)).count();
        }
    }
    while arrived < 60 {
        trial.speak(|_, side, octets| packets.push([&[side as u8][..], octets].concat()));
        assert!(trial.step(), "seed {seed}: it stands still");
        let now = trial.now();
        arrived += std::iter::from_fn(|| trial.ends[1].take(now)).count();
    }
    packets
}

#[test]
fn a_plan_sends_the_packets_of_the_configuration_that_is_named() {
    for (demand, negotiates) in [(phased(), false), (negotiated(), true)] {
        let plan = demand.plan().expect("it can be met");
        let parts = if negotiates { Fitting::<M>::PARTS } else { Phased::<M>::PARTS };
        let names = parts.iter().map(|part| part.name);
        assert!(names.eq(planned(&demand).1.facts().iter().map(|part| part.name)));
        let values: PolicyValues = plan.values(&demand.bounds);
        for seed in seeds(10) {
            let of_plan = packets(ends(|| planned(&demand).1), seed, negotiates);
            let named = match negotiates {
                true => packets(ends(|| Named::<Fitting<M>>::new(values)), seed, true),
                false => packets(ends(|| Named::<Phased<M>>::new(values)), seed, false),
            };
            assert_eq!(of_plan, named, "seed {seed}");
        }
    }
}

/// A plan without phases is what it is without the choice, and the choice is said of the others.
#[test]
fn a_plan_says_whether_it_switches() {
    let (plan, switching) = planned(&phased());
    assert!(switching.gives().has(Guarantees::PHASES) && !switching.negotiates());
    assert_eq!(switching.facts().len(), SLOTS.len() + 1);
    assert!(Planned::<M>::new(plan, &phased().bounds).is_err(), "it has no switching");
    assert!(planned(&negotiated()).1.negotiates());
    let (alone, _) = demanded(IN_ORDER, false);
    let (plan, unswitched) = planned(&alone);
    assert!(!unswitched.switches() && !unswitched.gives().has(Guarantees::PHASES));
    let boxed = || Planned::<M>::new(plan.clone(), &alone.bounds).expect("it fits");
    assert_eq!(boxed().facts().len(), SLOTS.len());
    let make = |side| ends(|| planned(&alone).1)(side);
    let (one, other) = (first_packet(make), first_packet(ends(boxed)));
    assert_eq!(one, other);
}

/// Returns the first packet that an end sends which has no phases.
fn first_packet<C>(make: impl Fn(usize) -> Slots<C>) -> Vec<u8>
where
    C: Configuration<Message = M>,
{
    let (mut trial, mut first) = (Trial::new(make, &Conditions::IDEAL, 1), Vec::new());
    assert!(!trial.ends[0].association.enter(0), "there is no phase");
    let now = trial.now();
    trial.ends[0].open(now);
    trial.ends[0].send(now, &[0; 40], MessageProperties::default());
    trial.speak(|_, _, octets| first.extend_from_slice(octets));
    assert!(!first.is_empty());
    first
}

/// What switches is paid for by what does: thirteen boxes, and their facts.
#[test]
fn an_association_that_cannot_switch_is_not_larger() {
    type Unswitched = Boxed<M, TailoredHeader>;
    let size = size_of::<Slots<Unswitched>>();
    assert_eq!(size, SLOTS.len() * size_of::<Box<[u8]>>() + size_of::<Box<u8>>());
    let switching = size_of::<Association<Boxed<M, TailoredHeader, PlannedSwitching>>>();
    let unswitched = size_of::<Association<Unswitched>>();
    assert_eq!(switching - unswitched, size_of::<PlannedSwitching>());
    let named = size_of::<Slots<Phased<M>>>() - size_of::<Slots<AnyOrder<M>>>();
    assert!(named >= size_of::<InPhases>());
    assert!(size_of::<PlannedSwitching>() < 2 * size_of::<InPhases>());
}
