//! A group that is divided, in which each part goes on: and when all hear all again, it is one.

use std::cell::RefCell;
use std::println;
use std::rc::Rc;
use std::string::String;
use std::vec::Vec;

use fastrand::Rng;
use stackwright_compose::{Over, stack};
use stackwright_contract::rules::fits;
use stackwright_contract::services::{Credit, GroupView, GroupsRequest};
use stackwright_contract::{Duration, Guarantees, Participant, Protocol};
use stackwright_group_checker::GroupRecord;
use stackwright_simulator::{CheckedDatagrams, StationId, World, on_all_processors, seeds};

use super::scene::divide;
use super::seeds::{Casts, M, Order, Process, Silence, at, host, open};
use crate::layer::GroupHooks;
use crate::{
    CausalOrder, Detector, Mesh, MeshConfig, MicroLayer, Nak, NakConfig, PartitionedViews,
    SafeDelivery, StateTransfer, TotalOrder, ViewsConfig,
};

type Parts = MicroLayer<M, PartitionedViews<M>>;

stack! {
    Divided = Order over Parts over Silence over Casts over Mesh<M> over CheckedDatagrams<M>
}

struct Scene {
    world: World<M>,
    members: Vec<StationId<Divided, Process>>,
    record: Rc<RefCell<GroupRecord>>,
    random: Rng,
    loss: f64,
}

impl Scene {
    /// Makes `count` members; `founds` of them begin a group.
    fn new(seed: u64, count: usize, founds: usize) -> Self {
        let mut world = World::new(seed);
        let mut random = Rng::with_seed(seed);
        let record: Rc<RefCell<GroupRecord>> = Rc::default();
        let promised = <Divided as Protocol>::FACTS.gives;
        assert!(promised.has(Guarantees::VIEWS.and(Guarantees::SYNCHRONY).and(Guarantees::TOTAL)));
        record.borrow_mut().lacks = Guarantees::ALL.without(promised);
        let peers: Vec<_> = (0..count).map(at).collect();
        let members = (0..count).map(|station| {
            let founding = (station < founds).then_some(Duration::from_millis(100));
            let config = ViewsConfig { founding, ..ViewsConfig::default() };
            let udp = CheckedDatagrams::checked(host(station), Credit::ROOM);
            let mesh = Over::new(Mesh::new(MeshConfig { peers: peers.clone() }), udp);
            let casts = Over::new(MicroLayer::new(Nak::new(NakConfig::default())), mesh);
            let silence = Detector::new(Duration::from_millis(200));
            let silence = Over::new(MicroLayer::new(silence), casts);
            let views = Over::new(MicroLayer::new(PartitionedViews::new(config)), silence);
            let stack = Divided::new(MicroLayer::new(TotalOrder::new()), views);
            world.add(host(station), stack, Process::new(record.clone(), station as u32))
        });
        let members = members.collect();
        let loss = [0.0, 0.01, 0.05][random.usize(..3)];
        Scene { world, members, record, random, loss }
    }

    fn open(&mut self) {
        for station in 0..self.members.len() {
            let name = self.world.application(self.members[station]).name;
            self.world.ask(self.members[station], open(name, station));
        }
    }

    fn divide(&mut self, parts: &[u8]) {
        divide(&mut self.world, self.loss, parts);
    }

    fn step(&mut self) {
        let member = self.members[self.random.usize(..self.members.len())];
        let process = self.world.application_mut(member);
        if process.view.is_some() && !process.blocked {
            let cast: GroupsRequest<M> = process.cast();
            self.world.ask(member, cast);
        }
        self.world.run_for(Duration::from_millis(10));
    }

    fn view(&self, station: usize) -> Option<&GroupView> {
        self.world.application(self.members[station]).view.as_deref()
    }

    /// Returns whether each part has a view of its members, and of nobody else.
    fn is_divided(&self, parts: &[u8]) -> bool {
        (0..parts.len()).all(|station| {
            let here = |other: &usize| parts[*other] == parts[station];
            let own: Vec<Participant> = (0..parts.len()).filter(here).map(at).collect();
            let first = (0..parts.len()).find(here).and_then(|first| self.view(first));
            self.view(station).is_some_and(|view| {
                let mut members: Vec<_> =
                    view.members.iter().map(|member| member.participant).collect();
                members.sort();
                let is_one = first.is_some_and(|first| first.ballot == view.ballot);
                is_one && members == own && !view.primary
            })
        })
    }

