//! A host with streams over IP, on a link without addresses: it hears packets at numbers that are
//! near its own, others at any, and what ICMP says of its own; and its application asks for
//! anything.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use stackwright::ip::{Config, Ip, Point};
use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, Datagrams, Frames, FramesIndication, FramesRequest, Streams, StreamsIndication,
    StreamsRequest,
};
use stackwright_contract::{
    Context, Duration, Handle, IndicationOf, Names, Outlet, PathLimits, Protocol, RequestOf,
};
use stackwright_wire::check::Internet;
use stackwright_wire::internet::{Icmp, Ipv4, Ipv6, pseudo_header};
use stackwright_wire::{BufferTree, Header, Message as _};

use crate::Input;
use crate::ip::{AMPLE, check_packet};

pub(crate) type M = BufferTree;
type Stack<P> = Over<<P as PeerOf>::Layer, Over<Ip<M>, Point<M>>>;

/// The peer of a host with a protocol.
pub(crate) trait PeerOf {
    /// What the host has above IP.
    type Layer: Protocol<Provides = Streams<M>, Uses = Datagrams<M>>;
    /// The header of what leaves.
    type Header: Header + Clone;
    /// The protocol's number.
    const PROTOCOL: u8;
    /// The offset of its check.
    const CHECK: usize;

    fn associations(layer: &Self::Layer) -> usize;

    /// Returns a packet of the peer for one that left, or for nobody.
    fn packet(input: &mut Input<'_>, said: Option<&Self::Header>) -> Vec<u8>;

    /// Moves the number of a header that is quoted.
    fn near(input: &mut Input<'_>, said: &Self::Header) -> Self::Header;
}

pub(crate) const PORT: u16 = 80;
const LONGEST: usize = 1500;

/// What is known of an association above.
#[derive(Default)]
struct Side {
    down: usize,
    up: usize,
    opened: bool,
}

struct Words<P: PeerOf> {
    hosts: [IpAddr; 2],
    /// Whether the device completes checks.
    offers: bool,
    down: Credit,
    sides: BTreeMap<Handle, Side>,
    /// The last packets that left.
    said: Vec<P::Header>,
}

impl<P: PeerOf> Outlet<Stack<P>> for Words<P>
where
    Stack<P>: Protocol<Provides = Streams<M>, Uses = Frames<M>>,
{
    fn indicate(&mut self, indication: IndicationOf<Stack<P>>) {
        let name = indication.name();
        let side = self.sides.get_mut(&name).expect("nothing follows the last word");
        match indication {
            StreamsIndication::Opened { credit, .. } => {
                assert!(!std::mem::replace(&mut side.opened, true), "it opens once");
                side.down += credit.octets;
            }
            StreamsIndication::Credit { credit, .. } => side.down += credit.octets,
            StreamsIndication::Delivered { batch, .. } => {
                assert!(side.opened && batch.octets() <= side.up, "within the credit");
                side.up -= batch.octets();
            }
            StreamsIndication::Ended { .. } => {
                self.sides.remove(&name);
            }
            _ => {}
        }
    }

    fn request(&mut self, request: RequestOf<Stack<P>>) {
        let FramesRequest::Send { batch, .. } = request else { return };
        self.down -= batch.cost();
        for packet in batch {
            let mut octets = Vec::new();
            packet.append_to(&mut octets);
            check_packet(&octets, LONGEST);
            let [own, peer] = self.hosts;
            let (protocol, header) = match octets[0] >> 4 {
                4 => (octets[9], Ipv4::LENGTH),
                _ => (octets[6], Ipv6::LENGTH),
            };
            let segment = &octets[header..];
            if protocol != P::PROTOCOL {
                continue;
            }
            let mut check = Internet::new();
            check.add(&pseudo_header(own, peer, protocol, segment.len() as u32).to_be_bytes());
            check.add(segment);
            assert!(self.offers || check.value() == 0, "the check of a packet agrees");
            if self.said.len() == 8 {
                self.said.remove(0);
            }
            self.said.push(P::Header::decode(segment).expect("a header"));
        }
    }
}

/// Returns a packet of the peer.
fn packet([own, peer]: [IpAddr; 2], protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u16;
    let mut packet = vec![0; if own.is_ipv4() { Ipv4::LENGTH } else { Ipv6::LENGTH }];
    match (peer, own) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let [high, low] = (20 + length).to_be_bytes();
            packet[..10].copy_from_slice(&[0x45, 0, high, low, 0, 0, 0x40, 0, 64, protocol]);
            packet[12..16].copy_from_slice(&source.octets());
            packet[16..].copy_from_slice(&destination.octets());
            let check = Internet::of(&packet).to_be_bytes();
            packet[10..12].copy_from_slice(&check);
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let [high, low] = length.to_be_bytes();
            packet[..8].copy_from_slice(&[0x60, 0, 0, 0, high, low, protocol, 64]);
            packet[8..24].copy_from_slice(&source.octets());
            packet[24..].copy_from_slice(&destination.octets());
        }
        _ => {}
    }
    packet.extend(payload);
    packet
}

