//! What happens on a channel, a line each; at a terminal, above a picture of the last seconds.

use std::env;
use std::io::{self, IsTerminal, Write};

use serde_json::json;
use stackwright::contract::Instant;

use super::picture;
use super::timeline::{Happened, Sent, Timeline};

/// Returns the width of the terminal on standard output, if it is one.
pub(crate) fn columns() -> Option<usize> {
    let out = io::stdout();
    let moves = env::var_os("TERM").is_some_and(|term| term != "dumb");
    let size = rustix::termios::tcgetwinsize(&out).ok().filter(|_| out.is_terminal() && moves)?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Where it is said.
pub(crate) struct Lines {
    json: bool,
    /// Also say when a transmitter is on, and which station waits.
    all: bool,
    /// The width of a terminal, and how many lines of it the picture has.
    columns: Option<usize>,
    drawn: usize,
    /// What was not said yet.
    text: String,
    unread: bool,
}

impl Lines {
    pub(crate) fn new(json: bool, all: bool) -> Self {
        let columns = columns().filter(|_| !json);
        Lines { json, all, columns, drawn: 0, text: String::new(), unread: false }
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
        self.text.push_str(&line);
        self.text.push('\n');
    }

    /// Shows what there is to say, and what is on the air `now`.
    pub(crate) fn show(&mut self, timeline: &Timeline, now: Instant) {
        let draw = |columns| picture::recent(timeline, columns, now);
        let picture = self.columns.map(draw).unwrap_or_default();
        self.put(&picture);
    }

    /// Says the rest, and takes the picture away.
    pub(crate) fn end(&mut self) {
        self.put("");
    }

    fn put(&mut self, picture: &str) {
        let text = std::mem::take(&mut self.text);
        let up = match self.drawn {
            0 => String::new(),
            lines => format!("\x1b[{lines}A\x1b[J"),
        };
        self.drawn = picture.lines().count();
        if up.is_empty() && text.is_empty() && picture.is_empty() {
            return;
        }
        let mut out = io::stdout().lock();
        let wrote = write!(out, "{up}{text}{picture}").and_then(|()| out.flush());
        self.unread |= wrote.is_err();
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
