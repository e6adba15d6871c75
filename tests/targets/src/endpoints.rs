//! Two whole endpoints of a transport, of which somebody else has the network, the applications and
//! the time.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::num::NonZeroU32;

use stackwright_contract::services::{
    Batch, Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ecn, Ended, MessageKind,
    MessageProperties,
};
use stackwright_contract::{
    Context, Duration, Handle, Names, Outlet, Participant, PathLimits, Protocol,
};
use stackwright_wire::Message;

use crate::Input;
use crate::lower::M;

/// How many packets may be on their way; more are lost.
const PACKETS_MOST: usize = 64;

const ROOM: Credit = Credit { octets: 1 << 30, messages: 1 << 20 };

#[derive(Default)]
struct Said {
    down: VecDeque<DatagramsRequest<M>>,
    up: VecDeque<DatagramsIndication<M>>,
}

/// A transport between datagrams and datagrams.
pub(crate) trait Endpoint:
    Protocol<Provides = Datagrams<M>, Uses = Datagrams<M>> + Sized
{
    /// Whether messages may expire, and be commands.
    const EXPIRES: bool;

    /// How many associations it has.
    fn associations(&self) -> usize;

    /// How many of them have a peer that has not shown that it hears.
    fn half_open(&self) -> usize;
}

impl<L: Endpoint> Outlet<L> for Said {
    fn indicate(&mut self, told: DatagramsIndication<M>) {
        self.up.push_back(told);
    }

    fn request(&mut self, ask: DatagramsRequest<M>) {
        self.down.push_back(ask);
    }
}

/// An association above, as its application sees it.
#[derive(Default)]
struct Application {
    listens: bool,
    closing: bool,
    /// What it may send, and what it takes.
    down: Credit,
    up: Credit,
}

/// A packet on its way.
#[derive(Clone)]
struct Packet {
    from: Participant,
    to: Participant,
    octets: Vec<u8>,
    ecn: Ecn,
}

/// One endpoint.
struct Side<L> {
    nth: u8,
    cx: Context,
    layer: L,
    said: Said,
    above: Names<Application>,
    listener: Option<Handle>,
    /// Names below that wait for an arrival, and associations with their two addresses.
    awaited: VecDeque<Handle>,
    below: BTreeMap<Handle, (Participant, Participant)>,
    door: Option<Handle>,
    ports: u16,
}

struct Stage<L> {
    sides: [Side<L>; 2],
    wire: Vec<Packet>,
}

fn address(nth: u8, port: u16) -> Participant {
    SocketAddr::from(([10, 0, 0, nth], port)).into()
}

/// Each step takes an octet that says who acts: the network, an application, or time.
pub(crate) fn play<L: Endpoint>(layers: [L; 2], mut input: Input<'_>) {
    let mut nth = 0;
    let sides = layers.map(|layer| {
        nth += 1;
        Side::new(nth - 1, layer)
    });
    let mut stage = Stage { sides, wire: Vec::new() };
    for side in &mut stage.sides {
        side.listen();
    }
    while !input.is_empty() {
        let what = input.octet();
        let side = usize::from(what / 128);
        match what % 16 {
            0..5 => stage.deliver(&mut input),
            5..7 => stage.inject(&mut input, side),
            7..13 => stage.sides[side].ask(&mut input),
            _ => stage.pass(Duration::from_millis(1 << (input.octet() % 18))),
        }
        stage.settle();
    }
    // Nothing passes any more, everybody closes, and time passes: each name has its last word.
    for side in &mut stage.sides {
        side.close_all();
    }
    for _ in 0..50 {
        stage.settle();
        stage.wire.clear();
        stage.pass(Duration::from_secs(1000));
    }
    for side in &mut stage.sides {
        let left = side.above.iter().filter(|(_, application)| !application.listens).count();
        assert_eq!(
            (left, side.layer.associations()),
            (0, 0),
            "nothing is held when all have closed"
        );
        assert_eq!(side.layer.half_open(), 0);
    }
}

impl<L: Endpoint> Side<L> {
    fn new(nth: u8, layer: L) -> Self {
        Side {
            nth,
            cx: Context::new(u64::from(nth)),
            layer,
            said: Said::default(),
            above: Names::default(),
            listener: None,
            awaited: VecDeque::new(),
            below: BTreeMap::new(),
            door: None,
            ports: 50_000,
        }
    }

