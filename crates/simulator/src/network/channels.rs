//! The channels that stations share.

use std::collections::BTreeMap;
use std::net::IpAddr;

use stackwright_contract::{Instant, earliest};
use stackwright_wire::Message;

use crate::{Channel, ChannelConditions, ChannelCounts, Reception, Segment};

/// All channels, and the stations on each.
#[derive(Debug)]
pub(super) struct Channels<M> {
    all: Vec<Channel<Segment<M>>>,
    /// The channel of each station that is on one, and its number there.
    seats: BTreeMap<IpAddr, (usize, usize)>,
    /// Empty between two calls: kept for its memory.
    heard: Vec<Reception<Segment<M>>>,
}

impl<M> Default for Channels<M> {
    fn default() -> Self {
        Channels { all: Vec::new(), seats: BTreeMap::new(), heard: Vec::new() }
    }
}

impl<M: Message> Channels<M> {
    pub(super) fn add(&mut self, stations: &[IpAddr], conditions: ChannelConditions, seed: u64) {
        let channel = self.all.len();
        for (seat, station) in stations.iter().enumerate() {
            let before = self.seats.insert(*station, (channel, seat));
            assert!(before.is_none(), "{station} is on a channel already, and has one radio only");
        }
        self.all.push(Channel::new(conditions, stations.len(), seed));
    }

    /// Returns the channel that both are on, and the number of each there.
    pub(super) fn between(&self, from: IpAddr, to: IpAddr) -> Option<(usize, usize, usize)> {
        let (channel, speaker) = *self.seats.get(&from)?;
        let (other, listener) = *self.seats.get(&to)?;
        (channel == other && speaker != listener).then_some((channel, speaker, listener))
    }

    pub(super) fn send(
        &mut self,
        now: Instant,
        (channel, from, to): (usize, usize, usize),
        segment: Segment<M>,
    ) {
        self.all[channel].send(now, from, Some(to), segment);
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.all.iter().map(Channel::next_deadline).fold(None, earliest)
    }

    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
        mut arrived: impl FnMut(Instant, Segment<M>),
    ) {
        for channel in &mut self.all {
            channel.handle_timeout(now, &mut self.heard);
        }
        for reception in self.heard.drain(..) {
            arrived(reception.time, reception.packet);
        }
    }

    /// Returns the conditions of the channel between two that share one.
    pub(super) fn conditions(&self, from: IpAddr, to: IpAddr) -> Option<&ChannelConditions> {
        self.between(from, to).map(|(channel, ..)| self.all[channel].conditions())
    }

    pub(super) fn counts(&self, station: IpAddr) -> Option<ChannelCounts> {
        self.seats.get(&station).map(|(channel, _)| self.all[*channel].counts())
    }

    /// Returns how many octets of payload wait, or are on the air.
    pub(super) fn payload(&self) -> usize {
        self.all.iter().flat_map(Channel::packets).map(Segment::payload).sum()
    }
}
