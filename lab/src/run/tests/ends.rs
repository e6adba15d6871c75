//! What a flow did not do is said, with its reason; and what nobody promised is no failure.

use super::two;
use crate::run::outcome::Outcome;
use crate::run::simulated::{self, Keep};
use crate::scenario::Scenario;

const BULK: &str = "{ bulk = { octets = \"50 kB\", message = \"1 kB\" } }";

fn outcome(scenario: &Scenario) -> Outcome {
    simulated::run(scenario, 1, None, Keep::default()).outcome
}

/// Packets that the link never passes: nothing arrives, and the sender gives up.
#[test]
fn what_gives_up_says_why_and_what_the_link_dropped() {
    let short = "rate = \"9600 b/s\"\ndelay = \"50 ms\"\nmtu = 296";
    let short = two(short, "{ stop-and-wait = { patience = \"2 s\", tries = 3 } }", BULK);
    let outcome = outcome(&short);
    let flow = &outcome.flows[0];
    assert!(outcome.ended);
    assert_eq!((flow.ends.well, flow.ends.otherwise(), flow.ends.missing), (0, 1, 0));
    let (why, count) = flow.ends.otherwise.first_key_value().expect("a reason");
    let says = flow.failure(&short.flows[0]).expect("nothing arrived");
    assert_eq!(says, format!("delivered 0 of 50 messages ({why}: {count})"));
    let text = outcome.text(&short);
    assert!(text.contains(&format!("FAILED: {says}")), "{text}");
    assert!(text.contains("the link dropped packets: longer than its MTU: 3"), "{text}");
    let json = outcome.json(&short, "simulated");
    assert_eq!(json["flows"][0]["reasons"][why], 1, "{json}");
    assert_eq!(json["flows"][0]["failed"], says);
    assert_eq!(json["failed"], format!("here > there over stop-and-wait: {says}"));
}

#[test]
fn what_has_not_ended_ran_out_of_time() {
    let geo = "profile = \"geo\"";
    let mut slow = two(geo, "{ stop-and-wait = { patience = \"2 s\" } }", BULK);
    slow.time = std::time::Duration::from_secs(10);
    let outcome = outcome(&slow);
    let says = outcome.failure(&slow).expect("it takes longer");
    assert!(says.ends_with("of 50 messages (time ran out: 1)"), "{says}");
    assert!(outcome.violated().is_none(), "no transport guarantees the workload's time");
    let json = outcome.json(&slow, "simulated");
    assert_eq!((&json["flows"][0]["not_ended"], &json["ended"]), (&1.into(), &false.into()));
}

#[test]
fn loss_is_no_failure_of_who_promises_no_arrival() {
    for transport in ["\"udp\"", "{ window = { octets = \"64 kB\" } }"] {
        let lossy = two("profile = \"lan-1g\"\nloss = 0.3", transport, BULK);
        let outcome = outcome(&lossy);
        assert!(outcome.flows[0].counts.messages < 50, "{transport}");
        assert_eq!(outcome.failure(&lossy), None, "{transport}");
    }
}
