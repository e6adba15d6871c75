//! A host on Ethernet, or a radio station: it hears any ARP and any neighbour discovery, and sends.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use stackwright::ethernet::{self, EthernetDatagrams};
use stackwright::resolve::{Config, Resolve};
use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, DatagramsIndication, DatagramsRequest, Ended, FramesIndication, FramesRequest,
};
use stackwright_contract::{
    Address, CallSign, Context, Duration, Handle, IndicationOf, Names, Outlet, Participant,
    PathLimits, Protocol as _, RequestOf,
};
use stackwright_wire::check::Internet;
use stackwright_wire::internet::pseudo_header;
use stackwright_wire::{BufferTree, Message as _};

use crate::Input;
use crate::ip::AMPLE;

type M = BufferTree;
type Stack = Over<Resolve<M>, EthernetDatagrams<M>>;

const OWN: [u8; 6] = [2, 0, 0, 0, 0, 1];
const OWN4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const OWN6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0x11, 0x2233);
/// Own and other neighbours that are known, and the names below.
const KNOWN_MOST: (usize, usize) = (256, 600);

#[derive(Default)]
struct Words {
    ended: Vec<Handle>,
    longest: usize,
}

impl Outlet<Stack> for Words {
    fn indicate(&mut self, indication: IndicationOf<Stack>) {
        let name = indication.name();
        assert!(!self.ended.contains(&name), "nothing follows the last word");
        if let DatagramsIndication::Ended { .. } = indication {
            self.ended.push(name);
        }
    }

    fn request(&mut self, request: RequestOf<Stack>) {
        let FramesRequest::Send { batch, .. } = request else { return };
        for frame in batch {
            self.longest = self.longest.max(frame.len());
            assert!((14..=1514).contains(&frame.len()), "a frame of Ethernet");
        }
    }
}

fn address(input: &mut Input<'_>) -> [u8; 6] {
    match input.octet() {
        0..200 => [2, 0, 0, 0, 0, input.octet() % 4],
        200..220 => [0xff; 6],
        _ => std::array::from_fn(|_| input.octet()),
    }
}

fn host6(input: &mut Input<'_>) -> Ipv6Addr {
    match input.octet() {
        0..80 => OWN6,
        80..200 => Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0x44, input.number() % 300),
        200..220 => Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff11, 0x2233),
        220..230 => Ipv6Addr::UNSPECIFIED,
        _ => std::array::from_fn::<u16, 8, _>(|_| input.number()).into(),
    }
}

/// A packet of ARP, with its Ethernet type.
fn arp(input: &mut Input<'_>) -> (u16, Vec<u8>) {
    let mut packet = vec![0, 1, 8, 0, 6, 4, 0, input.octet() % 4];
    for _ in 0..2 {
        packet.extend(address(input));
        packet.extend([10, 0, input.octet() % 2, input.octet()]);
    }
    (0x806, packet)
}

/// A packet of neighbour discovery, with its Ethernet type.
fn ndp(input: &mut Input<'_>) -> (u16, Vec<u8>) {
    let (source, destination, target) = (host6(input), host6(input), host6(input));
    let (kind, code) = (133 + input.octet() % 6, input.octet() / 250);
    let mut body = vec![kind, code, 0, 0, input.octet(), 0, 0, 0];
    body.extend(target.octets());
    for _ in 0..input.octet() % 4 {
        body.extend([input.octet() % 6, input.octet() / 80]);
        body.extend(address(input));
    }
    let length = usize::from(input.octet() % 8);
    body.extend(input.take(length));
    let mut check = Internet::new();
    let sum = pseudo_header(source.into(), destination.into(), 58, body.len() as u32);
    check.add(&sum.to_be_bytes());
    check.add(&body);
    body[2..4].copy_from_slice(&check.value().to_be_bytes());
    let hops = if input.octet() > 20 { 255 } else { 64 };
    let mut packet = vec![0x60, 0, 0, 0, 0, body.len() as u8, 58, hops];
    packet.extend(source.octets());
    packet.extend(destination.octets());
    packet.extend(body);
    (0x86dd, packet)
}

