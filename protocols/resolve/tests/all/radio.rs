//! ARP over AX.25: the test is the link, which opens what it is asked for, and IP.

use std::net::Ipv4Addr;

use stackwright_contract::services::{Credit, DatagramsIndication, DatagramsRequest};
use stackwright_contract::{Address, Handle, Participant, PathLimits};
use stackwright_resolve::{Config, Resolve, hardware};
use stackwright_simulator::{LoneStack, octets_of};
use stackwright_wire::Message;

use crate::rig::{M, OWN4, PEER4, packet4};

const AMPLE: Credit = Credit { octets: 1 << 30, messages: 1 << 30 };
/// Of the longest frame, in milliseconds.
const FRAME_TIME: u64 = 1_800;

/// A request of the form that Linux 6.1 sends (`arp_create` in `net/ipv4/arp.c`): N0AAA-1 asks for
/// 192.0.2.1.
const KERNEL_REQUEST: [u8; 30] = [
    0x00, 0x03, 0x00, 0xcc, 0x07, 0x04, 0x00, 0x01, 0x9c, 0x60, 0x82, 0x82, 0x82, 0x40, 0x02, 192,
    0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 192, 0, 2, 1,
];

/// What we answer: N0BBB-7 has it.
const ANSWER: [u8; 30] = [
    0x00, 0x03, 0x00, 0xcc, 0x07, 0x04, 0x00, 0x02, 0x9c, 0x60, 0x84, 0x84, 0x84, 0x40, 0x0e, 192,
    0, 2, 1, 0x9c, 0x60, 0x82, 0x82, 0x82, 0x40, 0x02, 192, 0, 2, 2,
];

struct Radio {
    host: LoneStack<Resolve<M>>,
    names: u32,
    /// Open names below, with the station and its protocol.
    open: Vec<(Handle, Participant)>,
    /// Names below that wait for arrivals, with the destination and the protocol.
    awaited: Vec<(Handle, Participant)>,
}

fn station(call: &str, pid: u8) -> Participant {
    let call = call.parse().expect("a call sign");
    Address::Station { call, pid, route: 0 }.into()
}

fn at(host: Ipv4Addr) -> Participant {
    Address::InternetProtocol { host: host.into(), protocol: 0 }.into()
}

/// What N0AAA-1, or another, says of an address.
fn arp(operation: u8, call: &str, from: Ipv4Addr, host: Ipv4Addr) -> Vec<u8> {
    let call: stackwright_contract::CallSign = call.parse().expect("a call sign");
    let mut packet = KERNEL_REQUEST;
    packet[7] = operation;
    packet[8..15].copy_from_slice(&call.octets());
    packet[15..19].copy_from_slice(&from.octets());
    packet[26..].copy_from_slice(&host.octets());
    packet.to_vec()
}

impl Radio {
    /// N0BBB-7 with 192.0.2.1.
    fn new(neighbors: &[(Ipv4Addr, &str)]) -> Self {
        let call = |call: &str| call.parse().expect("a call sign");
        let known = neighbors.iter().map(|(host, of)| ((*host).into(), hardware(call(of))));
        let config = Config { neighbors: known.collect(), ..Config::radio(call("N0BBB-7")) };
        let host = LoneStack::new(Resolve::new(config, 2), 1);
        let mut radio = Radio { host, names: 1 << 20, open: Vec::new(), awaited: Vec::new() };
        let (listener, association) = (radio.name(), radio.name());
        radio.host.ask(DatagramsRequest::Listen { listener, local: at(OWN4) });
        radio.host.ask(DatagramsRequest::Await { listener, association, credit: AMPLE });
        assert_eq!(radio.sent(), [], "nothing is sent that nobody needs");
        assert_eq!(radio.told(), ["Listening", "Opened"]);
        radio
    }

    fn name(&mut self) -> Handle {
        self.names += 1;
        Handle { index: self.names, generation: 0 }
    }

    fn opened(&mut self, association: Handle, remote: Participant) {
        self.open.push((association, remote));
        let frame_time = FRAME_TIME as u32 * 1_000;
        let path = PathLimits { frame_time, ..PathLimits::of_longest(256) };
        let (local, credit) = (station("N0BBB-7", 0xcc), AMPLE);
        self.host.tell(DatagramsIndication::Opened { association, local, remote, credit, path });
    }

    /// Answers as AX.25 does, and returns the frames: to whom, and what.
    fn sent(&mut self) -> Vec<(Participant, Vec<u8>)> {
        let (mut sent, mut listeners) = (Vec::new(), Vec::new());
        while !self.host.said.down.is_empty() {
            for word in std::mem::take(&mut self.host.said.down) {
                match word {
                    DatagramsRequest::Listen { listener, local } => {
                        listeners.push((listener, local));
                        self.host.tell(DatagramsIndication::Listening { listener, local });
                    }
                    DatagramsRequest::Await { listener, association, .. } => {
                        let at = listeners.iter().find(|(name, _)| *name == listener);
                        at.into_iter().for_each(|(_, at)| self.awaited.push((association, *at)));
                    }
                    DatagramsRequest::Open { association, remote, .. } => {
                        self.opened(association, remote);
                    }
                    DatagramsRequest::Send { association, batch, .. } => {
                        let (_, to) = self
                            .open
                            .iter()
                            .find(|(name, _)| *name == association)
                            .expect("an open name");
                        batch.into_iter().for_each(|frame| sent.push((*to, octets_of(&frame))));
                    }
                    _ => {}
                }
            }
        }
        sent
    }

