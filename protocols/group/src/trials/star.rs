//! Members of a large view, whose reports go through the first: replicas with faults of every kind,
//! few of them that take their views for large ones, and many.

use std::sync::Arc;
use std::vec::Vec;

use fastrand::Rng;
use stackwright_compose::{Over, stack};
use stackwright_contract::services::{
    Ballot, Batch, Credit, GroupMember, GroupOrder, GroupProperties, GroupView, Rank,
};
use stackwright_contract::{Duration, Instant};
use stackwright_simulator::{CheckedDatagrams, on_all_processors, seeds};
use stackwright_wire::{Header, Message};

use super::hostile::Place;
use super::scene::{Outcome, Replica, Scene, loss};
use super::seeds::{Ballots, Casts, M, Order, Process, at, host};
use crate::layer::GroupHooks;
use crate::nak::NakHeader;
use crate::{
    Mesh, MeshConfig, MicroLayer, Nak, NakConfig, RingDetector, SafeDelivery, StateTransfer,
    TotalOrder, Views, ViewsConfig,
};

type States = MicroLayer<M, StateTransfer<M>>;
type Quorum = MicroLayer<M, SafeDelivery<M>>;

stack! {
    Star = States over Order over Quorum over Ballots over Casts over MicroLayer<M, RingDetector>
        over Mesh<M> over CheckedDatagrams<M>
}

impl Replica for Star {
    fn membership(&self) -> &Views<M> {
        self.lower.lower.lower.upper.hooks()
    }
}

/// Makes `count` replicas. A view of more than `large` is a large one, where that is said.
fn scene(seed: u64, count: usize, loss: f64, large: Option<usize>) -> Scene<Star> {
    let silence = Duration::from_millis(if large.is_some() { 200 } else { 500 });
    let peers: Vec<_> = (0..count.min(7)).map(at).collect();
    Scene::new(seed, loss, |world, facts| {
        let replica = |station| {
            let founding = (station == 0).then_some(Duration::from_millis(100));
            let mut views = Views::new(ViewsConfig { founding, ..ViewsConfig::default() });
            let mut ring = RingDetector::new(silence);
            let idle = Some(Duration::from_secs(300));
            let mut nak = Nak::new(NakConfig { idle, ..NakConfig::default() });
            if let Some(large) = large {
                (nak.large, views.large, ring.large) = (large, large, large);
            }
            let udp = CheckedDatagrams::checked(host(station), Credit::ROOM);
            let mesh = Over::new(Mesh::new(MeshConfig { peers: peers.clone() }), udp);
            let ring = Over::new(MicroLayer::new(ring), mesh);
            let casts = Over::new(MicroLayer::new(nak), ring);
            let views = Over::new(MicroLayer::new(views), casts);
            let safe = Over::new(MicroLayer::new(SafeDelivery::new()), views);
            let total = Over::new(MicroLayer::new(TotalOrder::new()), safe);
            let stack = Star::new(MicroLayer::new(StateTransfer::new()), total);
            world.add(host(station), stack, Process::new(facts.clone(), station as u32))
        };
        (0..count).map(replica).collect()
    })
}

fn packets(scene: &Scene<Star>) -> u64 {
    let all = || 0..scene.members.len();
    let pairs = all().flat_map(|from| all().map(move |to| (from, to)));
    let offered = |(from, to)| scene.world.network().counts(host(from), host(to)).offered;
    pairs.map(offered).sum()
}

/// What `seeds.rs` does with members that report to all.
#[test]
fn what_a_quorum_has_may_be_said_by_the_first() {
    let run = |seed| (seed, scene(seed, 3 + (seed % 5) as usize, loss(seed), Some(2)).run());
    let (mut installs, mut deliveries, all) = (0, 0, seeds(100));
    let count = all.end - all.start;
    for (seed, Outcome { broken, together, installs: new, deliveries: more, end }) in
        on_all_processors(all, run)
    {
        assert!(broken.is_empty(), "seed {seed}: {broken:?}");
        assert!(together.is_some(), "seed {seed}: no view of all\n{end:#?}");
        installs += new;
        deliveries += more;
    }
    assert!(installs > 20 * count && deliveries > 800 * count, "{installs}, {deliveries}");
}

