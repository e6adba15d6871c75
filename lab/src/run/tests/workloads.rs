//! Each workload does what it says, over each transport.

use super::two;
use crate::run::outcome::FlowOutcome;
use crate::run::simulated::{self, Keep};
use crate::workload::Ends;

const TRANSPORTS: [&str; 5] = [
    "\"udp\"",
    "\"tcp\"",
    "{ window = { octets = \"64 kB\" } }",
    "{ stop-and-wait = {} }",
    "{ artp = {} }",
];

fn over(transport: &str, workload: &str) -> FlowOutcome {
    let scenario = two("profile = \"lan-1g\"", transport, workload);
    let outcome = simulated::run(&scenario, 1, None, Keep::default()).outcome;
    assert!(outcome.ended, "{transport} {workload}");
    assert_eq!(outcome.broken(), None, "{transport} {workload}");
    assert_eq!(outcome.failure(&scenario), None, "{transport} {workload}");
    outcome.flows.into_iter().next().expect("there is one flow")
}

#[test]
fn all_of_each_arrives_over_each() {
    for transport in TRANSPORTS {
        for (workload, messages, octets, conversations) in [
            ("{ bulk = { octets = \"100 kB\", message = \"1 kB\" } }", 100, 100_000, 1),
            ("{ messages = { count = 10, message = \"64 B\", every = \"1 ms\" } }", 10, 640, 1),
            ("{ requests = { count = 10, request = \"64 B\", reply = \"1 kB\" } }", 10, 640, 1),
            ("{ files = { sizes = [\"1 B\", \"10 kB\"], message = \"1 kB\" } }", 11, 11_000, 2),
            ("{ associations = { count = 50, messages = 3, message = \"64 B\" } }", 150, 9_600, 50),
            // More than two addresses have sessions.
            (
                "{ associations = { count = 300, messages = 1, message = \"64 B\" } }",
                300,
                19_200,
                300,
            ),
        ] {
            let flow = over(transport, workload);
            assert_eq!(
                (flow.counts.messages, flow.counts.octets),
                (messages, octets),
                "{transport} {workload}"
            );
            let ends = Ends { well: conversations, ..Ends::default() };
            assert_eq!(flow.ends, ends, "{transport} {workload}");
        }
    }
}

#[test]
fn several_at_once_are_the_sum_of_them() {
    let flow = over(
        "{ stop-and-wait = {} }",
        "{ mixed = [{ bulk = { octets = \"10 kB\", message = \"1 kB\" } }, \
         { requests = { count = 7, request = \"40 B\", reply = \"40 B\" } }] }",
    );
    assert_eq!((flow.counts.messages, flow.account.replies), (17, 7));
}

#[test]
fn a_request_takes_a_round_trip() {
    for transport in TRANSPORTS {
        let flow =
            over(transport, "{ requests = { count = 10, request = \"64 B\", reply = \"64 B\" } }");
        let median = flow.account.round_trip(50).expect("they were answered");
        // Twice 50 us, and what a few hundred bits take at 1 Gb/s.
        assert!((100..110).contains(&median.as_micros()), "{transport}: {median:?}");
    }
}

#[test]
fn messages_keep_their_times() {
    let flow =
        over("\"udp\"", "{ messages = { count = 11, message = \"64 B\", every = \"20 ms\" } }");
    assert_eq!(flow.took.map(|time| time.as_millis()), Some(200));
}

#[test]
fn a_window_and_a_round_trip_make_a_rate() {
    for window in [50, 100, 200] {
        let scenario = two(
            "profile = \"wan\"",
            &format!("{{ window = {{ octets = \"{window} kB\" }} }}"),
            "{ bulk = { octets = \"4 MB\", message = \"1 kB\" } }",
        );
        let flow = simulated::run(&scenario, 1, None, Keep::default()).outcome.flows.remove(0);
        let (rate, expected) =
            (flow.goodput().unwrap_or_default(), f64::from(window) * 8e3 / 40e-3);
        // Beside the 40 ms, a message and the word that it was heard take their time.
        assert!(
            (0.9 * expected..=1.02 * expected).contains(&rate),
            "{window} kB: {rate} of {expected}"
        );
    }
}

#[test]
fn what_nobody_answers_is_counted() {
    let scenario = two(
        "profile = \"lan-1g\"\nloss = 1.0",
        "\"udp\"",
        "{ requests = { count = 3, request = \"64 B\", reply = \"64 B\" } }",
    );
    let outcome = simulated::run(&scenario, 1, None, Keep::default()).outcome;
    let account = &outcome.flows[0].account;
    assert_eq!((account.unanswered, account.replies, outcome.ended), (3, 0, true));
    assert_eq!(outcome.broken(), None, "UDP promises nothing");
}

/// A stream delivers in bursts: counted from its first arrival, it would exceed its link.
#[test]
fn goodput_counts_from_the_request_and_fits_the_link() {
    for (transport, workload, seconds) in [
        ("\"tcp\"", "{ bulk = { octets = \"50 kB\", message = \"200 B\" } }", 41.0..60.0),
        ("{ artp = {} }", "{ bulk = { octets = \"10 kB\", message = \"1 kB\" } }", 8.0..30.0),
        // All of it arrives at once, and there is a goodput all the same.
        ("\"tcp\"", "{ bulk = { octets = \"200 B\", message = \"200 B\" } }", 0.2..1.0),
        ("\"udp\"", "{ bulk = { octets = \"200 B\", message = \"200 B\" } }", 0.2..1.0),
    ] {
        let scenario = two("rate = \"9600 b/s\"\ndelay = \"50 ms\"", transport, workload);
        let flow = simulated::run(&scenario, 1, None, Keep::default()).outcome.flows.remove(0);
        let goodput = flow.goodput().expect("something arrived");
        let took = flow.took.expect("something arrived").as_secs_f64();
        assert!(seconds.contains(&took), "{transport}: {took} s");
        assert!((1000.0..9600.0).contains(&goodput), "{transport}: {goodput}");
    }
}
