//! Every stack of layers that the rule book accepts keeps what its facts say; every other is
//! refused with a sentence.

use std::cell::RefCell;
use std::rc::Rc;
use std::string::String;
use std::vec::Vec;
use std::{format, thread, vec};

use fastrand::Rng;
use stackwright_compose::{Over, stack};
use stackwright_contract::rules::{Misfit, fits, stacked};
use stackwright_contract::services::{Batch, Credit, GroupNotice, GroupOrder, GroupProperties};
use stackwright_contract::{Duration, Facts, Guarantees, Instant, Participant, Protocol};
use stackwright_group_checker::GroupRecord;
use stackwright_simulator::{CheckedDatagrams, Conditions, StationId, World, seeds};

use super::scene::crash;
use super::seeds::{M, Process, at, host, open};
use crate::layer::{GroupHooks, GroupPlace};
use crate::{
    CastFragments, CausalOrder, Detector, GroupSeal, Mesh, MeshConfig, MicroLayer, Nak, NakConfig,
    RingDetector, SafeDelivery, StateTransfer, TotalOrder, Views, ViewsConfig,
};

const MEMBERS: usize = 4;

/// A layer that adds nothing.
struct Nothing;

impl GroupHooks<M> for Nothing {
    const FACTS: Facts = Facts::named("nothing");
}

/// A layer of any kind.
#[allow(clippy::large_enum_variant, reason = "there are few of them")]
enum Any {
    Nothing(Nothing),
    Nak(Nak<M>),
    Fragments(CastFragments<M>),
    Silence(Detector),
    Ring(RingDetector),
    Views(Views<M>),
    Safe(SafeDelivery<M>),
    Causal(CausalOrder<M>),
    Total(TotalOrder<M>),
    State(StateTransfer<M>),
    Seal(GroupSeal),
}

/// Makes a layer.
type Make = fn(founds: bool) -> Any;

/// All kinds. The last ones belong on the carrier or below the views, and fit elsewhere, too: they
/// are put there. The last three are of members that take each view for a large one.
const KINDS: [(Facts, Make); 13] = [
    (facts::<Nak<M>>(), |_| Any::Nak(Nak::new(NakConfig::default()))),
    (facts::<CastFragments<M>>(), |_| Any::Fragments(CastFragments::new(5))),
    (facts::<Detector>(), |_| Any::Silence(Detector::new(Duration::from_millis(200)))),
    (facts::<Views<M>>(), |founds| {
        let founding = founds.then_some(Duration::from_millis(100));
        Any::Views(Views::new(ViewsConfig { founding, ..ViewsConfig::default() }))
    }),
    (facts::<SafeDelivery<M>>(), |_| Any::Safe(SafeDelivery::new())),
    (facts::<CausalOrder<M>>(), |_| Any::Causal(CausalOrder::new())),
    (facts::<TotalOrder<M>>(), |_| Any::Total(TotalOrder::new())),
    (facts::<StateTransfer<M>>(), |_| Any::State(StateTransfer::new())),
    (facts::<GroupSeal>(), |_| Any::Seal(GroupSeal::new([7; 16]))),
    (facts::<RingDetector>(), |_| Any::Ring(RingDetector::new(Duration::from_millis(200)))),
    (facts::<RingDetector>(), |_| {
        let mut ring = RingDetector::new(Duration::from_millis(200));
        ring.large = 1;
        Any::Ring(ring)
    }),
    (facts::<Nak<M>>(), |_| {
        let idle = Some(Duration::from_secs(300));
        let mut nak = Nak::new(NakConfig { idle, ..NakConfig::default() });
        nak.large = 1;
        Any::Nak(nak)
    }),
    (facts::<Views<M>>(), |founds| {
        let founding = founds.then_some(Duration::from_millis(100));
        let mut views = Views::new(ViewsConfig { founding, ..ViewsConfig::default() });
        views.large = 1;
        Any::Views(views)
    }),
];
const NAK: usize = 0;
const DETECTOR: usize = 2;
const VIEWS: usize = 3;
const STATE: usize = 7;
const SEAL: usize = 8;
const RING: usize = 9;
const LARGE_RING: usize = 10;
const LARGE_NAK: usize = 11;
const LARGE_VIEWS: usize = 12;

