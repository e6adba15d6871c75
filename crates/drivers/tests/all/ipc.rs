//! One stack, UDP, for several programs through a real socket: who dies, and who breaks the rules.

mod deaths;
mod policy;
mod together;

use std::convert::Infallible;
use std::io::{ErrorKind, Read, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use stackwright_compose::{Beside, Over};
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended,
};
use stackwright_contract::{Guarantees, Handle, Outlet, Participant, RequestOf};
use stackwright_drivers::Driver;
use stackwright_drivers::ipc::{AdmissionPolicy, Near, Quota, StackHost};
use stackwright_drivers::udp::Udp;
use stackwright_drivers::unix::{self, UnixStreams};
use stackwright_wire::{BufferTree, Message as _, Pool};

type M = BufferTree;
type T = Datagrams<M>;
type Host = Over<StackHost<T>, Beside<Udp<M>, UnixStreams<M>>>;
type Client = Over<Near<T>, UnixStreams<M>>;

struct Nobody;

impl Outlet<Host> for Nobody {
    fn indicate(&mut self, never: Infallible) {
        match never {}
    }

    fn request(&mut self, _: RequestOf<Host>) {}
}

#[derive(Default)]
struct Told(Vec<DatagramsIndication<M>>);

impl Outlet<Client> for Told {
    fn indicate(&mut self, word: DatagramsIndication<M>) {
        self.0.push(word);
    }

    fn request(&mut self, never: Infallible) {
        match never {}
    }
}

/// A server in this thread.
struct Server {
    folder: tempfile::TempDir,
    driver: Driver,
    host: Host,
}

fn pool() -> Arc<Pool<M>> {
    Arc::new(Pool::new(64 << 10, 16))
}

impl Server {
    fn start(quota: Quota) -> Self {
        Self::at(tempfile::tempdir().unwrap(), quota)
    }

    fn admitting(policy: AdmissionPolicy, quota: Quota) -> Self {
        Self::made(tempfile::tempdir().unwrap(), quota, policy)
    }

    fn at(folder: tempfile::TempDir, quota: Quota) -> Self {
        Self::made(folder, quota, AdmissionPolicy::default())
    }

    fn made(folder: tempfile::TempDir, quota: Quota, policy: AdmissionPolicy) -> Self {
        let driver = Driver::new(1).unwrap();
        let registry = driver.registry();
        let path = folder.path().join("socket");
        let bound = unix::bind(&path, 0o600).unwrap();
        let lines = UnixStreams::new(path, Arc::clone(&registry), 1, pool()).listening_at(bound);
        let beside = Beside::new(Udp::new(registry, 0, pool()).sharing_port(), lines);
        let host = StackHost::new(Guarantees::ABSENT, quota).admitting(policy);
        let host = Over::new(host, beside);
        let mut server = Server { folder, driver, host };
        while !server.host.upper.listens().unwrap() {
            server.turn();
        }
        server
    }

    fn turn(&mut self) {
        self.driver.turn(&mut self.host, &mut Nobody, Some(Duration::from_millis(1))).unwrap();
    }

    /// Turns until all is as it `should` be.
    fn until(&mut self, mut should: impl FnMut(&Self) -> bool) {
        while !should(self) {
            self.turn();
        }
    }

    fn names(&self) -> usize {
        self.host.upper.names()
    }

    fn stranger(&self) -> UnixStream {
        let stream = UnixStream::connect(self.folder.path().join("socket")).unwrap();
        stream.set_nonblocking(true).unwrap();
        stream
    }

    /// Turns until a stranger is ended.
    fn ends(&mut self, stranger: &mut UnixStream) {
        loop {
            match stranger.read(&mut [0; 4096]) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.turn(),
                Ok(1..) => {}
                Ok(0) | Err(_) => return,
            }
        }
    }
}

struct Program {
    driver: Driver,
    stack: Client,
    told: Told,
}

