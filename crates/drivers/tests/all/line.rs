//! Lines to what comes and goes.

use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stackwright_contract::Outlet;
use stackwright_contract::services::{OctetsIndication, OctetsRequest};
use stackwright_drivers::Driver;
use stackwright_drivers::line::Line;
use stackwright_wire::{Message, Pool, SingleBuffer};

type M = SingleBuffer;

/// What a line told.
#[derive(Default)]
struct Told {
    states: Vec<bool>,
    credit: usize,
    octets: Vec<u8>,
}

impl Outlet<Line<M>> for Told {
    fn indicate(&mut self, word: OctetsIndication<M>) {
        match word {
            OctetsIndication::State { up } => {
                self.states.push(up);
                self.credit = 0;
            }
            OctetsIndication::Credit { credit } => self.credit += credit,
            OctetsIndication::Delivered { message } => {
                assert_eq!(self.states.last(), Some(&true), "nothing comes while it is down");
                self.octets.extend_from_slice(message.octets());
            }
        }
    }

    fn request(&mut self, never: Infallible) {
        match never {}
    }
}

struct End {
    driver: Driver,
    line: Line<M>,
    told: Told,
}

fn pool() -> Arc<Pool<M>> {
    Arc::new(Pool::new(4096, 4))
}

impl End {
    fn new(make: impl FnOnce(&Driver) -> Line<M>) -> Self {
        let driver = Driver::new(1).expect("the system has one");
        let line = make(&driver);
        End { driver, line, told: Told::default() }
    }

    fn tcp(addresses: Vec<SocketAddr>) -> Self {
        End::new(|driver| Line::tcp(addresses, driver.registry(), 0, pool()))
    }

    fn pty(link: &Path) -> Self {
        End::new(|driver| Line::pty(link, driver.registry(), 0, pool()).expect("a terminal"))
    }

    fn serial(path: &Path, baud: u32) -> Self {
        End::new(|driver| Line::serial(path, baud, driver.registry(), 0, pool()))
    }

    fn turn(&mut self) {
        let wait = Some(Duration::from_millis(5));
        self.driver.turn(&mut self.line, &mut self.told, wait).expect("a poll");
    }

    /// Runs until it is so; a line that does not get there in time fails the test.
    fn until(&mut self, what: &str, mut is_so: impl FnMut(&Told) -> bool) -> Duration {
        let begin = Instant::now();
        while !is_so(&self.told) {
            self.turn();
            assert!(begin.elapsed() < Duration::from_secs(30), "{what}: {:?}", self.told.states);
        }
        begin.elapsed()
    }

    fn ask(&mut self, request: OctetsRequest<M>) {
        self.driver.request(&mut self.line, request, &mut self.told);
    }

    fn send(&mut self, octets: &[u8]) {
        self.told.credit -= octets.len();
        self.ask(OctetsRequest::Send { message: M::with_headroom(0, octets) });
    }

    fn give(&mut self, credit: usize) {
        self.ask(OctetsRequest::Credit { credit });
    }
}

/// A device server that answers each octet, and then is gone.
#[test]
fn a_host_comes_and_goes() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    drop(listener);
    let mut end = End::tcp(vec![address]);
    end.until("nobody listens", |told| !told.states.is_empty());
    assert_eq!((&end.told.states[..], end.told.credit), (&[false][..], 0));
    for round in 0..3 {
        let listener = TcpListener::bind(address).expect("the same port");
        end.until("it listens", |told| told.states.last() == Some(&true));
        let (mut peer, _) = listener.accept().expect("a connection");
        end.turn();
        assert_eq!(end.told.credit, 65_536);
        end.give(1000);
        end.send(b"question");
        end.until("it is sent", |told| told.credit == 65_536);
        let mut question = [0; 8];
        peer.read_exact(&mut question).expect("the question");
        peer.write_all(b"answer").expect("written");
        end.until("it answers", |told| told.octets.len() == 6 * (round + 1));
        drop((peer, listener));
        end.until("it is gone", |told| told.states.last() == Some(&false));
        // This crossed the word; the next peer must not get it.
        end.told.credit = 100;
        end.send(b"lost");
        end.give(7);
    }
    assert_eq!(end.told.states, [false, true, false, true, false, true, false]);
    assert_eq!(end.told.octets, b"answeranswer".repeat(2)[..18]);
}

