//! Clients, from their first octet to their last.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::json;
use stackwright::contract::services::{Credit, Ended, StreamsIndication, StreamsRequest};
use stackwright::contract::{Arrivals, Either, Handle, Instant, Names, Participant, Party};
use stackwright::proxy::{SocksServer, SocksStep, SocksTarget};
use stackwright::wire::Message as _;
use stackwright_drivers::Waker;

use super::Socks;
use super::pair::{ROOM, Side};
use crate::printable::Printable;
use crate::report::say;
use crate::stacks::Message;

/// How long a client may take to say whom it wants.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many names wait for arrivals.
const AWAITED_MOST: usize = 16;
/// The addresses that are tried of one host.
const ADDRESSES_MOST: usize = 4;

pub(super) type Word = Either<StreamsIndication<Message>, StreamsIndication<Message>>;
type Ask = Either<StreamsRequest<Message>, StreamsRequest<Message>>;

/// The sides of a client, by number.
const NEAR: usize = 0;
const FAR: usize = 1;

/// Who came, and the server that it wants.
struct Client {
    peer: Participant,
    sides: [Side; 2],
    state: State,
    /// Whether both sides were told to end.
    is_closed: bool,
}

enum State {
    /// It has until then to say whom it wants.
    Asking {
        server: SocksServer,
        heard: Vec<u8>,
        until: Instant,
    },
    /// These addresses are tried yet: none as long as a name is looked up.
    Opening {
        target: String,
        rest: Vec<SocketAddr>,
    },
    Passing,
    /// It was refused, and ends once it has taken why.
    Refused,
}

/// What was found of a client's host.
type Found = (Handle, Vec<SocketAddr>);

pub(super) struct Relay<'a> {
    socks: &'a Socks,
    clients: Names<Client>,
    /// What the names of both stacks stand for: clients, by their name here.
    near: Arrivals<(), Handle, Names<()>>,
    far: Names<Handle>,
    pub(super) asks: Vec<Ask>,
    /// Why there is no listener.
    pub(super) refused: Option<Ended>,
    /// Host names that are looked up, each on a thread: at most as many as there may be clients.
    lookups: usize,
    found: (Sender<Found>, Receiver<Found>),
    waker: Arc<Waker>,
}

fn ask(which: usize, request: StreamsRequest<Message>) -> Ask {
    if which == NEAR { Either::Left(request) } else { Either::Right(request) }
}

impl<'a> Relay<'a> {
    pub(super) fn new(socks: &'a Socks, waker: Waker) -> Self {
        let mut near: Arrivals<(), Handle, Names<()>> = Arrivals::default();
        let listener = near.listen(());
        let listen = StreamsRequest::Listen { listener, local: socks.listen.into() };
        Relay {
            socks,
            clients: Names::new(),
            near,
            far: Names::new(),
            asks: vec![ask(NEAR, listen)],
            refused: None,
            lookups: 0,
            found: channel(),
            waker: Arc::new(waker),
        }
    }

    /// Names wait for as many clients as may still come.
    fn await_clients(&mut self) {
        let Some((listener, ())) = self.near.listeners().next() else { return };
        let most = usize::from(self.socks.clients);
        let free = most.saturating_sub(self.clients.len()).min(AWAITED_MOST);
        while self.near.awaited(listener) < free
            && let Some(association) = self.near.expect(listener, ROOM)
        {
            let request = StreamsRequest::Await { listener, association, credit: ROOM };
            self.asks.push(ask(NEAR, request));
        }
    }

    /// Looks for what was looked up, and for clients that are silent.
    pub(super) fn look(&mut self, now: Instant) {
        while let Ok((client, addresses)) = self.found.1.try_recv() {
            self.lookups -= 1;
            let state = self.clients.get_mut(client).map(|client| &mut client.state);
            if let Some(State::Opening { target, .. }) = state {
                let target = std::mem::take(target);
                self.open(client, target, addresses, Ended::Unreachable);
            }
        }
        for (_, Client { sides, state, .. }) in self.clients.iter_mut() {
            if let (State::Asking { until, .. }, Some(name)) = (&state, sides[NEAR].name)
                && *until <= now
            {
                *state = State::Refused;
                self.asks.push(ask(NEAR, StreamsRequest::Close { name }));
            }
        }
    }

