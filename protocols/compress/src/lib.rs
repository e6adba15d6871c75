//! Header compression by static rules (SCHC, RFC 8724) between stations of packet radio.
//!
//! | file | what |
//! | --- | --- |
//! | `rules.rs`, `built_in.rules` | rules as text, and those that every station has |
//! | `packets.rs`, `bits.rs` | packets by rules |
//! | `frames.rs` | which frames carry what |
//! | `peers.rs` | which stations have the same rules |
//! | `described.rs` | the description in a file |
//!
//! It stands between what sends frames of AX.25 and the TNC: UI frames with packets of IPv4 leave
//! with another protocol identifier, [`PID`], and arrive as they were. Nothing of a packet depends
//! on an earlier one, so that a lost frame, or a restart, harms no other.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod bits;
mod described;
mod frames;
mod packets;
mod peers;
mod rules;

pub use described::described;
pub use frames::PID;
pub use packets::{LinkHosts, ReplacedHeader};
pub use rules::{BadRules, RULE_OCTETS_MOST, RuleSet};

use alloc::vec::Vec;
use core::marker::PhantomData;

use stackwright_contract::ask::{Ask, Question};
use stackwright_contract::services::{Batch, Credit, Frames, FramesIndication, FramesRequest};
use stackwright_contract::{CallSign, Context, Facts, Guarantees, Outlet, Protocol};
use stackwright_wire::Message;

use frames::{BEACON_MOST, Carried, Seen};
use peers::Peers;

const NAME: &str = "compress";

type Out<'a, M> = &'a mut dyn Outlet<Compress<M>>;

/// Frames whose headers of the Internet are short on the air, over those of a TNC.
pub struct Compress<M: Message> {
    call: CallSign,
    rules: RuleSet,
    peers: Peers,
    ports: Vec<Port>,
    /// Credit of the layer above; and octets of it that the TNC has not used: they go no further
    /// when they come back.
    above: Credit,
    grown: usize,
    message: PhantomData<fn() -> M>,
}

/// A port of the TNC.
#[derive(Clone, Copy, Default)]
struct Port {
    is_up: bool,
    /// What it takes at once; `None` before it said so.
    takes: Option<Credit>,
    /// Credit that is kept for the next beacon.
    kept: Credit,
}

impl Port {
    /// Takes what the next beacon still lacks of `credit`.
    fn reserve(&mut self, credit: Credit) -> Credit {
        let Credit { octets, messages } = *self.takes.get_or_insert(credit);
        // A TNC that takes one frame at a time has none for a beacon.
        if messages < 2 || octets < 2 * BEACON_MOST.octets {
            return Credit::NONE;
        }
        let taken = Credit {
            octets: credit.octets.min(BEACON_MOST.octets - self.kept.octets),
            messages: credit.messages.min(BEACON_MOST.messages - self.kept.messages),
        };
        self.kept += taken;
        taken
    }
}

impl<M: Message> Compress<M> {
    /// Makes the compression of the station with that call sign.
    pub fn new(call: CallSign, rules: RuleSet) -> Self {
        Compress {
            call,
            rules,
            peers: Peers::default(),
            ports: Vec::new(),
            above: Credit::NONE,
            grown: 0,
            message: PhantomData,
        }
    }

    fn port(&mut self, port: u8) -> &mut Port {
        let port = usize::from(port);
        if self.ports.len() <= port {
            self.ports.resize(port + 1, Port::default());
        }
        &mut self.ports[port]
    }

    fn send(
        &mut self,
        cx: &Context,
        port: u8,
        batch: Batch<M>,
        mark: Option<u16>,
        out: Out<'_, M>,
    ) {
        let seen = Seen::of(batch.as_octets());
        let own = seen.filter(|seen| seen.carried == Carried::Ipv4 && seen.source == self.call);
        let short = own.as_ref().and_then(|seen| seen.compressed(&self.rules));
        let (Some(seen), Some(short)) = (own, short) else {
            return out.request(FramesRequest::Send { port, batch, mark });
        };
        let peer = seen.destination;
        if self.peers.understands(peer, cx.now()) {
            let saved = Credit { octets: short.replaces - short.octets.len(), messages: 0 };
            let batch = seen.replaced(batch.into_single(), PID, &short).into();
            out.request(FramesRequest::Send { port, batch, mark });
            return out.indicate(FramesIndication::Credit { port, credit: saved });
        }
        out.request(FramesRequest::Send { port, batch, mark });
        if self.port(port).kept.covers(BEACON_MOST) && self.peers.tells(peer, cx.now()) {
            let beacon = seen.beacon(self.rules.check());
            self.port(port).kept -= Credit { octets: beacon.len(), messages: 1 };
            let batch = M::with_headroom(frames::HEADROOM, &beacon).into();
            out.request(FramesRequest::Send { port, batch, mark: None });
        }
    }

