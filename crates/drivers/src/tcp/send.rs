//! From the upper layer into the socket: octets gathered from many messages, regions of files by
//! `sendfile`, or read where the peer is on this machine.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::unix::fs::FileExt;

use mio::net::TcpStream;
use rustix::net::{SendAncillaryBuffer, SendFlags};
use stackwright_contract::services::Ended;
use stackwright_wire::{Leaf, Message, Pool, Region};

use super::{SEND_ROOM, SEND_TURN, connect};

/// Pieces that one system call gathers.
const GATHER: usize = 16;

pub(super) struct Sending<M> {
    queue: VecDeque<Outgoing<M>>,
    /// In octets; never more than the credit.
    queued: usize,
    /// Octets that leave no more, and whose credit was not given back.
    discarded: usize,
    pub(super) writable: bool,
    /// The peer is on this machine: what is read here is still in the processor's cache when the
    /// peer copies it. Sent as regions, it comes from memory then, and 100 MB took 1.4 times as
    /// long, with no less of both processors' time.
    pub(super) near: bool,
    half: Half,
}

struct Outgoing<M> {
    message: M,
    urgent: bool,
}

/// What a turn wrote.
pub(super) struct Sent {
    /// How many octets: as much credit is free again.
    pub(super) octets: usize,
    /// Whether there is more that the socket would take.
    pub(super) more: bool,
}

/// Our half of the association.
#[derive(PartialEq)]
enum Half {
    Open,
    FinishAsked,
    Finished,
    /// The association is broken: nothing leaves any more. What arrived before that is in the
    /// kernel still.
    Broken(Broken),
}

/// How an association is broken.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Broken {
    /// The peer had finished before (EPIPE: Linux says it in CLOSE-WAIT alone), so what it sent is
    /// whole.
    BehindItsEnd,
    /// It had not. A write that says so takes the error from the socket, whose octets then seem to
    /// end.
    Midway,
}

impl<M> Default for Sending<M> {
    fn default() -> Self {
        Sending {
            queue: VecDeque::new(),
            queued: 0,
            discarded: 0,
            writable: false,
            near: false,
            half: Half::Open,
        }
    }
}

impl<M: Message> Sending<M> {
    /// The association is open.
    pub(super) fn begin(&mut self, stream: &TcpStream, local: SocketAddr, remote: SocketAddr) {
        self.near = connect::near(local, remote);
        connect::keep_little_unsent(stream, self.near);
    }

    pub(super) fn queue(&mut self, message: M, urgent: bool) {
        if let Half::Broken(_) = self.half {
            self.discarded += message.len();
            return;
        }
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

    /// Takes the credit of what was discarded.
    pub(super) fn take_discarded(&mut self) -> usize {
        std::mem::take(&mut self.discarded)
    }

    pub(super) fn broken(&self) -> Option<Broken> {
        if let Half::Broken(how) = self.half { Some(how) } else { None }
    }

    /// Writes up to a fair share.
    pub(super) fn turn(&mut self, stream: &mut TcpStream, pool: &Pool<M>) -> Result<Sent, Ended> {
        let mut moved = 0;
        while self.writable && moved < SEND_TURN && !self.queue.is_empty() {
            match self.write(stream, SEND_TURN - moved, pool) {
                Ok(octets) => {
                    moved += octets;
                    self.left(octets, pool);
                }
                Err(Unwritten::Interrupted) => {}
                Err(Unwritten::Later) => self.writable = false,
                Err(Unwritten::Short) => return Err(Ended::SourceShort),
                Err(Unwritten::Never(how)) => {
                    self.half = Half::Broken(how);
                    self.discarded = std::mem::take(&mut self.queued);
                    self.queue.drain(..).for_each(|outgoing| outgoing.message.reclaim(pool));
                }
            }
        }
        if self.half == Half::FinishAsked && self.queue.is_empty() {
            connect::finish_on_close(stream);
            // It fails only where the peer is gone already, and that is reported by reading.
            let _ = stream.shutdown(Shutdown::Write);
            self.half = Half::Finished;
        }
        Ok(Sent { octets: moved, more: self.writable && !self.queue.is_empty() })
    }

    /// One system call, for at most `share` octets.
    fn write(
        &mut self,
        stream: &mut TcpStream,
        share: usize,
        pool: &Pool<M>,
    ) -> Result<usize, Unwritten> {
        let read = match self.queue[0].message.leaves().next() {
            Some(Leaf::Region(region)) if self.near => Some(read_region(region, pool)?),
            Some(Leaf::Region(region)) => return send_region(stream, region, share),
            _ => None,
        };
        if let Some(octets) = read {
            self.replace_front(octets, pool);
        }
        let front = &self.queue[0];
        if front.urgent {
            let Some(Leaf::Octets(octets)) = front.message.leaves().next() else {
                unreachable!("no message is empty")
            };
            return Ok(rustix::net::send(&*stream, octets, SendFlags::OOB | SendFlags::NOSIGNAL)
                .map_err(io::Error::from)?);
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
        if count == 1 {
            return Ok(stream.write(&pieces[0])?);
        }
        // Not `writev`: a program in C may not ignore SIGPIPE, as those in Rust do.
        let (pieces, mut none) = (&pieces[..count], SendAncillaryBuffer::default());
        let sent = rustix::net::sendmsg(&*stream, pieces, &mut none, SendFlags::NOSIGNAL);
        Ok(sent.map_err(io::Error::from)?)
    }

    /// Replaces as much of the region at the front by `octets`.
    fn replace_front(&mut self, octets: M, pool: &Pool<M>) {
        let front = &mut self.queue[0].message;
        if octets.len() < front.len() {
            front.advance(octets.len());
        } else if let Some(outgoing) = self.queue.pop_front() {
            outgoing.message.reclaim(pool);
        }
        self.queue.push_front(Outgoing { message: octets, urgent: false });
    }

    /// Removes octets that are the kernel's now.
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
    /// The file has fewer octets than were promised: the peer counts on them, so the association
    /// must not end as if it were whole.
    Short,
    Never(Broken),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::WouldBlock => Unwritten::Later,
            ErrorKind::Interrupted => Unwritten::Interrupted,
            ErrorKind::BrokenPipe => Unwritten::Never(Broken::BehindItsEnd),
            _ => Unwritten::Never(Broken::Midway),
        }
    }
}

