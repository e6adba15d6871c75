//! Replicas with clients, loss, partitions and crashes.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use fastrand::Rng;
use stackwright_compose::{Over, stack};
use stackwright_contract::services::{Credit, GroupsIndication, GroupsRequest, Rank};
use stackwright_contract::{Context, Duration, Handle, Participant};
use stackwright_group::{
    Detector, Mesh, MeshConfig, MicroLayer, Nak, NakConfig, SafeDelivery, StateTransfer,
    TotalOrder, Views, ViewsConfig,
};
use stackwright_replica::{
    KeyValueStore, Machine as _, Outcome, RedisCommand, Replica, redis_command,
};
use stackwright_simulator::{Application, Asks, CheckedDatagrams, Conditions, StationId, World};
use stackwright_wire::SingleBuffer;

use crate::checker::{Act, Event, History, OPEN_MOST};

type M = SingleBuffer;

stack! {
    Stack = MicroLayer<M, StateTransfer<M>> over MicroLayer<M, TotalOrder<M>>
        over MicroLayer<M, SafeDelivery<M>> over MicroLayer<M, Views<M>>
        over MicroLayer<M, Detector> over MicroLayer<M, Nak<M>> over Mesh<M>
        over CheckedDatagrams<M>
}

const PORT: u16 = 4370;
/// Clients of each replica.
const CLIENTS: usize = 2;
const KEYS: usize = 3;

/// What is wrong with the replicas.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flaw {
    Nothing,
    /// A write is answered before its cast comes back.
    EarlyAnswer,
    /// A read is answered from the own state.
    LocalRead,
}

fn host(station: usize) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, station as u8 + 1).into()
}

fn at(station: usize) -> Participant {
    SocketAddr::new(host(station), PORT).into()
}

/// One process.
struct Process {
    name: Handle,
    replica: Replica<KeyValueStore>,
}

impl Process {
    fn new(name: Handle, origin: u64) -> Self {
        Process { name, replica: Replica::new(KeyValueStore::new(), name, origin) }
    }
}

impl Application<Stack> for Process {
    fn hear(&mut self, cx: &Context, told: GroupsIndication<M>, _: &mut Asks<Stack>) {
        if told.name() == self.name {
            self.replica.hear(cx.now(), told);
        }
    }
}

/// An operation whose client waits.
struct Waiting {
    station: usize,
    client: usize,
    key: usize,
    number: usize,
}

pub(crate) struct Scene {
    world: World<M>,
    processes: Vec<StationId<Stack, Process>>,
    alive: Vec<bool>,
    busy: Vec<[bool; CLIENTS]>,
    random: Rng,
    loss: f64,
    flaw: Flaw,
    waiting: BTreeMap<u64, Waiting>,
    /// Keys are given up when too much of them is unknown: the last ones are in use.
    histories: Vec<History>,
    used: [usize; KEYS],
    operations: usize,
    pub(crate) answered: usize,
    pub(crate) refused: usize,
    pub(crate) unknown: usize,
}

impl Scene {
    pub(crate) fn new(seed: u64, flaw: Flaw) -> Self {
        let count = 3 + (seed % 3) as usize;
        let loss = [0.0, 0.01, 0.05, 0.15][(seed / 3 % 4) as usize];
        let mut world = World::new(seed);
        let mut random = Rng::with_seed(seed);
        let peers: Vec<_> = (0..count).map(at).collect();
        let processes = (0..count).map(|station| {
            let founding = (station == 0).then_some(Duration::from_millis(100));
            let config = ViewsConfig { founding, ..ViewsConfig::default() };
            let udp = CheckedDatagrams::checked(host(station), Credit::ROOM);
            let mesh = Over::new(Mesh::new(MeshConfig { peers: peers.clone() }), udp);
            let casts = Over::new(MicroLayer::new(Nak::new(NakConfig::default())), mesh);
            let silence = MicroLayer::new(Detector::new(Duration::from_millis(200)));
            let views = Over::new(MicroLayer::new(Views::new(config)), Over::new(silence, casts));
            let safe = Over::new(MicroLayer::new(SafeDelivery::new()), views);
            let total = Over::new(MicroLayer::new(TotalOrder::new()), safe);
            let stack = Stack::new(MicroLayer::new(StateTransfer::new()), total);
            let name = Handle { index: 0, generation: 0 };
            world.add(host(station), stack, Process::new(name, random.u64(..)))
        });
        let processes = processes.collect();
        let mut scene = Scene {
            world,
            processes,
            alive: vec![true; count],
            busy: vec![[false; CLIENTS]; count],
            random,
            loss,
            flaw,
            waiting: BTreeMap::new(),
            histories: (0..KEYS).map(|_| History::default()).collect(),
            used: std::array::from_fn(|key| key),
            operations: 0,
            answered: 0,
            refused: 0,
            unknown: 0,
        };
        scene.part(&vec![0; count]);
        for station in 0..count {
            scene.open(station);
        }
        scene
    }

