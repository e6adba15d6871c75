//! Members of a stack in a simulated network: loss, copies, delay, partitions, and crashes that
//! lose all memory.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use fastrand::Rng;
use stackwright::compose::graph::{Erased, Flaw, Graph, Node, Parameters, ProtocolRegistry};
use stackwright::contract::described::ParameterTable as _;
use stackwright::contract::services::{Credit, Groups, GroupsRequest};
use stackwright::contract::{Facts, Guarantees, Instant, Participant};
use stackwright::group::{
    Mesh, MeshConfig, MicroLayer, PartitionedViews, Views, ViewsConfig, described,
};
use stackwright_group_checker::{BrokenPromise, CastMark, GroupEvent, GroupProcess, GroupRecord};
use stackwright_parts::Message;
use stackwright_simulator::{CheckedDatagrams, Conditions, Flight, Segments, StationId, World};

use super::CHECKED;
use crate::described::Described;
use crate::problem::Problem;

type B = Segments<Message>;
type LabStack = Graph<Message, B, Groups<Message>>;
type Process = GroupProcess<Message>;
type Made = Result<Box<dyn Node<Message, B>>, Flaw>;

const PORT: u16 = 4370;
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 77, 3, 1);
const STEP: Duration = Duration::from_millis(10);
/// Steps before the first fault, with faults, and until all have to be together again.
const STEPS: [usize; 3] = [100, 1000, 3000];

/// What the network does, or a member.
#[derive(Clone, Debug)]
pub(super) enum Happening {
    /// Members with different numbers do not hear each other from here on.
    Split(Vec<u8>),
    Crash,
    Begin,
    Cast(CastMark),
    Of(GroupEvent),
}

/// What came of it.
pub(super) struct Run {
    pub(super) members: usize,
    pub(super) broken: Vec<BrokenPromise>,
    /// How long after the last fault all were in one view.
    pub(super) together: Option<Duration>,
    pub(super) views: u64,
    pub(super) deliveries: u64,
    /// What happened, when, and to which member, where that was kept.
    pub(super) happenings: Vec<(Instant, usize, Happening)>,
    pub(super) flights: Vec<Flight>,
    pub(super) end: Instant,
}

pub(super) struct Scene {
    world: World<Message>,
    members: Vec<StationId<LabStack, Process>>,
    alive: Vec<bool>,
    record: Rc<RefCell<GroupRecord>>,
    random: Rng,
    loss: f64,
    happenings: Vec<(Instant, usize, Happening)>,
    keeps: bool,
}

pub(super) fn host(place: usize) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, place as u8 + 1).into()
}

fn at(place: usize) -> Participant {
    SocketAddr::new(host(place), PORT).into()
}

/// The layers of groups, over datagrams that are simulated. Where the others are, and who begins
/// the group, is not the file's to say here.
fn registry(place: usize, members: usize) -> ProtocolRegistry<Message, B> {
    let udp = move |_: &Parameters<'_>| -> Made {
        Ok(Box::new(Erased(CheckedDatagrams::checked(host(place), Credit::ROOM))))
    };
    let mesh = move |table: &Parameters<'_>| -> Made {
        let mesh = Mesh::<Message>::new(MeshConfig { peers: (0..members).map(at).collect() });
        let often = table.number("multicast").and_then(|often| often.try_into().ok());
        let mesh = match often.map(Duration::from_millis) {
            Some(often) => mesh.multicasting(often),
            None => mesh,
        };
        Ok(Box::new(Erased(mesh)))
    };
    let membership = move |_: &Parameters<'_>| -> Made {
        let founding = (place == 0).then_some(Duration::from_millis(100));
        let config = ViewsConfig { founding, ..ViewsConfig::default() };
        Ok(Box::new(Erased(MicroLayer::<Message, _>::new(Views::<Message>::new(config)))))
    };
    let parts = move |_: &Parameters<'_>| -> Made {
        let founding = (place == 0).then_some(Duration::from_millis(100));
        let config = ViewsConfig { founding, ..ViewsConfig::default() };
        let views = PartitionedViews::<Message>::new(config);
        Ok(Box::new(Erased(MicroLayer::<Message, _>::new(views))))
    };
    let [carrier, views] =
        [described::mesh::<Message>().parameters, described::membership::<Message>().parameters];
    ProtocolRegistry::new()
        .with("udp", "", &[], udp)
        .with("group", "", carrier, mesh)
        .with("group membership", "", views, membership)
        .with("group parts", "", views, parts)
        .describe("", described::nak::<Message>(), || 0)
        .describe("", described::fragments::<Message>(), || 0)
        .describe("", described::seal::<Message>(), || 0)
        .describe("", described::detector::<Message>(), || 0)
        .describe("", described::safe::<Message>(), || 0)
        .describe("", described::causal::<Message>(), || 0)
        .describe("", described::total::<Message>(), || 0)
        .describe("", described::state::<Message>(), || 0)
}

