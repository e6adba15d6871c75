//! A station of which both neighbours are the test: it says from which address a packet comes, and
//! sees to which one each goes.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright_contract::{
    Context, Duration, Handle, IndicationOf, Names, Outlet, PathLimits, Protocol, RequestOf,
};
use stackwright_wire::{BufferTree, Message};
use stackwright_xtp::services::XtpService;
use stackwright_xtp::{Config, Layer, layer};

pub(crate) type M = BufferTree;

/// Services of messages.
pub(crate) trait Service: XtpService<Transfer<M> = Datagrams<M>> {}
impl<S: XtpService<Transfer<M> = Datagrams<M>>> Service for S {}

const EVERYTHING: Credit = Credit { octets: 1 << 40, messages: 1 << 40 };
const ROOM: Credit = Credit { octets: 1 << 20, messages: 64 };

/// How many names wait for arrivals, above and below.
pub(crate) const AWAITED: usize = 4;

struct Words<S: Service> {
    down: VecDeque<RequestOf<Layer<M, S>>>,
    up: VecDeque<IndicationOf<Layer<M, S>>>,
}

impl<S: Service> Outlet<Layer<M, S>> for Words<S> {
    fn indicate(&mut self, told: IndicationOf<Layer<M, S>>) {
        self.up.push_back(told);
    }

    fn request(&mut self, asked: RequestOf<Layer<M, S>>) {
        self.down.push_back(asked);
    }
}

/// An address for each number.
pub(crate) fn address(nth: u32) -> SocketAddr {
    let [_, a, b, c] = nth.to_be_bytes();
    SocketAddr::from(([10, a, b, c], 1024 + (nth % 50_000) as u16))
}

/// The address of a station.
pub(crate) fn here() -> SocketAddr {
    SocketAddr::from(([10, 255, 0, 1], 7))
}

/// A station, and what became of all that it was told.
pub(crate) struct Station<S: Service> {
    cx: Context,
    pub(crate) layer: Layer<M, S>,
    words: Words<S>,
    listener: Handle,
    /// Whether the application awaits another context for each that is opened.
    pub(crate) listens: bool,
    names: Names<()>,
    awaited: VecDeque<Handle>,
    below: BTreeMap<Handle, SocketAddr>,
    peers: BTreeMap<SocketAddr, Handle>,
    /// The packets that left since they were last taken, and for which address.
    sent: Vec<(SocketAddr, Vec<u8>)>,
    /// Whether the application gives credit for what it was given.
    pub(crate) reads: bool,
    pub(crate) opened: Vec<Handle>,
    pub(crate) heard: Vec<Vec<u8>>,
    pub(crate) ended: Vec<(Handle, Ended)>,
}

