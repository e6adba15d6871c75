//! Bulk over the loopback interface, as fast as it goes.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::socket::{setsockopt, sockopt};

/// What is sent in one sample, in octets.
const TOTAL: usize = 128 << 20;
/// The fewest that are sent where every datagram is a call.
const TOTAL_PLAIN: usize = 16 << 20;
/// One write of TCP.
const WRITE: usize = 256 << 10;
/// What may be under way, and how often the receiver says what has arrived.
const WINDOW: usize = 1 << 20;
const CREDIT: usize = 128 << 10;
/// The most that one UDP packet holds before the kernel cuts it, and the most pieces it cuts it
/// into (udp(7)).
const PACKET: usize = 65_507;
const PIECES: usize = 64;
/// Nothing is lost on this interface as long as the window fits the buffer: whoever waits so long
/// is stuck.
const PATIENCE: Duration = Duration::from_secs(2);

/// One sample.
pub(super) struct Sent {
    octets: usize,
    elapsed: f64,
    processor: f64,
}

impl Sent {
    /// The rate of payload.
    pub(super) fn gigabits_per_second(&self) -> f64 {
        8e-9 * self.octets as f64 / self.elapsed
    }

    /// What both ends took of the processor, the kernel's part included.
    pub(super) fn seconds_per_gigabyte(&self) -> f64 {
        1e9 * self.processor / self.octets as f64
    }
}

/// Times `transfer`, which tells how many octets arrived.
fn sample(transfer: impl FnOnce() -> io::Result<usize>) -> io::Result<Sent> {
    let (processor, begin) = (used()?, Instant::now());
    let octets = transfer()?;
    Ok(Sent { octets, elapsed: begin.elapsed().as_secs_f64(), processor: used()? - processor })
}

/// The processor time of this process so far, in seconds.
fn used() -> io::Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let times = [usage.user_time(), usage.system_time()];
    Ok(times.map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6).iter().sum())
}

/// The kernel's TCP.
pub(super) fn tcp() -> io::Result<Sent> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut near = TcpStream::connect(listener.local_addr()?)?;
    let (mut far, _) = listener.accept()?;
    far.set_read_timeout(Some(PATIENCE))?;
    // Whatever the system's choice is.
    setsockopt(&near, sockopt::TcpCongestion, &OsString::from("cubic"))?;
    sample(|| {
        thread::scope(|scope| {
            let sender = scope.spawn(move || {
                let octets = vec![7; WRITE];
                for _ in 0..TOTAL / WRITE {
                    near.write_all(&octets)?;
                }
                near.shutdown(Shutdown::Write)
            });
            let (mut arrived, mut buffer) = (0, vec![0; WRITE]);
            loop {
                match far.read(&mut buffer)? {
                    0 => break,
                    octets => arrived += octets,
                }
            }
            joined(sender.join())?;
            Ok(arrived)
        })
    })
}

/// Datagrams of `segment` octets under a window; with `offloads` in packets that the kernel cuts
/// and joins.
pub(super) fn udp(segment: usize, offloads: bool) -> io::Result<Sent> {
    let (near, far) = (socket()?, socket()?);
    near.connect(far.local_addr()?)?;
    far.connect(near.local_addr()?)?;
    if offloads {
        setsockopt(&near, sockopt::UdpGsoSegment, &i32::try_from(segment).unwrap_or(i32::MAX))?;
        setsockopt(&far, sockopt::UdpGroSegment, &true)?;
    }
    let pieces = if offloads { (PACKET / segment).min(PIECES) } else { 1 };
    let packet = vec![7; pieces * segment];
    let packets = (if offloads { TOTAL } else { TOTAL_PLAIN }) / packet.len();
    let total = packets * packet.len();
    // What a datagram occupies in the receiver's buffer is more than its payload: the more so, the
    // smaller it is.
    let window = WINDOW.max(2 * packet.len());
    sample(|| {
        thread::scope(|scope| {
            let receiver = scope.spawn(|| receive(&far, total));
            let (mut sent, mut credited) = (0, 0);
            while sent < total {
                if sent + packet.len() > credited + window {
                    let mut credit = [0; 8];
                    near.recv(&mut credit)?;
                    credited = u64::from_be_bytes(credit) as usize;
                    continue;
                }
                sent += near.send(&packet)?;
            }
            joined(receiver.join())
        })
    })
}

/// Receives `total` octets, and tells now and then how many have arrived.
fn receive(socket: &UdpSocket, total: usize) -> io::Result<usize> {
    let (mut arrived, mut told, mut buffer) = (0, 0, vec![0; 1 << 16]);
    while arrived < total {
        arrived += socket.recv(&mut buffer)?;
        if arrived - told >= CREDIT {
            socket.send(&(arrived as u64).to_be_bytes())?;
            told = arrived;
        }
    }
    Ok(arrived)
}

/// A socket with room for the window, as far as the system allows it.
fn socket() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let room = 8 * WINDOW;
    // Root may have more than others.
    setsockopt(&socket, sockopt::RcvBufForce, &room)
        .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &room))?;
    Ok(socket)
}

fn joined<T>(ended: thread::Result<io::Result<T>>) -> io::Result<T> {
    ended.unwrap_or_else(|_| Err(io::Error::other("a thread of the transfer failed")))
}
