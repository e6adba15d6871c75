//! UDP (RFC 768): datagrams between ports, over IP. Any transport that runs on the kernel's runs on
//! this one, unchanged.
//!
//! | file | what |
//! | --- | --- |
//! | here | ports: who listens, who opens, whose a datagram is |
//! | `header.rs` | the header, its length and its check |
//! | `receive.rs` | from IP, upward |
//! | `send.rs` | from above, downward |
//! | `described.rs` | the description for files |
#![no_std]
#![forbid(unsafe_code)]

mod described;
mod header;
mod receive;
mod send;

pub use described::described;
pub use header::{PROTOCOL, UdpFront};

use core::marker::PhantomData;
use core::net::IpAddr;

use stackwright_base::features::Needs;
use stackwright_base::{
    Arrival, Below, Hooks, Layer, Origin, Place, PortPair, Ports, Unexpected, generate, with_port,
};
use stackwright_contract::services::{Credit, Datagrams, Ended, MessageProperties};
use stackwright_contract::{
    Address, Context, Facts, Guarantees, Handle, Participant, PathLimits, Trouble,
};
use stackwright_wire::internet::Udp as UdpHeader;
use stackwright_wire::{Header as _, Message};

use header::pseudo;

generate! {
    /// The base: it needs no timers.
    pub UdpBase<M> { events: Absent, opening: ActivePassive, session: Present }
}

/// UDP, as a layer on its base.
pub type Udp<M> = Layer<UdpPorts<M>>;

/// Its ports, which are the hooks of the base.
pub struct UdpPorts<M> {
    ports: Ports,
    message: PhantomData<fn() -> M>,
}

/// An association.
#[derive(Debug)]
pub struct UdpAssociation {
    ports: PortPair,
    /// The sum over both hosts and the protocol, for the check.
    pseudo: u16,
    /// Whether the layers below complete checks.
    offered: bool,
    /// Whether a datagram must have a check (RFC 8200 §8.1).
    checked: bool,
}

impl<M> UdpPorts<M> {
    /// Creates them; a peer must not know `secret`.
    pub fn new(secret: u64) -> Self {
        UdpPorts { ports: Ports::new(PROTOCOL, secret), message: PhantomData }
    }
}

/// Creates UDP; a peer must not know `secret`.
pub fn layer<M: Message>(secret: u64) -> Udp<M> {
    Udp::new(UdpPorts::new(secret), secret)
}

/// Returns the host of an address of either kind.
fn host(of: Participant) -> Option<IpAddr> {
    match of.address {
        Address::Internet { host, .. } | Address::InternetProtocol { host, .. } => Some(host),
        _ => None,
    }
}

impl<M: Message> Hooks for UdpPorts<M> {
    type Features = UdpBase<M>;
    type Provides = Datagrams<M>;
    type Uses = Datagrams<M>;
    type Header = UdpFront;
    type Key = PortPair;
    type PassiveKey = u16;
    type Association = UdpAssociation;
    type Timer = ();

    const FACTS: Facts = Facts {
        gives: Guarantees::CHECKED,
        header_room: UdpHeader::LENGTH,
        reads_payload: true,
        ..Facts::named("udp")
    };
    const NEEDS: Needs = Needs { opening: true, listening: true, sessions: true, timers: false };
    const ROOM: Credit = Credit { octets: 1 << 20, messages: 256 };
    const REFUSES: bool = true;
    const AWAITS: usize = 16;

    fn open(
        &mut self,
        _: &Context,
        _: Handle,
        local: Option<Participant>,
        remote: Participant,
    ) -> Result<Below<PortPair>, Ended> {
        self.ports.open(local, remote)
    }

    fn free_key(
        &mut self,
        key: PortPair,
        is_taken: impl Fn(&PortPair) -> bool,
    ) -> Option<PortPair> {
        self.ports.free(key, is_taken)
    }

    fn ends(association: &UdpAssociation, below: [Participant; 2]) -> [Participant; 2] {
        association.ports.ends(below)
    }

    fn listen(
        &mut self,
        _: &Context,
        local: Participant,
        is_taken: impl Fn(Participant, &u16) -> bool,
    ) -> Result<(Participant, u16), Ended> {
        self.ports.listen(local, is_taken)
    }

    fn hears() -> Option<Participant> {
        Some(Ports::any(PROTOCOL))
    }

    fn listens_at(port: &u16, below: Participant) -> Participant {
        with_port(below, *port)
    }

    #[inline(always)]
    fn key(datagram: &UdpFront) -> PortPair {
        datagram.ports()
    }

    fn passive_key(datagram: &UdpFront) -> u16 {
        datagram.ports().own
    }

    fn quoted(octets: &[u8; 8]) -> Option<PortPair> {
        Some(PortPair::quoted(octets))
    }

    fn arrival(
        &mut self,
        _: &Context,
        ends: (Participant, Participant),
        datagram: &UdpFront,
        payload: &mut M,
    ) -> Arrival<M> {
        match datagram.is_sound_between(ends, payload) {
            true => Arrival::Welcome,
            false => Arrival::Ignored(receive::ALTERED),
        }
    }

    /// IP tells the sender (RFC 1122 §4.1.3.1).
    fn refuse(
        &mut self,
        _: &Context,
        ends: (Participant, Participant),
        datagram: &UdpFront,
        payload: &mut M,
        why: Unexpected,
    ) -> Option<M> {
        let tells = why == Unexpected::NoListener && datagram.is_sound_between(ends, payload);
        tells.then(|| datagram.back(payload))
    }

    fn answers_bear() -> MessageProperties {
        MessageProperties { returned: true, ..Default::default() }
    }

    fn create(
        &mut self,
        _: &Context,
        _: Handle,
        ports: &PortPair,
        _: Participant,
        _: Origin,
        _: Credit,
    ) -> UdpAssociation {
        UdpAssociation { ports: *ports, pseudo: 0, offered: false, checked: false }
    }

    fn opened(&mut self, at: &mut impl Place<Self>) -> bool {
        Self::begin(at);
        true
    }

    fn arrived(&mut self, at: &mut impl Place<Self>) {
        Self::begin(at);
        at.opened();
    }

    fn changed(&mut self, at: &mut impl Place<Self>, below: PathLimits) {
        at.association().offered = below.checks;
    }

    fn push(&mut self, at: &mut impl Place<Self>, message: M, properties: MessageProperties) {
        Self::send(at, message, properties);
    }

    fn pop(&mut self, at: &mut impl Place<Self>, datagram: UdpFront, payload: M) {
        Self::receive(at, &datagram, payload);
    }

    /// What it quotes is the header alone: of the message above, nothing is known.
    fn reported(&mut self, at: &mut impl Place<Self>, by: Participant, what: Trouble, _: &[u8; 8]) {
        let header = UdpHeader::LENGTH as u32;
        let what = match what {
            Trouble::TooLong { longest } => {
                Trouble::TooLong { longest: longest.saturating_sub(header) }
            }
            what => what,
        };
        at.report(by, what, [0; 8]);
    }
}

impl<M: Message> UdpPorts<M> {
    /// Learns from the layer below what the check needs.
    fn begin(at: &mut impl Place<Self>) {
        let Some((local, path)) = at.below() else { return };
        let remote = at.remote();
        if let (Some(own), Some(peer)) = (host(local), host(remote)) {
            let association = at.association();
            association.pseudo = pseudo(own, peer);
            association.offered = path.checks;
            association.checked = peer.is_ipv6();
        }
    }
}
