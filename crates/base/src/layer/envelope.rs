//! What is read of a message before it is known whose it is.

use stackwright_wire::{Header, Malformed, Message};

/// What is read of a message from below before it is known whose it is, and put before one that
/// goes down.
///
/// Every [`Header`] is one: it is taken off, and put before. A protocol whose check covers its
/// header has one of its own, which only looks at the front of the message and leaves it as it
/// came.
pub trait Envelope<M>: Sized {
    /// Reads it, and takes off what need not stay.
    ///
    /// # Errors
    /// What is wrong with it. The message is dropped then, and counted.
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
