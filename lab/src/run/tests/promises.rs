//! Promises that are given are held, and only those.

use stackwright_contract::Guarantees;

use super::{scenario, two};
use crate::run::simulated::{self, Keep};
use crate::transport::Lowers;
use crate::workload::Broken;

const BAD: &str =
    "profile = \"lan-1g\"\nloss = 0.2\nduplicate = 0.2\ncorrupt = 0.2\njitter = \"5 ms\"";

#[test]
fn who_promises_nothing_breaks_nothing() {
    for transport in ["\"udp\"", "{ window = { octets = \"64 kB\" } }"] {
        let bad = two(BAD, transport, "{ bulk = { octets = \"100 kB\", message = \"1 kB\" } }");
        let outcome = simulated::run(&bad, 1, None, Keep::default()).outcome;
        assert!(outcome.ended);
        assert_eq!(outcome.broken(), None);
        let counts = outcome.flows[0].counts;
        assert!(counts.messages < 100 && counts.doubled > 0 && counts.overtaken > 0, "{counts:?}");
        assert_eq!(counts.altered, 0, "the check of UDP sees it");
    }
}

#[test]
fn an_end_that_does_not_come_is_late() {
    let mut slow = two(
        "profile = \"geo\"",
        "{ stop-and-wait = { patience = \"1 s\" } }",
        "{ bulk = { octets = \"1 MB\", message = \"1 kB\" } }",
    );
    slow.time = std::time::Duration::from_secs(10);
    let outcome = simulated::run(&slow, 1, None, Keep::default()).outcome;
    assert!(!outcome.ended);
    assert!(
        matches!(outcome.broken(), Some(Broken::Late { sent: 1000, .. })),
        "{:?}",
        outcome.broken()
    );
}

/// Two flows between the same stations share the link.
#[test]
fn flows_share_their_link() {
    let flow = "[[flows]]\nfrom = \"here\"\nto = \"there\"\ntransport = { window = { octets = \"100 kB\" } }\n\
                workload = { bulk = { octets = \"2 MB\", message = \"1 kB\" } }\n";
    let both = scenario(&format!(
        "[[links]]\nbetween = [\"here\", \"there\"]\nprofile = \"ethernet-10m\"\n{flow}{flow}"
    ));
    let outcome = simulated::run(&both, 1, None, Keep::default()).outcome;
    assert!(outcome.ended);
    let sum: f64 = outcome.flows.iter().filter_map(|flow| flow.goodput()).sum();
    // 1000 octets of payload, 8 of the window's header, 28 of UDP and IPv4, 38 of Ethernet. One
    // begins a window later than the other.
    let limit = 10e6 * 1000.0 / 1074.0;
    assert!((0.97 * limit..=1.03 * limit).contains(&sum), "{sum} of {limit}");
}

/// Else nothing that is held against it would mean anything.
#[test]
fn artp_promises_each_datagram_once() {
    let scenario = two(
        "profile = \"lan-1g\"",
        "{ artp = {} }",
        "{ bulk = { octets = \"1 B\", message = \"1 kB\" } }",
    );
    let here = Lowers::Simulated([10, 0, 0, 1].into());
    let given = scenario.flows[0].transport.over(here, 1).facts().gives;
    assert!(
        given.has(Guarantees::RELIABLE.and(Guarantees::ONCE).and(Guarantees::CHECKED)),
        "{given:?}"
    );
    assert!(!given.has(Guarantees::ORDERED));
}
