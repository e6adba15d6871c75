//! What happens on a channel, a line each.

use std::io::{self, Write};

use serde_json::json;
use stackwright::contract::Instant;

use super::timeline::{Happened, Sent, Timeline};

/// Where it is said.
pub(crate) struct Lines {
    json: bool,
    /// Also say when a transmitter is on, and which station waits.
    all: bool,
    unread: bool,
}

impl Lines {
    pub(crate) fn new(json: bool, all: bool) -> Self {
        Lines { json, all, unread: false }
    }

    /// Whether nobody reads on (`| head`).
    pub(crate) fn is_unread(&self) -> bool {
        self.unread
    }

    pub(crate) fn say(&mut self, happened: Happened, timeline: &Timeline) {
        let (time, station, what) = match happened {
            Happened::KeysUp { time, station } if self.all => (time, station, Ok("keys up")),
            Happened::Waits { time, station } if self.all => {
                (time, station, Ok("waits: the channel is busy"))
            }
            Happened::KeysUp { .. } | Happened::Waits { .. } => return,
            Happened::Done { station, frame } => {
                let sent = &timeline.stations[station].sent[frame];
                // Lines are in the order of their times.
                (sent.ends.unwrap_or(sent.begins), station, Err(sent))
            }
        };
        let name = &timeline.stations[station].name;
        let line = match what {
            _ if self.json => told(time, name, what, timeline),
            Ok(what) => format!("{:>9.2} s  {name:<9}  {what}", seconds(time)),
            Err(sent) => format!(
                "{:>9.2} s  {name:<9}  {:<30}  {:>4} octets  {:>6.2} s  {}",
                seconds(time),
                shown(sent),
                sent.octets,
                sent.ends.map_or(0.0, |ends| ends.since(sent.begins).as_secs_f64()),
                outcome(sent, timeline),
            ),
        };
        let mut out = io::stdout().lock();
        self.unread |= writeln!(out, "{line}").and_then(|()| out.flush()).is_err();
    }
}

pub(crate) fn seconds(time: Instant) -> f64 {
    time.nanoseconds() as f64 / 1e9
}

/// A frame in a few words.
pub(crate) fn shown(sent: &Sent) -> String {
    let Sent { told, .. } = sent;
    let again = if told.again { ", again" } else { "" };
    match told.to.as_str() {
        "" => told.kind.clone(),
        to => format!("→ {to}  {}{again}", told.kind),
    }
}

/// What became of a frame.
pub(crate) fn outcome(sent: &Sent, timeline: &Timeline) -> String {
    let mut outcomes = Vec::new();
    if !sent.received.is_empty() || sent.altered.is_empty() && sent.collided.is_empty() {
        outcomes.push(format!("heard by {}", timeline.names(&sent.received)));
    }
    if !sent.altered.is_empty() {
        outcomes.push(format!("bit errors at {}", timeline.names(&sent.altered)));
    }
    if !sent.collided.is_empty() {
        outcomes.push(format!("collides at {}", timeline.names(&sent.collided)));
    }
    outcomes.join(", ")
}

fn told(time: Instant, name: &str, what: Result<&str, &Sent>, timeline: &Timeline) -> String {
    let names = |stations: &[usize]| -> Vec<&str> {
        stations.iter().map(|station| timeline.stations[*station].name.as_str()).collect()
    };
    let told = match what {
        Ok(what) => json!({ "time": seconds(time), "station": name, "event": what }),
        Err(sent) => json!({
            "time": seconds(sent.begins), "station": name, "event": "frame", "to": sent.told.to,
            "kind": sent.told.kind, "again": sent.told.again, "octets": sent.octets,
            "ends": sent.ends.map(seconds), "heard": names(&sent.received),
            "altered": names(&sent.altered), "collided": names(&sent.collided),
        }),
    };
    told.to_string()
}
