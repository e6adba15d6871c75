//! Stations with TNCs on one half-duplex channel, above the rules of the air.

use std::collections::BTreeMap;

use stackwright_ax25::header::Addresses;
use stackwright_ax25::{AirRules, AirRulesConfig, Ax25, Config};
use stackwright_compose::Over;
use stackwright_contract::services::{
    AssociationIndication, Credit, Datagrams, FramesIndication, FramesRequest, Streams,
    StreamsRequest,
};
use stackwright_contract::{
    Address, CallSign, Context, Duration, Either, Handle, IndicationOf, Instant, Outlet,
    Participant, Protocol as _, RequestOf, RequestTo, earliest,
};
use stackwright_simulator::{Channel, ChannelConditions, LinkPacket, Reception};
use stackwright_wire::check::Crc16;
use stackwright_wire::{BufferTree, Message};

pub(crate) type Stack = Over<Ax25<BufferTree>, AirRules<BufferTree>>;
pub(crate) type Told = AssociationIndication<Streams<BufferTree>>;
pub(crate) type Heard = AssociationIndication<Datagrams<BufferTree>>;

pub(crate) fn call(text: &str) -> CallSign {
    text.parse().expect("a call sign")
}

pub(crate) fn station(text: &str) -> Participant {
    routed(text, 0xf0, 0)
}

pub(crate) fn routed(text: &str, pid: u8, route: u16) -> Participant {
    Address::Station { call: call(text), pid, route }.into()
}

pub(crate) fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

pub(crate) fn octets(message: &BufferTree) -> Vec<u8> {
    let mut octets = vec![0; message.len()];
    message.copy_to(&mut octets);
    octets
}

/// A frame on the air: with its frame check.
struct Radio {
    id: u64,
    octets: Vec<u8>,
}

impl LinkPacket for Radio {
    fn octets(&self) -> usize {
        self.octets.len()
    }

    fn twin(&self) -> Self {
        Radio { id: self.id, octets: self.octets.clone() }
    }

    fn alter(&mut self, bit: u64) {
        let bits = 8 * self.octets.len() as u64;
        let bit = bit % bits;
        self.octets[bit as usize / 8] ^= 1 << (bit % 8);
    }
}

/// What happens to a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Lost,
    Doubled,
    Altered,
}

/// What a TNC was given, and has not sent.
struct Waiting {
    id: u64,
    station: usize,
    port: u8,
    mark: Option<u16>,
    cost: Credit,
}

pub(crate) struct Station {
    pub(crate) stack: Stack,
    pub(crate) cx: Context,
    pub(crate) call: CallSign,
    pub(crate) told: Vec<Told>,
    pub(crate) heard: Vec<Heard>,
    /// Frames that were handed to the TNC.
    pub(crate) sent: Vec<Vec<u8>>,
    /// Whether the TNC is there.
    up: bool,
}

pub(crate) struct Air {
    channel: Channel<Radio>,
    pub(crate) stations: Vec<Station>,
    now: Instant,
    ids: u64,
    waiting: Vec<Waiting>,
    /// What happens to the n-th frame.
    pub(crate) fates: BTreeMap<u64, Fate>,
    /// Whether TNCs say when a frame has left.
    pub(crate) says_left: bool,
    received: Vec<Reception<Radio>>,
}

/// Words of a stack that were not handled yet.
#[derive(Default)]
struct Words {
    told: Vec<Told>,
    heard: Vec<Heard>,
    requests: Vec<FramesRequest<BufferTree>>,
}

impl Outlet<Stack> for Words {
    fn indicate(&mut self, indication: IndicationOf<Stack>) {
        match indication {
            Either::Left(told) => self.told.push(told),
            Either::Right(heard) => self.heard.push(heard),
        }
    }

    fn request(&mut self, request: RequestOf<Stack>) {
        self.requests.push(request);
    }
}

const TNC: Credit = Credit { octets: 1 << 14, messages: 64 };

impl Air {
    pub(crate) fn new(conditions: ChannelConditions, configs: Vec<Config>, seed: u64) -> Self {
        Self::ruled(conditions, configs, seed, |_| None)
    }

    /// Stations that transmit a share of the time, in percent.
    pub(crate) fn ruled(
        conditions: ChannelConditions,
        configs: Vec<Config>,
        seed: u64,
        duty: impl Fn(usize) -> Option<u8>,
    ) -> Self {
        let rules = |index: usize, config: &Config| {
            let mut rules = AirRulesConfig::of(config.call);
            rules.calls.extend(&config.aliases);
            (rules.duty, rules.rate) = (duty(index), config.rate);
            (rules.identification, rules.encryption) = (None, true);
            AirRules::new(rules)
        };
        let stations = configs.into_iter().enumerate().map(|(index, config)| Station {
            call: config.call,
            stack: Over::new(Ax25::new(config.clone()), rules(index, &config)),
            cx: Context::new(seed ^ index as u64),
            told: Vec::new(),
            heard: Vec::new(),
            sent: Vec::new(),
            up: false,
        });
        let stations: Vec<_> = stations.collect();
        let mut air = Air {
            channel: Channel::new(conditions, stations.len(), seed),
            stations,
            now: Instant::START,
            ids: 0,
            waiting: Vec::new(),
            fates: BTreeMap::new(),
            says_left: true,
            received: Vec::new(),
        };
        for station in 0..air.stations.len() {
            air.set_up(station, true);
        }
        air
    }

    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    /// How many frames were handed to TNCs.
    pub(crate) fn frames(&self) -> u64 {
        self.ids
    }

