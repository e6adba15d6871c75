//! Several endpoints at one address, each with a stack of its own.

#[allow(dead_code, reason = "others use all of it")]
use std::net::SocketAddr;
use std::sync::mpsc::{Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::common::{ANY, Artp, listening, plain, run};
use stackwright_endpoint::{Config, Endpoint, blocking};
use tokio::task::spawn_local;

const ASSOCIATIONS: u32 = 64;
const ROUNDS: u32 = 10;

fn shared() -> Config {
    Config { shared_port: true, arrivals_most: ASSOCIATIONS as usize, ..Config::default() }
}

/// A server on a thread of its own, which repeats what comes until it is told to end.
struct Server {
    place: SocketAddr,
    end: Sender<()>,
    thread: JoinHandle<ReadySet>,
}

/// What each who came said.
type ReadySet = Vec<Vec<[u32; 2]>>;

impl Server {
    fn start(at: SocketAddr) -> Self {
        let ((end, ended), (says, hears)) = (channel(), channel());
        let thread = thread::spawn(move || {
            let endpoint = blocking::Endpoint::bind(at, shared(), plain).unwrap();
            says.send(endpoint.local().unwrap()).unwrap();
            let (mut guests, mut said) = (Vec::new(), Vec::new());
            while ended.try_recv() != Err(TryRecvError::Disconnected) {
                endpoint.wait(Some(Duration::from_millis(5))).unwrap();
                while let Ok(guest) = endpoint.try_accept() {
                    guests.push(guest);
                    said.push(Vec::new());
                }
                for (guest, said) in guests.iter().zip(&mut said) {
                    while let Ok((octets, _)) = guest.try_receive() {
                        said.push(read(&octets));
                        guest.send(&octets).unwrap();
                    }
                }
            }
            said
        });
        Server { place: hears.recv().unwrap(), end, thread }
    }

    fn end(self) -> ReadySet {
        drop(self.end);
        self.thread.join().unwrap()
    }
}

fn word(number: u32, round: u32) -> [u8; 8] {
    (u64::from(number) << 32 | u64::from(round)).to_be_bytes()
}

fn read(octets: &[u8]) -> [u32; 2] {
    let (words, []) = octets.as_chunks::<4>() else { panic!("two words") };
    [u32::from_be_bytes(words[0]), u32::from_be_bytes(words[1])]
}

/// Associations from as many sockets.
fn clients(place: SocketAddr) -> Vec<(blocking::Endpoint<Artp>, blocking::Association<Artp>)> {
    let connected = (0..ASSOCIATIONS).map(|_| {
        let endpoint = blocking::Endpoint::new(Config::default(), plain).unwrap();
        let association = endpoint.connect(place).unwrap();
        (endpoint, association)
    });
    connected.collect()
}

#[test]
fn associations_spread_over_two_sockets_stay_on_theirs() {
    let first = Server::start(ANY.parse().unwrap());
    let second = Server::start(first.place);
    assert_eq!(second.place, first.place);
    let clients = clients(first.place);
    for round in 0..ROUNDS {
        for (number, (_, association)) in (0..).zip(&clients) {
            association.send(&word(number, round)).unwrap();
        }
        for (number, (_, association)) in (0..).zip(&clients) {
            assert_eq!(association.receive().unwrap().0, word(number, round));
        }
    }
    let seen = [first, second].map(Server::end);
    assert!(seen.iter().all(|seen| !seen.is_empty()), "both served some");
    for said in seen.iter().flatten() {
        let number = said[0][0];
        assert!(
            said.iter().copied().eq((0..ROUNDS).map(|round| [number, round])),
            "all came here: {said:?}"
        );
    }
    assert_eq!(seen.iter().flatten().count(), ASSOCIATIONS as usize);
}

#[test]
fn awaited_endpoints_share_a_port_as_well() {
    run(async {
        let first = listening(shared(), plain).await;
        let place = first.local().unwrap();
        let second = Endpoint::bind(place, shared(), plain).await.unwrap();
        assert_eq!(second.local(), Some(place));
        for server in [first, second] {
            spawn_local(async move {
                while let Ok(guest) = server.accept().await {
                    spawn_local(async move {
                        while let Ok((octets, properties)) = guest.receive().await {
                            guest.send_with(&octets, properties).await.unwrap();
                        }
                    });
                }
            });
        }
        for number in 0..16 {
            let client = Endpoint::new(Config::default(), plain).unwrap();
            let association = client.connect(place).await.unwrap();
            for round in 0..ROUNDS {
                association.send(&word(number, round)).await.unwrap();
                assert_eq!(association.receive().await.unwrap().0, word(number, round));
            }
            association.close().await.unwrap();
        }
    });
}

#[test]
fn who_goes_leaves_those_of_the_other_alone() {
    let first = Server::start(ANY.parse().unwrap());
    let second = Server::start(first.place);
    let clients = clients(first.place);
    for (number, (_, association)) in (0..).zip(&clients) {
        association.send(&word(number, 0)).unwrap();
        association.receive().unwrap();
    }
    let gone = first.end();
    let gone: Vec<_> = gone.iter().map(|said| said[0][0]).collect();
    let stay = (0..).zip(&clients).filter(|(number, _)| !gone.contains(number));
    for (number, (_, association)) in stay {
        association.send(&word(number, 1)).unwrap();
        assert_eq!(association.receive().unwrap().0, word(number, 1));
    }
    let seen = second.end();
    assert!(!seen.is_empty() && seen.iter().all(|said| said.len() == 2));
}
