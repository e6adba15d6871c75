//! How long a file by radio still takes: from what has arrived, and how quickly. Octets arrive in
//! bursts, and are known to have arrived some time after; until then they are taken to arrive at
//! the pace of those before them.

use std::num::NonZero;
use std::time::{Duration, Instant};

use stackwright::ax25::air_time;
use stackwright::contract::ask::PathReport;
use stackwright::xstp;

use crate::air::AirLink;

#[cfg(test)]
mod simulated;

/// Octets of a frame before the data: the header of a UI frame, and those of IPv4 and XSTP between
/// stations that compress.
const BEFORE: u64 = 16 + 12;
/// Those of XSTP as it counts them.
const HEADER: u64 = 16;
/// Octets of XSTP's longest packet in a frame of 256 octets, as the stacks by radio have it.
const PACKET: u16 = 236;
const PAYLOAD: u64 = PACKET as u64 - HEADER;
/// What passes between a burst and the next, besides the frame that answers: two key-ups of 300 ms,
/// and two times four slots of 100 ms before them.
const TURN: Duration = Duration::from_millis(1400);
/// For how long the pace that the rate allows counts, beside the pace that was seen: others use the
/// channel, and frames are lost.
const SEEN: Duration = Duration::from_secs(60);
/// Of the past, what counts at most.
const REMEMBERED: Duration = Duration::from_secs(300);
/// How often it is told.
const EVERY: Duration = Duration::from_secs(10);

/// What a link by radio carries, alone on the channel.
#[derive(Clone, Copy, Debug)]
pub(super) struct AirTime {
    /// Octets of a file a second, whole bursts with the answers to them.
    pace: f64,
    /// How long it takes until the other side has answered.
    turn: Duration,
}

impl AirTime {
    pub(super) fn of(link: &AirLink) -> Self {
        let rate = NonZero::new(link.rate).unwrap_or(NonZero::<u32>::MIN);
        let burst = u32::from(xstp::Config::radio(rate.into(), PACKET).window);
        let frame = |data| air_time((BEFORE + data) as usize, rate.get());
        let turn = frame(0) + TURN;
        let octets = PAYLOAD * u64::from(burst);
        AirTime { pace: octets as f64 / (frame(PAYLOAD) * burst + turn).as_secs_f64(), turn }
    }
}

/// A file under way.
pub(super) struct TimeLeft {
    air: AirTime,
    size: u64,
    /// Octets that are known to have arrived; at first those that were there.
    known: u64,
    /// How many are taken to have arrived, and when that was so; `None` before the first look.
    done: Option<(f64, Instant)>,
    /// Octets a second.
    pace: f64,
    since: Instant,
    told: Instant,
}

impl TimeLeft {
    pub(super) fn new(air: AirTime, size: u64, there: u64, now: Instant) -> Self {
        TimeLeft { air, size, known: there, done: None, pace: air.pace, since: now, told: now }
    }

    /// Returns whether it is told now.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now.duration_since(self.told) >= EVERY;
        if is_due {
            self.told = now;
        }
        is_due
    }

    /// Returns how long it still takes, when `moved` octets of the file were handed on, and the
    /// transport says this of its path.
    pub(super) fn left(&mut self, moved: u64, path: &PathReport, now: Instant) -> Duration {
        let here = moved.saturating_add(path.held);
        let known = here.saturating_sub(path.in_flight.saturating_add(path.waiting));
        self.known = self.known.max(known).min(self.size);
        let most = self.known.saturating_add(path.in_flight).min(self.size);
        let guess = self.done.map_or(self.known as f64, |(done, at)| {
            done + self.pace * now.duration_since(at).as_secs_f64()
        });
        let done = guess.clamp(self.known as f64, most as f64);
        let seen = (now.duration_since(self.since) + SEEN).min(REMEMBERED);
        self.pace = (self.pace + (done - guess) / seen.as_secs_f64()).max(self.air.pace / 100.0);
        self.done = Some((done, now));
        let left = Duration::try_from_secs_f64((self.size as f64 - done) / self.pace);
        // Behind the last burst its end is confirmed.
        left.unwrap_or(Duration::MAX).saturating_add(self.air.turn)
    }
}