fn send_region(stream: &TcpStream, region: &Region, share: usize) -> Result<usize, Unwritten> {
    let mut offset = region.offset;
    match rustix::fs::sendfile(stream, source(region), Some(&mut offset), region.length.min(share))
    {
        Ok(0) => Err(Unwritten::Short),
        Ok(octets) => Ok(octets),
        Err(error) => Err(io::Error::from(error).into()),
    }
}

/// Reads as much of the beginning of a region as a block holds.
fn read_region<M: Message>(region: &Region, pool: &Pool<M>) -> Result<M, Unwritten> {
    let mut block = pool.take();
    let length = region.length.min(block.len());
    match source(region).read_at(&mut block[..length], region.offset) {
        Ok(octets @ 1..) => Ok(M::from_block(block, 0, octets)),
        failed => {
            pool.give(block);
            Err(failed.map_or_else(Unwritten::from, |_| Unwritten::Short))
        }
    }
}

fn source(region: &Region) -> &File {
    region.source.downcast_ref().expect("a region is made by a disk of this system")
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::thread;

    use stackwright_wire::BufferTree;

    use super::*;

    /// What a peer reads of octets, a region of a file of 300 000 and more octets.
    fn sent(near: bool, offset: u64, length: usize) -> (Result<(), Ended>, Vec<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let stream = std::net::TcpStream::connect(listener.local_addr().expect("its address"))
            .expect("it is there");
        stream.set_nonblocking(true).expect("any socket can");
        let (mut peer, _) = listener.accept().expect("it has connected");
        let reader = thread::spawn(move || {
            let mut all = Vec::new();
            peer.read_to_end(&mut all).map(|_| all)
        });
        let file = tempfile::tempfile().expect("a file");
        file.write_all_at(&content(), 0).expect("there is room");
        let mut rope = BufferTree::with_headroom(0, b"head ");
        rope.join(
            BufferTree::from_region(Region { source: Arc::new(file), offset, length })
                .expect("a rope holds it"),
        );
        rope.join(BufferTree::with_headroom(0, b" tail"));
        let (mut stream, pool) = (TcpStream::from_std(stream), Pool::new(4096, 8));
        let mut sending = Sending { near, ..Sending::default() };
        sending.queue(rope, false);
        sending.finish();
        let ended = loop {
            sending.writable = true;
            match sending.turn(&mut stream, &pool) {
                Ok(_) if sending.finished() => break Ok(()),
                Ok(_) => thread::yield_now(),
                Err(why) => break Err(why),
            }
        };
        drop(stream);
        (ended, reader.join().expect("it only reads").expect("no reset was asked for"))
    }

    fn content() -> Vec<u8> {
        (0..300_000_u32).map(|n| (n % 241) as u8).collect()
    }

    #[test]
    fn a_region_is_the_same_octets_to_who_is_near_and_who_is_far() {
        for near in [false, true] {
            let (ended, all) = sent(near, 1000, 200_000);
            assert_eq!(ended, Ok(()));
            assert!(
                all == [b"head ", &content()[1000..201_000], b" tail"].concat(),
                "near: {near}"
            );
        }
    }

    #[test]
    fn a_region_beyond_its_file_is_no_end() {
        for near in [false, true] {
            let (ended, all) = sent(near, 200_000, 200_000);
            assert_eq!(ended, Err(Ended::SourceShort), "near: {near}");
            assert!(all == [b"head ", &content()[200_000..]].concat(), "near: {near}");
        }
    }
}
