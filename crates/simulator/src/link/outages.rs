//! Outages: when a link is down.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use stackwright_contract::{Duration, Instant};

/// When a link is down. What begins to leave then is lost, since the sender is not told.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Outages {
    /// Never.
    None,
    /// During each of these spans.
    #[serde(with = "spans")]
    Spans(Vec<Range<Instant>>),
    /// Whenever there is no pass.
    Passes(Passes),
}

/// A link that is up while a satellite is above the horizon.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Passes {
    /// From the beginning of a pass to that of the next.
    pub period: Duration,
    /// How long a pass lasts.
    pub length: Duration,
    /// When the first pass begins, after the run began.
    pub first: Duration,
}

impl Outages {
    /// Whether the link is down at that time.
    pub fn is_down(&self, time: Instant) -> bool {
        match self {
            Outages::None => false,
            Outages::Spans(spans) => spans.iter().any(|span| span.contains(&time)),
            Outages::Passes(passes) => !passes.is_up(time),
        }
    }

    /// Returns when, after `time`, the link goes down, or up again; `None` if it never does.
    pub fn next_change(&self, time: Instant) -> Option<Instant> {
        match self {
            Outages::None => None,
            Outages::Spans(spans) => {
                let down = self.is_down(time);
                let edges = spans.iter().flat_map(|span| [span.start, span.end]);
                // Between two spans that touch or overlap, an edge is no change.
                edges.filter(|edge| *edge > time && self.is_down(*edge) != down).min()
            }
            Outages::Passes(passes) => passes.next_change(time),
        }
    }

    /// Returns when, at `time` or after it, the link is up; `None` if it never is.
    pub(super) fn next_up(&self, time: Instant) -> Option<Instant> {
        if self.is_down(time) { self.next_change(time) } else { Some(time) }
    }
}

impl Passes {
    /// Returns how far into its period `time` is; `None` before the first pass.
    fn phase(&self, time: Instant) -> Option<u128> {
        let first = Instant::START + self.first;
        (time >= first).then(|| time.since(first).as_nanos() % self.period.as_nanos().max(1))
    }

    fn is_up(&self, time: Instant) -> bool {
        self.phase(time).is_some_and(|phase| phase < self.length.as_nanos())
    }

    fn next_change(&self, time: Instant) -> Option<Instant> {
        let Some(phase) = self.phase(time) else {
            return (!self.length.is_zero()).then(|| Instant::START + self.first);
        };
        let (period, length) = (self.period.as_nanos(), self.length.as_nanos());
        if length == 0 || length >= period {
            return None;
        }
        let edge = if phase < length { length } else { period };
        Some(time + Duration::from_nanos(u64::try_from(edge - phase).unwrap_or(u64::MAX)))
    }
}

/// Serializes spans as pairs of nanoseconds: the contract's time has no serialization.
mod spans {
    use std::ops::Range;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use stackwright_contract::Instant;

    pub(super) fn serialize<S: Serializer>(
        spans: &[Range<Instant>],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let pair = |span: &Range<Instant>| (span.start.nanoseconds(), span.end.nanoseconds());
        spans.iter().map(pair).collect::<Vec<_>>().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<Range<Instant>>, D::Error> {
        let pairs = Vec::<(u64, u64)>::deserialize(from)?;
        let span = |(start, end)| Instant::from_nanoseconds(start)..Instant::from_nanoseconds(end);
        Ok(pairs.into_iter().map(span).collect())
    }
}
