//! Arrivals.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};

use mio::Interest;
use mio::net::TcpListener;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with, sockopt};
use stackwright_contract::services::{Credit, Ended, StreamsIndication};
use stackwright_contract::{Context, Handle, Outlet, Participant, PathLimits};
use stackwright_wire::Message;

use super::{NAME, SEND_ROOM, Socket, Tcp};
use crate::readiness::token;
use crate::unopened::unbound;

/// Clients that may wait for a name; the system may allow fewer.
const BACKLOG: i32 = 1024;

pub(super) struct Listening {
    listener: TcpListener,
    pub(super) awaited: VecDeque<(Handle, usize)>,
    pub(super) due: bool,
}

impl<M: Message> Tcp<M> {
    pub(super) fn listen(&mut self, name: Handle, local: Participant, out: &mut dyn Outlet<Self>) {
        match self.bind(name, local) {
            Ok((listener, local)) => {
                let listening = Listening { listener, awaited: VecDeque::new(), due: false };
                self.sockets.insert(name, Socket::Listening(listening));
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
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        sockopt::set_socket_reuseaddr(&socket, true)?; // a server that is started again takes its port back at once
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, BACKLOG)?;
        let mut listener = TcpListener::from_std(std::net::TcpListener::from(socket));
        self.registry.register(&mut listener, token(self.lane, name), Interest::READABLE)?;
        let local = listener.local_addr()?.into();
        Ok((listener, local))
    }

    /// Lets `association` be given to the next arrival.
    pub(super) fn expect(
        &mut self,
        listener: Handle,
        association: Handle,
        credit: usize,
        out: &mut dyn Outlet<Self>,
    ) {
        if let Some(Socket::Listening(listening)) = self.sockets.get_mut(listener) {
            listening.awaited.push_back((association, credit));
            self.sockets.insert(association, Socket::Awaited { listener });
            self.mark(listener);
        } else {
            out.indicate(StreamsIndication::Ended { name: association, why: Ended::Unlistened });
        }
    }

    pub(super) fn unlisten(&mut self, cx: &Context, name: Handle, out: &mut dyn Outlet<Self>) {
        let Some(Socket::Listening(_)) = self.sockets.get(name) else {
            return cx.dropped(NAME, "close: no such listener");
        };
        let Some(Socket::Listening(listening)) = self.sockets.remove(name) else {
            unreachable!("looked at above")
        };
        for (awaited, _) in listening.awaited {
            self.sockets.remove(awaited);
            out.indicate(StreamsIndication::Ended { name: awaited, why: Ended::Unlistened });
        }
        out.indicate(StreamsIndication::Ended { name, why: Ended::Unlistened });
    }

    /// Accepts arrivals, as long as there are names for them.
    pub(super) fn accept(&mut self, cx: &Context, name: Handle, out: &mut dyn Outlet<Self>) {
        loop {
            let Some(Socket::Listening(listening)) = self.sockets.get_mut(name) else { return };
            listening.due = false;
            if listening.awaited.is_empty() {
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
                listening.awaited.pop_front().expect("seen above that it is not empty");
            self.sockets.remove(association);
            let started = stream.local_addr().map_err(|_| Ended::Reset(0)).and_then(|local| {
                self.start(association, stream, Some((local, remote)), credit)?;
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
