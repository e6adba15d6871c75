//! From the upper layer into the socket: octets gathered from many messages, regions of files by `sendfile`.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::net::Shutdown;

use mio::net::TcpStream;
use rustix::net::SendFlags;
use stackwright_contract::services::{Ended, StreamsIndication};
use stackwright_contract::{Handle, Outlet};
use stackwright_wire::{Leaf, Message, Pool, Region};

use super::{SEND_ROOM, SEND_TURN, Tcp};

/// How many pieces one system call gathers.
const GATHER: usize = 16;

pub(super) struct Sending<M> {
    queue: VecDeque<Outgoing<M>>,
    /// In octets; never more than the room.
    queued: usize,
    pub(super) writable: bool,
    half: Half,
}

struct Outgoing<M> {
    message: M,
    urgent: bool,
}

/// Our half of the association.
#[derive(PartialEq)]
enum Half {
    Open,
    FinishAsked,
    Finished,
}

impl<M> Default for Sending<M> {
    fn default() -> Self {
        Sending { queue: VecDeque::new(), queued: 0, writable: false, half: Half::Open }
    }
}

impl<M: Message> Sending<M> {
    pub(super) fn queue(&mut self, message: M, urgent: bool) {
        self.queued += message.len();
        assert!(self.queued <= SEND_ROOM, "a Send keeps within the room");
        assert!(self.half == Half::Open, "a Send comes before the Finish");
        if !message.is_empty() {
            self.queue.push_back(Outgoing { message, urgent });
        }
    }

    pub(super) fn finish(&mut self) {
        if self.half == Half::Open {
            self.half = Half::FinishAsked;
        }
    }

    pub(super) fn finished(&self) -> bool {
        self.half == Half::Finished
    }

    /// Writes up to a fair share; `true` where there is more that the socket would take.
    pub(super) fn turn(
        &mut self,
        stream: &mut TcpStream,
        association: Handle,
        pool: &Pool<M>,
        out: &mut dyn Outlet<Tcp<M>>,
    ) -> Result<bool, Ended> {
        let mut moved = 0;
        while self.writable && moved < SEND_TURN && !self.queue.is_empty() {
            match self.write(stream, SEND_TURN - moved) {
                Ok(octets) => {
                    moved += octets;
                    self.left(octets, pool);
                }
                Err(Unwritten::Interrupted) => {}
                Err(Unwritten::Later) => self.writable = false,
                Err(Unwritten::Never(why)) => return Err(why),
            }
        }
        if moved > 0 {
            out.indicate(StreamsIndication::Room { association, room: moved });
        }
        if self.half == Half::FinishAsked && self.queue.is_empty() {
            // It fails only where the peer is gone already, and that is reported by reading.
            let _ = stream.shutdown(Shutdown::Write);
            self.half = Half::Finished;
        }
        Ok(self.writable && !self.queue.is_empty())
    }

    /// One system call, for at most `share` octets.
    fn write(&self, stream: &mut TcpStream, share: usize) -> Result<usize, Unwritten> {
        let front = &self.queue[0];
        if let Some(Leaf::Region(region)) = front.message.leaves().next() {
            return send_region(stream, region, share);
        }
        if front.urgent {
            let Some(Leaf::Octets(octets)) = front.message.leaves().next() else {
                unreachable!("no message is empty")
            };
            return Ok(rustix::net::send(&*stream, octets, SendFlags::OOB).map_err(io::Error::from)?);
        }
        let mut pieces = [IoSlice::new(&[]); GATHER];
        let mut count = 0;
        let mut left = share;
        'gathered: for outgoing in self.queue.iter().take_while(|outgoing| !outgoing.urgent) {
            for leaf in outgoing.message.leaves() {
                let Leaf::Octets(octets) = leaf else { break 'gathered };
                if count == GATHER || left == 0 {
                    break 'gathered;
                }
                let octets = &octets[..octets.len().min(left)];
                left -= octets.len();
                pieces[count] = IoSlice::new(octets);
                count += 1;
            }
        }
        Ok(if count == 1 { stream.write(&pieces[0])? } else { stream.write_vectored(&pieces[..count])? })
    }

    /// So many octets are the kernel's now.
    fn left(&mut self, mut octets: usize, pool: &Pool<M>) {
        self.queued -= octets;
        while octets > 0 {
            let front = &mut self.queue[0].message;
            let of_front = octets.min(front.len());
            if of_front < front.len() {
                front.advance(of_front);
            } else if let Some(outgoing) = self.queue.pop_front() {
                outgoing.message.reclaim(pool);
            }
            octets -= of_front;
        }
    }
}

/// Why a write wrote nothing.
enum Unwritten {
    Interrupted,
    Later,
    Never(Ended),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::WouldBlock => Unwritten::Later,
            ErrorKind::Interrupted => Unwritten::Interrupted,
            _ => Unwritten::Never(Ended::Reset),
        }
    }
}

fn send_region(stream: &TcpStream, region: &Region, share: usize) -> Result<usize, Unwritten> {
    let file = region.source.downcast_ref::<File>().expect("a region is made by a disk of this system");
    let mut offset = region.offset;
    match rustix::fs::sendfile(stream, file, Some(&mut offset), region.length.min(share)) {
        // The peer counts on these octets: the association must not end as if it were whole.
        Ok(0) => Err(Unwritten::Never(Ended::SourceShort)),
        Ok(octets) => Ok(octets),
        Err(error) => Err(io::Error::from(error).into()),
    }
}