#[test]
fn forty_replicas_lose_their_first_and_send_few_packets() {
    let mut scene = scene(1, 40, 0.01, None);
    assert!(scene.comes_together(1000));
    (0..100).for_each(|_| scene.step());
    [0, 7, 8].into_iter().for_each(|station| scene.crash(station));
    assert!(scene.comes_together(1000), "{:#?}", scene.describe());
    let before = scene.facts.borrow().deliveries;
    (0..100).for_each(|_| scene.step());
    scene.world.run_for(Duration::from_secs(20));
    assert!(scene.facts.borrow().deliveries >= before + 37 * 40, "casts are delivered");
    let casts = |at: usize| scene.world.application(scene.members[at]).index;
    assert!((1..40).filter(|at| scene.alive[*at]).all(|at| casts(at) == casts(1)), "all of them");
    let before = packets(&scene);
    scene.world.run_for(Duration::from_secs(10));
    let each = (packets(&scene) - before) as f64 / 37.0 / 10.0;
    assert!((4.0..=8.0).contains(&each), "{each} packets a member and second");
    assert_eq!(scene.facts.borrow().broken(), [""; 0]);
}

const CAST: u8 = 0;
const REPORT_TO_FIRST: u8 = 5;
const FIRST_SAYS: u8 = 6;

/// Makes the log of a member of a view that it takes for a large one.
fn log(place: &mut Place, count: usize, me: u16) -> Nak<M> {
    let idle = Some(Duration::from_secs(300));
    let mut nak = Nak::new(NakConfig { idle, ..NakConfig::default() });
    nak.large = 1;
    let member = |rank| GroupMember { participant: at(rank), incarnation: 1, votes: true };
    let (members, ballot) = ((0..count).map(member).collect(), Ballot::default());
    let (me, parts) = (Some(Rank(me)), Vec::new());
    let view = GroupView { number: 1, ballot, members, me, primary: true, parts };
    nak.order(place, GroupOrder::Install(Arc::new(view)));
    nak.order(place, GroupOrder::Ready);
    nak.room(place, Credit::ROOM);
    nak
}

fn says(nak: &mut Nak<M>, place: &mut Place, from: u16, [kind, number]: [u8; 2], rest: &[u8]) {
    let mut message = M::with_headroom(64, rest);
    let (detail, number) = (u8::from(kind != CAST), number.into());
    message.push(&NakHeader { kind, detail, origin: if kind == CAST { from } else { 0 }, number });
    let from = GroupProperties { member: Rank(from), ..GroupProperties::default() };
    nak.delivered(place, Batch::from(message), from);
}

/// The first has three casts of another; what the rest has of them is what it reports.
#[test]
fn a_quorum_has_what_enough_members_reported() {
    for (reports, quorum, all) in [
        (&[3, 2, 1, 0][..], 2, 0),
        (&[3, 3, 2, 2], 3, 2),
        // Half of them, with the first.
        (&[3, 1, 0], 3, 0),
        (&[1, 0, 0], 1, 0),
        (&[3], 3, 3),
    ] {
        let mut place = Place { keeps: true, ..Place::new() };
        let mut nak = log(&mut place, 1 + reports.len(), 0);
        (1..=3).for_each(|nth| says(&mut nak, &mut place, 1, [CAST, nth], b"cast"));
        for (rank, upto) in (1..).zip(reports) {
            let report = [0, 1, 0, 1, 0, 0, 0, *upto];
            says(&mut nak, &mut place, rank, [REPORT_TO_FIRST, 0], &report);
        }
        place.cx.set_now(Instant::START + Duration::from_millis(1));
        nak.timeout(&mut place);
        let (said, _) = place.sent.pop().unwrap();
        let octets = said.octets();
        assert_eq!(octets[..2], [FIRST_SAYS, 1], "{reports:?}");
        let counts = [0, 1, 0, 1, 0, 0, 0, 3, 0, 0, 0, quorum, 0, 0, 0, all];
        assert_eq!(octets[NakHeader::LENGTH..], counts, "{reports:?}");
        assert_eq!(nak.octets(), 4 * usize::from(3 - all), "what all have is dropped");
    }
}

#[test]
fn reports_of_anything_are_dropped_or_bounded() {
    for seed in 0..200 {
        let (mut random, mut place) = (Rng::with_seed(seed), Place::new());
        let me = random.u16(..3);
        let mut nak = log(&mut place, 3, me);
        says(&mut nak, &mut place, (me + 1) % 3, [CAST, 1], b"cast");
        for _ in 0..200 {
            let (from, kind) = (random.u16(..5), random.u8(REPORT_TO_FIRST..=FIRST_SAYS));
            let length = random.usize(..64);
            let octets: Vec<u8> = (0..length).map(|_| random.u8(..) >> random.u32(..8)).collect();
            says(&mut nak, &mut place, from, [kind, 0], &octets);
        }
        assert_eq!(place.delivered, 1, "nothing else was cast");
        let before = place.cx.dropped_count();
        says(&mut nak, &mut place, 2, [FIRST_SAYS, 0], &[0, 0]);
        assert_eq!(place.cx.dropped_count(), before + 1, "of another than the first");
    }
}
