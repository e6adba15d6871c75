//! A socket of SRT, with its settings, and readiness of many.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr};

use super::library::{self, Event, Failed};
use crate::plan::Plan;
use crate::problem::{Problem, Tried as _};

/// Numbers of `srt.h`.
mod number {
    pub(super) const MSS: i32 = 0;
    pub(super) const SNDSYN: i32 = 1;
    pub(super) const RCVSYN: i32 = 2;
    pub(super) const FC: i32 = 4;
    pub(super) const SNDBUF: i32 = 5;
    pub(super) const RCVBUF: i32 = 6;
    pub(super) const LINGER: i32 = 7;
    pub(super) const UDP_SNDBUF: i32 = 8;
    pub(super) const UDP_RCVBUF: i32 = 9;
    pub(super) const SNDTIMEO: i32 = 13;
    pub(super) const RCVTIMEO: i32 = 14;
    pub(super) const CONNTIMEO: i32 = 36;
    pub(super) const MESSAGEAPI: i32 = 48;
    pub(super) const TRANSTYPE: i32 = 50;

    pub(super) const FILE: i32 = 1;

    pub(super) const CONNECTION_LOST: i32 = 2001;
    pub(super) const NO_ROOM: i32 = 6001;
    pub(super) const NOTHING_YET: i32 = 6002;
    pub(super) const TIME_OVER: i32 = 6003;
}

/// Headers of IP and UDP, as SRT counts them: those of IPv4, whatever lies below.
const HEADERS: i32 = 28;

/// How long an opening may take, in milliseconds: on long links that lose packets, the default of 3
/// s is not enough.
const OPENING: i32 = 60_000;

/// One socket; closed when it is dropped.
#[derive(Debug)]
pub(super) struct Socket(pub(super) i32);

impl Drop for Socket {
    fn drop(&mut self) {
        library::close(self.0);
    }
}

impl Socket {
    /// A socket with the settings for this workload, whose calls block, or not.
    pub(super) fn new(plan: &Plan, address: IpAddr, blocks: bool) -> Result<Self, Problem> {
        let set = || {
            let socket = Socket(library::create()?);
            socket.configure(plan, address)?;
            socket.blocks(blocks)?;
            Ok::<_, Failed>(socket)
        };
        set().tried("a socket of SRT")
    }

    fn configure(&self, plan: &Plan, address: IpAddr) -> Result<(), Failed> {
        // Messages that are neither late on purpose nor given up. Live mode without these two is no
        // faster for single ones.
        library::set(self.0, number::TRANSTYPE, number::FILE)?;
        library::set_flag(self.0, number::MESSAGEAPI, true)?;
        let datagram = i32::from(plan.datagram(address));
        library::set(self.0, number::MSS, datagram + HEADERS)?;
        library::set(self.0, number::UDP_SNDBUF, super::SOCKET_BUFFER as i32)?;
        library::set(self.0, number::UDP_RCVBUF, super::SOCKET_BUFFER as i32)?;
        if let Some(window) = plan.window {
            let octets = i32::try_from(window).unwrap_or(i32::MAX);
            library::set(self.0, number::FC, (octets / datagram).max(32))?;
            library::set(self.0, number::SNDBUF, octets)?;
            library::set(self.0, number::RCVBUF, octets)?;
        }
        // What the receiver has not counted by the end is not waited for.
        library::set_pair(self.0, number::LINGER, [0, 0])?;
        library::set(self.0, number::CONNTIMEO, OPENING)
    }

    /// Whether calls wait, for a glance at most.
    pub(super) fn blocks(&self, blocks: bool) -> Result<(), Failed> {
        library::set_flag(self.0, number::SNDSYN, blocks)?;
        library::set_flag(self.0, number::RCVSYN, blocks)?;
        let glance = super::GLANCE.as_millis() as i32;
        library::set(self.0, number::SNDTIMEO, glance)?;
        library::set(self.0, number::RCVTIMEO, glance)
    }

    pub(super) fn bind(&self, address: SocketAddr) -> Result<(), Problem> {
        library::bind(self.0, &address.into()).tried("binding")
    }

    pub(super) fn local(&self) -> Result<SocketAddr, Problem> {
        let address = library::local(self.0).tried("binding")?;
        address.as_socket().ok_or_else(|| Problem::new("an address that is none of IP"))
    }

    pub(super) fn listen(&self) -> Result<(), Problem> {
        library::listen(self.0, 4096).tried("listening")
    }

    pub(super) fn connect(&self, remote: SocketAddr) -> Result<(), Problem> {
        library::connect(self.0, &remote.into()).tried("connecting")
    }

    /// The next association; none when there is none yet.
    pub(super) fn accept(&self) -> Result<Option<Socket>, Problem> {
        match library::accept(self.0) {
            Ok(number) => Ok(Some(Socket(number))),
            Err(failed) if failed.number == number::NOTHING_YET => Ok(None),
            Err(failed) => Err(failed).tried("accepting"),
        }
    }

    pub(super) fn sent_again(&self) -> Option<u64> {
        library::sent_again(self.0)
    }
}

fn as_io(failed: Failed) -> io::Error {
    let kind = match failed.number {
        number::NO_ROOM | number::NOTHING_YET => ErrorKind::WouldBlock,
        number::TIME_OVER => ErrorKind::TimedOut,
        _ => ErrorKind::Other,
    };
    io::Error::new(kind, failed)
}

impl Read for Socket {
    /// One message.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match library::receive(self.0, buffer) {
            // SRT does not tell an end from a break.
            Err(failed) if failed.number == number::CONNECTION_LOST => Ok(0),
            received => received.map_err(as_io),
        }
    }
}

impl Write for Socket {
    /// One message, whole.
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        library::send(self.0, message).map_err(as_io)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What happens to many sockets.
pub(super) struct Readiness {
    epoll: i32,
    events: Vec<Event>,
}

/// Something can be read, or accepted.
pub(super) const READABLE: i32 = 1;
/// Something can be written: an opening is complete.
pub(super) const WRITABLE: i32 = 4;
/// It is broken, or closed.
pub(super) const BROKEN: i32 = 8;

impl Readiness {
    pub(super) fn new() -> Result<Self, Problem> {
        let epoll = library::epoll_create().tried("readiness")?;
        Ok(Readiness { epoll, events: vec![Event::default(); 1024] })
    }

    pub(super) fn add(&self, socket: &Socket, what: i32) -> Result<(), Problem> {
        library::epoll_add(self.epoll, socket.0, what | BROKEN).tried("readiness")
    }

    pub(super) fn change(&self, socket: &Socket, what: i32) -> Result<(), Problem> {
        library::epoll_update(self.epoll, socket.0, what | BROKEN).tried("readiness")
    }

    pub(super) fn remove(&self, socket: &Socket) -> Result<(), Problem> {
        library::epoll_remove(self.epoll, socket.0).tried("readiness")
    }

    /// Waits for a glance.
    pub(super) fn wait(&mut self) -> Result<&[Event], Problem> {
        match library::epoll_wait(self.epoll, &mut self.events, super::GLANCE.as_millis() as i64) {
            Ok(found) => Ok(&self.events[..found]),
            Err(failed) if failed.number == number::TIME_OVER => Ok(&[]),
            Err(failed) => Err(failed).tried("waiting"),
        }
    }
}

impl Drop for Readiness {
    fn drop(&mut self) {
        library::epoll_release(self.epoll);
    }
}
