//! A sender, a relay, a receiver, and the links between them.

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright_contract::{Context, Duration, Handle, Participant, Protocol};
use stackwright_relay::{Arrival, Config, Direction, Indication, Relay, Request};
use stackwright_simulator::{
    Application, Asks, Conditions, Heard, SimulatedDatagrams, StationId, World,
};
use stackwright_stop_and_wait::{Rules, StopAndWait};
use stackwright_wire::{BufferTree, Message};

type M = BufferTree;
type Whither = Box<dyn FnMut(Arrival) -> Option<Participant>>;
type Pass = Box<dyn FnMut(Direction, M, MessageProperties) -> Option<(M, MessageProperties)>>;
type Relaying = Relay<M, Whither, Pass>;
type On<P> = Over<P, SimulatedDatagrams<M>>;

const SENDER: [u8; 4] = [10, 0, 0, 1];
pub(crate) const RELAY: [u8; 4] = [10, 0, 0, 2];
const RECEIVER: [u8; 4] = [10, 0, 0, 3];
const LISTENER: Handle = Handle { index: 0, generation: 0 };
const ASSOCIATION: Handle = Handle { index: 1, generation: 0 };
const ROOM_BELOW: Credit = Credit { octets: 16 << 10, messages: 8 };

/// Of the relay, each way, and of both ends.
pub(crate) const ROOM: Credit = Credit { octets: 16 << 10, messages: 8 };

/// Sends numbered messages, and hears some; closes when it has done both, where it opened.
pub(crate) struct Talker {
    to_send: u32,
    to_hear: u32,
    opened: bool,
    sent: u32,
    credit: Credit,
    heard: Vec<u32>,
    unread: Vec<Credit>,
    ended: Option<Ended>,
    pub(crate) reads: bool,
}

impl Talker {
    fn new(to_send: u32, to_hear: u32, opened: bool) -> Self {
        let (credit, heard, unread) = (Credit::default(), Vec::new(), Vec::new());
        Talker {
            to_send,
            to_hear,
            opened,
            sent: 0,
            credit,
            heard,
            unread,
            ended: None,
            reads: true,
        }
    }

    fn go_on(&mut self, mut ask: impl FnMut(DatagramsRequest<M>)) {
        while self.sent < self.to_send {
            let length = 5 + (self.sent as usize * 977) % 3000;
            if self.credit.messages == 0 || self.credit.octets < length {
                return;
            }
            self.credit.messages -= 1;
            self.credit.octets -= length;
            let mut octets = vec![self.sent as u8; length];
            octets[..4].copy_from_slice(&self.sent.to_be_bytes());
            let message = M::with_headroom(64, &octets);
            let properties =
                MessageProperties { number: Some(self.sent), ..MessageProperties::default() };
            ask(DatagramsRequest::Send {
                association: ASSOCIATION,
                batch: message.into(),
                properties,
            });
            self.sent += 1;
        }
        if self.opened && self.heard.len() as u32 == self.to_hear {
            self.opened = false;
            ask(DatagramsRequest::Close { name: ASSOCIATION });
        }
    }
}

impl<P: Protocol<Provides = Datagrams<M>>> Application<P> for Talker {
    fn hear(&mut self, _cx: &Context, indication: DatagramsIndication<M>, asks: &mut Asks<P>) {
        match indication {
            DatagramsIndication::Opened { credit, .. }
            | DatagramsIndication::Credit { credit, .. } => {
                self.credit.messages += credit.messages;
                self.credit.octets += credit.octets;
                self.go_on(|request| asks.push_back(request));
            }
            DatagramsIndication::Delivered { association, batch: messages, .. } => {
                let message = messages.into_single();
                let credit = Credit { octets: message.len(), messages: 1 };
                let mut octets = vec![0; message.len()];
                message.copy_to(&mut octets);
                let number = u32::from_be_bytes(octets[..4].try_into().expect("four octets"));
                assert!(
                    octets[4..].iter().all(|octet| *octet == !(number as u8)),
                    "what the relay made of it"
                );
                self.heard.push(number);
                match self.reads {
                    true => asks.push_back(DatagramsRequest::Credit { association, credit }),
                    false => self.unread.push(credit),
                }
                self.go_on(|request| asks.push_back(request));
            }
            DatagramsIndication::Ended { name: ASSOCIATION, why } => self.ended = Some(why),
            _ => {}
        }
    }
}

/// A link by chance: it loses, doubles and reorders.
pub(crate) fn any_conditions(seed: u64) -> Conditions {
    let random = &mut fastrand::Rng::with_seed(seed);
    Conditions {
        delay: Duration::from_millis(random.u64(1..30)),
        jitter: Duration::from_millis(random.u64(0..40)),
        loss: (random.f64() * 0.2).into(),
        duplicate: random.f64() * 0.2,
        ..Conditions::IDEAL
    }
}

pub(crate) type Artp = stackwright_artp::Layer<M>;

pub(crate) fn artp(seed: u64, station: u8) -> Artp {
    let config = stackwright_artp::Config {
        tries: 60,
        send: ROOM,
        window: 64,
        ..stackwright_artp::Config::new([station; 16])
    };
    stackwright_artp::layer(config, seed)
}

pub(crate) fn stop_and_wait(seed: u64, _station: u8) -> StopAndWait<M> {
    StopAndWait::new(Rules::default(), seed)
}

