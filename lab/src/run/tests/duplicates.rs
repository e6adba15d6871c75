//! Packets that arrive again are counted, and so is all that was sent.

use super::two;
use crate::run::outcome::FlowOutcome;
use crate::run::simulated::{self, Keep};

fn over(link: &str, transport: &str) -> FlowOutcome {
    let workload = "{ bulk = { octets = \"100 kB\", message = \"1 kB\" } }";
    let outcome = simulated::run(&two(link, transport, workload), 1, None, Keep::default()).outcome;
    assert!(outcome.ended, "{link} {transport}");
    outcome.flows.into_iter().next().expect("there is one flow")
}

#[test]
fn copies_that_the_link_makes_are_counted_at_the_receiver() {
    // Its acknowledgement is not waited for long enough that the tail is probed.
    let prompt = "{ artp = { gather = \"1 ms\" } }";
    assert_eq!(over("profile = \"lan-1g\"", prompt).duplicates, 0);
    let flow = over("profile = \"lan-1g\"\nduplicate = 1.0", prompt);
    // Each message has a packet. Acknowledgements are packets too, but are not numbered.
    assert!((100..150).contains(&flow.duplicates), "{}", flow.duplicates);
}

#[test]
fn what_was_sent_is_counted_both_ways() {
    let flow = over("profile = \"lan-1g\"", "\"udp\"");
    let [forward, back] = flow.traffic.expect("the simulator knows");
    assert_eq!((forward.packets, forward.octets), (100, 102_800));
    assert_eq!((back.packets, back.octets), (0, 0));
    let lost = over("profile = \"lan-1g\"\nloss = 1.0", "\"udp\"");
    assert_eq!(lost.traffic.map(|[forward, _]| forward.octets), Some(102_800));
}

/// A delay that grows in the middle of a run makes a timer fire for packets that arrive.
#[test]
fn a_delay_step_makes_needless_retransmissions() {
    let steady = "delay = \"50 ms\"\nrate = \"1 Mb/s\"\n";
    let stepped =
        format!("{steady}delay-steps = [{{ at = \"400 ms\", delay = \"+2 s\", packets = 20 }}]");
    let [steady, stepped] = [steady, &stepped].map(|link| over(link, "{ artp = {} }"));
    assert_eq!(steady.duplicates, 0);
    assert!(stepped.duplicates > 0);
    let sent = |flow: &FlowOutcome| flow.traffic.expect("the simulator knows")[0];
    let more = sent(&stepped).packets - sent(&steady).packets;
    assert!(more >= stepped.duplicates, "{more} more were sent, {} twice", stepped.duplicates);
}
