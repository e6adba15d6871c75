//! AXUDP: frames of AX.25 in datagrams, each with its frame check behind it. What is a channel to
//! the layer above is a group of peers. A [table](AxudpPeer::call) says which station is behind
//! which; without one, each frame goes to all of them.
//!
//! ax25ipd, and all that speaks with it, does the same (RFC 1226 over UDP instead of IP).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod described;
mod table;

pub use described::described;
pub use table::AxudpPeer;

use alloc::vec::Vec;

use stackwright_contract::ask::{Ask, Longest, Question};
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Frames, FramesIndication,
    FramesRequest, MessageProperties,
};
use stackwright_contract::{
    Context, Duration, Facts, Guarantees, Handle, Instant, Names, Outlet, Participant, Protocol,
};
use stackwright_wire::Message;
use stackwright_wire::check::Crc16;

const NAME: &str = "axudp";

/// The UDP port that is usual.
pub const PORT: u16 = 10_093;

/// The longest frame, without its check.
pub const LONGEST: usize = 1024;

/// The frame check sequence, the low octet first.
const CHECK: usize = 2;
/// The only port of the frame service.
const ONLY: u8 = 0;
/// Credit above: UDP has no queue that would be full, so it comes back with each frame.
const ROOM: Credit = Credit { octets: 1 << 16, messages: 256 };
/// What one peer may send at once.
const AT_ONCE: Credit = Credit { octets: 64 * (LONGEST + CHECK), messages: 64 };
/// How long it takes until a peer is tried again that could not be reached: at first, and at most.
const AGAIN_FIRST: Duration = Duration::from_secs(1);
const AGAIN_MOST: Duration = Duration::from_secs(30);

/// The configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The own address and port; `None`: any.
    pub local: Option<Participant>,
    /// The peers.
    pub peers: Vec<AxudpPeer>,
}

/// The protocol: frames over datagrams.
pub struct Axudp<M> {
    config: Config,
    /// The association with each peer, by its number in the configuration.
    names: Names<usize>,
    peers: Vec<Peer>,
    /// Credit of the layer above.
    up: Credit,
    is_up: bool,
    begun: bool,
    message: core::marker::PhantomData<fn() -> M>,
}

/// What is known of a peer.
#[derive(Clone, Copy)]
struct Peer {
    state: State,
    /// How long it takes until it is tried again.
    delay: Duration,
}

#[derive(Clone, Copy)]
enum State {
    Opening,
    Open {
        association: Handle,
        credit: Credit,
    },
    /// It is opened again at that time. One that was open until then still counts as there: no
    /// answer from a peer is silence on the air.
    Closed {
        again: Instant,
        was_open: bool,
    },
}

impl State {
    /// Returns whether frames for the peer have somewhere to go.
    const fn is_there(&self) -> bool {
        matches!(self, State::Open { .. } | State::Closed { was_open: true, .. })
    }
}

type Out<'a, M> = &'a mut dyn Outlet<Axudp<M>>;

impl<M: Message> Axudp<M> {
    /// Makes the protocol.
    pub fn new(config: Config) -> Self {
        let state = State::Closed { again: Instant::START, was_open: false };
        let peer = Peer { state, delay: AGAIN_FIRST };
        Axudp {
            peers: config.peers.iter().map(|_| peer).collect(),
            config,
            names: Names::new(),
            up: Credit::NONE,
            is_up: false,
            begun: false,
            message: core::marker::PhantomData,
        }
    }

    /// Opens what is due.
    fn open(&mut self, now: Instant, out: Out<'_, M>) {
        for (number, peer) in self.peers.iter_mut().enumerate() {
            if !matches!(peer.state, State::Closed { again, .. } if again <= now) {
                continue;
            }
            peer.state = State::Opening;
            let association = self.names.name(number);
            let (remote, local) = (self.config.peers[number].remote, self.config.local);
            out.request(DatagramsRequest::Open { association, remote, local, credit: AT_ONCE });
        }
    }

    /// Tells whether there is a peer that can be sent to, when that changes.
    fn tell_state(&mut self, cx: &Context, out: Out<'_, M>) {
        let up = self.peers.iter().any(|peer| peer.state.is_there());
        if up == self.is_up {
            return;
        }
        if up {
            cx.event(NAME, format_args!("up"));
        }
        self.is_up = up;
        self.up = Credit::NONE;
        out.indicate(FramesIndication::State { port: ONLY, up });
        if up {
            out.indicate(FramesIndication::Credit { port: ONLY, credit: ROOM });
        }
    }

