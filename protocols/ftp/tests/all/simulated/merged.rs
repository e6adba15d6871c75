//! Control and data on one association: a whole transfer leaves in one burst.

use std::net::IpAddr;
use std::num::NonZeroU64;

use stackwright_compose::{Beside, Over};
use stackwright_contract::services::{Credit, Failure};
use stackwright_contract::{Duration, Instant, Participant};
use stackwright_copy::{Copy, CopySide, Indication as Told, Request as Ask};
use stackwright_ftp::client::{self, DataMode};
use stackwright_ftp::server::{
    self, Anonymous, Indication as ServerTold, Request as ServerAsk, Rights,
};
use stackwright_ftp::{Client, Server};
use stackwright_merged::Merged;
use stackwright_simulator::{
    Conditions, Heard, SimulatedDatagrams, SimulatedDisk, SimulatedHosts, StationId, Tree, World,
};
use stackwright_xstp::{Config, PROTOCOL, XstpLayer};

use crate::simulated::setting::{
    AGES, CLIENT, Disk, M, SERVER, client_config, content, door, job, last_words, server_config,
};

/// The rate of the channel, in bits per second, and the longest packet.
const RATE: NonZeroU64 = NonZeroU64::new(9600).unwrap();
const PACKET: u16 = 236;
const DELAY: Duration = Duration::from_secs(1);

type Air = Over<Merged<M>, Over<XstpLayer<M>, Over<SimulatedHosts<M>, SimulatedDatagrams<M>>>>;
type ServerStack = Over<Server<M>, Beside<Air, SimulatedDisk<M>>>;
type ClientStack = Over<Copy<M>, Beside<Over<Client<M>, Air>, SimulatedDisk<M>>>;

fn air(address: IpAddr) -> Air {
    let below = SimulatedDatagrams::new(address, Credit { octets: 1 << 16, messages: 64 });
    let hosts = Over::new(SimulatedHosts::new(address, PROTOCOL), below);
    let xstp = stackwright_xstp::layer(Config::radio(RATE, PACKET), 7);
    Over::new(Merged::new(Default::default()), Over::new(xstp, hosts))
}

struct Scene {
    world: World<M>,
    server: StationId<ServerStack, Heard<ServerTold>>,
    client: StationId<ClientStack, Heard<Told>>,
    far: Disk,
    near: Disk,
    asked: usize,
}

impl Scene {
    fn new(server: server::Config, client: client::Config) -> Self {
        let mut world = World::new(1);
        world.keep_trace();
        world.keep_drops();
        let rate = Some(RATE.get() / 8);
        world.network_mut().set_conditions(Conditions { rate, delay: DELAY, ..Conditions::IDEAL });
        let (far, near) = (Tree::shared(), Tree::shared());
        let below = Beside::new(air(SERVER), SimulatedDisk::new(far.clone()));
        let stack = Over::new(Server::new(server::Config { merged: true, ..server }), below);
        let server = world.add(SERVER, stack, Heard::default());
        world.ask(server, ServerAsk::Serve { local: Participant::from(door()) });
        let client = client::Config { data: DataMode::Merged, quits: false, ..client };
        let left = Over::new(Client::new(client), air(CLIENT));
        let right = SimulatedDisk::new(near.clone());
        let stack = Over::new(Copy::default(), Beside::new(left, right));
        let client = world.add(CLIENT, stack, Heard::default());
        Scene { world, server, client, far, near, asked: 0 }
    }

    /// Copies a file, and returns the last word, and how long that took beyond the air time of all
    /// packets of both sides, in round trips.
    fn copy(&mut self, from: CopySide, name: &str) -> (Told, f64) {
        let (first, began) = (self.world.trace().lines().len(), self.world.now());
        let job = job(self.asked);
        self.asked += 1;
        let (source, target) = (name.into(), name.into());
        let ask = match from {
            // Behind what is left of it.
            CopySide::Left if self.near.borrow().octets(name).is_some() => {
                Ask::Resume { job, from, source, target, checked_first: true }
            }
            _ => Ask::Copy { job, from, source, target, early: true },
        };
        self.world.ask(self.client, ask);
        let (client, asked) = (self.client, self.asked);
        let ended = |world: &World<M>| last_words(&world.application(client).0).len() == asked;
        assert!(self.world.run_until(ended, AGES), "it ends");
        let took = self.world.now().since(began);
        let octets: u64 = self.world.trace().lines()[first..].iter().filter_map(length).sum();
        let air = Duration::from_secs(octets) / (RATE.get() / 8) as u32;
        let trips = took.saturating_sub(air).as_secs_f64() / (2 * DELAY).as_secs_f64();
        println!("{name}: {took:?}, of which {air:?} on air, {trips:.2} round trips");
        (last_words(&self.world.application(client).0).remove(asked - 1), trips)
    }

    /// Waits for all timers. Then nothing may be left anywhere.
    fn settle(&mut self) {
        self.world.run_for(AGES);
        if std::env::var("SHOW").is_ok() {
            self.world.trace().lines().iter().for_each(|line| println!("{line}"));
        }
        let late = self.world.drops(self.server).of("a word about a stream that was aborted");
        assert_eq!(late, 0, "a session that is closed is not aborted, too");
        self.world.ask(self.server, ServerAsk::Stop);
        self.world.run_for(AGES);
        let server = self.world.stack(self.server);
        let (sessions, names) = (server.upper.sessions(), server.upper.names());
        assert_eq!((sessions, names, server.lower.left.upper.associations()), (0, 0, 0));
        let client = &self.world.stack(self.client).lower.left;
        let (sessions, names) = (client.upper.sessions(), client.upper.names());
        assert_eq!((sessions, names, client.lower.upper.associations()), (0, 0, 0));
    }
}

