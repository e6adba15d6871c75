//! A host: UDP over IP over a link without addresses, and what is at its other end.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use stackwright_compose::Over;
use stackwright_contract::services::{
    Batch, Credit, DatagramsIndication, DatagramsRequest, Ecn, Ended, FramesIndication,
    FramesRequest, MessageProperties,
};
use stackwright_contract::{
    Context, Handle, Outlet, Participant, PathLimits, Protocol, RequestOf, Trouble,
};
use stackwright_ip::{Config, Ip, Point};
use stackwright_udp::{Udp, layer};
use stackwright_wire::{Message, SingleBuffer};

type M = SingleBuffer;
type Stack = Over<Udp<M>, Over<Ip<M>, Point<M>>>;

const ROOM: Credit = Credit { octets: 1 << 20, messages: 64 };

/// What the application was told.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Told {
    Listening(u32, Participant),
    Opened(u32, Participant, Participant),
    Delivered(u32, Vec<u8>, Ecn),
    Reported(u32, Trouble),
    Ended(u32, Ended),
}

pub(crate) struct Host {
    stack: Stack,
    cx: Context,
    ends: Ends,
    pub(crate) told: Vec<Told>,
    /// That of the association that was opened last.
    pub(crate) credit: Credit,
    pub(crate) longest: u32,
}

#[derive(Default)]
struct Ends {
    up: VecDeque<DatagramsIndication<M>>,
    down: VecDeque<Batch<M>>,
    given: Credit,
}

/// The link between two hosts.
pub(crate) struct Link {
    pub(crate) a: Host,
    pub(crate) b: Host,
    /// Which octet of what UDP sends is altered on the way.
    pub(crate) alter: Option<usize>,
    version: u8,
}

fn host(version: u8, last: u8) -> IpAddr {
    match version {
        4 if last == 0 => IpAddr::from([0; 4]),
        4 => IpAddr::from([10, 0, 0, last]),
        _ if last == 0 => IpAddr::from([0; 16]),
        _ => IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, last.into()]),
    }
}

pub(crate) fn place(version: u8, last: u8, port: u16) -> Participant {
    SocketAddr::new(host(version, last), port).into()
}

pub(crate) fn own(version: u8, last: u8, port: u16) -> Participant {
    place(version, last, port)
}

const fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

impl Host {
    fn new(version: u8, last: u8, checks: bool) -> Self {
        let length = if version == 4 { 24 } else { 64 };
        let ip = Ip::new(Config::host(host(version, last), length));
        let stack = Over::new(layer(last.into()), Over::new(ip, Point::default()));
        let mut host = Host {
            stack,
            cx: Context::new(last.into()),
            ends: Ends::default(),
            told: Vec::new(),
            credit: Credit::NONE,
            longest: 0,
        };
        host.stack.flush(&host.cx, &mut host.ends);
        let path = PathLimits { checks, ..PathLimits::of_longest(1500) };
        host.hear(FramesIndication::State { port: 0, up: true });
        host.hear(FramesIndication::Changed { port: 0, path });
        host.hear(FramesIndication::Credit { port: 0, credit: ROOM });
        host
    }

    fn hear(&mut self, word: FramesIndication<M>) {
        self.stack.handle_indication(&self.cx, word, &mut self.ends);
        self.finish();
    }

    fn ask(&mut self, word: DatagramsRequest<M>) {
        self.stack.handle_request(&self.cx, word, &mut self.ends);
        self.finish();
    }

    fn finish(&mut self) {
        while self.stack.wants_flush() {
            self.stack.flush(&self.cx, &mut self.ends);
        }
        while let Some(word) = self.ends.up.pop_front() {
            match word {
                DatagramsIndication::Listening { listener, local } => {
                    self.told.push(Told::Listening(listener.index, local));
                }
                DatagramsIndication::Opened { association, local, remote, credit, path } => {
                    (self.credit, self.longest) = (credit, path.longest);
                    self.told.push(Told::Opened(association.index, local, remote));
                }
                DatagramsIndication::Delivered { association, batch, properties } => {
                    let credit = batch.cost();
                    let octets = batch.into_octets().octets().to_vec();
                    self.told.push(Told::Delivered(association.index, octets, properties.ecn));
                    self.ask(DatagramsRequest::Credit { association, credit });
                }
                DatagramsIndication::Reported { association, what, .. } => {
                    self.told.push(Told::Reported(association.index, what));
                }
                DatagramsIndication::Credit { credit, .. } => self.credit += credit,
                DatagramsIndication::Ended { name, why } => {
                    self.told.push(Told::Ended(name.index, why));
                }
                word => panic!("{word:?}"),
            }
        }
    }

    pub(crate) fn listen(&mut self, listener: u32, local: Participant) {
        self.ask(DatagramsRequest::Listen { listener: name(listener), local });
    }

    pub(crate) fn expect(&mut self, listener: u32, association: u32) {
        let (listener, association) = (name(listener), name(association));
        self.ask(DatagramsRequest::Await { listener, association, credit: ROOM });
    }

    pub(crate) fn open(
        &mut self,
        association: u32,
        remote: Participant,
        local: Option<Participant>,
    ) {
        let association = name(association);
        self.ask(DatagramsRequest::Open { association, remote, local, credit: ROOM });
    }

    pub(crate) fn send(&mut self, association: u32, octets: &[u8], ecn: Ecn) {
        let batch: Batch<M> = M::with_headroom(64, octets).into();
        self.credit -= batch.cost();
        let properties = MessageProperties { ecn, ..Default::default() };
        let association = name(association);
        self.ask(DatagramsRequest::Send { association, batch, properties });
    }
}

impl Link {
    /// Two hosts of a version of IP, whose devices complete checks, or do not.
    pub(crate) fn new(version: u8, checks: bool) -> Self {
        let [a, b] = [1, 2].map(|last| Host::new(version, last, checks));
        Link { a, b, alter: None, version }
    }

    /// Carries packets until none is under way.
    pub(crate) fn settle(&mut self) {
        let Link { a, b, alter, version } = self;
        let before = if *version == 4 { 20 } else { 40 };
        let alter = alter.map(|place| before + place);
        while carry(a, b, alter) | carry(b, a, alter) {}
    }
}

/// Carries what one host has sent to the other; returns whether there was any.
fn carry(from: &mut Host, to: &mut Host, alter: Option<usize>) -> bool {
    let mut any = false;
    while let Some(batch) = from.ends.down.pop_front() {
        any = true;
        let credit = batch.cost();
        for packet in batch {
            let mut octets = packet.octets().to_vec();
            if let Some(place) = alter {
                octets[place] ^= 1;
            }
            let batch = Batch::from(M::with_headroom(0, &octets));
            if to.ends.given.covers(batch.cost()) {
                to.ends.given -= batch.cost();
                to.hear(FramesIndication::Delivered { port: 0, batch });
            }
        }
        from.hear(FramesIndication::Credit { port: 0, credit });
    }
    any
}

impl Outlet<Stack> for Ends {
    fn indicate(&mut self, word: DatagramsIndication<M>) {
        self.up.push_back(word);
    }

    fn request(&mut self, word: RequestOf<Stack>) {
        match word {
            FramesRequest::Send { batch, .. } => self.down.push_back(batch),
            FramesRequest::Credit { credit } => self.given += credit,
        }
    }
}
