//! Thousands, over the layer: each from an address that may be false.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;

use stackwright_artp::header::{ControlKind, PacketKind, Proposal, Verdict};
use stackwright_artp::{Config, Layer, items, layer};
use stackwright_contract::services::{Credit, DatagramsIndication, DatagramsRequest};
use stackwright_contract::{
    Context, Duration, Handle, IndicationOf, Names, Outlet, Participant, PathLimits, Protocol,
    RequestOf,
};
use stackwright_simulator::seeds;
use stackwright_transport::Limits;
use stackwright_wire::{BufferTree, Header, Message};

use crate::allocator::held;
use crate::attacks::packets::{
    CLOSE, CONFIRM, OPEN, SESSION, arrangement, encoded, packet, proposal, request, token,
};
use crate::attacks::scene::config;

type M = BufferTree;

const PORT: u16 = 7;
const EVERYTHING: Credit = Credit { octets: 1 << 40, messages: 1 << 40 };
const ROOM: Credit = Credit { octets: 1 << 20, messages: 64 };

/// How many names wait for arrivals.
const AWAITED: usize = 4;

#[derive(Default)]
struct Said {
    down: VecDeque<DatagramsRequest<M>>,
    up: VecDeque<DatagramsIndication<M>>,
}

impl Outlet<Layer<M>> for Said {
    fn indicate(&mut self, told: IndicationOf<Layer<M>>) {
        self.up.push_back(told);
    }

    fn request(&mut self, asked: RequestOf<Layer<M>>) {
        self.down.push_back(asked);
    }
}

/// A server, of which both neighbours are a test.
pub(crate) struct Server {
    cx: Context,
    pub(crate) layer: Layer<M>,
    said: Said,
    listener: Handle,
    above: Names<()>,
    /// Sessions that the application has.
    open: BTreeSet<Handle>,
    /// Names below that wait for an arrival, and whom each stands for that has come.
    awaited: VecDeque<Handle>,
    below: BTreeMap<Handle, Participant>,
    peers: BTreeMap<Participant, Handle>,
    /// What was said to whom, since it was looked at.
    pub(crate) answers: Vec<(Participant, Vec<u8>)>,
}

pub(crate) fn address(nth: u32) -> Participant {
    let [_, a, b, c] = nth.to_be_bytes();
    SocketAddr::from(([10, a, b, c], 1024 + (nth % 50_000) as u16)).into()
}

impl Server {
    pub(crate) fn new(config: Config) -> Self {
        let local = SocketAddr::from(([10, 255, 0, 1], PORT)).into();
        let mut above = Names::default();
        let listener = above.name(());
        let mut server = Server {
            cx: Context::new(0),
            layer: layer(config, 1),
            said: Said::default(),
            listener,
            above,
            open: BTreeSet::new(),
            awaited: VecDeque::new(),
            below: BTreeMap::new(),
            peers: BTreeMap::new(),
            answers: Vec::new(),
        };
        server.ask(DatagramsRequest::Listen { listener, local });
        for _ in 0..AWAITED {
            server.expect();
        }
        server
    }

    fn ask(&mut self, asked: DatagramsRequest<M>) {
        self.layer.handle_request(&self.cx, asked, &mut self.said);
        self.settle();
    }

    fn expect(&mut self) {
        let association = self.above.name(());
        self.ask(DatagramsRequest::Await { listener: self.listener, association, credit: ROOM });
    }

    fn tell(&mut self, told: DatagramsIndication<M>) {
        self.layer.handle_indication(&self.cx, told, &mut self.said);
        self.settle();
    }

