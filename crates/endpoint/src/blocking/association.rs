//! Sending, receiving, closing.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use stackwright_contract::Handle;
use stackwright_contract::services::{DatagramsRequest, Quality, Room};
use stackwright_wire::Message;

use crate::blocking::endpoint::{Shared, Stack, wait};
use crate::desk::State;
use crate::error::{Error, Refused};

/// What may be pushed before a message, in octets, so that no layer has to ask for memory.
const HEADROOM: usize = 128;

/// What an association has carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// What the stack took.
    pub sent: Room,
    /// What it delivered.
    pub received: Room,
    /// How much may be sent now.
    pub room: Room,
}

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
pub struct Association<S: Stack> {
    shared: Rc<RefCell<Shared<S>>>,
    name: Handle,
    patience: Option<Duration>,
}

impl<S: Stack> Association<S> {
    pub(crate) fn new(shared: Rc<RefCell<Shared<S>>>, name: Handle, patience: Option<Duration>) -> Self {
        Association { shared, name, patience }
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
        Ok(self.send_message(S::Message::with_headroom(HEADROOM, octets), quality)?)
    }

    /// Sends a message where there is room for it now.
    ///
    /// # Errors
    /// As [`send`](Association::send).
    pub fn try_send(&self, octets: &[u8], quality: Quality) -> Result<(), Error> {
        let message = S::Message::with_headroom(HEADROOM, octets);
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
        let (name, octets) = (self.name, message.len());
        let room = wait(&self.shared, patience, |shared| {
            let longest = shared.longest;
            let link = shared.desk.link(name)?;
            match link.state {
                State::Ended(why) => return Some(Err(why.into())),
                _ if octets > longest.min(link.room_most.octets) => return Some(Err(Error::TooLong)),
                _ => {}
            }
            (link.room.messages > 0 && link.room.octets >= octets).then_some(Ok(()))
        });
        if let Err(why) = room.flatten() {
            return Err(Refused { message, why });
        }
        let shared = &mut *self.shared.borrow_mut();
        if let Some(link) = shared.desk.link(name) {
            link.room.octets -= octets;
            link.room.messages -= 1;
            link.statistics.sent.octets += octets;
            link.statistics.sent.messages += 1;
        }
        shared.desk.asks.push(DatagramsRequest::Send { association: name, message, quality });
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
        let name = self.name;
        wait(&self.shared, patience, |shared| {
            let link = shared.desk.link(name)?;
            let Some((message, quality)) = link.inbox.pop_front() else {
                return match link.state {
                    State::Ended(why) => Some(Err(why.into())),
                    _ => None,
                };
            };
            if matches!(link.state, State::Open) {
                let room = Room { octets: message.len(), messages: 1 };
                shared.desk.asks.push(DatagramsRequest::Receive { association: name, room });
            }
            Some(Ok((message, quality)))
        })?
    }

    /// Closes it, and waits until the stack says that it is over: until what was sent has arrived, where the stack promises
    /// that. What has arrived here and was not received is lost.
    ///
    /// # Errors
    /// [`Error::Ended`] where it ended in another way; [`Error::NotYet`] where that takes longer than its patience.
    pub fn close(self) -> Result<(), Error> {
        let name = self.name;
        {
            let desk = &mut self.shared.borrow_mut().desk;
            if let Some(link) = desk.link(name).filter(|link| link.state == State::Open) {
                link.state = State::Closing;
                desk.asks.push(DatagramsRequest::Close { association: name });
            }
        }
        let why = wait(&self.shared, self.patience, |shared| match shared.desk.link(name)?.state {
            State::Ended(why) => Some(Error::from(why)),
            _ => None,
        })?;
        if why.is_finished() { Ok(()) } else { Err(why) }
    }

    /// Whether it is over, and all that arrived was received.
    pub fn has_ended(&self) -> bool {
        let desk = &mut self.shared.borrow_mut().desk;
        desk.link(self.name).is_none_or(|link| matches!(link.state, State::Ended(_)) && link.inbox.is_empty())
    }

    /// Our address.
    pub fn local(&self) -> Option<SocketAddr> {
        self.shared.borrow_mut().desk.link(self.name)?.ends?.0.internet()
    }

    /// The peer's address.
    pub fn remote(&self) -> Option<SocketAddr> {
        self.shared.borrow_mut().desk.link(self.name)?.ends?.1.internet()
    }

    /// What it has carried so far.
    pub fn statistics(&self) -> Statistics {
        let desk = &mut self.shared.borrow_mut().desk;
        desk.link(self.name)
            .map_or(Statistics::default(), |link| Statistics { room: link.room, ..link.statistics })
    }
}

impl<S: Stack> Drop for Association<S> {
    fn drop(&mut self) {
        let shared = &mut *self.shared.borrow_mut();
        shared.desk.forsake(self.name);
        shared.ask();
    }
}

fn in_one_piece<M: Message>((message, quality): (M, Quality)) -> (Vec<u8>, Quality) {
    let mut octets = vec![0; message.len()];
    message.copy_to(&mut octets);
    (octets, quality)
}