    fn send(&mut self, cx: &Context, port: u8, mut frame: M, mark: Option<u16>, out: Out<'_, M>) {
        if !self.is_up {
            return; // it crossed the word
        }
        let credit = Credit { octets: frame.len(), messages: 1 };
        if port != ONLY || frame.len() > LONGEST {
            cx.dropped(NAME, "a frame for no port, or too long");
        } else {
            let route = self.config.route(&frame);
            if !(0..self.peers.len()).any(|number| self.config.takes(number, route)) {
                cx.dropped(NAME, "a frame for a station that no peer is known to reach");
            }
            let mut check = Crc16::new();
            frame.each(|octets| check.add(octets));
            frame.join(M::with_headroom(0, &check.value().to_le_bytes()));
            let cost = Credit { octets: frame.len(), messages: 1 };
            for (number, peer) in self.peers.iter_mut().enumerate() {
                let State::Open { association, credit } = &mut peer.state else { continue };
                if !self.config.takes(number, route) {
                    continue;
                }
                if !credit.covers(cost) {
                    cx.dropped(NAME, "a frame for a peer without room"); // as on the air
                    continue;
                }
                *credit -= cost;
                let (association, batch) = (*association, frame.share().into());
                let properties = MessageProperties::default();
                out.request(DatagramsRequest::Send { association, batch, properties });
            }
        }
        out.indicate(FramesIndication::Credit { port, credit });
        if let Some(mark) = mark {
            out.indicate(FramesIndication::Left { port, mark });
        }
    }

    fn deliver(&mut self, cx: &Context, mut frame: M, out: Out<'_, M>) {
        let mut check = Crc16::new();
        frame.each(|octets| check.add(octets));
        if check.value() != Crc16::GOOD || frame.len() <= CHECK {
            return cx.dropped(NAME, "a frame whose check does not agree");
        }
        frame.truncate(frame.len() - CHECK);
        let cost = Credit { octets: frame.len(), messages: 1 };
        if !self.up.covers(cost) {
            return cx.dropped(NAME, "a frame without credit above");
        }
        self.up -= cost;
        out.indicate(FramesIndication::Delivered { port: ONLY, batch: frame.into() });
    }
}

impl<M: Message> Protocol for Axudp<M> {
    const FACTS: Facts =
        Facts { gives: Guarantees::CHECKED, reads_payload: true, ..Facts::named(NAME) };
    type Provides = Frames<M>;
    type Uses = Datagrams<M>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: FramesRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            FramesRequest::Send { port, batch, mark } => {
                self.send(cx, port, batch.into_single(), mark, out);
            }
            FramesRequest::Credit { credit } => self.up += credit,
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: DatagramsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        let Some(number) = self.names.get(indication.name()).copied() else { return };
        match indication {
            DatagramsIndication::Opened { association, credit, .. } => {
                let state = State::Open { association, credit };
                self.peers[number] = Peer { state, delay: AGAIN_FIRST };
                self.tell_state(cx, out);
            }
            DatagramsIndication::Credit { credit: more, .. } => {
                if let State::Open { credit, .. } = &mut self.peers[number].state {
                    *credit += more;
                }
            }
            DatagramsIndication::Delivered { association, batch, .. } => {
                let credit = batch.cost();
                out.request(DatagramsRequest::Credit { association, credit });
                self.deliver(cx, batch.into_single(), out);
            }
            DatagramsIndication::Ended { name, why } => {
                self.names.forget(name);
                let Peer { state, delay } = self.peers[number];
                // An open one ends by a datagram that was refused: the peer is not there, and may
                // be at any time. It is opened at once, to hear it. One that cannot be opened
                // waits.
                self.peers[number] = if matches!(state, State::Open { .. }) {
                    let state = State::Closed { again: cx.now(), was_open: true };
                    Peer { state, delay: AGAIN_FIRST }
                } else {
                    if self.is_up || delay == AGAIN_FIRST {
                        let peer = self.config.peers[number].remote;
                        cx.event(NAME, format_args!("down: {peer}: {why}"));
                    }
                    let state = State::Closed { again: cx.now() + delay, was_open: false };
                    Peer { state, delay: (delay * 2).min(AGAIN_MOST) }
                };
                self.tell_state(cx, out);
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.open(cx.now(), out);
    }

    fn next_deadline(&self) -> Option<Instant> {
        let again = |peer: &Peer| match peer.state {
            State::Closed { again, .. } => Some(again),
            _ => None,
        };
        self.begun.then(|| self.peers.iter().filter_map(again).min()).flatten()
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        if !core::mem::replace(&mut self.begun, true) {
            out.indicate(FramesIndication::State { port: 0, up: false });
            self.open(cx.now(), out);
        }
    }

    fn wants_flush(&self) -> bool {
        !self.begun
    }

    fn ask(&self, _port: u8, question: &mut Question<'_>, _below: &dyn Ask<Datagrams<M>>) {
        question.answer::<Longest>(|_| Some(LONGEST));
    }
}
