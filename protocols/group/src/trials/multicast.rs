//! Members that cast by multicast: where it reaches some of them, stops, or never begins.

use std::rc::Rc;
use std::vec::Vec;

use stackwright_contract::services::{Credit, DatagramsRequest, MessageProperties};
use stackwright_contract::{Duration, Handle};
use stackwright_simulator::{
    CheckedDatagrams, Conditions, Heard, StationId, World, on_all_processors, seeds,
};
use stackwright_wire::{Header, Message, SingleBuffer};

use super::seeds::{
    Carrier, M, Process, Stack, added_over, carries, group, host, mark, open, run_over,
};
use crate::mesh::MeshHeader;
use crate::wire;

const MEMBERS: usize = 4;
/// Long enough for members to find out who hears them, or does not any more.
const WHILE: Duration = Duration::from_secs(1);

/// Members of one view, who have no list of each other.
struct Scene {
    world: World<M>,
    members: Vec<StationId<Stack, Process>>,
    /// Hosts that the group's address reaches.
    listed: Vec<usize>,
}

impl Scene {
    fn new() -> Self {
        let mut world = World::new(1);
        let delay = Duration::from_millis(1);
        world.network_mut().set_conditions(Conditions { delay, ..Conditions::IDEAL });
        world.network_mut().keep_traffic();
        world.keep_drops();
        let carrier = Carrier::Multicast { listed: false };
        let members = added_over(&mut world, MEMBERS, 0, &Rc::default(), carrier);
        let mut scene = Scene { world, members, listed: Vec::new() };
        scene.carries(0..MEMBERS);
        for (station, member) in scene.members.iter().enumerate() {
            let name = scene.world.application(*member).name;
            scene.world.ask(*member, open(name, station));
        }
        scene.world.run_for(Duration::from_secs(3));
        assert_eq!(scene.view(MEMBERS - 1).1, MEMBERS, "they have found each other");
        scene
    }

    fn carries(&mut self, hosts: impl Iterator<Item = usize>) {
        self.listed = hosts.collect();
        carries(&mut self.world, self.listed.iter().copied());
    }

    /// Returns the number of a member's view, and how many are in it.
    fn view(&self, station: usize) -> (u32, usize) {
        let view = self.world.application(self.members[station]).view.as_ref();
        view.map_or((0, 0), |view| (view.number, view.members.len()))
    }

    /// Returns how many packets the first member has sent to the group's address, and to others.
    fn sent(&self) -> [u64; 2] {
        let to = |to| self.world.network().traffic(host(0), to).packets;
        let all = to(group().internet().expect("it has an address").ip());
        let copies: u64 = (1..MEMBERS).map(|station| to(host(station))).sum();
        // What goes to the group is counted for each of its members, too.
        [all, copies - all * self.listed.iter().filter(|station| **station > 0).count() as u64]
    }

    /// Lets the first member cast, and returns how many packets left at once, for each that a cast
    /// is without others.
    fn casts(&mut self) -> [u64; 2] {
        let before = self.sent();
        for _ in 0..10 {
            let cast = self.world.application_mut(self.members[0]).cast();
            self.world.ask(self.members[0], cast);
        }
        let after = self.sent();
        let packets = [0, 1].map(|which| after[which] - before[which]);
        // A report follows each of the casts.
        assert!(packets.iter().all(|count| count.is_multiple_of(10)), "{packets:?}");
        packets.map(|count| count / 10)
    }
}

#[test]
fn a_cast_leaves_once_for_all_who_hear_it() {
    let mut scene = Scene::new();
    let [once, none] = scene.casts();
    assert!(once > 0 && none == 0, "{once} packets, {none} copies");
    for (listed, packets) in [
        (Vec::new(), [0, 3 * once]),
        (Vec::from([0, 1, 2, 3]), [once, 0]),
        // One member does not receive it; then only one does; then all but the sender; then nobody.
        (Vec::from([0, 1, 3]), [once, once]),
        (Vec::from([0, 3]), [0, 3 * once]),
        (Vec::from([1, 2, 3]), [once, 0]),
        (Vec::from([0]), [0, 3 * once]),
    ] {
        scene.carries(listed.iter().copied());
        scene.world.run_for(WHILE);
        assert_eq!(scene.casts(), packets, "it reaches {listed:?}");
    }
    assert!((0..MEMBERS).all(|station| scene.view(station) == scene.view(0)), "one view");
}

/// What does not arrive any more is repeated, and nobody is taken for dead.
#[test]
fn multicast_that_stops_costs_no_view() {
    let mut scene = Scene::new();
    let view = scene.view(0);
    let mut casts = 0;
    for step in 0..2000 {
        // Every other second it reaches others, or nobody.
        if step % 100 == 0 {
            let reaches = |station: &usize| step % 200 == 0 && *station != step / 200 % 6;
            scene.carries((0..MEMBERS).filter(reaches));
        }
        casts += 1;
        let caster = scene.members[step % MEMBERS];
        let cast = scene.world.application_mut(caster).cast();
        scene.world.ask(caster, cast);
        scene.world.run_for(Duration::from_millis(10));
    }
    scene.world.run_for(WHILE);
    for station in 0..MEMBERS {
        assert_eq!(scene.view(station), view, "nobody is left out");
        assert_eq!(scene.world.application(scene.members[station]).taken, casts);
    }
}

/// A stranger on the group's address is no member, whatever it claims.
#[test]
fn a_stranger_says_for_nobody_that_it_hears() {
    let mut scene = Scene::new();
    let [once, _] = scene.casts();
    scene.carries([0, 1, 3].into_iter());
    let udp = CheckedDatagrams::<M>::checked(host(9), Credit::ROOM);
    let stranger = scene.world.add(host(9), udp, Heard::default());
    let association = Handle { index: 0, generation: 0 };
    let (remote, local, credit) = (group(), None, Credit::ROOM);
    scene.world.ask(stranger, DatagramsRequest::Open { association, remote, local, credit });
    let view = scene.world.application(scene.members[0]).view.clone().expect("a view");
    let tag = wire::tag(wire::group(group()), &view);
    let deaf = view.members.iter().position(|one| one.participant == super::seeds::at(2));
    let rank = deaf.expect("it is there") as u16;
    for nth in 0..200 {
        let mut octets = Vec::from([0; MeshHeader::LENGTH]);
        let header = MeshHeader { version: (), kind: 2, mark: mark(), rank, tag };
        header.encode(&mut octets);
        // Some are too long, too.
        octets.resize(MeshHeader::LENGTH + 1 + nth % 2, 0xff);
        let batch = SingleBuffer::with_headroom(0, &octets).into();
        let properties = MessageProperties::default();
        scene.world.ask(stranger, DatagramsRequest::<M>::Send { association, batch, properties });
        scene.world.run_for(Duration::from_millis(10));
    }
    assert_eq!(scene.casts(), [once, once]);
    let drops = scene.world.drops(scene.members[0]);
    assert_eq!(drops.of("not from the member of that rank"), 200);
    assert_eq!(scene.view(0), (view.number, MEMBERS));
}

#[test]
fn views_are_agreed_whomever_multicast_reaches() {
    let run = |seed: u64| {
        (seed, run_over(seed, 0, Carrier::Multicast { listed: seed.is_multiple_of(2) }))
    };
    for (seed, outcome) in on_all_processors(seeds(200), run) {
        assert!(outcome.broken.is_empty(), "seed {seed}: {:?}", outcome.broken);
        assert!(outcome.together.is_some(), "seed {seed}: no view of all\n{:#?}", outcome.end);
    }
}
