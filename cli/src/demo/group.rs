//! `demo group`: five replicas of a store, of which one is killed and two are cut off.

use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use ring::digest::{SHA256, digest};
use stackwright::compose::graph::{Builder, Graph};
use stackwright::contract::services::{
    Credit, GroupNotice, GroupView, Groups, GroupsIndication, GroupsRequest,
};
use stackwright::contract::{Context, Handle, Instant, Participant};
use stackwright::group::{
    Detector, Mesh, MeshConfig, MicroLayer, Nak, NakConfig, SafeDelivery, StateTransfer,
    TotalOrder, Views, ViewsConfig,
};
use stackwright::replica::{
    KeyValueStore, Machine as _, Outcome, RedisCommand, Replica, redis_command, redis_outcome,
};
use stackwright_parts::Message;
use stackwright_simulator::{
    Application, Asks, CheckedDatagrams, Conditions, Segments, StationId, World,
};

use crate::problem::Problem;
use crate::report::say;

/// The stack of `group store`, in a simulated network.
type Replicated = Graph<Message, Segments<Message>, Groups<Message>>;

const REPLICAS: usize = 5;
const PORT: u16 = 4370;
const STEP: Duration = Duration::from_millis(10);
/// What has not come about after this long never will.
const LONG: Duration = Duration::from_secs(30);

fn host(place: usize) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, place as u8 + 1).into()
}

fn at(place: usize) -> Participant {
    SocketAddr::new(host(place), PORT).into()
}

/// One process.
struct Process {
    name: Handle,
    replica: Replica<KeyValueStore>,
    /// The latest view that was shown.
    shown: Rc<Cell<u32>>,
}

impl Process {
    fn new(name: Handle, origin: u64, shown: Rc<Cell<u32>>) -> Self {
        Process { name, replica: Replica::new(KeyValueStore::new(), name, origin), shown }
    }
}

impl Application<Replicated> for Process {
    fn hear(&mut self, cx: &Context, told: GroupsIndication<Message>, _: &mut Asks<Replicated>) {
        if told.name() != self.name {
            return;
        }
        if let GroupsIndication::Told { notice: GroupNotice::View(view), .. } = &told
            && view.number > self.shown.get()
        {
            self.shown.set(view.number);
            show(cx.now(), view);
        }
        self.replica.hear(cx.now(), told);
    }
}

/// Shows a view in a line.
fn show(now: Instant, view: &GroupView) {
    let mut members = String::new();
    for place in 0..REPLICAS {
        let member = view.members.iter().find(|member| member.participant == at(place));
        members += &match member {
            Some(member) if member.votes => format!(" {}", place + 1),
            Some(_) => format!(" ({})", place + 1),
            None => " -".into(),
        };
    }
    note(now, &format!("view {:<3}{members}", view.number));
}

fn note(now: Instant, what: &str) {
    say!("  {:6.2} s  {what}", now.since(Instant::START).as_secs_f64());
}

struct Scene {
    world: World<Message>,
    processes: Vec<StationId<Replicated, Process>>,
    tokens: u64,
}

pub(super) fn run() -> Result<(), Problem> {
    say!("Five replicas of a store, in a simulated network. A line for each view of the group:");
    say!("who is in it, in brackets as long as it has no state.\n");
    let mut scene = Scene::new();
    scene.wait_for(&[0, 1, 2, 3, 4])?;
    scene.count(0, 100)?;
    scene.say("replica 2 is killed");
    scene.kill(1);
    scene.wait_for(&[0, 2, 3, 4])?;
    scene.count(2, 100)?;
    scene.say("replicas 4 and 5 are cut off from 1 and 3");
    scene.cut(&[3, 4]);
    scene.wait_for(&[0, 2])?;
    scene.count(2, 100)?;
    let refused = redis_outcome(scene.write(3, "INCR n")?);
    let refused = String::from_utf8_lossy(&refused);
    let refused = refused.trim_start_matches('-').split(": ").next().unwrap_or_default();
    scene.say(&format!("replica 4 refuses a write: {refused}"));
    scene.say("the cut is healed, and replica 2 begins again");
    scene.cut(&[]);
    scene.open(1);
    scene.wait_for(&[0, 1, 2, 3, 4])?;
    scene.count(1, 100)?;
    scene.step(Duration::from_secs(1));
    let hashes: Vec<String> = (0..REPLICAS).map(|place| scene.hash(place)).collect();
    say!("\nThe state of each replica, 400 counted, as SHA-256:");
    for (place, hash) in hashes.iter().enumerate() {
        say!("  {}  {}…", place + 1, &hash[..16]);
    }
    if hashes.iter().any(|hash| *hash != hashes[0]) || scene.number(4) != Some(400) {
        return Err(Problem::Altered);
    }
    say!("\nThey are equal. In the network that there is: stackwright group store --help");
    Ok(())
}

