//! A host that is a router too, on a link without addresses: it hears any packets, and sends.

use stackwright::ip::{Config, Ip, Point};
use stackwright_compose::Over;
use stackwright_contract::services::{
    Batch, Credit, DatagramsIndication, DatagramsRequest, FramesIndication, FramesRequest,
    MessageProperties,
};
use stackwright_contract::{
    Address, Context, Duration, Handle, IndicationOf, Names, Outlet, PathLimits, Protocol as _,
    RequestOf,
};
use stackwright_wire::check::Internet;
use stackwright_wire::{BufferTree, Message as _};

use crate::Input;

type M = BufferTree;
type Stack = Over<Ip<M>, Point<M>>;

pub(crate) const AMPLE: Credit = Credit { octets: 1 << 24, messages: 1 << 14 };
/// What fragments may hold.
const HELD_MOST: usize = 1 << 20;

/// What leaves is a packet whose lengths and header check agree, and not longer than `longest`.
pub(crate) fn check_packet(octets: &[u8], longest: usize) {
    assert!(octets.len() <= longest, "{} of {longest}", octets.len());
    let said = usize::from(u16::from_be_bytes(match octets[0] >> 4 {
        4 => [octets[2], octets[3]],
        _ => [octets[4], octets[5]],
    }));
    if octets[0] >> 4 == 4 {
        let header = usize::from(octets[0] & 15) * 4;
        assert_eq!((said, Internet::of(&octets[..header])), (octets.len(), 0));
    } else {
        assert_eq!(said + 40, octets.len());
    }
}

/// A fragment that is well formed by itself: those of a few packets overlap, repeat, come short or
/// reach too far.
fn fragment(input: &mut Input<'_>) -> Vec<u8> {
    let what = input.octet();
    let (protocol, id) = ([6, 17, 99, 58][usize::from(what % 4)], what / 4 % 4);
    let offset = match input.octet() {
        units @ 0..230 => u16::from(units % 16),
        _ => input.number() % 8192,
    };
    let (more, length) = (what < 180, usize::from(input.octet() % 17) * 8);
    let length = if more { length } else { length.saturating_sub(usize::from(what % 8)) };
    let data = vec![input.octet(); length];
    let mut packet = if what & 16 == 0 {
        let place = offset | u16::from(more) << 13;
        let ([length, low], [high, place]) =
            ((20 + length as u16).to_be_bytes(), place.to_be_bytes());
        vec![0x45, 0, length, low, 0, id, high, place, 64, protocol, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1]
    } else {
        let host = |last| [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
        let ([high, low], [one, other]) =
            ((8 + length as u16).to_be_bytes(), (offset << 3 | u16::from(more)).to_be_bytes());
        let front = [0x60, 0, 0, 0, high, low, 44, 64];
        [&front[..], &host(2), &host(1), &[protocol, 0, one, other, 0, 0, 0, id]].concat()
    };
    packet.extend(data);
    packet
}

struct Words {
    /// Octets that a packet may have.
    longest: usize,
    /// Of the device, downward.
    down: Credit,
    /// Of the layer above, upward.
    up: Credit,
    sent: usize,
    ended: Vec<Handle>,
}

impl Outlet<Stack> for Words {
    fn indicate(&mut self, indication: IndicationOf<Stack>) {
        match indication {
            DatagramsIndication::Delivered { association, batch, .. } => {
                assert!(!self.ended.contains(&association), "it has ended");
                self.up -= batch.cost();
            }
            DatagramsIndication::Ended { name, .. } => {
                assert!(!self.ended.contains(&name), "the last word comes once");
                self.ended.push(name);
            }
            _ => {}
        }
    }

    fn request(&mut self, request: RequestOf<Stack>) {
        let FramesRequest::Send { batch, .. } = request else { return };
        self.down -= batch.cost();
        for packet in batch {
            let mut octets = Vec::new();
            packet.append_to(&mut octets);
            self.sent += 1;
            check_packet(&octets, self.longest);
        }
    }
}

/// Whatever arrives, what leaves is a packet that the link takes, nothing panics, and what is held
/// is bounded.
pub fn ip(octets: &[u8]) {
    let mut input = Input(octets);
    let flags = input.octet();
    let address = |octets: [u8; 4]| octets.into();
    let mut config = Config::host(address([10, 0, 0, 1]), 24).through(address([10, 0, 0, 9]), 0);
    config.interfaces[0].addresses.push(([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into(), 64));
    (config.forwards, config.fragments) = (flags & 1 > 0, flags & 2 > 0);
    let mut stack = Stack::new(Ip::new(config), Point::default());
    let longest = 1280 + usize::from(input.octet());
    let path = PathLimits { checks: flags & 4 > 0, ..PathLimits::of_longest(longest) };
    let mut words = Words { longest, down: AMPLE, up: AMPLE, sent: 0, ended: Vec::new() };
    let (cx, mut names) = (Context::new(1), Names::new());
    stack.flush(&cx, &mut words);
    for indication in [
        FramesIndication::State { port: 0, up: true },
        FramesIndication::Changed { port: 0, path },
        FramesIndication::Credit { port: 0, credit: AMPLE },
    ] {
        stack.handle_indication(&cx, indication, &mut words);
    }
    let at = |host, protocol| Address::InternetProtocol { host, protocol }.into();
    let credit = AMPLE;
    for protocol in [6, 17] {
        let (listener, local) = (names.name(()), at([0u16; 8].into(), protocol));
        stack.handle_request(&cx, DatagramsRequest::Listen { listener, local }, &mut words);
        for _ in 0..8 {
            let association = names.name(());
            let wait = DatagramsRequest::Await { listener, association, credit };
            stack.handle_request(&cx, wait, &mut words);
        }
    }
    let (association, remote, local) = (names.name(()), at(address([10, 0, 0, 2]), 17), None);
    let open = DatagramsRequest::Open { association, remote, local, credit };
    stack.handle_request(&cx, open, &mut words);
    while !input.is_empty() {
        let (what, length) = (input.octet(), usize::from(input.number()) % 2000);
        match what {
            // A packet, whose check is often right.
            0..200 => {
                let mut packet = match what {
                    140..180 => fragment(&mut input),
                    _ => input.take(length).to_vec(),
                };
                let header = packet.first().map_or(0, |first| usize::from(first & 15) * 4);
                if what >= 20 && header >= 20 && header <= packet.len() && packet[0] >> 4 == 4 {
                    packet[10..12].fill(0);
                    let check = Internet::of(&packet[..header]).to_be_bytes();
                    packet[10..12].copy_from_slice(&check);
                }
                let batch = if what < 180 || packet.is_empty() {
                    M::with_headroom(64, &packet).into()
                } else {
                    Batch::new(M::with_headroom(64, &packet.repeat(3)), packet.len())
                };
                let delivered = FramesIndication::Delivered { port: 0, batch };
                stack.handle_indication(&cx, delivered, &mut words);
            }
            200..230 => {
                let batch = M::with_headroom(64, input.take(length)).into();
                let properties =
                    MessageProperties { returned: what < 205, ..MessageProperties::default() };
                let send = DatagramsRequest::Send { association, batch, properties };
                stack.handle_request(&cx, send, &mut words);
            }
            _ => {
                cx.set_now(cx.now() + Duration::from_millis(length as u64 * 50));
                stack.handle_timeout(&cx, &mut words);
            }
        }
        assert!(stack.upper.held_fragments() <= HELD_MOST);
    }
}
