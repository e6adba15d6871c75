//! When a message is released to the application: as soon as all its octets are settled.
//!
//! A message that is settled at once needs no memory here. Only messages of which a part is settled
//! have an entry, so the table is as long as there are holes.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};

use stackwright_contract::services::Credit;

use super::pieces::Pieces;

/// Messages that are settled in part, and the credit that the application gets back.
#[derive(Debug)]
pub(crate) struct Messages {
    serials: u32,
    /// The octets that are not settled, by serial.
    partial: BTreeMap<u32, usize>,
    pub(crate) released: Credit,
    /// What was abandoned, once something was.
    abandoned: Option<Box<Abandoned>>,
}

/// Messages of which a piece was abandoned.
#[derive(Debug, Default)]
struct Abandoned {
    /// Those in several pieces of which something is not settled, by serial.
    begun: BTreeSet<u32>,
    /// Those that nobody was told of, by serial.
    untold: VecDeque<u32>,
}

impl Messages {
    pub(super) const fn new() -> Self {
        Messages {
            serials: 0,
            partial: BTreeMap::new(),
            released: Credit { octets: 0, messages: 0 },
            abandoned: None,
        }
    }

    /// Returns the serial of the first of `count` new messages. Serials wrap.
    #[inline]
    pub(super) fn enter(&mut self, count: u32) -> u32 {
        let serial = self.serials;
        self.serials = serial.wrapping_add(count);
        serial
    }

    /// Settles the first `count` pieces of messages of which the application gets `credit` octets
    /// back each.
    #[inline]
    pub(super) fn settle(&mut self, pieces: &Pieces, count: usize, credit: usize) {
        if pieces.are_message(count) {
            self.release(1, credit)
        } else {
            self.settle_parts(pieces, count, credit)
        }
    }

    #[inline(never)]
    fn settle_parts(&mut self, pieces: &Pieces, count: usize, credit: usize) {
        let parts = pieces.parts(count);
        self.release(parts.whole, credit);
        for (serial, octets) in parts.partial.into_iter().flatten() {
            let left = self.partial.entry(serial).or_insert(pieces.each());
            *left -= octets;
            if *left == 0 {
                self.partial.remove(&serial);
                if let Some(abandoned) = &mut self.abandoned {
                    abandoned.begun.remove(&serial);
                }
                self.release(1, credit);
            }
        }
    }

    /// Records that the first of `pieces` was abandoned. It is settled when the peer knows.
    #[cold]
    pub(super) fn abandon(&mut self, pieces: &Pieces) {
        let (abandoned, serial) = (self.abandoned.get_or_insert_default(), pieces.serial());
        if pieces.are_message(1) || abandoned.begun.insert(serial) {
            abandoned.untold.push_back(serial);
        }
    }

    /// Returns the serial of the next message that was abandoned, once.
    #[inline]
    pub(crate) fn take_abandoned(&mut self) -> Option<u32> {
        self.abandoned.as_mut()?.untold.pop_front()
    }

    /// Releases messages.
    #[inline]
    pub(crate) fn release(&mut self, messages: usize, credit: usize) {
        self.released.octets += messages * credit;
        self.released.messages += messages;
    }

    /// Returns how many messages are settled in part.
    #[cfg(test)]
    pub(super) fn partial(&self) -> usize {
        self.partial.len()
    }
}