/// Whatever arrives, frames leave, nothing panics, and what is known is bounded.
pub fn resolve(octets: &[u8]) {
    let mut input = Input(octets);
    let flags = input.octet();
    if flags & 2 > 0 {
        return radio(&mut input);
    }
    let ethernet = EthernetDatagrams::new(ethernet::Config { address: OWN, lan: None }, 1);
    let config = Config { probes: flags & 1 > 0, ..Config::default() };
    let mut stack = Stack::new(Resolve::new(config, 2), ethernet);
    let (cx, mut names, mut words) = (Context::new(1), Names::new(), Words::default());
    stack.flush(&cx, &mut words);
    for indication in [
        FramesIndication::State { port: 0, up: true },
        FramesIndication::Changed { port: 0, path: PathLimits::of_longest(1514) },
        FramesIndication::Credit { port: 0, credit: AMPLE },
    ] {
        stack.handle_indication(&cx, indication, &mut words);
    }
    let at = |host: IpAddr| Address::InternetProtocol { host, protocol: 0 }.into();
    for own in [OWN4.into(), OWN6.into()] {
        let (listener, association) = (names.name(()), names.name(()));
        let listen = DatagramsRequest::Listen { listener, local: at(own) };
        stack.handle_request(&cx, listen, &mut words);
        let credit = AMPLE;
        let wait = DatagramsRequest::Await { listener, association, credit };
        stack.handle_request(&cx, wait, &mut words);
    }
    let mut hops: Vec<Handle> = Vec::new();
    while !input.is_empty() {
        let what = input.octet();
        match what {
            0..170 => {
                let [to, from] = [0, 1].map(|_| address(&mut input));
                let (kind, mut packet) = match what {
                    0..70 => arp(&mut input),
                    70..150 => ndp(&mut input),
                    _ => {
                        let length = usize::from(input.octet());
                        ([0x800, 0x86dd, 0x806][usize::from(what % 3)], input.take(length).into())
                    }
                };
                if input.octet() < 20 {
                    packet.truncate(input.octet().into());
                }
                let to = if input.octet() < 200 { OWN } else { to };
                let frame = [&to[..], &from, &kind.to_be_bytes(), &packet].concat();
                let batch = M::with_headroom(0, &frame).into();
                let arrives = FramesIndication::Delivered { port: 0, batch };
                stack.handle_indication(&cx, arrives, &mut words);
            }
            170..190 if hops.len() < 300 => {
                let host = match what % 2 {
                    0 => Ipv4Addr::new(10, 0, input.octet() % 2, input.octet()).into(),
                    _ => host6(&mut input).into(),
                };
                let (association, local) = (names.name(()), None);
                hops.push(association);
                let (remote, credit) = (at(host), Credit::NONE);
                let open = DatagramsRequest::Open { association, remote, local, credit };
                stack.handle_request(&cx, open, &mut words);
            }
            170..235 => {
                let nth = usize::from(input.octet()) % hops.len().max(1);
                let Some(association) = hops.get(nth).copied() else { continue };
                if words.ended.contains(&association) {
                    continue;
                }
                let request = match what % 8 {
                    0 => DatagramsRequest::Close { name: association },
                    _ => {
                        let mut packet = vec![0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0];
                        packet.extend([10, 0, 0, 1, 10, 0, 0, 2]);
                        let batch = M::with_headroom(64, &packet).into();
                        let properties = Default::default();
                        DatagramsRequest::Send { association, batch, properties }
                    }
                };
                stack.handle_request(&cx, request, &mut words);
            }
            _ => {
                let time = u64::from(input.number()) * u64::from(what % 4);
                cx.set_now(cx.now() + Duration::from_millis(time));
                stack.handle_timeout(&cx, &mut words);
            }
        }
        if stack.wants_flush() {
            stack.flush(&cx, &mut words);
        }
        let credit = Credit { octets: 1 << 20, messages: 64 };
        stack.handle_indication(&cx, FramesIndication::Credit { port: 0, credit }, &mut words);
        let (neighbors, below) = stack.upper.known();
        assert!(neighbors <= KNOWN_MOST.0 && below <= KNOWN_MOST.1, "{neighbors} {below}");
    }
}

/// A radio station's next hops, over a link that opens what it is asked for.
struct Link {
    open: Vec<Handle>,
    awaited: Vec<Handle>,
    asked: Vec<RequestOf<Resolve<M>>>,
}

impl Outlet<Resolve<M>> for Link {
    fn indicate(&mut self, _: IndicationOf<Resolve<M>>) {}

    fn request(&mut self, request: RequestOf<Resolve<M>>) {
        self.asked.push(request);
    }
}