fn build(described: &Described, place: usize, members: usize) -> Result<LabStack, Problem> {
    let built = described.description.build(&registry(place, members));
    built.map_err(|flaw| described.flawed(&flaw))
}

/// Returns what a stack promises.
pub(super) fn facts(described: &Described) -> Result<Facts, Problem> {
    build(described, 0, 2).map(|stack| stack.facts())
}

impl Scene {
    /// Makes members of a stack that promises `promised`. `keeps`: what happens is kept.
    pub(super) fn new(
        described: &Described,
        count: usize,
        seed: u64,
        promised: Guarantees,
        keeps: bool,
    ) -> Result<Self, Problem> {
        let mut world = World::new(seed);
        let record: Rc<RefCell<GroupRecord>> = Rc::default();
        let state = promised.shared(Guarantees::STATE);
        record.borrow_mut().lacks = Guarantees::ALL.without(CHECKED.and(state));
        if keeps {
            world.network_mut().keep_flights();
            record.borrow_mut().events = Some(Vec::new());
        }
        let mut members = Vec::new();
        for place in 0..count {
            let stack = build(described, place, count)?;
            let process = Process::new(Rc::clone(&record), place as u32);
            members.push(world.add(host(place), stack, process));
        }
        let mut random = Rng::with_seed(seed);
        let loss = [0.0, 0.01, 0.05][random.usize(..3)];
        let (alive, happenings) = (vec![true; count], Vec::new());
        let hosts: Vec<_> = (0..count).map(host).collect();
        world.network_mut().group(GROUP.into(), &hosts);
        let mut scene = Scene { world, members, alive, record, random, loss, happenings, keeps };
        scene.split(&vec![0; count]);
        (0..count).for_each(|place| scene.open(place));
        Ok(scene)
    }

    /// Lets everything happen, until a promise is broken or all is well again.
    pub(super) fn run(mut self) -> Run {
        let count = self.members.len();
        let [calm, chaos, rest] = STEPS;
        let is_broken = |scene: &Self| !scene.record.borrow().broken.is_empty();
        for step in 0..calm + chaos {
            if is_broken(&self) {
                return self.ended(None);
            }
            self.step();
            if step >= calm && self.random.u32(..100) < 3 {
                self.befall();
            }
        }
        self.split(&vec![0; count]);
        (0..count).for_each(|place| self.begin(place));
        let healed = self.world.now();
        for _ in 0..rest {
            if is_broken(&self) {
                break;
            }
            self.step();
            if self.together() == count {
                let took = self.world.now().since(healed);
                return self.ended(Some(took));
            }
        }
        self.ended(None)
    }

