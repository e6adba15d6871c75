//! How long a file by radio still takes: from the rate on the air, not from the past alone. Octets
//! arrive in bursts, of which a mean knows nothing.

use std::num::NonZero;
use std::time::{Duration, Instant};

use stackwright::ax25::air_time;
use stackwright::{merged, xstp};

use crate::air::AirLink;

/// Octets of a frame before the data: the header of a UI frame, and those of IPv4 and XSTP between
/// stations that compress.
const BEFORE: u64 = 16 + 12;
/// Those of XSTP as it counts them.
const HEADER: u64 = 16;
/// Octets of XSTP's longest packet in a frame of 256 octets, as the stacks by radio have it.
const PACKET: u16 = 236;
const PAYLOAD: u64 = PACKET as u64 - HEADER;
/// What passes between a burst and the next, besides the frame that answers: two key-ups, and two
/// times some slots before them.
const TURN: Duration = Duration::from_millis(1200);
/// After how long what was seen so far says as much as the rate alone: others use the channel, and
/// frames are lost.
const SEEN: Duration = Duration::from_secs(60);
/// How often it is told.
const EVERY: Duration = Duration::from_secs(10);

/// What a link by radio carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct AirTime {
    /// In bit/s.
    rate: u32,
    /// Packets of a burst.
    burst: u64,
    /// Octets that count as moved before they have arrived, where this side stores.
    ahead: Option<u64>,
}

impl AirTime {
    /// Returns what a link carries; `stores`: from this side.
    pub(super) fn of(link: &AirLink, stores: bool) -> Self {
        let rate = NonZero::new(link.rate).unwrap_or(NonZero::<u32>::MIN);
        let config = xstp::Config::radio(rate.into(), PACKET);
        let burst = u64::from(config.window);
        // The queue of the stream is half full on average.
        let ahead = stores.then_some((config.send.octets + merged::STREAM_QUEUE / 2) as u64);
        AirTime { rate: rate.get(), burst, ahead }
    }

    /// Returns how long it takes until the other side has answered.
    fn turn(&self) -> Duration {
        air_time(BEFORE as usize, self.rate) + TURN
    }

    /// Returns how long that many octets of a file take, alone on the channel.
    fn takes(&self, octets: u64) -> Duration {
        let packets = octets.div_ceil(PAYLOAD);
        let bursts = packets.div_ceil(self.burst);
        let frame = |data| air_time((BEFORE + data) as usize, self.rate);
        let (last, full) = (octets % PAYLOAD, (octets / PAYLOAD) as u32);
        let data = frame(PAYLOAD) * full + if last == 0 { Duration::ZERO } else { frame(last) };
        data + self.turn() * bursts as u32
    }
}

/// A file under way.
pub(super) struct TimeLeft {
    air: AirTime,
    size: u64,
    /// Octets that were there before.
    there: u64,
    since: Instant,
    told: Instant,
}

impl TimeLeft {
    pub(super) fn new(air: AirTime, size: u64, there: u64, now: Instant) -> Self {
        TimeLeft { air, size, there, since: now, told: now }
    }

    /// Returns whether it is told now.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now.duration_since(self.told) >= EVERY;
        if is_due {
            self.told = now;
        }
        is_due
    }

    /// Returns how long it still takes, when `moved` octets of the file are moved.
    pub(super) fn left(&self, moved: u64, now: Instant) -> Duration {
        let told = moved.saturating_sub(self.there);
        let arrived = match self.air.ahead {
            // It was taken when a burst was answered, so all of that is full; at the end of a file,
            // half of a burst less, on average.
            Some(ahead) if moved < self.size => told.saturating_sub(ahead),
            Some(ahead) => told.saturating_sub(ahead - self.air.burst * PAYLOAD / 2),
            None => told,
        };
        // Behind the last burst its end is confirmed.
        let left = self.air.takes(self.size.saturating_sub(self.there + arrived)) + self.air.turn();
        // Before anything has arrived, nothing was seen.
        if arrived == 0 {
            return left;
        }
        let seen = |time: Duration| (time + SEEN).as_secs_f64();
        let took = now.duration_since(self.since);
        left.mul_f64(seen(took) / seen(self.air.takes(arrived)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn air(stores: bool) -> AirTime {
        let address = crate::address::Address::parse("x://N0BBB@h/").expect("an address");
        AirTime::of(&AirLink::read(&address, "rate=1200").expect("a link"), stores)
    }

    /// As was measured: 10 KB in two and a half bursts of 27 s.
    #[test]
    fn bursts_and_headers_count() {
        let seconds = air(false).takes(10_240).as_secs();
        assert!((80..=88).contains(&seconds), "{seconds}");
    }

    /// Octets arrive by bursts, and every third frame is sent twice: from the second minute on, the
    /// error is less than a fifth, but for the last burst.
    #[test]
    fn what_is_left_is_right_from_the_second_minute_on() {
        for stores in [false, true] {
            let (air, size, begin) = (air(stores), 60_000, Instant::now());
            let took = |octets| air.takes(octets).mul_f64(4.0 / 3.0);
            let left = TimeLeft::new(air, size, 0, begin);
            for burst in 1.. {
                let arrived = burst * 19 * PAYLOAD;
                // Stored: with what waits here.
                let moved = if stores { arrived + 13_064 } else { arrived };
                if moved >= size {
                    break;
                }
                let now = begin + took(arrived);
                let rest = took(size).saturating_sub(took(arrived));
                let ratio = left.left(moved, now).as_secs_f64() / rest.as_secs_f64();
                let is_last = rest < Duration::from_secs(30);
                let is_right = (0.8..1.2).contains(&ratio);
                assert!(is_right || is_last || now - begin < SEEN, "{burst}: {ratio}");
            }
        }
    }
}
