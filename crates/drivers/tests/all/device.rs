//! One device, with nothing above it but the test.

use std::convert::Infallible;
use std::env;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::process::{self, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SendFlags, SocketType, ipproto, sendto, socket};
use stackwright_contract::Outlet;
use stackwright_contract::services::{Credit, FramesIndication, FramesRequest};
use stackwright_drivers::Driver;
use stackwright_drivers::tun::{Tun, TunKind, TunOptions};
use stackwright_wire::internet::complete_ipv4;
use stackwright_wire::{BufferTree, Message as _, Pool};

use crate::namespace::{ip, rootless};

type M = BufferTree;

/// What the test grants the device.
const AMPLE: Credit = Credit { octets: 1 << 20, messages: 1 << 10 };

/// What a device delivers to nobody but the test.
#[derive(Default)]
struct Told {
    frames: Vec<Vec<u8>>,
    longest: u32,
    states: Vec<bool>,
}

impl Outlet<Tun<M>> for Told {
    fn indicate(&mut self, told: FramesIndication<M>) {
        match told {
            FramesIndication::Delivered { batch, .. } => {
                let frames = batch.pieces().map(|pieces| pieces.flatten().copied().collect());
                self.frames.extend(frames);
            }
            FramesIndication::Changed { path, .. } => self.longest = path.longest,
            FramesIndication::State { up, .. } => self.states.push(up),
            _ => {}
        }
    }

    fn request(&mut self, never: Infallible) {
        match never {}
    }
}

/// A device with nothing above but the test.
struct Alone {
    driver: Driver,
    tun: Tun<M>,
    told: Told,
}

impl Alone {
    fn open(name: &str, kind: TunKind) -> io::Result<Self> {
        let driver = Driver::new(1)?;
        let (registry, pool) = (driver.registry(), Arc::new(Pool::new(4096, 8)));
        let options = TunOptions { kind, ..TunOptions::default() };
        let tun = Tun::open_with(name, options, &registry, 0, pool)?;
        let mut alone = Alone { driver, tun, told: Told::default() };
        alone.turn();
        alone.driver.request(
            &mut alone.tun,
            FramesRequest::Credit { credit: AMPLE },
            &mut alone.told,
        );
        Ok(alone)
    }

    fn turn(&mut self) {
        let wait = Some(Duration::from_millis(10));
        self.driver.turn(&mut self.tun, &mut self.told, wait).unwrap();
    }

    /// Runs until a frame came for which that is so, and returns it.
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

    fn send(&mut self, frame: &[u8]) {
        let batch = M::with_headroom(0, frame).into();
        let send = FramesRequest::Send { port: 0, batch, mark: None };
        self.driver.request(&mut self.tun, send, &mut self.told);
        self.turn();
    }
}

/// Returns whether an IPv4 packet is a datagram.
fn is_datagram(packet: &[u8]) -> bool {
    packet[0] == 0x45 && packet[9] == 17
}

/// Sends a datagram back whose check is only begun: the kernel completes it.
fn answer(packet: &[u8]) -> Vec<u8> {
    let mut answer = packet.to_vec();
    answer[12..16].copy_from_slice(&packet[16..20]);
    answer[16..20].copy_from_slice(&packet[12..16]);
    answer[20..22].copy_from_slice(&packet[22..24]);
    answer[22..24].copy_from_slice(&packet[20..22]);
    complete_ipv4(&mut answer[..20]);
    answer
}

#[test]
fn a_wrong_check_is_noticed_and_one_that_is_begun_is_completed() {
    rootless("device::a_wrong_check_is_noticed_and_one_that_is_begun_is_completed", || {
        let mut alone = Alone::open("sw0", TunKind::Tun).unwrap();
        ip("addr add 10.77.0.1/24 dev sw0");
        ip("link set sw0 mtu 1400 up");
        let here = UdpSocket::bind("10.77.0.1:9").unwrap();
        here.send_to(b"a question", "10.77.0.2:7").unwrap();
        let question = alone.until(is_datagram);
        let dropped = alone.driver.context().dropped_count();
        // Nobody vouches for what a raw socket sends.
        let raw = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::RAW)).unwrap();
        let there: SocketAddr = "10.77.0.2:0".parse().unwrap();
        sendto(&raw, &question, SendFlags::empty(), &there).unwrap();
        let mut unchecked = question.clone();
        unchecked[26..28].fill(0);
        sendto(&raw, &unchecked, SendFlags::empty(), &there).unwrap();
        assert_eq!(alone.until(is_datagram)[20..], unchecked[20..]);
        assert_eq!(alone.driver.context().dropped_count(), dropped + 1);
        alone.send(&answer(&question));
        let mut octets = [0; 100];
        here.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        assert_eq!(here.recv_from(&mut octets).unwrap(), (10, "10.77.0.2:7".parse().unwrap()));
        assert_eq!(&octets[..10], b"a question");
    });
}

