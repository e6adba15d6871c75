//! TUN devices between two kernels: namespaces of a test's own, with a relay in the middle.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::env;
use std::hash::{DefaultHasher, Hasher};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{UdpGroSegment, UdpGsoSegment};
use stackwright_compose::Beside;
use stackwright_contract::services::{Batch, Credit, FramesIndication, FramesRequest};
use stackwright_contract::{Either, Outlet};
use stackwright_drivers::tun::{Tun, TunOptions};
use stackwright_drivers::{Driver, Registry};
use stackwright_wire::{BufferTree, Pool};

use crate::namespace::{ip, rootless};

type M = BufferTree;
type Ends = Beside<Tun<M>, Tun<M>>;

/// What a layer above grants each device.
const AMPLE: Credit = Credit { octets: 1 << 20, messages: 1 << 10 };
const MTU: usize = 1500;

/// How many frames pass each way: with `STACKWRIGHT_LONG`, ten times as many.
fn frames() -> usize {
    if env::var_os("STACKWRIGHT_LONG").is_some() { 1_000_000 } else { 100_000 }
}

/// The address of an end.
fn host(end: usize) -> String {
    format!("10.77.0.{}", end + 1)
}

/// Hands what one device delivers to the other.
#[derive(Default)]
struct Relay {
    /// What each device takes.
    credit: [Credit; 2],
    /// What came from each.
    came: [VecDeque<Batch<M>>; 2],
    frames: [usize; 2],
    longest: usize,
}

impl Relay {
    fn hear(&mut self, end: usize, told: FramesIndication<M>) {
        match told {
            FramesIndication::Credit { port: 0, credit } => self.credit[end] += credit,
            FramesIndication::Delivered { port: 0, batch } => {
                self.frames[end] += batch.count();
                self.longest = self.longest.max(batch.longest());
                self.came[end].push_back(batch);
            }
            FramesIndication::Changed { path, .. } => {
                assert_eq!((path.longest as usize, path.checks), (MTU, true));
            }
            FramesIndication::State { up, .. } => assert!(up),
            other => panic!("{other:?}"),
        }
    }
}

impl Outlet<Ends> for Relay {
    fn indicate(&mut self, told: Either<FramesIndication<M>, FramesIndication<M>>) {
        match told {
            Either::Left(told) => self.hear(0, told),
            Either::Right(told) => self.hear(1, told),
        }
    }

    fn request(&mut self, request: Either<Infallible, Infallible>) {
        match request {
            Either::Left(never) | Either::Right(never) => match never {},
        }
    }
}

/// Runs a relay until `done`; returns what it saw, and how many frames were dropped.
fn relay(driver: &mut Driver, devices: [Tun<M>; 2], done: &AtomicBool) -> (Relay, u64) {
    let [left, right] = devices;
    let (mut ends, mut relay) = (Beside::new(left, right), Relay::default());
    let to = |end, request| if end == 0 { Either::Left(request) } else { Either::Right(request) };
    driver.turn(&mut ends, &mut relay, Some(Duration::ZERO)).unwrap();
    for end in 0..2 {
        let request = to(end, FramesRequest::Credit { credit: AMPLE });
        driver.request(&mut ends, request, &mut relay);
    }
    while !done.load(SeqCst) {
        driver.turn(&mut ends, &mut relay, Some(Duration::from_millis(10))).unwrap();
        for end in 0..2 {
            while let Some(cost) = relay.came[end].front().map(Batch::cost)
                && relay.credit[1 - end].covers(cost)
                && let Some(batch) = relay.came[end].pop_front()
            {
                relay.credit[1 - end] -= cost;
                let send = FramesRequest::Send { port: 0, batch, mark: None };
                driver.request(&mut ends, to(1 - end, send), &mut relay);
                let grant = to(end, FramesRequest::Credit { credit: cost });
                driver.request(&mut ends, grant, &mut relay);
            }
        }
    }
    (relay, driver.context().dropped_count())
}

