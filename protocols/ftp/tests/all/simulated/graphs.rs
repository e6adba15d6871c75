//! Client and server as graphs: the same run as of the static stacks, octet for octet and word for
//! word; and what only a graph can do.

use std::net::{IpAddr, SocketAddr};

use fastrand::Rng;
use stackwright_compose::filter::Counter;
use stackwright_compose::graph::modules::Delay;
use stackwright_compose::graph::{Builder, Graph, Inserted};
use stackwright_compose::{Beside, Over};
use stackwright_contract::{Duration, Participant, Protocol};
use stackwright_copy::{Copy, CopySide, Copying, Indication as Told, Request as Ask};
use stackwright_ftp::server::{Indication as ServerTold, Request as ServerAsk, Serving};
use stackwright_ftp::{Client, PORT, Server, client};
use stackwright_simulator::{
    Chunks, Conditions, Fault, Habits, Heard, Lanes, Segments, SimulatedDisk, StationId, Tree,
    Which, World,
};

use crate::simulated::setting::{
    AGES, CLIENT, Disk, M, PlacedStreams, SERVER, add_client, add_server, client_config, content,
    door, job, last_words, placed, server_config,
};

type ServerGraph = Graph<M, Segments<M>, Serving>;
pub(crate) type ClientGraph = Graph<M, Segments<M>, Copying>;

fn server_graph(habits: Habits, disk: &Disk) -> ServerGraph {
    let builder =
        Builder::new().protocol("server", Server::new(server_config())).over("tcp").over("disk");
    let builder = builder.protocol("tcp", placed(SERVER, habits));
    builder
        .protocol("disk", SimulatedDisk::new(disk.clone()))
        .top("server")
        .build()
        .expect("it fits")
}

pub(crate) fn client_graph(habits: Habits, disk: &Disk) -> ClientGraph {
    let builder = Builder::new().protocol("copy", Copy::default()).over("ftp").over("disk");
    let builder = builder.protocol("ftp", Client::new(client_config())).over("tcp");
    let builder = builder.protocol("tcp", placed(CLIENT, habits));
    builder.protocol("disk", SimulatedDisk::new(disk.clone())).top("copy").build().expect("it fits")
}

fn any_habits(random: &mut Rng) -> Habits {
    let chunks = [Chunks::Large, Chunks::Mixed, Chunks::Uniform { most: 900 }][random.usize(..3)];
    Habits {
        credit: random.usize(100..9000),
        buffer: random.usize(100..9000),
        chunks,
        ..Habits::default()
    }
}

/// A client, the disks on both sides, and what the client heard in the end.
struct Scene<P> {
    world: World<M>,
    client: StationId<P, Heard<Told>>,
    far: Disk,
    near: Disk,
}

type AddClient<P> = fn(&mut World<M>, Habits, &Disk) -> StationId<P, Heard<Told>>;
type AddServer = fn(&mut World<M>, Habits, &Disk);

/// The same world for each kind of stack: links, faults and files by chance.
fn scene<P>(seed: u64, server: AddServer, client: AddClient<P>) -> Scene<P>
where
    P: Protocol<Provides = Copying, Uses: Lanes<M>> + 'static,
{
    let mut random = Rng::with_seed(seed);
    let mut world = World::new(seed);
    world.keep_trace();
    world.network_mut().set_conditions(Conditions {
        delay: Duration::from_micros(random.u64(..30_000)),
        jitter: Duration::from_micros(random.u64(..10_000)),
        loss: [0.0, 0.05][random.usize(..2)].into(),
        ..Conditions::IDEAL
    });
    if random.u8(..4) == 0 {
        let fault = Fault::Cut { after: random.u64(..20_000) };
        world.network_mut().fail(Which::Nth(random.usize(..4)), fault);
    }
    let (far, near) = (Tree::shared(), Tree::shared());
    server(&mut world, any_habits(&mut random), &far);
    let client = client(&mut world, any_habits(&mut random), &near);
    let files =
        [("a", &far, CopySide::Left), ("b", &near, CopySide::Right), ("c", &far, CopySide::Left)];
    for (nth, (name, disk, from)) in files.into_iter().enumerate() {
        disk.borrow_mut().put(name, content(random.usize(..6000), seed));
        let (source, target, job) = (name.into(), name.into(), job(nth));
        world.ask(client, Ask::Copy { job, from, source, target, early: random.bool() });
    }
    world.ask(client, Ask::List { job: job(files.len()), side: CopySide::Left, path: "/".into() });
    Scene { world, client, far, near }
}

impl<P: Protocol<Provides = Copying, Uses: Lanes<M>> + 'static> Scene<P> {
    /// The trace to its end, what the client heard, and what is on the disks.
    fn run(mut self) -> (u64, Vec<Told>, [Option<Vec<u8>>; 3]) {
        self.world.run_for(AGES);
        let heard = self.world.application(self.client).0.clone();
        let files = [("a", &self.near), ("b", &self.far), ("c", &self.near)];
        let hash = self.world.trace().hash();
        (hash, heard, files.map(|(name, disk)| disk.borrow().octets(name)))
    }
}

