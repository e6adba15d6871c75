//! AX.25 v2.2: the link layer of packet radio.
//!
//! It provides two services. Its left face is `Streams`: octets over a link, cut into I frames of
//! the length that gets most through, acknowledged and in order. Its right face is `Datagrams`: UI
//! frames, which nobody acknowledges; an association with [`Participant::OTHER_END`] is a port of
//! the TNC itself, and carries whole frames. Both use one TNC, so it is one protocol: whose frame
//! leaves next, and what is heard on the channel, concerns both.
//!
//! | file | what |
//! | --- | --- |
//! | `config.rs`, `described.rs` | the configuration; its description in a file |
//! | `xid.rs` | the information of XID |
//! | `segment.rs` | segments of longer messages |
//! | `syntax.rs` | the syntax of a frame, for programs that display packets |
//! | `table.rs` | what a link does in each state, as data |
//! | `link/` | one link: states, windows, timers |
//! | `links.rs` | all of them |
//! | `streams.rs`, `datagrams.rs` | the two faces |
//! | `raw.rs` | whole frames, as they are heard and sent |
//! | `receive.rs`, `send.rs` | from below, and downward |
//! | `rules/` | the rules of the air, a layer of its own below |
//! | `routes.rs` | digipeaters to a peer |
//! | `digipeater.rs`, `repeated.rs` | this station as a digipeater; what it repeated lately |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod config;
mod datagrams;
mod described;
mod digipeater;
mod link;
mod links;
mod raw;
mod receive;
mod repeated;
mod routes;
mod rules;
pub mod segment;
mod send;
mod streams;
mod syntax;
pub mod xid;

pub use stackwright_contract::ax25 as header;

pub use config::{Config, Digipeating, FrameLength, LinkVersion, Route, air_time};
pub use described::{described, described_rules};
pub use link::LinkState;
pub use rules::{AirRules, AirRulesConfig, Beacon, Identification, TRANSMITTED, Transmitted};
pub use syntax::{EXTENDED_SYNTAX, SYNTAX};

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use stackwright_contract::ask::{
    Ask, Counters, FrameTime, Longest, PacketCounts, Peer, Question, RoundTrip,
};
use stackwright_contract::services::{Credit, Datagrams, Frames, Streams};
use stackwright_contract::{
    Address, Arrivals, Both, CallSign, Context, Either, Facts, Guarantees, Handle, IndicationTo,
    Instant, NameAbove, Outlet, Participant, Protocol, RequestTo,
};
use stackwright_wire::{Message, Pool};

use datagrams::Datagram;
use header::{HEAD_MOST, Modulus, pid};
use link::{Act, HEADROOM, Key, Learned, Link};
use links::Links;
use repeated::Repeated;
use routes::Routes;
use send::{Reply, Unacknowledged};

const NAME: &str = "ax25";

/// Ports of one TNC: KISS has four bits for them.
pub(crate) const PORTS_MOST: usize = 16;
/// Peers of which something is remembered.
const PEERS_MOST: usize = 64;
/// Blocks that are kept for frames.
const BLOCKS_MOST: usize = 128;

/// AX.25, over the frames of a TNC.
pub struct Ax25<M: Message> {
    config: Config,
    ports: [Port; PORTS_MOST],
    links: Links<M>,
    /// Listeners by their call sign; what is open is a link of that name.
    streams: Arrivals<CallSign, Handle>,
    /// Listeners by their call sign and protocol.
    datagrams: Arrivals<(CallSign, u8), Datagram>,
    routes: Routes,
    repeated: Repeated,
    /// What was learned of peers, the newest last.
    peers: VecDeque<(CallSign, Learned)>,
    /// Frames that answer, and those that are repeated.
    replies: VecDeque<Reply<M>>,
    /// Frames from one call sign of the station to another: port, frame, mark.
    looped: VecDeque<(u8, M, Option<u16>)>,
    /// UI frames, and raw ones.
    ui: VecDeque<Unacknowledged<M>>,
    /// The associations that hear raw frames.
    raw: Vec<Handle>,
    /// Marks under way: port, mark, and the link whose T1 starts.
    marks: VecDeque<(u8, u16, Handle)>,
    mark: u16,
    /// Whether something may leave.
    due: bool,
    /// Empty between two words: kept for its memory.
    acts: VecDeque<Act<M>>,
    pool: Arc<Pool<M>>,
}