#[test]
fn frames_of_a_tap_device_are_those_of_ethernet() {
    rootless("device::frames_of_a_tap_device_are_those_of_ethernet", || {
        let mut alone = Alone::open("sw1", TunKind::Tap).unwrap();
        assert_eq!(alone.told.longest, 1514);
        ip("addr add 10.77.0.1/24 dev sw1");
        ip("link set sw1 up");
        ip("neigh add 10.77.0.2 lladdr 02:00:00:00:00:02 dev sw1");
        let here = UdpSocket::bind("10.77.0.1:9").unwrap();
        here.send_to(b"a question", "10.77.0.2:7").unwrap();
        let frame = alone.until(|frame| frame[12..14] == [8, 0] && is_datagram(&frame[14..]));
        assert_eq!(frame[..6], [2, 0, 0, 0, 0, 2]);
        let mut back = frame[6..12].to_vec();
        back.extend_from_slice(&frame[..6]);
        back.extend_from_slice(&frame[12..14]);
        back.extend_from_slice(&answer(&frame[14..]));
        alone.send(&back);
        here.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        assert_eq!(here.recv(&mut [0; 100]).unwrap(), 10);
    });
}

#[test]
fn another_mtu_and_the_end_are_told() {
    rootless("device::another_mtu_and_the_end_are_told", || {
        let mut alone = Alone::open("sw0", TunKind::Tun).unwrap();
        ip("link set sw0 mtu 1280");
        let since = Instant::now();
        while alone.told.longest != 1280 {
            assert!(since.elapsed() < Duration::from_secs(10), "it is not told");
            alone.send(&[0x45; 20]);
        }
        assert_eq!(alone.told.states, [true]);
        ip("link del sw0");
        while alone.told.states.len() < 2 {
            assert!(since.elapsed() < Duration::from_secs(10), "it is not told");
            alone.turn();
        }
        assert_eq!(alone.told.states, [true, false]);
    });
}

/// A device that the administrator made for a user. Where the device file is not for everybody, one
/// that is takes its place, for this test alone.
#[test]
fn a_users_device_needs_no_right() {
    const USER: &str = "STACKWRIGHT_USER";
    const SCRIPT: &str = "
        set -e
        mknod $1/tun c 10 200; chmod 666 $1/tun; mount --bind $1/tun /dev/net/tun
        cp \"$2\" $1/test; chmod 755 $1 $1/test
        ip tuntap add dev own0 mode tun user 65534
        ip link set own0 mtu 1280 up
        setpriv --reuid 65534 --clear-groups --bounding-set=-all true
        echo ready
        exec setpriv --reuid 65534 --clear-groups --bounding-set=-all \
            $1/test --exact device::a_users_device_needs_no_right --nocapture";
    if env::var_os(USER).is_some() {
        assert!(!rustix::process::geteuid().is_root());
        let alone = Alone::open("own0", TunKind::Tun).expect("it is this user's");
        assert_eq!(alone.told.longest, 1280);
        let other = Alone::open("other0", TunKind::Tun).map(drop).unwrap_err();
        assert_eq!(other.kind(), io::ErrorKind::PermissionDenied);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    command.args(["-nm", "sh", "-c", SCRIPT, "sh"]).arg(folder.path());
    let output = command.arg(env::current_exe().unwrap()).env(USER, "1").output();
    let Ok(process::Output { status, stdout, stderr }) = output else {
        return eprintln!("skipped: there is no unshare(1)");
    };
    let [stdout, stderr] = [stdout, stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    if !stdout.contains("ready") {
        return eprintln!("skipped: only root can make a device for another user: {stderr}");
    }
    assert!(status.success() && stdout.contains("1 passed"), "{stdout}{stderr}");
}
