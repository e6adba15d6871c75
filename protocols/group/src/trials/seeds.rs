//! Many runs, each another: loss, copies, delay, partitions, crashes that lose all memory.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::vec::Vec;
use std::{format, println};

use stackwright_compose::{Over, stack};
use stackwright_contract::services::{Credit, GroupsRequest};
use stackwright_contract::{Duration, Handle, Participant};
use stackwright_group_checker::{GroupProcess, GroupRecord};
use stackwright_simulator::{CheckedDatagrams, StationId, World, on_all_processors, seeds};
use stackwright_wire::SingleBuffer;

use super::scene::{Outcome, Replica, Scene, loss};
use crate::{
    Detector, Mesh, MeshConfig, MicroLayer, Nak, NakConfig, SafeDelivery, StateTransfer,
    TotalOrder, Views, ViewsConfig, wire,
};

pub(super) type M = SingleBuffer;
pub(super) type Process = GroupProcess<M>;
type States = MicroLayer<M, StateTransfer<M>>;
pub(super) type Order = MicroLayer<M, TotalOrder<M>>;
type Quorum = MicroLayer<M, SafeDelivery<M>>;
pub(super) type Ballots = MicroLayer<M, Views<M>>;
pub(super) type Silence = MicroLayer<M, Detector>;
pub(super) type Casts = MicroLayer<M, Nak<M>>;

stack! {
    pub(super) Stack = States over Order over Quorum over Ballots over Silence over Casts
        over Mesh<M> over CheckedDatagrams<M>
}

const PORT: u16 = 4370;

pub(super) fn host(station: usize) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, station as u8 + 1).into()
}

pub(super) fn at(station: usize) -> Participant {
    SocketAddr::new(host(station), PORT).into()
}

pub(super) fn group() -> Participant {
    SocketAddr::from(([239, 77, 3, 1], PORT)).into()
}

/// Returns the mark of their stack.
pub(super) fn mark() -> u8 {
    let layers = ["nak", "detector", "membership", "safe", "total", "state"];
    layers.into_iter().fold(0, |below, layer| wire::mark(below, &format!("group {layer}"))) as u8
}

/// How packets of members travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Carrier {
    Mesh,
    /// Where that arrives; and whether members have a list of each other.
    Multicast {
        listed: bool,
    },
}

impl Carrier {
    fn mesh(self, mut peers: Vec<Participant>) -> Mesh<M> {
        if self == (Carrier::Multicast { listed: false }) {
            peers.clear();
        }
        let mesh = Mesh::new(MeshConfig { peers });
        // As often as `group talk` has it: six times in the silence.
        let often = Duration::from_millis(33);
        if self == Carrier::Mesh { mesh } else { mesh.multicasting(often) }
    }
}

/// Has the group's address reach these hosts, and nobody else.
pub(super) fn carries(world: &mut World<M>, hosts: impl Iterator<Item = usize>) {
    let hosts: Vec<_> = hosts.map(host).collect();
    let name = group().internet().expect("it has an address");
    world.network_mut().group(name.ip(), &hosts);
}

/// Adds members of a mesh, the first of which begins the group.
pub(super) fn added(
    world: &mut World<M>,
    count: usize,
    mutant: u8,
    facts: &Rc<RefCell<GroupRecord>>,
) -> Vec<StationId<Stack, Process>> {
    added_over(world, count, mutant, facts, Carrier::Mesh)
}

/// The same over another carrier.
pub(super) fn added_over(
    world: &mut World<M>,
    count: usize,
    mutant: u8,
    facts: &Rc<RefCell<GroupRecord>>,
    carrier: Carrier,
) -> Vec<StationId<Stack, Process>> {
    let peers: Vec<_> = (0..count).map(at).collect();
    (0..count)
        .map(|station| {
            let config = ViewsConfig {
                founding: (station == 0).then_some(Duration::from_millis(100)),
                mutant,
                ..ViewsConfig::default()
            };
            let udp = CheckedDatagrams::checked(host(station), Credit::ROOM);
            let mesh = Over::new(carrier.mesh(peers.clone()), udp);
            let casts = Over::new(MicroLayer::new(Nak::new(NakConfig::default())), mesh);
            let silence = Detector::new(Duration::from_millis(200));
            let silence = Over::new(MicroLayer::new(silence), casts);
            let views = Over::new(MicroLayer::new(Views::new(config)), silence);
            let mut safe = SafeDelivery::new();
            safe.mutant = mutant == 1;
            let safe = Over::new(MicroLayer::new(safe), views);
            let total = Over::new(MicroLayer::new(TotalOrder::new()), safe);
            let stack = Stack::new(MicroLayer::new(StateTransfer::new()), total);
            world.add(host(station), stack, Process::new(facts.clone(), station as u32))
        })
        .collect()
}