/// Writes the check of what the peer sends, at the offset `at` of the payload.
fn seal([own, peer]: [IpAddr; 2], protocol: u8, payload: &mut [u8], at: usize) {
    payload[at..at + 2].fill(0);
    let mut check = Internet::new();
    if protocol != 1 {
        let octets = payload.len() as u32;
        check.add(&pseudo_header(peer, own, protocol, octets).to_be_bytes());
    }
    check.add(payload);
    payload[at..at + 2].copy_from_slice(&check.value().to_be_bytes());
}

/// A number near another, mostly.
pub(crate) fn near(input: &mut Input<'_>, number: u32) -> u32 {
    match input.octet() {
        chosen @ 0..100 => number.wrapping_add(u32::from(chosen)),
        chosen @ 100..150 => number.wrapping_sub(u32::from(chosen) - 100),
        chosen @ 150..200 => number.wrapping_add((u32::from(chosen) - 149) * 1460),
        chosen @ 200..240 => number.wrapping_add(1 << (chosen % 32)),
        _ => u32::from(input.number()) << 16 | u32::from(input.number()),
    }
}

/// What ICMP says of a packet that left, or of one with a number that is near.
fn report<P: PeerOf>(input: &mut Input<'_>, [own, peer]: [IpAddr; 2], said: &P::Header) -> Vec<u8> {
    let mut quoted = vec![0; P::Header::LENGTH];
    P::near(input, said).encode(&mut quoted);
    let kinds = if own.is_ipv4() { [3, 11, 4, 12] } else { [1, 2, 3, 4] };
    let icmp_type = kinds[usize::from(input.octet() % 4)];
    let (code, rest) = (input.octet() % 16, u32::from(input.number()));
    let mut octets = vec![0; Icmp::LENGTH];
    Icmp { icmp_type, code, checksum: 0, rest }.encode(&mut octets);
    octets.extend(packet([peer, own], P::PROTOCOL, &quoted));
    octets
}