    /// A TNC comes or goes.
    pub(crate) fn set_up(&mut self, station: usize, up: bool) {
        self.stations[station].up = up;
        self.waiting.retain(|waiting| waiting.station != station);
        self.indicate(station, FramesIndication::State { port: 0, up });
        if up {
            self.indicate(station, FramesIndication::Credit { port: 0, credit: TNC });
        }
        self.flush(station);
    }

    pub(crate) fn ask(&mut self, station: usize, request: RequestTo<Stack>) {
        let mut words = Words::default();
        let there = &mut self.stations[station];
        there.cx.set_now(self.now);
        there.stack.handle_request(&there.cx, request, &mut words);
        self.handle(station, words);
        self.flush(station);
    }

    pub(crate) fn ask_stream(&mut self, station: usize, request: StreamsRequest<BufferTree>) {
        self.ask(station, Either::Left(request));
    }

    fn indicate(&mut self, station: usize, indication: FramesIndication<BufferTree>) {
        let mut words = Words::default();
        let there = &mut self.stations[station];
        there.cx.set_now(self.now);
        there.stack.handle_indication(&there.cx, indication, &mut words);
        self.handle(station, words);
    }

    fn flush(&mut self, station: usize) {
        for round in 0.. {
            let there = &mut self.stations[station];
            if !there.stack.wants_flush() {
                break;
            }
            assert!(round < 100, "it gathers something with every flush");
            let mut words = Words::default();
            there.cx.set_now(self.now);
            there.stack.flush(&there.cx, &mut words);
            self.handle(station, words);
        }
    }

    fn handle(&mut self, station: usize, words: Words) {
        self.stations[station].told.extend(words.told);
        self.stations[station].heard.extend(words.heard);
        for request in words.requests {
            let FramesRequest::Send { port, batch, mark } = request else { continue };
            let cost = batch.cost();
            let mut octets = octets(&batch.into_single());
            let there = &mut self.stations[station];
            assert!(there.up, "a frame for a TNC that is not there");
            there.sent.push(octets.clone());
            let (addresses, _) = Addresses::decode(&octets).expect("it was just made");
            let repeats = addresses.path.iter().any(|(call, done)| done && call == there.call);
            let owns = |call: CallSign| call.octets()[..6] == there.call.octets()[..6];
            assert!(owns(addresses.source) || repeats, "another station's call sign");
            octets.extend(Crc16::of(&octets).to_le_bytes());
            self.ids += 1;
            let id = self.ids;
            self.waiting.push(Waiting { id, station, port, mark, cost });
            let fate = self.fates.get(&id);
            let mut frame = Radio { id, octets };
            if matches!(fate, Some(Fate::Lost | Fate::Altered)) {
                frame.alter(77); // its time on the air is the same
            }
            if fate == Some(&Fate::Doubled) {
                self.channel.send(self.now, station, None, frame.twin());
            }
            self.channel.send(self.now, station, None, frame);
        }
    }

    /// Does what is next. Returns `false` where nothing is.
    pub(crate) fn step(&mut self) -> bool {
        let stations = self.stations.iter().filter(|station| station.up);
        let deadlines = stations.filter_map(|station| station.stack.next_deadline()).min();
        let Some(next) = earliest(self.channel.next_deadline(), deadlines) else { return false };
        self.now = self.now.max(next);
        let mut received = std::mem::take(&mut self.received);
        self.channel.handle_timeout(self.now, &mut received);
        self.departures();
        for reception in received.drain(..) {
            let frame = &reception.packet.octets;
            if Crc16::of(frame) != Crc16::GOOD || !self.stations[reception.station].up {
                continue; // the TNC's check
            }
            let message = BufferTree::with_headroom(100, &frame[..frame.len() - 2]);
            let delivered = FramesIndication::Delivered { port: 0, batch: message.into() };
            self.indicate(reception.station, delivered);
        }
        self.received = received;
        for station in 0..self.stations.len() {
            let there = &mut self.stations[station];
            if there.up && there.stack.next_deadline().is_some_and(|at| at <= self.now) {
                let mut words = Words::default();
                there.cx.set_now(self.now);
                there.stack.handle_timeout(&there.cx, &mut words);
                let again = there.stack.next_deadline();
                assert!(again.is_none_or(|at| at > self.now), "it is late for ever");
                self.handle(station, words);
            }
            self.flush(station);
        }
        true
    }

    /// Tells what has left.
    fn departures(&mut self) {
        let there: Vec<u64> = self.channel.packets().map(|frame| frame.id).collect();
        let (waiting, left): (Vec<_>, Vec<_>) =
            self.waiting.drain(..).partition(|waiting| there.contains(&waiting.id));
        self.waiting = waiting;
        for Waiting { station, port, mark, cost, .. } in left {
            self.indicate(station, FramesIndication::Credit { port, credit: cost });
            if let Some(mark) = mark
                && self.says_left
            {
                self.indicate(station, FramesIndication::Left { port, mark });
            }
        }
    }

    /// Runs until `done`, or for so long. Returns whether it is done.
    pub(crate) fn run_until(
        &mut self,
        limit: Duration,
        mut done: impl FnMut(&mut Self) -> bool,
    ) -> bool {
        let end = self.now + limit;
        loop {
            if done(self) {
                return true;
            }
            if !self.step() || self.now > end {
                return done(self);
            }
        }
    }
}
