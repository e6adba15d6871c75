//! Traces: the record of a run, so that two runs can be compared.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, RwLock};

use stackwright_contract::{Instant, Listener, PathLimits};
use stackwright_wire::{Leaf, Message};

use crate::hash::Hash;
use crate::{Drops, Segment, SegmentWord};

/// One entry of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceLine {
    /// Its time.
    pub time: Instant,
    /// The first address of its station; `None` for a station without one.
    pub station: Option<IpAddr>,
    /// What happened.
    pub what: String,
}

impl fmt::Display for TraceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>12.6} ", self.time.nanoseconds() as f64 / 1e9)?;
        match self.station {
            Some(address) => write!(f, "{address:<12} ")?,
            None => write!(f, "{:<12} ", "-")?,
        }
        f.write_str(&self.what)
    }
}

/// The record of a run, in order.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    lines: Vec<TraceLine>,
    hash: Hash,
}

impl Trace {
    /// Returns the lines so far.
    pub fn lines(&self) -> &[TraceLine] {
        &self.lines
    }

    /// Returns a hash that is equal for equal lines and equal arriving octets.
    pub fn hash(&self) -> u64 {
        self.hash.value()
    }

    pub(crate) fn note(
        &mut self,
        time: Instant,
        station: Option<IpAddr>,
        what: fmt::Arguments<'_>,
    ) {
        let line = TraceLine { time, station, what: what.to_string() };
        self.hash.add(&time.nanoseconds().to_le_bytes());
        self.hash.say(format_args!("{station:?} {}", line.what));
        self.lines.push(line);
    }

    pub(crate) fn arrival<M: Message>(&mut self, time: Instant, segment: &Segment<M>) {
        let Segment { from, to, word, .. } = segment;
        let station = Some(to.ip());
        match word {
            SegmentWord::Octets(message) | SegmentWord::Datagram(message) => {
                self.note(
                    time,
                    station,
                    format_args!("{} {} {from} > {to}", word.noun(), message.len()),
                );
                for leaf in message.leaves() {
                    if let Leaf::Octets(octets) = leaf {
                        self.hash.add(octets);
                    }
                }
            }
            SegmentWord::Ask { window }
            | SegmentWord::Answer { window }
            | SegmentWord::Window(window) => {
                self.note(time, station, format_args!("{} {window} {from} > {to}", word.noun()));
            }
            SegmentWord::Path(path) => {
                let PathLimits { longest, frame_time, .. } = path;
                self.note(time, station, format_args!("path {longest} {frame_time} {from} > {to}"));
            }
            SegmentWord::Finish | SegmentWord::Reset { .. } | SegmentWord::AskPath => {
                self.note(time, station, format_args!("{} {from} > {to}", word.noun()));
            }
        }
    }
}

/// Whoever holds the lock of a trace, or of drops, only appends or counts.
pub(crate) const UNBROKEN: &str = "nothing panics while it writes";

/// Collects what the protocols of one station note: for a trace, and counted.
pub(crate) struct Notes {
    pub(crate) trace: Option<Arc<RwLock<Trace>>>,
    pub(crate) drops: Option<Arc<Mutex<Drops>>>,
    pub(crate) station: Option<IpAddr>,
}

impl Notes {
    fn note(&self, now: Instant, what: fmt::Arguments<'_>) {
        if let Some(trace) = &self.trace {
            trace.write().expect(UNBROKEN).note(now, self.station, what);
        }
    }
}

impl Listener for Notes {
    fn dropped(&mut self, now: Instant, protocol: &'static str, reason: &'static str) {
        if let Some(drops) = &self.drops {
            drops.lock().expect(UNBROKEN).count(protocol, reason);
        }
        self.note(now, format_args!("{protocol} dropped: {reason}"));
    }

    fn event(&mut self, now: Instant, protocol: &'static str, what: fmt::Arguments<'_>) {
        self.note(now, format_args!("{protocol}: {what}"));
    }
}
