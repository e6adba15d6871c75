//! Streams inside one association: what is promised of each, whatever the others do, and what a
//! peer says that no peer says.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_compose::Over;
use stackwright_contract::services::{
    Credit, Ended, StreamsIndication as Told, StreamsRequest as Ask,
};
use stackwright_contract::{Duration, Handle, Participant};
use stackwright_merged::{CREDIT_FIRST, Config, Merged};
use stackwright_simulator::{Conditions, Habits, Heard, SimulatedStreams, StationId, World, seeds};
use stackwright_wire::{BufferTree, Leaf, Message};

type M = BufferTree;
type Near = StationId<Over<Merged<M>, SimulatedStreams<M>>, Heard<Told<M>>>;
type Plain = StationId<SimulatedStreams<M>, Heard<Told<M>>>;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const LISTENER: Handle = Handle { index: 0, generation: 0 };

const fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn at(host: IpAddr, port: u16) -> Participant {
    SocketAddr::new(host, port).into()
}

fn world(seed: u64) -> World<M> {
    let mut world = World::new(seed);
    let delay = Duration::from_millis(10);
    world.network_mut().set_conditions(Conditions { delay, ..Conditions::IDEAL });
    world
}

fn streams(host: IpAddr, habits: Habits) -> Over<Merged<M>, SimulatedStreams<M>> {
    let merged = Merged::new(Config::default());
    Over::new(merged, SimulatedStreams::with_habits(host, habits))
}

/// Two stations: the one there listens at port 21, with `awaited` names of this credit from 100 on.
fn pair(seed: u64, habits: [Habits; 2], awaited: u32, credit: usize) -> (World<M>, Near, Near) {
    let mut world = world(seed);
    let [near, far] = habits;
    let near = world.add(HERE, streams(HERE, near), Heard::default());
    let far = world.add(THERE, streams(THERE, far), Heard::default());
    world.ask(far, Ask::Listen { listener: LISTENER, local: at(THERE, 21) });
    for index in 100..100 + awaited {
        let credit = Credit::of_octets(credit);
        world.ask(far, Ask::Await { listener: LISTENER, association: name(index), credit });
    }
    (world, near, far)
}

fn plain_pair(seed: u64) -> (World<M>, Near, Near) {
    pair(seed, [Habits::default(), Habits::default()], 8, 1 << 20)
}

fn open(world: &mut World<M>, from: Near, index: u32, remote: Participant, credit: usize) {
    let credit = Credit::of_octets(credit);
    world.ask(from, Ask::Open { association: name(index), remote, local: None, credit });
}

fn send(world: &mut World<M>, from: Near, index: u32, octets: &[u8]) {
    let (batch, properties) = (M::with_headroom(0, octets).into(), Default::default());
    world.ask(from, Ask::Send { association: name(index), batch, properties });
}

fn finish(world: &mut World<M>, from: Near, index: u32) {
    world.ask(from, Ask::Finish { association: name(index) });
}

fn run(world: &mut World<M>) {
    world.run_for(Duration::from_secs(1));
}

fn octets(message: &M) -> Vec<u8> {
    let leaves = message.leaves();
    leaves.flat_map(|leaf| if let Leaf::Octets(it) = leaf { it } else { &[] }).copied().collect()
}

/// What was told of a name so far: its octets, whether they ended, and its last word.
fn told(world: &World<M>, of: Near, index: u32) -> (Vec<u8>, bool, Option<Ended>) {
    let (mut all, mut finished, mut ended) = (Vec::new(), false, None);
    for told in world.application(of).0.iter().filter(|told| told.name() == name(index)) {
        assert_eq!(ended, None, "nothing follows the last word");
        match told {
            Told::Delivered { batch, .. } => all.extend(octets(batch.as_octets())),
            Told::Finished { .. } => finished = true,
            Told::Ended { why, .. } => ended = Some(*why),
            _ => {}
        }
    }
    (all, finished, ended)
}

