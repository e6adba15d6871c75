//! What came of a run, for people and for programs.

use serde_json::{Value, json};
use stackwright_contract::Duration;
use stackwright_simulator::Traffic;

use crate::scenario::{Flow, Scenario};
use crate::workload::{Account, Broken, Counts};

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

    fn json(&self, flow: &Flow, stations: &[String]) -> Value {
        let Account { sent, replies, unanswered, ended, .. } = &self.account;
        let microseconds = |time: Duration| time.as_nanos() as f64 / 1e3;
        json!({
            "from": stations[flow.from], "to": stations[flow.to], "transport": flow.transport.name(),
            "sent": sent, "delivered": self.counts.messages, "octets": self.counts.octets,
            "doubled": self.counts.doubled, "overtaken": self.counts.overtaken, "altered": self.counts.altered,
            "replies": replies, "unanswered": unanswered,
            "ended_well": ended[0], "ended_otherwise": ended[1],
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
        })
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
            if let Some(broken) = &outcome.broken {
                text += &format!("\n  VIOLATED: {broken}");
            }
            text.push('\n');
        }
        text
    }
}

/// Bits per second, as people read them.
pub(crate) fn rate(bits: f64) -> String {
    let units = [(1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")];
    match units.into_iter().find(|(unit, _)| bits >= *unit) {
        Some((unit, name)) => format!("{:.2} {name}", bits / unit),
        None => format!("{bits:.0} b/s"),
    }
}