    fn settle(&mut self) {
        let local: Participant = SocketAddr::from(([10, 255, 0, 1], PORT)).into();
        loop {
            if let Some(asked) = self.said.down.pop_front() {
                match asked {
                    DatagramsRequest::Listen { listener, .. } => {
                        let told = DatagramsIndication::Listening { listener, local };
                        self.layer.handle_indication(&self.cx, told, &mut self.said);
                    }
                    DatagramsRequest::Await { association, .. } => {
                        self.awaited.push_back(association)
                    }
                    DatagramsRequest::Send { association, batch: messages, .. } => {
                        messages
                            .into_iter()
                            .for_each(|message| self.answered(association, &message));
                    }
                    DatagramsRequest::Close { name: association } => {
                        if let Some(peer) = self.below.remove(&association) {
                            self.peers.remove(&peer);
                        }
                        self.awaited.retain(|name| *name != association);
                        let why = stackwright_contract::services::Ended::Finished;
                        let told = DatagramsIndication::Ended { name: association, why };
                        self.layer.handle_indication(&self.cx, told, &mut self.said);
                    }
                    _ => {}
                }
            } else if let Some(told) = self.said.up.pop_front() {
                match told {
                    DatagramsIndication::Opened { association, .. } => {
                        self.open.insert(association);
                        self.expect();
                    }
                    DatagramsIndication::Ended { name, .. } => {
                        self.open.remove(&name);
                        self.above.forget(name).expect("a last word comes once");
                    }
                    _ => {}
                }
            } else {
                return;
            }
        }
    }

    fn answered(&mut self, association: Handle, message: &M) {
        let mut octets = vec![0; message.len()];
        message.copy_to(&mut octets);
        self.answers.push((self.below[&association], octets));
    }

    /// A packet from somewhere.
    pub(crate) fn arrives(&mut self, from: Participant, octets: &[u8]) {
        let lower = match self.peers.get(&from) {
            Some(lower) => *lower,
            None => {
                let Some(lower) = self.awaited.pop_front() else { return };
                self.peers.insert(from, lower);
                self.below.insert(lower, from);
                let local = SocketAddr::from(([10, 255, 0, 1], PORT)).into();
                self.tell(DatagramsIndication::Opened {
                    association: lower,
                    local,
                    remote: from,
                    credit: EVERYTHING,
                    path: PathLimits::UNBOUNDED,
                });
                lower
            }
        };
        let message = M::with_headroom(0, octets);
        self.tell(DatagramsIndication::Delivered {
            association: lower,
            batch: message.into(),
            properties: stackwright_contract::services::MessageProperties::default(),
        });
        self.turn();
    }

