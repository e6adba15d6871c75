//! The same stack in a server, which is a thread with a socket of its own.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::{env, fs, process, thread};

use stackwright_artp as artp;
use stackwright_compose::{Beside, Over};
use stackwright_contract::services::Datagrams;
use stackwright_contract::{Guarantees, Outlet, Protocol, RequestOf};
use stackwright_drivers::ipc::{Near, Quota, StackHost};
use stackwright_drivers::udp::Udp;
use stackwright_drivers::unix::{self, UnixStreams};
use stackwright_endpoint::System;
use stackwright_wire::BufferTree;

const GIVES: Guarantees = <Served as Protocol>::FACTS.gives;

pub(crate) type Artp = Over<Near<Datagrams<BufferTree>, { GIVES.bits() }>, UnixStreams<BufferTree>>;
type Served = Over<artp::Layer<BufferTree>, Udp<BufferTree>>;
type Host = Over<StackHost<Datagrams<BufferTree>>, Beside<Served, UnixStreams<BufferTree>>>;

struct Nobody;

impl Outlet<Host> for Nobody {
    fn indicate(&mut self, never: Infallible) {
        match never {}
    }

    fn request(&mut self, _: RequestOf<Host>) {}
}

/// Whether a word takes a moment to reach the transport, which lends nothing of its memory.
pub(crate) const IN_SERVER: bool = true;

pub(crate) fn stack(system: &System, config: artp::Config) -> Artp {
    placed(system, move |system| {
        let config = artp::Config { epoch: system.epoch(), ..config };
        Over::new(artp::layer(config, system.seed()), system.udp())
    })
}

/// Starts a server, which ends when its only application does.
pub(crate) fn placed(
    system: &System,
    make: impl FnOnce(&System) -> Served + Send + 'static,
) -> Artp {
    static SERVERS: AtomicUsize = AtomicUsize::new(0);
    let number = SERVERS.fetch_add(1, Ordering::Relaxed);
    let path = env::temp_dir().join(format!("stackwright-{}-{number}", process::id()));
    let (ready, is_ready) = mpsc::channel();
    let socket = path.clone();
    thread::spawn(move || {
        let (mut driver, system) = System::with_driver().unwrap();
        let bound = unix::bind(&socket, 0o600).unwrap();
        let lines = UnixStreams::new(socket.clone(), system.registry(), 1, System::pool());
        let lines = lines.listening_at(bound);
        let beside = Beside::new(make(&system), lines);
        let mut host: Host = Over::new(StackHost::new(GIVES, Quota::default()), beside);
        let (mut was, mut told) = (false, false);
        loop {
            let applications = host.upper.applications();
            if was && applications == 0 && host.upper.names() == 0 {
                return fs::remove_file(&socket).unwrap();
            }
            was |= applications > 0;
            if !told && host.upper.listens().unwrap() {
                told = true;
                ready.send(()).unwrap();
            }
            driver.turn(&mut host, &mut Nobody, None).unwrap();
        }
    });
    is_ready.recv().unwrap();
    let lines = UnixStreams::new(path, system.registry(), 0, System::pool());
    Over::new(Near::default(), lines)
}

/// The transport's associations are the server's.
pub(crate) fn associations(_: &Artp) -> usize {
    0
}
