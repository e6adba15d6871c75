//! Listeners, and the arrival of peers.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use stackwright_contract::services::{Credit, DatagramsIndication};
use stackwright_contract::{Handle, Outlet, Participant, PathLimits};
use stackwright_wire::Message;

use super::{Association, Associations, Ends, LONGEST, Peers, SEND_ROOM, Socket, Udp};
use crate::unopened::unbound;

impl<M: Message> Udp<M> {
    pub(super) fn listen(&mut self, name: Handle, local: Participant, out: &mut dyn Outlet<Self>) {
        match self.bind(name, local) {
            Ok(socket) => {
                let local = self.sockets.get(socket).expect("it was just bound").local.into();
                self.names.listen(name, socket);
                out.indicate(DatagramsIndication::Listening { listener: name, local });
            }
            Err(error) => {
                let any = local.internet().is_some_and(|local| local.port() == 0);
                let why = unbound(error, any);
                out.indicate(DatagramsIndication::Ended { name, why });
            }
        }
    }

    fn bind(&mut self, name: Handle, local: Participant) -> io::Result<Handle> {
        let local = self.network.identity(local.internet().ok_or(ErrorKind::AddrNotAvailable)?);
        if let Some(socket) = self.abandoned(local) {
            if let Some(Peers::Many { listener, .. }) = self.peers(socket) {
                *listener = Some(name);
            }
            return Ok(socket);
        }
        if local.ip().is_multicast() {
            return self.join(local, None, Some(name));
        }
        let socket = self.network.bind(local, self.shared_port, &self.registry)?;
        let peers = Peers::Many { listener: Some(name), known: HashMap::new(), last: None };
        self.start(socket, peers)
    }

    /// Returns the socket of a closed listener that peers still use: a new listener at the same
    /// address takes it over.
    fn abandoned(&self, local: SocketAddr) -> Option<Handle> {
        let nobody_listens =
            |socket: &Socket<M>| matches!(socket.peers, Peers::Many { listener: None, .. });
        let found =
            self.sockets.iter().find(|(_, socket)| socket.local == local && nobody_listens(socket));
        found.map(|(name, _)| name)
    }
}

impl<M: Message> Socket<M> {
    /// Returns the association that a datagram belongs to; an unknown peer takes the next name that
    /// waits.
    pub(super) fn recipient(
        &mut self,
        itself: Handle,
        from: Option<SocketAddr>,
        to: Option<SocketAddr>,
        names: &mut Associations,
        out: &mut dyn Outlet<Udp<M>>,
    ) -> Result<Handle, &'static str> {
        let (listener, known, last) = match &mut self.peers {
            Peers::One(association) => return Ok(*association),
            Peers::Many { listener, known, last } => (listener, known, last),
        };
        let ends = Ends { remote: from.ok_or("a datagram of nobody")?, local: to };
        let is_he = |open: &Association| open.ends == ends && open.socket == itself;
        if let Some(association) = *last
            && names.get(association).is_some_and(is_he)
        {
            return Ok(association);
        }
        if let Some(association) = known.get(&ends) {
            *last = Some(*association);
            return Ok(*association);
        }
        let arrival = listener.and_then(|listener| names.arrive(listener));
        let (association, credit) =
            arrival.ok_or("a datagram of somebody for whom no name waits")?;
        known.insert(ends, association);
        names.open(association, Association::new(itself, ends, credit));
        out.indicate(DatagramsIndication::Opened {
            association,
            local: ends.local.unwrap_or(self.local).into(),
            remote: ends.remote.into(),
            credit: SEND_ROOM,
            path: PathLimits::of_longest(LONGEST),
        });
        Ok(association)
    }
}

impl Association {
    pub(super) fn new(socket: Handle, ends: Ends, up: Credit) -> Self {
        Association {
            socket,
            ends,
            up,
            down: SEND_ROOM,
            left: Credit::default(),
            closing: false,
            heard: false,
        }
    }
}
