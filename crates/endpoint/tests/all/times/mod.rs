//! Bad input and bad times.

mod ways;

use std::env;
use std::fs::File;
use std::mem;
use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::time::Duration;

use crate::common::{ANY, listening, pair, plain, run, with};
use rustix::net::{self, AddressFamily, SendFlags, SocketType, ipproto};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use stackwright_artp as artp;
use stackwright_contract::services::{Credit, Ended, MessageProperties};
use stackwright_endpoint::{Association, Config, Endpoint, Error, System, blocking};
use stackwright_wire::BufferTree;
use tokio::task::spawn_local;
use tokio::time;

type Artp = crate::common::Artp;

const MILLISECOND: u64 = 1_000_000;

fn lifetime(of: Duration) -> MessageProperties {
    MessageProperties {
        lifetime: NonZeroU32::new(of.as_micros() as u32),
        ..MessageProperties::default()
    }
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
            config.idle = Some(500 * MILLISECOND);
            (config.tries, config.timeout_first) = (4, 100 * MILLISECOND);
        };
        let ([client, server], [one, other]) = pair(Config::default(), with(impatient)).await;
        one.send(b"last words").await.unwrap();
        // Nobody runs it any more, and its socket is still there: not even the kernel says that it
        // is gone.
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
        // The kernel answers that nobody has that port. Anybody can say so, and the peer was heard:
        // only his silence ends it.
        let error = loop {
            if let Err(error) = one.send(b"anybody?").await {
                break error;
            }
            time::sleep(Duration::from_millis(10)).await;
        };
        assert!(matches!(error, Error::Ended(Ended::Expired)), "{error}");
    });
}

/// A socket that says what ICMP says, to whoever is addressed; `None` where that is not allowed.
fn forger() -> Option<OwnedFd> {
    let forger = net::socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP));
    if forger.is_err() {
        eprintln!("skipped: raw sockets need rights (CAP_NET_RAW)");
    }
    forger.ok()
}

/// Says to the socket at `victim` that nobody has its peer's port (RFC 792: type 3, code 3), as
/// anybody can who knows both.
fn forge(forger: &OwnedFd, victim: SocketAddr, peer: SocketAddr) {
    let (SocketAddr::V4(from), SocketAddr::V4(to)) = (victim, peer) else { panic!("IPv4") };
    let mut packet = vec![3, 3, 0, 0, 0, 0, 0, 0];
    // What is said to have been sent: its header of IPv4, and the ports and the length of UDP.
    packet.extend([0x45, 0, 0, 36, 0, 0, 0, 0, 64, 17, 0, 0]);
    packet.extend(from.ip().octets().into_iter().chain(to.ip().octets()));
    packet.extend([from.port(), to.port(), 16, 0].into_iter().flat_map(u16::to_be_bytes));
    let words = packet.chunks_exact(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let check = !(folded + (folded >> 16)) as u16;
    packet[2..4].copy_from_slice(&check.to_be_bytes());
    net::sendto(forger, &packet, SendFlags::empty(), &SocketAddr::new(victim.ip(), 0)).unwrap();
}

#[test]
fn a_forged_port_unreachable_ends_nobody_whose_peer_is_alive() {
    let Some(forger) = forger() else { return };
    run(async {
        // It is heard: who has never heard of his peer believes it.
        let silent = UdpSocket::bind(ANY).unwrap();
        let nobody = silent.local_addr().unwrap();
        let gullible = Endpoint::new(Config::default(), System::udp::<BufferTree>).unwrap();
        let opening = gullible.connect(nobody).await.unwrap();
        forge(&forger, opening.local().unwrap(), nobody);
        assert!(matches!(opening.receive().await, Err(Error::Ended(Ended::Unreachable))));

        // Whoever is left alone notices it.
        let lively = |config: &mut artp::Config| {
            (config.silence, config.keepalive) = (5000 * MILLISECOND, Some(1000 * MILLISECOND));
        };
        let ([client, _server], [one, other]) = pair(Config::default(), with(lively)).await;
        let (victim, peer) = (one.local().unwrap(), one.remote().unwrap());
        for round in 0..10_u8 {
            forge(&forger, victim, peer);
            one.send(&[round]).await.unwrap();
            assert_eq!(other.receive().await.unwrap().0, [round]);
            forge(&forger, victim, peer);
            other.send(&[round]).await.unwrap();
            assert_eq!(one.receive().await.unwrap().0, [round]);
        }
        exchange(one, other, 500).await;
        assert!(client.totals().dropped > 0, "what is not believed is counted");
    });
}

#[test]
fn where_nobody_has_the_port_an_opening_ends_at_once() {
    run(async {
        let free = UdpSocket::bind(ANY).unwrap().local_addr().unwrap();
        // Longer than any test runs: it is not the silence that ends it.
        let patient = |config: &mut artp::Config| config.timeout_first = 3_600_000 * MILLISECOND;
        let client = Endpoint::new(Config::default(), with(patient)).unwrap();
        assert!(matches!(client.connect(free).await, Err(Error::Ended(Ended::Unreachable))));
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
            let (sent, came) =
                tokio::join!(one.send_with(b"of use for a minute", minute), other.receive());
            sent.unwrap();
            assert_eq!(came.unwrap().0, b"of use for a minute");
        });
    }
}