/// Three stations in a row.
pub(crate) struct Chain<P: Protocol<Provides = Datagrams<M>, Uses = Datagrams<M>>> {
    world: World<M>,
    ends: [StationId<On<P>, Talker>; 2],
    relay: StationId<Over<Relaying, On<P>>, Heard<Indication>>,
    whither: Rc<Cell<Option<Participant>>>,
}

impl<P: Protocol<Provides = Datagrams<M>, Uses = Datagrams<M>> + 'static> Chain<P> {
    /// The two ends send so many messages each.
    pub(crate) fn new(
        seed: u64,
        conditions: Conditions,
        messages: [u32; 2],
        layer: impl Fn(u64, u8) -> P,
    ) -> Self {
        let mut world = World::new(seed);
        world.network_mut().set_conditions(conditions);
        let on = |address: [u8; 4]| {
            Over::new(
                layer(seed, address[3]),
                SimulatedDatagrams::new(IpAddr::from(address), ROOM_BELOW),
            )
        };
        let [here, there] = messages;
        let sender = world.add(SENDER.into(), on(SENDER), Talker::new(here, there, true));
        let receiver = world.add(RECEIVER.into(), on(RECEIVER), Talker::new(there, here, false));
        let at = |address| Participant::from(SocketAddr::from((address, 7)));
        let whither = Rc::new(Cell::new(Some(at(RECEIVER))));
        let asked = Rc::clone(&whither);
        let lead: Whither = Box::new(move |_| asked.get());
        let pass: Pass = Box::new(|_, message, properties| {
            let mut octets = vec![0; message.len()];
            message.copy_to(&mut octets);
            octets[4..].iter_mut().for_each(|octet| *octet = !*octet);
            Some((M::with_headroom(64, &octets), properties))
        });
        let relay = Relay::new(Config { credit: ROOM, ..Config::default() }, lead, pass);
        let relay = world.add(RELAY.into(), Over::new(relay, on(RELAY)), Heard::default());
        world.ask(relay, Request::Relay { local: at(RELAY) });
        world.ask(receiver, DatagramsRequest::Listen { listener: LISTENER, local: at(RECEIVER) });
        let (listener, association) = (LISTENER, ASSOCIATION);
        world.ask(receiver, DatagramsRequest::Await { listener, association, credit: ROOM });
        world.ask(
            sender,
            DatagramsRequest::Open { association, remote: at(RELAY), credit: ROOM, local: None },
        );
        Chain { world, ends: [sender, receiver], relay, whither }
    }

    /// From now on, who arrives is led there.
    pub(crate) fn lead_to(&mut self, place: Option<Participant>) {
        self.whither.set(place);
    }

    pub(crate) fn ask(&mut self, request: Request) {
        self.world.ask(self.relay, request);
    }

    /// Whether it came to that within ten minutes. More never waits at the relay than it may.
    pub(crate) fn run_until(&mut self, done: impl Fn(&Self) -> bool) -> bool {
        let end = self.world.now() + Duration::from_secs(600);
        while !done(self) {
            assert!(self.held() <= 2 * ROOM.octets, "{} octets wait", self.held());
            if self.world.now() > end || !self.world.step() {
                return false;
            }
        }
        true
    }

    /// Whether both heard all, and that it is over. Farewells are said a few times only: from then
    /// on nothing is lost.
    pub(crate) fn ends(&mut self) -> bool {
        let heard_all = |talker: &Talker| talker.heard.len() as u32 == talker.to_hear;
        let heard = self.run_until(|chain| {
            chain.ends.iter().all(|end| heard_all(chain.world.application(*end)))
        });
        self.world.network_mut().set_conditions(Conditions::IDEAL);
        heard && self.ends_at(&[0, 1])
    }

    /// Whether these of the two ends heard that it is over, and the relay did.
    pub(crate) fn ends_at(&mut self, ends: &[usize]) -> bool {
        self.run_until(|chain| {
            ends.iter().all(|end| chain.ended()[*end].is_some()) && chain.relay().pairs() == 0
        })
    }

    pub(crate) fn run_for(&mut self, seconds: u64) {
        self.world.run_for(Duration::from_secs(seconds));
    }

    pub(crate) fn receiver_mut(&mut self) -> &mut Talker {
        self.world.application_mut(self.ends[1])
    }

    /// The receiver reads what it left, and goes on reading.
    pub(crate) fn read(&mut self) {
        let receiver = self.receiver_mut();
        receiver.reads = true;
        for credit in std::mem::take(&mut receiver.unread) {
            self.world
                .ask(self.ends[1], DatagramsRequest::Credit { association: ASSOCIATION, credit });
        }
    }

    /// What the receiver heard, and what the sender did.
    pub(crate) fn heard(&self) -> [Vec<u32>; 2] {
        let [sender, receiver] = self.ends.map(|end| self.world.application(end).heard.clone());
        [receiver, sender]
    }

    pub(crate) fn ended(&self) -> [Option<Ended>; 2] {
        self.ends.map(|end| self.world.application(end).ended)
    }

    pub(crate) fn sent(&self) -> u32 {
        self.world.application(self.ends[0]).sent
    }

    pub(crate) fn told(&self) -> &[Indication] {
        &self.world.application(self.relay).0
    }

    pub(crate) fn relay(&self) -> &Relaying {
        &self.world.stack(self.relay).upper
    }

    pub(crate) fn held(&self) -> usize {
        self.relay().held()
    }
}
