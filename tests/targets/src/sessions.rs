//! A whole FTP server over TLS and simulated streams, beside a simulated disk, and clients that do
//! anything: they come and go, say commands and noise, secure associations or do not, move data,
//! read or do not read, while time passes and the disk fails.

mod client;

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::LazyLock;

use stackwright_compose::{Beside, Over};
use stackwright_contract::services::{Credit, StreamsRequest as Ask};
use stackwright_contract::{Command, Duration, Handle, Secure, SessionGroup, TlsRole};
use stackwright_ftp::command::TABLE;
use stackwright_ftp::server::{
    Anonymous, Config, Indication, Request, Rights, SecurityLevel, Server,
};
use stackwright_ftp::{PORT, address};
use stackwright_simulator::{
    Asks, DiskFaults, Heard, SimulatedDisk, SimulatedStreams, StationId, Tree, World,
};
use stackwright_tls::{Config as TlsConfig, ExpectedServer, ServerIdentity, Tls, Trust};

use crate::Input;
use crate::lower::M;
use client::{Client, Known};

type Streams = Over<Tls<M>, SimulatedStreams<M>>;
type ServerStack = Over<Server<M>, Beside<Streams, SimulatedDisk<M>>>;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const CLIENTS: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9))];

/// Sessions at once; of one address one fewer.
const SESSIONS: usize = 4;
/// How many control associations an input may open: each costs time.
const CONTROLS_MOST: usize = 12;
/// Names of the server: listeners, arrivals, those of each session, and the farewells of others.
const NAMES_MOST: usize = 160;
/// Octets that the server may hold for all clients together.
const HELD_MOST: usize = SESSIONS * (3 << 20);

/// The arguments that commands get: paths, numbers, and what some commands need.
const ARGUMENTS: &[&str] = &[
    "",
    "ftp",
    "x",
    "a",
    "big",
    "folder",
    "folder/b",
    "new",
    "..",
    "*",
    "folder/*",
    "[a-z]*",
    "I",
    "A",
    "S",
    "B",
    "Z",
    "F",
    "R",
    "P",
    "C",
    "0",
    "7",
    "1 5",
    "TLS",
    "TLS-P",
    "ALL",
    "1",
    "2",
    "Type;Size;",
    "SHA-256",
    "ON",
    "20260101000000 a",
    "644 a",
    "x\u{e9}y",
    "a\0b",
    "EN",
    "10.0.0.1",
];

/// One identity for all runs: a signature is what costs, not a key.
static IDENTITY: LazyLock<ServerIdentity> = LazyLock::new(|| {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("a key");
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    ServerIdentity::from_pem(certificate.as_bytes(), key.as_bytes()).expect("what was just made")
});

struct Stage {
    world: World<M>,
    server: StationId<ServerStack, Heard<Indication>>,
    clients: [StationId<Streams, Client>; 2],
    disk: Rc<RefCell<Tree>>,
    names: u32,
    /// Control associations, and which client has them.
    controls: Vec<(usize, Handle)>,
    /// All associations.
    all: Vec<(usize, Handle)>,
}

/// The first octet is a choice of configurations; then each step takes an octet that says what
/// happens, and the octets that this needs.
pub fn sessions(octets: &[u8]) {
    let mut input = Input(octets);
    let choices = input.octet();
    let mut stage = Stage::new(choices);
    while !input.is_empty() {
        let what = input.octet();
        stage.act(what % 16, &mut input);
        // Not always: what follows may happen in the same instant.
        if what < 128 {
            stage.pass(Duration::from_millis(30));
        }
    }
    stage.end(choices & 1 == 1);
}

