//! Bad input and bad times.

mod common;

use std::mem;
use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroU32;
use std::thread;
use std::time::Duration;

use common::{ANY, listening, pair, plain, run, with};
use stackwright_artp as artp;
use stackwright_contract::services::{Ended, Quality, Room};
use stackwright_endpoint::{Association, Config, Endpoint, Error, blocking};
use tokio::task::spawn_local;

type Artp = common::Artp;

const MILLISECOND: u64 = 1_000_000;

fn lifetime(of: Duration) -> Quality {
    Quality { lifetime: NonZeroU32::new(of.as_micros() as u32), ..Quality::default() }
}

/// Sends so many messages of 1000 octets, and closes; all come, once.
async fn exchange(one: Association<Artp>, other: Association<Artp>, count: u32) {
    let sends = async {
        for number in 0..count {
            one.send(&[number.to_be_bytes(); 250].concat()).await.unwrap();
        }
        one.close().await.unwrap();
    };
    let receives = async {
        let mut numbers = Vec::new();
        loop {
            match other.receive().await {
                Ok((octets, _)) => numbers.push(u32::from_be_bytes(*octets.first_chunk().unwrap())),
                Err(why) => break assert!(why.is_finished(), "{why}"),
            }
        }
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..count), "each once");
    };
    tokio::join!(sends, receives);
}

#[test]
fn a_peer_who_vanishes_is_noticed() {
    run(async {
        let impatient = |config: &mut artp::Config| {
            (config.silence, config.keepalive) = (500 * MILLISECOND, Some(100 * MILLISECOND));
        };
        let ([client, server], [one, other]) = pair(Config::default(), with(impatient)).await;
        one.send(b"last words").await.unwrap();
        // Nobody runs it any more, and its socket is still there: not even the kernel says that it is gone.
        mem::forget((one, client));
        assert_eq!(other.receive().await.unwrap().0, b"last words");
        assert!(matches!(other.receive().await, Err(Error::Ended(Ended::Expired))));
        assert!(matches!(other.send(b"anybody?").await, Err(Error::Ended(Ended::Expired))));
        drop(other);
        assert_eq!(server.totals().associations, 0);
    });
}