const LISTENER: Handle = Handle { index: 0, generation: 0 };
const GUEST: Handle = Handle { index: 1, generation: 0 };
const OWN: Handle = Handle { index: 2, generation: 0 };
const CREDIT: Credit = Credit { octets: 1 << 20, messages: 1024 };

impl Program {
    fn start(server: &Server) -> Self {
        let driver = Driver::new(2).unwrap();
        let path = server.folder.path().join("socket");
        let lines = UnixStreams::new(path, driver.registry(), 0, pool());
        Program { stack: Over::new(Near::default(), lines), driver, told: Told::default() }
    }

    fn ask(&mut self, request: DatagramsRequest<M>) {
        self.driver.request(&mut self.stack, request, &mut self.told);
    }

    fn turn(&mut self) {
        let wait = Some(Duration::ZERO);
        self.driver.turn(&mut self.stack, &mut self.told, wait).unwrap();
    }

    /// Turns both until this was told, and returns it.
    fn hears<R>(
        &mut self,
        server: &mut Server,
        mut is: impl FnMut(&DatagramsIndication<M>) -> Option<R>,
    ) -> R {
        loop {
            self.turn();
            server.turn();
            if let Some(found) = self.told.0.iter().find_map(&mut is) {
                return found;
            }
        }
    }

    /// Listens, and has one name wait and another open to the listener.
    fn begin(&mut self, server: &mut Server, at: Participant) -> Participant {
        self.ask(DatagramsRequest::Listen { listener: LISTENER, local: at });
        let local = self.hears(server, |word| match word {
            DatagramsIndication::Listening { local, .. } => Some(*local),
            _ => None,
        });
        let (listener, association) = (LISTENER, GUEST);
        self.ask(DatagramsRequest::Await { listener, association, credit: CREDIT });
        let (association, local_any) = (OWN, None);
        let (remote, credit) = (local, CREDIT);
        self.ask(DatagramsRequest::Open { association, remote, local: local_any, credit });
        self.hears(server, |word| matches!(word, DatagramsIndication::Opened { .. }).then_some(()));
        local
    }

    fn send(&mut self, octets: &[u8]) {
        let (batch, properties) = (M::with_headroom(64, octets).into(), Default::default());
        self.ask(DatagramsRequest::Send { association: OWN, batch, properties });
    }

    /// A message goes to itself, through the server.
    fn is_well(&mut self, server: &mut Server) {
        self.is_sent(server, b"well?");
    }

    /// This message does, whole.
    fn is_sent(&mut self, server: &mut Server, octets: &[u8]) {
        self.told.0.clear();
        self.send(octets);
        let came = self.hears(server, |word| {
            let DatagramsIndication::Delivered { batch, .. } = word else { return None };
            let mut came = Vec::new();
            batch.as_octets().append_to(&mut came);
            Some(came)
        });
        assert!(came == octets, "{} octets for {}", came.len(), octets.len());
        let credit = Credit { octets: octets.len(), messages: 1 };
        self.ask(DatagramsRequest::Credit { association: GUEST, credit });
    }
}

fn any() -> Participant {
    ([127, 0, 0, 1], 0).into()
}

#[test]
fn an_application_that_dies_takes_its_names_with_it_and_nobody_elses() {
    let mut server = Server::start(Quota::default());
    let [mut lives, mut dies] = [(); 2].map(|()| Program::start(&server));
    lives.begin(&mut server, any());
    let place = dies.begin(&mut server, any());
    assert_eq!((server.host.upper.applications(), server.names()), (2, 6));
    drop(dies);
    server.until(|server| server.host.upper.applications() == 1 && server.names() == 3);
    lives.is_well(&mut server);
    // The address is free, and so is the place for an application.
    let mut again = Program::start(&server);
    assert_eq!(again.begin(&mut server, place), place);
}

