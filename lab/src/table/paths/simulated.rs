//! A path in the simulator.

use stackwright_results::Problem;
use stackwright_simulator::Traffic;

use super::cell::{Cell, MESSAGE, MTU};
use crate::run::{self, Outcome};
use crate::scenario::Scenario;
use crate::workload::Broken;

/// One transfer.
pub(super) struct Transfer {
    pub(super) cell: Cell,
    /// ARTP's congestion control; none for the default.
    pub(super) congestion: Option<&'static str>,
    /// How long it lasts at the payload limit, in seconds.
    pub(super) seconds: f64,
    pub(super) seed: u64,
    /// Steps of the delay, as a link has them; empty for none.
    pub(super) steps: String,
}

/// What came of a transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    /// From the request to the last octet, in megabits per second.
    pub(super) goodput: f64,
    /// Whether all octets arrived in time.
    pub(super) ended: bool,
    /// Octets of payload that arrived.
    pub(super) delivered: u64,
    /// Octets in packets beyond one for each message that arrived: retransmissions, a few packets
    /// of the handshake and of the end, and what was on its way where a transfer was cut short.
    pub(super) resent: Option<u64>,
    /// Octets in packets of which both copies arrived.
    pub(super) duplicates: Option<u64>,
}

impl Transfer {
    /// Runs it in the simulator, or on real sockets.
    ///
    /// # Errors
    /// Where the transport did not do what it promised.
    pub(super) fn run(&self, real: bool) -> Result<Figures, Problem> {
        let (scenario, outcome) = run::text(self.text(), self.seed, real)?;
        self.figures(&scenario, &outcome)
    }

    fn figures(&self, scenario: &Scenario, outcome: &Outcome) -> Result<Figures, Problem> {
        // Whether it ended in time is one of the figures.
        if let Some(broken) = outcome.broken().filter(|it| !matches!(it, Broken::Late { .. })) {
            return Err(Problem::new(format!("the transport broke a guarantee: {broken}")));
        }
        let flow = &outcome.flows[0];
        let delivered = flow.counts.messages;
        let ended = outcome.ended && delivered == self.messages();
        let resent = |sent: Traffic| sent.packets.saturating_sub(delivered) * MESSAGE;
        // What was cut short is counted over all of its time, not until the last arrival.
        let goodput = match flow.goodput() {
            Some(goodput) if ended => goodput,
            _ => 8.0 * flow.counts.octets as f64 / scenario.time.as_secs_f64(),
        };
        Ok(Figures {
            goodput: goodput / 1e6,
            ended,
            delivered: flow.counts.octets,
            resent: flow.traffic.map(|[forward, _]| resent(forward)),
            duplicates: Some(flow.duplicates * MESSAGE),
        })
    }

    fn messages(&self) -> u64 {
        self.cell.messages(self.seconds)
    }

    /// The scenario. Where packets are lost, nobody knows how long the whole transfer takes: it is
    /// cut short.
    fn text(&self) -> String {
        let Transfer { cell, congestion, seconds, steps, .. } = self;
        let time = if cell.is_lossless() { 3.0 } else { 1.0 } * seconds;
        let congestion =
            congestion.map_or(String::new(), |name| format!("congestion = \"{name}\", "));
        let window = cell.window().map_or(String::new(), |packets| {
            let octets = packets * MTU;
            format!("window = {packets}, send = {{ octets = {octets}, messages = {packets} }}, ")
        });
        format!(
            "time = \"{} ms\"\n\
             [[links]]\nbetween = [\"near\", \"far\"]\n\
             rate = \"{} b/s\"\ndelay = \"{} us\"\njitter = \"100 us\"\nkeeps-order = true\n\
             queue = \"{} B\"\nmtu = {MTU}\nloss = {:?}\n{steps}\n\
             [[flows]]\nfrom = \"near\"\nto = \"far\"\n\
             transport = {{ artp = {{ {congestion}{window} }} }}\n\
             workload = {{ bulk = {{ octets = {}, message = {MESSAGE} }} }}\n",
            (1e3 * time).ceil(),
            cell.rate(),
            500 * cell.round_trip,
            cell.queue_octets(),
            cell.loss(),
            self.messages() * MESSAGE,
        )
    }
}