    /// Processes with different numbers do not hear each other.
    fn part(&mut self, parts: &[u8]) {
        let conditions = Conditions {
            loss: self.loss.into(),
            duplicate: 0.02,
            delay: Duration::from_millis(1),
            jitter: Duration::from_millis(15),
            ..Conditions::IDEAL
        };
        let parts = parts.iter().enumerate().map(|(station, part)| (host(station), *part));
        self.world.network_mut().split(parts, &conditions);
    }

    fn open(&mut self, station: usize) {
        let association = self.world.application(self.processes[station]).name;
        let remote = SocketAddr::from(([239, 77, 3, 1], PORT)).into();
        let (local, credit) = (Some(at(station)), Credit::ROOM);
        let open = GroupsRequest::Open { association, remote, local, credit };
        self.world.ask(self.processes[station], open);
        self.alive[station] = true;
    }

    /// Whether a quorum of every view that is current, offered or accepted keeps its memory without
    /// this process.
    fn can_lose(&self, station: usize) -> bool {
        let alive = || (0..self.processes.len()).filter(|other| self.alive[*other]);
        let hooks = |at: usize| {
            let stack = self.world.stack(self.processes[at]);
            stack.lower.lower.lower.upper.hooks()
        };
        let dead = alive().count() < self.processes.len();
        !(dead && self.processes.len() < 5)
            && alive().all(|other| {
                let (mut views, _) = hooks(other).views();
                views.all(|view| {
                    view.is_quorum(|Rank(rank)| {
                        let member = view.members[usize::from(rank)];
                        let member = (member.participant, member.incarnation);
                        alive().any(|one| {
                            let (_, ready) = hooks(one).views();
                            one != station && ready && hooks(one).identity() == member
                        })
                    })
                })
            })
    }

    fn crash(&mut self, station: usize) {
        let origin = self.random.u64(..);
        let process = self.world.application_mut(self.processes[station]);
        let association = process.name;
        let name = Handle { generation: association.generation + 1, ..association };
        *process = Process::new(name, origin);
        let abort = GroupsRequest::Abort { association, code: 0 };
        self.world.ask(self.processes[station], abort);
        self.alive[station] = false;
        let lost = self.waiting.extract_if(.., |_, one| one.station == station);
        for one in lost.collect::<Vec<_>>().into_iter().map(|(_, one)| one) {
            self.end(&one, Event::Unknown);
        }
    }

    fn end(&mut self, one: &Waiting, event: Event) {
        match event {
            Event::Answered(..) => self.answered += 1,
            Event::Refused(_) => self.refused += 1,
            _ => self.unknown += 1,
        }
        self.histories[one.key].push(event);
        self.busy[one.station][one.client] = false;
    }

    /// A client that waits for nothing asks for something.
    fn ask(&mut self, station: usize, client: usize) {
        let place = self.random.usize(..KEYS);
        let mut key = self.used[place];
        if self.histories[key].open == OPEN_MOST {
            key = self.histories.len();
            self.histories.push(History::default());
            self.used[place] = key;
        }
        self.operations += 1;
        let number = self.operations;
        let value = 1000 * number as i64;
        let act = match self.random.u32(..8) {
            0 | 1 => Act::Set(value),
            2 => Act::SetNew(value),
            3 => Act::Delete,
            4 | 5 => Act::Increment,
            _ => Act::Get,
        };
        let line = match act {
            Act::Set(value) => format!("SET {key} {value}"),
            Act::SetNew(value) => format!("SETNX {key} {value}"),
            Act::Get => format!("GET {key}"),
            Act::Increment => format!("INCR {key}"),
            Act::Delete => format!("DEL {key}"),
        };
        let words: Vec<_> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        self.histories[key].push(Event::Asked(number, act));
        let now = self.world.now();
        let replica = &mut self.world.application_mut(self.processes[station]).replica;
        let (operation, reads) = match redis_command(&words) {
            RedisCommand::Reads(operation) => (operation, true),
            RedisCommand::Writes(operation) => (operation, false),
            other => unreachable!("{other:?}"),
        };
        let one = Waiting { station, client, key, number };
        if self.flaw == Flaw::LocalRead && reads {
            let read = replica.state().map(|(store, time)| store.read(time, &operation));
            let event = read.map_or(Event::Refused(number), |reply| said(number, &reply));
            return self.end(&one, event);
        }
        let early = self.flaw == Flaw::EarlyAnswer && matches!(act, Act::Set(_));
        let is_early = early && replica.hindrance().is_none();
        replica.submit(now, number as u64, operation, reads);
        if is_early {
            self.end(&one, Event::Answered(number, Some(0)));
        } else {
            self.busy[station][client] = true;
            self.waiting.insert(number as u64, one);
        }
    }

