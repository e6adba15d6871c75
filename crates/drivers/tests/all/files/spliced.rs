//! What a socket delivers in pipes of the kernel, written by the disk.

use std::fs;
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::net::SendFlags;
use stackwright_contract::services::{
    Credit, Ended, Failure, FilesIndication, FilesRequest, Keep, Purpose,
    StreamsIndication as Told, StreamsRequest as Ask,
};
use stackwright_contract::{Command, Handle, IndicationOf, Outlet, RequestOf};
use stackwright_drivers::Driver;
use stackwright_drivers::tcp::Tcp;
use stackwright_wire::{BufferTree, Leaf, Message, Pool};

use crate::files::bench::{BLOCK, Bench, bench, pattern, writable};

type Stack = Tcp<BufferTree>;

const LISTENER: Handle = Handle { index: 0, generation: 0 };
const STREAM: Handle = Handle { index: 1, generation: 0 };

/// An adapter with one association.
struct Socket {
    driver: Driver,
    tcp: Stack,
    heard: Heard,
}

#[derive(Default)]
struct Heard(Vec<Told<BufferTree>>);

impl Outlet<Stack> for Heard {
    fn indicate(&mut self, told: IndicationOf<Stack>) {
        self.0.push(told);
    }
    fn request(&mut self, request: RequestOf<Stack>) {
        match request {}
    }
}

impl Socket {
    /// One that may splice, and its peer.
    fn pair(credit: usize) -> (Self, TcpStream) {
        let (mut socket, peer) = Self::with(credit, Stack::splicing);
        socket.ask(Ask::Control { association: STREAM, command: Command::Unread });
        let answer = socket.hear();
        assert!(matches!(answer, Told::Controlled { outcome: Ok(0), .. }), "{answer:?}");
        (socket, peer)
    }

    fn with(credit: usize, option: impl Fn(Stack) -> Stack) -> (Self, TcpStream) {
        let driver = Driver::new(1).expect("a poll");
        let pool = Arc::new(Pool::new(BLOCK, 16));
        let tcp = option(Tcp::new(driver.registry(), 0, pool));
        let mut socket = Socket { driver, tcp, heard: Heard::default() };
        socket.ask(Ask::Listen {
            listener: LISTENER,
            local: "127.0.0.1:0".parse::<std::net::SocketAddr>().expect("an address").into(),
        });
        let at = match socket.hear() {
            Told::Listening { local, .. } => local.internet().expect("an address"),
            other => panic!("{other:?}"),
        };
        socket.ask(Ask::Await {
            listener: LISTENER,
            association: STREAM,
            credit: Credit::of_octets(credit),
        });
        let peer = TcpStream::connect(at).expect("somebody listens");
        assert!(matches!(socket.hear(), Told::Opened { .. }));
        (socket, peer)
    }

    fn ask(&mut self, ask: Ask<BufferTree>) {
        self.driver.request(&mut self.tcp, ask, &mut self.heard);
    }

    /// What is told next.
    fn hear(&mut self) -> Told<BufferTree> {
        let since = Instant::now();
        while self.heard.0.is_empty() {
            assert!(since.elapsed() < Duration::from_secs(20), "the socket is silent");
            self.driver
                .turn(&mut self.tcp, &mut self.heard, Some(Duration::from_millis(100)))
                .expect("a turn");
        }
        self.heard.0.remove(0)
    }

    /// Runs for a while in which nothing is told.
    fn idle(&mut self) {
        for _ in 0..10 {
            self.driver
                .turn(&mut self.tcp, &mut self.heard, Some(Duration::from_millis(10)))
                .expect("a turn");
        }
        assert!(self.heard.0.is_empty());
    }

    fn delivered(&mut self) -> BufferTree {
        match self.hear() {
            Told::Delivered { batch, .. } => batch.into_octets(),
            other => panic!("{other:?}"),
        }
    }

    /// The next octets, for which room is given back; `None` at the end.
    fn next(&mut self) -> Option<BufferTree> {
        match self.hear() {
            Told::Delivered { batch, .. } => {
                let message = batch.into_octets();
                self.ask(Ask::Credit {
                    association: STREAM,
                    credit: Credit::of_octets(message.len()),
                });
                Some(message)
            }
            Told::Finished { .. } => None,
            other => panic!("{other:?}"),
        }
    }
}

