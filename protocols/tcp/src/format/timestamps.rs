//! Timestamps (RFC 7323).

use stackwright_contract::Instant;
use stackwright_transport::words::{MILLISECOND, Nanoseconds, SECOND};

use crate::options::TcpTimestamps;

/// After how long without a segment the newest timestamp says nothing any more (§5.5).
const OUTDATED: Nanoseconds = 24 * 24 * 3600 * SECOND;

/// The longest time that an echo is believed.
const ECHO_MOST: Nanoseconds = 600 * SECOND;

/// The timestamps of a connection, in milliseconds (§5.4: 1 ms … 1 s).
#[derive(Clone, Copy, Debug)]
pub(super) struct Timestamps {
    /// What our clock is ahead: nobody else is to know for how long this host runs (§7.1).
    offset: u32,
    /// The newest timestamp of the peer that is to be returned (TS.Recent), and when it arrived.
    recent: Option<(u32, Instant)>,
}

impl Timestamps {
    pub(super) const fn new(offset: u32) -> Self {
        Timestamps { offset, recent: None }
    }

    fn clock(&self, now: Instant) -> u32 {
        self.offset.wrapping_add((now.nanoseconds() / MILLISECOND) as u32)
    }

    /// Returns the timestamps of a segment that leaves.
    pub(super) fn said(&self, now: Instant) -> TcpTimestamps {
        let echo = self.recent.map_or(0, |(recent, _)| recent);
        TcpTimestamps { value: self.clock(now), echo }
    }

    /// Returns whether a segment is older than one that arrived before (PAWS, §5.3 R1).
    pub(super) fn is_old(&self, now: Instant, times: TcpTimestamps) -> bool {
        self.recent.is_some_and(|(recent, at)| {
            (times.value.wrapping_sub(recent) as i32) < 0 && now.nanoseconds_since(at) < OUTDATED
        })
    }

    /// Records the timestamp of an acceptable segment that begins at or before the last
    /// acknowledgement that left (§4.3).
    pub(super) fn on_heard(&mut self, now: Instant, times: TcpTimestamps) {
        self.recent = Some((times.value, now));
    }

    /// Returns how long ago the segment left whose timestamp returns (§4.1); `None`: it was none of
    /// ours.
    pub(super) fn took(&self, now: Instant, times: TcpTimestamps) -> Option<Nanoseconds> {
        let milliseconds = self.clock(now).wrapping_sub(times.echo);
        let took = u64::from(milliseconds) * MILLISECOND;
        (times.echo != 0 && took < ECHO_MOST).then_some(took.max(MILLISECOND))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::from_nanoseconds(seconds * SECOND)
    }

    /// §5.3 and §5.5.
    #[test]
    fn an_older_timestamp_is_old_until_the_newest_is_outdated() {
        let mut times = Timestamps::new(0);
        let said = |value| TcpTimestamps { value, echo: 0 };
        assert!(!times.is_old(at(1), said(7)), "nothing to compare it with");
        times.on_heard(at(1), said(u32::MAX));
        assert!(!times.is_old(at(2), said(u32::MAX)) && !times.is_old(at(2), said(3)), "it wraps");
        assert!(times.is_old(at(2), said(u32::MAX - 1)));
        assert!(!times.is_old(at(25 * 24 * 3600), said(u32::MAX - 1)));
    }

    /// §4.1.
    #[test]
    fn what_returns_tells_how_long_ago_it_left() {
        let mut times = Timestamps::new(u32::MAX - 1000);
        let said = times.said(at(1));
        assert_eq!((said.value, said.echo), (u32::MAX, 0));
        times.on_heard(at(1), TcpTimestamps { value: 77, echo: 0 });
        assert_eq!(times.said(at(2)).echo, 77);
        let heard = TcpTimestamps { value: 78, echo: said.value };
        assert_eq!(times.took(at(3), heard), Some(2 * SECOND));
        assert_eq!(times.took(at(1), heard), Some(MILLISECOND), "the clock is coarse");
        let of_another = TcpTimestamps { value: 78, echo: said.value.wrapping_add(5000) };
        assert_eq!(times.took(at(3), of_another), None);
    }
}
