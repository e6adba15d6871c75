//! A half-duplex channel that stations share: medium access, and which frames are received.
//!
//! A station that has something to send listens. While it hears another station it waits; when the
//! channel is free it draws: with the probability `persistence` it switches its transmitter on,
//! else it draws again a slot later. After the key-up it sends all that waits by then, frame by
//! frame, and switches off after the tail. This is p-persistent CSMA as a KISS TNC does it, and the
//! simplex physical layer of AX.25 v2.2.
//!
//! A station receives a frame if it hears its sender, and no other station, from the first octet to
//! the last, and does not send itself: a signal that overlaps another, be it only its key-up,
//! destroys both, and there is no capture effect. Whether stations that do not hear one another are
//! both heard by a third is up to [`Hearing`].

mod access;
mod activity;
mod agenda;
mod conditions;
mod counts;
mod description;
mod hdlc;
mod hearing;
mod station;

use fastrand::Rng;
use stackwright_contract::Instant;

pub use access::AccessParameters;
pub use activity::{Activity, OnAir};
pub use conditions::ChannelConditions;
pub use counts::ChannelCounts;
pub use description::{ChannelDescription, ChannelFlaw, StationDescription};
pub use hdlc::HdlcFrame;
pub use hearing::Hearing;

use crate::LinkPacket;
use crate::link::{bits_at, happens};
use agenda::{Agenda, What};
use station::{Flying, Frame, State, Station};

/// A channel. It holds what was offered to it until it is delivered or lost.
#[derive(Clone, Debug)]
pub struct Channel<P> {
    conditions: ChannelConditions,
    random: Rng,
    stations: Vec<Station<P>>,
    agenda: Agenda,
    counts: ChannelCounts,
    /// What the stations did, where that is kept.
    activities: Option<Vec<Activity<P>>>,
}

/// A frame that a station received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reception<P> {
    /// When the last octet arrived.
    pub time: Instant,
    /// The receiving station.
    pub station: usize,
    /// The packet.
    pub packet: P,
}

impl<P: LinkPacket> Channel<P> {
    /// Makes a channel of `stations` stations, whose randomness is derived from `seed`.
    ///
    /// # Panics
    /// If `persistence` is not above 0, or `slot` is zero: no station would ever send, or none
    /// would ever wait.
    pub fn new(conditions: ChannelConditions, stations: usize, seed: u64) -> Self {
        let access = conditions.access();
        access.check();
        let hearing = &conditions.hearing;
        let heard_by =
            |speaker| (0..stations).filter(|listener| hearing.hears(*listener, speaker)).collect();
        Channel {
            stations: (0..stations)
                .map(|speaker| Station::new(heard_by(speaker), access))
                .collect(),
            conditions,
            random: Rng::with_seed(seed),
            agenda: Agenda::default(),
            counts: ChannelCounts::default(),
            activities: None,
        }
    }

    /// Returns how a station accesses the channel.
    ///
    /// # Panics
    /// If there is no such station.
    pub fn access(&self, station: usize) -> AccessParameters {
        self.stations[station].access
    }

    /// Sets how a station accesses the channel, from its next decision on.
    ///
    /// # Panics
    /// If there is no such station, or as [`new`](Channel::new) does.
    pub fn set_access(&mut self, station: usize, access: AccessParameters) {
        access.check();
        self.stations[station].access = access;
    }

    /// Keeps what the stations do from now on, until [`activities`](Channel::activities) takes it.
    pub fn keep_activities(&mut self) {
        self.activities.get_or_insert_default();
    }

    /// Takes what the stations did since the last time, in order, where it is kept.
    pub fn activities(&mut self) -> impl Iterator<Item = Activity<P>> {
        self.activities.iter_mut().flat_map(|kept| kept.drain(..))
    }

    /// Returns how many packets of a station wait to be sent: as many as
    /// [`queue`](ChannelConditions::queue) at most.
    ///
    /// # Panics
    /// If there is no such station.
    pub fn waiting(&self, station: usize) -> usize {
        self.stations[station].waiting.len()
    }

    /// Returns the conditions of the channel.
    pub fn conditions(&self) -> &ChannelConditions {
        &self.conditions
    }

    /// Returns the counters of the channel.
    pub fn counts(&self) -> ChannelCounts {
        self.counts
    }

    /// Iterates over all packets that were offered and are neither delivered nor lost.
    pub fn packets(&self) -> impl Iterator<Item = &P> {
        self.stations.iter().flat_map(|station| {
            let flying = station.flying.iter().map(|flying| &flying.frame);
            station.waiting.iter().chain(flying).map(|frame| &frame.packet)
        })
    }

    /// Sends `packet` from the station `from` to the station `to`, or to all if it is `None`.
    ///
    /// # Panics
    /// If there is no such station.
    pub fn send(&mut self, now: Instant, from: usize, to: Option<usize>, packet: P) {
        assert!(
            to.is_none_or(|to| to < self.stations.len()),
            "a packet for a station that is not on the channel"
        );
        self.counts.offered += 1;
        let station = &mut self.stations[from];
        if self.conditions.mtu.is_some_and(|mtu| packet.octets() > mtu) {
            self.counts.too_long += 1;
        } else if station.waiting.len() >= self.conditions.queue {
            self.counts.dropped_at_tail += 1;
        } else {
            station.waiting.push_back(Frame { to, packet });
            if station.state == State::Idle {
                self.decide_at(now, from);
            }
        }
    }

