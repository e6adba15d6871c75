//! From the socket upward, within the room that the upper layer gave.

use std::array;
use std::io::IoSliceMut;
use std::mem;

use mio::net::UdpSocket;
use quinn_udp::{RecvMeta, UdpSocketState};
use rustix::io::Errno;
use stackwright_contract::services::{DatagramsIndication, Quality, Room};
use stackwright_contract::{Context, Handle, Mirror, Outlet};
use stackwright_wire::{Message, Pool};

use super::coalesced::Coalesced;
use super::{ALONE, BLOCKS, LENT_MOST, NAME, Named, Peers, RECEIVE_TURN, Socket, Udp, connect, less};

/// What is left of datagrams for which there is no room, at this moment.
struct NoRoom<M: Message>(Coalesced<M>);

impl<M: Message> Udp<M> {
    /// Delivers up to a fair share.
    ///
    /// What the upper layer says to a datagram, that it has room for more above all, is heard when the turn is over, and
    /// what an application says when the batch is. So datagrams for which a batch has used up the room are held until the
    /// next; where there is none then, they are dropped.
    pub(super) fn receive(&mut self, cx: &Context, name: Handle, out: &mut dyn Outlet<Self>) {
        let Udp { sockets, names, pool, lent, .. } = self;
        let Some(socket) = sockets.get_mut(name) else { return };
        if !socket.readable {
            return;
        }
        let mut delivered = false;
        while let Some(coalesced) = socket.held.pop_front() {
            let count = coalesced.count;
            if let Err(NoRoom(rest)) = socket.deliver(cx, name, coalesced, names, pool, out) {
                delivered |= rest.count < count;
                if delivered || socket.held_since == cx.now() {
                    socket.held_since = cx.now();
                    return socket.held.push_front(rest);
                }
                (0..rest.count).for_each(|_| cx.dropped(NAME, "a datagram for which there is no room"));
                rest.reclaim(pool);
            }
            delivered = true;
        }
        let mut share = RECEIVE_TURN;
        while socket.readable && socket.held.is_empty() && share.octets > 0 && share.messages > 0 {
            let asks = if socket.alone < ALONE { BLOCKS } else { 2 };
            let mut blocks: [_; BLOCKS] = array::from_fn(|at| (at < asks).then(|| again(lent, pool)));
            let mut came = [RecvMeta::default(); BLOCKS];
            let filled = match take(&socket.socket, &socket.offload, &mut blocks, &mut came) {
                Ok(filled) => filled,
                Err(error) => {
                    match error {
                        Errno::AGAIN => socket.readable = false,
                        // It was told once and is gone: what the peer said before it still lies there, and is delivered before
                        // that is judged.
                        error if connect::unreachable(error) && socket.is_connected() => socket.broken = true,
                        _ => cx.dropped(NAME, "receive: the network reports an error"),
                    }
                    share.messages -= 1;
                    0
                }
            };
            // Fewer than asked for: nothing is left, and what comes from now on is told again. An error that came in between is
            // told again too.
            socket.readable &= filled == 0 || filled == asks;
            socket.alone = if filled > 1 { 0 } else { socket.alone.saturating_add(1) };
            for (at, block) in blocks.into_iter().flatten().enumerate() {
                if at >= filled {
                    pool.give(block);
                    continue;
                }
                let (coalesced, whole) = Coalesced::new(&came[at], block, lent.len() < LENT_MOST);
                lent.extend(whole);
                share.octets = share.octets.saturating_sub(came[at].len);
                share.messages = share.messages.saturating_sub(coalesced.count);
                if !socket.held.is_empty() {
                    socket.held.push_back(coalesced);
                } else if let Err(NoRoom(rest)) = socket.deliver(cx, name, coalesced, names, pool, out) {
                    (socket.held_since, socket.readable) = (cx.now(), true);
                    socket.held.push_back(rest);
                }
            }
        }
        if socket.roomy {
            cx.came(RECEIVE_TURN.octets - share.octets);
        }
    }
}

/// A block to be filled: one that was lent and that nobody holds any more, where there is one.
fn again<M: Message>(lent: &mut Vec<M>, pool: &Pool<M>) -> M::Block {
    pool.regain(lent);
    pool.take()
}

fn take<B: stackwright_wire::Block>(
    socket: &UdpSocket,
    offload: &UdpSocketState,
    blocks: &mut [Option<B>; BLOCKS],
    came: &mut [RecvMeta; BLOCKS],
) -> Result<usize, Errno> {
    let asks = blocks.iter().flatten().count();
    let mut slices = blocks.each_mut().map(|block| IoSliceMut::new(block.as_deref_mut().unwrap_or_default()));
    offload
        .recv(socket.into(), &mut slices[..asks], &mut came[..asks])
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

impl<M: Message> Socket<M> {
    pub(super) fn is_connected(&self) -> bool {
        matches!(self.peers, Peers::One(_))
    }

    /// Hands datagrams to whom they are for, as far as there is room. What never can be handed over is dropped.
    fn deliver(
        &mut self,
        cx: &Context,
        itself: Handle,
        mut coalesced: Coalesced<M>,
        names: &mut Mirror<Named>,
        pool: &Pool<M>,
        out: &mut dyn Outlet<Udp<M>>,
    ) -> Result<(), NoRoom<M>> {
        let from = coalesced.from;
        let open = match self.recipient(itself, from, names, out) {
            Err(reason) => Err(reason),
            Ok(association) => match names.get_mut(association) {
                Some(Named::Open(open)) if open.closing => {
                    Err("a datagram for an association that is being closed")
                }
                Some(Named::Open(open)) if open.remote != from => {
                    Err("a datagram of somebody else, from before the socket was connected")
                }
                Some(Named::Open(open)) => Ok((association, open)),
                _ => unreachable!("a socket forgets an association when it ends"),
            },
        };
        match open {
            Ok((association, open)) => {
                open.heard = true;
                if let Some(up) = less(open.up, coalesced.room())
                    && let Some(run) = coalesced.run()
                {
                    open.up = up;
                    out.indicate(DatagramsIndication::DeliveredRun { association, run });
                }
                while coalesced.count > 0 {
                    let next = Room { octets: coalesced.next_octets(), messages: 1 };
                    let Some(up) = less(open.up, next) else {
                        return Err(NoRoom(coalesced));
                    };
                    open.up = up;
                    let (message, ecn) = (coalesced.take(pool), coalesced.ecn);
                    let quality = Quality { ecn, ..Quality::default() };
                    out.indicate(DatagramsIndication::Delivered { association, message, quality });
                }
            }
            Err(reason) => (0..mem::take(&mut coalesced.count)).for_each(|_| cx.dropped(NAME, reason)),
        }
        coalesced.reclaim(pool);
        Ok(())
    }
}
