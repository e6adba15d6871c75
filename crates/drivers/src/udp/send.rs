//! From the upper layer into the socket.

use std::mem;
use std::net::SocketAddr;

use quinn_udp::Transmit;
use rustix::io::Errno;
use stackwright_contract::services::{DatagramsIndication, Ended, Room};
use stackwright_contract::{Context, Handle, Outlet};
use stackwright_wire::{Message, Pool};

use super::run::Run;
use super::{LONGEST, NAME, Named, SEND_ROOM, SEND_TURN, Socket, Udp, connect, less, sum};

impl<M: Message> Udp<M> {
    pub(super) fn queue(&mut self, cx: &Context, name: Handle, message: M) {
        let octets = message.len();
        assert!(octets <= LONGEST, "a datagram has at most {LONGEST} octets");
        let Some(open) = self.association(cx, name) else { return };
        open.down = less(open.down, octets).expect("a Send keeps within the room");
        let socket = open.socket;
        if let Some(sending) = self.sockets.get_mut(socket) {
            sending.queue.push_back((name, message));
            self.mark(socket);
        }
    }

    /// Sends up to a fair share, and gives back the room of what left.
    pub(super) fn send(&mut self, cx: &Context, name: Handle, out: &mut dyn Outlet<Self>) {
        let Udp { sockets, names, pool, left, .. } = self;
        let Some(socket) = sockets.get_mut(name) else { return };
        let (mut share, mut into) = (SEND_TURN, None);
        while socket.writable && share.messages > 0 && share.octets > 0 {
            let Some((association, _)) = socket.queue.front() else { break };
            let association = *association;
            let Some(Named::Open(open)) = names.get_mut(association) else {
                unreachable!("an association ends when all that was sent has left")
            };
            let run = socket.run(association, open, share.messages);
            match socket.transmit(open.remote, &run, &mut into, pool) {
                Ok(()) => {}
                Err(Errno::AGAIN) => {
                    socket.writable = false;
                    break;
                }
                Err(error) if connect::unreachable(error) && socket.is_connected() => {
                    // That was told of an earlier one: this one waits. The turn's other half delivers what the peer said before.
                    (socket.broken, socket.readable) = (true, true);
                    break;
                }
                // Longer than the way takes in one piece, or a device that cannot cut: each alone may go.
                Err(Errno::MSGSIZE | Errno::INVAL | Errno::IO) if run.room.messages > 1 => {
                    open.batched = run.stride - 1;
                    continue;
                }
                // Too long for the way, forbidden here, or nobody there: datagrams are lost.
                Err(_) => (0..run.room.messages)
                    .for_each(|_| cx.dropped(NAME, "send: the network does not take this datagram")),
            }
            if open.left == Room::default() {
                left.push(run.association);
            }
            open.left = sum(open.left, run.room);
            share.octets = share.octets.saturating_sub(run.room.octets);
            share.messages -= run.room.messages;
            for (_, message) in socket.queue.drain(..run.room.messages) {
                message.reclaim(pool);
            }
        }
        if let Some(block) = into {
            pool.give(block);
        }
        self.give_back(out);
    }

    /// One word for each association, however much of it left.
    fn give_back(&mut self, out: &mut dyn Outlet<Self>) {
        let mut left = mem::take(&mut self.left);
        for association in left.drain(..) {
            let Some(Named::Open(open)) = self.names.get_mut(association) else { continue };
            let room = mem::take(&mut open.left);
            open.down = sum(open.down, room);
            if !open.closing {
                out.indicate(DatagramsIndication::Room { association, room });
            } else if open.down == SEND_ROOM {
                self.end(association, Ended::Finished, out);
            }
        }
        self.left = left;
    }
}

impl<M: Message> Socket<M> {
    fn transmit(
        &self,
        to: SocketAddr,
        run: &Run,
        into: &mut Option<M::Block>,
        pool: &Pool<M>,
    ) -> Result<(), Errno> {
        let transmit = Transmit {
            destination: connect::address(to, self.local),
            ecn: None,
            contents: self.octets(run, into, pool),
            segment_size: (run.room.messages > 1).then_some(run.stride),
            src_ip: None,
        };
        let sent = self.offload.try_send((&self.socket).into(), &transmit);
        sent.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }
}