    /// Returns when [`handle_timeout`](Channel::handle_timeout) is due.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.agenda.next()
    }

    /// Does all that is due `now`, and appends the received frames to `out`, in order.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Reception<P>>) {
        while let Some((time, what, station)) = self.agenda.take(now) {
            match what {
                What::Arrives => self.arrive(time, station, out),
                What::Falls => self.carrier(time, station, false),
                What::Silent => self.fall_silent(time, station),
                What::Decides => self.decide(time, station),
                What::Starts => self.start(time, station),
                What::Rises => self.carrier(time, station, true),
            }
        }
    }

    fn keep(&mut self, time: Instant, station: usize, what: impl FnOnce() -> OnAir<P>) {
        if let Some(kept) = &mut self.activities {
            kept.push(Activity { time, station, what: what() });
        }
    }

    fn decide_at(&mut self, time: Instant, station: usize) {
        self.stations[station].state = State::Deciding;
        self.agenda.add(time, What::Decides, station);
    }

    fn decide(&mut self, now: Instant, index: usize) {
        let delay = self.conditions.delay;
        let station = &mut self.stations[index];
        let AccessParameters { persistence, slot, key_up, full_duplex, .. } = station.access;
        if station.carriers > 0 && !full_duplex {
            station.state = State::Deferring;
            self.keep(now, index, || OnAir::Defers);
        } else if full_duplex || happens(&mut self.random, persistence) {
            station.state = State::KeyingUp;
            station.listen(now);
            self.counts.on_air += key_up;
            self.agenda.add(now + key_up, What::Starts, index);
            self.agenda.add(now + delay, What::Rises, index);
            self.keep(now, index, || OnAir::KeysUp);
        } else {
            self.decide_at(now + slot, index);
        }
    }

    /// Starts the next frame, or ends the transmission after the last.
    fn start(&mut self, now: Instant, index: usize) {
        let ChannelConditions { rate, overhead, delay, .. } = self.conditions;
        let station = &mut self.stations[index];
        let tail = station.access.tail;
        let left = match station.state {
            State::Sending(left) => {
                self.keep(now, index, || OnAir::Leaves);
                left
            }
            _ => station.waiting.len(),
        };
        let station = &mut self.stations[index];
        if left > 0
            && let Some(frame) = station.waiting.pop_front()
        {
            station.state = State::Sending(left - 1);
            let bits = frame.packet.air_bits().saturating_add(8 * overhead as u64);
            let takes = bits_at(bits, rate);
            let begins = self.activities.is_some().then(|| frame.packet.twin());
            station.flying.push_back(Flying { frame, begins: now + delay });
            self.counts.sent += 1;
            self.counts.on_air += takes;
            self.agenda.add(now + takes + delay, What::Arrives, index);
            self.agenda.add(now + takes, What::Starts, index);
            if let Some(packet) = begins {
                self.keep(now, index, || OnAir::Begins(packet));
            }
        } else {
            self.counts.on_air += tail;
            self.agenda.add(now + tail, What::Silent, index);
            self.agenda.add(now + tail + delay, What::Falls, index);
        }
    }

    fn fall_silent(&mut self, now: Instant, index: usize) {
        let station = &mut self.stations[index];
        station.state = State::Idle;
        station.listen(now);
        let waits = !station.waiting.is_empty();
        self.keep(now, index, || OnAir::KeysDown);
        if waits {
            self.decide_at(now, index);
        }
    }

    /// Begins or ends the signal of `speaker` at all stations that hear it.
    fn carrier(&mut self, now: Instant, speaker: usize, rises: bool) {
        for nth in 0..self.stations[speaker].heard_by.len() {
            let index = self.stations[speaker].heard_by[nth];
            let station = &mut self.stations[index];
            station.carriers = if rises { station.carriers + 1 } else { station.carriers - 1 };
            station.listen(now);
            if station.carriers == 0 && station.state == State::Deferring {
                self.decide_at(now, index);
            }
        }
    }

    fn arrive(&mut self, now: Instant, speaker: usize, out: &mut Vec<Reception<P>>) {
        let flying = self.stations[speaker].flying.pop_front();
        let Flying { frame: Frame { to, packet }, begins } =
            flying.expect("put there when it left");
        let all = 0..self.stations.len();
        for index in to.map_or(all, |to| to..to + 1).filter(|index| *index != speaker) {
            let station = &mut self.stations[index];
            if !self.conditions.hearing.hears(index, speaker) {
                self.counts.unheard += 1;
            } else if station.clear_since.is_none_or(|since| since > begins) {
                self.counts.collided += 1;
                self.keep(now, index, || OnAir::Loses { from: speaker });
            } else {
                let mut packet = packet.twin();
                let mut altered = false;
                let (rate, octets) = (self.conditions.bit_errors, packet.exposed());
                station.errors.strike(rate, octets, &mut self.random, |bit| {
                    packet.alter(bit);
                    altered = true;
                });
                self.counts.altered += u64::from(altered);
                self.counts.delivered += 1;
                self.counts.octets += packet.octets() as u64;
                self.keep(now, index, || OnAir::Receives { from: speaker, altered });
                out.push(Reception { time: now, station: index, packet });
            }
        }
    }
}
