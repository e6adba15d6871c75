//! One endpoint: its network and its applications are the input's.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::num::NonZeroU32;

use stackwright_contract::services::{
    Batch, Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ecn, Ended, MessageKind,
    MessageProperties,
};
use stackwright_contract::{
    Command, Context, Handle, IndicationOf, Names, Outlet, Participant, PathLimits, PhaseRule,
    Protocol, RequestOf,
};
use stackwright_transport::{Configuration, Host, Transport};
use stackwright_wire::Message;

use crate::Input;
use crate::lower::M;

/// How many packets may be on their way; more are lost.
const PACKETS_MOST: usize = 64;

const ROOM: Credit = Credit { octets: 1 << 30, messages: 1 << 20 };

/// A transport of messages.
pub(crate) trait Messages:
    Host<Transfer = Datagrams<M>, Configuration: Configuration<Message = M>>
{
}

impl<H: Host<Transfer = Datagrams<M>, Configuration: Configuration<Message = M>>> Messages for H {}

#[derive(Default)]
pub(super) struct Said {
    down: VecDeque<DatagramsRequest<M>>,
    up: VecDeque<DatagramsIndication<M>>,
}

impl<H: Messages> Outlet<Transport<H>> for Said {
    fn indicate(&mut self, told: IndicationOf<Transport<H>>) {
        self.up.push_back(told);
    }

    fn request(&mut self, ask: RequestOf<Transport<H>>) {
        self.down.push_back(ask);
    }
}

/// An association above, as its application sees it.
#[derive(Default)]
pub(super) struct Application {
    pub(super) listens: bool,
    closing: bool,
    /// What it may send, and what it takes.
    down: Credit,
    up: Credit,
}

/// A packet on its way.
#[derive(Clone)]
pub(super) struct Packet {
    pub(super) from: Participant,
    pub(super) to: Participant,
    /// The side that it reaches.
    pub(super) recipient: u8,
    pub(super) octets: Vec<u8>,
    pub(super) ecn: Ecn,
}

/// Where an endpoint is among the others.
pub(super) struct Place {
    /// Where it listens, and where those that it opens an association with do.
    local: Participant,
    remote: Participant,
    /// The sides that what it sends reaches.
    recipients: Vec<u8>,
    /// Whether both addresses are that of a group, with which it has one association.
    in_group: bool,
}

impl Place {
    /// The place of one of two.
    pub(super) fn of_pair(nth: u8) -> Self {
        let other = 1 - nth;
        let (local, remote) = (address(nth, 7), address(other, 7));
        Place { local, remote, recipients: vec![other], in_group: false }
    }

    /// The place of one of `members`.
    pub(super) fn in_group(nth: u8, members: u8) -> Self {
        let group = SocketAddr::from(([239, 0, 0, 1], 7)).into();
        let recipients = (0..members).filter(|other| *other != nth).collect();
        Place { local: group, remote: group, recipients, in_group: true }
    }
}

/// One endpoint.
pub(super) struct Side<H: Messages> {
    nth: u8,
    place: Place,
    pub(super) cx: Context,
    pub(super) layer: Transport<H>,
    pub(super) said: Said,
    pub(super) above: Names<Application>,
    listener: Option<Handle>,
    /// Names below that wait for an arrival, and associations with their two addresses.
    awaited: VecDeque<Handle>,
    pub(super) below: BTreeMap<Handle, (Participant, Participant)>,
    door: Option<Handle>,
    ports: u16,
}

/// The address of a side, or of another that speaks in its name.
fn address(nth: u8, port: u16) -> Participant {
    SocketAddr::from(([10, 0, 0, nth], port)).into()
}