#[test]
fn a_clock_of_the_day_that_is_set_expires_nothing_and_hangs_nobody() {
    const HOUR: u64 = 3_600_000_000;
    let expiring = |config: &mut artp::Config| config.expires = true;
    for ahead in [false, true] {
        run(async {
            // Both of these have read it: it is read once, when a stack is made, and all that they
            // do is by a clock that nobody sets.
            let ([_client, server], [one, other]) = pair(Config::default(), with(expiring)).await;
            let minute = lifetime(Duration::from_secs(60));
            one.send_with(b"before", minute).await.unwrap();
            assert_eq!(other.receive().await.unwrap().0, b"before");
            // It is set. Who is made now reads another time, and speaks to one who runs by the time
            // before.
            let set = |config: &mut artp::Config| {
                config.expires = true;
                config.epoch = if ahead { config.epoch + HOUR } else { config.epoch - HOUR };
            };
            let later = Endpoint::new(Config::default(), with(set)).unwrap();
            let place = server.local().unwrap();
            let (third, fourth) = tokio::try_join!(later.connect(place), server.accept()).unwrap();
            for (from, to) in [(&one, &other), (&other, &one), (&third, &fourth), (&fourth, &third)]
            {
                for _ in 0..20 {
                    from.send_with(b"of use for a minute", minute).await.unwrap();
                    assert_eq!(to.receive().await.unwrap().0, b"of use for a minute");
                }
            }
            tokio::join!(exchange(one, other, 100), exchange(third, fourth, 100));
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
        let credit = Credit { octets: 1000, messages: 1 };
        let least = |config: &mut artp::Config| config.send = credit;
        let (_endpoints, [one, other]) =
            pair(Config { credit, ..Config::default() }, with(least)).await;
        exchange(one, other, 50).await;
    });
}

#[test]
fn when_nobody_receives_no_more_is_kept_than_there_is_room_for_and_all_comes_later() {
    run(async {
        let credit = Credit { octets: 20_000, messages: 20 };
        let small = |config: &mut artp::Config| {
            (config.send, config.window) = (Credit { octets: 50_000, messages: 50 }, 32);
        };
        let ([client, server], [one, other]) =
            pair(Config { credit, ..Config::default() }, with(small)).await;
        let (more, waiting) =
            tokio::try_join!(client.connect(server.local().unwrap()), server.accept()).unwrap();
        // Until there is no room anywhere: a send that waits is dropped, and was never sent.
        let mut sent = 0_u32;
        while let Ok(done) = time::timeout(Duration::from_millis(200), more.send(&[7; 1000])).await
        {
            done.unwrap();
            sent += 1;
        }
        assert!(sent <= 20 + 32 + 50, "{sent} are kept by somebody");
        // The other association of both goes on meanwhile.
        exchange(one, other, 200).await;
        let receives = async {
            for _ in 0..sent {
                assert_eq!(waiting.receive().await.unwrap().0, [7; 1000]);
            }
            assert!(waiting.receive().await.is_err_and(|why| why.is_finished()));
        };
        let (closed, ()) = tokio::join!(more.close(), receives);
        closed.unwrap();
    });
}

/// Runs the test of this name alone, in a process of its own, where a limit harms nobody else.
/// Whether this is that process.
fn alone(name: &str) -> bool {
    const ALONE: &str = "STACKWRIGHT_ALONE";
    if env::var_os(ALONE).is_some() {
        return true;
    }
    let mut command = Command::new(env::current_exe().unwrap());
    let outcome = command.args(["--exact", name]).env(ALONE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&outcome.stdout);
    assert!(outcome.status.success() && said.contains(" 1 passed"), "{said}");
    false
}

#[test]
fn where_no_descriptor_is_left_that_is_said_and_who_has_his_goes_on() {
    if !alone("times::where_no_descriptor_is_left_that_is_said_and_who_has_his_goes_on") {
        return;
    }
    run(async {
        let ([_client, server], [one, other]) = pair(Config::default(), plain).await;
        let limit = getrlimit(Resource::Nofile);
        let mut endpoints = Vec::new();
        // Whichever of an endpoint's descriptors it is that is not there any more.
        for most in 64..70 {
            setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..limit }).unwrap();
            let refused = loop {
                match Endpoint::new(Config::default(), plain) {
                    Ok(endpoint) => endpoints.push(endpoint),
                    Err(refused) => break refused,
                }
            };
            assert!(matches!(refused, Error::System(_)), "{refused}");
        }
        // Sockets are opened with associations.
        let last = endpoints.pop().unwrap();
        let mut files = Vec::new();
        while let Ok(file) = File::open("/dev/null") {
            files.push(file);
        }
        let place = server.local().unwrap();
        assert!(matches!(last.connect(place).await, Err(Error::Ended(Ended::Exhausted))));
        exchange(one, other, 100).await;
        drop(files);
        let (_one, _other) = tokio::try_join!(last.connect(place), server.accept()).unwrap();
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
        let credit = Credit { octets: 16 << 10, messages: 16 };
        let small = |config: &mut artp::Config| (config.send, config.expires) = (credit, true);
        let (_endpoints, [one, other]) =
            pair(Config { credit, ..Config::default() }, with(small)).await;
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
        // What was refused never comes, and what was sent and is over neither.
        let ends = async {
            one.send(&[2; 1000]).await.unwrap();
            one.close().await.unwrap();
        };
        let receives = async {
            let mut came = Vec::new();
            while let Ok((octets, _)) = other.receive().await {
                came.push(octets[0]);
            }
            assert!(came.len() + other.statistics().expired as usize <= sent + 1);
            assert!(came.contains(&2));
        };
        tokio::join!(ends, receives);
    });
}

#[test]
fn blocking_calls_refuse_what_is_late_as_well() {
    let server = blocking::Endpoint::bind(
        ANY.parse::<std::net::SocketAddr>().unwrap(),
        Config::default(),
        with(|config| config.expires = true),
    )
    .unwrap();
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
