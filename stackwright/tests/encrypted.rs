//! FTP over TLS in a simulated world: whatever happens to an association, a copy ends well or says
//! that it did not, and nothing is left.
//!
//! The handshakes draw on the system's randomness, so a run with a seed is alike, not the same.
//! `SEEDS=n` tries n faults of each kind.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use fastrand::Rng;
use stackwright::compose::{Beside, Over};
use stackwright::contract::{Duration, Fingerprint, Handle};
use stackwright::copy::{self, Copy, CopySide, Indication as Told, Request as Ask};
use stackwright::ftp::client::{DataMode, TlsMode};
use stackwright::ftp::server::{
    Anonymous, Indication as ServerTold, Request as ServerAsk, Rights, SecurityLevel, SessionReuse,
};
use stackwright::ftp::{Client, Server, client, server};
use stackwright::tls::{Config, ExpectedServer, ServerIdentity, Tls, Trust};
use stackwright::wire::BufferTree;
use stackwright_simulator::{
    Chunks, Conditions, Fault, Habits, Heard, SimulatedDisk, SimulatedStreams, Tree, Which, World,
};

type M = BufferTree;

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
/// 2026-09-21.
const EPOCH: u64 = 1_790_000_000;
/// More than any timer here, all after one another.
const AGES: Duration = Duration::from_secs(3600);

fn identity() -> ServerIdentity {
    let made = rcgen::generate_simple_self_signed(vec!["10.0.0.1".to_owned()]).expect("a key");
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    ServerIdentity::from_pem(certificate.as_bytes(), key.as_bytes()).expect("its own")
}

/// How the two ends are set up.
#[derive(Clone, Copy, Debug)]
struct Kind {
    tls: TlsMode,
    data: DataMode,
    /// Some other certificate than the server's.
    pinned: Option<Fingerprint>,
}

const KINDS: [Kind; 4] = [
    Kind { tls: TlsMode::Explicit, data: DataMode::Passive, pinned: None },
    Kind { tls: TlsMode::Explicit, data: DataMode::Active, pinned: None },
    Kind { tls: TlsMode::Implicit, data: DataMode::Passive, pinned: None },
    Kind { tls: TlsMode::Implicit, data: DataMode::Active, pinned: None },
];

/// What came of a run: how many copies succeeded, why others failed, and how many octets passed on
/// each association.
struct Outcome {
    well: usize,
    failed: Vec<Told>,
    lengths: Vec<u64>,
}

