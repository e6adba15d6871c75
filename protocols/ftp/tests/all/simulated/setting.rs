//! Stations, and what is asked of them.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;

use stackwright_compose::{Beside, Over};
use stackwright_contract::services::Streams;
use stackwright_contract::{Duration, Handle, Participant};
use stackwright_copy::{Copy, CopySide, Indication as Told, Request as Ask};
use stackwright_drivers::ipc::Wall;
use stackwright_ftp::server::{Anonymous, Indication as ServerTold, Request as ServerAsk, Rights};
use stackwright_ftp::{Client, PORT, Server, client, server};
use stackwright_simulator::{
    Habits, Heard, SimulatedDisk, SimulatedStreams, StationId, Tree, World,
};
use stackwright_wire::BufferTree;

/// The kind of message of all stacks here: the one that the program uses.
pub(crate) type M = BufferTree;

/// Streams in the process of those that use them, or in a server: `PLACEMENT=server`.
pub(crate) type PlacedStreams = Wall<Streams<M>, SimulatedStreams<M>>;
pub(crate) type ServerStack = Over<Server<M>, Beside<PlacedStreams, SimulatedDisk<M>>>;
pub(crate) type ClientStack =
    Over<Copy<M>, Beside<Over<Client<M>, PlacedStreams>, SimulatedDisk<M>>>;
pub(crate) type ServerStation = StationId<ServerStack, Heard<ServerTold>>;
pub(crate) type ClientStation = StationId<ClientStack, Heard<Told>>;
pub(crate) type Disk = Rc<RefCell<Tree>>;

pub(crate) const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
pub(crate) const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

/// The name of a client's nth job.
pub(crate) fn job(nth: usize) -> Handle {
    Handle { index: nth as u32, generation: 0 }
}

/// More than any timer here, all after one another.
pub(crate) const AGES: Duration = Duration::from_secs(3600);

/// Where the server accepts clients.
pub(crate) fn door() -> SocketAddr {
    SocketAddr::new(SERVER, PORT)
}

pub(crate) fn server_config() -> server::Config {
    server::Config::new(Box::new(Anonymous(Rights { write: true })))
}

pub(crate) fn client_config() -> client::Config {
    client::Config::anonymous(door())
}

/// Octets that repeat nowhere within a file, and differ between files.
pub(crate) fn content(length: usize, seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut octets = vec![0; length];
    random.fill(&mut octets);
    octets
}

pub(crate) fn placed(address: IpAddr, habits: Habits) -> PlacedStreams {
    Wall::placed(SimulatedStreams::with_habits(address, habits))
}

/// Adds a server that serves.
pub(crate) fn add_server(
    world: &mut World<M>,
    config: server::Config,
    habits: Habits,
    disk: &Disk,
) -> ServerStation {
    let streams = placed(SERVER, habits);
    let stack =
        Over::new(Server::new(config), Beside::new(streams, SimulatedDisk::new(disk.clone())));
    let station = world.add(SERVER, stack, Heard::default());
    world.ask(station, ServerAsk::Serve { local: Participant::from(door()) });
    assert_eq!(world.application(station).0, [ServerTold::Serving { local: door().into() }]);
    station
}

/// Adds a client below a copy; the server's files are on the left.
pub(crate) fn add_client(
    world: &mut World<M>,
    config: client::Config,
    habits: Habits,
    disk: &Disk,
) -> ClientStation {
    let streams = placed(CLIENT, habits);
    let far = Over::new(Client::new(config), streams);
    let stack = Over::new(Copy::default(), Beside::new(far, SimulatedDisk::new(disk.clone())));
    world.add(CLIENT, stack, Heard::default())
}

/// A server and a client with a disk each, and an ideal network.
pub(crate) struct Pair {
    pub(crate) world: World<M>,
    pub(crate) server: ServerStation,
    pub(crate) client: ClientStation,
    pub(crate) far: Disk,
    pub(crate) near: Disk,
    /// Whether targets are opened side by side with their sources.
    pub(crate) early: bool,
    /// Whether copies go on where earlier ones ended.
    pub(crate) resumes: bool,
    /// How many copies were requested.
    pub(crate) asked: usize,
}

impl Pair {
    pub(crate) fn new(seed: u64) -> Self {
        Self::with(seed, server_config(), client_config(), Habits::default(), Habits::default())
    }

