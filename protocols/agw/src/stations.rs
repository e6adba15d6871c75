//! The list of stations heard, for `H` and for programs that hear a TNC themselves.

use alloc::collections::VecDeque;

use stackwright_contract::ax25::{Addresses, DigipeaterPath};
use stackwright_contract::{CallSign, Instant};

/// Stations that are remembered; the one that was silent longest is forgotten first.
const STATIONS_MOST: usize = 128;

/// A station that was heard on a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StationHeard {
    /// The port of the TNC.
    pub port: u8,
    /// The source of its frames.
    pub call: CallSign,
    /// The digipeaters in its newest frame.
    pub path: DigipeaterPath,
    /// When it was heard for the first time, since it is remembered.
    pub first: Instant,
    /// When it was heard last.
    pub last: Instant,
    /// Its frames, since it is remembered.
    pub frames: u32,
}

impl StationHeard {
    /// Returns the digipeaters that have repeated its newest frame, in order.
    pub fn via(&self) -> impl Iterator<Item = CallSign> {
        self.path.iter().filter(|(_, repeated)| *repeated).map(|(call, _)| call)
    }
}

/// The stations that were heard lately, 128 at most.
#[derive(Clone, Debug, Default)]
pub struct StationsHeard {
    /// The newest last.
    stations: VecDeque<StationHeard>,
}

impl StationsHeard {
    /// Notes a frame of a port. Returns whether its source is new in the list.
    pub fn note(&mut self, port: u8, addresses: &Addresses, now: Instant) -> bool {
        let Addresses { source: call, path, .. } = *addresses;
        let is_it = |there: &StationHeard| (there.port, there.call) == (port, call);
        let place = self.stations.iter().position(is_it);
        let known = place.and_then(|place| self.stations.remove(place));
        if self.stations.len() >= STATIONS_MOST {
            self.stations.pop_front();
        }
        let (first, before) = known.map_or((now, 0), |known| (known.first, known.frames));
        let frames = before.saturating_add(1);
        self.stations.push_back(StationHeard { port, call, path, first, last: now, frames });
        known.is_none()
    }

    /// Returns the stations, the newest first.
    pub fn iter(&self) -> impl Iterator<Item = &StationHeard> {
        self.stations.iter().rev()
    }
}
