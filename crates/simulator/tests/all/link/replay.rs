//! A run's log, as a script, gives the same run.

use stackwright_contract::Duration;
use stackwright_simulator::{
    Conditions, Deed, DelayStep, Discipline, EcnTreatment, Event, GilbertElliott, Link, LinkStep,
    Loss, Outages, Passes, Policer, Queue, Reorder, StepLength, SteppedDelay,
};

use crate::link::{arrivals, at, millis};

/// Everything that a link can do, by chance.
fn any_conditions(random: &mut fastrand::Rng) -> Conditions {
    let discipline = if random.bool() { Discipline::DropTail } else { Discipline::CODEL };
    let octets = random.bool().then(|| random.u64(0..20_000));
    let packets = random.bool().then(|| random.usize(0..50));
    let model =
        GilbertElliott { p: random.f64() / 10.0, r: random.f64(), good: 0.01, bad: random.f64() };
    let losses = [
        Loss::None,
        Loss::Bernoulli(random.f64() / 4.0),
        Loss::GilbertElliott(model),
        Loss::Every(random.u64(2..20)),
        Loss::Listed((0..20).map(|_| random.u64(..500)).collect()),
    ];
    let passes =
        Passes { period: millis(300), length: millis(200), first: millis(random.u64(..100)) };
    let outages = [
        Outages::None,
        Outages::Passes(passes),
        Outages::Spans(vec![at(100_000_000)..at(250_000_000)]),
    ];
    Conditions {
        rate: random.bool().then(|| random.u64(10_000..1_000_000)),
        overhead: random.usize(..40),
        mtu: random.bool().then_some(1000),
        steps: vec![LinkStep {
            at: millis(random.u64(..200)),
            rate: random.bool().then(|| random.u64(10_000..1_000_000)),
            mtu: random.bool().then_some(900),
            ecn: random.bool().then_some(EcnTreatment::Bleach),
            loss: random.bool().then_some(0.1),
        }]
        .into(),
        ecn: if random.bool() { EcnTreatment::Keep } else { EcnTreatment::MarkAll },
        policer: random.bool().then(|| Policer { rate: 500_000, burst: random.usize(..50_000) }),
        queue: Queue { octets, packets, discipline },
        delay: millis(random.u64(..50)),
        delay_steps: vec![
            DelayStep {
                at: millis(random.u64(..200)),
                delay: SteppedDelay::Added(millis(random.u64(..50))),
                lasts: StepLength::Packets(random.u64(1..50)),
            },
            DelayStep {
                at: millis(random.u64(..200)),
                delay: SteppedDelay::Exactly(millis(random.u64(..50))),
                lasts: StepLength::Time(millis(random.u64(1..50))),
            },
        ]
        .into(),
        jitter: millis(random.u64(..20)),
        keeps_order: random.bool(),
        reorder: Reorder { probability: random.f64() / 10.0, by: millis(random.u64(..30)) },
        loss: random.choice(losses).expect("one of them"),
        duplicate: random.f64() / 10.0,
        corrupt: random.f64() / 10.0,
        bit_errors: random.f64() / 1000.0,
        outages: random.choice(outages).expect("one of them"),
    }
}

#[test]
fn the_log_of_any_run_replays_it() {
    let mut deeds = 0;
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let conditions = any_conditions(&mut random);
        let mut drawn = Link::new(conditions.clone(), seed);
        drawn.keep_log();
        let mut sizes = random.clone();
        let first = run(&mut drawn, &mut random);
        let mut scripted = Link::scripted(conditions, drawn.log().to_vec());
        scripted.keep_log();
        assert_eq!(run(&mut scripted, &mut sizes), first, "seed {seed}");
        assert_eq!(scripted.log(), drawn.log(), "seed {seed}");
        assert_eq!(scripted.counts(), drawn.counts(), "seed {seed}");
        deeds += drawn.log().len();
    }
    assert!(deeds > 10_000, "much happened");
}

/// Packets of any size at any time, among them a stream's segments.
fn run(link: &mut Link, random: &mut fastrand::Rng) -> Vec<String> {
    let mut now = at(0);
    let mut arrived = Vec::new();
    for number in 0..500 {
        now = now + Duration::from_micros(random.u64(..2000));
        let octets = random.usize(1..1100);
        if random.u8(..10) == 0 {
            arrived.push(format!("{:?}", link.carry_surely(now, octets)));
        } else {
            arrived.push(format!("{:?}", link.carry(now, crate::link::Probe::new(number, octets))));
        }
    }
    arrived
}

#[test]
fn a_script_does_exactly_what_it_says() {
    let by = millis(3);
    let events = [
        (4, Deed::Alter { bit: 17 }),
        (1, Deed::Lose),
        (2, Deed::Duplicate { by }),
        (3, Deed::Delay { by }),
        (4, Deed::HoldBack { by }),
    ];
    let events = events.map(|(nth, deed)| Event { nth, deed });
    // A script knows no chances, whatever the conditions say.
    let noisy =
        Conditions { loss: 1.0.into(), corrupt: 1.0, jitter: millis(50), ..Conditions::IDEAL };
    let mut link = Link::scripted(noisy, events.to_vec());
    let arrived = arrivals(&mut link, 6, 10, millis(1));
    let told = arrived
        .iter()
        .map(|(time, probe)| (probe.number, time.nanoseconds() / 1_000_000, &probe.altered[..]));
    let expected: [(u64, u64, &[u64]); 6] =
        [(0, 0, &[]), (2, 2, &[]), (2, 5, &[]), (3, 6, &[]), (4, 7, &[17]), (5, 5, &[])];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

#[test]
fn what_was_to_befall_a_dropped_packet_befalls_no_other() {
    let short = Conditions { mtu: Some(100), ..Conditions::IDEAL };
    let mut link = Link::scripted(short, vec![Event { nth: 0, deed: Deed::Lose }]);
    assert_eq!(arrivals(&mut link, 1, 101, millis(1)).len(), 0);
    assert_eq!(arrivals(&mut link, 1, 100, millis(1)).len(), 1);
    assert_eq!((link.counts().too_long, link.counts().lost), (1, 0));
}

#[test]
fn nothing_is_logged_unasked_or_where_nothing_happens() {
    let lossy = Conditions { loss: Loss::Every(10), delay: millis(5), ..Conditions::IDEAL };
    let mut link = Link::new(lossy, 0);
    arrivals(&mut link, 100, 10, millis(1));
    assert_eq!(link.log(), []);
    link.keep_log();
    arrivals(&mut link, 20, 10, millis(1));
    assert_eq!(link.log(), [109, 119].map(|nth| Event { nth, deed: Deed::Lose }));
}