    pub(crate) fn with(
        seed: u64,
        server: server::Config,
        client: client::Config,
        server_habits: Habits,
        client_habits: Habits,
    ) -> Self {
        let mut world = World::new(seed);
        let (far, near) = (Tree::shared(), Tree::shared());
        let server = add_server(&mut world, server, server_habits, &far);
        let client = add_client(&mut world, client, client_habits, &near);
        Pair { world, server, client, far, near, early: false, resumes: false, asked: 0 }
    }

    pub(crate) fn fetch(&mut self, source: &str, target: &str) {
        self.copy(CopySide::Left, source, target);
    }

    pub(crate) fn store(&mut self, source: &str, target: &str) {
        self.copy(CopySide::Right, source, target);
    }

    pub(crate) fn copy(&mut self, from: CopySide, source: &str, target: &str) {
        let (source, target, job) = (source.into(), target.into(), job(self.asked));
        self.asked += 1;
        let ask = if self.resumes {
            let checked_first = from == CopySide::Left;
            Ask::Resume { job, from, source, target, checked_first }
        } else {
            Ask::Copy { job, from, source, target, early: self.early }
        };
        self.world.ask(self.client, ask);
    }

    /// All last words of copies and listings so far.
    pub(crate) fn last_words(&self) -> Vec<Told> {
        last_words(&self.world.application(self.client).0)
    }

    /// Runs until there are `count` last words.
    pub(crate) fn run_to(&mut self, count: usize) {
        let client = self.client;
        let ended = self
            .world
            .run_until(|world| last_words(&world.application(client).0).len() >= count, AGES);
        assert!(ended, "{count} last words, of which came {:?}", self.last_words());
    }

    /// Waits for all timers. Then nothing may be left anywhere, on either side.
    pub(crate) fn settle(&mut self) {
        self.world.run_for(AGES);
        self.nothing_is_left();
    }

    fn nothing_is_left(&mut self) {
        server_is_empty(&mut self.world, self.server);
        let Pair { world, client, far, near, .. } = self;
        let stack = world.stack(*client);
        assert_eq!(stack.upper.names(), 0, "names that the copy gave");
        assert_eq!(stack.lower.left.upper.names(), 0, "names that the client gave");
        assert_eq!(stack.lower.left.upper.sessions(), 0, "sessions of the client");
        assert_eq!(stack.lower.left.lower.associations(), 0, "associations of the client");
        assert_eq!(stack.lower.left.lower.held(), Default::default(), "octets of the client");
        assert_eq!(stack.lower.right.open_files(), 0, "files of the client");
        assert_eq!((far.borrow().held(), near.borrow().held()), (0, 0), "unwritten octets");
        assert_eq!(world.network().in_flight(), 0, "octets under way");
    }
}

/// Nothing is left in a server once nobody is there, and nothing at all when it has stopped.
pub(crate) fn server_is_empty(world: &mut World<M>, server: ServerStation) {
    let stack = world.stack(server);
    assert_eq!(stack.upper.sessions(), 0, "sessions of the server");
    assert_eq!(stack.lower.left.associations(), 0, "associations of the server");
    assert_eq!(stack.lower.left.held(), Default::default(), "octets of the server");
    assert_eq!(stack.lower.right.open_files(), 0, "files of the server");
    world.ask(server, ServerAsk::Stop);
    world.run_for(Duration::from_secs(1));
    assert_eq!(world.stack(server).upper.names(), 0, "names that the server gave");
    let count = |what: fn(&ServerTold) -> bool| {
        world.application(server).0.iter().filter(|told| what(told)).count()
    };
    assert_eq!(
        count(|told| matches!(told, ServerTold::Arrived { .. })),
        count(|told| matches!(told, ServerTold::Left { .. })),
        "whoever arrived has left, once"
    );
}

pub(crate) fn last_words(heard: &[Told]) -> Vec<Told> {
    let last = |told: &&Told| {
        matches!(told, Told::Copied { .. } | Told::Failed { .. } | Told::Listed { .. })
    };
    heard.iter().filter(last).cloned().collect()
}

/// Names the seed that failed.
pub(crate) struct Seed(pub(crate) u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("SEED={}", self.0);
        }
    }
}

/// Any number up to `most`, each order of magnitude as likely as the other.
pub(crate) fn any_magnitude(random: &mut fastrand::Rng, most: u64) -> u64 {
    let bits = u64::BITS - most.leading_zeros();
    let magnitude = random.u32(..=bits);
    random.u64(..1 << magnitude).min(most)
}
