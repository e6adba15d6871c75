//! Connection attempts, and the options of a socket.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use mio::Interest;
use mio::net::TcpStream;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, ipproto, socket_with, sockopt};
use stackwright_contract::Participant;
use stackwright_contract::services::Ended;

/// What is asked of the system about a socket.
pub(super) const INTEREST: Interest = Interest::READABLE.add(Interest::WRITABLE).add(Interest::PRIORITY);

/// Begins to connect; the socket becomes writable when it is decided.
pub(super) fn attempt(remote: Participant, local: Option<Participant>) -> Result<TcpStream, Ended> {
    let remote = remote.internet().ok_or(Ended::Unreachable)?;
    let family = if remote.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket: OwnedFd =
        socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP)).map_err(|_| Ended::Unreachable)?;
    if let Some(local) = local.and_then(Participant::internet) {
        bind(&socket, &local).map_err(|_| Ended::Unavailable)?;
    }
    match connect(&socket, &remote) {
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => {
            Ok(TcpStream::from_std(std::net::TcpStream::from(socket)))
        }
        Err(_) => Err(Ended::Unreachable),
    }
}

/// Both addresses, if the attempt succeeded.
pub(super) fn outcome(stream: &TcpStream) -> Option<(Participant, Participant)> {
    match stream.take_error() {
        Ok(None) => Some((stream.local_addr().ok()?.into(), stream.peer_addr().ok()?.into())),
        _ => None,
    }
}

pub(super) fn set_options(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?; // layers above say everything in one batch: nothing is gained by waiting for more
    sockopt::set_socket_oobinline(stream, true)?; // RFC 959's Telnet signals are read where they stand
    Ok(())
}

/// A close that the peer sees as a reset. If it cannot be set, the peer sees an end that the protocols above it report.
pub(super) fn reset_on_close(stream: &TcpStream) {
    let _ = sockopt::set_socket_linger(stream, Some(Duration::ZERO));
}