/// A port of a TNC.
#[derive(Clone, Copy)]
struct Port {
    /// Whether the TNC is there.
    is_up: bool,
    /// Whether it has said of a frame that it left.
    says_left: bool,
    credit: Credit,
    /// Which link sends next.
    turn: usize,
}

/// A link, for displays and tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkStatus {
    /// The call sign of this station.
    pub local: CallSign,
    /// The call sign of the peer.
    pub remote: CallSign,
    /// Its state.
    pub state: LinkState,
    /// How it counts.
    pub modulus: Modulus,
    /// Octets that it holds, in both directions.
    pub held: usize,
    /// Which of T1 and T3 runs, behind a space.
    pub timers: &'static str,
}

type Out<'a, M> = &'a mut dyn Outlet<Ax25<M>>;

impl<M: Message> Ax25<M> {
    /// Makes a station, with memory of its own.
    ///
    /// # Panics
    /// Where a number of the configuration is out of its range.
    pub fn new(config: Config) -> Self {
        let block = HEADROOM + config.longest;
        Self::sharing(config, Arc::new(Pool::new(block, BLOCKS_MOST)))
    }

    /// Makes a station with the pool of the layers around it: each uses the blocks again that the
    /// others have released, and no frame needs an allocation. A block has 89 octets more than the
    /// longest information.
    ///
    /// # Panics
    /// Where a number of the configuration is out of its range.
    pub fn sharing(config: Config, pool: Arc<Pool<M>>) -> Self {
        config.check();
        Ax25 {
            ports: [Port { is_up: false, says_left: false, credit: Credit::NONE, turn: 0 };
                PORTS_MOST],
            links: Links::default(),
            streams: Arrivals::new(),
            datagrams: Arrivals::new(),
            routes: Routes::new(&config.routes),
            repeated: Repeated::default(),
            peers: VecDeque::new(),
            replies: VecDeque::new(),
            looped: VecDeque::new(),
            ui: VecDeque::new(),
            raw: Vec::new(),
            marks: VecDeque::new(),
            mark: 0,
            due: false,
            acts: VecDeque::new(),
            pool,
            config,
        }
    }

    /// Returns the links, in no order.
    pub fn links(&self) -> impl Iterator<Item = LinkStatus> {
        self.links.iter().map(|(_, link)| LinkStatus {
            local: link.key.local,
            remote: link.key.remote,
            state: link.state,
            modulus: link.modulus,
            held: link.held(),
            timers: link.timers(),
        })
    }

    /// Returns the route of this number, as in [`Address::Station`].
    pub fn route(&self, number: u16) -> Option<Route> {
        self.routes.get(number)
    }

    fn find(&self, key: Key) -> Option<Handle> {
        self.links.find(key)
    }

    /// Returns the air time of the longest frame on a port, in microseconds.
    fn frame_time(&self, port: u8) -> u32 {
        u32::try_from(self.config.air(port, self.config.longest).as_micros()).unwrap_or(u32::MAX)
    }

    fn is_up(&self, port: u8) -> bool {
        self.ports.get(usize::from(port)).is_some_and(|port| port.is_up)
    }

    /// Returns the version that a peer is asked for, and what was learned of it.
    fn known(&self, peer: CallSign) -> (LinkVersion, Learned) {
        let said = self.config.peers.iter().find(|(call, _)| *call == peer);
        let learned = self.peers.iter().find(|(call, _)| *call == peer);
        let learned = learned.map_or_else(Learned::default, |(_, learned)| *learned);
        let version = match said.map_or(self.config.version, |(_, version)| *version) {
            LinkVersion::Auto if learned.modulus == Some(Modulus::Eight) => LinkVersion::V20,
            version => version,
        };
        (version, learned)
    }

