//! Octets that are not read here are in no hurry: the kernel wakes us when many of them have
//! arrived (`SO_RCVLOWAT`, socket(7)).
//!
//! A wake-up, the hand-over to the disk's thread and its answer cost more than the octets of a
//! segment. How many are worth waiting for follows from how often they woke us between two looks.
//! What is less than that waits for the first look before which nothing woke us: a sender may rest.
//! The end, a reset and urgent octets wake as ever.

use std::time::Duration;

use mio::net::TcpStream;
use nix::libc;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::SetStruct;
use rustix::net::sockopt::socket_recv_buffer_size;

/// Between two looks. An octet waits for others less than twice as long: the first look may find
/// that it came behind a wake-up.
pub(super) const LOOK: Duration = Duration::from_millis(10);

/// Gathering begins with as many octets, and ends with fewer.
const LEAST: usize = 16 << 10;
/// Of a quarter of the 1 MiB that a pipe takes, nothing stays behind in the socket.
const MOST: usize = 256 << 10;
/// Wake-ups between two looks that are few enough.
const WOKEN_MOST: u32 = 8;

/// How many octets of an association are gathered before it is read.
#[derive(Default)]
pub(super) struct Gathering {
    /// None: the first octet wakes.
    octets: usize,
    /// How often, since the last look.
    woken: u32,
}

/// What a look finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// They come, and are worth gathering.
    Flow,
    /// Too few arrived to wake the stack: they are to be read now.
    Few,
    /// The same, and so seldom that no more are gathered.
    Rest,
}

impl Gathering {
    pub(super) fn is_on(&self) -> bool {
        self.octets > 0
    }

    /// Gathers from now on, where the system can.
    pub(super) fn begin(&mut self, stream: &TcpStream) {
        self.woken = 0;
        self.set(stream, LEAST);
    }

    /// The socket woke us while octets are gathered.
    pub(super) fn woken(&mut self) {
        self.woken = self.woken.saturating_add(1);
    }

    /// [`LOOK`] is over.
    pub(super) fn look(&mut self, stream: &TcpStream) -> Found {
        match std::mem::take(&mut self.woken) {
            0 if self.octets <= LEAST => {
                self.set(stream, 0);
                Found::Rest
            }
            0 => {
                self.set(stream, self.octets / 2);
                Found::Few
            }
            woken => {
                if woken > WOKEN_MOST && self.octets < MOST && fits(stream, 2 * self.octets) {
                    self.set(stream, 2 * self.octets);
                }
                Found::Flow
            }
        }
    }

    fn set(&mut self, stream: &TcpStream, octets: usize) {
        self.octets =
            if setsockopt(stream, LowWater, &(octets.max(1) as i32)).is_ok() { octets } else { 0 };
    }
}

/// Whether a sender whose window is the receive buffer, of which half is overhead, still has half
/// of it while as many wait.
fn fits(stream: &TcpStream, octets: usize) -> bool {
    socket_recv_buffer_size(stream).is_ok_and(|buffer| octets <= buffer / 4)
}

#[derive(Clone, Copy)]
struct LowWater;

