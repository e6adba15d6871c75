//! Our side: TLS over the kernel's TCP.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stackwright_compose::Over;
use stackwright_contract::ask::{NothingBelow, Query, ask};
use stackwright_contract::services::{
    Credit, Ended, StreamProperties, StreamsIndication as Told, StreamsRequest as Ask,
};
use stackwright_contract::{Command, CommandError, Handle, Outlet, Secure};
use stackwright_drivers::Driver;
use stackwright_drivers::tcp::Tcp;
use stackwright_tls::{Config, Tls};
use stackwright_wire::{BufferTree, Message, Pool};

type M = BufferTree;
type Stack = Over<Tls<M>, Tcp<M>>;

pub(crate) const fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

#[derive(Default)]
struct Heard(Vec<Told<M>>);

impl Outlet<Stack> for Heard {
    fn indicate(&mut self, told: Told<M>) {
        self.0.push(told);
    }

    fn request(&mut self, never: Infallible) {
        match never {}
    }
}

/// What is known of one association.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) outcomes: Vec<Result<u32, CommandError>>,
    /// How many octets arrived, whether they continue the pattern, and the first of them.
    pub(crate) octets: usize,
    pub(crate) same: bool,
    pub(crate) all: Vec<u8>,
    pub(crate) finished: bool,
    pub(crate) ended: Option<Ended>,
    pub(crate) echoes: bool,
    room: usize,
    /// How many octets of the pattern were sent, and are to be.
    sent: usize,
    to_send: usize,
    outgoing: Vec<u8>,
}

pub(crate) struct Ours {
    driver: Driver,
    stack: Stack,
    heard: Heard,
    known: BTreeMap<u32, Known>,
    port: Option<u16>,
}

/// The octet at this place of the pattern.
const fn octet(place: usize) -> u8 {
    (place % 251) as u8
}

const CREDIT: Credit = Credit::of_octets(1 << 18);

impl Ours {
    pub(crate) fn new(config: Config) -> Self {
        let driver = Driver::new(1).unwrap();
        let pool = Arc::new(Pool::new(64 << 10, 8));
        let tcp = Tcp::new(driver.registry(), 0, Arc::clone(&pool));
        let stack = Over::new(Tls::new(config).with_pool(pool), tcp);
        Ours { driver, stack, heard: Heard::default(), known: BTreeMap::new(), port: None }
    }

    pub(crate) fn ask(&mut self, request: Ask<M>) {
        self.driver.request(&mut self.stack, request, &mut self.heard);
    }

    pub(crate) fn known(&mut self, index: u32) -> &mut Known {
        self.known.entry(index).or_insert_with(|| Known { same: true, ..Known::default() })
    }

    /// Listens; the first two arrivals have the names 1 and 2, and are secured like this.
    pub(crate) fn listen(&mut self, secures: [Secure; 2]) -> String {
        let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
        self.ask(Ask::Listen { listener: name(0), local: local.into() });
        for (index, secure) in (1..).zip(secures) {
            self.ask(Ask::Await { listener: name(0), association: name(index), credit: CREDIT });
            self.secure(index, secure);
        }
        self.until(|ours| ours.port.is_some());
        self.port.unwrap().to_string()
    }

    pub(crate) fn open(&mut self, index: u32, port: &str, secure: Secure) {
        let remote: SocketAddr = format!("127.0.0.1:{port}").parse().unwrap();
        let (association, remote) = (name(index), remote.into());
        self.ask(Ask::Open { association, remote, local: None, credit: CREDIT });
        self.secure(index, secure);
    }

    fn secure(&mut self, index: u32, secure: Secure) {
        let command = Command::Secure(secure);
        self.ask(Ask::Control { association: name(index), command });
    }

    /// Sends this many octets of the pattern, as far as there is credit.
    pub(crate) fn sends(&mut self, index: u32, octets: usize) {
        self.known(index).to_send = octets;
    }

    pub(crate) fn send(&mut self, index: u32, octets: &[u8]) {
        self.known(index).outgoing.extend_from_slice(octets);
    }

    pub(crate) fn ask_for<Q: Query>(&self, index: u32, query: Q) -> Option<Q::Answer> {
        ask(&self.stack, name(index), query, &NothingBelow)
    }

    pub(crate) fn ended(&mut self, index: u32) -> Ended {
        self.until(|ours| ours.known(index).ended.is_some());
        self.known(index).ended.unwrap()
    }

    #[track_caller]
    pub(crate) fn until(&mut self, mut done: impl FnMut(&mut Self) -> bool) {
        let since = Instant::now();
        while !done(self) {
            assert!(since.elapsed() < Duration::from_secs(30), "it never came");
            self.turn();
        }
    }

    pub(crate) fn turn(&mut self) {
        let limit = Some(Duration::from_millis(20));
        self.driver.turn(&mut self.stack, &mut self.heard, limit).unwrap();
        for told in std::mem::take(&mut self.heard.0) {
            let index = told.name().index;
            let known = self.known(index);
            match told {
                Told::Listening { local, .. } => {
                    self.port = local.internet().map(|address| address.port());
                }
                Told::Opened { credit, .. } | Told::Credit { credit, .. } => {
                    known.room += credit.octets;
                }
                Told::Delivered { association, batch, .. } => {
                    let credit = Credit::of_octets(batch.octets());
                    let mut octets = vec![0; batch.octets()];
                    batch.into_octets().copy_to(&mut octets);
                    let places = known.octets..;
                    known.same &= places.zip(&octets).all(|(place, here)| octet(place) == *here);
                    known.octets += octets.len();
                    if known.all.len() < 1000 {
                        known.all.extend_from_slice(&octets);
                    }
                    if known.echoes {
                        known.outgoing.extend_from_slice(&octets);
                    }
                    self.ask(Ask::Credit { association, credit });
                }
                Told::Controlled { outcome, .. } => known.outcomes.push(outcome),
                Told::Finished { .. } => known.finished = true,
                Told::Ended { why, .. } => known.ended = Some(why),
                Told::Changed { .. } | Told::Reported { .. } | Told::Ending { .. } => {}
            }
        }
        for index in self.known.keys().copied().collect::<Vec<_>>() {
            self.go_on(index);
        }
    }

    fn go_on(&mut self, index: u32) {
        let known = self.known(index);
        let more = (known.to_send - known.sent).min(1 << 16);
        if known.outgoing.len() < 1 << 16 {
            known.outgoing.extend((known.sent..known.sent + more).map(octet));
            known.sent += more;
        }
        let octets = known.outgoing.len().min(known.room);
        if octets == 0 || known.ended.is_some() {
            return;
        }
        known.room -= octets;
        let message = M::with_headroom(0, &known.outgoing[..octets]);
        known.outgoing.drain(..octets);
        self.ask(Ask::Send {
            association: name(index),
            batch: message.into(),
            properties: StreamProperties::default(),
        });
    }
}