    fn ended(self, together: Option<Duration>) -> Run {
        let Scene { world, members, record, mut happenings, .. } = self;
        let mut record = record.borrow_mut();
        let events = record.events.take().unwrap_or_default().into_iter();
        happenings.extend(
            events.map(|(at, station, event)| (at, station as usize, Happening::Of(event))),
        );
        happenings.sort_by_key(|(at, ..)| *at);
        Run {
            members: members.len(),
            broken: record.broken.clone(),
            together,
            views: record.installs,
            deliveries: record.deliveries,
            happenings,
            flights: world.network().flights().to_vec(),
            end: world.now(),
        }
    }

    fn note(&mut self, place: usize, happening: Happening) {
        if self.keeps {
            self.happenings.push((self.world.now(), place, happening));
        }
    }

    fn step(&mut self) {
        let any = self.random.usize(..self.members.len());
        if self.alive[any] && self.random.u32(..10) < 6 {
            let process = self.world.application_mut(self.members[any]);
            if process.view.is_some() && !process.blocked {
                let (cast, mark) = (process.cast(), process.last_cast());
                self.note(any, Happening::Cast(mark));
                self.world.ask(self.members[any], cast);
            }
        }
        let record = Rc::clone(&self.record);
        // What is shown ends where it broke.
        let _ = self.world.run_until(|_| !record.borrow().broken.is_empty(), STEP);
    }

    fn befall(&mut self) {
        let count = self.members.len();
        match self.random.u32(..4) {
            0 => {
                let parts: Vec<u8> = (0..count).map(|_| self.random.u8(..2)).collect();
                self.split(&parts);
            }
            1 => self.split(&vec![0; count]),
            2 => {
                let alive = self.alive.iter().filter(|alive| **alive).count();
                let place = self.random.usize(..count);
                // What most of them lose at once is lost.
                if alive > 2
                    && 2 * (alive - 1) > count
                    && self.alive[place]
                    && self.together() == alive
                {
                    self.crash(place);
                }
            }
            _ => {
                if let Some(place) = self.alive.iter().position(|alive| !alive) {
                    self.begin(place);
                }
            }
        }
    }

    /// Members with different numbers do not hear each other.
    fn split(&mut self, parts: &[u8]) {
        let conditions = Conditions {
            loss: self.loss.into(),
            duplicate: 0.02,
            delay: Duration::from_millis(1),
            jitter: Duration::from_millis(15),
            ..Conditions::IDEAL
        };
        let parts_of = parts.iter().enumerate().map(|(place, part)| (host(place), *part));
        self.world.network_mut().split(parts_of, &conditions);
        self.note(0, Happening::Split(parts.to_vec()));
    }

    fn open(&mut self, place: usize) {
        let association = self.world.application(self.members[place]).name;
        let remote = SocketAddr::new(GROUP.into(), PORT).into();
        let (local, credit) = (Some(at(place)), Credit::ROOM);
        let open = GroupsRequest::Open { association, remote, local, credit };
        self.world.ask(self.members[place], open);
    }

    fn crash(&mut self, place: usize) {
        let process = self.world.application_mut(self.members[place]);
        let association = process.name;
        process.die();
        self.world.ask(self.members[place], GroupsRequest::Abort { association, code: 0 });
        self.alive[place] = false;
        self.note(place, Happening::Crash);
    }

    fn begin(&mut self, place: usize) {
        if !std::mem::replace(&mut self.alive[place], true) {
            self.note(place, Happening::Begin);
            self.open(place);
        }
    }

    /// Returns how many are in one view with all who live, and vote; 0: not all of them.
    fn together(&self) -> usize {
        let living = || (0..self.members.len()).filter(|place| self.alive[*place]);
        let view = |place: usize| self.world.application(self.members[place]).view.as_ref();
        let Some(first) = living().next().and_then(view) else { return 0 };
        let all_vote = first.members.iter().all(|member| member.votes);
        let is_same = |place: usize| {
            view(place).is_some_and(|it| (it.number, it.ballot) == (first.number, first.ballot))
        };
        let all = all_vote && first.members.len() == living().count() && living().all(is_same);
        if all { first.members.len() } else { 0 }
    }
}
