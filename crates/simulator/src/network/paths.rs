//! The limits of paths, indicated to adapters that have asked for them.

use std::collections::BTreeMap;
use std::mem;
use std::net::{IpAddr, SocketAddr};

use stackwright_contract::{Duration, Instant, PathLimits};
use stackwright_wire::Message;

use super::Network;
use crate::link::serialisation;
use crate::segments::DATAGRAM_HEADERS;
use crate::{Segment, SegmentWord};

/// The largest payload of UDP over IPv4, in octets.
pub(crate) const LONGEST: usize = 65_507;

/// The paths that were asked about, and the last answer for each.
#[derive(Debug, Default)]
pub(super) struct Paths {
    told: BTreeMap<(IpAddr, IpAddr), PathLimits>,
    /// Whether links may have changed since.
    stale: bool,
}

impl Paths {
    /// Records that a link has changed.
    pub(super) fn changed(&mut self) {
        self.stale = !self.told.is_empty();
    }

    pub(super) fn is_stale(&self) -> bool {
        self.stale
    }
}

impl<M: Message> Network<M> {
    /// Returns how long the longest frame occupies the link from `from` to `to`; `None` if its rate
    /// or the length of its frames is without limit.
    pub(crate) fn frame_time(&self, from: IpAddr, to: IpAddr) -> Option<Duration> {
        let (rate, mtu, overhead) = self.bounds(from, to);
        Some(serialisation(mtu?.saturating_add(overhead), rate?))
    }

    /// Returns the limits of datagrams on the link from `from` to `to`.
    fn path(&self, from: IpAddr, to: IpAddr) -> PathLimits {
        let (_, mtu, _) = self.bounds(from, to);
        let longest = mtu.map_or(LONGEST, |mtu| mtu.saturating_sub(DATAGRAM_HEADERS).min(LONGEST));
        let frame_time = self.frame_time(from, to).map_or(0, |time| time.as_nanos().div_ceil(1000));
        let frame_time = u32::try_from(frame_time).unwrap_or(u32::MAX);
        PathLimits { frame_time, ..PathLimits::of_longest(longest) }
    }

    /// The rate of a link or channel, the longest packet, and its framing.
    fn bounds(&self, from: IpAddr, to: IpAddr) -> (Option<u64>, Option<usize>, usize) {
        let (from, to) = (self.place_of(from), self.place_of(to));
        match self.channels.conditions(from, to) {
            Some(channel) => (Some(channel.rate), channel.mtu, channel.overhead),
            None => {
                let link = self.links.conditions(from, to);
                (link.rate, link.mtu, link.overhead)
            }
        }
    }

    /// Answers with the limits of the path, now and whenever they have changed.
    pub(super) fn tell_path(
        &mut self,
        now: Instant,
        from: IpAddr,
        to: IpAddr,
        arrivals: &mut Vec<(Instant, Segment<M>)>,
    ) {
        let path = self.path(from, to);
        self.paths.told.insert((from, to), path);
        arrivals.push((now, told(from, to, path)));
    }

    /// Indicates what has changed.
    pub(super) fn tell_changes(&mut self, now: Instant, arrivals: &mut Vec<(Instant, Segment<M>)>) {
        if !mem::take(&mut self.paths.stale) {
            return;
        }
        let mut all = mem::take(&mut self.paths.told);
        for ((from, to), before) in &mut all {
            let path = self.path(*from, *to);
            if mem::replace(before, path) != path {
                arrivals.push((now, told(*from, *to, path)));
            }
        }
        self.paths.told = all;
    }
}

/// Makes the network's report of a path, to the adapter that sends there.
fn told<M>(from: IpAddr, to: IpAddr, path: PathLimits) -> Segment<M> {
    let [local, remote] = [from, to].map(|address| SocketAddr::new(address, 0));
    Segment::new(remote, local, 0, SegmentWord::Path(path))
}
