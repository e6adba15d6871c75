//! From the socket upward, within the room that the upper layer gave.

use std::io::{ErrorKind, Read};

use mio::net::TcpStream;
use stackwright_contract::services::{Ended, StreamsIndication};
use stackwright_contract::{Handle, Outlet};
use stackwright_wire::{Message, Pool};

use super::{RECEIVE_TURN, Tcp};

pub(super) struct Receiving {
    /// How much more the upper takes, in octets.
    pub(super) room: usize,
    pub(super) readable: bool,
    /// The peer has finished or the association is broken; octets may still lie before that end.
    pub(super) ending: bool,
    /// Urgent octets are among what can be read: a read stops before them.
    pub(super) urgent: bool,
    /// The upper was told of the end.
    pub(super) finished: bool,
}

impl Receiving {
    pub(super) fn new(room: usize) -> Self {
        Receiving { room, readable: false, ending: false, urgent: false, finished: false }
    }

    /// Delivers up to a fair share; `true` where there is more.
    pub(super) fn turn<M: Message>(
        &mut self,
        stream: &mut TcpStream,
        association: Handle,
        pool: &Pool,
        out: &mut dyn Outlet<Tcp<M>>,
    ) -> Result<bool, Ended> {
        let mut share = RECEIVE_TURN;
        while self.readable && !self.finished {
            if self.room == 0 {
                // Only the end may still be told: it needs no room.
                if !self.ending || stream.peek(&mut [0]).map_err(|_| Ended::Reset)? > 0 {
                    return Ok(false);
                }
                self.finish(association, out);
                break;
            }
            if share == 0 {
                return Ok(true);
            }
            if let Some(message) = self.read::<M>(stream, pool)? {
                share = share.saturating_sub(message.len());
                self.room -= message.len();
                out.indicate(StreamsIndication::Delivered { association, message });
            } else if self.readable {
                self.finish(association, out);
            }
        }
        Ok(false)
    }

    fn finish<M: Message>(&mut self, association: Handle, out: &mut dyn Outlet<Tcp<M>>) {
        self.finished = true;
        out.indicate(StreamsIndication::Finished { association });
    }

    /// One read; `None` is the end while the socket is `readable`, and nothing to read otherwise.
    fn read<M: Message>(&mut self, stream: &mut TcpStream, pool: &Pool) -> Result<Option<M>, Ended> {
        let mut block = pool.take();
        let limit = self.room.min(block.len());
        let octets = loop {
            match stream.read(&mut block[..limit]) {
                Ok(octets) => break octets,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.readable = false;
                    self.urgent = false;
                    break 0;
                }
                Err(_) => return Err(Ended::Reset),
            }
        };
        // A short read has drained the socket, and the next octet will be reported: no read is needed to learn that
        // there is nothing. Unless the end was reported already, or urgent octets before which reads stop: then only
        // reading on finds them.
        if octets > 0 && octets < limit && !self.ending && !self.urgent {
            self.readable = false;
        }
        if octets > block.len() / 4 {
            return Ok(Some(M::from_block(block, 0, octets)));
        }
        // A block that holds little would let the peer fill memory with emptiness: room counts octets, not blocks.
        let message = (octets > 0).then(|| M::with_headroom(0, &block[..octets]));
        pool.give(block);
        Ok(message)
    }
}
