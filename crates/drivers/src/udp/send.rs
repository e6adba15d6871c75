//! From the upper layer into the socket.

use std::io::IoSlice;
use std::mem;
use std::net::SocketAddr;

use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg, sendmsg_addr};
use stackwright_contract::services::{DatagramsIndication, Ended, Room};
use stackwright_contract::{Context, Handle, Outlet};
use stackwright_wire::{Leaf, Message};

use super::{LONGEST, NAME, Named, SEND_ROOM, SEND_TURN, Socket, Udp, connect, less, sum};

/// How many pieces of a message one system call gathers. A message of more is copied into one piece.
const GATHER: usize = 16;

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
        let mut share = SEND_TURN;
        // One datagram a call. A batch, the run of datagrams at the front that go to one peer as one call with UDP_SEGMENT,
        // or sendmmsg for a mixed one, has its place here: `transmit` then says how many left.
        while socket.writable && share.messages > 0 && share.octets > 0 {
            let Some((association, message)) = socket.queue.front() else { break };
            let (association, octets) = (*association, message.len());
            let Some(Named::Open(open)) = names.get_mut(association) else {
                unreachable!("an association ends when all that was sent has left")
            };
            match socket.transmit(open.remote, message) {
                Ok(()) => {}
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => {
                    socket.writable = false;
                    break;
                }
                Err(error) if connect::unreachable(error) && socket.is_connected() => {
                    // The turn's other half delivers what the peer said before, and ends the association.
                    (socket.broken, socket.readable) = (true, true);
                    break;
                }
                // Too long for the way, forbidden here, or nobody there: datagrams are lost.
                Err(_) => cx.dropped(NAME, "send: the network does not take this datagram"),
            }
            let one = Room { octets, messages: 1 };
            if open.left == Room::default() {
                left.push(association);
            }
            open.left = sum(open.left, one);
            share = Room { octets: share.octets.saturating_sub(octets), messages: share.messages - 1 };
            if let Some((_, message)) = socket.queue.pop_front() {
                message.reclaim(pool);
            }
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
    fn transmit(&self, to: SocketAddr, message: &M) -> Result<(), Errno> {
        let mut pieces = [IoSlice::new(&[]); GATHER];
        let mut count = 0;
        for leaf in message.leaves() {
            let Leaf::Octets(octets) = leaf else {
                panic!("{NAME}: a region of a file came, and the facts do not promise to send it")
            };
            if count == GATHER {
                let mut whole = vec![0; message.len()];
                message.copy_to(&mut whole);
                return self.transmit_pieces(to, &[IoSlice::new(&whole)]);
            }
            pieces[count] = IoSlice::new(octets);
            count += 1;
        }
        self.transmit_pieces(to, &pieces[..count])
    }

    fn transmit_pieces(&self, to: SocketAddr, pieces: &[IoSlice<'_>]) -> Result<(), Errno> {
        let mut nothing_beside = SendAncillaryBuffer::default();
        let flags = SendFlags::NOSIGNAL;
        if self.is_connected() {
            sendmsg(&self.socket, pieces, &mut nothing_beside, flags)?;
        } else {
            let to = connect::address(to, self.local);
            sendmsg_addr(&self.socket, &to, pieces, &mut nothing_beside, flags)?;
        }
        Ok(())
    }
}
