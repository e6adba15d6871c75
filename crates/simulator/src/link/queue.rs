//! The queue of a link: which packets wait, and how long.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use stackwright_contract::{Duration, Instant};

use super::{Conditions, codel::CoDel};

/// The limits of a queue. The packet that is being sent does not wait any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Queue {
    /// The limit in octets, without framing; `None`: no limit.
    pub octets: Option<u64>,
    /// The limit in packets; `None`: no limit.
    pub packets: Option<usize>,
    /// Which packets are dropped.
    pub discipline: Discipline,
}

/// Which packets a queue drops.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Discipline {
    /// Those that arrive at a full queue.
    DropTail,
    /// Those, and those that have waited too long for too long: RFC 8289. A packet that can be
    /// marked is marked instead (RFC 7567 §4.2.1).
    CoDel {
        /// How long a packet may wait; the time of a packet of the MTU, if that is longer.
        target: Duration,
        /// How long packets may wait longer before the first is dropped.
        interval: Duration,
    },
}

impl Discipline {
    /// CoDel as RFC 8289 §4.3 and §4.4 recommend it for the Internet: 5 ms and 100 ms.
    pub const CODEL: Self = Discipline::CoDel {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
    };
}

impl Queue {
    /// A queue without limit.
    pub const UNLIMITED: Self =
        Queue { octets: None, packets: None, discipline: Discipline::DropTail };

    /// Returns a queue of `octets` octets.
    pub const fn octets(octets: u64) -> Self {
        Queue { octets: Some(octets), ..Queue::UNLIMITED }
    }

    /// Returns a queue of `packets` packets.
    pub const fn packets(packets: usize) -> Self {
        Queue { packets: Some(packets), ..Queue::UNLIMITED }
    }
}

/// The reason for a drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dropped {
    AtTail,
    /// CoDel; the packet would begin to leave then.
    ByCoDel(Instant),
}

/// The sending side of a link: it knows when each packet leaves, since the order is that of arrival
/// and the rate is known, at each time.
#[derive(Clone, Debug, Default)]
pub(super) struct Sender {
    /// When the last packet has left.
    free: Instant,
    /// The part of a nanosecond that the last packet took beyond `free`, in `1 / rate`.
    rest: u64,
    /// When each packet that waits begins to leave, and its octets. Kept only if the queue has a
    /// limit.
    waiting: VecDeque<(Instant, usize)>,
    octets: u64,
    codel: CoDel,
}

impl Sender {
    /// Returns when a packet that arrives `now` begins to leave, or why it is dropped.
    pub(super) fn turn(
        &mut self,
        conditions: &Conditions,
        now: Instant,
        octets: usize,
    ) -> Result<Instant, Dropped> {
        let start = self.free.max(now);
        let Some(rate) = conditions.rate_at(start) else { return Ok(now) };
        let Queue { octets: most, packets, discipline } = conditions.queue;
        self.forget(now);
        // A packet that is sent at once never waits.
        if start > now
            && (most.is_some_and(|most| self.octets.saturating_add(octets as u64) > most)
                || packets.is_some_and(|packets| self.waiting.len() >= packets))
        {
            return Err(Dropped::AtTail);
        }
        if let Discipline::CoDel { target, interval } = discipline {
            let longest =
                conditions.mtu_at(now).unwrap_or(octets).saturating_add(conditions.overhead);
            let least = serialisation(longest, rate) + Duration::from_nanos(1);
            let target = target.max(least);
            if self.codel.drops(target, interval, start, start.since(now)) {
                return Err(Dropped::ByCoDel(start));
            }
        }
        Ok(start)
    }

    /// Records that the packet that CoDel dropped was marked instead, and leaves.
    pub(super) fn marked(&mut self, conditions: &Conditions) {
        if let Discipline::CoDel { interval, .. } = conditions.queue.discipline {
            self.codel.marked(interval);
        }
    }

    /// Returns when a packet that arrives `now`, and is not dropped, begins to leave.
    pub(super) fn after_all(&self, conditions: &Conditions, now: Instant) -> Instant {
        let start = self.free.max(now);
        if conditions.rate_at(start).is_some() { start } else { now }
    }

    /// Records that a packet that arrived `now` leaves at `start`, as `turn` said or later. Returns
    /// when it has left.
    pub(super) fn leave(
        &mut self,
        conditions: &Conditions,
        now: Instant,
        start: Instant,
        octets: usize,
    ) -> Instant {
        let Some(rate) = conditions.rate_at(start) else { return start };
        let rate = rate.max(1);
        if start > now && (conditions.queue.octets.is_some() || conditions.queue.packets.is_some())
        {
            self.waiting.push_back((start, octets));
            self.octets += octets as u64;
        }
        let rest = if start > self.free { 0 } else { self.rest.min(rate - 1) };
        let sent =
            octets.saturating_add(conditions.overhead) as u128 * NANOSECONDS + u128::from(rest);
        self.rest = (sent % u128::from(rate)) as u64;
        self.free = start + nanoseconds(sent / u128::from(rate));
        self.free
    }

    fn forget(&mut self, now: Instant) {
        while let Some((start, octets)) = self.waiting.front()
            && *start <= now
        {
            self.octets -= *octets as u64;
            self.waiting.pop_front();
        }
    }
}

const NANOSECONDS: u128 = 1_000_000_000;

/// Returns how long `octets` octets take at a rate in octets per second, to the next nanosecond.
pub(crate) fn serialisation(octets: usize, rate: u64) -> Duration {
    nanoseconds((octets as u128 * NANOSECONDS).div_ceil(u128::from(rate.max(1))))
}

/// Returns how long `bits` bits take at a rate in octets per second, to the next nanosecond.
pub(crate) fn bits_at(bits: u64, rate: u64) -> Duration {
    nanoseconds((u128::from(bits) * NANOSECONDS).div_ceil(8 * u128::from(rate.max(1))))
}

fn nanoseconds(nanoseconds: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}