    pub(super) fn hear(&mut self, now: Instant, word: Word) {
        let (which, word) = match word {
            Either::Left(word) => (NEAR, word),
            Either::Right(word) => (FAR, word),
        };
        let name = word.name();
        match word {
            StreamsIndication::Listening { local, .. } => {
                self.listening(local);
                return self.await_clients();
            }
            StreamsIndication::Opened { remote, credit, .. } if which == NEAR => {
                let near = Side { name: Some(name), room: credit.octets, ..Side::default() };
                let (server, until) = (SocksServer::default(), now + PATIENCE);
                let client = self.clients.name(Client {
                    peer: remote,
                    sides: [near, Side::default()],
                    state: State::Asking { server, heard: Vec::new(), until },
                    is_closed: false,
                });
                self.near.arrived(name, || client);
                return self.await_clients();
            }
            StreamsIndication::Ended { why, .. } => return self.ended(which, name, why),
            _ => {}
        }
        let client = if which == NEAR { self.near.get(name) } else { self.far.get(name) };
        let Some(at) = client.copied() else { return };
        let Some(client) = self.clients.get_mut(at) else { return };
        match word {
            StreamsIndication::Opened { local, credit, .. } => {
                client.sides[FAR].room = credit.octets;
                self.opened(at, local);
            }
            StreamsIndication::Delivered { batch, .. } => {
                self.delivered(at, which, batch.into_octets());
            }
            StreamsIndication::Credit { credit, .. } => {
                client.sides[which].room += credit.octets;
                self.pass(at, which);
            }
            // It goes without having said whom it wants.
            StreamsIndication::Finished { .. } if matches!(client.state, State::Asking { .. }) => {
                self.refuse(at, &[]);
            }
            StreamsIndication::Finished { .. } => {
                client.sides[1 - which].is_last = true;
                self.pass(at, 1 - which);
            }
            _ => {}
        }
    }

    fn delivered(&mut self, at: Handle, which: usize, mut message: Message) {
        let Some(client) = self.clients.get_mut(at) else { return };
        let State::Asking { server, heard, .. } = &mut client.state else {
            client.sides[1 - which].waiting.push_back(message);
            return self.pass(at, 1 - which);
        };
        let octets = message.len();
        heard.extend_from_slice(message.front(octets).unwrap_or_default());
        let [near, far] = &mut client.sides;
        let step = loop {
            match server.hear(heard) {
                SocksStep::Say(said) => {
                    near.waiting.push_back(Message::with_headroom(0, &said));
                    near.pass(|request| self.asks.push(ask(NEAR, request)));
                }
                step => break step,
            }
        };
        // What is behind a request is the server's, and waits for it.
        let behind = if matches!(step, SocksStep::Connect(_)) { heard.len() } else { 0 };
        if behind > 0 {
            far.waiting.push_back(Message::with_headroom(0, heard));
        }
        let credit = Credit::of_octets(octets.saturating_sub(behind));
        if let Some(association) = near.name.filter(|_| credit != Credit::NONE) {
            self.asks.push(ask(NEAR, StreamsRequest::Credit { association, credit }));
        }
        match step {
            SocksStep::More | SocksStep::Say(_) => {}
            SocksStep::Refuse(said) => self.refuse(at, &said),
            SocksStep::Connect(target) => self.connect(at, target),
        }
    }

    fn connect(&mut self, at: Handle, target: SocksTarget) {
        let (name, port) = match target {
            SocksTarget::Address(address) => {
                return self.open(at, address.to_string(), vec![address], Ended::Unreachable);
            }
            SocksTarget::Name(name, port) => (name, port),
        };
        let Some(client) = self.clients.get_mut(at) else { return };
        client.state = State::Opening { target: format!("{name}:{port}"), rest: Vec::new() };
        if self.lookups >= usize::from(self.socks.clients) {
            return self.refuse(at, &SocksServer::reply(Err(Ended::Exhausted)));
        }
        self.lookups += 1;
        let (found, waker) = (self.found.0.clone(), Arc::clone(&self.waker));
        let looks_up = thread::Builder::new().spawn(move || {
            let addresses = (name, port).to_socket_addrs().into_iter().flatten();
            // Where nobody waits for it any more, the program ends.
            let _ = found.send((at, addresses.take(ADDRESSES_MOST).collect()));
            let _ = waker.wake();
        });
        if looks_up.is_err() {
            self.lookups -= 1;
            self.refuse(at, &SocksServer::reply(Err(Ended::Exhausted)));
        }
    }

    /// Tries the next address, if there is one.
    fn open(&mut self, at: Handle, target: String, mut rest: Vec<SocketAddr>, why: Ended) {
        let Some(client) = self.clients.get_mut(at) else { return };
        if rest.is_empty() || client.sides[NEAR].name.is_none() {
            self.tell(at, &target, Some(why));
            return self.refuse(at, &SocksServer::reply(Err(why)));
        }
        let (association, remote) = (self.far.name(at), rest.remove(0).into());
        client.sides[FAR].name = Some(association);
        client.state = State::Opening { target, rest };
        let open = StreamsRequest::Open { association, remote, local: None, credit: ROOM };
        self.asks.push(ask(FAR, open));
    }

