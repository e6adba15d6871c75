//! What a person, or a program, sees of a link.

use std::io::{self, IsTerminal as _, Write as _};

use indicatif::{HumanCount, ProgressBar};
use serde_json::json;

use super::counts::{Counts, Report};
use super::ends::{End, has_ipv6};
use super::side::Side;

/// Shows a link.
#[derive(Debug)]
pub(super) struct Shown {
    json: bool,
    /// Where a person watches, and no command writes to the same terminal.
    line: Option<ProgressBar>,
}

impl Shown {
    pub(super) fn new(json: bool, has_command: bool) -> Shown {
        let watched = !json && !has_command && io::stderr().is_terminal();
        Shown { json, line: watched.then(ProgressBar::new_spinner) }
    }

    /// It is up.
    pub(super) fn up(&self, [a, b]: &[End; 2], mtu: u32, has_command: bool) {
        let ipv6 = has_ipv6(mtu);
        if self.json {
            let end = |side: Side, end: &End| {
                let address_ipv6 = ipv6.then(|| side.address_ipv6());
                json!({ "namespace": end.namespace.name(), "address": side.address(), "address_ipv6": address_ipv6 })
            };
            say(&json!({ "event": "up", "a": end(Side::A, a), "b": end(Side::B, b), "mtu": mtu }));
        } else if !has_command {
            let (near, far) = (a.namespace.name(), b.namespace.name());
            tell_person(&format!(
                "The link is up: {} and {}, MTU {mtu}.\n  \
                   ip netns exec {far} COMMAND       run a server at the far end\n  \
                   ip netns exec {near} COMMAND       run a client at the near end, to {}\n\
                 Press Ctrl-C to end it and remove both.\n",
                Side::A.address(),
                Side::B.address(),
                Side::B.address()
            ));
        }
    }

    /// A program asks.
    pub(super) fn counts(&self, reports: &[Report; 2]) {
        tell("counts", reports);
    }

    /// A second has passed.
    pub(super) fn second(&self, reports: &[Report; 2]) {
        if let Some(line) = &self.line {
            let way =
                |name, Counts { offered, delivered, lost, queue_drops, queueing, .. }: Counts| {
                    format!(
                        "{name} {} of {} delivered, {} lost, {} dropped, {:.1} ms queued",
                        HumanCount(delivered),
                        HumanCount(offered),
                        HumanCount(lost),
                        HumanCount(queue_drops),
                        queueing.median_ms
                    )
                };
            line.set_message(format!(
                "{}; {}",
                way("forward", reports[0].all),
                way("back", reports[1].all)
            ));
            line.tick();
        }
    }

    /// It has ended.
    pub(super) fn ended(&self, reports: &[Report; 2]) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
        if self.json { tell("done", reports) } else { tell_person(&table(reports)) }
    }
}

fn tell(event: &str, [forward, back]: &[Report; 2]) {
    say(&json!({ "event": event, "forward": forward, "back": back }));
}

/// Says something where a person may read it. Where nobody does any more, the link is removed all
/// the same.
fn tell_person(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Says a line. Where nobody reads it any more, the link goes on all the same.
fn say(line: &serde_json::Value) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// The counts of both ways. What is usually 0 is only there where it is not.
fn table(reports: &[Report; 2]) -> String {
    let mut lines = format!("{:<28}{:>16}{:>16}\n", "packets", "forward", "back");
    let mut row = |name: &str, always: bool, [forward, back]: [u64; 2]| {
        if always || forward > 0 || back > 0 {
            lines += &format!(
                "{name:<28}{:>16}{:>16}\n",
                HumanCount(forward).to_string(),
                HumanCount(back).to_string()
            );
        }
    };
    let all = |pick: fn(&Counts) -> u64| reports.each_ref().map(|report| pick(&report.all));
    let each = |pick: fn(&Report) -> u64| reports.each_ref().map(pick);
    row("offered", true, all(|counts| counts.offered));
    row("delivered", true, all(|counts| counts.delivered));
    row("lost", true, all(|counts| counts.lost));
    row("duplicated", true, all(|counts| counts.duplicated));
    row("reordered", true, all(|counts| counts.reordered));
    row("altered", true, all(|counts| counts.altered));
    row("dropped by the queue", true, all(|counts| counts.queue_drops));
    row("marked by the queue", false, all(|counts| counts.marked));
    row("sent during an outage", false, all(|counts| counts.in_outage));
    row("longer than the MTU", false, all(|counts| counts.too_long));
    row("still under way", false, each(|report| report.under_way));
    row("too many held", false, each(|report| report.held_too_many));
    row("malformed", false, each(|report| report.malformed));
    row("refused by the receiver", false, each(|report| report.refused));
    row("missed (not read in time)", false, each(|report| report.missed.unwrap_or(0)));
    row("octets offered", true, all(|counts| counts.octets_offered));
    row("octets delivered", true, all(|counts| counts.octets_delivered));
    let mut time = |name: &str, pick: fn(&Report) -> f64| {
        let [forward, back] = reports.each_ref().map(pick);
        lines += &format!("{name:<28}{forward:>13.3} ms{back:>13.3} ms\n");
    };
    time("queueing delay, median", |report| report.all.queueing.median_ms);
    time("queueing delay, 95 %", |report| report.all.queueing.p95_ms);
    time("later than modelled, median", |report| report.late.median_ms);
    time("later than modelled, 95 %", |report| report.late.p95_ms);
    lines
}
