//! Groups: sockets that have joined one (IP multicast, RFC 1112, RFC 3493 §5.2).

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use mio::net::UdpSocket;
use rustix::net::sockopt;
use stackwright_contract::services::{Credit, DatagramsIndication};
use stackwright_contract::{Handle, Outlet, PathLimits};
use stackwright_wire::Message;

use super::{Association, Ends, LONGEST, Network, Peers, SEND_ROOM, Socket, Udp};
use crate::registry::Registry;
use crate::unopened::unbound;

/// How groups are joined, and reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Multicast {
    /// How many routers a datagram passes, and one more (TTL, hop limit): 1 stays on the link.
    pub hops: u8,
    /// Whether other members on this host receive what is sent; and so does the sender itself.
    pub loops: bool,
    /// The index of the interface (if_nametoindex(3)); `None`: the scope of an IPv6 address, or
    /// what the system's routes say.
    pub interface: Option<u32>,
}

impl Default for Multicast {
    /// Returns what stays on the link, and reaches other members on this host.
    fn default() -> Self {
        Multicast { hops: 1, loops: true, interface: None }
    }
}

impl<M: Message> Udp<M> {
    /// Joins groups as `multicast` says.
    ///
    /// A group is one peer, no matter which member sends: a listener at its address has one
    /// arrival, and what is sent to an association with it reaches all members, which use its port.
    ///
    /// An association with a group that names a local address joins on the interface that has it,
    /// sends from it, and tells members apart: each arrives, by its own address, at a listener at
    /// the group's, which is opened after it. What is sent comes back there, too.
    #[must_use]
    pub fn joining(self, multicast: Multicast) -> Self {
        Udp { multicast, ..self }
    }

    /// Opens an association with a group.
    pub(super) fn open_group(
        &mut self,
        name: Handle,
        group: SocketAddr,
        local: Option<SocketAddr>,
        credit: Credit,
        out: &mut dyn Outlet<Self>,
    ) {
        let ends = Ends { remote: group, local };
        let socket = match self.member(name, ends) {
            Ok(socket) => socket,
            Err(error) => {
                let why = unbound(error, false);
                return out.indicate(DatagramsIndication::Ended { name, why });
            }
        };
        self.names.open(name, Association::new(socket, ends, credit));
        out.indicate(DatagramsIndication::Opened {
            association: name,
            local: local.unwrap_or(group).into(),
            remote: group.into(),
            credit: SEND_ROOM,
            path: PathLimits::of_longest(LONGEST),
        });
    }

    /// Returns the socket of a group for an association with it, of which there may be one.
    fn member(&mut self, name: Handle, ends: Ends) -> io::Result<Handle> {
        let Ends { remote: group, local } = ends;
        let there = self.sockets.iter().find(|(_, socket)| socket.local == group);
        let socket = match there.map(|(name, _)| name) {
            Some(socket) => socket,
            None => self.join(group, local, None)?,
        };
        match self.peers(socket) {
            Some(Peers::Many { known, .. }) if known.keys().all(|ends| ends.remote != group) => {
                known.insert(ends, name)
            }
            _ => return Err(io::ErrorKind::AddrInUse.into()),
        };
        if let Some(socket) = self.sockets.get_mut(socket) {
            socket.apart = local.is_some();
        }
        Ok(socket)
    }

    /// Opens a socket that has joined a group, for a listener if there is one.
    pub(super) fn join(
        &mut self,
        group: SocketAddr,
        local: Option<SocketAddr>,
        listener: Option<Handle>,
    ) -> io::Result<Handle> {
        let local = local.map(|local| local.ip());
        let socket = join(self.network, group, local, &self.multicast, &self.registry)?;
        let peers = Peers::Many { listener, known: HashMap::new(), last: None };
        let name = self.start(socket, peers)?;
        // The system forgets the interface of a group that is not one of a link.
        if let Some(socket) = self.sockets.get_mut(name) {
            socket.local = group;
        }
        Ok(name)
    }
}

impl<M: Message> Socket<M> {
    /// Returns from where a datagram comes: from the group, no matter which member sent it, unless
    /// they are told apart.
    #[inline]
    pub(super) fn sender(&self, from: Option<SocketAddr>) -> Option<SocketAddr> {
        if self.local.ip().is_multicast() && !self.apart { Some(self.local) } else { from }
    }
}

/// Opens a socket at the address of a group, which other members on this host have too, and joins,
/// on the interface with the address `local` if it is to be that.
fn join(
    network: Network,
    group: SocketAddr,
    local: Option<IpAddr>,
    multicast: &Multicast,
    registry: &Registry,
) -> io::Result<UdpSocket> {
    let socket = network.opened(group.is_ipv4(), registry)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    rustix::net::bind(&socket, &group)?;
    let Multicast { hops, loops, interface } = *multicast;
    // The loopback interface brings back what is sent without that.
    let loops = loops && !local.is_some_and(|local| local.is_loopback());
    match group.ip() {
        IpAddr::V4(address) => {
            let own = if let Some(IpAddr::V4(own)) = local { own } else { Ipv4Addr::UNSPECIFIED };
            let interface = interface.unwrap_or(0);
            sockopt::set_ip_add_membership_with_ifindex(&socket, &address, &own, interface)?;
            sockopt::set_ip_multicast_if_with_ifindex(&socket, &address, &own, interface)?;
            sockopt::set_ip_multicast_ttl(&socket, hops.into())?;
            sockopt::set_ip_multicast_loop(&socket, loops)?;
        }
        IpAddr::V6(address) => {
            let scope = if let SocketAddr::V6(group) = group { group.scope_id() } else { 0 };
            let interface = interface.unwrap_or(scope);
            sockopt::set_ipv6_add_membership(&socket, &address, interface)?;
            sockopt::set_ipv6_multicast_if(&socket, interface)?;
            sockopt::set_ipv6_multicast_hops(&socket, hops.into())?;
            sockopt::set_ipv6_multicast_loop(&socket, loops)?;
        }
    }
    Ok(UdpSocket::from_std(socket.into()))
}