/// Returns the octets of a packet that arrived.
fn length(line: &stackwright_simulator::TraceLine) -> Option<u64> {
    line.what.strip_prefix("datagram ")?.split(' ').next()?.parse().ok()
}

#[test]
fn a_file_takes_three_round_trips_with_all_that_is_before_it() {
    let mut scene = Scene::new(server_config(), client_config());
    let file = content(10_000, 1);
    scene.far.borrow_mut().put("file", file.clone());
    let (told, trips) = scene.copy(CopySide::Left, "file");
    assert!(matches!(told, Told::Copied { .. }), "{told:?}");
    assert!(scene.near.borrow().octets("file") == Some(file));
    assert!(trips <= 3.0, "{trips} round trips");
    scene.settle();
}

/// Behind a file, one that is resumed, one that is not there, and one that is stored, in one
/// session.
#[test]
fn a_session_goes_on_whatever_became_of_a_file() {
    let mut scene = Scene::new(server_config(), client_config());
    let [whole, stored] = [content(3000, 1), content(3000, 2)];
    scene.far.borrow_mut().put("whole", whole.clone());
    scene.near.borrow_mut().put("whole", whole[..1000].to_vec());
    scene.near.borrow_mut().put("stored", stored.clone());
    for (from, name, is_there) in [
        (CopySide::Left, "whole", true),
        (CopySide::Left, "absent", false),
        (CopySide::Left, "whole", true),
        (CopySide::Right, "stored", true),
    ] {
        let (told, _) = scene.copy(from, name);
        assert_eq!(matches!(told, Told::Copied { .. }), is_there, "{name}: {told:?}");
    }
    assert!(scene.near.borrow().octets("whole") == Some(whole));
    assert!(scene.far.borrow().octets("stored") == Some(stored));
    let arrived = |told: &&ServerTold| matches!(told, ServerTold::Arrived { .. });
    assert_eq!(scene.world.application(scene.server).0.iter().filter(arrived).count(), 1);
    scene.settle();
}

#[test]
fn what_is_stored_leaves_with_its_command() {
    let mut scene = Scene::new(server_config(), client_config());
    let file = content(3000, 1);
    scene.near.borrow_mut().put("file", file.clone());
    let (told, trips) = scene.copy(CopySide::Right, "file");
    assert!(matches!(told, Told::Copied { .. }), "{told:?}");
    assert!(scene.far.borrow().octets("file") == Some(file));
    assert!(trips <= 3.0, "{trips} round trips");
    scene.settle();
}

/// The same for what may not be stored: it is refused, and what has left behind the command is of
/// no consequence.
#[test]
fn what_may_not_be_stored_is_refused() {
    let server = server::Config::new(Box::new(Anonymous(Rights { write: false })));
    let mut scene = Scene::new(server, client_config());
    scene.near.borrow_mut().put("file", content(3000, 1));
    scene.far.borrow_mut().put("other", content(3000, 2));
    let (told, _) = scene.copy(CopySide::Right, "file");
    assert!(matches!(told, Told::Failed { .. }), "{told:?}");
    let (told, _) = scene.copy(CopySide::Left, "other");
    assert!(matches!(told, Told::Copied { .. }), "{told:?}");
    assert!(scene.far.borrow().octets("file").is_none());
    scene.settle();
}

#[test]
fn a_folder_is_listed_in_one_round_trip_and_so_is_a_file() {
    for (path, entries) in [("/", 1), ("/file", 1), ("/absent", 0)] {
        let mut scene = Scene::new(server_config(), client_config());
        scene.far.borrow_mut().put("file", content(100, 1));
        let (side, path) = (CopySide::Left, path.to_owned());
        scene.world.ask(scene.client, Ask::List { job: job(0), side, path: path.clone() });
        let client = scene.client;
        let ended = |world: &World<M>| !last_words(&world.application(client).0).is_empty();
        assert!(scene.world.run_until(ended, AGES), "{path} ends");
        let took = scene.world.now().since(Instant::START);
        // The association below opens in one.
        assert!(path != "/" || took < 5 * DELAY, "{path}: {took:?}");
        let heard = &scene.world.application(client).0;
        let listed = |told: &Told| match told {
            Told::Entries { entries, .. } => entries.len(),
            _ => 0,
        };
        assert_eq!(heard.iter().map(listed).sum::<usize>(), entries, "{path}: {heard:?}");
        scene.settle();
    }
}

/// Replies without text, whoever begins with that.
#[test]
fn text_that_nobody_reads_costs_no_air() {
    let octets = |server: bool, client: bool| {
        let server = server::Config { terse: server, ..server_config() };
        let mut scene = Scene::new(server, client::Config { terse: client, ..client_config() });
        scene.far.borrow_mut().put("file", content(1000, 1));
        let (told, _) = scene.copy(CopySide::Left, "file");
        assert!(matches!(told, Told::Copied { .. }), "{told:?}");
        scene.settle();
        let lines = scene.world.trace();
        lines.lines().iter().filter_map(length).sum::<u64>()
    };
    let [full, asked, begun] = [(false, false), (false, true), (true, false)]
        .map(|(server, client)| octets(server, client));
    assert!(begun + 20 < asked && asked + 70 < full, "{full}, {asked}, {begun} octets");
}

#[test]
fn a_login_that_is_refused_ends_the_session_with_all_that_was_sent_behind_it() {
    let client = client::Config { user: "nobody".into(), ..client_config() };
    let mut scene = Scene::new(server_config(), client);
    scene.far.borrow_mut().put("file", content(100, 1));
    let (told, _) = scene.copy(CopySide::Left, "file");
    assert!(matches!(told, Told::Failed { failure: Failure::NotLoggedIn, .. }), "{told:?}");
    scene.settle();
}
