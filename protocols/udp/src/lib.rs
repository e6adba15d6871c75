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
use core::net::{IpAddr, Ipv6Addr};

use stackwright_base::features::Needs;
use stackwright_base::{
    Arrival, Below, EphemeralPorts, Hooks, Layer, Origin, Place, Unexpected, generate,
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
    ephemeral: EphemeralPorts,
    /// Whether the layer above chose the port of what is being opened.
    is_chosen: bool,
    message: PhantomData<fn() -> M>,
}

/// The ports of an association between two hosts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PortPair {
    /// Ours.
    pub own: u16,
    /// The peer's.
    pub peer: u16,
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
        UdpPorts { ephemeral: EphemeralPorts::new(secret), is_chosen: false, message: PhantomData }
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

/// Returns an address as IP names it.
fn without_port(of: Participant, host: IpAddr) -> Participant {
    Participant { address: Address::InternetProtocol { host, protocol: PROTOCOL }, ..of }
}

/// Returns an address of IP with a port.
fn with_port(of: Participant, port: u16) -> Participant {
    match host(of) {
        Some(host) => Participant { address: Address::Internet { host, port, zone: 0 }, ..of },
        None => of,
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
        let there = remote.internet().ok_or(Ended::Unreachable)?;
        let from = local.and_then(Participant::internet);
        let chosen = from.map_or(0, |from| from.port());
        self.is_chosen = chosen != 0;
        let own = match chosen {
            0 => self.ephemeral.choose(Some(remote), |_| false).ok_or(Ended::Exhausted)?,
            port => port,
        };
        let local = local.zip(from).filter(|(_, from)| !from.ip().is_unspecified());
        Ok(Below {
            local: local.map(|(local, from)| without_port(local, from.ip())),
            remote: without_port(remote, there.ip()),
            key: PortPair { own, peer: there.port() },
        })
    }

    fn free_key(
        &mut self,
        key: PortPair,
        is_taken: impl Fn(&PortPair) -> bool,
    ) -> Option<PortPair> {
        if !is_taken(&key) {
            return Some(key);
        }
        let own = match self.is_chosen {
            true => None,
            false => self.ephemeral.choose(None, |own| is_taken(&PortPair { own, ..key })),
        };
        Some(PortPair { own: own?, ..key })
    }

    fn ends(association: &UdpAssociation, [own, peer]: [Participant; 2]) -> [Participant; 2] {
        let ports = association.ports;
        [with_port(own, ports.own), with_port(peer, ports.peer)]
    }

    fn listen(
        &mut self,
        _: &Context,
        local: Participant,
        is_taken: impl Fn(Participant, &u16) -> bool,
    ) -> Result<(Participant, u16), Ended> {
        let at = local.internet().ok_or(Ended::Unavailable)?;
        let below = without_port(local, at.ip());
        let port = match at.port() {
            0 => self.ephemeral.choose(None, |port| is_taken(below, &port)),
            port => Some(port).filter(|port| !is_taken(below, port)),
        };
        Ok((below, port.ok_or(Ended::Unavailable)?))
    }

    fn hears() -> Option<Participant> {
        let host = Ipv6Addr::UNSPECIFIED.into();
        Some(Address::InternetProtocol { host, protocol: PROTOCOL }.into())
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
        let header = UdpHeader::decode(octets).ok()?;
        Some(PortPair { own: header.source_port, peer: header.destination_port })
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
