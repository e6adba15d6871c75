//! What came of a run, for people and for programs.

use serde_json::{Value, json};
use stackwright_contract::Duration;
use stackwright_results::rate;
use stackwright_simulator::Traffic;

use crate::scenario::{Flow, Scenario};
use crate::workload::{Account, Broken, Counts, Ends, TIME_RAN_OUT};

/// What came of one run of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) seed: u64,
    /// All flows came to an end in time.
    pub(crate) ended: bool,
    /// In the order of the scenario.
    pub(crate) flows: Vec<FlowOutcome>,
    /// What each way of each link did.
    pub(crate) links: Vec<Value>,
    /// The hash of the trace, where one was kept.
    pub(crate) trace: Option<u64>,
}

/// What came of one flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowOutcome {
    /// The client's side.
    pub(crate) account: Account,
    /// How its conversations ended, as far as the client knows.
    pub(crate) ends: Ends,
    /// Whether the transport promises that nothing is missing.
    pub(crate) reliable: bool,
    /// What arrived at the server.
    pub(crate) counts: Counts,
    /// From the client's first request for an association to the last of them; `None` if none
    /// arrived.
    pub(crate) took: Option<Duration>,
    /// The sum of how long messages were under way, where both ends have one clock.
    pub(crate) under_way: Option<Duration>,
    /// Packets that either end dropped because it had received them before: copies that were sent,
    /// or made by the link, for nothing. 0 where the transport does not count them.
    pub(crate) duplicates: u64,
    /// What the two ends sent, forward and back, whatever became of it; `None` where flows on real
    /// sockets share a link.
    pub(crate) traffic: Option<[Traffic; 2]>,
    /// The first promise that the transport broke.
    pub(crate) broken: Option<Broken>,
}

impl FlowOutcome {
    /// Returns the payload that arrived, in bits per second, from the client's first request to the
    /// last arrival: what was opened, and what waited, takes its time as well. `None` if nothing
    /// arrived.
    pub(crate) fn goodput(&self) -> Option<f64> {
        // Over an ideal link no time passes: the clock's resolution stands for it.
        let took = self.took?.max(Duration::from_nanos(1));
        Some(8.0 * self.counts.octets as f64 / took.as_secs_f64())
    }

    /// Returns what the flow failed to do of its workload, in words; `None` if it did all of it. A
    /// transport that promises no arrival has to send everything, and to end in time; of one that
    /// does, everything has to arrive and to be answered.
    pub(crate) fn failure(&self, flow: &Flow) -> Option<String> {
        let Counts { messages, .. } = self.counts;
        let Account { sent, unanswered, .. } = self.account;
        let planned = flow.plan.messages();
        let says = if self.reliable && messages < planned {
            format!("delivered {messages} of {planned} messages")
        } else if sent < planned {
            format!("sent {sent} of {planned} messages")
        } else if self.reliable && unanswered > 0 {
            format!("{unanswered} requests were not answered")
        } else if self.ends.missing > 0 {
            "did not end in time".to_owned()
        } else {
            return None;
        };
        let ends = self.ends.to_string();
        Some(if ends.is_empty() { says } else { format!("{says} ({ends})") })
    }

    fn json(&self, flow: &Flow, stations: &[String]) -> Value {
        let Account { sent, replies, unanswered, .. } = &self.account;
        let mut reasons = self.ends.otherwise.clone();
        if self.ends.missing > 0 {
            reasons.insert(TIME_RAN_OUT.to_owned(), self.ends.missing);
        }
        let microseconds = |time: Duration| time.as_nanos() as f64 / 1e3;
        json!({
            "from": stations[flow.from], "to": stations[flow.to], "transport": flow.transport.name(),
            "sent": sent, "delivered": self.counts.messages, "octets": self.counts.octets,
            "doubled": self.counts.doubled, "overtaken": self.counts.overtaken, "altered": self.counts.altered,
            "replies": replies, "unanswered": unanswered,
            "ended_well": self.ends.well, "ended_otherwise": self.ends.otherwise(),
            "not_ended": self.ends.missing, "reasons": reasons, "failed": self.failure(flow),
            "goodput_bits_per_second": self.goodput(),
            "seconds": self.took.map(|took| took.as_secs_f64()),
            "duplicates": flow.transport.counts_duplicates().then_some(self.duplicates),
            "sent_packets": self.traffic.map(|[forward, _]| forward.packets),
            "sent_octets": self.traffic.map(|[forward, _]| forward.octets),
            "sent_packets_back": self.traffic.map(|[_, back]| back.packets),
            "sent_octets_back": self.traffic.map(|[_, back]| back.octets),
            "under_way_mean_us": self.under_way.filter(|_| self.counts.messages > 0)
                .map(|sum| microseconds(sum) / self.counts.messages as f64),
            "round_trip_median_us": self.account.round_trip(50).map(microseconds),
            "round_trip_99_us": self.account.round_trip(99).map(microseconds),
            "broken": self.broken.as_ref().map(ToString::to_string),
        })
    }
}