/// Does what was asked for below.
fn serve(resolve: &mut Resolve<M>, cx: &Context, link: &mut Link) {
    while !link.asked.is_empty() {
        for request in std::mem::take(&mut link.asked) {
            let word = match request {
                DatagramsRequest::Listen { listener, local } => {
                    DatagramsIndication::Listening { listener, local }
                }
                DatagramsRequest::Await { association, .. } => {
                    link.awaited.push(association);
                    continue;
                }
                DatagramsRequest::Open { association, remote, .. } => {
                    link.open.push(association);
                    opened(association, remote)
                }
                DatagramsRequest::Close { name } => {
                    link.open.retain(|open| *open != name);
                    DatagramsIndication::Ended { name, why: Ended::Finished }
                }
                DatagramsRequest::Send { association, batch, .. } => {
                    assert!(link.open.contains(&association), "only what is open sends");
                    DatagramsIndication::Credit { association, credit: batch.cost() }
                }
                _ => continue,
            };
            resolve.handle_indication(cx, word, link);
        }
    }
}

fn opened(association: Handle, remote: Participant) -> DatagramsIndication<M> {
    let (local, path) = (remote, PathLimits::of_longest(256));
    DatagramsIndication::Opened { association, local, remote, credit: AMPLE, path }
}

/// The call signs of a few stations, of all, and such that are none.
fn call(input: &mut Input<'_>) -> [u8; 7] {
    match input.octet() {
        0..200 => [0x9c, 0x60, 0x82, 0x82, 0x82, 0x40, input.octet() << 1],
        200..220 => [0xa2, 0xa6, 0xa8, 0x40, 0x40, 0x40, 0],
        _ => std::array::from_fn(|_| input.octet()),
    }
}

fn radio(input: &mut Input<'_>) {
    let own = CallSign::from_octets([0x9c, 0x60, 0x82, 0x82, 0x82, 0x40, 0]).expect("N0AAA");
    let mut resolve = Resolve::<M>::new(Config::radio(own), 2);
    let mut link = Link { open: Vec::new(), awaited: Vec::new(), asked: Vec::new() };
    let (cx, mut names) = (Context::new(1), Names::new());
    let at = |host: Ipv4Addr| Address::InternetProtocol { host: host.into(), protocol: 0 }.into();
    let (listener, association) = (names.name(()), names.name(()));
    let listen = DatagramsRequest::Listen { listener, local: at(OWN4) };
    resolve.handle_request(&cx, listen, &mut link);
    let wait = DatagramsRequest::Await { listener, association, credit: AMPLE };
    resolve.handle_request(&cx, wait, &mut link);
    serve(&mut resolve, &cx, &mut link);
    while !input.is_empty() {
        let what = input.octet();
        match what {
            0..190 => {
                let from = call(input);
                let mut packet = vec![0, 3, 0, 0xcc, 7, 4, 0, input.octet() % 4];
                packet.extend(if what < 150 { from } else { call(input) });
                packet.extend([10, 0, input.octet() % 2, input.octet()]);
                packet.extend(call(input));
                packet.extend([10, 0, input.octet() % 2, input.octet()]);
                if what >= 180 {
                    packet.truncate(input.octet().into());
                }
                let nth = usize::from(input.octet()) % link.open.len().max(1);
                let association = match CallSign::from_octets(from) {
                    Ok(call) if !link.awaited.is_empty() => {
                        let name = link.awaited.swap_remove(nth % link.awaited.len());
                        link.open.push(name);
                        let remote = Address::Station { call, pid: 0xcd, route: 0 }.into();
                        resolve.handle_indication(&cx, opened(name, remote), &mut link);
                        name
                    }
                    _ => link.open[nth],
                };
                let (batch, properties) =
                    (M::with_headroom(64, &packet).into(), Default::default());
                let arrives = DatagramsIndication::Delivered { association, batch, properties };
                resolve.handle_indication(&cx, arrives, &mut link);
            }
            190..230 => {
                let host = Ipv4Addr::new(10, 0, input.octet() % 2, input.octet());
                let (association, local) = (names.name(()), None);
                let (remote, credit) = (at(host), AMPLE);
                let open = DatagramsRequest::Open { association, remote, local, credit };
                resolve.handle_request(&cx, open, &mut link);
                let (batch, properties) =
                    (M::with_headroom(64, &[0x45; 20]).into(), Default::default());
                let send = DatagramsRequest::Send { association, batch, properties };
                resolve.handle_request(&cx, send, &mut link);
                resolve.handle_request(
                    &cx,
                    DatagramsRequest::Close { name: association },
                    &mut link,
                );
            }
            _ => {
                let time = u64::from(input.number()) * u64::from(what % 16);
                cx.set_now(cx.now() + Duration::from_millis(time));
                resolve.handle_timeout(&cx, &mut link);
            }
        }
        serve(&mut resolve, &cx, &mut link);
        let (neighbors, below) = resolve.known();
        assert!(neighbors <= KNOWN_MOST.0 && below <= KNOWN_MOST.1, "{neighbors} {below}");
    }
}
