//! Connection attempts, and the options of a socket.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use mio::Interest;
use mio::net::TcpStream;
use nix::libc;
use nix::sys::socket::sockopt::{GetStruct, SetStruct};
use nix::sys::socket::{getsockopt, setsockopt};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, connect, ipproto, socket_with, sockopt,
};
use stackwright_contract::Participant;
use stackwright_contract::services::Ended;

use crate::unopened::{unbound, unconnected};

/// The most octets that an association keeps unsent where little is kept: half a segment over
/// loopback.
const UNSENT: u32 = 32 << 10;

/// What is asked of the system about a socket.
pub(crate) const INTEREST: Interest =
    Interest::READABLE.add(Interest::WRITABLE).add(Interest::PRIORITY);

/// Begins to connect; the socket becomes writable when it is decided.
pub(crate) fn attempt(remote: Participant, local: Option<Participant>) -> Result<TcpStream, Ended> {
    let remote = remote.internet().ok_or(Ended::Unreachable)?;
    let family = if remote.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket: OwnedFd = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))
        .map_err(|why| unbound(why, true))?;
    if let Some(local) = local.and_then(Participant::internet) {
        bind(&socket, &local).map_err(|why| unbound(why, local.port() == 0))?;
    }
    match connect(&socket, &remote) {
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => {
            Ok(TcpStream::from_std(std::net::TcpStream::from(socket)))
        }
        Err(why) => Err(unconnected(why)),
    }
}

/// Both addresses, if the attempt succeeded.
pub(crate) fn outcome(stream: &TcpStream) -> Option<(SocketAddr, SocketAddr)> {
    match stream.take_error() {
        Ok(None) => Some((stream.local_addr().ok()?, stream.peer_addr().ok()?)),
        _ => None,
    }
}

/// What all sockets of an adapter have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SocketOptions {
    /// The congestion control; the system's choice where none is named.
    pub(crate) congestion: Option<&'static str>,
    /// After how long a silence the system probes whether the peer is there.
    pub(crate) keepalive: Option<Duration>,
}

/// Sets the options of a socket.
pub(crate) fn set_options(
    stream: &TcpStream,
    SocketOptions { congestion, keepalive }: SocketOptions,
) -> io::Result<()> {
    if let Some(name) = congestion {
        sockopt::set_tcp_congestion(stream, name)?;
    }
    if let Some(idle) = keepalive {
        sockopt::set_socket_keepalive(stream, true)?;
        sockopt::set_tcp_keepidle(stream, idle)?;
        sockopt::set_tcp_keepintvl(stream, idle)?;
    }
    // Layers above say everything in one batch: nothing is gained by waiting for more.
    stream.set_nodelay(true)?;
    // RFC 959's Telnet signals are read where they stand.
    sockopt::set_socket_oobinline(stream, true)?;
    Ok(())
}

/// Returns whether sockets of this system can have the congestion control `name`, such as `bbr`. A
/// module that is not loaded is not found out by a process without the right to load it.
pub fn has_congestion(name: &str) -> bool {
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        Some(ipproto::TCP),
    );
    socket.is_ok_and(|socket| sockopt::set_tcp_congestion(&socket, name).is_ok())
}

/// Whether both ends are on this machine, as far as addresses tell.
pub(super) fn near(local: SocketAddr, remote: SocketAddr) -> bool {
    let [local, remote] = [local, remote].map(|address| address.ip().to_canonical());
    remote.is_loopback() || local == remote
}

/// Lets few octets wait in the kernel that have not left, where that is worth the wake-ups:
///
/// - To a peer on this machine, what waits leaves the processor's cache.
/// - Where the system paces by BBR, it shall know the association as limited by its application.
///   One that always has more is paced at the rate of its first round trips, when the receiver was
///   only starting: regions over loopback took 1.4 times as long. By CUBIC, which does not pace,
///   the wake-ups would cost a third.
pub(super) fn keep_little_unsent(stream: &TcpStream, near: bool) {
    // It is for speed alone: without it, octets flow all the same.
    if near || sockopt::tcp_congestion(stream).is_ok_and(|name| name.starts_with("bbr")) {
        let _ = setsockopt(stream, NotSent, &UNSENT);
    }
}