/// Runs `work` in a namespace of its own, once the relay has its device.
fn end<T: Send + 'static>(
    end: usize,
    registry: Arc<Registry>,
    options: TunOptions,
    ready: Arc<Barrier>,
    work: impl FnOnce() -> T + Send + 'static,
) -> (Receiver<Tun<M>>, JoinHandle<T>) {
    let (send, device) = channel();
    let thread = thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).expect("a namespace in a namespace");
        let pool = Arc::new(Pool::new(66_000, 64));
        send.send(Tun::open_with("sw0", options, &registry, end, pool).unwrap()).unwrap();
        ip("link set lo up");
        ip(&format!("addr add {}/24 dev sw0", host(end)));
        ip("link set sw0 txqueuelen 10000 up");
        ready.wait();
        work()
    });
    (device, thread)
}

/// Lets both ends work, with a relay between them. Returns what they come to, and what the relay
/// saw.
fn between<T: Send + 'static>(
    options: TunOptions,
    work: [Box<dyn FnOnce() -> T + Send>; 2],
) -> ([T; 2], Relay) {
    let mut driver = Driver::new(1).unwrap();
    let ready = Arc::new(Barrier::new(3));
    let mut work = work.into_iter().enumerate();
    let mut threads = [(); 2].map(|()| {
        let (nth, work) = work.next().expect("two of them");
        Some(end(nth, driver.registry(), options, Arc::clone(&ready), work))
    });
    let devices = threads.each_ref().map(|thread| {
        let (device, _) = thread.as_ref().expect("it was made");
        device.recv().expect("it has a device")
    });
    let done = Arc::new(AtomicBool::new(false));
    let waits = thread::spawn({
        let done = Arc::clone(&done);
        move || {
            let threads = threads.each_mut().map(|thread| thread.take().expect("it runs").1);
            let results = threads.map(JoinHandle::join);
            done.store(true, SeqCst);
            results.map(|result| result.expect("an end that does not panic"))
        }
    });
    ready.wait();
    let (relay, dropped) = relay(&mut driver, devices, &done);
    assert_eq!(dropped, 0);
    (waits.join().unwrap(), relay)
}

/// Sends and receives at the same time; returns the hashes of both.
fn exchange(mut stream: TcpStream, seed: u64, octets: usize) -> [u64; 2] {
    let mut reads = stream.try_clone().unwrap();
    let received = thread::spawn(move || {
        let (mut hash, mut buffer, mut all) = (DefaultHasher::new(), vec![0; 64 << 10], 0);
        loop {
            match reads.read(&mut buffer).unwrap() {
                0 => return (hash.finish(), all),
                octets => {
                    hash.write(&buffer[..octets]);
                    all += octets;
                }
            }
        }
    });
    let (mut rng, mut hash, mut left) =
        (fastrand::Rng::with_seed(seed), DefaultHasher::new(), octets);
    let mut buffer = vec![0; 64 << 10];
    while left > 0 {
        let octets = left.min(buffer.len());
        rng.fill(&mut buffer[..1024]);
        hash.write(&buffer[..octets]);
        stream.write_all(&buffer[..octets]).unwrap();
        left -= octets;
    }
    stream.shutdown(Shutdown::Write).unwrap();
    let (received, all) = received.join().unwrap();
    assert_eq!(all, octets);
    [hash.finish(), received]
}

/// Passes so many octets of TCP each way.
fn tcp(options: TunOptions, octets: usize) -> Relay {
    let listens = move || {
        let listener = TcpListener::bind((host(0), 7)).unwrap();
        exchange(listener.accept().unwrap().0, 1, octets)
    };
    let connects = move || {
        let there: SocketAddr = format!("{}:7", host(0)).parse().unwrap();
        let since = Instant::now();
        loop {
            match TcpStream::connect(there) {
                Ok(stream) => return exchange(stream, 2, octets),
                Err(_) if since.elapsed() < Duration::from_secs(5) => {}
                Err(error) => panic!("{error}"),
            }
        }
    };
    let ([[sent, received], others], relay) =
        between(options, [Box::new(listens), Box::new(connects)]);
    assert_eq!(others, [received, sent]);
    relay
}

