//! The channel that all stations share.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stackwright_contract::Instant;
use stackwright_contract::services::Credit;
use stackwright_simulator::{
    AccessParameters, Activity, Channel, ChannelCounts, ChannelDescription, HdlcFrame, OnAir,
    Reception,
};
use stackwright_wire::{Message, Pool};

use super::Air;
use crate::clock::Clock;
use crate::drive::Driver;
use crate::waker::Waker;

/// How many frames may wait for one station to read them.
const FRAMES_MOST: usize = 256;
/// How much is kept of what stations did, for a display.
const ACTIVITIES_MOST: usize = 1 << 16;
/// The frame check sequence.
const FCS: usize = 2;

/// A channel whose time passes by the clock. It is shared: a clone is the same channel.
#[derive(Clone)]
pub struct LiveChannel {
    shared: Arc<Shared>,
}

struct Shared {
    speed: u32,
    longest: usize,
    /// When its time began, by the system's monotonic clock.
    begin: Duration,
    clock: Clock,
    state: Mutex<State>,
}

struct State {
    channel: Channel<HdlcFrame>,
    /// How far its time has come.
    now: Instant,
    stations: Vec<Station>,
    activities: VecDeque<Activity<HdlcFrame>>,
    /// Empty between two calls: kept for its memory.
    heard: Vec<Reception<HdlcFrame>>,
}

/// What a station is to be told.
#[derive(Default)]
struct Station {
    waker: Option<Waker>,
    /// Its frames that have not left, the oldest first: octets, and their marks.
    leaving: VecDeque<(usize, Option<u16>)>,
    news: VecDeque<Came>,
}

/// News for a station.
pub(super) enum Came {
    /// The oldest of its frames has left.
    Left { octets: usize, mark: Option<u16> },
    /// It heard a frame, and the check agrees.
    Frame(Vec<u8>),
}

impl LiveChannel {
    /// Makes a channel whose time begins now.
    pub fn new(description: &ChannelDescription) -> Self {
        let ChannelDescription { speed, longest, stations, .. } = description;
        let mut channel = description.channel();
        channel.keep_activities();
        let clock = Clock::start();
        let state = State {
            channel,
            now: Instant::START,
            stations: stations.iter().map(|_| Station::default()).collect(),
            activities: VecDeque::new(),
            heard: Vec::new(),
        };
        let (speed, longest) = ((*speed).max(1), *longest);
        let begin = clock.since_boot(Instant::START);
        LiveChannel {
            shared: Arc::new(Shared { speed, longest, begin, clock, state: Mutex::new(state) }),
        }
    }

    /// Returns the adapter of a station, which `driver` runs.
    ///
    /// # Errors
    /// If the operating system has no more descriptors.
    ///
    /// # Panics
    /// If there is no such station.
    pub fn station<M: Message>(
        &self,
        station: usize,
        driver: &Driver,
        pool: Arc<Pool<M>>,
    ) -> std::io::Result<Air<M>> {
        let waker = driver.waker()?;
        self.state().stations[station].waker = Some(waker);
        Ok(Air::new(self.clone(), station, driver.clock(), pool))
    }

    /// Returns how a station accesses the channel.
    ///
    /// # Panics
    /// If there is no such station.
    pub fn access(&self, station: usize) -> AccessParameters {
        self.state().channel.access(station)
    }

    /// Sets how a station accesses the channel.
    ///
    /// # Panics
    /// If there is no such station, `persistence` is not above 0, or `slot` is nothing.
    pub fn set_access(&self, station: usize, access: AccessParameters) {
        self.state().channel.set_access(station, access);
    }

    /// Returns the counters of the channel.
    pub fn counts(&self) -> ChannelCounts {
        self.state().channel.counts()
    }

    /// Returns the time on the air.
    pub fn now(&self) -> Instant {
        self.time(&self.shared.clock, self.shared.clock.now())
    }