impl Stage {
    fn new(choices: u8) -> Self {
        let mut world = World::new(u64::from(choices));
        let disk = Tree::shared();
        {
            let mut tree = disk.borrow_mut();
            tree.put("a", "0123456789\r\nabc\n");
            tree.put("big", vec![b'x'; 400_000]);
            tree.put("folder/b", "b");
            for file in 0..40 {
                tree.put(&format!("folder/{file}"), "some");
            }
        }
        let security = match choices >> 1 & 3 {
            0 => SecurityLevel::Off,
            1 => SecurityLevel::Required,
            _ => SecurityLevel::Offered,
        };
        let config = Config {
            sessions_most: SESSIONS,
            sessions_per_address: SESSIONS - 1,
            security,
            passive_ports: (choices & 8 != 0).then_some(40_000..=40_002),
            epoch: Some(1_790_000_000),
            ..Config::new(Box::new(Anonymous(Rights { write: choices & 16 == 0 })))
        };
        let tls = |config| Tls::new(config);
        let identities = vec![IDENTITY.clone()];
        let shows = TlsConfig { identities, ..TlsConfig::at(1_790_000_000) };
        let streams = Over::new(tls(shows), SimulatedStreams::new(HERE));
        let stack = Over::new(
            Server::new(config),
            Beside::new(streams, SimulatedDisk::new(Rc::clone(&disk))),
        );
        let server = world.add(HERE, stack, Heard::default());
        let clients = CLIENTS.map(|address| {
            let expected = ExpectedServer::new("localhost", Trust::AnyoneEvenAnAttacker);
            let servers = vec![expected.expect("a name")];
            let config = TlsConfig { servers, ..TlsConfig::at(1_790_000_000) };
            let stack = Over::new(tls(config), SimulatedStreams::new(address));
            world.add(address, stack, Client::default())
        });
        let local = SocketAddr::new(HERE, PORT).into();
        world.ask(server, Request::Serve { local });
        let mut stage =
            Stage { world, server, clients, disk, names: 0, controls: vec![], all: vec![] };
        // Most inputs want a session that is logged in.
        if choices < 192 {
            stage.open(0, SocketAddr::new(HERE, PORT), true);
            if security == SecurityLevel::Required {
                stage.say(0, b"AUTH TLS\r\n");
                stage.pass(Duration::from_millis(100));
                stage.secure(0, SessionGroup::Begins(0));
                stage.say(0, b"PBSZ 0\r\nPROT P\r\n");
            }
            stage.say(0, b"USER ftp\r\nPASS x\r\nTYPE I\r\n");
            stage.pass(Duration::from_millis(100));
        }
        stage
    }

    fn act(&mut self, what: u8, input: &mut Input<'_>) {
        match what {
            0 if self.controls.len() < CONTROLS_MOST => {
                let client = usize::from(input.octet() % 4 == 3);
                self.open(client, SocketAddr::new(HERE, PORT), true);
            }
            1..=4 => {
                let [row, argument, control] = [0; 3].map(|_| usize::from(input.octet()));
                let row = &TABLE[row % TABLE.len()];
                let argument = ARGUMENTS[argument % ARGUMENTS.len()];
                let line = match argument {
                    "" => format!("{}\r\n", row.name),
                    _ => format!("{} {argument}\r\n", row.name),
                };
                self.say_control(control, line.as_bytes());
            }
            5 => {
                let control = usize::from(input.octet());
                let length = usize::from(input.octet());
                let octets = input.take(length).to_vec();
                self.say_control(control, &octets);
            }
            6 => {
                let Some(nth) = self.any(input) else { return };
                let group = u64::from(input.octet() % 4);
                let joins = input.octet() % 2 == 1;
                let group =
                    if joins { SessionGroup::Joins(group) } else { SessionGroup::Begins(group) };
                self.secure(nth, group);
            }
            7 => self.open_data(input),
            8 => self.listen(input),
            9 => {
                let Some(nth) = self.any(input) else { return };
                let octets = [input.octet(), input.octet()].repeat(1 + usize::from(input.octet()));
                self.say(nth, &octets);
            }
            10 => {
                let Some(nth) = self.any(input) else { return };
                self.known(nth).finishes = true;
                self.say(nth, &[]);
            }
            11 => {
                let Some(nth) = self.any(input) else { return };
                self.abort(nth);
            }
            12 => self.pass(Duration::from_millis(1 << (input.octet() % 19))),
            13 => {
                let delay = Duration::from_millis(1 << (input.octet() % 16));
                let faults = DiskFaults { delay, ..DiskFaults::default() };
                self.disk.borrow_mut().faults = faults;
            }
            14 => {
                let Some(nth) = self.any(input) else { return };
                self.known(nth).deaf ^= true;
            }
            15 => {
                let path = ["a", "big", "new", "folder/b"][usize::from(input.octet() % 4)];
                let mut disk = self.disk.borrow_mut();
                if disk.octets(path).is_some() {
                    disk.vanish(path);
                }
            }
            _ => {}
        }
    }