/// Whatever arrives and is asked for, what leaves is a packet, each name has one last word, and
/// nothing is left when all is over.
pub(crate) fn host<P: PeerOf>(octets: &[u8], layer: impl FnOnce(u8) -> P::Layer)
where
    Stack<P>: Protocol<Provides = Streams<M>, Uses = Frames<M>>,
{
    let mut input = Input(octets);
    let flags = input.octet();
    let hosts: [IpAddr; 2] = match flags & 1 {
        0 => [1, 2].map(|last| [10, 0, 0, last].into()),
        _ => [1, 2].map(|last| [0xfd00, 0, 0, 0, 0, 0, 0, last].into()),
    };
    let ip = Ip::new(Config::host(hosts[0], if flags & 1 == 0 { 24 } else { 64 }));
    let stack = Over::new(ip, Point::default());
    let mut stack = Over::new(layer(flags), stack);
    let (down, said, sides, offers) = (AMPLE, Vec::new(), BTreeMap::new(), flags & 8 > 0);
    let mut words = Words::<P> { hosts, offers, down, sides, said };
    let (cx, mut names) = (Context::new(1), Names::new());
    stack.flush(&cx, &mut words);
    let path = PathLimits { checks: offers, ..PathLimits::of_longest(LONGEST) };
    for indication in [
        FramesIndication::State { port: 0, up: true },
        FramesIndication::Changed { port: 0, path },
        FramesIndication::Credit { port: 0, credit: AMPLE },
    ] {
        stack.handle_indication(&cx, indication, &mut words);
    }
    let listener = names.name(());
    words.sides.insert(listener, Side::default());
    let local = SocketAddr::new(hosts[0], PORT).into();
    stack.handle_request(&cx, StreamsRequest::Listen { listener, local }, &mut words);
    let credit = Credit::of_octets(2000);
    let mut made = Vec::new();
    while !input.is_empty() {
        let what = input.octet();
        match what {
            0..185 => {
                let (protocol, check_at, mut payload) = match what {
                    0..150 => {
                        let nth = usize::from(input.octet());
                        let known =
                            words.said.len().checked_sub(1).map(|last| last - nth.min(last));
                        let said = known.filter(|_| what > 20).map(|at| words.said[at].clone());
                        (P::PROTOCOL, P::CHECK, P::packet(&mut input, said.as_ref()))
                    }
                    150..165 => {
                        let length = usize::from(input.number()) % 100;
                        let mut octets = input.take(length).to_vec();
                        octets.resize(octets.len().max(P::CHECK + 2), 0);
                        (P::PROTOCOL, P::CHECK, octets)
                    }
                    _ => {
                        let Some(said) = words.said.last() else { continue };
                        let protocol = if hosts[0].is_ipv4() { 1 } else { 58 };
                        (protocol, 2, report::<P>(&mut input, hosts, said))
                    }
                };
                seal(hosts, protocol, &mut payload, check_at);
                let batch = M::with_headroom(64, &packet(hosts, protocol, &payload)).into();
                let arrives = FramesIndication::Delivered { port: 0, batch };
                stack.handle_indication(&cx, arrives, &mut words);
            }
            185..195 if made.len() < 32 => {
                let association = names.name(());
                made.push(association);
                words.sides.insert(association, Side { up: credit.octets, ..Side::default() });
                let remote = SocketAddr::new(hosts[1], u16::from(what)).into();
                let request = match what % 2 {
                    0 => StreamsRequest::Open { association, remote, local: None, credit },
                    _ => StreamsRequest::Await { listener, association, credit },
                };
                stack.handle_request(&cx, request, &mut words);
            }
            185..230 => {
                let nth = usize::from(input.octet());
                let Some(association) = made.get(nth % made.len().max(1)).copied() else {
                    continue;
                };
                let Some(side) = words.sides.get_mut(&association) else { continue };
                let length = usize::from(input.number()) % 3000;
                let request = match what % 8 {
                    0 => StreamsRequest::Abort { association, code: 0 },
                    1 => StreamsRequest::Close { name: association },
                    _ if !side.opened => continue,
                    2 => StreamsRequest::Finish { association },
                    3 | 4 => {
                        let credit = Credit::of_octets(length + 1);
                        side.up += credit.octets;
                        StreamsRequest::Credit { association, credit }
                    }
                    _ => {
                        let length = length.min(side.down);
                        side.down -= length;
                        let batch = M::with_headroom(64, &vec![1; length]).into();
                        let properties = Default::default();
                        StreamsRequest::Send { association, batch, properties }
                    }
                };
                stack.handle_request(&cx, request, &mut words);
            }
            _ => {
                let length = u64::from(input.number());
                cx.set_now(cx.now() + Duration::from_millis(length * u64::from(what % 4)));
                stack.handle_timeout(&cx, &mut words);
            }
        }
        if stack.wants_flush() {
            stack.flush(&cx, &mut words);
        }
        words.down = AMPLE;
    }
    for association in made {
        if words.sides.contains_key(&association) {
            let request = StreamsRequest::Abort { association, code: 0 };
            stack.handle_request(&cx, request, &mut words);
        }
    }
    // Those that only peers had asked for are given up.
    for _ in 0..1000 {
        if stack.wants_flush() {
            stack.flush(&cx, &mut words);
        }
        words.down = AMPLE;
        let Some(at) = stack.next_deadline() else { break };
        cx.set_now(cx.now().max(at));
        stack.handle_timeout(&cx, &mut words);
    }
    assert!(words.sides.keys().eq([&listener]), "each name has had its last word");
    assert_eq!(P::associations(&stack.upper), 0, "nothing is left");
}
