//! A station that relays: it hears any options in any packets, sends, and has packets come back.

use std::net::Ipv4Addr;

use stackwright::dsr::{Config, Dsr};
use stackwright_contract::services::{Credit, DatagramsIndication, DatagramsRequest, Ended};
use stackwright_contract::{
    Address, Context, Duration, Handle, IndicationOf, Names, Outlet, Participant, PathLimits,
    Protocol as _, RequestOf,
};
use stackwright_wire::internet::complete_ipv4;
use stackwright_wire::{BufferTree, Message as _};

use crate::Input;
use crate::ip::{AMPLE, check_packet};

type M = BufferTree;

const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const LONGEST: usize = 256;

/// What is below: it opens what it is asked for, and is asked to send.
#[derive(Default)]
struct Air {
    link: Option<Handle>,
    hops: Vec<Handle>,
    asked: Vec<RequestOf<Dsr<M>>>,
    ended: Vec<Handle>,
}

impl Outlet<Dsr<M>> for Air {
    fn indicate(&mut self, indication: IndicationOf<Dsr<M>>) {
        let name = indication.name();
        assert!(!self.ended.contains(&name), "nothing follows the last word");
        if let DatagramsIndication::Ended { .. } = indication {
            self.ended.push(name);
        }
    }

    fn request(&mut self, request: RequestOf<Dsr<M>>) {
        self.asked.push(request);
    }
}

fn at(host: Ipv4Addr) -> Participant {
    Address::InternetProtocol { host: host.into(), protocol: 0 }.into()
}

fn opened(association: Handle, remote: Participant) -> DatagramsIndication<M> {
    let path = PathLimits { frame_time: 10_000, ..PathLimits::of_longest(LONGEST) };
    let credit = Credit { octets: 1 << 16, messages: 16 };
    DatagramsIndication::Opened { association, local: at(OWN), remote, credit, path }
}

/// Does what was asked for below.
fn serve(dsr: &mut Dsr<M>, cx: &Context, air: &mut Air) {
    while !air.asked.is_empty() {
        for request in std::mem::take(&mut air.asked) {
            let word = match request {
                DatagramsRequest::Listen { listener, local } => {
                    DatagramsIndication::Listening { listener, local }
                }
                DatagramsRequest::Await { association, .. } => {
                    air.link = Some(association);
                    opened(association, Participant::OTHER_END)
                }
                DatagramsRequest::Open { association, remote, .. } => {
                    air.hops.push(association);
                    opened(association, remote)
                }
                DatagramsRequest::Close { name } => {
                    air.hops.retain(|hop| *hop != name);
                    DatagramsIndication::Ended { name, why: Ended::Finished }
                }
                DatagramsRequest::Send { association, batch, .. } => {
                    assert!(air.hops.contains(&association), "only what is open sends");
                    let credit = batch.cost();
                    let mut octets = Vec::new();
                    batch.into_single().append_to(&mut octets);
                    check_packet(&octets, LONGEST);
                    DatagramsIndication::Credit { association, credit }
                }
                _ => continue,
            };
            dsr.handle_indication(cx, word, air);
        }
    }
}

fn host(input: &mut Input<'_>) -> [u8; 4] {
    match input.octet() {
        0..220 => [10, 0, 0, input.octet() % 8],
        220..240 => [255; 4],
        _ => std::array::from_fn(|_| input.octet()),
    }
}

/// A packet with some options, as somebody may send it.
fn packet(input: &mut Input<'_>) -> Vec<u8> {
    let mut options = Vec::new();
    for _ in 0..input.octet() % 4 {
        let (kind, front) = match input.octet() % 8 {
            0 => (1, vec![0, input.octet() % 4]),
            1 => (2, vec![0]),
            2 => (3, vec![1, input.octet()]),
            3 => (32, vec![0, input.octet()]),
            4 | 5 => (96, vec![0, input.octet() % 5]),
            6 => (160, vec![0, input.octet()]),
            _ => (input.octet(), vec![]),
        };
        let list: Vec<_> = (0..input.octet() % 5).flat_map(|_| host(input)).collect();
        options.extend([kind, (front.len() + list.len()) as u8]);
        options.extend(front.into_iter().chain(list));
    }
    let hops = input.octet() % 8;
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, hops, 48, 0, 0];
    packet.extend(host(input));
    packet.extend(host(input));
    packet.extend([[17, 59][usize::from(input.octet() % 2)], 0, 0, options.len() as u8]);
    packet.extend(options);
    packet.extend(input.take(8));
    packet[3] = packet.len() as u8;
    complete_ipv4(&mut packet[..20]);
    packet
}

/// Takes what a station hears and is asked for, and has time pass.
pub fn dsr(octets: &[u8]) {
    let mut input = Input(octets);
    let mut dsr = Dsr::<M>::new(Config::default(), 2);
    let (cx, mut names, mut air) = (Context::new(1), Names::new(), Air::default());
    let (listener, association) = (names.name(()), names.name(()));
    let listen = DatagramsRequest::Listen { listener, local: at(OWN) };
    dsr.handle_request(&cx, listen, &mut air);
    let wait = DatagramsRequest::Await { listener, association, credit: AMPLE };
    dsr.handle_request(&cx, wait, &mut air);
    serve(&mut dsr, &cx, &mut air);
    while !input.is_empty() {
        let what = input.octet();
        match what {
            0..190 => {
                let octets = if what < 170 { packet(&mut input) } else { input.take(40).to_vec() };
                let nth = usize::from(what) % air.hops.len().max(1);
                let hop = air.hops.get(nth).copied().filter(|_| what % 16 == 0);
                let returned = hop.is_some();
                let Some(association) = hop.or(air.link) else { continue };
                let batch = M::with_headroom(0, &octets).into();
                let properties = stackwright_contract::services::MessageProperties {
                    returned,
                    ..Default::default()
                };
                let word = DatagramsIndication::Delivered { association, batch, properties };
                dsr.handle_indication(&cx, word, &mut air);
            }
            190..220 => {
                let (association, remote) = (names.name(()), at(host(&mut input).into()));
                let (local, credit) = (None, AMPLE);
                let open = DatagramsRequest::Open { association, remote, local, credit };
                dsr.handle_request(&cx, open, &mut air);
                let mut packet = vec![0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1];
                packet.extend(host(&mut input));
                complete_ipv4(&mut packet);
                let (batch, properties) =
                    (M::with_headroom(64, &packet).into(), Default::default());
                let send = DatagramsRequest::Send { association, batch, properties };
                dsr.handle_request(&cx, send, &mut air);
                if what % 4 == 0 {
                    let close = DatagramsRequest::Close { name: association };
                    dsr.handle_request(&cx, close, &mut air);
                }
            }
            _ => {
                let time = u64::from(input.octet()) * u64::from(what % 8);
                cx.set_now(cx.now() + Duration::from_millis(time));
                dsr.handle_timeout(&cx, &mut air);
            }
        }
        serve(&mut dsr, &cx, &mut air);
        let held = dsr.held();
        assert!(held.iter().zip(Dsr::<M>::BOUNDS).all(|(held, bound)| *held <= bound), "{held:?}");
    }
}