/// Returns members of a new group.
pub(super) fn opened(world: &mut World<M>, count: usize) -> Vec<StationId<Stack, Process>> {
    let members = added(world, count, 0, &Rc::default());
    for (station, member) in members.iter().enumerate() {
        world.ask(*member, open(world.application(*member).name, station));
    }
    members
}

pub(super) fn open(association: Handle, station: usize) -> GroupsRequest<M> {
    let (remote, local, credit) = (group(), Some(at(station)), Credit::ROOM);
    GroupsRequest::Open { association, remote, local, credit }
}

impl Replica for Stack {
    fn membership(&self) -> &Views<M> {
        self.lower.lower.lower.upper.hooks()
    }
}

fn run(seed: u64, mutant: u8) -> Outcome {
    run_over(seed, mutant, Carrier::Mesh)
}

pub(super) fn run_over(seed: u64, mutant: u8, carrier: Carrier) -> Outcome {
    let count = 3 + (seed % 5) as usize;
    let replicas = |world: &mut World<M>, facts: &_| {
        carries(world, 0..count);
        added_over(world, count, mutant, facts, carrier)
    };
    let mut scene = Scene::new(seed, loss(seed), replicas);
    scene.reach = carrier != Carrier::Mesh;
    scene.run()
}

#[test]
fn views_are_agreed_whatever_happens() {
    let (mut installs, mut deliveries, mut took) = (0, 0, Vec::new());
    for (seed, outcome) in on_all_processors(seeds(2000), |seed| (seed, run(seed, 0))) {
        assert!(outcome.broken.is_empty(), "seed {seed}: {:?}", outcome.broken);
        let together = outcome.together;
        took.push(
            together.unwrap_or_else(|| {
                panic!("seed {seed}: there is no view of all\n{:#?}", outcome.end)
            }),
        );
        installs += outcome.installs;
        deliveries += outcome.deliveries;
    }
    took.sort_unstable();
    println!("{installs} views installed, {deliveries} casts delivered");
    println!("in one view after {:?}, at most {:?}", took[took.len() / 2], took.last());
    assert!(installs > 20 * took.len() as u64 && deliveries > 1000 * took.len() as u64);
}

/// Whose application takes nothing is left behind, and nobody waits for it.
#[test]
fn a_member_that_takes_nothing_stops_nobody() {
    const CASTS: u32 = 3000;
    let mut world = World::new(3);
    let members = opened(&mut world, 3);
    world.application_mut(members[2]).takes = false;
    world.run_for(Duration::from_secs(2));
    let (mut pause, mut since, mut taken) = (Duration::ZERO, world.now(), 0);
    for _ in 0..CASTS {
        let cast = world.application_mut(members[0]).cast();
        world.ask(members[0], cast);
        world.run_for(Duration::from_millis(5));
        let now = world.now();
        pause = pause.max(now.since(since));
        if world.application(members[1]).taken > taken {
            (since, taken) = (now, world.application(members[1]).taken);
        }
    }
    world.run_for(Duration::from_secs(2));
    let [_, one, slow] = [0, 1, 2].map(|at| world.application(members[at]).taken);
    assert_eq!(one, CASTS, "the others go on");
    let most = NakConfig::default().patience + Duration::from_millis(500);
    assert!(pause < most, "{pause:?}: patience, silence, and the next view");
    assert!((1000..1400).contains(&slow), "{slow}: its room, and what a view's end delivers");
}

/// Without any one rule something breaks, or the group does not come together again.
#[test]
fn every_rule_is_needed() {
    for (rule, seed) in [(1, 2), (2, 13), (3, 36), (4, 4), (5, 0), (6, 0), (9, 1)] {
        let (with, without) = (run(seed, 0), run(seed, rule));
        assert!(with.broken.is_empty() && with.together.is_some(), "seed {seed}");
        let fails = !without.broken.is_empty() || without.together.is_none();
        assert!(fails, "rule {rule} is not missed with seed {seed}");
    }
}