    /// Returns how long it takes until each part has a view; `None`: longer than `most`.
    fn divides(&mut self, parts: &[u8], most: Duration) -> Option<Duration> {
        let since = self.world.now();
        while !self.is_divided(parts) {
            if self.world.now().since(since) > most {
                return None;
            }
            self.step();
        }
        Some(self.world.now().since(since))
    }

    fn pass(&mut self, time: Duration) {
        let end = self.world.now() + time;
        while self.world.now() < end {
            self.step();
        }
    }

    fn describe(&self) -> Vec<String> {
        let all = self.members.iter().map(|member| {
            let process = self.world.application(*member);
            let view = process.view.as_ref();
            let view = view.map(|view| {
                let members = view.members.iter().map(|member| (member.participant, member.votes));
                (view.number, view.me, members.collect::<Vec<_>>())
            });
            std::format!("{}: {view:?}, blocked {}", process.station, process.blocked)
        });
        all.collect()
    }
}

const MOST: Duration = Duration::from_secs(5);

/// Returns how long after healing all were in one view.
fn run(seed: u64) -> Duration {
    let count = 4 + (seed % 4) as usize;
    let mut scene = Scene::new(seed, count, 1);
    let whole = std::vec![0; count];
    scene.divide(&whole);
    scene.open();
    assert!(scene.divides(&whole, 2 * MOST).is_some(), "seed {seed}: {:#?}", scene.describe());
    let mut parts = whole.clone();
    // It may be divided otherwise meanwhile.
    for _ in 0..scene.random.usize(1..=3) {
        let among = scene.random.u8(2..=4);
        parts = (0..count).map(|_| scene.random.u8(..among)).collect();
        scene.divide(&parts);
        let time = Duration::from_millis(scene.random.u64(100..2000));
        scene.pass(time);
    }
    assert!(scene.divides(&parts, MOST).is_some(), "seed {seed}: {:#?}", scene.describe());
    let taken = |scene: &Scene| -> Vec<u32> {
        scene.members.iter().map(|member| scene.world.application(*member).taken).collect()
    };
    let before = taken(&scene);
    scene.pass(Duration::from_secs(1));
    let more = taken(&scene).into_iter().zip(before).all(|(now, before)| now > before);
    assert!(more, "seed {seed}: each part goes on");
    scene.divide(&whole);
    let took = scene.divides(&whole, MOST);
    let broken = scene.record.borrow().broken();
    assert!(broken.is_empty(), "seed {seed}: {broken:?}");
    took.unwrap_or_else(|| panic!("seed {seed}: it is not one again: {:#?}", scene.describe()))
}

/// With `SEEDS=10` 2 000 of them.
#[test]
fn each_part_goes_on_and_all_come_together() {
    let mut took = on_all_processors(seeds(200), run);
    took.sort_unstable();
    println!("in one view after {:?}, at most {:?}", took[took.len() / 2], took.last());
}

/// Groups that were begun apart, under one name, become one.
#[test]
fn groups_that_began_apart_come_together() {
    for seed in 0..10 {
        let mut scene = Scene::new(seed, 4, 4);
        scene.divide(&[0, 0, 1, 1]);
        scene.open();
        let parts = [0, 0, 1, 1];
        assert!(scene.divides(&parts, MOST).is_some(), "seed {seed}: {:#?}", scene.describe());
        scene.divide(&[0; 4]);
        assert!(scene.divides(&[0; 4], MOST).is_some(), "seed {seed}: {:#?}", scene.describe());
        let broken = scene.record.borrow().broken();
        assert!(broken.is_empty(), "seed {seed}: {broken:?}");
    }
}

/// What needs one history of all members is refused, with a sentence that says so.
#[test]
fn what_needs_one_history_does_not_stand_on_parts() {
    let parts = <Divided as Protocol>::FACTS;
    for facts in [<SafeDelivery<M> as GroupHooks<M>>::FACTS, StateTransfer::<M>::FACTS] {
        let misfit = fits(&facts, &parts).unwrap_err();
        let sentence = misfit.explain();
        assert!(sentence.as_str().contains("one view of each number"), "{sentence}");
    }
    assert!(fits(&CausalOrder::<M>::FACTS, &parts).is_ok());
}