#[test]
fn a_port_that_is_closed_meanwhile_is_noticed() {
    run(async {
        let impatient = |config: &mut artp::Config| config.silence = 2000 * MILLISECOND;
        let ([_client, server], [one, other]) = pair(Config::default(), with(impatient)).await;
        drop((other, server));
        // The kernel answers that nobody has that port. Whether that is believed or the silence is, it ends, and badly.
        let error = loop {
            if let Err(error) = one.send(b"anybody?").await {
                break error;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        };
        assert!(matches!(error, Error::Ended(Ended::Unreachable | Ended::Expired)), "{error}");
    });
}

/// Somebody in the middle whose sockets hold two packets, and who is slow.
fn narrow(server: SocketAddr) -> SocketAddr {
    let front = UdpSocket::bind(ANY).unwrap();
    let back = UdpSocket::bind(ANY).unwrap();
    back.connect(server).unwrap();
    for socket in [&front, &back] {
        rustix::net::sockopt::set_socket_recv_buffer_size(socket, 4 << 10).unwrap();
    }
    let place = front.local_addr().unwrap();
    let (front_too, back_too) = (front.try_clone().unwrap(), back.try_clone().unwrap());
    thread::spawn(move || {
        let mut packet = [0; 2048];
        let mut answering = false;
        while let Ok((octets, client)) = front.recv_from(&mut packet) {
            if !mem::replace(&mut answering, true) {
                let (front, back) = (front_too.try_clone().unwrap(), back_too.try_clone().unwrap());
                thread::spawn(move || {
                    let mut packet = [0; 2048];
                    while let Ok(octets) = back.recv(&mut packet) {
                        let _ = front.send_to(&packet[..octets], client);
                    }
                });
            }
            let _ = back.send(&packet[..octets]);
        }
    });
    place
}

#[test]
fn where_a_sockets_buffer_is_tiny_everything_comes() {
    run(async {
        let server = listening(Config::default(), plain).await;
        let client = Endpoint::new(Config::default(), plain).unwrap();
        let place = narrow(server.local().unwrap());
        let (one, other) = tokio::try_join!(client.connect(place), server.accept()).unwrap();
        exchange(one, other, 2000).await;
    });
}

#[test]
fn clocks_that_differ_by_an_hour_let_messages_live() {
    const HOUR: u64 = 3_600_000_000;
    for ahead in [false, true] {
        run(async {
            let server = listening(Config::default(), with(|config| config.expires = true)).await;
            let other_time = |config: &mut artp::Config| {
                config.expires = true;
                config.epoch = if ahead { config.epoch + HOUR } else { config.epoch - HOUR };
            };
            let client = Endpoint::new(Config::default(), with(other_time)).unwrap();
            let place = server.local().unwrap();
            let (one, other) = tokio::try_join!(client.connect(place), server.accept()).unwrap();
            let minute = lifetime(Duration::from_secs(60));
            let (sent, came) = tokio::join!(one.send_with(b"of use for a minute", minute), other.receive());
            sent.unwrap();
            assert_eq!(came.unwrap().0, b"of use for a minute");
        });
    }
}

#[test]
fn strangers_who_send_anything_are_dropped_and_harm_nobody() {
    run(async {
        let ([_client, server], [one, other]) = pair(Config::default(), plain).await;
        let place = server.local().unwrap();
        let stranger = UdpSocket::bind(ANY).unwrap();
        for length in 0..500 {
            let noise: Vec<_> = (0..length).map(|place| (place * 31 + length) as u8).collect();
            stranger.send_to(&noise, place).unwrap();
        }
        exchange(one, other, 500).await;
        assert!(server.totals().dropped > 0);
    });
}

#[test]
fn with_the_least_room_everything_comes() {
    run(async {
        let room = Room { octets: 1000, messages: 1 };
        let least = |config: &mut artp::Config| config.send = room;
        let (_endpoints, [one, other]) = pair(Config { room, ..Config::default() }, with(least)).await;
        exchange(one, other, 50).await;
    });
}

#[test]
fn when_no_more_may_arrive_those_who_wait_come_later() {
    run(async {
        let server = listening(Config { arrivals_most: 1, ..Config::default() }, plain).await;
        let place = server.local().unwrap();
        let again = |config: &mut artp::Config| config.timeout_first = 100 * MILLISECOND;
        let clients: Vec<_> = (0..10_u8)
            .map(|number| {
                spawn_local(async move {
                    let client = Endpoint::new(Config::default(), with(again)).unwrap();
                    let association = client.connect(place).await.unwrap();
                    association.send(&[number]).await.unwrap();
                    association.close().await.unwrap();
                })
            })
            .collect();
        let mut numbers = Vec::new();
        for _ in 0..10 {
            let guest = server.accept().await.unwrap();
            numbers.push(guest.receive().await.unwrap().0[0]);
            assert!(guest.receive().await.is_err_and(|why| why.is_finished()));
        }
        for client in clients {
            client.await.unwrap();
        }
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..10));
    });
}

#[test]
fn what_cannot_arrive_within_its_lifetime_is_never_queued() {
    run(async {
        let room = Room { octets: 16 << 10, messages: 16 };
        let small = |config: &mut artp::Config| config.send = room;
        let (_endpoints, [one, other]) = pair(Config { room, ..Config::default() }, with(small)).await;
        let mut sent = 0;
        // Nobody receives: room is over sooner or later, and then the time is.
        let late = loop {
            match one.send_with(&[1; 1000], lifetime(Duration::from_millis(50))).await {
                Ok(()) => sent += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(late, Error::Late), "{late}");
        assert_eq!((one.statistics().late, one.statistics().sent.messages), (1, sent));
        // Of what was sent nothing is missing, and what was refused never comes.
        let ends = async {
            one.send(&[2; 1000]).await.unwrap();
            one.close().await.unwrap();
        };
        let receives = async {
            let mut came = Vec::new();
            while let Ok((octets, _)) = other.receive().await {
                came.push(octets[0]);
            }
            assert_eq!(came.len(), sent + 1);
            assert!(came.contains(&2));
        };
        tokio::join!(ends, receives);
    });
}

#[test]
fn blocking_calls_refuse_what_is_late_as_well() {
    let server = blocking::Endpoint::bind(ANY.parse().unwrap(), Config::default(), plain).unwrap();
    let one = server.connect(server.local().unwrap()).unwrap();
    let _other = server.accept().unwrap();
    let late = loop {
        if let Err(error) = one.send_with(&[1; 60_000], lifetime(Duration::from_millis(20))) {
            break error;
        }
    };
    assert!(matches!(late, Error::Late), "{late}");
    assert_eq!(one.statistics().late, 1);
}