/// `TCP_NOTSENT_LOWAT` (tcp(7)).
#[derive(Clone, Copy)]
struct NotSent;

nix::setsockopt_impl!(NotSent, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, u32, SetStruct<u32>);

/// Returns the smoothed round-trip time; `None` before there is one.
pub(super) fn round_trip(stream: &TcpStream) -> Option<Duration> {
    let info = getsockopt(stream, Information).ok()?;
    (info.tcpi_rtt > 0).then(|| Duration::from_micros(info.tcpi_rtt.into()))
}

/// `TCP_INFO` (tcp(7)).
#[derive(Clone, Copy)]
struct Information;

nix::getsockopt_impl!(
    Information,
    libc::IPPROTO_TCP,
    libc::TCP_INFO,
    libc::tcp_info,
    GetStruct<libc::tcp_info>
);

/// A close that the peer sees as a reset. If it cannot be set, the peer sees an end that the
/// protocols above it report.
pub(super) fn reset_on_close(stream: &TcpStream) {
    let _ = sockopt::set_socket_linger(stream, Some(Duration::ZERO));
}

/// A close that the peer sees as the end of the octets, behind all that was sent.
pub(super) fn finish_on_close(stream: &TcpStream) {
    let _ = sockopt::set_socket_linger(stream, None);
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    nix::getsockopt_impl!(NotSent, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, u32, GetStruct<u32>);

    #[test]
    fn little_is_left_unsent_by_bbr_and_to_who_is_near() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let here = listener.local_addr().expect("its address");
        for (name, near) in [("reno", false), ("cubic", false), ("bbr", false), ("reno", true)] {
            let stream = TcpStream::connect(here).expect("begun");
            if sockopt::set_tcp_congestion(&stream, name).is_err() {
                continue; // this system has no such module; reno it always has
            }
            keep_little_unsent(&stream, near);
            let unsent = getsockopt(&stream, NotSent).expect("known of every TCP socket");
            assert_eq!(unsent == UNSENT, near || name == "bbr", "{name}: {unsent}");
        }
    }

    #[test]
    fn a_socket_has_the_congestion_control_that_was_named() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let here = listener.local_addr().expect("its address");
        for name in ["reno", "cubic", "bbr"].into_iter().filter(|name| has_congestion(name)) {
            let stream = TcpStream::connect(here).expect("begun");
            let options = SocketOptions { congestion: Some(name), ..SocketOptions::default() };
            set_options(&stream, options).expect("it was found out before");
            assert_eq!(sockopt::tcp_congestion(&stream).expect("known of each socket"), name);
        }
        assert!(!has_congestion("no such control"));
        let stream = TcpStream::connect(here).expect("begun");
        let options =
            SocketOptions { congestion: Some("no such control"), ..SocketOptions::default() };
        assert!(set_options(&stream, options).is_err());
    }

    #[test]
    fn a_silent_peer_is_probed_where_that_is_asked_for() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let here = listener.local_addr().expect("its address");
        for keepalive in [None, Some(Duration::from_secs(60))] {
            let stream = TcpStream::connect(here).expect("begun");
            set_options(&stream, SocketOptions { keepalive, ..SocketOptions::default() })
                .expect("every system has it");
            let probes = sockopt::socket_keepalive(&stream).expect("known of each socket");
            assert_eq!(probes, keepalive.is_some());
            if let Some(idle) = keepalive {
                assert_eq!(sockopt::tcp_keepidle(&stream).expect("known, too"), idle);
            }
        }
    }

    #[test]
    fn who_is_near() {
        let is_near = |local: &str, remote: &str| {
            near(local.parse().expect("an address"), remote.parse().expect("an address"))
        };
        assert!(is_near("127.0.0.1:1", "127.0.0.1:2"));
        assert!(is_near("[::1]:1", "[::1]:2"));
        assert!(is_near("[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:2"));
        assert!(
            is_near("192.0.2.1:1", "192.0.2.1:2"),
            "an own address is reached through loopback"
        );
        assert!(!is_near("192.0.2.1:1", "192.0.2.2:1"));
        assert!(!is_near("[2001:db8::1]:1", "[2001:db8::2]:1"));
    }
}