    /// Takes what the stations did since the last time, in order; the oldest is lost where nobody
    /// takes it.
    pub fn activities(&self) -> Vec<Activity<HdlcFrame>> {
        self.state().activities.drain(..).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time on the air at a time of that clock.
    pub(super) fn time(&self, clock: &Clock, now: Instant) -> Instant {
        let passed = clock.since_boot(now).saturating_sub(self.shared.begin);
        Instant::START + passed.saturating_mul(self.shared.speed)
    }

    /// Returns when it is `at` on the air by that clock: not before.
    pub(super) fn deadline(&self, clock: &Clock, at: Instant) -> Instant {
        let nanoseconds = at.nanoseconds().div_ceil(self.shared.speed.into());
        clock.at(self.shared.begin + Duration::from_nanos(nanoseconds))
    }

    /// Returns what a station may send before a frame has left.
    pub fn room(&self) -> Credit {
        let messages = self.state().channel.conditions().queue;
        Credit { octets: messages.saturating_mul(self.shared.longest), messages }
    }

    pub(super) fn longest(&self) -> usize {
        self.shared.longest
    }

    /// Returns how long the longest frame takes by the clock, without stuffing.
    pub(super) fn frame_time(&self) -> Duration {
        let state = self.state();
        let conditions = state.channel.conditions();
        let octets = (self.shared.longest + FCS + conditions.overhead) as u64;
        let rate = conditions.rate.saturating_mul(self.shared.speed.into()).max(1);
        Duration::from_nanos(octets.saturating_mul(1_000_000_000) / rate)
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.state().channel.next_deadline()
    }

    /// Sends a frame; returns whether it has a length that is sent.
    pub(super) fn send(
        &self,
        now: Instant,
        station: usize,
        octets: &[u8],
        mark: Option<u16>,
    ) -> bool {
        if octets.is_empty() || octets.len() > self.shared.longest {
            return false;
        }
        let mut state = self.state();
        state.advance(now, station);
        let now = state.now;
        state.stations[station].leaving.push_back((octets.len(), mark));
        state.channel.send(now, station, None, HdlcFrame::new(octets));
        true
    }

    /// Moves the channel to `now`; `own` is the station that does it, and needs no wake-up.
    pub(super) fn advance(&self, now: Instant, own: usize) {
        self.state().advance(now, own);
    }

    /// Returns whether there is news for a station.
    pub(super) fn has_news(&self, station: usize) -> bool {
        !self.state().stations[station].news.is_empty()
    }

    /// Takes the oldest news of a station.
    pub(super) fn take(&self, station: usize) -> Option<Came> {
        self.state().stations[station].news.pop_front()
    }
}

impl State {
    fn advance(&mut self, now: Instant, own: usize) {
        // Drivers read their clocks at times of their own.
        self.now = self.now.max(now);
        self.channel.handle_timeout(self.now, &mut self.heard);
        for activity in self.channel.activities() {
            let station = &mut self.stations[activity.station];
            if activity.what == OnAir::Leaves
                && let Some((octets, mark)) = station.leaving.pop_front()
            {
                station.tell(Came::Left { octets, mark }, activity.station == own);
            }
            if self.activities.len() == ACTIVITIES_MOST {
                self.activities.pop_front();
            }
            self.activities.push_back(activity);
        }
        for Reception { station: index, packet, .. } in self.heard.drain(..) {
            let station = &mut self.stations[index];
            // A TNC drops what its check finds altered, and one without a program hears nothing.
            if let Some(octets) = packet.octets()
                && station.waker.is_some()
                && station.news.len() < FRAMES_MOST
            {
                station.tell(Came::Frame(octets.to_vec()), index == own);
            }
        }
    }
}

impl Station {
    /// Adds news, and wakes the station unless it is awake.
    fn tell(&mut self, came: Came, is_awake: bool) {
        if self.news.is_empty()
            && !is_awake
            && let Some(waker) = &self.waker
        {
            // A driver that cannot be woken wakes at the next deadline.
            let _ = waker.wake();
        }
        self.news.push_back(came);
    }
}
