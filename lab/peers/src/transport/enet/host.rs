//! A host of ENet, and how it waits: the library only ever looks, and never blocks.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd as _;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rusty_enet::{EventNoRef, HostSettings, Packet, Peer, PeerID};

use super::super::udp_socket;
use crate::plan::Plan;
use crate::problem::{Problem, Tried as _};

/// What the format has numbers for.
pub(super) const MOST_PEERS: usize = 4095;

/// The longest wait for a datagram, in milliseconds: ENet counts time in these, and does not tell
/// when it next has to look.
const WAIT: u16 = 1;

pub(super) struct Host(rusty_enet::Host<UdpSocket>);

impl Host {
    pub(super) fn new(plan: &Plan, local: SocketAddr) -> Result<Self, Problem> {
        let settings = HostSettings {
            peer_limit: plan.associations().min(MOST_PEERS),
            channel_limit: 1,
            ..HostSettings::default()
        };
        let mut host = rusty_enet::Host::new(udp_socket(local)?, settings).tried("a host")?;
        host.set_mtu(plan.datagram(local.ip())).tried("the longest datagram")?;
        Ok(Host(host))
    }

    pub(super) fn local(&self) -> Result<SocketAddr, Problem> {
        self.0.socket().local_addr().tried("listening")
    }

    pub(super) fn connect(&mut self, remote: SocketAddr) -> Result<PeerID, Problem> {
        self.0.connect(remote, 1, 0).map(|peer| peer.id()).tried("connecting")
    }

    pub(super) fn peer(&mut self, peer: PeerID) -> &mut Peer<UdpSocket> {
        self.0.peer_mut(peer)
    }

    pub(super) fn send(&mut self, peer: PeerID, packet: &Packet) -> Result<(), Problem> {
        self.0.peer_mut(peer).send(0, packet).tried("sending")
    }

    /// What happened; nothing when all is quiet for now.
    pub(super) fn event(&mut self) -> Result<Option<EventNoRef>, Problem> {
        self.0.service().map(|event| event.map(rusty_enet::Event::no_ref)).tried("the socket")
    }

    /// Lets what was given to it leave, without looking what came.
    pub(super) fn flush(&mut self) {
        self.0.flush();
    }

    /// Waits until something comes, or a timer may be due.
    pub(super) fn wait(&self) -> Result<(), Problem> {
        let mut sockets = [PollFd::new(self.0.socket().as_fd(), PollFlags::POLLIN)];
        match poll(&mut sockets, PollTimeout::from(WAIT)) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error).tried("waiting"),
        }
    }
}
