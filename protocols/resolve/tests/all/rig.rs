//! A host whose link and whose IP are the test, and the packets of both protocols.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::{Deref, DerefMut};

use stackwright_compose::Over;
use stackwright_contract::services::{Credit, DatagramsIndication, DatagramsRequest};
use stackwright_contract::{Address, Handle, Participant, PathLimits};
use stackwright_ethernet::{self as ethernet, EthernetDatagrams};
use stackwright_resolve::{Config, Resolve};
use stackwright_simulator::{LoneStack, octets_of};
use stackwright_wire::check::Internet;
use stackwright_wire::internet::pseudo_header;
use stackwright_wire::{BufferTree, Message};

pub(crate) type M = BufferTree;
type Stack = Over<Resolve<M>, EthernetDatagrams<M>>;

pub(crate) const OWN: [u8; 6] = [2, 0, 0, 0, 0, 1];
pub(crate) const PEER: [u8; 6] = [2, 0, 0, 0, 0, 2];
pub(crate) const OTHER: [u8; 6] = [2, 0, 0, 0, 0, 3];
pub(crate) const ALL: [u8; 6] = [0xff; 6];
pub(crate) const OWN4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(crate) const PEER4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
pub(crate) const OWN6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0x11, 0x2233);
pub(crate) const PEER6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0x44, 0x5566);
/// The groups of their solicited nodes, as hosts and on the link.
pub(crate) const OWN_NODE: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff11, 0x2233);
pub(crate) const OWN_GROUP: [u8; 6] = [0x33, 0x33, 0xff, 0x11, 0x22, 0x33];
pub(crate) const PEER_GROUP: [u8; 6] = [0x33, 0x33, 0xff, 0x44, 0x55, 0x66];
pub(crate) const ALL_NODES: [u8; 6] = [0x33, 0x33, 0, 0, 0, 1];
const CREDIT: Credit = Credit { octets: 1 << 30, messages: 1 << 30 };

/// A host, and how many names it was given.
pub(crate) struct Host(LoneStack<Stack>, u32);