#[test]
fn a_server_that_dies_ends_every_name_once_and_another_takes_its_place() {
    let mut server = Server::start(Quota::default());
    let mut program = Program::start(&server);
    program.begin(&mut server, any());
    program.told.0.clear();
    let Server { folder, driver, host } = server;
    drop((host, driver));
    while program.told.0.len() < 3 {
        program.turn();
    }
    let mut ends: Vec<_> = program
        .told
        .0
        .drain(..)
        .map(|word| match word {
            DatagramsIndication::Ended { name, why: Ended::Unreachable } => name,
            other => panic!("{other:?}"),
        })
        .collect();
    ends.sort();
    assert_eq!(ends, [LISTENER, GUEST, OWN]);
    // Nobody is there, and then somebody is.
    program.ask(DatagramsRequest::Listen { listener: LISTENER, local: any() });
    program.turn();
    let unreachable = matches!(
        program.told.0[..],
        [DatagramsIndication::Ended { name: LISTENER, why: Ended::Unreachable }]
    );
    assert!(unreachable, "{:?}", program.told.0);
    program.told.0.clear();
    let mut server = Server::at(folder, Quota::default());
    program.begin(&mut server, any());
    program.is_well(&mut server);
}

/// A word as it is written, with a name, credit and a number.
fn word(kind: u8, index: u32, credit: u64, number: u32, payload: &[u8]) -> Vec<u8> {
    let mut octets = vec![kind, 0, 0, 0];
    octets.extend((payload.len() as u32).to_le_bytes());
    octets.extend(index.to_le_bytes());
    octets.extend(0_u32.to_le_bytes());
    octets.extend([credit.to_le_bytes(), credit.to_le_bytes()].as_flattened());
    octets.extend(number.to_le_bytes());
    octets.resize(64, 0);
    octets.extend(payload);
    octets
}

/// `Open` to the discard port of this machine.
fn open(index: u32, credit: u64) -> Vec<u8> {
    let mut octets = word(3, index, credit, 0, &[]);
    octets[3] = 1;
    octets.extend([1, 4, 0, 0, 9, 0]);
    octets.resize(64 + 16 + 10, 0);
    octets.extend([0xff, 0xff, 127, 0, 0, 1]);
    octets
}

#[test]
fn an_application_that_breaks_the_rules_is_ended_alone() {
    let quota = Quota { longest: 1 << 20, ..Quota::default() };
    let mut server = Server::start(quota);
    let mut honest = Program::start(&server);
    honest.begin(&mut server, any());
    let hello = || {
        let mut hello = word(32, 0, 0, 2, &[]);
        hello[2] = 1;
        hello
    };
    let long = |length: u32| {
        let mut send = word(4, 0, 0, 0, &[]);
        send[4..8].copy_from_slice(&length.to_le_bytes());
        send
    };
    let cases: [(&str, Vec<Vec<u8>>); 12] = [
        ("noise", vec![(0..=255).cycle().skip(33).take(5000).collect()]),
        ("no hello", vec![open(0, 1)]),
        ("another version", vec![word(32, 0, 0, 3, &[])]),
        ("two hellos", vec![hello(), hello()]),
        ("a kind that is none", vec![hello(), word(77, 0, 0, 0, &[])]),
        ("an indication", vec![hello(), word(26, 0, 0, 0, &[])]),
        ("a name twice", vec![hello(), open(0, 1), open(0, 1)]),
        ("credit without bounds", vec![hello(), open(0, u64::MAX)]),
        ("credit without bounds, bit by bit", {
            let more = (0..40).map(|_| word(5, 0, 1 << 30, 0, &[]));
            [hello(), open(0, 1)].into_iter().chain(more).collect()
        }),
        ("no credit", vec![hello(), open(0, 1), word(5, 0, 0, 0, &[])]),
        ("what is longer than any message", vec![hello(), open(0, 1), long(u32::MAX)]),
        ("an empty message of several", vec![hello(), open(0, 1), word(4, 0, 0, 3, &[])]),
    ];
    for (what, words) in cases {
        let mut stranger = server.stranger();
        for octets in words {
            // It may be ended already.
            let _ = stranger.write_all(&octets);
        }
        server.ends(&mut stranger);
        server.until(|server| server.names() == 3);
        honest.is_well(&mut server);
        assert_eq!(server.host.upper.applications(), 1, "{what}");
    }
}