impl<S: Service> Station<S> {
    /// A station that opens, and expects nothing.
    pub(crate) fn new(config: Config) -> Self {
        let mut names = Names::default();
        Station {
            cx: Context::new(0),
            layer: layer(config, 1),
            words: Words { down: VecDeque::new(), up: VecDeque::new() },
            listener: names.name(()),
            listens: false,
            names,
            awaited: VecDeque::new(),
            below: BTreeMap::new(),
            peers: BTreeMap::new(),
            sent: Vec::new(),
            reads: true,
            opened: Vec::new(),
            heard: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// A station that listens, and awaits as many contexts as come.
    pub(crate) fn listening(config: Config) -> Self {
        let mut station = Station::new(config);
        let (listener, local) = (station.listener, here().into());
        station.ask(DatagramsRequest::Listen { listener, local });
        for _ in 0..AWAITED {
            station.expect();
            station.settle();
        }
        station.listens = true;
        station
    }

    /// Awaits one context more.
    fn expect(&mut self) {
        let (listener, association) = (self.listener, self.names.name(()));
        let asked = DatagramsRequest::Await { listener, association, credit: ROOM };
        self.layer.handle_request(&self.cx, asked, &mut self.words);
    }

    /// Opens a context, and says `octets` at once.
    pub(crate) fn opens(&mut self, remote: SocketAddr, octets: &[u8]) -> Handle {
        let association = self.names.name(());
        let open = DatagramsRequest::Open {
            association,
            remote: remote.into(),
            local: None,
            credit: ROOM,
        };
        self.ask(open);
        self.says(association, octets);
        association
    }

    pub(crate) fn says(&mut self, association: Handle, octets: &[u8]) {
        let batch = M::with_headroom(128, octets).into();
        let properties = MessageProperties::default();
        self.ask(DatagramsRequest::Send { association, batch, properties });
    }

    pub(crate) fn closes(&mut self, name: Handle) {
        self.ask(DatagramsRequest::Close { name });
    }

    fn ask(&mut self, asked: DatagramsRequest<M>) {
        self.layer.handle_request(&self.cx, asked, &mut self.words);
        self.turn();
    }

    fn tell(&mut self, told: DatagramsIndication<M>) {
        self.layer.handle_indication(&self.cx, told, &mut self.words);
        self.settle();
    }

    fn settle(&mut self) {
        loop {
            if let Some(asked) = self.words.down.pop_front() {
                self.asked(asked);
            } else if let Some(told) = self.words.up.pop_front() {
                self.told(told);
            } else {
                return;
            }
        }
    }

    /// The layer below is asked.
    fn asked(&mut self, asked: DatagramsRequest<M>) {
        let told = match asked {
            DatagramsRequest::Listen { listener, local } => {
                DatagramsIndication::Listening { listener, local }
            }
            DatagramsRequest::Await { association, .. } => {
                return self.awaited.push_back(association);
            }
            DatagramsRequest::Open { association, remote, .. } => {
                let remote = remote.internet().expect("an address of the Internet");
                return self.opened_below(association, remote);
            }
            DatagramsRequest::Send { association, batch, .. } => {
                for message in batch {
                    let mut octets = vec![0; message.len()];
                    message.copy_to(&mut octets);
                    self.sent.push((self.below[&association], octets));
                }
                return;
            }
            DatagramsRequest::Close { name } => {
                if let Some(peer) = self.below.remove(&name) {
                    self.peers.remove(&peer);
                }
                self.awaited.retain(|awaited| *awaited != name);
                DatagramsIndication::Ended { name, why: Ended::Finished }
            }
            _ => return,
        };
        self.layer.handle_indication(&self.cx, told, &mut self.words);
    }

    fn opened_below(&mut self, association: Handle, remote: SocketAddr) {
        self.peers.insert(remote, association);
        self.below.insert(association, remote);
        let opened = DatagramsIndication::Opened {
            association,
            local: here().into(),
            remote: remote.into(),
            credit: EVERYTHING,
            path: PathLimits::UNBOUNDED,
        };
        self.layer.handle_indication(&self.cx, opened, &mut self.words);
    }

    /// The application is told.
    fn told(&mut self, told: DatagramsIndication<M>) {
        match told {
            DatagramsIndication::Opened { association, .. } => {
                self.opened.push(association);
                if self.listens {
                    self.expect();
                }
            }
            DatagramsIndication::Delivered { association, batch, .. } => {
                let credit = batch.cost();
                let message = batch.into_single();
                let mut octets = vec![0; message.len()];
                message.copy_to(&mut octets);
                self.heard.push(octets);
                if self.reads {
                    let asked = DatagramsRequest::Credit { association, credit };
                    self.layer.handle_request(&self.cx, asked, &mut self.words);
                }
            }
            DatagramsIndication::Ended { name, why } => {
                self.names.forget(name).expect("a last word comes once");
                self.ended.push((name, why));
            }
            _ => {}
        }
    }

    /// A packet arrives from an address.
    pub(crate) fn arrives(&mut self, from: SocketAddr, octets: &[u8]) {
        if !self.peers.contains_key(&from) {
            let Some(association) = self.awaited.pop_front() else { return };
            self.opened_below(association, from);
            self.settle();
        }
        let association = self.peers[&from];
        let batch = M::with_headroom(0, octets).into();
        let properties = MessageProperties::default();
        self.tell(DatagramsIndication::Delivered { association, batch, properties });
        self.turn();
    }

    /// What is due is done.
    fn turn(&mut self) {
        self.settle();
        for _ in 0..1000 {
            let due = self.layer.next_deadline().is_some_and(|deadline| deadline <= self.cx.now());
            if due {
                self.layer.handle_timeout(&self.cx, &mut self.words);
            }
            if self.layer.wants_flush() {
                self.layer.flush(&self.cx, &mut self.words);
            } else if !due {
                return;
            }
            self.settle();
        }
        panic!("a deadline that never passes");
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.cx.now() + time;
        while let Some(deadline) = self.layer.next_deadline().filter(|deadline| *deadline <= end) {
            self.cx.set_now(deadline.max(self.cx.now()));
            self.turn();
        }
        self.cx.set_now(end);
    }

    /// Takes the packets that left, and for which address.
    pub(crate) fn sent(&mut self) -> Vec<(SocketAddr, Vec<u8>)> {
        std::mem::take(&mut self.sent)
    }

    /// Returns what the station answers to a packet from an address, at once.
    pub(crate) fn answers(&mut self, from: SocketAddr, octets: &[u8]) -> Vec<Vec<u8>> {
        self.sent.clear();
        self.arrives(from, octets);
        let answers = self.sent();
        assert!(answers.iter().all(|(to, _)| *to == from), "no other address is answered");
        answers.into_iter().map(|(_, octets)| octets).collect()
    }
}