impl Outcome {
    /// The first guarantee that was violated: unlike a promise to end in time, which is the
    /// workload's.
    pub(crate) fn violated(&self) -> Option<&Broken> {
        let flows = self.flows.iter().filter_map(|flow| flow.broken.as_ref());
        flows.into_iter().find(|broken| broken.violates())
    }

    /// What the first flow that failed did not do.
    pub(crate) fn failure(&self, scenario: &Scenario) -> Option<String> {
        let flows = self.flows.iter().zip(&scenario.flows);
        flows.into_iter().find_map(|(outcome, flow)| {
            let (from, to) = (&scenario.stations[flow.from], &scenario.stations[flow.to]);
            let says = outcome.failure(flow)?;
            Some(format!("{from} > {to} over {}: {says}", flow.transport.name()))
        })
    }

    /// The first promise that was broken.
    pub(crate) fn broken(&self) -> Option<&Broken> {
        self.flows.iter().find_map(|flow| flow.broken.as_ref())
    }

    /// As one object. `place` is where it ran.
    pub(crate) fn json(&self, scenario: &Scenario, place: &str) -> Value {
        let flows = self.flows.iter().zip(&scenario.flows);
        json!({
            "complete": true, "scenario": scenario.name, "place": place, "seed": self.seed, "ended": self.ended,
            "flows": flows.map(|(outcome, flow)| outcome.json(flow, &scenario.stations)).collect::<Vec<_>>(),
            "links": self.links,
            "trace": self.trace.map(|hash| format!("{hash:016x}")),
            "broken": self.broken().map(ToString::to_string),
            "failed": self.failure(scenario),
        })
    }

    /// Why packets between these two were dropped, both ways together.
    fn drops(&self, from: &str, to: &str) -> String {
        let here = |link: &&Value| {
            [(from, to), (to, from)]
                .iter()
                .any(|(from, to)| link["from"] == *from && link["to"] == *to)
        };
        let count = |name: &str| -> u64 {
            let links = self.links.iter().filter(here);
            links.filter_map(|link| link.get(name).or(link["all"].get(name))?.as_u64()).sum()
        };
        let counted = DROPS.iter().map(|(name, says)| (says, count(name)));
        let told = counted.filter(|(_, count)| *count > 0);
        told.map(|(says, count)| format!("{says}: {count}")).collect::<Vec<_>>().join(", ")
    }

    /// In a few lines.
    pub(crate) fn text(&self, scenario: &Scenario) -> String {
        let mut text = String::new();
        for (outcome, flow) in self.flows.iter().zip(&scenario.flows) {
            let (from, to) = (&scenario.stations[flow.from], &scenario.stations[flow.to]);
            let Counts { messages, octets, doubled, altered, .. } = outcome.counts;
            text += &format!(
                "{from} > {to} over {}: {messages} of {} messages, {octets} octets",
                flow.transport.name(),
                flow.plan.messages()
            );
            if let Some(goodput) = outcome.goodput() {
                text += &format!(", {}", rate(goodput));
            }
            if let Some(median) = outcome.account.round_trip(50) {
                text += &format!(", round trip {:.3} ms", median.as_secs_f64() * 1e3);
            }
            if doubled + altered > 0 {
                text += &format!(", {doubled} duplicated, {altered} altered");
            }
            if let Some(says) = outcome.failure(flow) {
                text += &format!("\n  FAILED: {says}");
                let drops = self.drops(from, to);
                if !drops.is_empty() {
                    text += &format!("\n  the link dropped packets: {drops}");
                }
            } else if outcome.ends.otherwise() > 0 {
                text += &format!("\n  ended otherwise: {}", outcome.ends);
            }
            if let Some(broken) = outcome.broken.as_ref().filter(|broken| broken.violates()) {
                text += &format!("\n  VIOLATED: {broken}");
            }
            text.push('\n');
        }
        text
    }
}

/// The counters of packets that a link dropped, simulated or real, and why in words.
const DROPS: [(&str, &str); 7] = [
    ("too_long", "longer than its MTU"),
    ("policed", "beyond the policer's rate"),
    ("lost", "lost"),
    ("in_outage", "sent while it was down"),
    ("dropped_at_tail", "the queue was full"),
    ("dropped_by_codel", "waited too long in the queue"),
    ("queue_drops", "the queue was full"),
];