    fn told(&mut self) -> Vec<String> {
        self.host.told(|word| match word {
            DatagramsIndication::Delivered { properties, .. } if properties.returned => {
                Some("Returned".to_owned())
            }
            DatagramsIndication::Listening { .. } => Some("Listening".to_owned()),
            DatagramsIndication::Opened { .. } => Some("Opened".to_owned()),
            _ => None,
        })
    }

    /// A frame from a station to another, or to all.
    fn arrives(&mut self, from: &str, to: &str, packet: &[u8]) {
        let at = self.awaited.iter().position(|(_, at)| *at == station(to, 0xcd));
        let (association, _) = self.awaited.remove(at.expect("somebody listens there"));
        self.opened(association, station(from, 0xcd));
        let batch = M::with_headroom(64, packet).into();
        let properties = Default::default();
        self.host.tell(DatagramsIndication::Delivered { association, batch, properties });
    }

    /// Sends a packet to the peer, and returns what leaves.
    fn send(&mut self) -> Vec<(Participant, Vec<u8>)> {
        let association = self.name();
        let (remote, local, credit) = (at(PEER4), None, AMPLE);
        self.host.ask(DatagramsRequest::Open { association, remote, local, credit });
        let (batch, properties) = (M::with_headroom(64, &packet4(1)).into(), Default::default());
        self.host.ask(DatagramsRequest::Send { association, batch, properties });
        self.sent()
    }
}

#[test]
fn the_kernels_request_is_answered_and_its_sender_known_for_a_quarter_of_an_hour() {
    let mut radio = Radio::new(&[]);
    radio.arrives("N0AAA-1", "QST", &KERNEL_REQUEST);
    assert_eq!(radio.sent(), [(station("N0AAA-1", 0xcd), ANSWER.to_vec())]);
    let packet = (station("N0AAA-1", 0xcc), packet4(1));
    for wait in [0, 400_000] {
        radio.host.wait(wait);
        assert_eq!(radio.send(), std::slice::from_ref(&packet));
    }
    radio.host.wait(1_000_000);
    assert_eq!(radio.send(), [packet]);
    radio.host.wait(5_000);
    let question = arp(1, "N0BBB-7", OWN4, PEER4);
    assert_eq!(radio.sent(), [(station("N0AAA-1", 0xcd), question)], "it is asked alone");
}

#[test]
fn a_neighbor_is_asked_for_as_the_kernel_does_three_times_two_frames_apart() {
    let question = (station("QST", 0xcd), arp(1, "N0BBB-7", OWN4, PEER4));
    let mut radio = Radio::new(&[]);
    assert_eq!(radio.send(), std::slice::from_ref(&question));
    for wait in [2 * FRAME_TIME, 2 * FRAME_TIME] {
        radio.host.wait(wait - 1);
        assert_eq!(radio.sent(), []);
        radio.host.wait(1);
        assert_eq!(radio.sent(), std::slice::from_ref(&question));
    }
    radio.told();
    radio.host.wait(2 * FRAME_TIME);
    assert_eq!((radio.sent(), radio.told()), (vec![], vec!["Returned".to_owned()]));

    assert_eq!(radio.send(), [question]);
    radio.arrives("N0AAA-1", "N0BBB-7", &arp(2, "N0AAA-1", PEER4, OWN4));
    assert_eq!(radio.sent(), [(station("N0AAA-1", 0xcc), packet4(1))]);
}

#[test]
fn a_configured_neighbor_wins_and_a_station_speaks_only_for_itself() {
    let mut radio = Radio::new(&[(PEER4, "N0AAA-1")]);
    for (operation, to) in [(1, "QST"), (2, "N0BBB-7"), (1, "N0BBB-7")] {
        radio.arrives("N0EVE", to, &arp(operation, "N0EVE", PEER4, OWN4));
        radio.sent();
        assert_eq!(radio.send(), [(station("N0AAA-1", 0xcc), packet4(1))]);
    }
    // Without an entry: what is claimed for another station makes none.
    let mut radio = Radio::new(&[]);
    radio.arrives("N0EVE", "QST", &KERNEL_REQUEST);
    assert_eq!(radio.sent(), []);
    radio.arrives("N0EVE", "QST", &arp(1, "QST", PEER4, OWN4));
    assert_eq!((radio.sent(), radio.host.stack.known().0), (vec![], 0));
}