nix::setsockopt_impl!(LowWater, libc::SOL_SOCKET, libc::SO_RCVLOWAT, i32, SetStruct<i32>);

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::io::Write;
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::time::Instant;

    use nix::sys::socket::getsockopt;
    use nix::sys::socket::sockopt::GetStruct;
    use rustix::net::sockopt::set_socket_recv_buffer_size;
    use stackwright_contract::services::{Credit, StreamsIndication, StreamsRequest};
    use stackwright_contract::{Command, Handle, Names, Outlet};
    use stackwright_wire::{BufferTree, Pool};

    use super::*;
    use crate::Driver;
    use crate::tcp::{Streaming, Tcp};

    nix::getsockopt_impl!(LowWater, libc::SOL_SOCKET, libc::SO_RCVLOWAT, i32, GetStruct<i32>);

    fn low_water(stream: &TcpStream) -> i32 {
        getsockopt(stream, LowWater).expect("known of every socket")
    }

    #[test]
    fn how_many_follows_from_how_often_they_wake() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let stream = std::net::TcpStream::connect(listener.local_addr().expect("its address"))
            .expect("it is there");
        let stream = TcpStream::from_std(stream);
        set_socket_recv_buffer_size(&stream, 64 << 10).expect("that is no wish");
        let mut gathering = Gathering::default();
        gathering.begin(&stream);
        for (woken, found, octets) in [
            (1, Found::Flow, 16 << 10),
            (100, Found::Flow, 32 << 10), // a quarter of the buffer, which Linux makes twice what was asked for
            (100, Found::Flow, 32 << 10),
            (0, Found::Few, 16 << 10),
            (WOKEN_MOST, Found::Flow, 16 << 10),
            (0, Found::Rest, 1),
        ] {
            (0..woken).for_each(|_| gathering.woken());
            assert_eq!(
                (gathering.look(&stream), low_water(&stream)),
                (found, octets),
                "woken {woken} times"
            );
        }
        assert!(!gathering.is_on());
    }

    /// How many octets arrived, and whether the end did.
    #[derive(Default)]
    struct Heard(usize, bool);

    impl Outlet<Tcp<BufferTree>> for Heard {
        fn indicate(&mut self, told: StreamsIndication<BufferTree>) {
            match told {
                StreamsIndication::Delivered { batch, .. } => self.0 += batch.octets(),
                StreamsIndication::Finished { .. } => self.1 = true,
                _ => {}
            }
        }

        fn request(&mut self, never: Infallible) {
            match never {}
        }
    }

    struct Side {
        driver: Driver,
        tcp: Tcp<BufferTree>,
        heard: Heard,
        association: Handle,
    }

    impl Side {
        fn ask(&mut self, request: StreamsRequest<BufferTree>) {
            self.driver.request(&mut self.tcp, request, &mut self.heard);
        }

        /// Runs until it is so; a test that waits ten seconds has failed.
        fn until(&mut self, what: &str, mut so: impl FnMut(&mut Self) -> bool) {
            let begin = Instant::now();
            while !so(self) {
                assert!(
                    begin.elapsed() < Duration::from_secs(10),
                    "{what}: {} octets came",
                    self.heard.0
                );
                let most = Some(Duration::from_millis(50));
                self.driver.turn(&mut self.tcp, &mut self.heard, most).expect("it waits");
            }
        }

        fn streaming(&mut self) -> &mut Streaming<BufferTree> {
            self.tcp.sockets.get_mut(self.association).expect("it is open")
        }

        fn low_water(&mut self) -> i32 {
            low_water(&self.streaming().stream)
        }

        /// Lets `peer` send, behind `all` octets, until that is worth gathering; how many have come
        /// then. Now and then it rests, so that the socket is empty.
        fn until_it_gathers(&mut self, peer: &mut impl Write, mut all: usize) -> usize {
            let most = all + (16 << 20);
            while self.low_water() == 1 {
                assert!(all < most, "it is worth gathering after the first mebibyte");
                peer.write_all(&[1; 64 << 10]).expect("it reads");
                all += 64 << 10;
                self.until("these come", |side| side.heard.0 == all);
            }
            all
        }
    }

    #[test]
    fn what_is_too_little_to_wake_comes_all_the_same() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let driver = Driver::new(1).expect("a driver");
        let tcp = Tcp::new(driver.registry(), 0, Arc::new(Pool::new(64 << 10, 8)));
        let association = Names::new().name(());
        let mut side = Side { driver, tcp, heard: Heard::default(), association };
        let remote = listener.local_addr().expect("its address").into();
        side.ask(StreamsRequest::Open {
            association,
            remote,
            local: None,
            credit: Credit::of_octets(usize::MAX),
        });
        side.ask(StreamsRequest::Control { association, command: Command::Unread });
        let (mut peer, _) = listener.accept().expect("it connects");
        side.until("it opens", |side| side.streaming().opened);
        side.streaming().sending.near = false; // as to another machine
        let mut all = 0;
        for _transfer in 0..2 {
            all = side.until_it_gathers(&mut peer, all);
            let streaming = side.streaming();
            streaming.receiving.gathering.set(&streaming.stream, MOST);
            peer.write_all(&[2; 100]).expect("it reads");
            all += 100;
            side.until("a few more come", |side| side.heard.0 == all);
            assert!(
                side.low_water() > 1,
                "at the first look, and not when nothing is gathered any more"
            );
            side.until("it rests", |side| side.low_water() == 1);
            assert!(side.tcp.gather.is_empty(), "and nobody looks any more");
        }
        all = side.until_it_gathers(&mut peer, all);
        peer.write_all(&[3; 100]).expect("it reads");
        drop(peer);
        side.until("the end comes", |side| side.heard.1);
        assert_eq!(side.heard.0, all + 100);
    }
}