    fn name(&mut self) -> Handle {
        self.names += 1;
        Handle { index: self.names - 1, generation: 0 }
    }

    /// The index of an association.
    fn any(&self, input: &mut Input<'_>) -> Option<usize> {
        let nth = usize::from(input.octet());
        (!self.all.is_empty()).then(|| nth % self.all.len())
    }

    fn known(&mut self, nth: usize) -> &mut Known {
        let (client, name) = self.all[nth];
        let client = self.world.application_mut(self.clients[client]);
        client.names.get_mut(&name).expect("a name that was given")
    }

    fn open(&mut self, client: usize, remote: SocketAddr, control: bool) {
        let association = self.name();
        let station = self.clients[client];
        self.world.application_mut(station).names.insert(association, Known::default());
        let (remote, credit) = (remote.into(), Credit::of_octets(1 << 16));
        self.world.ask(station, Ask::Open { association, remote, local: None, credit });
        self.all.push((client, association));
        if control {
            self.controls.push((client, association));
        }
        self.pass(Duration::from_millis(1));
    }

    /// Opens an association to where the last passive reply says, or to another port.
    fn open_data(&mut self, input: &mut Input<'_>) {
        let [control, how] = [0; 2].map(|_| usize::from(input.octet()));
        if self.controls.is_empty() || self.all.len() > 60 {
            return;
        }
        let (client, name) = self.controls[control % self.controls.len()];
        let known = &self.world.application(self.clients[client]).names[&name];
        let text = String::from_utf8_lossy(&known.octets).into_owned();
        let found = text.lines().rev().find_map(|line| match line.get(..3) {
            Some("227") => address::find_port(line).map(|address| address.port()),
            Some("229") => line.split('|').nth(3)?.parse().ok(),
            _ => None,
        });
        let Some(port) = found else { return };
        // Somebody else may be there first.
        let client = if how % 8 == 7 { 1 - client } else { client };
        self.open(client, SocketAddr::new(HERE, port), false);
    }

    /// Listens for the server, and says so.
    fn listen(&mut self, input: &mut Input<'_>) {
        let [control, how] = [0; 2].map(|_| usize::from(input.octet()));
        if self.controls.is_empty() || self.all.len() > 60 {
            return;
        }
        let (client, _) = self.controls[control % self.controls.len()];
        let (listener, association, station) = (self.name(), self.name(), self.clients[client]);
        let local = SocketAddr::new(CLIENTS[client], 2000 + listener.index as u16);
        self.world.ask(station, Ask::Listen { listener, local: local.into() });
        self.world.application_mut(station).names.insert(association, Known::default());
        let credit = Credit::of_octets(1 << 16);
        self.world.ask(station, Ask::Await { listener, association, credit });
        self.all.push((client, association));
        let line = if how % 2 == 0 {
            format!("EPRT |1|{}|{}|\r\n", local.ip(), local.port())
        } else {
            format!("PORT 10,0,0,2,{},{}\r\n", local.port() >> 8, local.port() & 255)
        };
        self.say_control(control, line.as_bytes());
    }

    fn say_control(&mut self, control: usize, octets: &[u8]) {
        if self.controls.is_empty() {
            return;
        }
        let control = self.controls[control % self.controls.len()];
        if let Some(nth) = self.all.iter().position(|one| *one == control) {
            self.say(nth, octets);
        }
    }