#[test]
fn streams_share_one_association_which_ends_with_the_last() {
    let (mut world, near, far) = plain_pair(1);
    open(&mut world, near, 1, at(THERE, 21), 1 << 20);
    run(&mut world);
    world.ask(far, Ask::Listen { listener: name(9), local: at(THERE, 0) });
    let (listener, credit) = (name(9), Credit::of_octets(100));
    world.ask(far, Ask::Await { listener, association: name(10), credit });
    run(&mut world);
    let local = world.application(far).0.iter().find_map(|told| match told {
        Told::Listening { listener, local } if *listener == name(9) => Some(*local),
        _ => None,
    });
    open(&mut world, near, 2, local.expect("it listens inside"), 1 << 20);
    send(&mut world, near, 2, b"data");
    send(&mut world, near, 1, b"control");
    run(&mut world);
    assert_eq!(told(&world, far, 10).0, b"data");
    assert_eq!(told(&world, far, 100).0, b"control");
    assert_eq!(world.stack(near).lower.associations(), 1);
    for (from, index) in [(near, 1), (near, 2), (far, 100), (far, 10)] {
        finish(&mut world, from, index);
    }
    run(&mut world);
    assert_eq!(told(&world, near, 1), (vec![], true, Some(Ended::Finished)));
    assert_eq!(told(&world, far, 10), (b"data".to_vec(), true, Some(Ended::Finished)));
    run(&mut world);
    assert_eq!(
        (world.stack(near).upper.associations(), world.stack(far).upper.associations()),
        (0, 0)
    );
    assert_eq!(world.stack(near).lower.associations(), 0);
}

#[test]
fn a_reader_that_stops_stops_its_own_stream_alone() {
    let (mut world, near, far) = pair(1, [Habits::default(), Habits::default()], 2, 10);
    for index in [1, 2] {
        open(&mut world, near, index, at(THERE, 21), 1);
    }
    run(&mut world);
    for _ in 0..3 {
        send(&mut world, near, 1, &[1; 20 << 10]);
        run(&mut world);
    }
    send(&mut world, near, 2, b"urgent");
    run(&mut world);
    assert_eq!(
        (told(&world, far, 100).0.len(), told(&world, far, 101).0),
        (10, b"urgent".to_vec())
    );
    let credit = Credit::of_octets(1 << 20);
    world.ask(far, Ask::Credit { association: name(100), credit });
    run(&mut world);
    assert_eq!(told(&world, far, 100).0.len(), 60 << 10);
}

#[test]
fn ends_are_told_with_their_codes() {
    let (mut world, near, far) = plain_pair(1);
    for (index, port) in [(1, 21), (2, 21), (3, 22), (4, 21)] {
        open(&mut world, near, index, at(THERE, port), 1 << 20);
    }
    run(&mut world);
    assert_eq!(told(&world, near, 3).2, Some(Ended::Refused(0)), "nobody listens at port 22");
    world.ask(near, Ask::Abort { association: name(1), code: 7 });
    send(&mut world, far, 101, b"last");
    world.ask(far, Ask::Close { name: name(101) });
    finish(&mut world, near, 2);
    world.ask(near, Ask::Close { name: name(4) });
    run(&mut world);
    assert_eq!(told(&world, near, 1).2, Some(Ended::Aborted));
    assert_eq!(told(&world, far, 100).2, Some(Ended::Reset(7)));
    assert_eq!(told(&world, near, 2), (b"last".to_vec(), true, Some(Ended::Finished)));
    assert_eq!(told(&world, far, 101).2, Some(Ended::Finished));
    assert_eq!((told(&world, near, 4).2, told(&world, far, 102).1), (None, true));
    world.run_for(Duration::from_secs(70));
    assert_eq!(told(&world, near, 4).2, Some(Ended::Expired), "the other end did not come");
    assert_eq!(told(&world, far, 102).2, Some(Ended::Reset(0)));
}

