//! The kernel's TCP, in a network of its own behind a TUN device.

use std::fs::{self, File};
use std::io::{self, ErrorKind, IoSlice, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, setns, unshare};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};
use stackwright::drivers::tun::{Device, LENGTH, TunKind, TunOptions, TunRead};

use crate::host::{Call, Host, PORTS, Told, Why};
use crate::namespace::ip;
use crate::segment::HOSTS;

/// How long it rests before it looks again.
const PAUSE: Duration = Duration::from_micros(300);

/// The host.
pub(crate) struct Kernel {
    own: usize,
    begin: Instant,
    network: File,
    device: Device,
    listener: Option<TcpListener>,
    stream: Option<TcpStream>,
    told: Told,
    pauses: bool,
    unsent: usize,
    /// What is asked for when all is sent.
    behind: Option<Call>,
}

impl Kernel {
    /// Makes the host of that number; the calling thread is in its network then.
    pub(crate) fn new(own: usize) -> Self {
        unshare(CloneFlags::CLONE_NEWNET).expect("the test is alone");
        let network = File::open("/proc/thread-self/ns/net").expect("a network");
        let options = TunOptions { kind: TunKind::Tun, super_packets: false, checks: false };
        let device = Device::open("sw0", options).expect("a device");
        let [a, b, c, d] = HOSTS[own];
        ip(&format!("addr add {a}.{b}.{c}.{d}/24 dev sw0"));
        ip("link set sw0 up");
        // Nothing that one connection has taught counts for the next.
        let _ = fs::write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1");
        Kernel {
            own,
            begin: Instant::now(),
            network,
            device,
            listener: None,
            stream: None,
            told: Told::default(),
            pauses: false,
            unsent: 0,
            behind: None,
        }
    }

    fn open(&self, [own, peer]: [SocketAddr; 2]) -> io::Result<TcpStream> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        bind(&socket, &own)?;
        match connect(&socket, &peer) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(socket.into()),
            Err(why) => Err(why.into()),
        }
    }

    /// Lets the application do what it can.
    fn turn(&mut self) {
        if let Some((stream, _)) = self.listener.as_ref().and_then(|it| it.accept().ok()) {
            stream.set_nonblocking(true).expect("a socket");
            (self.stream, self.told.open) = (Some(stream), true);
        }
        let Some(stream) = &mut self.stream else { return };
        let mut octets = [b'x'; 1 << 16];
        while !self.pauses && !self.told.finished && self.told.ended.is_none() {
            match stream.read(&mut octets) {
                Ok(0) if self.told.open => self.told.finished = true,
                Ok(0) => break,
                Ok(heard) => self.told.heard += heard,
                Err(why) => {
                    self.told.ended = match why.kind() {
                        ErrorKind::ConnectionRefused => Some(Why::Refused),
                        ErrorKind::ConnectionReset => Some(Why::Reset),
                        ErrorKind::TimedOut | ErrorKind::HostUnreachable => Some(Why::Silent),
                        _ => break,
                    };
                }
            }
        }
        self.told.open |= stream.peer_addr().is_ok();
        while self.told.open && self.unsent > 0 {
            let most = self.unsent.min(octets.len());
            octets[..most].fill(b'x');
            let Ok(sent) = stream.write(&octets[..most]) else { break };
            self.unsent -= sent;
        }
        if self.unsent == 0
            && let Some(call) = self.behind.take()
        {
            self.call(call);
        }
    }
}

impl Host for Kernel {
    fn call(&mut self, call: Call) {
        setns(&self.network, CloneFlags::CLONE_NEWNET).expect("its network");
        let [own, peer] = [HOSTS[self.own], HOSTS[1 - self.own]];
        match call {
            Call::Finish | Call::Close if self.unsent > 0 => self.behind = Some(call),
            Call::Listen => {
                let listener = TcpListener::bind(SocketAddr::from((own, PORTS[0])));
                let listener = listener.expect("a port");
                listener.set_nonblocking(true).expect("a socket");
                self.listener = Some(listener);
            }
            Call::Connect => {
                let ends = [(own, PORTS[1]).into(), (peer, PORTS[0]).into()];
                self.stream = Some(self.open(ends).expect("a socket"));
            }
            Call::Send(octets) => self.unsent += octets,
            Call::Finish => {
                // It may have ended.
                let _ = self.stream.as_ref().map(|stream| stream.shutdown(Shutdown::Write));
            }
            Call::Close => self.stream = None,
            Call::Abort => {
                if let Some(stream) = self.stream.take() {
                    let at_once = Some(Duration::ZERO);
                    sockopt::set_socket_linger(&stream, at_once).expect("a socket");
                }
            }
            Call::Pause => self.pauses = true,
            Call::Read => self.pauses = false,
        }
        self.turn();
    }

    fn arrives(&mut self, packet: &[u8]) {
        let pieces = [IoSlice::new(&[0; LENGTH]), IoSlice::new(packet)];
        self.device.write(&pieces).expect("a device that is up");
        self.turn();
    }

    fn leaves(&mut self, until: Duration) -> Option<Vec<u8>> {
        loop {
            self.turn();
            let mut octets = vec![0; 1 << 16];
            match self.device.read(&mut octets, &mut []).expect("a device") {
                TunRead::Frame(_, length) if octets[0] >> 4 == 4 => {
                    octets.truncate(length);
                    return Some(octets);
                }
                TunRead::Frame(..) | TunRead::Unknown => {}
                TunRead::Nothing if self.now() >= until => return None,
                TunRead::Nothing => thread::sleep(PAUSE),
            }
        }
    }

    fn now(&self) -> Duration {
        self.begin.elapsed()
    }

    fn told(&self) -> Told {
        self.told
    }

    fn is_real(&self) -> bool {
        true
    }
}