    fn request(&mut self, ask: DatagramsRequest<M>) {
        self.layer.handle_request(&self.cx, ask, &mut self.said);
    }

    fn listen(&mut self) {
        let listener = self.above.name(Application { listens: true, ..Application::default() });
        self.listener = Some(listener);
        let local = address(self.nth, 7);
        self.request(DatagramsRequest::Listen { listener, local });
        for _ in 0..3 {
            self.expect();
        }
    }

    fn expect(&mut self) {
        let Some(listener) = self.listener else { return };
        let up = Credit { octets: 1 << 18, messages: 4 };
        let association = self.above.name(Application { up, ..Application::default() });
        self.request(DatagramsRequest::Await { listener, association, credit: up });
    }

    fn close_all(&mut self) {
        if let Some(listener) = self.listener.take() {
            self.request(DatagramsRequest::Close { name: listener });
        }
        let all: Vec<Handle> = self
            .above
            .iter()
            .filter(|(_, one)| !one.closing && !one.listens)
            .map(|(name, _)| name)
            .collect();
        for association in all {
            if let Some(one) = self.above.get_mut(association) {
                one.closing = true;
                self.request(DatagramsRequest::Close { name: association });
            }
        }
    }

    /// An application asks for something that the contract allows.
    fn ask(&mut self, input: &mut Input<'_>) {
        let what = input.octet();
        let living: Vec<Handle> = self
            .above
            .iter()
            .filter(|(_, one)| !one.listens && !one.closing)
            .map(|(name, _)| name)
            .collect();
        if living.len() < 8 && (what.is_multiple_of(8) || living.is_empty()) {
            let up = Credit { octets: 1 << 18, messages: usize::from(what / 64) + 1 };
            let association = self.above.name(Application { up, ..Application::default() });
            return self.request(DatagramsRequest::Open {
                association,
                remote: address(1 - self.nth, 7),
                credit: up,
                local: None,
            });
        }
        let Some(association) =
            living.get(usize::from(input.octet()) % living.len().max(1)).copied()
        else {
            return;
        };
        let Some(one) = self.above.get_mut(association) else { return };
        match what % 8 {
            0 => {
                one.closing = true;
                self.request(DatagramsRequest::Close { name: association });
            }
            1 | 2 => {
                let credit = Credit { octets: 1 << 18, messages: 4 };
                if one.up.messages < 8 {
                    one.up.messages += credit.messages;
                    one.up.octets += credit.octets;
                    self.request(DatagramsRequest::Credit { association, credit });
                }
            }
            _ => {
                let length = match what / 8 % 4 {
                    0 => 0,
                    1 => usize::from(input.octet()),
                    2 => usize::from(input.number()) % 3000,
                    _ => usize::from(input.number()),
                };
                let (kind, octets) = match what {
                    248.. if L::EXPIRES => (MessageKind::Control, vec![0, 4, 1, 0x80]),
                    _ => (MessageKind::Data, vec![what; length]),
                };
                if one.down.messages == 0 || one.down.octets < octets.len() {
                    return;
                }
                one.down.messages -= 1;
                one.down.octets -= octets.len();
                let properties = MessageProperties {
                    lifetime: NonZeroU32::new(u32::from(what / 32) * 100_000)
                        .filter(|_| L::EXPIRES),
                    number: None,
                    priority: what,
                    kind,
                    ..MessageProperties::default()
                };
                let message = M::with_headroom(64, &octets);
                self.request(DatagramsRequest::Send {
                    association,
                    batch: message.into(),
                    properties,
                });
            }
        }
    }