#[test]
fn nobody_there_is_told_of_every_stream() {
    let mut world = world(1);
    let near = world.add(HERE, streams(HERE, Habits::default()), Heard::default());
    for index in [1, 2] {
        open(&mut world, near, index, at(THERE, 21), 1);
    }
    world.run_for(Duration::from_secs(600));
    let why = told(&world, near, 1).2;
    assert!(why.is_some() && why == told(&world, near, 2).2, "{why:?}");
    assert_eq!(world.stack(near).upper.associations(), 0);
}

/// A peer that says these octets to a listener of ours.
fn says(said: &[u8]) -> (World<M>, Plain, Near) {
    let (mut world, _, far) = plain_pair(1);
    let peer: IpAddr = [10, 0, 0, 3].into();
    let own = SimulatedStreams::with_habits(peer, Habits::default());
    let plain = world.add(peer, own, Heard::default());
    let credit = Credit::of_octets(1 << 20);
    world
        .ask(plain, Ask::Open { association: name(1), remote: at(THERE, 21), local: None, credit });
    run(&mut world);
    let (batch, properties) = (M::with_headroom(0, said).into(), Default::default());
    world.ask(plain, Ask::Send { association: name(1), batch, properties });
    run(&mut world);
    (world, plain, far)
}

fn chunk(kind: u8, stream: u8, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u16).to_be_bytes();
    [&[kind, 0, stream][..], &length, content].concat()
}

fn opening(stream: u8) -> Vec<u8> {
    chunk(0, stream, &[4, 0, 0, 21, 0, 0, 64, 0])
}

fn is_given_up(said: &[u8]) {
    let (world, plain, far) = says(said);
    let ended = world.application(plain).0.iter().find_map(|told| match told {
        Told::Ended { why, .. } => Some(*why),
        _ => None,
    });
    assert_eq!(ended, Some(Ended::Reset(0)));
    assert_eq!(world.stack(far).upper.associations(), 0);
    if said.starts_with(&opening(0)) {
        assert_eq!(told(&world, far, 100).2, Some(Ended::Reset(0)));
    }
}

#[test]
fn an_unknown_kind_ends_the_association() {
    is_given_up(&chunk(6, 0, &[]));
}

#[test]
fn a_chunk_over_the_bound_ends_the_association() {
    is_given_up(&[&opening(0)[..], &[1, 0, 0, 0x40, 1]].concat());
    is_given_up(&chunk(2, 0, &[0; 5]));
}

#[test]
fn more_than_the_credit_ends_the_association() {
    let chunk = chunk(1, 0, &[7; CREDIT_FIRST]);
    is_given_up(&[&opening(0)[..], &chunk, &chunk].concat());
}

#[test]
fn a_number_that_is_not_new_ends_the_association() {
    is_given_up(&[opening(0), opening(0)].concat());
    is_given_up(&[opening(4), opening(2)].concat());
    is_given_up(&opening(1));
    is_given_up(&chunk(1, 2, b"x"));
}

#[test]
fn octets_behind_the_end_end_the_association() {
    is_given_up(&[opening(0), chunk(3, 0, &[]), chunk(1, 0, b"x")].concat());
    is_given_up(&[opening(0), chunk(3, 0, &[]), chunk(3, 0, &[])].concat());
}

#[test]
fn chunks_inside_a_chunk_are_octets() {
    let inner = [opening(2), chunk(1, 2, b"x")].concat();
    let (world, _, far) = says(&[opening(0), chunk(1, 0, &inner)].concat());
    assert_eq!(told(&world, far, 100), (inner, false, None));
}

/// What our side said to the peer.
fn answered(world: &World<M>, plain: Plain) -> Vec<u8> {
    let delivered = |told: &Told<M>| match told {
        Told::Delivered { batch, .. } => octets(batch.as_octets()),
        _ => Vec::new(),
    };
    world.application(plain).0.iter().flat_map(delivered).collect()
}

#[test]
fn more_credit_is_told_once_half_is_used() {
    for (length, answers) in [(CREDIT_FIRST / 2 - 1, 0), (CREDIT_FIRST / 2, 9)] {
        let (world, plain, _) = says(&[opening(0), chunk(1, 0, &vec![7; length])].concat());
        assert_eq!(answered(&world, plain).len(), answers, "behind {length} octets");
    }
}

