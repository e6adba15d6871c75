//! Sending, receiving, closing.

use std::net::SocketAddr;
use std::time::Duration;

use stackwright_contract::services::Quality;
use stackwright_wire::Message;

use crate::blocking::endpoint::wait;
use crate::error::{Error, Refused};
use crate::hold::{self, Hold, in_one_piece};
use crate::link::Statistics;
use crate::shared::Ground;

/// One association of an endpoint.
///
/// ```
/// use stackwright_endpoint::{Config, System, blocking::Endpoint};
/// use stackwright_wire::BufferTree;
/// let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, Config::default(), System::udp::<BufferTree>)?;
/// let one = endpoint.connect(endpoint.local().unwrap())?; // with itself
/// one.send(b"hello")?;
/// let other = endpoint.accept()?;
/// assert_eq!(other.receive()?.0, b"hello");
/// assert_eq!(one.statistics().sent.octets, 5);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
///
/// When it is dropped it is closed, and nobody waits for that: what was sent goes on its way as long as the endpoint is used.
pub struct Association<S: Ground> {
    hold: Hold<S>,
    patience: Option<Duration>,
}

impl<S: Ground> Association<S> {
    pub(crate) fn new(hold: Hold<S>, patience: Option<Duration>) -> Self {
        Association { hold, patience }
    }

    /// How long its calls wait; `None`: as long as they need to.
    pub fn set_patience(&mut self, patience: Option<Duration>) {
        self.patience = patience;
    }

    /// Sends a message. It has left, as far as the network lets it, when this returns; whether it arrives, the stack promises
    /// or does not.
    ///
    /// # Errors
    /// [`Error::NotYet`] where no room came in time, [`Error::TooLong`], or [`Error::Ended`] with the reason.
    pub fn send(&self, octets: &[u8]) -> Result<(), Error> {
        self.send_with(octets, Quality::default())
    }

    /// Sends a message of which something is wished.
    ///
    /// # Errors
    /// As [`send`](Association::send).
    pub fn send_with(&self, octets: &[u8], quality: Quality) -> Result<(), Error> {
        Ok(self.send_message(hold::message(octets), quality)?)
    }

    /// Sends a message where there is room for it now.
    ///
    /// # Errors
    /// As [`send`](Association::send).
    pub fn try_send(&self, octets: &[u8], quality: Quality) -> Result<(), Error> {
        let message = hold::message(octets);
        Ok(self.send_within(message, quality, Some(Duration::ZERO))?)
    }

    /// Sends a message that is one already: its octets are not copied here. With 128 octets of headroom they need not be
    /// below, either.
    ///
    /// ```
    /// # use stackwright_endpoint::{Config, System, blocking::Endpoint};
    /// use stackwright_contract::services::Quality;
    /// use stackwright_wire::{BufferTree, Message};
    /// # let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, Config::default(), System::udp::<BufferTree>)?;
    /// # let one = endpoint.connect(endpoint.local().unwrap())?;
    /// let message = BufferTree::from_block(vec![7; 100_000].into(), 0, 100_000);
    /// let refused = one.send_message(message, Quality::default()).unwrap_err();
    /// assert_eq!(refused.message.len(), 100_000, "it is given back: UDP takes no more than 65507 octets");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`send`](Association::send), with the message.
    pub fn send_message(&self, message: S::Message, quality: Quality) -> Result<(), Refused<S::Message>> {
        self.send_within(message, quality, self.patience)
    }

    fn send_within(
        &self,
        message: S::Message,
        quality: Quality,
        patience: Option<Duration>,
    ) -> Result<(), Refused<S::Message>> {
        let Hold { shared, name } = &self.hold;
        let (name, octets, due) = (*name, message.len(), hold::due(&quality));
        let lifetime = quality.lifetime.map(|lifetime| Duration::from_micros(lifetime.get().into()));
        let until = patience.into_iter().chain(lifetime).min();
        if let Err(why) = wait(shared, until, |shared| shared.takes(name, octets, due)).flatten() {
            return Err(Refused { message, why });
        }
        let shared = &mut *shared.borrow_mut();
        shared.hand_over(name, message, quality, due);
        // It was taken: what goes wrong from here on is heard by the next call.
        let _ = shared.turn(Some(Duration::ZERO));
        Ok(())
    }

    /// The next message, and what came with it. What had arrived before the end is received before it.
    ///
    /// # Errors
    /// [`Error::NotYet`] where nothing came in time, or [`Error::Ended`] with the reason.
    pub fn receive(&self) -> Result<(Vec<u8>, Quality), Error> {
        self.receive_message().map(in_one_piece)
    }

    /// A message that has arrived.
    ///
    /// # Errors
    /// As [`receive`](Association::receive).
    pub fn try_receive(&self) -> Result<(Vec<u8>, Quality), Error> {
        self.receive_within(Some(Duration::ZERO)).map(in_one_piece)
    }

    /// The next message as the stack has it: its octets are not copied here.
    ///
    /// # Errors
    /// As [`receive`](Association::receive).
    pub fn receive_message(&self) -> Result<(S::Message, Quality), Error> {
        self.receive_within(self.patience)
    }

    fn receive_within(&self, patience: Option<Duration>) -> Result<(S::Message, Quality), Error> {
        wait(&self.hold.shared, patience, |shared| shared.take(self.hold.name))?
    }

    /// Closes it, and waits until the stack says that it is over: until what was sent has arrived, where the stack promises
    /// that. What has arrived here and was not received is lost.
    ///
    /// # Errors
    /// [`Error::Ended`] where it ended in another way; [`Error::NotYet`] where that takes longer than its patience.
    pub fn close(self) -> Result<(), Error> {
        self.hold.finish();
        wait(&self.hold.shared, self.patience, |shared| shared.closed(self.hold.name))?
    }

    /// Whether it is over, and all that arrived was received.
    pub fn has_ended(&self) -> bool {
        self.hold.has_ended()
    }

    /// Our address.
    pub fn local(&self) -> Option<SocketAddr> {
        self.hold.local()
    }

    /// The peer's address.
    pub fn remote(&self) -> Option<SocketAddr> {
        self.hold.remote()
    }

    /// What it has carried so far.
    pub fn statistics(&self) -> Statistics {
        self.hold.statistics()
    }
}