/// A host has several addresses, of which the last is where it listens.
#[test]
fn every_address_of_a_host_is_tried() {
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("known");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let open = listener.local_addr().expect("known");
    let mut end = End::tcp(vec![closed, closed, open]);
    let took = end.until("it is found", |told| !told.states.is_empty());
    assert_eq!(end.told.states, [true], "it was never down");
    assert!(took < Duration::from_millis(700), "without a delay: {took:?}");
    let mut none = End::tcp(vec![]);
    none.until("there is nothing to try", |told| told.states == [false]);
}

/// A peer that stops reading: what was sent waits, within the credit, and the rest follows.
#[test]
fn a_host_that_stops_reading_keeps_its_octets_waiting() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut end = End::tcp(vec![listener.local_addr().expect("known")]);
    end.until("it is up", |told| told.credit > 0);
    let (mut peer, _): (TcpStream, _) = listener.accept().expect("a connection");
    let mut sent = 0;
    let quiet = |end: &mut End| {
        (0..20).for_each(|_| end.turn());
        end.told.credit
    };
    while quiet(&mut end) > 0 {
        while end.told.credit > 0 {
            let octets = vec![7; end.told.credit];
            sent += octets.len();
            assert!(sent < 64 << 20, "the kernel holds no such amount");
            end.send(&octets);
        }
    }
    let reader = std::thread::spawn(move || {
        let mut octets = Vec::new();
        peer.read_to_end(&mut octets).expect("all of it");
        octets
    });
    end.until("it reads on", |told| told.credit == 65_536);
    drop(end);
    assert_eq!(reader.join().expect("it read").len(), sent);
}

/// A terminal that is made here, and opened as a serial device: both ends are lines.
#[test]
fn a_terminal_is_a_serial_device_to_another_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let link = folder.path().join("tnc");
    let mut ours = End::pty(&link);
    ours.until("nobody has it open", |told| told.states == [false]);
    // Every octet passes as it is, at any speed.
    let all: Vec<u8> = (0..=255).collect();
    for (round, baud) in [1200, 9600, 57_600, 12_345].into_iter().enumerate() {
        let mut theirs = End::serial(&link, baud);
        theirs.until("it is opened", |told| told.states == [true]);
        ours.until("it is opened", |told| told.states.last() == Some(&true));
        ours.give(10_000);
        theirs.give(10_000);
        ours.send(&all);
        theirs.send(&all);
        while ours.told.octets.len() < 256 * (round + 1) || theirs.told.octets.len() < 256 {
            ours.turn();
            theirs.turn();
        }
        assert_eq!(theirs.told.octets, all);
        // A device has one owner.
        let mut third = End::serial(&link, baud);
        third.until("it is taken", |told| told.states == [false]);
        drop((third, theirs));
        ours.until("it is closed", |told| told.states.last() == Some(&false));
    }
    assert_eq!(ours.told.octets, all.repeat(4));
    drop(ours);
    assert!(!link.is_symlink(), "the link goes with the line");
}

#[test]
fn a_terminal_takes_the_place_of_a_stale_link_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let (driver, link) = (Driver::new(1).expect("a driver"), folder.path().join("tnc"));
    let make = || Line::<M>::pty(&link, driver.registry(), 0, pool());
    std::os::unix::fs::symlink("/dev/pts/999999", &link).expect("a stale link");
    drop(make().expect("it is replaced"));
    std::fs::write(&link, b"precious").expect("a file");
    assert!(make().is_err());
    assert_eq!(std::fs::read(&link).expect("it is there"), b"precious");
}

/// A device that is not there yet, is no terminal, or is pulled out.
#[test]
fn a_serial_device_comes_and_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    let link = folder.path().join("tnc");
    let mut serial = End::serial(&link, 9600);
    serial.until("it is not there", |told| told.states == [false]);
    std::fs::write(&link, b"no terminal").expect("a file");
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(2500) {
        serial.turn();
    }
    assert_eq!(serial.told.states, [false]);
    std::fs::remove_file(&link).expect("removed");
    for _ in 0..2 {
        let mut tnc = End::pty(&link);
        let took = serial.until("it is plugged in", |told| told.states.last() == Some(&true));
        assert!(took < Duration::from_secs(4), "{took:?}");
        tnc.until("it is opened", |told| told.states.last() == Some(&true));
        serial.give(1);
        drop(tnc);
        serial.until("it is pulled out", |told| told.states.last() == Some(&false));
    }
    assert_eq!(serial.told.states, [false, true, false, true, false]);
}
