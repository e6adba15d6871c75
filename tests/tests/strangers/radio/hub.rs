//! Our hub in front of a modem: programs that nobody here wrote share it, and one that does not
//! read.

use std::convert::Infallible;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stackwright::compose::{Beside, Over};
use stackwright::contract::services::FramesIndication;
use stackwright::contract::{Either, Outlet};
use stackwright::kiss::{Config, Hub, HubConfig, Kiss};
use stackwright::wire::{BufferTree, Pool};
use stackwright_drivers::Driver;
use stackwright_drivers::line::Line;
use stackwright_drivers::tcp::Tcp;
use stackwright_programs::processes::eventually;

use super::frames::ui;
use super::kissutil::Kissutil;
use super::rig::Rig;
use super::station::at_once;

type M = BufferTree;
type Stack = Over<Hub<M>, Beside<Tcp<M>, Over<Kiss<M>, Line<M>>>>;

/// Nothing is above the hub.
struct Above;

impl Outlet<Stack> for Above {
    fn indicate(&mut self, _: FramesIndication<M>) {}

    fn request(&mut self, never: Either<Infallible, Infallible>) {
        match never {
            Either::Left(never) | Either::Right(never) => match never {},
        }
    }
}

/// A hub that the trial runs.
struct Running {
    driver: Driver,
    stack: Stack,
}

impl Running {
    fn new(tnc: SocketAddr, baud: u32) -> Self {
        let driver = Driver::new(1).expect("a driver");
        let pool = Arc::new(Pool::new(4096, 64));
        let local: SocketAddr = ([127, 0, 0, 1], 0).into();
        let config = Config { access: at_once(), asks_queue: true, ..Config::default() };
        let config = Config { rate: baud.try_into().expect("it is not 0"), ..config };
        let tcp = Tcp::new(driver.registry(), 0, Arc::clone(&pool));
        let line = Line::tcp(vec![tnc], driver.registry(), 1, Arc::clone(&pool));
        let kiss = Over::new(Kiss::sharing(config, Arc::clone(&pool)), line);
        let hub = Hub::new(HubConfig::at(local), pool);
        Running { driver, stack: Over::new(hub, Beside::new(tcp, kiss)) }
    }

    fn turn(&mut self) {
        let wait = Some(Duration::from_millis(5));
        self.driver.turn(&mut self.stack, &mut Above, wait).expect("a poll");
    }

    fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        let begin = Instant::now();
        while !is_so(self) {
            self.turn();
            assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        }
    }
}

/// Two kissutils at the hub exchange frames with one at the other modem, while a third program
/// sends and never reads.
pub(super) fn is_shared() {
    let rig = Rig::new(9600);
    let mut hub = Running::new(rig.kiss(0), 9600);
    hub.until("it listens", |hub| hub.stack.upper.listening().is_some());
    let local = hub.stack.upper.listening().and_then(Result::ok);
    let address = local.and_then(|there| there.internet()).expect("TCP");
    let mut stuck = TcpStream::connect(address).expect("the hub listens");
    let sharing = [Kissutil::new(address), Kissutil::new(address)];
    let mut far = Kissutil::new(rig.kiss(1));
    hub.until("three programs", |hub| hub.stack.upper.clients() == 3);
    let [mut one, mut other] = sharing;
    for nth in 0..20 {
        one.send(&format!("N0AAA>N0BBB:one {nth:02}"));
        other.send(&format!("N0CCC>N0BBB:other {nth:02}"));
    }
    let own = [&b"\xC0\x00"[..], &ui("N0DDD", "N0BBB", "stuck"), b"\xC0"].concat();
    stuck.write_all(&own).expect("the hub reads");
    let mut came: Vec<String> = Vec::new();
    hub.until("all frames at the far end", |_| {
        came.extend(far.lines().filter(|line| line.starts_with('[')));
        came.len() >= 41
    });
    for who in ["one", "other"] {
        let theirs = came.iter().filter(|line| line.contains(&format!(":{who} ")));
        let expected = (0..20).map(|nth| format!("{who} {nth:02}"));
        assert!(theirs.zip(expected).all(|(line, text)| line.ends_with(&text)), "{came:#?}");
    }
    assert!(came.iter().any(|line| line.ends_with(":stuck")));
    (0..20).for_each(|nth| far.send(&format!("N0BBB>N0AAA:far {nth:02}")));
    for program in [&one, &other] {
        let mut came: Vec<String> = Vec::new();
        hub.until("the far end's frames", |_| {
            came.extend(program.lines().filter(|line| line.starts_with('[')));
            came.len() >= 20
        });
        assert!(came.iter().all(|line| line.contains("N0BBB>N0AAA:far ")), "{came:#?}");
    }
    drop(stuck);
    hub.until("it is gone", |hub| hub.stack.upper.clients() == 2);
    drop((one, other));
    hub.until("nobody is left", |hub| hub.stack.upper.clients() == 0);
    assert!(eventually(Duration::from_secs(1), || hub.stack.upper.held() == 0));
}
