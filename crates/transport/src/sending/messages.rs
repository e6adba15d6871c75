//! When a message is released to the application.

use stackwright_contract::services::Room;

use super::pieces::Pieces;

/// What the application may send again.
#[derive(Debug)]
pub(super) struct Messages {
    pub(super) released: Room,
}

impl Messages {
    pub(super) const fn new() -> Self {
        Messages { released: Room { octets: 0, messages: 0 } }
    }

    /// Settles the first `count` pieces of messages of which the application gets `credit` octets back each.
    #[inline]
    pub(super) fn settle(&mut self, pieces: &Pieces, count: usize, credit: usize) {
        self.release(pieces.ends(count), credit);
    }

    /// Releases messages.
    #[inline]
    pub(super) fn release(&mut self, messages: usize, credit: usize) {
        self.released.octets += messages * credit;
        self.released.messages += messages;
    }
}
