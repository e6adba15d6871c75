//! Transports that were planned from requirements, in ARTP's packets.

use stackwright_artp::header::Packet;
use stackwright_artp::{Config, Format, Secrets};
use stackwright_policies::profile::{Bounds, DeliveryOrder, Path, Plan, Requirements, Unmet, plan};
use stackwright_transport::rules::{Component, Property};
use stackwright_transport::{Boxed, IntoPart, Slots};
use stackwright_trial::{Promise, Talk, Trial};
use stackwright_wire::BufferTree;

use crate::engine::setting::{bad, config, seeds};

type M = BufferTree;

const CARRIES: Property = <Format<M> as Component>::FACTS.gives;

fn planned(plan: &Plan, side: usize) -> Slots<Boxed<M, Packet>> {
    let nonce = 0x1234_5678 * (side as u64 + 1);
    let config = Config { expires: plan.requirements().expires, ..config() };
    let format: Format<M> = Format::new(
        5,
        &config,
        Secrets { first: 7, nonce, salt: [side as u8; 16], reset: [side as u8; 16] },
    );
    plan.build(format.part(), &Bounds::default()).expect("the plan was made for this format")
}

/// The names of what was chosen.
fn names(requirements: &Requirements, path: &Path) -> Vec<&'static str> {
    plan(requirements, path, CARRIES)
        .expect("it can be met")
        .choices()
        .map(|choice| choice.name)
        .collect()
}

#[test]
fn a_plan_keeps_what_was_wished() {
    let path = Path { packet: 600, ..Path::default() };
    let requirements = Requirements::default();
    let plan = plan(&requirements, &path, CARRIES).expect("ARTP can do that");
    for seed in seeds(60) {
        let mut trial = Trial::new(|side| planned(&plan, side), &bad(seed), seed);
        let outcome =
            trial.talk(&Talk { promise: Promise::Once, ..Talk::default() }, seed, |_, _| {});
        assert!(outcome.is_ok(), "seed {seed}: {outcome:?}");
    }
}

#[test]
fn paths_and_wishes_choose() {
    let net = names(&Requirements::default(), &Path::default());
    assert!(net.contains(&"congestion by CUBIC") && net.contains(&"rate as told"));
    let lossy = names(&Requirements::default(), &Path { loss: Some(10), ..Path::default() });
    assert!(lossy.contains(&"congestion by BBR") && lossy.contains(&"rate as told"));
    let much =
        names(&Requirements { throughput: true, ..Requirements::default() }, &Path::default());
    assert!(much.contains(&"congestion by BBR"), "nobody knows why it loses: {much:?}");
    let line = names(&Requirements::default(), &Path::line(1200, 255));
    assert!(line.contains(&"congestion absent") && line.contains(&"rate paced"));
    let late = Requirements { reliable: false, expires: true, ..Requirements::default() };
    let late = names(&late, &Path::default());
    assert!(
        late.contains(&"recovery absent") && late.contains(&"lifetime by timestamps"),
        "{late:?}"
    );
}

#[test]
fn what_cannot_be_met_is_said() {
    let said = |requirements: Requirements| {
        plan(&requirements, &Path::default(), CARRIES).map(|_| ()).expect_err("it cannot")
    };
    let ordered = said(Requirements {
        order: DeliveryOrder::Total,
        expires: true,
        ..Requirements::default()
    });
    assert_eq!(ordered, Unmet::Contradiction("total order", "messages that expire"));
    let checked = said(Requirements { checked: true, ..Requirements::default() });
    assert_eq!(
        checked.to_string(),
        "a check for altered octets takes a format with a field for a check, and this one is none"
    );
}

#[test]
fn a_path_that_changes_names_what_to_exchange() {
    let before = plan(&Requirements::default(), &Path::default(), CARRIES).expect("it can be met");
    let after =
        plan(&Requirements::default(), &Path::line(1200, 255), CARRIES).expect("it can be met");
    let slots: Vec<_> = before.differences(&after).into_iter().map(|choice| choice.slot).collect();
    assert_eq!(slots, ["congestion", "rate"]);
}
