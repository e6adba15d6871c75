//! Octets through a descriptor, both ways, within their credit.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::net::{SendAncillaryBuffer, SendFlags};
use stackwright_contract::Context;
use stackwright_wire::{Leaf, Message, Pool};

/// How many octets may wait for a descriptor: the initial credit downward.
pub const SEND_ROOM: usize = 64 << 10;

/// Pieces that one system call gathers: as many packets of Ethernet fill the room.
const GATHER: usize = 64;

/// What waits for a descriptor, and what may be read from it.
pub(crate) struct Flow<M: Message> {
    pool: Arc<Pool<M>>,
    queue: VecDeque<M>,
    /// How much more the upper layer accepts.
    pub(crate) credit: usize,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
}

/// The other end is gone.
#[derive(Debug)]
pub(crate) struct HungUp;

impl<M: Message> Flow<M> {
    pub(crate) fn new(pool: Arc<Pool<M>>) -> Self {
        Flow { pool, queue: VecDeque::new(), credit: 0, readable: false, writable: false }
    }

    /// Forgets all: the descriptor is gone, or another takes its place.
    pub(crate) fn reset(&mut self) {
        self.queue.drain(..).for_each(|message| message.reclaim(&self.pool));
        (self.credit, self.readable, self.writable) = (0, false, false);
    }

    /// Whether nothing waits for the descriptor.
    pub(crate) fn is_sent(&self) -> bool {
        self.queue.is_empty()
    }

    /// Queues a message.
    ///
    /// # Panics
    /// Where it is beyond the credit.
    pub(crate) fn push(&mut self, message: M) {
        if !message.is_empty() {
            self.queue.push_back(message);
        }
        let queued: usize = self.queue.iter().map(M::len).sum();
        assert!(queued <= SEND_ROOM, "a Send keeps within the room");
    }

    /// Writes what the descriptor takes; returns how many octets.
    pub(crate) fn write(
        &mut self,
        cx: &Context,
        name: &'static str,
        mut output: impl Write,
    ) -> Result<usize, HungUp> {
        let mut written = 0;
        while self.writable
            && let Some(message) = self.queue.front()
        {
            let Some(Leaf::Octets(_)) = message.leaves().next() else {
                cx.dropped(name, "a region of a file cannot be written here");
                self.queue.pop_front();
                continue;
            };
            let octets = self.queue.iter().flat_map(M::leaves).map_while(|leaf| match leaf {
                Leaf::Octets(octets) => Some(octets),
                Leaf::Region(_) => None,
            });
            let (mut pieces, mut count) = ([IoSlice::new(&[]); GATHER], 0);
            for (piece, octets) in pieces.iter_mut().zip(octets) {
                (*piece, count) = (IoSlice::new(octets), count + 1);
            }
            match output.write_vectored(&pieces[..count]) {
                Ok(octets) => {
                    written += octets;
                    self.left(octets);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.writable = false,
                Err(_) => return Err(HungUp),
            }
        }
        Ok(written)
    }

    /// Drops what was written.
    fn left(&mut self, mut octets: usize) {
        while octets > 0
            && let Some(message) = self.queue.front_mut()
        {
            let part = message.len().min(octets);
            message.advance(part);
            octets -= part;
            if message.is_empty()
                && let Some(message) = self.queue.pop_front()
            {
                message.reclaim(&self.pool);
            }
        }
    }

    /// Reads what is there, within the credit, and hands it to `deliver`.
    pub(crate) fn read(
        &mut self,
        mut input: impl Read,
        mut deliver: impl FnMut(M),
    ) -> Result<(), HungUp> {
        while self.readable && self.credit > 0 {
            let mut block = self.pool.take();
            let limit = self.credit.min(block.len());
            let read = input.read(&mut block[..limit]);
            match &read {
                Ok(octets) if *octets > block.len() / 4 => {
                    self.credit -= octets;
                    deliver(M::from_block(block, 0, *octets));
                    continue;
                }
                // A short read is copied: credit counts octets, not blocks.
                Ok(octets @ 1..) => {
                    self.credit -= octets;
                    deliver(self.pool.copy(&block[..*octets]));
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.readable = false,
                Err(_) => {}
            }
            self.pool.give(block);
            match read {
                Ok(0) => return Err(HungUp),
                Err(error)
                    if !matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) =>
                {
                    // A terminal whose other end was closed says EIO.
                    return Err(HungUp);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// A socket that writes without SIGPIPE, which a program in C may not ignore.
pub(crate) struct Quiet<'a, S>(pub(crate) &'a S);

impl<S: AsFd> Write for Quiet<'_, S> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(self.0, octets, SendFlags::NOSIGNAL)?)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        if let [piece] = pieces {
            return self.write(piece);
        }
        let mut none = SendAncillaryBuffer::default();
        Ok(rustix::net::sendmsg(self.0, pieces, &mut none, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use stackwright_wire::BufferTree;

    use super::*;

    /// Accepts at most `takes` octets in each call, and counts the calls.
    struct Output {
        takes: usize,
        octets: Vec<u8>,
        calls: usize,
    }

    impl Write for Output {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            self.write_vectored(&[IoSlice::new(octets)])
        }

        fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
            self.calls += 1;
            let all: Vec<u8> = pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
            let taken = &all[..self.takes.min(all.len())];
            self.octets.extend(taken);
            Ok(taken.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Each write wakes the reader: what has arrived in packets leaves together.
    #[test]
    fn pieces_of_several_messages_leave_by_one_call() {
        for (takes, calls) in [(usize::MAX, 1), (1000, 27)] {
            let mut flow = Flow::<BufferTree>::new(Arc::new(Pool::new(4096, 8)));
            let mut all = Vec::new();
            for message in 0..2 {
                let mut pieces = BufferTree::with_headroom(0, &[]);
                for piece in 0..10 {
                    let octets = [message * 16 + piece; 1344];
                    all.extend(octets);
                    pieces.join(BufferTree::with_headroom(0, &octets));
                }
                flow.push(pieces);
            }
            flow.writable = true;
            let mut output = Output { takes, octets: Vec::new(), calls: 0 };
            let cx = Context::new(0);
            assert_eq!(flow.write(&cx, "test", &mut output).expect("it takes all"), all.len());
            assert!(output.octets == all && flow.is_sent());
            assert_eq!(output.calls, calls);
        }
    }
}