    pub(crate) fn step(&mut self, chaos: bool, clients: bool) {
        self.world.run_for(Duration::from_millis(10));
        let (now, count) = (self.world.now(), self.processes.len());
        for station in 0..count {
            self.world.application_mut(self.processes[station]).replica.timeout(now);
            for client in 0..CLIENTS {
                let asks = clients && self.alive[station] && !self.busy[station][client];
                if asks && self.random.u32(..10) < 3 {
                    self.ask(station, client);
                }
            }
            let mut asks = Vec::new();
            let process = self.world.application_mut(self.processes[station]);
            let outcomes: Vec<_> = std::iter::from_fn(|| process.replica.next_outcome()).collect();
            process.replica.pump(now, |request| asks.push(request));
            if self.alive[station] {
                for request in asks {
                    self.world.ask(self.processes[station], request);
                }
            }
            for (token, outcome) in outcomes {
                let Some(one) = self.waiting.remove(&token) else { continue };
                let event = match outcome {
                    Outcome::Done(reply) => said(one.number, &reply),
                    Outcome::Refused(_) | Outcome::Late => Event::Refused(one.number),
                    Outcome::Unknown => Event::Unknown,
                };
                self.end(&one, event);
            }
        }
        if !chaos || self.random.u32(..100) >= 3 {
            return;
        }
        let any = self.random.usize(..count);
        match self.random.u32(..4) {
            0 => {
                let parts: Vec<u8> = (0..count).map(|_| self.random.u8(..2)).collect();
                self.part(&parts);
            }
            1 => self.part(&vec![0; count]),
            2 if self.alive[any] && self.can_lose(any) => self.crash(any),
            _ => self.heal(false),
        }
    }

    /// The dead begin again; `all`: everyone hears everyone.
    pub(crate) fn heal(&mut self, all: bool) {
        for station in 0..self.processes.len() {
            if !self.alive[station] {
                self.open(station);
            }
        }
        if all {
            self.loss = self.loss.min(0.05);
            self.part(&vec![0; self.processes.len()]);
        }
    }

    /// Returns whether all are in one view, and wait for nothing.
    pub(crate) fn is_calm(&self) -> bool {
        let replicas = || self.processes.iter().map(|one| &self.world.application(*one).replica);
        let is_in = |replica: &Replica<KeyValueStore>| {
            let view = replica.view();
            let members = view.map_or(&[][..], |view| &view.members);
            members.len() == self.processes.len() && members.iter().all(|member| member.votes)
        };
        let numbers: Vec<_> = replicas().map(|one| one.view().map(|view| view.number)).collect();
        self.waiting.is_empty()
            && replicas().all(|one| is_in(one) && one.hindrance().is_none())
            && numbers.iter().all(|number| *number == numbers[0])
    }

    /// Returns what is wrong.
    pub(crate) fn check(&self) -> Option<&'static str> {
        let states: Vec<_> = self
            .processes
            .iter()
            .map(|one| {
                let state = self.world.application(*one).replica.state();
                state.map(|(store, _)| {
                    let mut octets = Vec::new();
                    store.snapshot(&mut octets);
                    octets
                })
            })
            .collect();
        if states.iter().any(|state| *state != states[0] || state.is_none()) {
            return Some("the states differ");
        }
        let all = self.histories.iter().all(History::is_linearizable);
        (!all).then_some("no order explains what clients were told")
    }
}

/// Returns what a reply says as a number.
fn said(number: usize, reply: &[u8]) -> Event {
    let text = std::str::from_utf8(reply).expect("text").trim_end();
    let reply = match text.as_bytes()[0] {
        b'+' => Some(0),
        b':' => Some(text[1..].parse().expect("a number")),
        b'$' => text.split_once("\r\n").map(|(_, value)| value.parse().expect("a number")),
        _ => panic!("{text}"),
    };
    Event::Answered(number, reply)
}
