//! The TCP adapter against plain sockets of the standard library.

use std::convert::Infallible;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use stackwright_contract::services::{
    Credit, Ended, StreamProperties, StreamsIndication as Told, StreamsRequest as Ask,
};
use stackwright_contract::{Handle, Outlet, Participant};
use stackwright_drivers::Driver;
use stackwright_drivers::tcp::{SEND_ROOM, Tcp};
use stackwright_wire::{BufferTree, Leaf, Message, Pool, Region};

type Stack = Tcp<BufferTree>;

/// One adapter, and everything it told.
struct Side {
    driver: Driver,
    tcp: Stack,
    heard: Heard,
}

#[derive(Default)]
struct Heard(Vec<Told<BufferTree>>);

impl Outlet<Stack> for Heard {
    fn indicate(&mut self, told: Told<BufferTree>) {
        self.0.push(told);
    }

    fn request(&mut self, never: Infallible) {
        match never {}
    }
}

impl Side {
    fn new() -> Self {
        let driver = Driver::new(1).unwrap();
        let tcp = Tcp::new(driver.registry(), 0, Arc::new(Pool::new(64 << 10, 8)));
        Side { driver, tcp, heard: Heard::default() }
    }

    fn ask(&mut self, ask: Ask<BufferTree>) {
        self.driver.request(&mut self.tcp, ask, &mut self.heard);
    }

    /// Runs until `found` gives something of what was told. A test that waits ten seconds has
    /// failed.
    fn until<T>(&mut self, mut found: impl FnMut(&[Told<BufferTree>]) -> Option<T>) -> T {
        let since = Instant::now();
        loop {
            if let Some(found) = found(&self.heard.0) {
                return found;
            }
            assert!(
                since.elapsed() < Duration::from_secs(10),
                "it never came; told so far: {:?}",
                self.heard.0
            );
            self.driver
                .turn(&mut self.tcp, &mut self.heard, Some(Duration::from_millis(100)))
                .unwrap();
        }
    }

    /// Runs for a while in which nothing particular is expected.
    fn idle(&mut self) {
        let since = Instant::now();
        while since.elapsed() < Duration::from_millis(50) {
            self.driver
                .turn(&mut self.tcp, &mut self.heard, Some(Duration::from_millis(10)))
                .unwrap();
        }
    }

    fn listen(&mut self, local: &str) -> SocketAddr {
        self.ask(Ask::Listen { listener: name(0), local: address(local).into() });
        self.until(|told| {
            told.iter().find_map(|told| match told {
                Told::Listening { local, .. } => local.internet(),
                _ => None,
            })
        })
    }

    fn ended(&mut self, name: Handle) -> Ended {
        self.until(|told| {
            told.iter().find_map(|told| match told {
                Told::Ended { name: ended, why } if *ended == name => Some(*why),
                _ => None,
            })
        })
    }

    fn opened(&mut self, name: Handle) {
        self.until(|told| {
            told.iter()
                .find(
                    |told| matches!(told, Told::Opened { association, .. } if *association == name),
                )
                .map(|_| ())
        });
    }

    /// Takes the credit downward that was told since the last call.
    fn credit(&mut self, name: Handle) -> usize {
        let told = std::mem::take(&mut self.heard.0);
        let of_name = told.iter().filter_map(|told| match told {
            Told::Opened { association, credit, .. } | Told::Credit { association, credit }
                if *association == name =>
            {
                Some(credit.octets)
            }
            _ => None,
        });
        of_name.sum()
    }

    fn octets(&self, name: Handle) -> Vec<u8> {
        octets(&self.heard.0, name)
    }
}

fn octets(told: &[Told<BufferTree>], name: Handle) -> Vec<u8> {
    let mut octets = Vec::new();
    for told in told {
        if let Told::Delivered { association, batch, .. } = told
            && *association == name
        {
            for leaf in batch.as_octets().leaves() {
                let Leaf::Octets(piece) = leaf else { panic!("a socket delivers octets") };
                octets.extend_from_slice(piece);
            }
        }
    }
    octets
}

fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn message(octets: &[u8]) -> BufferTree {
    BufferTree::with_headroom(16, octets)
}