    fn opened(&mut self, at: Handle, local: Participant) {
        let Some(client) = self.clients.get_mut(at) else { return };
        let before = std::mem::replace(&mut client.state, State::Passing);
        let own = local.internet().ok_or(Ended::Unavailable);
        let said = Message::with_headroom(0, &SocksServer::reply(own));
        client.sides[NEAR].waiting.push_back(said);
        // What is said costs the server no credit.
        client.sides[NEAR].pass(|request| self.asks.push(ask(NEAR, request)));
        if let State::Opening { target, .. } = before {
            self.tell(at, &target, None);
        }
        self.pass(at, FAR);
    }

    fn refuse(&mut self, at: Handle, said: &[u8]) {
        let Some(client) = self.clients.get_mut(at) else { return };
        client.state = State::Refused;
        if !said.is_empty() {
            client.sides[NEAR].waiting.push_back(Message::with_headroom(0, said));
        }
        client.sides[NEAR].is_last = true;
        self.pass(at, NEAR);
    }

    /// Passes on what waits for a side; the other one may send as much again.
    fn pass(&mut self, at: Handle, to: usize) {
        let Some(client) = self.clients.get_mut(at) else { return };
        // Before the server is there, it is waited for.
        if !matches!(client.state, State::Passing | State::Refused) {
            return;
        }
        let octets = client.sides[to].pass(|request| self.asks.push(ask(to, request)));
        let from = client.sides[1 - to].name.filter(|_| octets > 0 && !client.is_closed);
        if let Some(association) = from {
            let credit = Credit::of_octets(octets);
            self.asks.push(ask(1 - to, StreamsRequest::Credit { association, credit }));
        }
        self.settle(at);
    }

    /// Ends both sides once neither is sent anything more.
    fn settle(&mut self, at: Handle) {
        let Some(client) = self.clients.get_mut(at) else { return };
        let is_over = |side: &Side| side.name.is_none() || side.is_finished;
        let is_over = match client.state {
            State::Passing => client.sides.iter().all(is_over),
            _ => is_over(&client.sides[NEAR]),
        };
        if is_over && !std::mem::replace(&mut client.is_closed, is_over) {
            for (which, side) in client.sides.iter().enumerate() {
                if let Some(name) = side.name {
                    self.asks.push(ask(which, StreamsRequest::Close { name }));
                }
            }
        }
        if client.sides.iter().all(|side| side.name.is_none()) {
            self.clients.forget(at);
            self.await_clients();
        }
    }

    fn ended(&mut self, which: usize, name: Handle, why: Ended) {
        let at = if which == FAR {
            self.far.forget(name)
        } else {
            match self.near.forget(name) {
                Some(Party::Listener(())) => return self.refused = Some(why),
                Some(Party::Open(client)) => Some(client),
                Some(Party::Awaited(_)) | None => None,
            }
        };
        let Some(at) = at else { return };
        let Some(client) = self.clients.get_mut(at) else { return };
        client.sides[which].name = None;
        if let (FAR, State::Opening { target, rest, .. }) = (which, &mut client.state) {
            let (target, rest) = (std::mem::take(target), std::mem::take(rest));
            return self.open(at, target, rest, why);
        }
        let other = &mut client.sides[1 - which];
        other.is_last = true;
        // A reset is passed on as one.
        if let (Some(association), false) = (other.name, why == Ended::Finished) {
            self.asks.push(ask(1 - which, StreamsRequest::Abort { association, code: 0 }));
            client.is_closed = true;
        }
        self.pass(at, which);
        self.pass(at, 1 - which);
        self.settle(at);
    }

    fn listening(&self, local: Participant) {
        let local = local.internet().unwrap_or(self.socks.listen);
        if self.socks.json {
            say!("{}", json!({ "event": "serving", "url": format!("socks5h://{local}") }));
        } else {
            say!("SOCKS 5 at {local}. Press Ctrl-C to stop. From another terminal:");
            say!("  curl --socks5-hostname {local} URL");
        }
    }

    /// Tells whom a client is connected to, or why not.
    fn tell(&self, at: Handle, target: &str, why: Option<Ended>) {
        let Some(client) = self.clients.get(at) else { return };
        let peer = client.peer.to_string();
        if self.socks.json {
            let event = if why.is_none() { "connected" } else { "refused" };
            let why = why.map(|why| why.to_string());
            say!("{}", json!({ "event": event, "peer": peer, "target": target, "why": why }));
        } else if let Some(why) = why {
            say!("{peer} cannot be connected to {}: {why}", Printable(target));
        } else {
            say!("{peer} is connected to {}", Printable(target));
        }
    }
}