#[test]
fn frames_pass_between_two_kernels() {
    rootless("tun::frames_pass_between_two_kernels", || {
        let options = TunOptions { super_packets: false, ..TunOptions::default() };
        let relay = tcp(options, frames() * 1448);
        println!("{:?} frames of at most {} octets", relay.frames, relay.longest);
        assert!(relay.frames.iter().all(|passed| *passed >= frames()), "{:?}", relay.frames);
        assert_eq!(relay.longest, MTU);
    });
}

#[test]
fn super_packets_pass_between_two_kernels() {
    rootless("tun::super_packets_pass_between_two_kernels", || {
        let relay = tcp(TunOptions::default(), frames() * 1448);
        println!("{:?} frames of at most {} octets", relay.frames, relay.longest);
        assert!(relay.longest > 30_000, "{}", relay.longest);
    });
}

/// Datagrams that the kernel hands over as one, that are split and merged again.
#[test]
fn datagrams_pass_between_two_kernels() {
    const SIZE: usize = 1000;
    const TOGETHER: usize = 40;
    rootless("tun::datagrams_pass_between_two_kernels", || {
        let heard = Arc::new([0, 1].map(|_| AtomicUsize::new(0)));
        let wanted = frames() / TOGETHER * TOGETHER;
        let bound = Arc::new(Barrier::new(2));
        let work = |end: usize| {
            let (heard, bound) = (Arc::clone(&heard), Arc::clone(&bound));
            move || {
                let socket = UdpSocket::bind((host(end), 9)).unwrap();
                socket.connect((host(1 - end), 9)).unwrap();
                socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
                setsockopt(&socket, UdpGroSegment, &true).unwrap();
                let probe = setsockopt(&socket, UdpGsoSegment, &(SIZE as i32));
                probe.expect("segmentation by the kernel");
                bound.wait();
                let reads = socket.try_clone().unwrap();
                let counts = Arc::clone(&heard);
                let received = thread::spawn(move || {
                    let (mut sum, mut buffer) = (0_u64, vec![0; 66_000]);
                    let (mut count, mut together) = (0, 0);
                    while count < wanted {
                        let octets = reads.recv(&mut buffer).expect("no datagram is lost");
                        together = together.max(octets);
                        for datagram in buffer[..octets].chunks(SIZE) {
                            let mut hash = DefaultHasher::new();
                            hash.write(datagram);
                            sum = sum.wrapping_add(hash.finish());
                            count += 1;
                        }
                        counts[end].store(count, SeqCst);
                    }
                    // The kernel took what the relay has merged.
                    assert_eq!(together, TOGETHER * SIZE);
                    sum
                });
                let mut rng = fastrand::Rng::with_seed(end as u64);
                let (mut sum, mut buffer) = (0_u64, vec![0; TOGETHER * SIZE]);
                for sent in (0..wanted).step_by(TOGETHER) {
                    // What is under way fits into the other socket.
                    while heard[1 - end].load(SeqCst) + 2 * TOGETHER < sent {
                        thread::yield_now();
                    }
                    for datagram in buffer.chunks_mut(SIZE) {
                        rng.fill(&mut datagram[..32]);
                        let mut hash = DefaultHasher::new();
                        hash.write(datagram);
                        sum = sum.wrapping_add(hash.finish());
                    }
                    socket.send(&buffer).unwrap();
                }
                [sum, received.join().unwrap()]
            }
        };
        let ([[sent, received], others], relay) =
            between(TunOptions::default(), [Box::new(work(0)), Box::new(work(1))]);
        assert_eq!(others, [received, sent]);
        println!("{:?} frames of at most {} octets", relay.frames, relay.longest);
        assert!(relay.frames.iter().all(|passed| *passed >= wanted));
        assert_eq!(relay.longest, 28 + SIZE);
    });
}
