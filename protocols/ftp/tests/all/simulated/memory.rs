//! Memory is bounded by credit: ten times the file needs no more of it.

use std::time::Duration;

use stackwright_copy::{CopySide, Indication as Told};
use stackwright_simulator::{Conditions, DiskFaults, Habits, Pace};

use crate::simulated::setting::{AGES, Pair, client_config, content, last_words, server_config};

/// The most that a copy has between its two sides, and a server between a client and its disk.
const AHEAD: usize = 1 << 20;

const HABITS: Habits = Habits {
    credit: 300_000,
    buffer: 200_000,
    chunks: stackwright_simulator::Chunks::Large,
    pace: None,
    backlog: 16,
};

/// The most octets that were held at each place, in the course of a copy.
#[derive(Debug)]
struct Peaks {
    /// Waiting to leave, in the adapters of server and client.
    sending: [usize; 2],
    /// Waiting to be read, in both.
    receiving: [usize; 2],
    in_flight: usize,
    /// In writes that the disk has not answered, there and here.
    unwritten: [usize; 2],
    /// Read on one side and not yet written on the other: whatever the two stacks and the network
    /// hold together.
    between: u64,
}

fn peaks(from: CopySide, octets: usize, disk: Duration, pace: Option<Pace>) -> Peaks {
    let mut pair = Pair::with(
        1,
        server_config(),
        client_config(),
        if from == CopySide::Right { Habits { pace, ..HABITS } } else { HABITS },
        if from == CopySide::Left { Habits { pace, ..HABITS } } else { HABITS },
    );
    let delay = Duration::from_millis(5);
    pair.world.network_mut().set_conditions(Conditions { delay, ..Conditions::IDEAL });
    let (source, target) = if from == CopySide::Left {
        (pair.far.clone(), pair.near.clone())
    } else {
        (pair.near.clone(), pair.far.clone())
    };
    source.borrow_mut().put("a", content(octets, 7));
    target.borrow_mut().faults = DiskFaults { delay: disk, ..DiskFaults::default() };
    pair.copy(from, "a", "b");
    let client = pair.client;
    let mut between = 0;
    let copied = pair.world.run_until(
        |world| {
            // What passed the network and is not on the disk lies in the stack that receives; that
            // is the one which a slow disk could fill.
            let passed = world.network().associations().get(1).map_or(0, |data| data.octets);
            between = between.max(passed.saturating_sub(target.borrow().written()));
            !last_words(&world.application(client).0).is_empty()
        },
        AGES,
    );
    assert!(
        copied && matches!(pair.last_words()[..], [Told::Copied { .. }]),
        "{:?}",
        pair.last_words()
    );
    assert!(source.borrow().octets("a") == target.borrow().octets("b"), "octet for octet");
    let adapters = [
        pair.world.stack(pair.server).lower.left.most_held(),
        pair.world.stack(pair.client).lower.left.lower.most_held(),
    ];
    let peaks = Peaks {
        sending: adapters.map(|held| held.sending),
        receiving: adapters.map(|held| held.receiving),
        in_flight: pair.world.network().most_in_flight(),
        unwritten: [pair.far.borrow().most_held(), pair.near.borrow().most_held()],
        between,
    };
    pair.settle();
    peaks
}

fn is_bounded(peaks: &Peaks) {
    let Peaks { sending, receiving, in_flight, unwritten, between } = peaks;
    // A control association beside the data association has rooms of its own, and a few hundred
    // octets in them.
    let small = 2000;
    assert!(sending.iter().all(|held| *held <= HABITS.credit + small), "{peaks:?}");
    assert!(receiving.iter().all(|held| *held <= HABITS.buffer + small), "{peaks:?}");
    assert!(*in_flight <= HABITS.buffer + small, "{peaks:?}");
    assert!(unwritten.iter().all(|held| *held <= AHEAD), "{peaks:?}");
    // Behind the network: what a side was given room for, and the adapter's buffer before it.
    assert!(*between <= (AHEAD + HABITS.buffer) as u64, "{peaks:?}");
}

fn does_not_grow(from: CopySide, disk: Duration, pace: Option<Pace>) {
    let (small, large) = (peaks(from, 2_000_000, disk, pace), peaks(from, 20_000_000, disk, pace));
    is_bounded(&small);
    is_bounded(&large);
    // The larger file has more occasions to meet a bound, so a little more is no growth.
    assert!(large.between <= small.between + (256 << 10), "2 MB: {small:?}\n20 MB: {large:?}");
}

#[test]
fn a_slow_disk_under_the_server_holds_no_more_than_the_room_it_gave() {
    does_not_grow(CopySide::Right, Duration::from_millis(200), None);
}

#[test]
fn a_slow_disk_under_the_client_holds_no_more_than_the_room_it_gave() {
    does_not_grow(CopySide::Left, Duration::from_millis(200), None);
}

#[test]
fn a_slow_reader_holds_the_sender_back() {
    let pace = Some(Pace { octets: 50_000, rest: Duration::from_millis(100) });
    does_not_grow(CopySide::Left, Duration::ZERO, pace);
    does_not_grow(CopySide::Right, Duration::ZERO, pace);
}

/// A client that sends octet by octet must not make a job for the disk of each octet.
#[test]
fn octets_that_arrive_one_by_one_are_written_together() {
    let habits = Habits { chunks: stackwright_simulator::Chunks::Single, ..HABITS };
    let mut pair = Pair::with(1, server_config(), client_config(), habits, habits);
    pair.near.borrow_mut().put("a", content(50_000, 7));
    pair.far.borrow_mut().faults =
        DiskFaults { delay: Duration::from_millis(5), ..DiskFaults::default() };
    pair.copy(CopySide::Right, "a", "b");
    let client = pair.client;
    assert!(
        pair.world.run_until(|world| !last_words(&world.application(client).0).is_empty(), AGES)
    );
    assert!(pair.near.borrow().octets("a") == pair.far.borrow().octets("b"), "octet for octet");
    let operations = pair.far.borrow().operations();
    assert!(operations < 500, "{operations} operations for 50 000 octets");
}