impl Scene {
    fn new() -> Self {
        let mut world = World::new(51);
        let peers: Vec<_> = (0..REPLICAS).map(at).collect();
        let shown = Rc::default();
        let processes = (0..REPLICAS).map(|place| {
            let founding = (place == 0).then_some(Duration::from_millis(100));
            let config = ViewsConfig { founding, ..ViewsConfig::default() };
            let silence = Detector::new(Detector::SILENCE);
            let stack: Result<Replicated, _> = Builder::new()
                .protocol("state", MicroLayer::new(StateTransfer::new()))
                .over("total")
                .protocol("total", MicroLayer::new(TotalOrder::new()))
                .over("safe")
                .protocol("safe", MicroLayer::new(SafeDelivery::new()))
                .over("membership")
                .protocol("membership", MicroLayer::new(Views::new(config)))
                .over("detector")
                .protocol("detector", MicroLayer::new(silence))
                .over("nak")
                .protocol("nak", MicroLayer::new(Nak::new(NakConfig::default())))
                .over("group")
                .protocol("group", Mesh::new(MeshConfig { peers: peers.clone() }))
                .over("udp")
                .protocol("udp", CheckedDatagrams::checked(host(place), Credit::ROOM))
                .top("state")
                .build();
            let stack = stack.expect("the rule book takes it");
            let name = Handle { index: 0, generation: 0 };
            let process = Process::new(name, place as u64 + 1, Rc::clone(&shown));
            world.add(host(place), stack, process)
        });
        let processes = processes.collect();
        let mut scene = Scene { world, processes, tokens: 0 };
        scene.cut(&[]);
        (0..REPLICAS).for_each(|place| scene.open(place));
        scene
    }

    fn open(&mut self, place: usize) {
        let association = self.world.application(self.processes[place]).name;
        let remote = SocketAddr::from(([239, 77, 3, 1], PORT)).into();
        let (local, credit) = (Some(at(place)), Credit::ROOM);
        let open = GroupsRequest::Open { association, remote, local, credit };
        self.world.ask(self.processes[place], open);
    }

    fn kill(&mut self, place: usize) {
        let process = self.world.application_mut(self.processes[place]);
        let association = process.name;
        let name = Handle { generation: association.generation + 1, ..association };
        let origin = 100 + u64::from(name.generation);
        *process = Process::new(name, origin, Rc::clone(&process.shown));
        self.world.ask(self.processes[place], GroupsRequest::Abort { association, code: 0 });
    }

    /// Only these hear each other, and the others each other; a packet in a hundred is lost.
    fn cut(&mut self, off: &[usize]) {
        let conditions = Conditions {
            loss: 0.01.into(),
            delay: Duration::from_millis(1),
            jitter: Duration::from_millis(5),
            ..Conditions::IDEAL
        };
        let parts = (0..REPLICAS).map(|place| (host(place), u8::from(off.contains(&place))));
        self.world.network_mut().split(parts, &conditions);
    }

    fn say(&self, what: &str) {
        note(self.world.now(), what);
    }

    fn replica(&mut self, place: usize) -> &mut Replica<KeyValueStore> {
        &mut self.world.application_mut(self.processes[place]).replica
    }

    fn step(&mut self, time: Duration) {
        let until = self.world.now() + time;
        while self.world.now() < until {
            self.world.run_for(STEP);
            let now = self.world.now();
            for place in 0..REPLICAS {
                let mut asks = Vec::new();
                self.replica(place).timeout(now);
                self.replica(place).pump(now, |request| asks.push(request));
                for request in asks {
                    self.world.ask(self.processes[place], request);
                }
            }
        }
    }

    /// Waits until these are a view of their own, and vote.
    fn wait_for(&mut self, members: &[usize]) -> Result<(), Problem> {
        let until = self.world.now() + LONG;
        let mut is_there = false;
        while !is_there && self.world.now() < until {
            self.step(STEP);
            is_there = members.iter().all(|place| {
                let replica = self.replica(*place);
                let view = replica.view().map_or(&[][..], |view| &view.members);
                view.len() == members.len()
                    && view.iter().all(|member| member.votes)
                    && replica.hindrance().is_none()
            });
        }
        if is_there { Ok(()) } else { Err(Problem::Interrupted) }
    }

    /// Has a replica do something; returns what became of it.
    fn write(&mut self, place: usize, line: &str) -> Result<Outcome, Problem> {
        let words: Vec<_> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        let RedisCommand::Writes(operation) = redis_command(&words) else {
            return Err(Problem::Altered);
        };
        self.tokens += 1;
        let (now, token) = (self.world.now(), self.tokens);
        self.replica(place).submit(now, token, operation, false);
        let until = now + LONG;
        while self.world.now() < until {
            while let Some((of, outcome)) = self.replica(place).next_outcome() {
                if of == token {
                    return Ok(outcome);
                }
            }
            self.step(STEP);
        }
        Err(Problem::Interrupted)
    }

    fn count(&mut self, place: usize, times: u32) -> Result<(), Problem> {
        for _ in 0..times {
            let outcome = self.write(place, "INCR n")?;
            if !matches!(outcome, Outcome::Done(_)) {
                return Err(Problem::Altered);
            }
        }
        let number = self.number(place).unwrap_or(0);
        self.say(&format!("replica {} counts to {number}", place + 1));
        Ok(())
    }

    /// Returns the number that a replica has.
    fn number(&mut self, place: usize) -> Option<u32> {
        let words = [b"GET".to_vec(), b"n".to_vec()];
        let RedisCommand::Reads(operation) = redis_command(&words) else { return None };
        let (store, time) = self.replica(place).state()?;
        let reply = String::from_utf8(store.read(time, &operation)).ok()?;
        reply.lines().nth(1)?.parse().ok()
    }

    fn hash(&mut self, place: usize) -> String {
        let mut octets = Vec::new();
        if let Some((store, _)) = self.replica(place).state() {
            store.snapshot(&mut octets);
        }
        let hash = digest(&SHA256, &octets);
        hash.as_ref().iter().map(|octet| format!("{octet:02x}")).collect()
    }
}
