//! What came of a measurement, as a person reads it, or as a program does.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use stackwright::contract::Instant;
use stackwright::contract::ask::{SendingChange, SendingPart, SendingReport};
use stackwright::transport::slots::GroupCounts;

use super::place::{Place, Transport};
use super::shown;
use super::words::Report;
use crate::report::say;

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Workload {
    Bulk,
    Requests,
    Associations,
}

/// What came of it.
pub(crate) struct Outcome {
    place: Place,
    workload: Workload,
    /// What the receiver's application got.
    pub(crate) octets: u64,
    messages: u64,
    pub(crate) took: Duration,
    sender: Duration,
    receiver: Duration,
    /// How many messages were sent.
    sent: u64,
    /// In nanoseconds.
    latencies: Option<Histogram<u64>>,
    /// The name of the congestion control, where there is one.
    congestion: Option<&'static str>,
    /// The members of a group that received.
    members: Option<GroupCounts>,
    /// How many members came when some of it was over.
    late: u64,
    /// How it sends at the end, and what was changed of that.
    sends: Option<SendingReport>,
    /// How often the sender and the receiver copied an octet, where that is asked.
    copies: Option<[f64; 2]>,
}

/// How often each of `octets` octets was copied, where `copied` were in all.
pub(super) fn times(copied: u64, octets: u64) -> f64 {
    copied as f64 / octets.max(1) as f64
}

/// Seconds since the stack was made.
fn since_start(at: Instant) -> f64 {
    at.since(Instant::START).as_secs_f64()
}

fn changes(sends: &SendingReport) -> Vec<Value> {
    let told = |change: &SendingChange| {
        let (what, to) = match change.to {
            SendingPart::Rule(rule) => ("rule", rule.to_string()),
            SendingPart::Congestion(name) => ("congestion", name.to_owned()),
        };
        let at = since_start(change.at);
        json!({ "at": at, "what": what, "to": to, "says": change.to_string() })
    };
    sends.changes.iter().map(told).collect()
}

impl Outcome {
    pub(super) fn new(
        place: &Place,
        workload: Workload,
        sent: u64,
        report: Report,
        sender: Duration,
    ) -> Self {
        Outcome {
            place: place.clone(),
            workload,
            octets: report.octets,
            messages: report.messages,
            took: Duration::from_nanos(report.took),
            sender,
            receiver: Duration::from_nanos(report.processor),
            sent,
            latencies: None,
            congestion: None,
            members: None,
            late: 0,
            sends: None,
            copies: None,
        }
    }

    /// With what the sender has changed of how it sends, where it changes something.
    pub(super) fn changing(self, sends: Option<SendingReport>) -> Self {
        Outcome { sends, ..self }
    }

    /// With how many octets the sender and the receiver copied of messages of `size` octets.
    pub(super) fn copying(self, [sender, receiver]: [u64; 2], size: usize) -> Self {
        let copies = [times(sender, self.sent * size as u64), times(receiver, self.octets)];
        Outcome { copies: Some(copies), ..self }
    }

    /// With the name of the congestion control.
    pub(super) fn controlled(self, congestion: Option<&'static str>) -> Self {
        Outcome { congestion, ..self }
    }

    /// With the members of the group that received it, `late` of them not from the beginning.
    pub(super) fn received_by(self, members: GroupCounts, late: u64) -> Self {
        Outcome { members: Some(members), late, ..self }
    }

    /// With what each exchange took, and all of them.
    pub(super) fn exchanges(self, latencies: Histogram<u64>, took: Duration) -> Self {
        Outcome { latencies: Some(latencies), took, ..self }
    }

    /// With what all of it took, as the sender saw it.
    pub(super) fn lasting(self, took: Duration) -> Self {
        Outcome { took, ..self }
    }

    pub(super) fn tell(&self, json: bool) {
        if json { say!("{}", self.json()) } else { self.show() }
    }