fn static_server(world: &mut World<M>, habits: Habits, disk: &Disk) {
    add_server(world, server_config(), habits, disk);
}

pub(crate) fn woven_server(world: &mut World<M>, habits: Habits, disk: &Disk) {
    let station = world.add(SERVER, server_graph(habits, disk), Heard::<ServerTold>::default());
    world.ask(station, ServerAsk::Serve { local: Participant::from(door()) });
}

fn woven_client(
    world: &mut World<M>,
    habits: Habits,
    disk: &Disk,
) -> StationId<ClientGraph, Heard<Told>> {
    world.add(CLIENT, client_graph(habits, disk), Heard::default())
}

#[test]
fn have_the_traces_of_static_stacks() {
    let mut copied = 0;
    for seed in 0..1000 {
        let expected = scene(seed, static_server, |world, habits, disk| {
            add_client(world, client_config(), habits, disk)
        });
        let expected = expected.run();
        let woven = scene(seed, woven_server, woven_client).run();
        assert_eq!(expected.0, woven.0, "seed {seed}");
        assert_eq!(expected.1, woven.1, "seed {seed}");
        assert!(expected.2 == woven.2, "seed {seed}");
        copied += woven.2.iter().flatten().count();
    }
    assert!(copied > 2000, "{copied} files were copied");
}

#[test]
fn deliver_the_same_while_modules_come_and_go() {
    for seed in 0..100 {
        let expected = scene(seed, woven_server, woven_client).run();
        let mut changed = scene(seed, woven_server, woven_client);
        for event in 0_u64.. {
            if event % 10 == 0 {
                let graph = changed.world.stack_mut(changed.client);
                for (above, below, name) in
                    [("ftp", "tcp", "streams"), ("copy", "ftp", "far"), ("copy", "disk", "near")]
                {
                    match (event / 10 % 4, graph.has(name)) {
                        (0, false) => graph
                            .push(above, below, name, Inserted(Counter::default()))
                            .expect("it fits"),
                        (2, false) => {
                            let delay = Delay::new(Duration::from_millis(event % 50));
                            graph.push(above, below, name, delay).expect("it fits");
                        }
                        (1 | 3, true) => drop(graph.pop(name).expect("it is a module")),
                        _ => {}
                    }
                }
            }
            if !changed.world.step() {
                break;
            }
        }
        let changed = changed.run();
        let whole = |told: &Told| matches!(told, Told::Copied { .. });
        // Where nothing was cut, everything arrives; when, is another matter.
        if expected.1.iter().filter(|told| whole(told)).count() == 3 {
            assert_eq!(changed.1.iter().filter(|told| whole(told)).count(), 3, "seed {seed}");
            assert!(expected.2 == changed.2, "seed {seed}");
        }
    }
}

const RELAY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 1, 1));

/// A server whose disk is a client of another server, both on one and the same streams: a fork,
/// below one that stands above another.
#[test]
fn a_relay_needs_one_address() {
    for seed in 0..50 {
        let mut random = Rng::with_seed(seed);
        let mut world = World::new(seed);
        let (far, near) = (Tree::shared(), Tree::shared());
        woven_server(&mut world, any_habits(&mut random), &far);
        let builder = Builder::new()
            .protocol("server", Server::new(server_config()))
            .over("tcp")
            .over("client")
            .protocol("client", Client::new(client_config()))
            .over("tcp")
            .protocol("tcp", placed(RELAY, any_habits(&mut random)));
        let relay: ServerGraph = builder.top("server").build().expect("it fits");
        let relay = world.add(RELAY, relay, Heard::<ServerTold>::default());
        let local = SocketAddr::new(RELAY, PORT);
        world.ask(relay, ServerAsk::Serve { local: local.into() });
        let config = client::Config::anonymous(local);
        let streams = placed(CLIENT, any_habits(&mut random));
        let stack =
            Beside::new(Over::new(Client::new(config), streams), SimulatedDisk::new(near.clone()));
        let client = world.add(CLIENT, Over::new(Copy::default(), stack), Heard::default());
        let [fetched, stored] =
            [content(random.usize(..50_000), 1), content(random.usize(..50_000), 2)];
        far.borrow_mut().put("fetched", fetched.clone());
        near.borrow_mut().put("stored", stored.clone());
        for (nth, from, name) in [(0, CopySide::Left, "fetched"), (1, CopySide::Right, "stored")] {
            world.ask(
                client,
                Ask::Copy {
                    job: job(nth),
                    from,
                    source: name.into(),
                    target: name.into(),
                    early: false,
                },
            );
        }
        let ended = |world: &World<M>| last_words(&world.application(client).0).len() == 2;
        assert!(world.run_until(ended, AGES), "seed {seed}");
        assert!(near.borrow().octets("fetched") == Some(fetched));
        assert!(far.borrow().octets("stored") == Some(stored));
        world.run_for(AGES);
        let graph = world.stack(relay);
        assert_eq!(graph.protocol::<Server<M>>("server").expect("it is there").sessions(), 0);
        assert_eq!(graph.protocol::<PlacedStreams>("tcp").expect("it is there").associations(), 0);
    }
}