const fn facts<H: GroupHooks<M>>() -> Facts {
    H::FACTS
}

macro_rules! each {
    ($any:expr, $hooks:ident => $call:expr) => {
        match $any {
            Any::Nothing($hooks) => $call,
            Any::Nak($hooks) => $call,
            Any::Fragments($hooks) => $call,
            Any::Silence($hooks) => $call,
            Any::Ring($hooks) => $call,
            Any::Views($hooks) => $call,
            Any::Safe($hooks) => $call,
            Any::Causal($hooks) => $call,
            Any::Total($hooks) => $call,
            Any::State($hooks) => $call,
            Any::Seal($hooks) => $call,
        }
    };
}

macro_rules! hooks {
    ($($name:ident($($what:ident: $type:ty),*);)*) => {
        $(fn $name(&mut self, at: &mut dyn GroupPlace<M>, $($what: $type),*) {
            each!(self, hooks => GroupHooks::<M>::$name(hooks, at, $($what),*));
        })*
    };
}

impl GroupHooks<M> for Any {
    const FACTS: Facts = Facts::named("any");

    hooks! {
        open(remote: Participant, credit: Credit);
        opened(local: Participant, credit: Credit);
        send(batch: Batch<M>, to: GroupProperties);
        delivered(batch: Batch<M>, from: GroupProperties);
        order(order: GroupOrder<M>);
        notice(notice: GroupNotice<M>);
        credit(credit: Credit);
        room(credit: Credit);
        close();
        timeout();
        flush();
    }

    fn ended(&mut self) {
        each!(self, hooks => GroupHooks::<M>::ended(hooks));
    }

    fn next_deadline(&self) -> Option<Instant> {
        each!(self, hooks => GroupHooks::<M>::next_deadline(hooks))
    }

    fn wants_flush(&self) -> bool {
        each!(self, hooks => GroupHooks::<M>::wants_flush(hooks))
    }
}

type Layer = MicroLayer<M, Any>;

stack! {
    /// As many layers as there are kinds.
    Layers = Layer over Layer over Layer over Layer over Layer over Layer over Layer over Layer
        over Mesh<M> over CheckedDatagrams<M>
}

/// Returns every stack that the rule book accepts, from below, and how many it refuses.
fn accepted() -> (Vec<Vec<usize>>, usize) {
    let (mut grown, mut refused) = (vec![(Vec::new(), <Mesh<M> as Protocol>::FACTS)], 0);
    let mut all = Vec::new();
    while let Some((layers, below)) = grown.pop() {
        for (kind, (facts, _)) in KINDS[..SEAL].iter().enumerate() {
            if layers.contains(&kind) {
                continue;
            }
            if let Err(misfit) = fits(facts, &below) {
                let named = misfit.explain();
                assert!(named.as_str().contains(facts.name), "{named}");
                assert!(matches!(misfit, Misfit::Missing { .. }), "{named}");
                refused += 1;
                continue;
            }
            let more: Vec<_> = layers.iter().copied().chain([kind]).collect();
            all.push(more.clone());
            grown.push((more, stacked(facts, &below)));
        }
    }
    (all, refused)
}

fn promises(layers: &[usize]) -> Guarantees {
    let mesh = <Mesh<M> as Protocol>::FACTS;
    layers.iter().fold(mesh, |below, kind| stacked(&KINDS[*kind].0, &below)).gives
}

struct Scene {
    world: World<M>,
    members: Vec<StationId<Layers, Process>>,
    known: Rc<RefCell<GroupRecord>>,
}