    fn json(&self) -> Value {
        let microseconds = |nanoseconds: u64| nanoseconds as f64 / 1e3;
        let latencies = self.latencies.as_ref().map(|all| {
            let at = |quantile| microseconds(all.value_at_quantile(quantile));
            json!({ "p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "max": microseconds(all.max()),
                    "mean": all.mean() / 1e3 })
        });
        let workload = match self.workload {
            Workload::Bulk => "bulk",
            Workload::Requests => "requests",
            Workload::Associations => "associations",
        };
        json!({
            "transport": self.place.transport.scheme(),
            "congestion": self.congestion,
            "rule": self.sends.as_ref().and_then(|sends| sends.rule).map(|rule| rule.to_string()),
            "changes": self.sends.as_ref().map(changes),
            "workload": workload,
            "octets": self.octets,
            "messages": self.messages,
            "seconds": self.took.as_secs_f64(),
            "processor_sender": self.sender.as_secs_f64(),
            "processor_receiver": self.receiver.as_secs_f64(),
            "copies_sender": self.copies.map(|[sender, _]| sender),
            "copies_receiver": self.copies.map(|[_, receiver]| receiver),
            "latencies_us": latencies,
            // No transport tells yet how often it said something twice.
            "retransmitted": null,
            "counted_by": if self.is_counted_here() { "sender" } else { "receiver" },
            "receivers": self.members.map(|all| all.members),
            "receivers_dropped": self.members.map(|all| all.dropped),
            "receivers_late": self.members.map(|_| self.late),
        })
    }

    /// Whether the sender has counted: what a group has acknowledged, and the answers to requests
    /// that are associations of their own.
    fn is_counted_here(&self) -> bool {
        self.members.is_some() || self.place.transport == Transport::TransactionXtp
    }

    fn show(&self) {
        let Outcome { octets, messages, took, .. } = *self;
        let seconds = took.as_secs_f64();
        let each = |time: Duration, of: f64| shown::short(time.div_f64(of.max(1e-9)));
        match (self.workload, &self.latencies) {
            (Workload::Requests, Some(all)) => {
                let at =
                    |quantile| shown::short(Duration::from_nanos(all.value_at_quantile(quantile)));
                say!(
                    "{messages} requests in {seconds:.2} s: {:.0} a second",
                    messages as f64 / seconds
                );
                say!(
                    "  latency: median {}, 90 % {}, 99 % {}, max {}",
                    at(0.5),
                    at(0.9),
                    at(0.99),
                    at(1.0)
                );
                let per = messages as f64;
                say!(
                    "  processor time: {} each here, {} at the server",
                    each(self.sender, per),
                    each(self.receiver, per)
                );
            }
            (Workload::Associations, _) => {
                let per = messages as f64;
                say!(
                    "{messages} associations, an exchange on each, in {seconds:.2} s: {:.0} a second",
                    per / seconds
                );
                say!(
                    "  processor time: {} each here, {} at the server",
                    each(self.sender, per),
                    each(self.receiver, per)
                );
            }
            _ => {
                let lost = self.sent.saturating_sub(messages);
                let by = if self.members.is_some() { "each receiver" } else { "the server" };
                say!(
                    "{} in {seconds:.2} s: {} received by {by}",
                    shown::amount(octets),
                    shown::rate(octets, took)
                );
                if let Some(congestion) = self.congestion {
                    say!("  congestion control: {congestion}");
                }
                if let Some(SendingReport { rule, changes }) = &self.sends {
                    if let Some(rule) = rule {
                        say!("  messages go {rule}");
                    }
                    for change in changes {
                        say!("  after {:.1} s: {change}", since_start(change.at));
                    }
                }
                if lost > 0 {
                    let percent = 100.0 * lost as f64 / self.sent as f64;
                    say!("  {lost} of {} messages were lost, {percent:.2} %", self.sent);
                }
                if let Some([sender, receiver]) = self.copies {
                    say!(
                        "  copies per octet in user space: {sender:.2} here, {receiver:.2} at the server"
                    );
                }
                let gigabytes = octets as f64 / 1e9;
                if let Some(GroupCounts { members, left, dropped }) = self.members {
                    let late = usize::try_from(self.late).unwrap_or(members).min(members);
                    let all = members - late;
                    say!(
                        "  receivers: {all} have everything, {late} came late, {left} left, {dropped} were dropped"
                    );
                    say!("  processor time: {} per gigabyte here", each(self.sender, gigabytes));
                    return;
                }
                say!(
                    "  processor time: {} per gigabyte here, {} at the server",
                    each(self.sender, gigabytes),
                    each(self.receiver, gigabytes)
                );
            }
        }
    }
}