fn send(association: Handle, message: BufferTree) -> Ask<BufferTree> {
    Ask::Send { association, batch: message.into(), properties: Default::default() }
}

/// A side with one association to a plain socket.
fn pair(local: &str, credit: usize) -> (Side, Handle, TcpStream) {
    let mut side = Side::new();
    let at = side.listen(local);
    side.ask(Ask::Await {
        listener: name(0),
        association: name(1),
        credit: Credit::of_octets(credit),
    });
    let peer = TcpStream::connect(at).unwrap();
    side.opened(name(1));
    (side, name(1), peer)
}

#[test]
fn octets_both_ways_over_both_families_active_and_passive() {
    for local in ["127.0.0.1:0", "[::1]:0"] {
        let (mut side, association, mut peer) = pair(local, 1 << 20);
        peer.write_all(b"question").unwrap();
        side.until(|told| (octets(told, association) == b"question").then_some(()));
        let mut rope = message(b"ans");
        rope.join(message(b"wer"));
        side.ask(send(association, rope));
        side.ask(Ask::Finish { association });
        peer.shutdown(Shutdown::Write).unwrap();
        assert_eq!(side.ended(association), Ended::Finished);
        let mut answer = String::new();
        peer.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "answer");

        let listener = TcpListener::bind(local).unwrap();
        let mut side = Side::new();
        let remote = listener.local_addr().unwrap().into();
        let from = SocketAddr::new(listener.local_addr().unwrap().ip(), 0).into();
        side.ask(Ask::Open {
            association: name(7),
            remote,
            local: Some(from),
            credit: Credit::of_octets(100),
        });
        side.opened(name(7));
        let (mut peer, _) = listener.accept().unwrap();
        peer.write_all(b"hello").unwrap();
        side.until(|told| (octets(told, name(7)) == b"hello").then_some(()));
    }
}

#[test]
fn nothing_is_delivered_without_room_but_the_end_is_told() {
    let (mut side, association, mut peer) = pair("127.0.0.1:0", 10);
    peer.write_all(&[7; 1000]).unwrap();
    side.idle();
    assert_eq!(side.octets(association).len(), 10);
    side.ask(Ask::Credit { association, credit: Credit::of_octets(90) });
    side.until(|told| (octets(told, association).len() == 100).then_some(()));
    side.idle();
    assert_eq!(side.octets(association).len(), 100);
    side.ask(Ask::Credit { association, credit: Credit::of_octets(900) });
    side.until(|told| (octets(told, association).len() == 1000).then_some(()));
    peer.shutdown(Shutdown::Write).unwrap();
    side.until(|told| told.iter().find(|told| matches!(told, Told::Finished { .. })).map(|_| ()));
}

#[test]
fn room_comes_back_as_octets_leave_and_adds_up() {
    let (mut side, association, peer) = pair("127.0.0.1:0", 10);
    let octets: Vec<u8> = (0..SEND_ROOM).map(|n| (n % 251) as u8).collect();
    let expected = octets.clone();
    let reader = thread::spawn(move || {
        let mut all = vec![0; SEND_ROOM];
        let mut peer = peer;
        peer.read_exact(&mut all).unwrap();
        assert!(all == expected);
        peer
    });
    for piece in octets.chunks(1000) {
        side.ask(send(association, message(piece)));
    }
    side.until(|told| {
        let credit: usize = told
            .iter()
            .map(|told| {
                if let Told::Credit { credit: Credit { octets: credit, .. }, .. } = told {
                    *credit
                } else {
                    0
                }
            })
            .sum();
        assert!(
            told.iter()
                .all(|told| !matches!(told, Told::Credit { credit: Credit { octets: 0, .. }, .. })),
            "never a word about nothing"
        );
        (credit == SEND_ROOM).then_some(())
    });
    drop(reader.join().unwrap());
}

