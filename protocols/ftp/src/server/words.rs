//! What the application and the server say to each other.

use alloc::string::String;

use stackwright_contract::services::{Ended, Failure};
use stackwright_contract::words::Speaks;
use stackwright_contract::{Participant, Service};
use stackwright_wire::Message;

/// The service of a server: it is started, and tells what happens.
#[derive(Debug)]
pub struct Serving;

impl Service for Serving {
    const NAME: &'static str = "Serving";
    type Request = Request;
    type Indication = Indication;
    type Name = ();
}

/// In a graph its words travel as an application's own.
impl<M: Message, B: Service> Speaks<M, B> for Serving {}

/// What an application asks of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// Accept clients here. Answered by `Serving` or `NotServing`. May be asked for several
    /// addresses.
    Serve {
        /// Where; port 0 asks for any.
        local: Participant,
    },
    /// Accept nobody any more and end all sessions.
    Stop,
}

/// What a server tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Indication {
    /// Clients are accepted.
    Serving {
        /// The true address.
        local: Participant,
    },
    /// Clients are not, or not any more, accepted at an address.
    NotServing {
        /// Why.
        why: Ended,
    },
    /// A client came.
    Arrived {
        /// Who.
        peer: Participant,
    },
    /// A client logged in.
    LoggedIn {
        /// Who.
        peer: Participant,
        /// As whom.
        user: String,
    },
    /// A transfer is over.
    Transferred {
        /// With whom.
        peer: Participant,
        /// What.
        path: String,
        /// Which way.
        direction: TransferDirection,
        /// How many octets went over the data association.
        octets: u64,
        /// How long it took.
        took: stackwright_contract::Duration,
        /// Whether it is whole.
        result: Result<(), Trouble>,
    },
    /// A client left.
    Left {
        /// Who.
        peer: Participant,
    },
}

/// Which way a transfer goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransferDirection {
    /// To the client.
    Sent,
    /// From the client.
    Received,
    /// A listing.
    Listed,
}

/// Why a transfer is not whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Trouble {
    /// The files' side.
    #[error("{0}")]
    File(#[from] Failure),
    /// The data association.
    #[error("the data connection: {0}")]
    Data(#[from] Ended),
    /// The client gave it up.
    #[error("the client gave it up")]
    GivenUp,
}