/// Sends all octets; the end may follow.
fn send_on(mut peer: TcpStream, octets: Vec<u8>) -> JoinHandle<TcpStream> {
    thread::spawn(move || {
        peer.write_all(&octets).expect("somebody reads");
        peer
    })
}

/// Sends all octets, and the end.
fn send(mut peer: TcpStream, octets: Vec<u8>) -> JoinHandle<TcpStream> {
    thread::spawn(move || {
        // It fails where the test has seen enough.
        let _ = peer.write_all(&octets).and_then(|()| peer.shutdown(Shutdown::Write));
        peer
    })
}

fn is_region(message: &BufferTree) -> bool {
    message.leaves().all(|leaf| matches!(leaf, Leaf::Region(_)))
}

#[test]
fn a_stream_is_written_whole_and_in_order() {
    let content = pattern(10_000_003);
    let (mut socket, peer) = Socket::pair(1 << 20);
    let peer = send(peer, content.clone());
    let mut bench = bench();
    let file = bench.create("whole").expect("opened");
    let (mut asked, mut written, mut spliced) = (0, 0, 0);
    while let Some(mut message) = socket.next() {
        spliced += if is_region(&message) { message.len() } else { 0 };
        // In parts, as a protocol passes on what was asked of it.
        while !message.is_empty() {
            let part = message.split_to(message.len().min(50_000));
            let length = part.len();
            bench.ask(FilesRequest::Write { file, offset: asked, message: part });
            asked += length as u64;
        }
        while asked - written > 1 << 20 {
            match bench.hear() {
                FilesIndication::Written { octets, .. } => written += octets as u64,
                other => panic!("{other:?}"),
            }
        }
    }
    while written < asked {
        match bench.hear() {
            FilesIndication::Written { octets, .. } => written += octets as u64,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(bench.close(file, Keep::Whole), Ok(()));
    assert!(bench.got("whole") == Some(content));
    assert!(spliced > 0, "nothing came in a pipe");
    drop(peer.join());
}

#[test]
fn octets_are_delivered_where_regions_were_not_asked_for() {
    for option in [Stack::splicing, |tcp| tcp] {
        let (mut socket, peer) = Socket::with(1 << 20, option);
        let content = pattern(8 << 20);
        let peer = send(peer, content.clone());
        let mut all = Vec::new();
        while let Some(message) = socket.next() {
            all.extend(crate::files::bench::octets(&message));
        }
        assert!(all == content);
        drop(peer.join());
    }
}

#[test]
fn a_region_that_is_dropped_takes_nothing_with_it() {
    let content = pattern(10 << 20);
    let (mut socket, peer) = Socket::pair(1 << 20);
    let peer = send(peer, content.clone());
    let mut bench = bench();
    let file = bench.open("holes", Purpose::Resume).expect("opened").0;
    let (mut offset, mut dropped) = (0, 0);
    let mut regions = 0;
    let mut expected = vec![0; content.len()];
    while let Some(mut message) = socket.next() {
        let (start, length) = (offset as usize, message.len());
        offset += length as u64;
        regions += usize::from(is_region(&message));
        if regions % 3 == 1 {
            dropped += 1;
            // Its first half is written, its second half dropped with the pipe.
            message.truncate(length / 2);
        }
        expected[start..start + message.len()]
            .copy_from_slice(&content[start..start + message.len()]);
        if !message.is_empty() {
            bench.write(file, start as u64, message).expect("written");
        }
    }
    assert!(dropped > 0 && regions > dropped);
    expected.truncate(fs::metadata(temporary(&bench)).expect("there").len() as usize);
    assert_eq!(bench.close(file, Keep::Whole), Ok(()));
    assert!(bench.got("holes") == Some(expected));
    drop(peer.join());
}

/// The part under creation.
fn temporary(bench: &Bench) -> std::path::PathBuf {
    bench.path(&bench.on_disk()[0])
}

/// Runs until a whole region comes; gives it.
fn region(socket: &mut Socket) -> BufferTree {
    loop {
        let message = socket.next().expect("more than that");
        if is_region(&message) {
            return message;
        }
    }
}

#[test]
fn what_is_not_the_next_in_a_pipe_is_not_written() {
    let (mut socket, peer) = Socket::pair(1 << 20);
    let peer = send(peer, pattern(10 << 20));
    let mut bench = bench();
    let mut refused = |parts: &[BufferTree]| {
        let file = bench.create("refused").expect("opened");
        let (last, before) = parts.split_last().expect("parts");
        for part in before {
            bench.write(file, 0, part.share()).expect("written");
        }
        assert_eq!(bench.write(file, 0, last.share()), Err(Failure::Broken));
        assert!(bench.on_disk().is_empty());
    };

    let mut message = region(&mut socket);
    let first = message.split_to(1000);
    refused(&[message]); // not the first
    refused(&[first.share(), first]); // they are read once

    let mut message = region(&mut socket);
    let mut with_a_hole = message.split_to(1000);
    drop(message.split_to(1000));
    with_a_hole.join(message);
    refused(&[with_a_hole]);

    let message = region(&mut socket);
    drop(socket); // a region outlives the adapter
    let file = bench.create("kept").expect("opened");
    assert_eq!(bench.write(file, 0, message.share()), Ok(message.len()));
    drop(peer.join());
}

#[test]
fn a_full_disk_is_told() {
    let Some(mut bench) = Bench::<BufferTree>::small(writable()) else { return };
    let (mut socket, peer) = Socket::pair(1 << 20);
    let peer = send(peer, pattern(10 << 20));
    let file = bench.create("large").expect("opened");
    let mut offset = 0;
    let why = loop {
        let message = region(&mut socket);
        match bench.write(file, offset, message) {
            Ok(octets) => offset += octets as u64,
            Err(why) => break why,
        }
        assert!(offset < 2 << 20, "more than the disk holds");
    };
    assert_eq!(why, Failure::Full);
    assert!(bench.on_disk().is_empty());
    assert_eq!(bench.store("small", &pattern(900_000)), Ok(()), "the room is there again");
    drop(socket);
    drop(peer.join());
    drop(bench);
}

#[test]
fn urgent_octets_stay_in_line() {
    let before = pattern(4 << 20);
    let (mut socket, peer) = Socket::pair(before.len());
    let peer = send_on(peer, before.clone());
    let mut bench = bench();
    let file = bench.create("urgent").expect("opened");
    let mut offset = 0;
    let mut write = |message: BufferTree| {
        offset += bench.write(file, offset, message).expect("written") as u64;
        offset
    };
    while write(socket.delivered()) < before.len() as u64 {}
    let mut peer = peer.join().expect("sent");

    // All of it lies in the socket, and the octet is known to be among it, before anything is read.
    let around = pattern(150_000);
    peer.write_all(&around).expect("the socket has room");
    assert_eq!(rustix::net::send(&peer, b"!", SendFlags::OOB), Ok(1));
    peer.write_all(b"behind").expect("the socket has room");
    socket.idle();
    socket.ask(Ask::Credit { association: STREAM, credit: Credit::of_octets(1 << 20) });
    let expected = [&before[..], &around, b"!behind"].concat();
    while write(socket.delivered()) < expected.len() as u64 {}
    assert_eq!(bench.close(file, Keep::Whole), Ok(()));
    assert!(bench.got("urgent") == Some(expected));
}

#[test]
fn a_reset_is_no_end() {
    let (mut socket, mut peer) = Socket::pair(1 << 20);
    let peer = thread::spawn(move || {
        peer.write_all(&pattern(8 << 20)).expect("somebody reads");
        rustix::net::sockopt::set_socket_linger(&peer, Some(Duration::ZERO)).expect("settable");
    });
    let ended = loop {
        match socket.hear() {
            Told::Delivered { batch, .. } => {
                socket.ask(Ask::Credit {
                    association: STREAM,
                    credit: Credit::of_octets(batch.octets()),
                });
            }
            other => break other,
        }
    };
    assert!(matches!(ended, Told::Ended { why: Ended::Reset(0), .. }), "{ended:?}");
    peer.join().expect("sent");
}

#[test]
fn a_peer_that_sends_little_at_once_gets_no_pipes_for_it() {
    let (mut socket, peer) = Socket::pair(1 << 20);
    let peer = send_on(peer, pattern(4 << 20));
    let mut came = 0;
    while came < 4 << 20 {
        came += socket.next().expect("not the end").len();
    }
    let mut peer = peer.join().expect("sent");
    for octets in 1..20 {
        peer.write_all(&pattern(octets)).expect("somebody reads");
        let message = socket.next().expect("not the end");
        assert!(octets == 1 || !is_region(&message), "{octets}");
        assert_eq!(message.len(), octets);
    }
}