    /// What is due is done.
    fn turn(&mut self) {
        for _ in 0..100 {
            let due = self.layer.next_deadline().is_some_and(|deadline| deadline <= self.cx.now());
            if due {
                self.layer.handle_timeout(&self.cx, &mut self.said);
            }
            if self.layer.wants_flush() {
                self.layer.flush(&self.cx, &mut self.said);
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

    /// The last answer to a request, and nothing else.
    fn answer(&mut self) -> Proposal {
        let (_, octets) = self.answers.pop().expect("an answer");
        let header = 20;
        let item = items(&octets[header..]).next().expect("an item").expect("a sound one");
        assert_eq!((item.kind, item.id), (ControlKind::Reply, OPEN));
        Proposal::decode(item.value).expect("a proposal")
    }

    /// Somebody gets in: he asks, comes again where he has to, and shows that he hears. What he was
    /// granted.
    pub(crate) fn lets_in(&mut self, from: Participant, nonce: u64) -> Proposal {
        self.answers.clear();
        self.arrives(from, &request(nonce));
        let mut answer = self.answer();
        if answer.verdict == Verdict::Again {
            let again = encoded(&proposal(Verdict::Asked, nonce, answer.nonce));
            self.arrives(from, &arrangement(ControlKind::Request, OPEN, &again));
            answer = self.answer();
        }
        assert_eq!(answer.verdict, Verdict::Granted);
        self.arrives(from, &token(ControlKind::Request, CONFIRM, answer.nonce));
        answer
    }
}

#[test]
fn of_65536_false_openers_64_are_kept_for_a_while_and_a_true_one_gets_in() {
    // One that was let in and says nothing more is not what this is about.
    let mut server = Server::new(Config { keepalive: None, idle: None, ..config() });
    let most = config().half_open_most;
    let before = held();
    let mut said = 0;
    let mut asked = 0;
    for nth in 0..1 << 16 {
        asked += request(1).len();
        server.arrives(address(nth), &request(u64::from(nth)));
        said += server.answers.drain(..).map(|(_, octets)| octets.len()).sum::<usize>();
        assert!(server.layer.hooks().half_open() <= most);
    }
    assert_eq!(
        server.layer.associations(),
        most,
        "others are told to come again, and nothing is kept of them"
    );
    let kept = (held() - before) as usize;
    assert!(kept < most * (1 << 13) + (1 << 20), "{kept} octets");
    assert!(said <= asked + most * 2 * request(1).len(), "{said} octets for {asked}");
    server.lets_in(address(1 << 20), 1);
    assert_eq!(server.layer.hooks().half_open(), most);
    server.pass(Duration::from_secs(300));
    assert_eq!(
        (server.layer.associations(), server.layer.hooks().half_open()),
        (1, 0),
        "he alone is left"
    );
}

/// It has to be shown from where it was given to, and soon.
#[test]
fn what_one_was_given_to_come_again_with_is_good_for_nobody_else_and_not_for_long() {
    let mut server = Server::new(Config { half_open_most: 0, ..config() });
    server.arrives(address(1), &request(1));
    let given = server.answer().nonce;
    let again = |nonce| {
        let asked = encoded(&proposal(Verdict::Asked, nonce, given));
        arrangement(ControlKind::Request, OPEN, &asked)
    };
    for (from, nonce) in [(address(2), 1), (address(1), 2)] {
        server.arrives(from, &again(nonce));
        assert_eq!(server.answer().verdict, Verdict::Again);
    }
    server.pass(Duration::from_secs(21));
    server.arrives(address(1), &again(1));
    assert_eq!(server.answer().verdict, Verdict::Again);
    assert_eq!(server.layer.associations(), 0);
}

/// Packets that look like a request to who looks for one, and are none: nothing is made for them,
/// and nothing stays.
#[test]
fn what_only_looks_like_a_request_leaves_nothing() {
    let mut server = Server::new(config());
    let item = request(1)[20..].to_vec();
    let mut bad = Vec::new();
    for kind in [PacketKind::Data, PacketKind::Acknowledge, PacketKind::Control] {
        bad.push(packet(kind, SESSION, 1, &[], &item));
    }
    bad.push(packet(PacketKind::Data, 0, 1, &[], &item));
    bad.push(packet(PacketKind::Control, 0, 1, &[0, 3, 0, 9], &item));
    bad.push(packet(PacketKind::Control, 0, 1, &[0, 4, 0, 1], &item));
    let mut second = request(1);
    second[0] = 0x22;
    bad.push(second);
    bad.push(packet(PacketKind::Control, 0, 1, &[0, 8, 0, 3, 0, 0, 0, 0], &item));
    for (nth, octets) in bad.iter().cycle().take(1000).enumerate() {
        server.arrives(address(nth as u32), octets);
    }
    assert_eq!(server.layer.associations(), 0);
    assert_eq!(server.layer.hooks().half_open(), 0);
    assert_eq!(server.open.len(), 0, "and the application has heard of none");
}

/// Names, memory and all that is counted are after ten thousand sessions what they were after one.
#[test]
fn a_peer_that_opens_and_closes_ten_thousand_times_leaves_nothing() {
    let mut server = Server::new(config());
    let mut first = None;
    for nth in seeds(10_000) {
        let granted = server.lets_in(address(1), nth);
        assert_eq!(server.layer.associations(), 1);
        server.arrives(address(1), &token(ControlKind::Request, CLOSE, granted.nonce));
        server.pass(Duration::from_millis(10));
        assert_eq!((server.layer.associations(), server.layer.hooks().half_open()), (0, 0));
        let now = (server.layer.names(), server.above.len(), held());
        let (names, above, octets) = *first.get_or_insert(now);
        assert_eq!((now.0, now.1), (names, above), "after {nth}");
        assert!(
            nth < 100 || now.2 < octets + (1 << 16),
            "after {nth}: {} octets, and there were {octets}",
            now.2
        );
    }
}

/// His packets of before are of nobody now, whatever they are; and he is let in again under the
/// same number.
#[test]
fn late_packets_of_a_session_that_is_over_make_no_new_one() {
    let mut server = Server::new(config());
    for nonce in 1..50 {
        let granted = server.lets_in(address(1), nonce);
        let late = [
            token(ControlKind::Request, CONFIRM, granted.nonce),
            token(ControlKind::Request, CLOSE, granted.nonce),
            token(ControlKind::Reply, CLOSE, granted.nonce),
            crate::attacks::packets::datagram(77, 1, b"late"),
            crate::attacks::packets::ranges(&[(granted.first, granted.first)], None),
        ];
        server.arrives(address(1), &late[1]);
        server.pass(Duration::from_millis(10));
        for octets in &late {
            server.arrives(address(1), octets);
            assert_eq!(server.layer.associations(), 0);
        }
    }
}

/// The answer to a close may be lost: the close comes again, and is answered for some time, and not
/// for ever. A late copy of the request makes no session.
#[test]
fn a_close_that_comes_again_is_answered_for_three_timeouts() {
    let mut server = Server::new(config());
    let granted = server.lets_in(address(1), 7);
    let close = token(ControlKind::Request, CLOSE, granted.nonce);
    server.arrives(address(1), &close);
    assert_eq!(server.layer.associations(), 0);
    let first = server.answers.pop().expect("an answer").1;
    let header = 20;
    for _ in 0..8 {
        server.answers.clear();
        server.arrives(address(1), &close);
        let again = server.answers.pop().expect("another answer").1;
        assert_eq!(again[header..], first[header..]);
        server.arrives(address(1), &request(7));
        server.arrives(address(1), &crate::attacks::packets::datagram(77, 1, b"late"));
        assert_eq!((server.answers.len(), server.layer.associations()), (0, 0));
    }
    server.arrives(address(1), &close);
    assert_eq!(server.answers.len(), 0, "anyone may send it");
    server.lets_in(address(1), 8);
    server.arrives(address(1), &close);
    assert_eq!(server.layer.associations(), 1, "it closes the session before this one");
}

/// What one server draws says nothing of what another does, though both were asked the same.
#[test]
fn servers_with_different_secrets_have_different_nonces() {
    let mut seen = BTreeSet::new();
    for secret in 0..50 {
        let mut server = Server::new(Config { secret: [secret; 16], ..config() });
        for nth in 0..4 {
            let granted = server.lets_in(address(nth), 7);
            assert!(seen.insert(granted.nonce) && seen.insert(granted.first.into()));
        }
    }
}

/// Each session has something to itself: where that is not left, a request is refused, and who has
/// a session keeps it.
#[test]
fn a_request_is_refused_where_there_is_no_memory_for_a_session() {
    let limits = Limits { octets: 10_000, each: 1000 };
    let mut server = Server::new(Config { limits, ..config() });
    let mut granted: Vec<_> = (0..10).map(|nth| server.lets_in(address(nth), 1)).collect();
    for nth in 10..20 {
        server.arrives(address(nth), &request(1));
        assert_eq!(server.answer().verdict, Verdict::Refused);
    }
    assert_eq!(server.layer.associations(), 10);
    let first = granted.remove(0);
    server.arrives(address(0), &token(ControlKind::Request, CLOSE, first.nonce));
    server.pass(Duration::from_millis(10));
    server.lets_in(address(10), 1);
}
