//! Arrivals.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use mio::Interest;
use mio::net::TcpListener;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with, sockopt};
use stackwright_contract::services::{Credit, Ended, StreamsIndication};
use stackwright_contract::{Context, Handle, Outlet, Participant, PathLimits};
use stackwright_wire::Message;

use super::{NAME, SEND_ROOM, Tcp};
use crate::granted::Wanted;
use crate::readiness::token;
use crate::unopened::unbound;

/// Clients that may wait for a name; the system may allow fewer.
const BACKLOG: i32 = 1024;

pub(super) struct Listening {
    listener: TcpListener,
    pub(super) due: bool,
}

/// Opens a socket of TCP that listens at `address`.
pub(crate) fn listening(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    // A server that is started again takes its port back at once.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

impl<M: Message> Tcp<M> {
    pub(super) fn listen(&mut self, name: Handle, local: Participant, out: &mut dyn Outlet<Self>) {
        match self.bind(name, local) {
            Ok((listener, local)) => {
                self.sockets.listen(name, Listening { listener, due: false });
                out.indicate(StreamsIndication::Listening { listener: name, local });
            }
            Err(error) => {
                let any = local.internet().is_some_and(|local| local.port() == 0);
                let why = unbound(error, any);
                out.indicate(StreamsIndication::Ended { name, why });
            }
        }
    }

    fn bind(&self, name: Handle, local: Participant) -> io::Result<(TcpListener, Participant)> {
        let address = local.internet().ok_or(ErrorKind::AddrNotAvailable)?;
        let socket = self.registry.or_granted(listening(address), || Wanted::Tcp(address))?;
        let mut listener = TcpListener::from_std(std::net::TcpListener::from(socket));
        self.registry.register(&mut listener, token(self.lane, name), Interest::READABLE)?;
        let local = listener.local_addr()?.into();
        Ok((listener, local))
    }

    /// Accepts arrivals, as long as there are names for them.
    pub(super) fn accept(&mut self, cx: &Context, name: Handle, out: &mut dyn Outlet<Self>) {
        loop {
            let awaited = self.sockets.awaited(name);
            let Some(listening) = self.sockets.listener_mut(name) else { return };
            listening.due = false;
            if awaited == 0 {
                return;
            }
            let (stream, remote) = match listening.listener.accept() {
                Ok(arrival) => arrival,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // It left before we came, or a signal came between: the next one may be there.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::ConnectionAborted | ErrorKind::Interrupted
                    ) =>
                {
                    continue;
                }
                Err(_) => {
                    cx.dropped(NAME, "accept: no descriptor is free");
                    return self.starved.push(name);
                }
            };
            let (association, credit) =
                self.sockets.arrive(name).expect("seen above that a name waits");
            let started = stream.local_addr().map_err(|_| Ended::Reset(0)).and_then(|local| {
                self.start(association, stream, Some((local, remote)), credit.octets)?;
                Ok(local)
            });
            match started {
                Ok(local) => out.indicate(StreamsIndication::Opened {
                    association,
                    local: local.into(),
                    remote: remote.into(),
                    credit: Credit::of_octets(SEND_ROOM),
                    path: PathLimits::UNBOUNDED,
                }),
                Err(why) => out.indicate(StreamsIndication::Ended { name: association, why }),
            }
        }
    }
}