impl Deref for Host {
    type Target = LoneStack<Stack>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Host {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

pub(crate) fn quiet() -> Config {
    Config { probes: false, ..Config::default() }
}

fn participant(host: IpAddr) -> Participant {
    Address::InternetProtocol { host, protocol: 0 }.into()
}

impl Host {
    /// A host whose link is up.
    pub(crate) fn new(address: [u8; 6], config: Config) -> Self {
        let ethernet = EthernetDatagrams::new(ethernet::Config { address, lan: None }, 1);
        let stack = Stack::new(Resolve::new(config, 2), ethernet);
        let mut host = Host(LoneStack::new(stack, address[5].into()), 0);
        host.up(PathLimits { checks: true, ..PathLimits::of_longest(1514) }, CREDIT);
        host
    }

    /// A host with both own addresses, neither of which is probed.
    pub(crate) fn settled() -> Self {
        let mut host = Host::new(OWN, quiet());
        host.listen(OWN4.into());
        host.listen(OWN6.into());
        assert_eq!(host.told().iter().filter(|word| word.starts_with("Opened")).count(), 2);
        host.sent();
        host
    }

    pub(crate) fn name(&mut self) -> Handle {
        self.1 += 1;
        Handle { index: self.1, generation: 0 }
    }

    /// Listens for an own address, and awaits its link.
    pub(crate) fn listen(&mut self, own: IpAddr) -> (Handle, Handle) {
        let (listener, association) = (self.name(), self.name());
        self.ask(DatagramsRequest::Listen { listener, local: participant(own) });
        self.ask(DatagramsRequest::Await { listener, association, credit: CREDIT });
        (listener, association)
    }

    /// Opens an association to a next hop.
    pub(crate) fn open(&mut self, next: impl Into<IpAddr>) -> Handle {
        let (association, remote) = (self.name(), participant(next.into()));
        let (local, credit) = (None, CREDIT);
        self.ask(DatagramsRequest::Open { association, remote, local, credit });
        association
    }

    pub(crate) fn send(&mut self, association: Handle, packet: &[u8]) {
        self.0.send(association, M::with_headroom(64, packet));
    }

    /// Returns what was told above since the last call: the word, its name and what matters.
    pub(crate) fn told(&mut self) -> Vec<String> {
        self.0.told(|word| {
            let name = word.name().index;
            Some(match word {
                DatagramsIndication::Listening { .. } => format!("Listening {name}"),
                DatagramsIndication::Opened { remote, path, .. } => {
                    format!("Opened {name} to {remote}, {} {}", path.longest, path.checks)
                }
                DatagramsIndication::Changed { path, .. } => {
                    format!("Changed {name} {}", path.longest)
                }
                DatagramsIndication::Delivered { batch, properties, .. } if properties.returned => {
                    format!("Returned {name} {:?}", octets_of(batch.as_octets()))
                }
                DatagramsIndication::Delivered { batch, .. } => {
                    format!("Delivered {name} {:?}", octets_of(batch.as_octets()))
                }
                DatagramsIndication::Credit { credit, .. } => {
                    format!("Credit {name} {}", credit.messages)
                }
                DatagramsIndication::Ended { why, .. } => format!("Ended {name} {why:?}"),
                other => format!("{other:?}"),
            })
        })
    }

    /// Returns the numbers of neighbours and of names below.
    pub(crate) fn known(&self) -> (usize, usize) {
        self.stack.upper.known()
    }
}

pub(crate) fn frame(to: [u8; 6], from: [u8; 6], kind: u16, packet: &[u8]) -> Vec<u8> {
    [&to[..], &from, &kind.to_be_bytes(), packet].concat()
}

/// An ARP packet (RFC 826).
pub(crate) fn arp(
    to: [u8; 6],
    operation: u8,
    (sender, from): ([u8; 6], Ipv4Addr),
    (target, host): ([u8; 6], Ipv4Addr),
) -> Vec<u8> {
    let front = [0, 1, 8, 0, 6, 4, 0, operation];
    let packet = [&front[..], &sender, &from.octets(), &target, &host.octets()].concat();
    frame(to, sender, 0x806, &packet)
}

/// A request for a host.
pub(crate) fn request(to: [u8; 6], from: ([u8; 6], Ipv4Addr), host: Ipv4Addr) -> Vec<u8> {
    arp(to, 1, from, ([0; 6], host))
}

/// A packet of neighbour discovery.
#[derive(Clone)]
pub(crate) struct Ndp {
    pub(crate) link: ([u8; 6], [u8; 6]),
    pub(crate) hosts: (Ipv6Addr, Ipv6Addr),
    pub(crate) hop_limit: u8,
    pub(crate) kind: u8,
    pub(crate) code: u8,
    /// The first octet of the flags: 0x40 is solicited, 0x20 override.
    pub(crate) flags: u8,
    pub(crate) target: Ipv6Addr,
    pub(crate) options: Vec<u8>,
}

pub(crate) fn option(kind: u8, address: [u8; 6]) -> Vec<u8> {
    [&[kind, 1][..], &address].concat()
}

impl Ndp {
    /// What the peer asks for our address with.
    pub(crate) fn solicitation() -> Self {
        Ndp {
            link: (OWN_GROUP, PEER),
            hosts: (PEER6, OWN_NODE),
            hop_limit: 255,
            kind: 135,
            code: 0,
            flags: 0,
            target: OWN6,
            options: option(1, PEER),
        }
    }

    /// What the peer answers with, at a link-layer address.
    pub(crate) fn advertisement(flags: u8, address: Option<[u8; 6]>) -> Self {
        Ndp {
            link: (OWN, PEER),
            hosts: (PEER6, OWN6),
            kind: 136,
            flags,
            target: PEER6,
            options: address.map_or(Vec::new(), |address| option(2, address)),
            ..Ndp::solicitation()
        }
    }

    pub(crate) fn frame(&self) -> Vec<u8> {
        let (from, to) = self.hosts;
        let flags = [self.flags, 0, 0, 0];
        let front = [self.kind, self.code, 0, 0];
        let mut body = [&front[..], &flags, &self.target.octets(), &self.options].concat();
        let mut check = Internet::new();
        let sum = pseudo_header(from.into(), to.into(), 58, body.len() as u32);
        check.add(&sum.to_be_bytes());
        check.add(&body);
        body[2..4].copy_from_slice(&check.value().to_be_bytes());
        let header = [0x60, 0, 0, 0, 0, body.len() as u8, 58, self.hop_limit];
        let packet = [&header[..], &from.octets(), &to.octets(), &body].concat();
        frame(self.link.0, self.link.1, 0x86dd, &packet)
    }
}

/// A packet of IPv4 with our address as its source; its eighth octet is `number`.
pub(crate) fn packet4(number: u8) -> Vec<u8> {
    let front = [0x45, 0, 0, 20, 0, 0, 0, number, 64, 17, 0, 0];
    [&front[..], &OWN4.octets(), &PEER4.octets()].concat()
}

/// A packet of IPv6 with our address as its source; its eighth octet is `number`.
pub(crate) fn packet6(number: u8) -> Vec<u8> {
    let front = [0x60, 0, 0, 0, 0, 0, 59, number];
    [&front[..], &OWN6.octets(), &PEER6.octets()].concat()
}
