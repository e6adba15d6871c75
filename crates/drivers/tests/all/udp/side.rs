//! One adapter, and the strangers that it meets.

use std::convert::Infallible;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stackwright_contract::services::{
    Batch, Credit, DatagramsIndication as Told, DatagramsRequest as Ask, Ended, MessageProperties,
};
use stackwright_contract::{Handle, Outlet};
use stackwright_drivers::Driver;
use stackwright_drivers::udp::{Multicast, Udp};
use stackwright_wire::{BufferTree, Leaf, Message, Pool};

pub(crate) type Stack = Udp<BufferTree>;

pub(crate) const AMPLE: Credit = Credit { octets: 1 << 20, messages: 1000 };
pub(crate) const BOTH: [&str; 2] = ["127.0.0.1:0", "[::1]:0"];

/// One adapter, and everything it told.
pub(crate) struct Side {
    pub driver: Driver,
    pub udp: Stack,
    pub heard: Heard,
}

#[derive(Default)]
pub(crate) struct Heard(pub Vec<Told<BufferTree>>);

impl Outlet<Stack> for Heard {
    fn indicate(&mut self, told: Told<BufferTree>) {
        self.0.push(told);
    }

    fn request(&mut self, never: Infallible) {
        match never {}
    }
}

impl Side {
    pub(crate) fn new() -> Self {
        Side::with_blocks(64 << 10)
    }

    /// One that shares the ports where it listens.
    pub(crate) fn sharing() -> Self {
        let Side { driver, udp, heard } = Side::new();
        Side { driver, udp: udp.sharing_port(), heard }
    }

    /// One that joins groups on the loopback interface: that brings back what is sent, and a copy
    /// that loops would come as well.
    pub(crate) fn joining() -> Self {
        let Side { driver, udp, heard } = Side::new();
        let multicast = Multicast { loops: false, interface: Some(1), ..Multicast::default() };
        Side { driver, udp: udp.joining(multicast), heard }
    }

    pub(crate) fn with_blocks(block: usize) -> Self {
        let driver = Driver::new(1).unwrap();
        let udp = Udp::new(driver.registry(), 0, Arc::new(Pool::new(block, 8)));
        Side { driver, udp, heard: Heard::default() }
    }

    pub(crate) fn ask(&mut self, ask: Ask<BufferTree>) {
        self.driver.request(&mut self.udp, ask, &mut self.heard);
    }

    pub(crate) fn send(&mut self, association: Handle, octets: &[u8]) {
        self.ask(Ask::Send {
            association,
            batch: message(octets).into(),
            properties: MessageProperties::default(),
        });
    }

    /// Sends datagrams of `segment_size` octets, but the last, as one word.
    pub(crate) fn send_several(&mut self, association: Handle, octets: &[u8], segment_size: usize) {
        self.send_batch(association, Batch::new(message(octets), segment_size));
    }

    pub(crate) fn send_batch(&mut self, association: Handle, messages: Batch<BufferTree>) {
        self.ask(Ask::Send {
            association,
            batch: messages,
            properties: MessageProperties::default(),
        });
    }

    pub(crate) fn turn(&mut self, most: u64) {
        self.driver
            .turn(&mut self.udp, &mut self.heard, Some(Duration::from_millis(most)))
            .unwrap();
    }

    /// Runs until `found` gives something of what was told. A test that waits ten seconds has
    /// failed.
    pub(crate) fn until<T>(
        &mut self,
        mut found: impl FnMut(&[Told<BufferTree>]) -> Option<T>,
    ) -> T {
        let since = Instant::now();
        loop {
            if let Some(found) = found(&self.heard.0) {
                return found;
            }
            let told = &self.heard.0;
            assert!(
                since.elapsed() < Duration::from_secs(10),
                "it never came; told so far: {told:?}"
            );
            self.turn(100);
        }
    }

    /// Runs for a while in which nothing particular is expected.
    pub(crate) fn idle(&mut self) {
        let since = Instant::now();
        while since.elapsed() < Duration::from_millis(50) {
            self.turn(10);
        }
    }

    pub(crate) fn listen(&mut self, local: &str) -> SocketAddr {
        self.ask(Ask::Listen { listener: name(0), local: address(local).into() });
        self.until(|told| {
            told.iter().find_map(|told| match told {
                Told::Listening { local, .. } => local.internet(),
                _ => None,
            })
        })
    }