#[test]
fn names_beyond_the_quota_are_refused_and_nothing_else_is() {
    let mut server = Server::start(Quota { names: 2, ..Quota::default() });
    let mut program = Program::start(&server);
    for (index, generation) in [(0, 0), (1, 7), (2, 0), (9, 3)] {
        let association = Handle { index, generation };
        let remote = Participant::from(([127, 0, 0, 1], 9));
        program.ask(DatagramsRequest::Open { association, remote, local: None, credit: CREDIT });
        program.hears(&mut server, |word| match word {
            DatagramsIndication::Opened { association: opened, .. } if index < 2 => {
                assert_eq!(*opened, association);
                Some(())
            }
            DatagramsIndication::Ended { name, why: Ended::Exhausted } => {
                assert_eq!((*name, index >= 2), (association, true));
                Some(())
            }
            _ => None,
        });
        program.told.0.clear();
    }
}

#[test]
fn an_application_that_reads_nothing_is_ended_at_its_quota() {
    let mut server = Server::start(Quota { waiting: 100_000, ..Quota::default() });
    let [mut honest, mut idle] = [(); 2].map(|()| Program::start(&server));
    let place = idle.begin(&mut server, any());
    let (association, remote) = (OWN, place);
    honest.ask(DatagramsRequest::Open { association, remote, local: None, credit: CREDIT });
    honest.hears(&mut server, |word| {
        matches!(word, DatagramsIndication::Opened { .. }).then_some(())
    });
    // It does not turn: what its peer sends fills the socket, and then the server's memory.
    while server.host.upper.applications() > 1 {
        honest.told.0.clear();
        honest.send(&[7; 1000]);
        honest.hears(&mut server, |word| {
            matches!(word, DatagramsIndication::Credit { .. }).then_some(())
        });
    }
    server.until(|server| server.names() == 1);
}

#[test]
fn thousands_of_silent_connections_keep_nobody_out() {
    let mut server = Server::start(Quota { applications: 100, ..Quota::default() });
    let mut silent = std::collections::VecDeque::new();
    for number in 0..3000 {
        silent.push_back(server.stranger());
        server.turn();
        if silent.len() > 200 {
            silent.pop_front();
        }
        if number % 500 == 499 {
            let mut honest = Program::start(&server);
            honest.begin(&mut server, any());
            honest.is_well(&mut server);
            assert!(server.host.upper.applications() <= 66);
        }
    }
}

#[test]
fn two_programs_send_from_one_port() {
    let mut server = Server::start(Quota::default());
    let mut peers = Program::start(&server);
    let listens = |server: &mut Server, peers: &mut Program, index| {
        let listener = Handle { index, generation: 0 };
        peers.ask(DatagramsRequest::Listen { listener, local: any() });
        peers.hears(server, |word| match word {
            DatagramsIndication::Listening { listener: told, local } if *told == listener => {
                Some(*local)
            }
            _ => None,
        })
    };
    let [one, other] = [0, 1].map(|index| listens(&mut server, &mut peers, index));
    let free = std::net::UdpSocket::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr());
    let local = free.map(Participant::from).ok();
    let programs = [one, other].map(|remote| {
        let mut program = Program::start(&server);
        program.ask(DatagramsRequest::Open { association: OWN, remote, local, credit: CREDIT });
        let opened = program.hears(&mut server, |word| match word {
            DatagramsIndication::Opened { local, .. } => Some(*local),
            DatagramsIndication::Ended { why, .. } => panic!("{why:?}"),
            _ => None,
        });
        assert_eq!(Some(opened), local);
        program
    });
    assert_eq!(server.host.upper.applications(), 1 + programs.len());
}