impl Scene {
    fn new(layers: &[usize], seed: u64, promised: Guarantees) -> Self {
        let mut world = World::new(seed);
        let known: Rc<RefCell<GroupRecord>> = Rc::default();
        known.borrow_mut().lacks = Guarantees::ALL.without(promised);
        let peers: Vec<_> = (0..MEMBERS).map(at).collect();
        let members = (0..MEMBERS).map(|station| {
            let mut layers = layers.iter().map(|kind| {
                let (_, make) = KINDS[*kind];
                MicroLayer::new(make(station == 0))
            });
            let mut next = || layers.next().unwrap_or(MicroLayer::new(Any::Nothing(Nothing)));
            let udp = CheckedDatagrams::checked(host(station), Credit::ROOM);
            let mesh = Over::new(Mesh::new(MeshConfig { peers: peers.clone() }), udp);
            let one = Over::new(next(), mesh);
            let two = Over::new(next(), one);
            let three = Over::new(next(), two);
            let four = Over::new(next(), three);
            let five = Over::new(next(), four);
            let six = Over::new(next(), five);
            let seven = Over::new(next(), six);
            let stack = Layers::new(next(), seven);
            world.add(host(station), stack, Process::new(known.clone(), station as u32))
        });
        let members = members.collect();
        let mut scene = Scene { world, members, known };
        scene.conditions(&[0; MEMBERS], 0.05);
        (0..MEMBERS).for_each(|station| scene.open(station));
        scene
    }

    fn open(&mut self, station: usize) {
        let name = self.world.application(self.members[station]).name;
        self.world.ask(self.members[station], open(name, station));
    }

    /// Members with different numbers do not hear each other.
    fn conditions(&mut self, parts: &[u8; MEMBERS], loss: f64) {
        let (delay, jitter) = (Duration::from_millis(1), Duration::from_millis(15));
        let conditions = Conditions { loss: loss.into(), delay, jitter, ..Conditions::IDEAL };
        let parts = parts.iter().enumerate().map(|(station, part)| (host(station), *part));
        self.world.network_mut().split(parts, &conditions);
    }

    fn step(&mut self, random: &mut Rng) {
        for member in self.members.clone() {
            let application = self.world.application_mut(member);
            if application.view.is_some() && !application.blocked && random.u8(..4) == 0 {
                let cast = application.cast();
                self.world.ask(member, cast);
            }
        }
        self.world.run_for(Duration::from_millis(10));
    }

    fn are_together(&self) -> bool {
        let view = |station: usize| self.world.application(self.members[station]).view.as_ref();
        (0..MEMBERS).all(|station| {
            view(station).is_some_and(|view| {
                view.members.len() == MEMBERS && view.members.iter().all(|member| member.votes)
            })
        })
    }

    /// Returns whether any of them has promised something of the next view.
    fn changes(&self) -> bool {
        self.members.iter().any(|member| self.world.application(*member).blocked)
    }
}

/// Members come and go, where a detector notices; returns what is wrong.
fn run(layers: &[usize], seed: u64, promised: Guarantees) -> Option<String> {
    let (mut scene, mut random) = (Scene::new(layers, seed, promised), Rng::with_seed(seed));
    let heals = [DETECTOR, RING, LARGE_RING].iter().any(|kind| layers.contains(kind));
    let mut dead = None;
    for turn in 0..240 {
        scene.step(&mut random);
        match turn % 80 {
            // A crash loses all memory; a quorum keeps it, also of a view that is offered.
            20 if heals && scene.are_together() && !scene.changes() => {
                let station = random.usize(..MEMBERS);
                crash(&mut scene.world, scene.members[station]);
                dead = Some(station);
            }
            50 if heals => {
                let parts = [(); MEMBERS].map(|()| random.u8(..3) / 2);
                scene.conditions(&parts, 0.05);
            }
            75 => {
                scene.conditions(&[0; MEMBERS], 0.05);
                dead.take().into_iter().for_each(|station| scene.open(station));
            }
            _ => {}
        }
    }
    let before = scene.known.borrow().deliveries;
    let goes_on = (0..1500).any(|_| {
        scene.step(&mut random);
        scene.are_together() && scene.known.borrow().deliveries > before + 60
    });
    let known = scene.known.borrow();
    let is_well = known.broken.is_empty() && goes_on;
    (!is_well).then(|| {
        let names: Vec<_> = layers.iter().map(|kind| KINDS[*kind].0.name).collect();
        let (broken, deliveries) = (known.broken(), known.deliveries - before);
        format!("{names:?}, seed {seed}: {broken:?}, goes on {goes_on}, {deliveries} delivered")
    })
}