    fn learn(&mut self, peer: CallSign, learned: Learned) {
        let before = self.peers.iter().position(|(call, _)| *call == peer);
        if let Some(before) = before {
            self.peers.remove(before);
        } else if self.peers.len() >= PEERS_MOST {
            self.peers.pop_front();
        }
        self.peers.push_back((peer, learned));
    }
}

impl<M: Message> Protocol for Ax25<M> {
    /// What both faces promise together, as of two protocols beside each other: of streams, that
    /// all octets arrive, in order. UI frames come at most once, and checked.
    const FACTS: Facts = Facts {
        gives: Guarantees::RELIABLE
            .and(Guarantees::ORDERED)
            .and(Guarantees::ONCE)
            .and(Guarantees::CHECKED),
        header_room: HEAD_MOST,
        reads_payload: true,
        ..Facts::named(NAME)
    };
    type Provides = Both<Streams<M>, Datagrams<M>>;
    type Uses = Frames<M>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            Either::Left(request) => self.on_streams(cx, request, out),
            Either::Right(request) => self.on_datagrams(cx, request, out),
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        self.on_frames(cx, indication, out);
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        let mut place = 0;
        while let Some(name) = self.links.at(place) {
            let is_due = |link: &Link<M>| {
                link.deadline().is_some_and(|at| at <= cx.now()) && self.is_up(link.key.port)
            };
            if self.links.get(name).is_some_and(is_due) {
                self.with_link(cx, name, out, |link, env| link.expire(env));
            }
            place += usize::from(self.links.at(place) == Some(name));
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        // Without a TNC, nothing can be late.
        let up = |(_, link): &(Handle, &Link<M>)| self.is_up(link.key.port);
        self.links.iter().filter(up).filter_map(|(_, link)| link.deadline()).min()
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.transmit(cx, out);
        self.deliver_looped(cx, out);
    }

    fn wants_flush(&self) -> bool {
        self.due
    }

    fn may_exit(&self) -> bool {
        let over = |link: &Link<M>| {
            matches!(link.state, LinkState::AwaitingRelease | LinkState::Disconnected)
        };
        // Without a TNC, nothing leaves however long one waits.
        self.replies.iter().all(|reply| !self.is_up(reply.port()))
            && self.ui.iter().all(|waiting| !self.is_up(waiting.frame.port()))
            && self.links.iter().all(|(_, link)| over(link))
    }

    fn ask(
        &self,
        about: NameAbove<Self>,
        question: &mut Question<'_>,
        _below: &dyn Ask<Self::Uses>,
    ) {
        let frame_time = |port| self.config.air(port, self.config.longest);
        match about {
            Either::Left(name) => {
                question.answer::<Longest>(|_| Some(usize::MAX));
                let Some(link) = self.streams.get(name) else { return };
                let Some(link) = self.links.get(*link) else { return };
                let Key { remote: call, port, .. } = link.key;
                let peer = Address::Station { call, pid: pid::NONE, route: 0 };
                let counts = PacketCounts {
                    sent: link.counts.sent,
                    received: link.counts.received,
                    retransmitted: Some(link.counts.retransmitted),
                };
                question
                    .answer::<RoundTrip>(|_| Some(link.round_trip()))
                    .answer::<FrameTime>(|_| Some(frame_time(port)))
                    .answer::<Counters>(|_| Some(counts))
                    .answer::<Peer>(|_| Some(peer.into()));
            }
            Either::Right(name) => {
                let (longest, peer, port) = match self.datagrams.get(name) {
                    Some(Datagram::Open { remote: call, pid, route, .. }) => {
                        let peer = Address::Station { call: *call, pid: *pid, route: 0 };
                        (self.config.longest, peer.into(), route.port)
                    }
                    Some(Datagram::Raw { port, .. }) => {
                        (self.raw_most(), Participant::OTHER_END.through((*port).into()), *port)
                    }
                    None => return,
                };
                question
                    .answer::<Longest>(|_| Some(longest))
                    .answer::<FrameTime>(|_| Some(frame_time(port)))
                    .answer::<Peer>(|_| Some(peer));
            }
        }
    }
}
