//! A NAT between two endpoints that forgets its binding in the middle of a transfer: the packets of
//! one end come from another port from then on, or from another host.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use stackwright_artp as artp;
use stackwright_compose::Over;
use stackwright_drivers::udp::Udp;
use stackwright_endpoint::blocking::{Association, Endpoint};
use stackwright_endpoint::{Config, System};
use stackwright_wire::BufferTree;

type Artp = Over<artp::Layer<BufferTree>, Udp<BufferTree>>;

const MESSAGES: usize = 2000;
const LENGTH: usize = 5000;

/// After how many packets, in both directions, the binding is forgotten.
const REBOUND_AFTER: usize = 2000;

/// How long a message is waited for at most: a timeout, and a keepalive, of a receiver that has
/// nothing to say.
const PAUSE_MOST: Duration = Duration::from_secs(5);

fn stack(system: &System) -> Artp {
    let config = artp::Config {
        epoch: system.epoch(),
        keepalive: Some(500_000_000),
        ..artp::Config::new(system.secret())
    };
    Over::new(artp::layer(config, system.seed()), system.udp())
}

fn socket(host: Ipv4Addr) -> UdpSocket {
    let socket = UdpSocket::bind((host, 0)).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket
}

/// A NAT in front of `server`, for one client.
struct Nat {
    outside: SocketAddr,
    ends: Arc<AtomicBool>,
    runs: JoinHandle<bool>,
}

impl Nat {
    /// Makes one that goes on at `host`, at another port, in the middle.
    fn new(server: SocketAddr, host: Ipv4Addr) -> Nat {
        let inside = socket(Ipv4Addr::LOCALHOST);
        let outside = inside.local_addr().unwrap();
        let ends = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&ends);
        let runs = thread::spawn(move || {
            let (mut bound, mut client) = (socket(Ipv4Addr::LOCALHOST), None);
            let (mut carried, mut octets) = (0, [0; 65_536]);
            let mut rebound = false;
            while !asked.load(Ordering::Relaxed) {
                let mut idle = true;
                while let Ok((length, from)) = inside.recv_from(&mut octets) {
                    (client, idle, carried) = (Some(from), false, carried + 1);
                    let _lost = bound.send_to(&octets[..length], server);
                }
                while let Ok((length, _)) = bound.recv_from(&mut octets) {
                    (idle, carried) = (false, carried + 1);
                    if let Some(client) = client {
                        let _lost = inside.send_to(&octets[..length], client);
                    }
                }
                if carried >= REBOUND_AFTER && !rebound {
                    (bound, rebound) = (socket(host), true);
                }
                if idle {
                    thread::sleep(Duration::from_micros(100));
                }
            }
            rebound
        });
        Nat { outside, ends, runs }
    }

    /// Ends it. Returns whether it has forgotten its binding.
    fn end(self) -> bool {
        self.ends.store(true, Ordering::Relaxed);
        self.runs.join().unwrap()
    }
}

fn sends(association: &Association<Artp>) {
    for number in 0..MESSAGES as u32 {
        let mut message = vec![7; LENGTH];
        message[..4].copy_from_slice(&number.to_be_bytes());
        association.send(&message).unwrap();
    }
}

/// Receives all messages, each once, and none after a long pause.
fn receives(association: &Association<Artp>) {
    let (mut missing, mut last) = (vec![true; MESSAGES], Instant::now());
    for _ in 0..MESSAGES {
        let (message, _) = association.receive().unwrap();
        let number = u32::from_be_bytes(message[..4].try_into().unwrap());
        assert!(message.len() == LENGTH && std::mem::take(&mut missing[number as usize]));
        assert!(last.elapsed() < PAUSE_MOST, "{:?} before {number}", last.elapsed());
        last = Instant::now();
    }
}

/// A transfer between a client behind a NAT and a server.
fn transfer(host: Ipv4Addr, client: fn(&Association<Artp>), server: fn(&Association<Artp>)) {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let (tell, told) = std::sync::mpsc::channel();
    let serving = thread::spawn(move || {
        let endpoint = Endpoint::bind(any, Config::default(), stack).unwrap();
        tell.send(endpoint.local().unwrap()).unwrap();
        let association = endpoint.accept().unwrap();
        server(&association);
        association.close()
    });
    let nat = Nat::new(told.recv().unwrap(), host);
    let endpoint = Endpoint::new(Config::default(), stack).unwrap();
    let association = endpoint.connect(nat.outside).unwrap();
    client(&association);
    association.close().unwrap();
    serving.join().unwrap().unwrap();
    assert!(nat.end(), "it has forgotten its binding");
}

#[test]
fn rebinding_port_of_the_side_that_sends() {
    transfer(Ipv4Addr::LOCALHOST, sends, receives);
}

#[test]
fn rebinding_port_of_the_side_that_receives() {
    transfer(Ipv4Addr::LOCALHOST, receives, sends);
}

#[test]
#[cfg(target_os = "linux")]
fn rebinding_address_of_the_side_that_sends() {
    transfer(Ipv4Addr::new(127, 0, 0, 2), sends, receives);
}

#[test]
#[cfg(target_os = "linux")]
fn rebinding_address_of_the_side_that_receives() {
    transfer(Ipv4Addr::new(127, 0, 0, 2), receives, sends);
}