    /// Hears what the layer said, as its neighbours do. Whether it said anything.
    fn hear(&mut self, wire: &mut Vec<Packet>) -> bool {
        if let Some(told) = self.said.up.pop_front() {
            self.told(told);
            return true;
        }
        let Some(asked) = self.said.down.pop_front() else { return false };
        let told = match asked {
            DatagramsRequest::Listen { listener, local } => {
                self.door = Some(listener);
                DatagramsIndication::Listening { listener, local }
            }
            DatagramsRequest::Await { association, .. } => {
                self.awaited.push_back(association);
                return true;
            }
            DatagramsRequest::Open { association, remote, .. } => {
                self.ports += 1;
                let local = address(self.nth, self.ports);
                self.below.insert(association, (local, remote));
                DatagramsIndication::Opened {
                    association,
                    local,
                    remote,
                    credit: ROOM,
                    path: PathLimits::UNBOUNDED,
                }
            }
            DatagramsRequest::Send { association, batch: messages, properties } => {
                let credit = messages.cost();
                for message in messages {
                    self.leaves(association, message, properties.ecn, wire);
                }
                DatagramsIndication::Credit { association, credit }
            }
            DatagramsRequest::Close { name } if self.door != Some(name) => {
                self.below.remove(&name);
                self.awaited.retain(|waits| *waits != name);
                DatagramsIndication::Ended { name, why: Ended::Finished }
            }
            DatagramsRequest::Close { name: listener } => {
                self.door = None;
                for name in std::mem::take(&mut self.awaited) {
                    let told = DatagramsIndication::Ended { name, why: Ended::Unlistened };
                    self.layer.handle_indication(&self.cx, told, &mut self.said);
                }
                DatagramsIndication::Ended { name: listener, why: Ended::Unlistened }
            }
            DatagramsRequest::Credit { .. } => return true,
            other => panic!("{other:?}"),
        };
        self.layer.handle_indication(&self.cx, told, &mut self.said);
        true
    }

    fn leaves(&self, association: Handle, message: M, ecn: Ecn, wire: &mut Vec<Packet>) {
        let mut octets = vec![0; message.len()];
        message.copy_to(&mut octets);
        let (from, to) = self.below[&association];
        if wire.len() < PACKETS_MOST {
            wire.push(Packet { from, to, octets, ecn });
        }
    }

    /// Holds the layer to the contract of datagrams.
    fn told(&mut self, told: DatagramsIndication<M>) {
        match told {
            DatagramsIndication::Opened { association, credit, .. } => {
                self.above.get_mut(association).expect("a living name").down = credit;
                if self.awaits() {
                    self.expect();
                }
            }
            DatagramsIndication::Credit { association, credit } => {
                let one = self.above.get_mut(association).expect("a living name");
                one.down.octets += credit.octets;
                one.down.messages += credit.messages;
                assert!(
                    one.down.messages <= 64 && one.down.octets <= 1 << 20,
                    "no more than was taken is given back"
                );
            }
            DatagramsIndication::Delivered { association, batch: messages, .. } => {
                let one = self.above.get_mut(association).expect("a living name");
                assert!(!one.closing, "nothing is delivered to who has closed");
                let Credit { octets, messages: count } = messages.cost();
                assert!(one.up.messages >= count && one.up.octets >= octets, "within the room");
                one.up.messages -= count;
                one.up.octets -= octets;
            }
            DatagramsIndication::Ended { name, .. } => {
                self.above.forget(name).expect("a last word comes once");
            }
            DatagramsIndication::Listening { .. }
            | DatagramsIndication::Finished { .. }
            | DatagramsIndication::Changed { .. }
            | DatagramsIndication::Controlled { .. } => {}
        }
    }

    /// Whether there are so few associations that one more may come.
    fn awaits(&self) -> bool {
        self.above.len() < 12
    }

    /// The association below on which a packet arrives.
    fn opened_for(&mut self, packet: &Packet) -> Option<Handle> {
        let open = self.below.iter().find(|(_, ends)| **ends == (packet.to, packet.from));
        if let Some((name, _)) = open {
            return Some(*name);
        }
        if packet.to != address(self.nth, 7) || self.door.is_none() {
            return None;
        }
        let name = self.awaited.pop_front()?;
        self.below.insert(name, (packet.to, packet.from));
        let (local, remote) = (packet.to, packet.from);
        let told = DatagramsIndication::Opened {
            association: name,
            local,
            remote,
            credit: ROOM,
            path: PathLimits::UNBOUNDED,
        };
        self.layer.handle_indication(&self.cx, told, &mut self.said);
        Some(name)
    }

    fn arrives(&mut self, packet: &Packet) {
        let Some(association) = self.opened_for(packet) else { return };
        let message = M::with_headroom(0, &packet.octets);
        let properties = MessageProperties { ecn: packet.ecn, ..MessageProperties::default() };
        let told =
            DatagramsIndication::Delivered { association, batch: message.into(), properties };
        self.layer.handle_indication(&self.cx, told, &mut self.said);
    }