    fn say(&mut self, nth: usize, octets: &[u8]) {
        let (client, name) = self.all[nth];
        let known = self.known(nth);
        if known.ended.is_some() || known.unsent.len() > 1 << 16 {
            return;
        }
        known.unsent.extend_from_slice(octets);
        let mut asks = Asks::<Streams>::new();
        known.go_on(name, &mut asks);
        for ask in asks {
            self.world.ask(self.clients[client], ask);
        }
    }

    fn secure(&mut self, nth: usize, sessions: SessionGroup) {
        let (client, association) = self.all[nth];
        let known = self.known(nth);
        if known.ended.is_some() || known.said_all || !known.open {
            return;
        }
        let command = Command::Secure(Secure { role: TlsRole::Client, identity: 0, sessions });
        self.world.ask(self.clients[client], Ask::Control { association, command });
    }

    fn abort(&mut self, nth: usize) {
        let (client, association) = self.all[nth];
        let known = self.known(nth);
        if known.ended.is_none() {
            known.said_all = true;
            self.world.ask(self.clients[client], Ask::Abort { association, code: 0 });
        }
    }

    fn pass(&mut self, time: Duration) {
        self.world.run_for(time);
        let stack = self.world.stack(self.server);
        assert!(stack.upper.sessions() <= SESSIONS);
        let names = stack.upper.names();
        assert!(names <= NAMES_MOST, "{names} names");
        let held = stack.lower.left.lower.held();
        let octets = held.sending + held.receiving + self.disk.borrow().held();
        assert!(octets <= HELD_MOST, "{octets} octets are held");
    }

    /// Every session ends: because its clients go, or although they stay and are silent.
    fn end(mut self, they_stay: bool) {
        self.disk.borrow_mut().faults = DiskFaults::default();
        if !they_stay {
            for nth in 0..self.all.len() {
                self.abort(nth);
            }
        }
        for _ in 0..30 {
            self.pass(Duration::from_secs(120));
        }
        for (client, name) in &self.controls {
            let known = &self.world.application(self.clients[*client]).names[name];
            replies(&known.octets, known.secured == Some(true));
        }
        let stack = self.world.stack(self.server);
        assert_eq!(stack.upper.sessions(), 0, "every session ends");
        assert_eq!(stack.lower.left.lower.associations(), 0, "associations of the server");
        assert_eq!(stack.lower.right.open_files(), 0, "files of the server");
        assert_eq!(self.disk.borrow().held(), 0, "unwritten octets");
        self.world.ask(self.server, Request::Stop);
        self.world.run_for(Duration::from_secs(1));
        assert_eq!(self.world.stack(self.server).upper.names(), 0, "names of the server");
    }
}

/// Every reply is one: its lines have codes, and nothing in them is a line of its own.
fn replies(octets: &[u8], secured: bool) {
    let mut octets = octets.to_vec();
    // Refusals of Telnet's options are between replies.
    while let Some(at) = octets.windows(2).position(|two| matches!(two, [0xFF, 0xFC | 0xFE])) {
        octets.drain(at..octets.len().min(at + 3));
    }
    let mut rest = &octets[..];
    let mut within: Option<Vec<u8>> = None;
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let line = &rest[..end];
        rest = &rest[end + 2..];
        let shown = String::from_utf8_lossy(line);
        assert!(!line.iter().any(|octet| matches!(octet, 0 | b'\r' | b'\n')), "{shown:?}");
        let coded = line.len() >= 4 && line[..3].iter().all(u8::is_ascii_digit);
        match &within {
            Some(code) if coded && line[..3] == code[..] && line[3] == b' ' => within = None,
            Some(code) => {
                let continued = line.starts_with(b" ") || (coded && line[..3] == code[..]);
                assert!(continued, "{shown:?} within a reply");
            }
            None => {
                assert!(coded && matches!(line[3], b' ' | b'-'), "{shown:?} is no reply");
                if line[3] == b'-' {
                    within = Some(line[..3].to_vec());
                }
            }
        }
        // What follows is TLS, of which this client knows nothing.
        if line.starts_with(b"234 ") && !secured {
            return;
        }
    }
}