    fn delivered(&mut self, cx: &Context, port: u8, batch: Batch<M>, out: Out<'_, M>) {
        let own = Seen::of(batch.as_octets()).filter(|seen| seen.is_for(self.call));
        let Some(seen) = own else { return self.deliver(port, batch, 0, out) };
        let (peer, cost) = (seen.source, batch.cost());
        let back = FramesRequest::Credit { credit: cost };
        match seen.carried {
            Carried::Ipv4 => {
                if seen.compressed(&self.rules).is_some() {
                    self.peers.on_plain(peer);
                }
                self.deliver(port, batch, 0, out);
            }
            Carried::Beacon(check) => {
                if check == Some(self.rules.check()) {
                    self.peers.on_beacon(peer, cx.now());
                } else {
                    self.peers.on_other(peer);
                }
                out.request(back);
            }
            Carried::Compressed => {
                let whole = seen.expanded(&self.rules);
                let grown = whole.as_ref().map(|whole| whole.octets.len() - whole.replaces);
                let fits = |grown: &usize| {
                    self.above.covers(Credit { octets: cost.octets + grown, ..cost })
                };
                let (Some(whole), Some(grown)) = (whole, grown.filter(fits)) else {
                    cx.dropped(NAME, "a packet of no rule, or without credit");
                    return out.request(back);
                };
                self.peers.on_compressed(peer, cx.now());
                let batch = seen.replaced(batch.into_single(), frames::IPV4_PID, &whole).into();
                self.deliver(port, batch, grown, out);
            }
        }
    }

    /// Delivers a frame that has grown by `grown` octets.
    fn deliver(&mut self, port: u8, batch: Batch<M>, grown: usize, out: Out<'_, M>) {
        let cost = batch.cost();
        self.above.octets = self.above.octets.saturating_sub(cost.octets);
        self.above.messages = self.above.messages.saturating_sub(cost.messages);
        self.grown += grown;
        out.indicate(FramesIndication::Delivered { port, batch });
    }
}

impl<M: Message> Protocol for Compress<M> {
    const FACTS: Facts =
        Facts { passes: Guarantees::ALL, reads_payload: true, ..Facts::named(NAME) };
    type Provides = Frames<M>;
    type Uses = Frames<M>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: FramesRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            FramesRequest::Send { port, batch, mark } => self.send(cx, port, batch, mark, out),
            FramesRequest::Credit { mut credit } => {
                self.above += credit;
                let back = credit.octets.min(self.grown);
                credit.octets -= back;
                self.grown -= back;
                if credit != Credit::NONE {
                    out.request(FramesRequest::Credit { credit });
                }
            }
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: FramesIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            FramesIndication::State { port, up } => {
                *self.port(port) = Port { is_up: up, ..Port::default() };
                if self.ports.iter().filter(|port| port.is_up).count() == usize::from(up) {
                    (self.above, self.grown) = (Credit::NONE, 0);
                }
                out.indicate(FramesIndication::State { port, up });
            }
            FramesIndication::Credit { port, mut credit } => {
                credit -= self.port(port).reserve(credit);
                if credit != Credit::NONE {
                    out.indicate(FramesIndication::Credit { port, credit });
                }
            }
            FramesIndication::Delivered { port, batch } => self.delivered(cx, port, batch, out),
            other => out.indicate(other),
        }
    }

    fn ask(&self, port: u8, question: &mut Question<'_>, below: &dyn Ask<Frames<M>>) {
        below.ask(port, question);
    }
}