/// Fetches one file and stores another, of `length` octets each, where one association may be
/// faulty. Every session of data has to resume.
fn copies(kind: Kind, length: usize, habits: Habits, fault: Option<(usize, Fault)>) -> Outcome {
    let identity = identity();
    let pin = kind.pinned.unwrap_or(identity.fingerprint());
    let mut world = World::<M>::new(7);
    let delay = Duration::from_millis(10);
    world.network_mut().set_conditions(Conditions { delay, ..Conditions::IDEAL });
    let (far, near) = (Tree::shared(), Tree::shared());
    let streams = |address, config| {
        Over::new(Tls::<M>::new(config), SimulatedStreams::with_habits(address, habits))
    };

    let config = server::Config {
        security: SecurityLevel::Required,
        session_reuse: SessionReuse::Require,
        ..server::Config::new(Box::new(Anonymous(Rights { write: true })))
    };
    let own = Config { identities: vec![identity], ..Config::at(EPOCH) };
    let disk = SimulatedDisk::new(far.clone());
    let stack = Over::new(Server::new(config), Beside::new(streams(SERVER, own), disk));
    let there = world.add(SERVER, stack, Heard::default());
    let door = SocketAddr::new(SERVER, 2121);
    let local = door.into();
    world.ask(
        there,
        match kind.tls {
            TlsMode::Implicit => ServerAsk::ServeSecurely { local },
            _ => ServerAsk::Serve { local },
        },
    );

    let expected = ExpectedServer::new("10.0.0.1", Trust::Pinned(pin)).expect("an address");
    let own = Config { servers: vec![expected], ..Config::at(EPOCH) };
    let config = client::Config {
        tls: kind.tls,
        data: kind.data,
        idle: Duration::ZERO,
        sessions_most: 1,
        ..client::Config::anonymous(door)
    };
    let client = Over::new(Client::new(config), streams(CLIENT, own));
    let disk = SimulatedDisk::new(near.clone());
    let stack = Over::new(Copy::new(copy::Config::default()), Beside::new(client, disk));
    let here = world.add(CLIENT, stack, Heard::default());

    if let Some((nth, fault)) = fault {
        world.network_mut().fail(Which::Nth(nth), fault);
    }
    let octets = |seed| {
        let mut octets = vec![0; length];
        Rng::with_seed(seed).fill(&mut octets);
        octets
    };
    let [fetched, stored] = [octets(1), octets(2)];
    far.borrow_mut().put("fetched", fetched.clone());
    near.borrow_mut().put("stored", stored.clone());
    for (index, from, name) in [(0, CopySide::Left, "fetched"), (1, CopySide::Right, "stored")] {
        let (job, source, target) = (Handle { index, generation: 0 }, name.into(), name.into());
        world.ask(here, Ask::Copy { job, from, source, target, early: false });
    }
    let is_last = |told: &&Told| matches!(told, Told::Copied { .. } | Told::Failed { .. });
    let is_over = |world: &World<M>| world.application(here).0.iter().filter(is_last).count() == 2;
    assert!(world.run_until(is_over, AGES), "{kind:?}, {fault:?}: {:?}", world.application(here).0);
    let lengths = world.network().associations().iter().map(|association| association.octets);
    let lengths = lengths.collect();

    // Nothing is left anywhere, once every timer has expired.
    world.run_for(AGES);
    let stack = world.stack(there);
    assert_eq!((stack.upper.sessions(), stack.lower.right.open_files()), (0, 0), "{fault:?}");
    assert_eq!(stack.lower.left.lower.associations(), 0, "{kind:?}, {fault:?}");
    let stack = world.stack(here);
    let client = &stack.lower.left;
    assert_eq!((client.upper.sessions(), client.upper.names()), (0, 0), "{kind:?}, {fault:?}");
    assert_eq!(client.lower.lower.associations(), 0, "{kind:?}, {fault:?}");
    assert_eq!(stack.lower.right.open_files(), 0, "{kind:?}, {fault:?}");

    let told = &world.application(here).0;
    let well = told.iter().filter(|told| matches!(told, Told::Copied { .. })).count();
    let mut whole = 0;
    for (disk, name, octets) in [(&near, "fetched", fetched), (&far, "stored", stored)] {
        if let Some(now) = disk.borrow().octets(name) {
            assert!(now == octets, "{name}: whole or not at all, {kind:?}, {fault:?}");
            whole += 1;
        }
    }
    // The last word about a stored file may be lost with the control association, never a false one
    // said.
    assert!(well <= whole, "{well} copied, {whole} there, {kind:?}, {fault:?}");
    let failed = told.iter().filter(|told| matches!(told, Told::Failed { .. })).cloned().collect();
    let logged_in = |told: &&ServerTold| matches!(told, ServerTold::LoggedIn { .. });
    if kind.pinned.is_some() {
        assert_eq!(world.application(there).0.iter().filter(logged_in).count(), 0);
    }
    Outcome { well, failed, lengths }
}

fn seeds(usual: u64) -> u64 {
    std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(usual)
}

#[test]
fn files_are_copied_in_every_mode() {
    for kind in KINDS {
        for length in [0, 1, 20_000, 400_000] {
            let Outcome { well, failed, .. } = copies(kind, length, Habits::default(), None);
            assert_eq!(well, 2, "{kind:?}, {length}: {failed:?}");
        }
    }
}

/// However small the pieces and the buffers of the streams below.
#[test]
fn narrow_streams_carry_whole_files() {
    for kind in KINDS {
        for (credit, buffer, chunks) in
            [(300, 300, Chunks::Mixed), (5000, 700, Chunks::Fixed(97)), (64, 64, Chunks::Single)]
        {
            let habits = Habits { credit, buffer, chunks, ..Habits::default() };
            let Outcome { well, failed, .. } = copies(kind, 3000, habits, None);
            assert_eq!(well, 2, "{kind:?}, {habits:?}: {failed:?}");
        }
    }
}

#[test]
fn a_server_with_another_certificate_is_not_logged_in_to() {
    for kind in KINDS {
        let kind = Kind { pinned: Some(Fingerprint([1; 32])), ..kind };
        let Outcome { well, failed, .. } = copies(kind, 100, Habits::default(), None);
        assert_eq!((well, failed.len()), (0, 2), "{kind:?}: {failed:?}");
    }
}

/// Cut, or silent, after any octet of any association.
#[test]
fn a_fault_anywhere_is_told_and_leaves_nothing() {
    let mut random = Rng::with_seed(3);
    for kind in KINDS {
        let lengths = copies(kind, 2000, Habits::default(), None).lengths;
        for _ in 0..seeds(30) {
            let nth = random.usize(..lengths.len());
            let after = random.u64(..=lengths[nth]);
            let fault =
                if random.bool() { Fault::Cut { after } } else { Fault::Blackhole { after } };
            copies(kind, 2000, Habits::default(), Some((nth, fault)));
        }
    }
}
