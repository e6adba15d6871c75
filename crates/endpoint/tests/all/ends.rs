//! What each end is told when an association is over.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use stackwright_artp as artp;
use stackwright_contract::services::Ended;
use stackwright_endpoint::blocking::Endpoint;
use stackwright_endpoint::{Config, Error, System};

use crate::placement::{self, Artp};

const ANY: &str = "127.0.0.1:0";

fn with(change: impl Fn(&mut artp::Config)) -> impl Fn(&System) -> Artp {
    move |system| {
        let mut config =
            artp::Config { epoch: system.epoch(), ..artp::Config::new(system.secret()) };
        change(&mut config);
        placement::stack(system, config)
    }
}

fn stack(system: &System) -> Artp {
    with(|_| {})(system)
}

fn any() -> SocketAddr {
    ANY.parse().unwrap()
}

/// `c02_rr_threads`: the acknowledgement of the reply comes with the close, and is not overtaken.
#[test]
fn a_close_after_request_and_reply_is_told_as_an_end_in_good_order() {
    const TIMES: usize = 3000;
    let (tell, told) = mpsc::channel();
    let serving = thread::spawn(move || {
        let endpoint = Endpoint::bind(any(), Config::default(), stack).unwrap();
        tell.send(endpoint.local().unwrap()).unwrap();
        let mut others = 0;
        for _ in 0..TIMES {
            let association = endpoint.accept().unwrap();
            let end = loop {
                match association.receive() {
                    Ok((request, _)) => association.send(&request).unwrap(),
                    Err(end) => break end,
                }
            };
            others += usize::from(!end.is_finished());
        }
        others
    });
    let place = told.recv().unwrap();
    let client = Endpoint::new(Config::default(), stack).unwrap();
    for _ in 0..TIMES {
        let association = client.connect(place).unwrap();
        association.send(b"request").unwrap();
        assert_eq!(association.receive().unwrap().0, b"request");
        association.close().unwrap();
    }
    assert_eq!(serving.join().unwrap(), 0, "of {TIMES} were told otherwise");
}

/// `srvdrop`: a server that drops everything tells its peer, which need not wait for a silence.
#[test]
fn a_dropped_endpoint_tells_its_peers_at_once() {
    for replies in [0, 1, 100] {
        let (tell, told) = mpsc::channel();
        let serving = thread::spawn(move || {
            let endpoint = Endpoint::bind(any(), Config::default(), stack).unwrap();
            tell.send(endpoint.local().unwrap()).unwrap();
            let association = endpoint.accept().unwrap();
            association.receive().unwrap();
            for _ in 0..replies {
                association.send(&[1; 1000]).unwrap();
            }
        });
        let place = told.recv().unwrap();
        let client = Endpoint::new(Config::default(), stack).unwrap();
        let association = client.connect(place).unwrap();
        association.send(b"request").unwrap();
        let begun = Instant::now();
        let end = loop {
            match association.receive() {
                Ok(_) => {}
                Err(end) => break end,
            }
        };
        let is_told = |end: &Error| matches!(end, Error::Ended(Ended::Finished | Ended::Reset(0)));
        assert!(is_told(&end) && begun.elapsed() < Duration::from_secs(1), "{end:?}");
        serving.join().unwrap();
    }
}

/// The acknowledgement of what was sent does not come while the peer does not run.
#[test]
fn a_dropped_endpoint_whose_messages_have_not_arrived_is_a_reset() {
    let server = Endpoint::bind(any(), Config::default(), stack).unwrap();
    let place = server.local().unwrap();
    let (tell, told) = mpsc::channel();
    let (go, gone) = mpsc::channel();
    let sending = thread::spawn(move || {
        let client = Endpoint::new(Config::default(), stack).unwrap();
        let association = client.connect(place).unwrap();
        tell.send(()).unwrap();
        gone.recv().unwrap();
        for _ in 0..100 {
            association.send(&[1; 1000]).unwrap();
        }
    });
    let association = server.accept().unwrap();
    while told.try_recv().is_err() {
        server.wait(Some(Duration::from_millis(1))).unwrap();
    }
    go.send(()).unwrap();
    sending.join().unwrap();
    let begun = Instant::now();
    let end = loop {
        match association.receive() {
            Ok(_) => {}
            Err(end) => break end,
        }
    };
    assert!(matches!(end, Error::Ended(Ended::Reset(0))), "{end:?}");
    assert!(begun.elapsed() < Duration::from_secs(1));
}

/// The other process of the tests below: it connects, says so, and waits.
#[test]
#[ignore = "it is run by the tests that kill it"]
fn waits_to_be_killed() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let idle = Duration::from_secs(std::env::var(IDLE).unwrap().parse().unwrap());
    let client = Endpoint::new(Config::default(), with(bearing(idle))).unwrap();
    let association = client.connect(place.parse::<SocketAddr>().unwrap()).unwrap();
    association.send(b"here").unwrap();
    let _ = association.receive();
}

/// The name of the variable that says where it connects.
const PLACE: &str = "STACKWRIGHT_TEST_PLACE";

/// And the one for how long it bears silence, in seconds.
const IDLE: &str = "STACKWRIGHT_TEST_IDLE";

/// Configures for how long silence is borne: the longer time is that of both ends.
fn bearing(idle: Duration) -> impl Fn(&mut artp::Config) + Copy {
    let idle = idle.as_nanos() as u64;
    move |config: &mut artp::Config| (config.idle, config.silence) = (Some(idle), idle / 3)
}

/// Returns after how long the end of a process that is killed is noticed.
fn killed(idle: Duration) -> Duration {
    let server = Endpoint::bind(any(), Config::default(), with(bearing(idle))).unwrap();
    let mut other = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "ends::waits_to_be_killed", "--ignored"])
        .env(PLACE, server.local().unwrap().to_string())
        .env(IDLE, idle.as_secs().to_string())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let association = server.accept().unwrap();
    assert_eq!(association.receive().unwrap().0, b"here");
    other.kill().unwrap();
    other.wait().unwrap();
    let begun = Instant::now();
    let end = association.receive().unwrap_err();
    assert!(matches!(end, Error::Ended(Ended::Expired | Ended::Unreachable)), "{end:?}");
    begun.elapsed()
}

/// `net7`, in short: the idle timeout, and a second for a busy machine.
#[test]
fn a_peer_that_is_killed_is_noticed_after_the_idle_timeout() {
    let noticed = killed(Duration::from_secs(2));
    assert!(noticed < Duration::from_secs(3), "{noticed:?}");
}

#[test]
#[ignore = "it takes 90 s"]
fn a_peer_that_is_killed_is_noticed_within_ninety_seconds_by_default() {
    let noticed = killed(3 * Duration::from_nanos(artp::Config::new([1; 16]).silence));
    assert!(noticed < Duration::from_secs(91), "{noticed:?}");
}