#[test]
fn an_abort_is_a_reset_at_the_peer() {
    let (mut side, association, mut peer) = pair("127.0.0.1:0", 10);
    side.ask(Ask::Abort { association, code: 0 });
    assert_eq!(side.ended(association), Ended::Aborted);
    assert_eq!(peer.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    // What crosses the last word is dropped and counted.
    side.ask(Ask::Credit { association, credit: Credit::of_octets(1) });
    assert_eq!(side.driver.context().dropped_count(), 1);
}

/// What a process that is killed has begun must not look whole: only a half that was finished ends
/// as one. The stack that is dropped stands for the process, whose descriptors are closed.
#[test]
fn a_side_that_dies_resets_what_it_has_not_finished() {
    for finishes in [false, true] {
        let (mut side, association, mut peer) = pair("127.0.0.1:0", 1000);
        side.ask(send(association, message(b"half of it")));
        if finishes {
            side.ask(Ask::Finish { association });
        }
        side.idle();
        drop(side);
        let mut octets = Vec::new();
        let ended = peer.read_to_end(&mut octets).map_err(|why| why.kind());
        assert_eq!(ended.is_ok(), finishes, "{ended:?}");
        assert_eq!(octets, b"half of it");
    }
}

#[test]
fn a_close_delivers_what_was_sent_and_discards_what_arrives() {
    let (mut side, association, mut peer) = pair("127.0.0.1:0", 10);
    peer.write_all(&[7; 1000]).unwrap();
    side.until(|told| (octets(told, association).len() == 10).then_some(()));
    side.ask(send(association, message(&[3; SEND_ROOM])));
    side.ask(Ask::Close { name: association });
    side.ask(Ask::Close { name: association });
    assert_eq!(side.driver.context().dropped_count(), 1, "it was asked before");
    let peer = thread::spawn(move || {
        // More than the kernel holds, so that it is discarded all along.
        for _ in 0..100 {
            peer.write_all(&[8; 100_000]).unwrap();
        }
        let mut all = Vec::new();
        peer.read_to_end(&mut all).unwrap();
        peer.write_all(b"last words").unwrap();
        all
    });
    let before = side.heard.0.len();
    assert_eq!(side.ended(association), Ended::Finished);
    assert!(peer.join().unwrap() == [3; SEND_ROOM]);
    side.idle();
    let after = &side.heard.0[before..];
    assert!(matches!(after, [Told::Ended { .. }]), "nothing but the last word: {after:?}");
}

#[test]
fn a_peer_that_never_finishes_does_not_hold_what_was_closed() {
    const TIMEOUT: Duration = Duration::from_millis(100);
    // One peer reads and waits, the other reads nothing, and more was sent than the kernel holds.
    for (octets, reads) in [(1000, true), (0, false), (SEND_ROOM, false)] {
        let (mut side, association, mut peer) = pair("127.0.0.1:0", 10);
        side.tcp = side.tcp.closing_within(TIMEOUT);
        while octets == SEND_ROOM
            && let left @ 1.. = side.credit(association)
        {
            side.ask(send(association, message(&vec![3; left])));
            side.idle();
        }
        if octets < SEND_ROOM {
            side.ask(send(association, message(&vec![3; octets])));
        }
        let since = Instant::now();
        side.ask(Ask::Close { name: association });
        if reads {
            side.idle();
            peer.read_exact(&mut vec![0; octets]).unwrap();
        }
        assert_eq!(side.ended(association), Ended::Expired);
        assert!(since.elapsed() >= TIMEOUT / 2, "it had its time");
        let mut all = Vec::new();
        let end = peer.write_all(&[0]).and_then(|()| peer.read_to_end(&mut all));
        let reset = |error: std::io::Error| {
            matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
        };
        assert!(end.is_err_and(reset), "the peer is reset");
    }
}

#[test]
fn a_name_that_waits_or_connects_can_be_closed() {
    let mut side = Side::new();
    side.listen("127.0.0.1:0");
    side.ask(Ask::Await { listener: name(0), association: name(1), credit: Credit::of_octets(1) });
    side.ask(Ask::Close { name: name(1) });
    assert_eq!(side.ended(name(1)), Ended::Finished);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let remote = listener.local_addr().unwrap().into();
    side.ask(Ask::Open { association: name(2), remote, local: None, credit: Credit::of_octets(1) });
    side.ask(Ask::Close { name: name(2) });
    assert_eq!(side.ended(name(2)), Ended::Finished);
}

#[test]
fn a_reset_of_the_peer_is_told_as_one() {
    let (mut side, association, peer) = pair("127.0.0.1:0", 10);
    rustix::net::sockopt::set_socket_linger(&peer, Some(Duration::ZERO)).unwrap();
    drop(peer);
    assert_eq!(side.ended(association), Ended::Reset(0));
}

/// Also where both happen between two looks, and more happened on either association before.
#[test]
fn ends_are_told_in_the_order_in_which_they_arrived() {
    for seed in 0..64_u32 {
        let mut side = Side::new();
        side.tcp = side.tcp.ordering_ends().unwrap();
        let at = side.listen("127.0.0.1:0");
        let mut peers = Vec::new();
        for nth in [1, 2] {
            let association = name(nth);
            // What is in front of an end may wait for room, and it is told all the same.
            let credit = Credit::of_octets(if seed & 1 == 0 { 1 << 20 } else { 10 });
            side.ask(Ask::Await { listener: name(0), association, credit });
            peers.push(Some(TcpStream::connect(at).unwrap()));
            side.opened(association);
        }
        let order = if seed & 2 == 0 { [0, 1] } else { [1, 0] };
        for nth in [0, 1] {
            if seed & (4 << nth) != 0 {
                peers[nth].as_mut().unwrap().write_all(&[7; 5000]).unwrap();
            }
        }
        if seed & 16 != 0 {
            side.idle();
        }
        for nth in order {
            let mut peer = peers[nth].take().unwrap();
            if seed & 8 << nth != 0 {
                peer.write_all(&[7; 3000]).unwrap();
            }
            if seed & 32 != 0 {
                rustix::net::sockopt::set_socket_linger(&peer, Some(Duration::ZERO)).unwrap();
            }
        }
        let told: Vec<Handle> = side.until(|told| {
            let ends = |told: &Told<BufferTree>| match told {
                Told::Ending { association } => Some(*association),
                _ => None,
            };
            let ends: Vec<Handle> = told.iter().filter_map(ends).collect();
            (ends.len() == 2).then_some(ends)
        });
        assert_eq!(told, order.map(|nth| name(nth as u32 + 1)), "{seed}");
    }
}

/// The kernel keeps what arrived before a reset, and knows whether the peer had finished: a write
/// that meets the reset first changes nothing.
#[test]
fn what_arrived_before_a_reset_is_told_before_it() {
    for finishes in [true, false] {
        let (mut side, association, mut peer) = pair("127.0.0.1:0", 1000);
        // Unread at the peer: so its close is a reset (RFC 1122 §4.2.2.13).
        side.ask(send(association, message(b"unread")));
        side.idle();
        peer.peek(&mut [0]).unwrap();
        peer.write_all(&[5; 3000]).unwrap();
        if finishes {
            peer.shutdown(Shutdown::Write).unwrap();
        }
        drop(peer);
        let credit = Credit::of_octets(5000);
        side.idle();
        side.ask(send(association, message(b"too late")));
        side.idle();
        side.ask(send(association, message(b"later still")));
        side.ask(Ask::Credit { association, credit });
        assert_eq!(side.ended(association), Ended::Reset(0));
        assert_eq!(side.octets(association), [5; 3000]);
        let finished = side.heard.0.iter().any(|told| matches!(told, Told::Finished { .. }));
        assert_eq!(finished, finishes);
    }
}

#[test]
fn regions_of_files_are_sent_and_a_short_one_is_no_end() {
    let mut file = tempfile::tempfile().unwrap();
    let octets: Vec<u8> = (0..300_000u32).map(|n| (n % 241) as u8).collect();
    file.write_all(&octets).unwrap();
    let region = |file: &File, offset, length| {
        let source = Arc::new(file.try_clone().unwrap());
        BufferTree::from_region(Region { source, offset, length }).unwrap()
    };

    let (mut side, association, mut peer) = pair("127.0.0.1:0", 10);
    let mut rope = message(b"head ");
    rope.join(region(&file, 1000, 200_000));
    rope.join(message(b" tail"));
    side.ask(send(association, rope));
    side.ask(Ask::Finish { association });
    let reader = thread::spawn(move || {
        let mut all = Vec::new();
        peer.read_to_end(&mut all).unwrap();
        all
    });
    while !reader.is_finished() {
        side.idle();
    }
    let all = reader.join().unwrap();
    assert!(all.starts_with(b"head ") && all.ends_with(b" tail"));
    assert!(all[5..200_005] == octets[1000..201_000]);

    let (mut side, association, mut peer) = pair("127.0.0.1:0", 10);
    side.ask(send(association, region(&file, 200_000, 200_000)));
    assert_eq!(side.ended(association), Ended::SourceShort);
    let mut all = Vec::new();
    assert_eq!(peer.read_to_end(&mut all).unwrap_err().kind(), ErrorKind::ConnectionReset);
}

#[test]
fn urgent_octets_are_marked_for_the_peer_and_stay_in_line_here() {
    let (mut side, association, peer) = pair("127.0.0.1:0", 100);
    side.ask(Ask::Send {
        association,
        batch: message(b"ab!").into(),
        properties: StreamProperties { expedited: true },
    });
    side.idle();
    let mut octet = [0];
    let (length, _) =
        rustix::net::recv(&peer, &mut octet[..], rustix::net::RecvFlags::OOB).unwrap();
    assert_eq!((length, octet), (1, *b"!"));

    rustix::net::send(&peer, b"cd!", rustix::net::SendFlags::OOB).unwrap();
    side.until(|told| (octets(told, association) == b"cd!").then_some(()));
}

#[test]
fn who_cannot_be_reached_and_where_nobody_may_listen() {
    let mut side = Side::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap(); // nobody listens when it is dropped
    side.ask(Ask::Open {
        association: name(1),
        remote: free.into(),
        local: None,
        credit: Credit::of_octets(1),
    });
    assert_eq!(side.ended(name(1)), Ended::Unreachable);
    side.ask(Ask::Open {
        association: name(2),
        remote: Participant::OTHER_END,
        local: None,
        credit: Credit::of_octets(1),
    });
    assert_eq!(side.ended(name(2)), Ended::Unreachable);

    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    side.ask(Ask::Listen { listener: name(3), local: taken.local_addr().unwrap().into() });
    assert_eq!(side.ended(name(3)), Ended::Unavailable);
}

#[test]
fn nobody_is_accepted_without_a_name_and_unlisten_ends_all_that_wait() {
    let mut side = Side::new();
    let at = side.listen("127.0.0.1:0");
    let peer = TcpStream::connect(at).unwrap();
    side.idle();
    assert!(!side.heard.0.iter().any(|told| matches!(told, Told::Opened { .. })));
    side.ask(Ask::Await { listener: name(0), association: name(1), credit: Credit::of_octets(1) });
    side.opened(name(1));
    for waiting in [2, 3] {
        side.ask(Ask::Await {
            listener: name(0),
            association: name(waiting),
            credit: Credit::of_octets(1),
        });
    }
    side.ask(Ask::Abort { association: name(2), code: 0 });
    assert_eq!(side.ended(name(2)), Ended::Aborted);
    side.ask(Ask::Close { name: name(0) });
    assert_eq!(side.ended(name(3)), Ended::Unlistened);
    assert_eq!(side.ended(name(0)), Ended::Unlistened);
    side.ask(Ask::Await { listener: name(0), association: name(4), credit: Credit::of_octets(1) });
    assert_eq!(side.ended(name(4)), Ended::Unlistened);
    drop(peer);
}

#[test]
fn one_thread_serves_hundreds_of_associations_at_once() {
    const COUNT: u32 = 400; // twice as many descriptors in this process: within the usual limit of 1024
    let mut side = Side::new();
    let at = side.listen("127.0.0.1:0");
    for index in 1..=COUNT {
        side.ask(Ask::Await {
            listener: name(0),
            association: name(index),
            credit: Credit::of_octets(1000),
        });
    }
    let mut peers: Vec<TcpStream> = (0..COUNT).map(|_| TcpStream::connect(at).unwrap()).collect();
    for peer in &mut peers {
        peer.write_all(&[1; 1000]).unwrap();
    }
    side.until(|told| {
        let octets: usize = told
            .iter()
            .map(|told| if let Told::Delivered { batch, .. } = told { batch.octets() } else { 0 })
            .sum();
        (octets == COUNT as usize * 1000).then_some(())
    });
}
