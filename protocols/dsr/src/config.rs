//! The configuration, and the times that follow from it.

use stackwright_contract::{Duration, PathLimits};

/// The configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The rate of the channel in bits a second, from which all times follow; `None`: they follow
    /// from what the layer below says that a frame takes.
    pub rate: Option<u32>,
    /// How many stations may relay on one route, from 1 to 9: packets are shorter by what the list
    /// of as many takes.
    pub relays: u8,
    /// Whether a station answers for another whose route it knows.
    pub answers_for_others: bool,
    /// Whether a next hop that was silent for some time is asked to acknowledge. Not needed where
    /// the layer below returns what does not arrive.
    pub asks_for_acknowledgements: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config { rate: None, relays: 5, answers_for_others: true, asks_for_acknowledgements: true }
    }
}

/// Octets of a frame around a packet, and the shortest time that a frame is taken to take: with it,
/// the jitter is that of RFC 4728 §9, 10 ms.
const FRAME: u64 = 20;
const SHORTEST: Duration = Duration::from_millis(5);

impl Config {
    /// Returns the time T that the longest frame takes: times of the specification that are shorter
    /// than a second are multiples of it.
    fn frame_time(&self, path: PathLimits) -> Duration {
        let by_rate = |rate| {
            let bits = 8 * (u64::from(path.longest).min(2048) + FRAME);
            Duration::from_micros(bits * 1_000_000 / u64::from(rate).max(1))
        };
        let told = || Duration::from_micros(path.frame_time.into());
        self.rate.map_or_else(told, by_rate).max(SHORTEST)
    }

    /// Returns the octets by which packets are shorter: DSR's header, a request for an
    /// acknowledgement, and the longest list with one address that is not a relay's.
    pub fn overhead(&self) -> u32 {
        12 + 4 * (u32::from(self.relays) + 1)
    }

    pub(crate) fn times(&self, path: PathLimits) -> Times {
        Times(self.frame_time(path))
    }
}

/// The times of RFC 4728 §9, scaled.
#[derive(Clone, Copy)]
pub(crate) struct Times(Duration);

impl Times {
    /// At most, before what many may send at once (BroadcastJitter).
    pub(crate) fn jitter(self) -> Duration {
        2 * self.0
    }

    /// How long a request that neighbours do not pass on is waited for, then those that they do
    /// (NonpropRequestTimeout, RequestPeriod to MaxRequestPeriod).
    pub(crate) fn request(self, tries: u8) -> Duration {
        match tries {
            0 | 1 => 4 * self.0,
            _ => 10 * self.0 * (1 << (tries - 2).min(4)),
        }
    }

    /// How long an acknowledgement is waited for.
    pub(crate) fn acknowledgement(self, tries: u8) -> Duration {
        4 * self.0 * (1 << tries.min(4))
    }

    /// How long a next hop that acknowledged is not asked again (MaintHoldoffTime).
    pub(crate) fn holdoff(self) -> Duration {
        16 * self.0
    }

    /// How long a packet waits for a route (SendBufferTimeout).
    pub(crate) fn waiting(self) -> Duration {
        (60 * self.0).max(Duration::from_secs(30))
    }

    /// How long a link is believed that nothing confirms (RouteCacheTimeout), or one that broke is
    /// not, by hearsay.
    pub(crate) fn link(self) -> Duration {
        (200 * self.0).max(Duration::from_secs(300))
    }
}
