//! From the socket upward, within the room that the upper layer gave.

use std::mem;
use std::net::SocketAddr;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recvfrom};
use stackwright_contract::services::{DatagramsIndication, Quality};
use stackwright_contract::{Context, Handle, Instant, Mirror, Outlet};
use stackwright_wire::{Message, Pool};

use super::{NAME, Named, Peers, RECEIVE_TURN, Socket, Udp, connect, less};

/// A datagram as it came.
#[derive(Clone, Copy)]
struct Arrival {
    /// How many octets it has; where the block has fewer, the rest is lost.
    octets: usize,
    from: SocketAddr,
}

/// A datagram that came when its batch had used up the room.
pub(super) struct Held<M: Message> {
    arrival: Arrival,
    block: M::Block,
    /// The time of the batch.
    since: Instant,
}

/// Why a datagram was not delivered.
enum Undelivered {
    /// There is no room for it, at this moment.
    NoRoom,
    Never(&'static str),
}

impl Undelivered {
    fn reason(self) -> &'static str {
        match self {
            Undelivered::NoRoom => "a datagram for which there is no room",
            Undelivered::Never(reason) => reason,
        }
    }
}

impl From<&'static str> for Undelivered {
    fn from(reason: &'static str) -> Self {
        Undelivered::Never(reason)
    }
}

impl<M: Message> Udp<M> {
    /// Delivers up to a fair share.
    ///
    /// What the upper layer says to a datagram, that it has room for more above all, is heard when the turn is over, and
    /// what an application says when the batch is. So a datagram for which a batch has used up the room is held until the
    /// next; where there is none then, it is dropped.
    pub(super) fn receive(&mut self, cx: &Context, name: Handle, out: &mut dyn Outlet<Self>) {
        let Udp { sockets, names, pool, .. } = self;
        let Some(socket) = sockets.get_mut(name) else { return };
        if !socket.readable {
            return;
        }
        if let Some(Held { arrival, mut block, since }) = socket.held.take() {
            match socket.deliver(name, arrival, &mut block, names, pool, out) {
                Err(Undelivered::NoRoom) if since == cx.now() => {
                    socket.held = Some(Held { arrival, block, since });
                    return;
                }
                done => done.unwrap_or_else(|why| cx.dropped(NAME, why.reason())),
            }
            pool.give(block);
        }
        let mut block = pool.take();
        let mut share = RECEIVE_TURN.octets;
        // One datagram a call. A batch, many datagrams by recvmmsg or many of one peer in one block by UDP_GRO, has its
        // place in `take`; `deliver` then hears each of them.
        for _look in 0..RECEIVE_TURN.messages {
            match socket.take(&mut block) {
                Ok(arrival) => {
                    share = share.saturating_sub(arrival.octets);
                    match socket.deliver(name, arrival, &mut block, names, pool, out) {
                        Ok(()) => {}
                        Err(Undelivered::NoRoom) => {
                            let block = mem::replace(&mut block, pool.take());
                            socket.held = Some(Held { arrival, block, since: cx.now() });
                            break;
                        }
                        Err(Undelivered::Never(reason)) => cx.dropped(NAME, reason),
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
        arrival: Arrival,
        block: &mut M::Block,
        names: &mut Mirror<Named>,
        pool: &Pool<M>,
        out: &mut dyn Outlet<Udp<M>>,
    ) -> Result<(), Undelivered> {
        let Arrival { octets, from } = arrival;
        if octets > block.len() {
            return Err("a datagram that is longer than a block".into());
        }
        let association = self.recipient(itself, from, names, out)?;
        let Some(Named::Open(open)) = names.get_mut(association) else {
            unreachable!("a socket forgets an association when it ends")
        };
        if open.closing {
            return Err("a datagram for an association that is being closed".into());
        }
        if open.remote != from {
            return Err("a datagram of somebody else, from before the socket was connected".into());
        }
        open.up = less(open.up, octets).ok_or(Undelivered::NoRoom)?;
        // A block that holds little would let the peer fill memory with emptiness: room counts octets, not blocks.
        let message = if octets > block.len() / 4 {
            M::from_block(mem::replace(block, pool.take()), 0, octets)
        } else {
            M::with_headroom(0, &block[..octets])
        };
        out.indicate(DatagramsIndication::Delivered { association, message, quality: Quality::default() });
        Ok(())
    }
}