impl<H: Messages> Side<H> {
    pub(super) fn new(nth: u8, place: Place, layer: Transport<H>) -> Self {
        Side {
            nth,
            place,
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

    pub(super) fn listen(&mut self) {
        let listener = self.above.name(Application { listens: true, ..Application::default() });
        self.listener = Some(listener);
        let local = self.place.local;
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

    pub(super) fn close_all(&mut self) {
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
    pub(super) fn ask(&mut self, input: &mut Input<'_>) {
        let what = input.octet();
        let living: Vec<Handle> = self
            .above
            .iter()
            .filter(|(_, one)| !one.listens && !one.closing)
            .map(|(name, _)| name)
            .collect();
        let opens = what.is_multiple_of(8) && what < 240;
        if living.len() < 8 && (opens || living.is_empty()) {
            let up = Credit { octets: 1 << 18, messages: usize::from(what / 64) + 1 };
            let association = self.above.name(Application { up, ..Application::default() });
            return self.request(DatagramsRequest::Open {
                association,
                remote: self.place.remote,
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
            7 if what >= 192 => {
                let command = command(input.octet());
                self.request(DatagramsRequest::Control { association, command });
            }
            _ => {
                let length = match what / 8 % 4 {
                    0 => 0,
                    1 => usize::from(input.octet()),
                    2 => usize::from(input.number()) % 3000,
                    _ => usize::from(input.number()),
                };
                let (kind, octets) = match what {
                    248.. => (MessageKind::Control, vec![0, 4, 1, 0x80]),
                    _ => (MessageKind::Data, vec![what; length]),
                };
                if one.down.messages == 0 || one.down.octets < octets.len() {
                    return;
                }
                one.down.messages -= 1;
                one.down.octets -= octets.len();
                let properties = MessageProperties {
                    lifetime: NonZeroU32::new(u32::from(what / 32) * 100_000),
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
    pub(super) fn hear(&mut self, wire: &mut Vec<Packet>) -> bool {
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
            DatagramsRequest::Open { association, .. }
                if self.place.in_group && !self.below.is_empty() =>
            {
                DatagramsIndication::Ended { name: association, why: Ended::Unavailable }
            }
            DatagramsRequest::Open { association, remote, .. } => {
                self.ports += 1;
                let own = address(self.nth, self.ports);
                let local = if self.place.in_group { remote } else { own };
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
        for recipient in &self.place.recipients {
            if wire.len() < PACKETS_MOST {
                let (recipient, octets) = (*recipient, octets.clone());
                wire.push(Packet { from, to, recipient, octets, ecn });
            }
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
                assert!(!one.closing, "nothing is delivered behind a close");
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
            | DatagramsIndication::Controlled { .. }
            | DatagramsIndication::Reported { .. }
            | DatagramsIndication::Ending { .. } => {}
        }
    }

    /// Returns the ends of a packet of another that speaks to the listener.
    pub(super) fn ends_with_another(&self, which: u8) -> (Participant, Participant) {
        let another = address(9, 1000 + u16::from(which));
        (self.place.local, if self.place.in_group { self.place.remote } else { another })
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
        if packet.to != self.place.local || self.door.is_none() {
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

    pub(super) fn arrives(&mut self, packet: &Packet) {
        let Some(association) = self.opened_for(packet) else { return };
        let message = M::with_headroom(0, &packet.octets);
        let properties = MessageProperties { ecn: packet.ecn, ..MessageProperties::default() };
        let told =
            DatagramsIndication::Delivered { association, batch: message.into(), properties };
        self.layer.handle_indication(&self.cx, told, &mut self.said);
    }

    /// Packets of one sender arrive together: all are as long as the first, but the last may be
    /// shorter.
    pub(super) fn arrive_together(&mut self, packets: &[Packet]) {
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

/// What a layer is commanded whose services change while data flow; others know none of it.
fn command(what: u8) -> Command {
    let rule = PhaseRule {
        ordered: what & 8 != 0,
        fenced: what & 16 != 0,
        resends: (what & 32 != 0).then_some(u16::from(what >> 6)),
    };
    match what % 3 {
        0 => Command::Phase(what / 3 % 5),
        1 => Command::Require(rule),
        _ => Command::Wish(rule),
    }
}