    /// Packets of one sender arrive together: all are as long as the first, but the last may be
    /// shorter.
    fn arrive_together(&mut self, packets: &[Packet]) {
        let Some(association) = packets.first().and_then(|packet| self.opened_for(packet)) else {
            return;
        };
        let octets: Vec<u8> =
            packets.iter().flat_map(|packet| packet.octets.iter().copied()).collect();
        let messages = Batch::new(M::with_headroom(0, &octets), packets[0].octets.len());
        let properties = MessageProperties { ecn: packets[0].ecn, ..MessageProperties::default() };
        let told = DatagramsIndication::Delivered { association, batch: messages, properties };
        self.layer.handle_indication(&self.cx, told, &mut self.said);
    }
}

impl<L: Endpoint> Stage<L> {
    fn settle(&mut self) {
        let Stage { sides, wire } = self;
        for side in sides {
            for turn in 0.. {
                assert!(turn < 100, "a deadline that never passes");
                let mut words = 0;
                while side.hear(wire) {
                    words += 1;
                    assert!(words < 20_000, "a layer that never falls silent");
                }
                let due =
                    side.layer.next_deadline().is_some_and(|deadline| deadline <= side.cx.now());
                if due {
                    side.layer.handle_timeout(&side.cx, &mut side.said);
                }
                if side.layer.wants_flush() {
                    side.layer.flush(&side.cx, &mut side.said);
                } else if !due {
                    break;
                }
            }
            let (half_open, all) = (side.layer.half_open(), side.layer.associations());
            assert!(half_open <= all, "{half_open} of {all} are half open");
        }
    }

    /// One of the packets on their way arrives, perhaps altered, perhaps not for the last time; or
    /// it never does.
    fn deliver(&mut self, input: &mut Input<'_>) {
        let (which, how) = (input.octet(), input.octet());
        if self.wire.is_empty() {
            return;
        }
        let at = usize::from(which) % self.wire.len();
        let mut packet = if how % 8 == 0 { self.wire[at].clone() } else { self.wire.remove(at) };
        if how % 8 == 1 {
            return;
        }
        if how % 8 == 2 && !packet.octets.is_empty() {
            let place = usize::from(input.octet()) % packet.octets.len();
            packet.octets[place] ^= input.octet();
        }
        // Routers mark what may be marked, take off what they do not know, and one is out of its
        // mind.
        packet.ecn = match (how / 8, packet.ecn) {
            (0..8, Ecn::Ect) | (8, _) => Ecn::Ce,
            (9, _) => Ecn::NotEct,
            (_, ecn) => ecn,
        };
        let side = usize::from(
            packet
                .to
                .internet()
                .is_some_and(|to| to.ip() == address(1, 0).internet().expect("one").ip()),
        );
        if how % 8 == 3 && !packet.octets.is_empty() {
            let run = self.behind(at, packet);
            return self.sides[side].arrive_together(&run);
        }
        self.sides[side].arrives(&packet);
    }

    /// The packet that lay there, with those behind it that may be in one run with it.
    fn behind(&mut self, at: usize, first: Packet) -> Vec<Packet> {
        let (ends, length) = ((first.from, first.to, first.ecn), first.octets.len());
        let mut run = vec![first];
        while let Some(next) = self.wire.get(at)
            && (next.from, next.to, next.ecn) == ends
            && (1..=length).contains(&next.octets.len())
            && run.last().is_some_and(|last| last.octets.len() == length)
        {
            run.push(self.wire.remove(at));
        }
        run
    }

    /// Somebody says something in another's name.
    fn inject(&mut self, input: &mut Input<'_>, side: usize) {
        let known: Vec<_> = self.sides[side].below.values().copied().collect();
        let which = input.octet();
        let (to, from) = match known.get(usize::from(which % 8)) {
            Some(ends) => *ends,
            None => (address(side as u8, 7), address(9, 1000 + u16::from(which))),
        };
        let length = usize::from(input.octet());
        let octets = input.take(length).to_vec();
        let ecn = if which < 32 { Ecn::Ce } else { Ecn::NotEct };
        self.sides[side].arrives(&Packet { from, to, octets, ecn });
    }

    fn pass(&mut self, time: Duration) {
        let end = self.sides[0].cx.now() + time;
        // Both have the same clock, and what is due rings when it is.
        for _ in 0..2000 {
            let next = self.sides.iter().filter_map(|side| side.layer.next_deadline()).min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            for side in &mut self.sides {
                side.cx.set_now(next.max(side.cx.now()));
            }
            self.settle();
        }
        for side in &mut self.sides {
            side.cx.set_now(end.max(side.cx.now()));
        }
        self.settle();
    }
}
