//! Messages with bounds.

use core::marker::PhantomData;

use super::Ended;
use crate::{Handle, Participant, Service};

/// Messages that keep their bounds: UDP, IP, unnumbered frames. What else is promised, the facts say.
pub struct Datagrams<M>(PhantomData<M>);

impl<M> Service for Datagrams<M> {
    const NAME: &'static str = "Datagrams";
    type Request = DatagramsRequest<M>;
    type Indication = DatagramsIndication<M>;
}

/// Credit for messages: so many octets in at most so many messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Room {
    /// In octets of payload.
    pub octets: usize,
    /// In messages.
    pub messages: usize,
}

/// What may be asked of a datagram service.
#[derive(Debug)]
pub enum DatagramsRequest<M> {
    /// Answered by `Listening` with the true local address, or `Ended`.
    Listen {
        /// The listener's name.
        listener: Handle,
        /// Where.
        local: Participant,
    },
    /// Room for one arrival under this name. Answered by `Opened` or `Ended`, as `Open` is.
    Await {
        /// Whose arrivals.
        listener: Handle,
        /// The arrival's name.
        association: Handle,
        /// First room upward.
        room: Room,
    },
    /// No more arrivals. The names that still wait end with it.
    Unlisten {
        /// The listener's name.
        listener: Handle,
    },
    /// Answered by `Opened` or `Ended`.
    Open {
        /// The association's name.
        association: Handle,
        /// With whom.
        remote: Participant,
        /// First room upward.
        room: Room,
    },
    /// Within the room.
    Send {
        /// On what.
        association: Handle,
        /// The payload.
        message: M,
    },
    /// The upper has consumed this much, or has room for so much more. Never zero.
    Receive {
        /// On what.
        association: Handle,
        /// How much more.
        room: Room,
    },
    /// Ends the association; answered by `Ended`.
    Close {
        /// What.
        association: Handle,
    },
}

/// What a datagram service tells.
#[derive(Debug)]
pub enum DatagramsIndication<M> {
    /// Answers `Listen`.
    Listening {
        /// The listener's name.
        listener: Handle,
        /// The true local address.
        local: Participant,
    },
    /// Answers `Open` and `Await`.
    Opened {
        /// The association's name.
        association: Handle,
        /// Our address.
        local: Participant,
        /// The peer's address.
        remote: Participant,
        /// First room downward.
        room: Room,
    },
    /// So much more may be sent. Never zero.
    Room {
        /// On what.
        association: Handle,
        /// How much more.
        room: Room,
    },
    /// A message, within the room that was given.
    Delivered {
        /// On what.
        association: Handle,
        /// The payload.
        message: M,
    },
    /// The last word on any name, listeners too.
    Ended {
        /// Whose last word.
        name: Handle,
        /// Why.
        why: Ended,
    },
}
