//! What lies between a client and a server: it loses every tenth datagram, and remembers all that
//! it carried.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use stackwright::wire::capture::{Capture, Ends, Frame, LinkType, PacketDirection, Payload};

/// Where clients find the relay; the server is at the same port of 127.0.0.1.
pub(crate) const ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

pub(crate) struct Relay {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Carried>,
}

/// All that was carried.
pub(crate) struct Carried {
    /// A capture of all datagrams that arrived here, the lost ones too.
    pub(crate) capture: Vec<u8>,
    /// The datagrams.
    pub(crate) packets: Vec<Vec<u8>>,
    pub(crate) ports: Vec<u16>,
    pub(crate) lost: u32,
}

impl Relay {
    /// Carries what is for the server at `port`, and for its data associations.
    pub(crate) fn start(port: u16) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut carrier = Carrier {
            lines: vec![],
            seen: 0,
            lost: 0,
            packets: vec![],
            capture: Capture::new("relay"),
        };
        carrier.listen(port);
        let stops = Arc::clone(&stop);
        Relay { stop, thread: thread::spawn(move || carrier.run(&stops)) }
    }

    pub(crate) fn stop(self) -> Carried {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("a relay that does not panic")
    }
}

/// One port: where clients come, and a socket for each of them toward the server.
struct Line {
    port: u16,
    clients: UdpSocket,
    servers: HashMap<SocketAddr, UdpSocket>,
}

struct Carrier {
    lines: Vec<Line>,
    seen: u32,
    lost: u32,
    packets: Vec<Vec<u8>>,
    capture: Capture,
}

fn socket(address: (Ipv4Addr, u16)) -> UdpSocket {
    let socket = UdpSocket::bind(address).expect("loopback has the whole of 127.0.0.0/8");
    socket.set_nonblocking(true).expect("a socket");
    socket
}

fn receive(socket: &UdpSocket, octets: &mut [u8]) -> Option<(usize, SocketAddr)> {
    match socket.recv_from(octets) {
        Ok(there) => Some(there),
        // Nobody listens there any more: datagrams are lost.
        Err(error)
            if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionRefused) =>
        {
            None
        }
        Err(error) => panic!("{error}"),
    }
}

impl Carrier {
    fn listen(&mut self, port: u16) {
        if self.lines.iter().all(|line| line.port != port) {
            let clients = socket((ADDRESS, port));
            self.lines.push(Line { port, clients, servers: HashMap::new() });
        }
    }

    fn run(mut self, stop: &AtomicBool) -> Carried {
        let boundary = self.capture.interface("relay", "", LinkType::RAW);
        let mut octets = vec![0; 1 << 16];
        while !stop.load(Ordering::Relaxed) {
            let mut carried = false;
            for index in 0..self.lines.len() {
                if let Some((length, source, destination)) = self.lines[index].step(&mut octets) {
                    carried = true;
                    let datagram = &octets[..length];
                    self.seen += 1;
                    let ends = Ends::between(source, destination);
                    let frame =
                        Frame::datagram(ends, Payload::from(datagram)).expect("it came as one");
                    let time = 1_000_000_000 + u64::from(self.seen) * 1000;
                    self.capture.packet(boundary, time, PacketDirection::Outbound, &frame, None);
                    self.packets.push(datagram.to_vec());
                    let lose = self.seen.is_multiple_of(10);
                    self.lost += u32::from(lose);
                    // A reply to EPSV names the port of a data association (RFC 2428 §3).
                    if let Some(port) = port_in(datagram) {
                        self.listen(port);
                    }
                    if !lose {
                        self.lines[index].carry(datagram, source, destination);
                    }
                }
            }
            if !carried {
                thread::sleep(Duration::from_micros(100));
            }
        }
        let ports = self.lines.iter().map(|line| line.port).collect();
        Carried { capture: self.capture.take(), packets: self.packets, ports, lost: self.lost }
    }
}

impl Line {
    /// The next datagram that is here, whence and whither: a client's, or else the server's for
    /// one.
    fn step(&mut self, octets: &mut [u8]) -> Option<(usize, SocketAddr, SocketAddr)> {
        let here = SocketAddr::from((ADDRESS, self.port));
        if let Some((length, client)) = receive(&self.clients, octets) {
            return Some((length, client, here));
        }
        let mut servers = self.servers.iter();
        servers.find_map(|(client, socket)| Some((receive(socket, octets)?.0, here, *client)))
    }

    fn carry(&mut self, datagram: &[u8], source: SocketAddr, destination: SocketAddr) {
        let server = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        // What cannot be sent is lost.
        let _ = if destination.port() == self.port && destination.ip() == ADDRESS {
            let socket =
                self.servers.entry(source).or_insert_with(|| socket((Ipv4Addr::LOCALHOST, 0)));
            socket.send_to(datagram, server)
        } else {
            self.clients.send_to(datagram, destination)
        };
    }
}

/// The number between `(|||` and `|)`.
fn port_in(datagram: &[u8]) -> Option<u16> {
    let begin = datagram.windows(4).position(|four| four == b"(|||")? + 4;
    let length = datagram[begin..].iter().position(|octet| *octet == b'|')?;
    std::str::from_utf8(&datagram[begin..begin + length]).ok()?.parse().ok()
}
