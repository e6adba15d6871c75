//! Lifetimes hold until a message is asked for, and are refused where they cannot be kept.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use stackwright_artp as artp;
use stackwright_compose::Over;
use stackwright_contract::services::MessageProperties;
use stackwright_drivers::udp::Udp;
use stackwright_endpoint::blocking::Endpoint;
use stackwright_endpoint::{Config, Error, System};
use stackwright_wire::BufferTree;

type Artp = Over<artp::Layer<BufferTree>, Udp<BufferTree>>;

fn stack(expires: bool) -> impl Fn(&System) -> Artp {
    move |system| {
        let config =
            artp::Config { epoch: system.epoch(), expires, ..artp::Config::new(system.secret()) };
        Over::new(artp::layer(config, system.seed()), system.udp())
    }
}

fn any() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn living(lifetime: Duration) -> MessageProperties {
    let lifetime = NonZeroU32::new(lifetime.as_micros() as u32);
    MessageProperties { lifetime, ..MessageProperties::default() }
}

/// `late2`: a message each millisecond, and a reader that takes five for each.
#[test]
fn what_is_over_is_dropped_when_it_is_asked_for_and_counted() {
    const LIFETIME: Duration = Duration::from_millis(50);
    const MESSAGES: u64 = 500;
    let begun = Instant::now();
    let (tell, told) = mpsc::channel();
    let reading = thread::spawn(move || {
        let endpoint = Endpoint::bind(any(), Config::default(), stack(true)).unwrap();
        tell.send(endpoint.local().unwrap()).unwrap();
        let association = endpoint.accept().unwrap();
        let mut ages = Vec::new();
        while let Ok((message, _)) = association.receive() {
            let sent = Duration::from_micros(u64::from_be_bytes(message[..8].try_into().unwrap()));
            ages.push(begun.elapsed().saturating_sub(sent));
            thread::sleep(Duration::from_millis(5));
        }
        (ages, association.statistics())
    });
    let place = told.recv().unwrap();
    let client = Endpoint::new(Config::default(), stack(true)).unwrap();
    let association = client.connect(place).unwrap();
    let mut sent = 0;
    for _ in 0..MESSAGES {
        let mut message = [0; 1000];
        let now = begun.elapsed().as_micros() as u64;
        message[..8].copy_from_slice(&now.to_be_bytes());
        sent += u64::from(association.send_with(&message, living(LIFETIME)).is_ok());
        client.wait(Some(Duration::from_millis(1))).unwrap();
    }
    association.close().unwrap();
    let (ages, statistics) = reading.join().unwrap();
    assert!(statistics.expired > 0 && statistics.expired + ages.len() as u64 <= sent);
    // What was sent before the peer's clock was known has no lifetime on the wire.
    let late = ages.iter().filter(|age| **age > LIFETIME + Duration::from_millis(20)).count();
    assert!(late <= 20 && !ages.is_empty(), "{late} of {}: {ages:?}", ages.len());
    assert!(ages.iter().max().unwrap() < &Duration::from_millis(300), "{ages:?}");
}

/// `lateoff`.
#[test]
fn a_lifetime_that_the_peer_does_not_keep_is_refused() {
    for [here, there] in [[false, false], [true, false], [false, true]] {
        let endpoint = Endpoint::bind(any(), Config::default(), stack(there)).unwrap();
        let (place, peer) = (endpoint.local().unwrap(), stack(here));
        let (tell, told) = mpsc::channel();
        let asking = thread::spawn({
            move || {
                let client = Endpoint::new(Config::default(), move |system: &System| peer(system));
                let association = client.unwrap().connect(place).unwrap();
                let refused = association.send_with(b"late", living(Duration::from_millis(20)));
                tell.send(matches!(refused, Err(Error::NeverExpires))).unwrap();
                association.send(b"never").unwrap();
                association.close().unwrap();
            }
        });
        let association = endpoint.accept().unwrap();
        assert_eq!(association.receive().unwrap().0, b"never");
        assert!(association.receive().is_err_and(|end| end.is_finished()));
        assert!(told.recv().unwrap());
        asking.join().unwrap();
    }
}
