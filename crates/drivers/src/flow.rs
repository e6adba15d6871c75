//! Octets through a descriptor, both ways, within their credit.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;

use stackwright_contract::Context;
use stackwright_wire::{Leaf, Message, Pool};

/// How many octets may wait for a descriptor: the initial credit downward.
pub const SEND_ROOM: usize = 64 << 10;

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
            && let Some(message) = self.queue.front_mut()
        {
            let Some(Leaf::Octets(octets)) = message.leaves().next() else {
                cx.dropped(name, "a region of a file cannot be written here");
                self.queue.pop_front();
                continue;
            };
            match output.write(octets) {
                Ok(octets) => {
                    written += octets;
                    message.advance(octets);
                    if message.is_empty()
                        && let Some(message) = self.queue.pop_front()
                    {
                        message.reclaim(&self.pool);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.writable = false,
                Err(_) => return Err(HungUp),
            }
        }
        Ok(written)
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
                Ok(octets) => {
                    self.credit -= octets;
                    if *octets > 0 {
                        deliver(self.pool.copy(&block[..*octets]));
                    }
                }
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