#[test]
fn a_peer_that_opens_too_many_is_refused_those() {
    let said: Vec<u8> = (0..100).flat_map(|nth| opening(2 * nth)).collect();
    let (world, plain, far) = says(&said);
    let refused = answered(&world, plain);
    let most = Config::default().streams_most;
    assert_eq!(refused.len(), (100 - most) * 9);
    assert_eq!((told(&world, far, 107).2, world.stack(far).upper.associations()), (None, 1));
}

fn habits(random: &mut fastrand::Rng) -> Habits {
    let most = random.choice([40, 2000, 100_000]).unwrap_or(40);
    let [credit, buffer] = [(); 2].map(|()| random.usize(1..most));
    Habits { credit, buffer, ..Habits::default() }
}

/// Each stream has its octets in order, as many as its half said, and its last word.
#[test]
fn whatever_befalls_the_others_each_stream_keeps_its_promise() {
    for seed in seeds(200) {
        let mut random = fastrand::Rng::with_seed(seed);
        let both = [habits(&mut random), habits(&mut random)];
        let first = random.usize(1..50_000);
        let (mut world, near, far) = pair(seed, both, 12, first);
        let count = random.u32(1..=6);
        // By name here, and by what is said first there: what was said, in each direction.
        let mut said: BTreeMap<(bool, u32), Vec<u8>> = BTreeMap::new();
        let mut aborted = Vec::new();
        for index in 1..=count {
            open(&mut world, near, index, at(THERE, 21), first);
        }
        world.run_for(Duration::from_secs(60));
        for _ in 0..random.usize(1..40) {
            let (here, nth) = (random.bool(), random.u32(..count));
            let (station, index) = if here { (near, nth + 1) } else { (far, nth + 100) };
            let all = said.entry((here, nth)).or_default();
            match random.u8(..12) {
                0 if !aborted.contains(&nth) => {
                    aborted.push(nth);
                    world.ask(station, Ask::Abort { association: name(index), code: 1 });
                }
                1..6 if !aborted.contains(&nth) && all.len() < 20_000 => {
                    let octets: Vec<u8> =
                        (0..random.usize(1..9000)).map(|_| random.u8(..)).collect();
                    all.extend(&octets);
                    send(&mut world, station, index, &octets);
                }
                6..9 if !aborted.contains(&nth) => {
                    let credit = Credit::of_octets(random.usize(1..20_000));
                    world.ask(station, Ask::Credit { association: name(index), credit });
                }
                _ => world.run_for(Duration::from_millis(random.u64(1..200))),
            }
        }
        for nth in 0..count {
            for (station, index) in [(near, nth + 1), (far, nth + 100)] {
                if !aborted.contains(&nth) {
                    finish(&mut world, station, index);
                    let credit = Credit::of_octets(1 << 20);
                    world.ask(station, Ask::Credit { association: name(index), credit });
                }
            }
        }
        world.run_for(Duration::from_secs(3600));
        for nth in 0..count {
            for (here, station, index) in [(false, near, nth + 1), (true, far, nth + 100)] {
                let (heard, finished, ended) = told(&world, station, index);
                let said = said.get(&(here, nth)).cloned().unwrap_or_default();
                assert!(said.starts_with(&heard), "seed {seed}: octets in order");
                if aborted.contains(&nth) {
                    let is_last = matches!(ended, Some(Ended::Aborted | Ended::Reset(1)));
                    assert!(is_last, "seed {seed}: {ended:?}");
                } else {
                    let all = (said.len(), true, Some(Ended::Finished));
                    assert_eq!((heard.len(), finished, ended), all, "seed {seed}, stream {nth}");
                }
            }
        }
        assert_eq!(world.stack(near).upper.associations(), 0, "seed {seed}");
        assert_eq!(world.stack(far).upper.associations(), 0, "seed {seed}");
    }
}
