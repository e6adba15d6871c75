//! Ethernet (IEEE 802.3, frames with an EtherType): datagrams between the stations of a link.
//!
//! | file | what |
//! | --- | --- |
//! | `header.rs` | the tag of a virtual LAN; what a frame consists of |
//! | `receive.rs` | from the device, upward |
//! | `send.rs` | from above, to the device |
//! | `config.rs`, `described.rs` | the configuration; its description in a file |
//!
//! A participant is `Hardware { address, kind }`. A listener has a kind, an EtherType; each station
//! that sends it a frame is an arrival. The path of an association is told when the port first
//! gives credit, so `Open` is answered then; associations outlive a port that goes down.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod config;
mod described;
mod header;
mod receive;
mod send;

pub use config::Config;
pub use described::described;
pub use header::{SYNTAX, Tag};

use stackwright_base::map::{Cached, Keyed, Map};
use stackwright_contract::ask::{Ask, Question, ask_behind_header};
use stackwright_contract::services::{
    Credit, CreditGate, Datagrams, DatagramsIndication, DatagramsRequest, Ended, Frames,
    FramesIndication,
};
use stackwright_contract::{
    Address, Arrivals, Batches, Context, Facts, Guarantees, Handle, Outlet, Participant,
    PathLimits, Protocol,
};
use stackwright_wire::{Header, Message, internet};

const NAME: &str = "ethernet";

/// The only port of the frame service.
const PORT: u8 = 0;
/// The smallest EtherType: below it, the field is a length (IEEE 802.3 §3.2.6).
const KIND_LEAST: u16 = 0x600;
/// Payload of a frame where the device does not tell how long its frames may be.
const PAYLOAD: usize = 1500;
/// What the device may deliver at once.
const AT_ONCE: Credit = Credit { octets: 4 << 20, messages: 1024 };

/// The protocol: datagrams over frames.
pub struct EthernetDatagrams<M: Message> {
    config: Config,
    /// A listener stands for its kind.
    names: Arrivals<u16, Association>,
    stations: Cached<Station, Handle, Keyed>,
    /// What the device takes, its header included.
    frames: PathLimits,
    /// Whether frames can be sent: the port is up, and its limits are known.
    ready: bool,
    /// Frames for the port. What waits is bounded by the credit of associations.
    gate: CreditGate<Datagrams<M>>,
}

/// A station's address, and the protocol spoken with it.
type Station = ([u8; 6], u16);

/// What an open name stands for.
struct Association {
    station: Station,
    /// Upward.
    credit: Credit,
    /// Whether `Opened` was told.
    told: bool,
}

type Out<'a, M> = &'a mut dyn Outlet<EthernetDatagrams<M>>;

impl<M: Message> EthernetDatagrams<M> {
    /// Makes the protocol. Nobody on the link should know `seed`: it keeps the table of stations
    /// balanced.
    pub fn new(config: Config, seed: u64) -> Self {
        let header = config.header_length();
        EthernetDatagrams {
            config,
            names: Arrivals::new(),
            stations: Map::new(seed),
            frames: PathLimits::of_longest(PAYLOAD + header),
            ready: false,
            gate: CreditGate::default(),
        }
    }

    fn own(&self, kind: u16) -> Participant {
        Address::Hardware { address: self.config.address, kind }.into()
    }

    fn path(&self) -> PathLimits {
        // The device finds the checks behind this header.
        let checks = self.frames.checks;
        PathLimits { checks, ..self.frames.behind_header(self.config.header_length() as u32) }
    }

    fn listen(&mut self, listener: Handle, local: Participant, out: Out<'_, M>) {
        let kind = match local.address {
            Address::Hardware { address, kind }
                if [[0; 6], self.config.address].contains(&address)
                    && kind >= KIND_LEAST
                    && self.names.listeners().all(|(_, other)| *other != kind) =>
            {
                kind
            }
            _ => {
                let why = Ended::Unavailable;
                return out.indicate(DatagramsIndication::Ended { name: listener, why });
            }
        };
        self.names.listen(listener, kind);
        out.indicate(DatagramsIndication::Listening { listener, local: self.own(kind) });
    }

    fn open(
        &mut self,
        association: Handle,
        remote: Participant,
        local: Option<Participant>,
        credit: Credit,
        out: Out<'_, M>,
    ) {
        let station = match remote.address {
            Address::Hardware { address, kind } if kind >= KIND_LEAST => (address, kind),
            _ => {
                let why = Ended::Unreachable;
                return out.indicate(DatagramsIndication::Ended { name: association, why });
            }
        };
        let is_own = local.is_none_or(|local| local.direct() == self.own(station.1));
        if !is_own || self.stations.lookup(&station).is_some() {
            let why = Ended::Unavailable;
            return out.indicate(DatagramsIndication::Ended { name: association, why });
        }
        self.add(association, station, credit, out);
    }

    fn add(&mut self, name: Handle, station: Station, credit: Credit, out: Out<'_, M>) {
        self.stations.install(station, name);
        if self.ready {
            out.indicate(self.opened(name, station));
        }
        self.names.open(name, Association { station, credit, told: self.ready });
    }

    fn opened(&self, association: Handle, (address, kind): Station) -> DatagramsIndication<M> {
        DatagramsIndication::Opened {
            association,
            local: self.own(kind),
            remote: Address::Hardware { address, kind }.into(),
            credit: Credit::ROOM,
            path: self.path(),
        }
    }

    fn end(&mut self, name: Handle, why: Ended, out: Out<'_, M>) {
        if let Some(Association { station, .. }) = self.names.get(name) {
            self.stations.erase(station);
        }
        self.names.end(name, why).for_each(|word| out.indicate(word));
    }
}

impl<M: Message> Protocol for EthernetDatagrams<M> {
    const FACTS: Facts = Facts {
        passes: Guarantees::ORDERED.and(Guarantees::ONCE).and(Guarantees::CHECKED),
        header_room: internet::Ethernet::LENGTH + Tag::LENGTH,
        ..Facts::named(NAME)
    };
    const BATCHES: Batches = Batches::ALL;
    type Provides = Datagrams<M>;
    type Uses = Frames<M>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: DatagramsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            DatagramsRequest::Send { association, batch, .. } => {
                self.send(cx, association, batch, out);
            }
            DatagramsRequest::Listen { listener, local } => self.listen(listener, local, out),
            DatagramsRequest::Open { association, remote, local, credit } => {
                self.open(association, remote, local, credit, out);
            }
            other => {
                let ends =
                    self.names.answer(other, |open| &mut open.credit, |word| out.indicate(word));
                if let Some((name, why)) = ends {
                    self.end(name, why, out);
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
            FramesIndication::Delivered { port, batch } => self.delivered(cx, port, batch, out),
            FramesIndication::Credit { port: PORT, credit } => self.more_credit(credit, out),
            FramesIndication::Changed { port: PORT, path } => self.changed(path, out),
            FramesIndication::State { port: PORT, up } => self.state(cx, up, out),
            FramesIndication::Credit { .. }
            | FramesIndication::Changed { .. }
            | FramesIndication::State { .. }
            | FramesIndication::Left { .. } => {}
        }
    }

    /// What was sent is with the device.
    fn may_exit(&self) -> bool {
        self.gate.is_idle()
    }

    fn ask(&self, _about: Handle, question: &mut Question<'_>, below: &dyn Ask<Frames<M>>) {
        ask_behind_header::<M, _>(self.config.header_length(), PORT, question, below);
    }
}
