//! How long a message may be: what the receiver has room for, which its peer is told.

use std::net::SocketAddr;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use stackwright_artp as artp;
use stackwright_compose::Over;
use stackwright_contract::services::{Credit, Ended};
use stackwright_endpoint::blocking::{Association, Endpoint};
use stackwright_endpoint::{Config, Error, System};

use crate::placement::{self, Artp};

const MIB: usize = 1 << 20;

fn stack(system: &System) -> Artp {
    let config = artp::Config { epoch: system.epoch(), ..artp::Config::new(system.secret()) };
    placement::stack(system, config)
}

fn with_room(octets: usize) -> Config {
    Config { credit: Credit { octets, messages: 1024 }, ..Config::default() }
}

/// What a server received: how long each message was, and the end.
type Received = (Vec<usize>, Error);

/// A server of one association, in a thread of its own.
fn serve<T: Send + 'static>(
    config: Config,
    make: impl Fn(&System) -> Artp + Send + 'static,
    serves: impl FnOnce(Association<Artp>) -> T + Send + 'static,
) -> (SocketAddr, JoinHandle<T>) {
    let (tell, told) = std::sync::mpsc::channel();
    let serving = thread::spawn(move || {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let endpoint = Endpoint::bind(any, config, make).unwrap();
        tell.send(endpoint.local().unwrap()).unwrap();
        serves(endpoint.accept().unwrap())
    });
    (told.recv().unwrap(), serving)
}

/// One that receives all that comes.
fn server(config: Config) -> (SocketAddr, JoinHandle<Received>) {
    serve(config, stack, |association| {
        let mut lengths = Vec::new();
        loop {
            match association.receive() {
                Ok((message, _)) => lengths.push(message.len()),
                Err(end) => return (lengths, end),
            }
        }
    })
}

/// `bigroom2`: the receiver has room for a MiB.
#[test]
fn a_message_longer_than_the_receivers_room_is_refused_by_its_send() {
    for length in [MIB + 1, 4 * MIB] {
        let (place, serving) = server(Config::default());
        let client = Endpoint::new(Config::default(), stack).unwrap();
        let association = client.connect(place).unwrap();
        association.send(b"before").unwrap();
        let refused = association.send(&vec![1; length]);
        assert!(matches!(refused, Err(Error::TooLong { longest: MIB })), "{refused:?}");
        association.send(b"and after it").unwrap();
        association.send(&vec![2; MIB]).unwrap();
        association.close().unwrap();
        let (lengths, end) = serving.join().unwrap();
        assert_eq!(lengths.iter().sum::<usize>(), 6 + 12 + MIB);
        assert!(end.is_finished(), "{end:?}");
    }
}

/// `toolong`, and one limit to raise: the receiver's room. What is longer than the send buffer
/// leaves all the same.
#[test]
fn raising_the_receivers_room_is_enough_for_long_messages() {
    let (place, serving) = server(with_room(24 * MIB));
    let client = Endpoint::new(Config::default(), stack).unwrap();
    let association = client.connect(place).unwrap();
    association.send(b"one").unwrap();
    association.send(&vec![1; 17 * MIB]).unwrap();
    let refused = association.send(&vec![1; 25 * MIB]);
    assert!(matches!(refused, Err(Error::TooLong { longest }) if longest == 24 * MIB));
    association.send(b"two").unwrap();
    association.close().unwrap();
    let (mut lengths, end) = serving.join().unwrap();
    lengths.sort_unstable();
    assert_eq!(lengths, [3, 3, 17 * MIB]);
    assert!(end.is_finished(), "{end:?}");
}

#[test]
fn seventy_kilobytes_are_sent_by_default_and_a_message_has_the_limit_of_either_end() {
    let (place, serving) = server(Config::default());
    // What this end takes is nothing to what it sends.
    let client = Endpoint::new(with_room(100), stack).unwrap();
    let association = client.connect(place).unwrap();
    assert_eq!(association.path().longest as usize, MIB);
    association.send(&[7; 70_000]).unwrap();
    association.close().unwrap();
    let (lengths, end) = serving.join().unwrap();
    assert_eq!(lengths, [70_000]);
    assert!(end.is_finished(), "{end:?}");

    // The side that accepts is told, too.
    let (place, serving) = serve(Config::default(), stack, |association| {
        let refused = association.send(&[0; 101]);
        assert!(matches!(refused, Err(Error::TooLong { longest: 100 })), "{refused:?}");
        association.send(&[0; 100]).unwrap();
        association.close().unwrap();
    });
    let association = client.connect(place).unwrap();
    assert_eq!(association.receive().unwrap().0, [0; 100]);
    assert!(association.receive().is_err_and(|end| end.is_finished()));
    serving.join().unwrap();
}

/// A stack whose peer is not told how long a message may be.
fn unbounded(system: &System) -> Artp {
    let config = artp::Config { epoch: system.epoch(), ..artp::Config::new(system.secret()) };
    placement::placed(system, move |system| {
        let make = |session, config: &artp::Config, secrets| {
            artp::policies(session, &artp::Config { longest: usize::MAX, ..*config }, secrets)
        };
        let sessions = artp::Sessions::new(config, make);
        let layer = stackwright_transport::Transport::new(
            stackwright_transport::Associations::new(sessions),
            1,
        );
        Over::new(layer, system.udp())
    })
}

/// A peer that sends more than there is room for is told, and so is the application: nothing waits
/// behind a message that never fits.
#[test]
fn a_message_that_never_fits_ends_the_association_at_both_ends() {
    let (place, serving) = serve(with_room(1000), unbounded, |association| {
        assert_eq!(association.receive().unwrap().0, b"before");
        association.receive().unwrap_err()
    });
    let client = Endpoint::new(Config::default(), unbounded).unwrap();
    let association = client.connect(place).unwrap();
    association.send(b"before").unwrap();
    association.send(&[1; 5000]).unwrap();
    let begun = Instant::now();
    let [here, there] = [association.receive().unwrap_err(), serving.join().unwrap()];
    for end in [here, there] {
        assert!(matches!(end, Error::Ended(Ended::TooLong { longest: 1000 })), "{end:?}");
    }
    assert!(begun.elapsed() < Duration::from_secs(5));
}
