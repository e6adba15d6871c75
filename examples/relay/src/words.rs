//! What the application and the relay say to each other.

use stackwright_contract::services::Ended;
use stackwright_contract::words::Speaks;
use stackwright_contract::{Participant, Service};
use stackwright_wire::Message;

/// The service of a relay: it is started, and tells what happens.
#[derive(Debug)]
pub struct Relaying;

impl Service for Relaying {
    const NAME: &'static str = "Relaying";
    type Request = Request;
    type Indication = Indication;
    type Name = ();
}

/// In a graph its words travel as an application's own.
impl<M: Message, B: Service> Speaks<M, B> for Relaying {}

/// What an application asks of a relay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// Take who arrives here. Answered by `Relaying` or `NotRelaying`.
    Relay {
        /// Where; port 0 asks for any.
        local: Participant,
    },
    /// Take nobody any more, and close all associations.
    Stop,
}

/// What a relay tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Indication {
    /// Who arrives is taken.
    Relaying {
        /// The true address.
        local: Participant,
    },
    /// Nobody is, or not any more.
    NotRelaying {
        /// Why.
        why: Ended,
    },
    /// Somebody came, and is led onward.
    Arrived {
        /// Who.
        peer: Participant,
        /// Whereto.
        onward: Participant,
    },
    /// Both of his associations are over.
    Left {
        /// Who.
        peer: Participant,
        /// Which of the two ended first: the direction in which it sent.
        first: Direction,
        /// Why it did.
        why: Ended,
        /// How many datagrams went onward, and how many back.
        passed: [u64; 2],
    },
}

/// Which way a datagram goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From who arrived.
    Onward,
    /// To who arrived.
    Back,
}

impl Direction {
    pub(crate) fn other(self) -> Self {
        match self {
            Direction::Onward => Direction::Back,
            Direction::Back => Direction::Onward,
        }
    }
}

/// Somebody who arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Where he arrived.
    pub local: Participant,
    /// Who he is.
    pub remote: Participant,
}
