//! From the socket upward, within the room that the upper layer gave.

use std::mem;
use std::net::SocketAddr;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recvfrom};
use stackwright_contract::services::DatagramsIndication;
use stackwright_contract::{Context, Handle, Mirror, Outlet};
use stackwright_wire::{Message, Pool};

use super::{NAME, Named, Peers, RECEIVE_TURN, Socket, Udp, connect, less};

/// A datagram as it came.
struct Arrival {
    /// How many octets it has; where the block has fewer, the rest is lost.
    octets: usize,
    from: SocketAddr,
}

impl<M: Message> Udp<M> {
    /// Delivers up to a fair share.
    pub(super) fn receive(&mut self, cx: &Context, name: Handle, out: &mut dyn Outlet<Self>) {
        let Udp { sockets, names, pool, .. } = self;
        let Some(socket) = sockets.get_mut(name) else { return };
        if !socket.readable {
            return;
        }
        let mut block = pool.take();
        let mut share = RECEIVE_TURN.octets;
        // One datagram a call. A batch, many datagrams by recvmmsg or many of one peer in one block by UDP_GRO, has its
        // place in `take`; `deliver` then hears each of them.
        for _look in 0..RECEIVE_TURN.messages {
            match socket.take(&mut block) {
                Ok(arrival) => {
                    share = share.saturating_sub(arrival.octets);
                    if let Err(reason) = socket.deliver(name, &arrival, &mut block, names, pool, out) {
                        cx.dropped(NAME, reason);
                    }
                }
                Err(Errno::AGAIN) => socket.readable = false,
                Err(Errno::INTR) => {}
                // It was told once and is gone: what the peer said before it still lies there, and is delivered first.
                Err(error) if connect::unreachable(error) && socket.is_connected() => socket.broken = true,
                Err(_) => cx.dropped(NAME, "receive: the network reports an error"),
            }
            if !socket.readable || share == 0 {
                break;
            }
        }
        pool.give(block);
    }
}

impl<M: Message> Socket<M> {
    pub(super) fn is_connected(&self) -> bool {
        matches!(self.peers, Peers::One(_))
    }

    fn take(&self, block: &mut [u8]) -> Result<Arrival, Errno> {
        // With TRUNC the kernel tells the datagram's own length, however little of it the block has taken (recv(2)).
        let (_, octets, from) = recvfrom(&self.socket, block, RecvFlags::TRUNC)?;
        let from = from.and_then(|from| SocketAddr::try_from(from).ok()).ok_or(Errno::AFNOSUPPORT)?;
        Ok(Arrival { octets, from: connect::identity(from) })
    }

    /// Hands a datagram to whom it is for, or says why it is dropped.
    fn deliver(
        &mut self,
        itself: Handle,
        arrival: &Arrival,
        block: &mut Box<[u8]>,
        names: &mut Mirror<Named>,
        pool: &Pool,
        out: &mut dyn Outlet<Udp<M>>,
    ) -> Result<(), &'static str> {
        let Arrival { octets, from } = *arrival;
        if octets > block.len() {
            return Err("a datagram that is longer than a block");
        }
        let association = self.recipient(itself, from, names, out)?;
        let Some(Named::Open(open)) = names.get_mut(association) else {
            unreachable!("a socket forgets an association when it ends")
        };
        if open.closing {
            return Err("a datagram for an association that is being closed");
        }
        if open.remote != from {
            return Err("a datagram of somebody else, from before the socket was connected");
        }
        open.up = less(open.up, octets).ok_or("a datagram for which there is no room")?;
        // A block that holds little would let the peer fill memory with emptiness: room counts octets, not blocks.
        let message = if octets > block.len() / 4 {
            M::from_block(mem::replace(block, pool.take()), 0, octets)
        } else {
            M::with_headroom(0, &block[..octets])
        };
        out.indicate(DatagramsIndication::Delivered { association, message });
        Ok(())
    }
}