    pub(crate) fn expect(&mut self, association: Handle, credit: Credit) {
        self.ask(Ask::Await { listener: name(0), association, credit });
    }

    pub(crate) fn ended(&mut self, name: Handle) -> Ended {
        self.until(|told| end_of(told, name))
    }

    pub(crate) fn remote(&mut self, name: Handle) -> SocketAddr {
        self.until(|told| {
            told.iter().find_map(|told| match told {
                Told::Opened { association, remote, .. } if *association == name => {
                    remote.internet()
                }
                _ => None,
            })
        })
    }

    pub(crate) fn hears(&mut self, name: Handle, expected: &[&[u8]]) {
        self.until(|told| (delivered(told, name) == expected).then_some(()));
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.driver.context().dropped_count()
    }
}

pub(crate) fn end_of(told: &[Told<BufferTree>], wanted: Handle) -> Option<Ended> {
    told.iter().find_map(|told| match told {
        Told::Ended { name, why } if *name == wanted => Some(*why),
        _ => None,
    })
}

pub(crate) fn delivered(told: &[Told<BufferTree>], name: Handle) -> Vec<Vec<u8>> {
    let of_name = told.iter().flat_map(|told| match told {
        Told::Delivered { association, batch: messages, .. } if *association == name => {
            messages.share().into_iter().map(|message| octets(&message)).collect()
        }
        _ => Vec::new(),
    });
    of_name.collect()
}

/// How many datagrams each word for `name` had that had several.
pub(crate) fn batches(told: &[Told<BufferTree>], name: Handle) -> Vec<usize> {
    let of_name = told.iter().filter_map(|told| match told {
        Told::Delivered { association, batch: messages, .. } if *association == name => {
            Some(messages.count())
        }
        _ => None,
    });
    of_name.filter(|count| *count > 1).collect()
}

pub(crate) fn octets(message: &BufferTree) -> Vec<u8> {
    let mut octets = Vec::new();
    for leaf in message.leaves() {
        let Leaf::Octets(piece) = leaf else { panic!("a socket delivers octets") };
        octets.extend_from_slice(piece);
    }
    octets
}

/// What was given back for `name`, word for word.
pub(crate) fn rooms(told: &[Told<BufferTree>], name: Handle) -> Vec<Credit> {
    let of_name = told.iter().filter_map(|told| match told {
        Told::Credit { association, credit } if *association == name => Some(*credit),
        _ => None,
    });
    of_name.collect()
}

pub(crate) fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

pub(crate) fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

pub(crate) fn message(octets: &[u8]) -> BufferTree {
    BufferTree::with_headroom(16, octets)
}

/// A socket of the standard library that gives up after ten seconds.
pub(crate) fn stranger(local: &str) -> UdpSocket {
    let stranger = UdpSocket::bind(local).unwrap();
    stranger.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stranger
}

pub(crate) fn hear(stranger: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut space = vec![0; 1 << 16];
    let (length, from) = stranger.recv_from(&mut space).unwrap();
    space.truncate(length);
    (space, from)
}

/// A side with an association to a stranger, who came and said "hello".
pub(crate) fn arrival(local: &str, credit: Credit) -> (Side, Handle, UdpSocket, SocketAddr) {
    let mut side = Side::new();
    let at = side.listen(local);
    side.expect(name(1), credit);
    let peer = stranger(local);
    peer.send_to(b"hello", at).unwrap();
    side.hears(name(1), &[b"hello"]);
    (side, name(1), peer, at)
}

/// A side that has opened an association to a stranger.
pub(crate) fn opened(local: &str) -> (Side, Handle, UdpSocket, SocketAddr) {
    let peer = stranger(local);
    let mut side = Side::new();
    let remote = peer.local_addr().unwrap();
    side.ask(Ask::Open { association: name(7), remote: remote.into(), credit: AMPLE, local: None });
    assert_eq!(side.remote(name(7)), remote);
    side.send(name(7), b"hello");
    side.turn(0);
    let (octets, from) = hear(&peer);
    assert_eq!(octets, b"hello");
    (side, name(7), peer, from)
}
