//! Frames of Ethernet interfaces: a pair that the kernel has joined.

use std::convert::Infallible;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stackwright_contract::Outlet;
use stackwright_contract::services::{Credit, FramesIndication, FramesRequest};
use stackwright_drivers::Driver;
use stackwright_drivers::packet::{PacketSocket, address};
use stackwright_wire::{BufferTree, Message as _, Pool};

use crate::namespace::{ip, rootless, said, until_so};

type M = BufferTree;

/// For experiments (IEEE 802).
const EXPERIMENT: [u8; 2] = [0x88, 0xb5];

#[derive(Default)]
struct Told {
    frames: Vec<Vec<u8>>,
    longest: u32,
}

impl Outlet<PacketSocket<M>> for Told {
    fn indicate(&mut self, told: FramesIndication<M>) {
        match told {
            FramesIndication::Delivered { batch, .. } => {
                let frames = batch.pieces().map(|pieces| pieces.flatten().copied().collect());
                self.frames.extend(frames);
            }
            FramesIndication::Changed { path, .. } => self.longest = path.longest,
            _ => {}
        }
    }

    fn request(&mut self, never: Infallible) {
        match never {}
    }
}

struct Interface {
    driver: Driver,
    packet: PacketSocket<M>,
    told: Told,
}

impl Interface {
    fn open(name: &str) -> Self {
        let driver = Driver::new(1).unwrap();
        let (registry, pool) = (driver.registry(), Arc::new(Pool::new(66_000, 8)));
        let packet = PacketSocket::open(name, &registry, 0, pool).unwrap();
        let mut interface = Interface { driver, packet, told: Told::default() };
        interface.turn();
        let credit = Credit { octets: 1 << 20, messages: 1000 };
        interface.ask(FramesRequest::Credit { credit });
        interface
    }

    fn ask(&mut self, request: FramesRequest<M>) {
        self.driver.request(&mut self.packet, request, &mut self.told);
        self.turn();
    }

    fn send(&mut self, frame: &[u8]) {
        let batch = M::with_headroom(0, frame).into();
        self.ask(FramesRequest::Send { port: 0, batch, mark: None });
    }

    fn turn(&mut self) {
        let wait = Some(Duration::from_millis(10));
        self.driver.turn(&mut self.packet, &mut self.told, wait).unwrap();
    }

    fn until(&mut self, is_so: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        let since = Instant::now();
        loop {
            if let Some(at) = self.told.frames.iter().position(|frame| is_so(frame)) {
                return self.told.frames.remove(at);
            }
            assert!(since.elapsed() < Duration::from_secs(10), "it never came");
            self.turn();
        }
    }
}

fn pair() {
    ip("link add va type veth peer name vb");
    ip("link set vb up");
    ip("link set va up");
    // Both are up a while later: what is sent before is lost.
    for name in ["va", "vb"] {
        until_so(|| said(&format!("-br link show {name}")).contains(" UP "));
    }
}

#[test]
fn a_frame_passes_each_way_and_none_comes_back() {
    rootless("packet::a_frame_passes_each_way_and_none_comes_back", || {
        pair();
        let (mut a, mut b) = (Interface::open("va"), Interface::open("vb"));
        assert_eq!(a.told.longest, 1514);
        let is_ours = |frame: &[u8]| frame[12..14] == EXPERIMENT;
        let [of_a, of_b] = ["va", "vb"].map(|name| address(name).unwrap());
        let frame = |to: [u8; 6], from: [u8; 6]| {
            let mut frame = [&to[..], &from, &EXPERIMENT].concat();
            frame.extend_from_slice(&[7; 100]);
            frame
        };
        a.send(&frame(of_b, of_a));
        assert_eq!(b.until(is_ours), frame(of_b, of_a));
        b.send(&frame(of_a, of_b));
        assert_eq!(a.until(is_ours), frame(of_a, of_b));
        for interface in [&mut a, &mut b] {
            interface.turn();
            assert!(!interface.told.frames.iter().any(|frame| is_ours(frame)), "its own");
            assert_eq!(interface.driver.context().dropped_count(), 0);
        }
    });
}

/// The kernel leaves checks to the interface, and takes those that are left to it.
#[test]
fn the_kernel_and_this_end_spare_each_other_checks() {
    rootless("packet::the_kernel_and_this_end_spare_each_other_checks", || {
        pair();
        ip("addr add 10.77.0.1/24 dev va");
        let [a, b, c, d, e, f] = address("vb").unwrap();
        let far = format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}");
        ip(&format!("neigh add 10.77.0.2 lladdr {far} dev va"));
        let mut interface = Interface::open("vb");
        let here = UdpSocket::bind("10.77.0.1:9").unwrap();
        here.send_to(b"a question", "10.77.0.2:7").unwrap();
        let is_datagram = |frame: &[u8]| frame[12..14] == [8, 0] && frame[23] == 17;
        let mut frame = interface.until(is_datagram);
        assert_eq!(frame.len(), 14 + 28 + 10);
        // Addresses and ports change places: no sum changes.
        for (one, other, octets) in [(0, 6, 6), (26, 30, 4), (34, 36, 2)] {
            let (left, right) = frame.split_at_mut(other);
            left[one..one + octets].swap_with_slice(&mut right[..octets]);
        }
        interface.send(&frame);
        here.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        assert_eq!(here.recv(&mut [0; 100]).unwrap(), 10);
        assert_eq!(interface.driver.context().dropped_count(), 0);
    });
}