/// All of them with `SEEDS` in the environment, else one of three.
#[test]
fn every_stack_that_is_accepted_keeps_its_promises() {
    let (stacks, refused) = accepted();
    assert!(refused > 0);
    // Silence means something to the layer of views, which is above.
    let is_whole = |layers: &&Vec<usize>| {
        let place = |kind| layers.iter().position(|it| *it == kind);
        place(VIEWS).is_some() && place(DETECTOR).is_none_or(|at| Some(at) < place(VIEWS))
    };
    let step = if seeds(1).count() > 1 { 1 } else { 3 };
    let mut stacks: Vec<_> = stacks.iter().filter(is_whole).step_by(step).cloned().collect();
    // Every other one has the other detector, which is below all: above the log nothing fits on it.
    // Of these, every other one reports to the first alone.
    let detects = stacks.iter_mut().filter(|layers| layers.contains(&DETECTOR));
    for (nth, layers) in detects.step_by(2).enumerate() {
        layers.retain(|kind| *kind != DETECTOR);
        layers.insert(0, RING);
        if nth % 2 == 1 {
            for layer in layers.iter_mut() {
                *layer = match *layer {
                    NAK => LARGE_NAK,
                    VIEWS => LARGE_VIEWS,
                    RING => LARGE_RING,
                    other => other,
                };
            }
        }
        assert!(promises(layers).has(Guarantees::VIEWS), "{layers:?}");
    }
    let nak = stacked(&KINDS[0].0, &<Mesh<M> as Protocol>::FACTS);
    assert!(fits(&KINDS[VIEWS].0, &stacked(&KINDS[RING].0, &nak)).is_err());
    let parts = thread::available_parallelism().map_or(1, usize::from);
    let part = |first: usize| {
        let mine = stacks.iter().enumerate().skip(first).step_by(parts);
        let all = mine.flat_map(|(nth, layers)| {
            seeds(1).filter_map(move |seed| run(layers, 1000 * seed + nth as u64, promises(layers)))
        });
        all.collect::<Vec<_>>()
    };
    let wrong: Vec<String> = thread::scope(|scope| {
        let part = &part;
        let parts: Vec<_> = (0..parts).map(|first| scope.spawn(move || part(first))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} of {}: {}", wrong.len(), stacks.len(), wrong[0]);
}

/// With a seal on the carrier, and with one above the views.
#[test]
fn a_sealed_stack_keeps_its_promises() {
    for layers in [[SEAL, 0, DETECTOR, VIEWS, 4, 6, STATE], [0, DETECTOR, VIEWS, SEAL, 4, 6, STATE]]
    {
        for seed in 0..3 {
            assert!(promises(&layers).has(Guarantees::CHECKED.and(Guarantees::STATE)));
            assert_eq!(run(&layers, seed, promises(&layers)), None);
        }
    }
}

/// And what its facts do not say, it does not keep.
#[test]
fn a_promise_is_missed_without_its_layer() {
    const CAUSAL: usize = 5;
    const TOTAL: usize = 6;
    for (layers, promise, what) in [
        (vec![NAK, DETECTOR, VIEWS], Guarantees::CAUSAL, "nothing before what its sender had"),
        (vec![NAK, DETECTOR, VIEWS, CAUSAL], Guarantees::TOTAL, "the same order"),
        (vec![NAK, DETECTOR, VIEWS, TOTAL], Guarantees::SAFE, "what any delivered"),
    ] {
        let more = promises(&layers).and(promise);
        let is_missed = |seed| run(&layers, seed, more).is_some_and(|wrong| wrong.contains(what));
        assert!((0..40).any(is_missed), "{layers:?}: {what}");
    }
}
