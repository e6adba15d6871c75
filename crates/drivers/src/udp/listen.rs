//! Listeners, and the arrival of peers.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use stackwright_contract::services::{Credit, DatagramsIndication, Ended};
use stackwright_contract::{Handle, Mirror, Outlet, Participant, PathLimits};
use stackwright_wire::Message;

use super::{Association, Ends, LONGEST, Named, Peers, SEND_ROOM, Socket, Udp};
use crate::unopened::unbound;

impl<M: Message> Udp<M> {
    pub(super) fn listen(&mut self, name: Handle, local: Participant, out: &mut dyn Outlet<Self>) {
        match self.bind(name, local) {
            Ok(socket) => {
                let local = self.sockets.get(socket).expect("it was just bound").local.into();
                self.names.insert(name, Named::Listener(socket));
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
            return self.join(local, Some(name));
        }
        let socket = self.network.bind(local, self.shared_port)?;
        let peers = Peers::Many {
            listener: Some(name),
            awaited: VecDeque::new(),
            known: HashMap::new(),
            last: None,
        };
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

    /// Lets the next arrival take the name `association`.
    pub(super) fn expect(
        &mut self,
        listener: Handle,
        association: Handle,
        credit: Credit,
        out: &mut dyn Outlet<Self>,
    ) {
        let Some(Named::Listener(socket)) = self.names.get(listener) else {
            let why = Ended::Unlistened;
            return out.indicate(DatagramsIndication::Ended { name: association, why });
        };
        let socket = *socket;
        self.names.insert(association, Named::Awaited(socket));
        if let Some(Peers::Many { awaited, .. }) = self.peers(socket) {
            awaited.push_back((association, credit));
        }
    }

    /// Closes the listener. Peers that have arrived keep their associations.
    pub(super) fn unlisten(&mut self, name: Handle, socket: Handle, out: &mut dyn Outlet<Self>) {
        self.names.remove(name);
        if let Some(Peers::Many { listener, awaited, .. }) = self.peers(socket) {
            *listener = None;
            for (waits, _) in std::mem::take(awaited) {
                self.names.remove(waits);
                out.indicate(DatagramsIndication::Ended { name: waits, why: Ended::Unlistened });
            }
        }
        self.leave(socket);
        out.indicate(DatagramsIndication::Ended { name, why: Ended::Unlistened });
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
        names: &mut Mirror<Named>,
        out: &mut dyn Outlet<Udp<M>>,
    ) -> Result<Handle, &'static str> {
        let (awaited, known, last) = match &mut self.peers {
            Peers::One(association) => return Ok(*association),
            Peers::Many { awaited, known, last, .. } => (awaited, known, last),
        };
        let ends = Ends { remote: from.ok_or("a datagram of nobody")?, local: to };
        let is_he = |open: &Association| open.ends == ends && open.socket == itself;
        if let Some(association) = *last
            && matches!(names.get(association), Some(Named::Open(open)) if is_he(open))
        {
            return Ok(association);
        }
        if let Some(association) = known.get(&ends) {
            *last = Some(*association);
            return Ok(*association);
        }
        let (association, credit) =
            awaited.pop_front().ok_or("a datagram of somebody for whom no name waits")?;
        known.insert(ends, association);
        names.remove(association);
        names.insert(association, Named::Open(Association::new(itself, ends, credit)));
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
