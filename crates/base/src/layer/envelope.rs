//! The part of a message that is read before its association is known.

use stackwright_wire::{Header, Malformed, Message};

/// What is read of a message from below before its association is known, and written before one
/// that goes down.
///
/// Every [`Header`] is an envelope: it is removed from arriving messages, and put before leaving
/// ones. A protocol whose check covers its header has an envelope of its own, which only reads the
/// front of the message and leaves it unchanged.
pub trait Envelope<M>: Sized {
    /// Reads it, and removes what need not stay.
    ///
    /// # Errors
    /// What is wrong with it. The message is then dropped and counted.
    fn open(message: &mut M) -> Result<Self, Malformed>;

    /// Puts it before a message.
    fn close(&self, message: &mut M);
}

impl<T: Header, M: Message> Envelope<M> for T {
    #[inline(always)]
    fn open(message: &mut M) -> Result<Self, Malformed> {
        message.pull()
    }

    #[inline(always)]
    fn close(&self, message: &mut M) {
        message.push(self);
    }
}
