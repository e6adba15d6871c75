//! Requests to a server, and its indications.

use alloc::string::String;

use stackwright_contract::services::{Ended, Failure};
use stackwright_contract::words::Speaks;
use stackwright_contract::{Participant, Service};
use stackwright_wire::Message;

use crate::form::Damage;

/// The service of a server: it is started, and tells what happens.
#[derive(Debug)]
pub struct Serving;

impl Service for Serving {
    const NAME: &'static str = "Serving";
    type Request = Request;
    type Indication = Indication;
    type Name = ();
}

/// In a graph, its words travel as those of an application.
impl<M: Message, B: Service> Speaks<M, B> for Serving {}

/// What an application requests of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// Accepts clients at an address. Answered by `Serving` or `NotServing`. Several addresses may
    /// be requested.
    Serve {
        /// The address; port 0 stands for any.
        local: Participant,
    },
    /// The same, where every association is secured from its first octet (implicit TLS), by a layer
    /// below that knows how.
    ServeSecurely {
        /// The address; port 0 stands for any.
        local: Participant,
    },
    /// Accepts no more clients, and ends all sessions.
    Stop,
}

/// What a server tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Indication {
    /// Clients are accepted.
    Serving {
        /// The actual address.
        local: Participant,
    },
    /// Clients are not, or no longer, accepted at an address.
    NotServing {
        /// The reason.
        why: Ended,
    },
    /// A client has connected.
    Arrived {
        /// The client.
        peer: Participant,
    },
    /// A client has logged in.
    LoggedIn {
        /// The client.
        peer: Participant,
        /// The user's name.
        user: String,
    },
    /// A data association was refused because it did not resume the TLS session of its control
    /// association: it may be another client's.
    DataRefused {
        /// The client of the control association.
        peer: Participant,
    },
    /// A transfer is over.
    Transferred {
        /// The client.
        peer: Participant,
        /// The path of the file or folder.
        path: String,
        /// The direction.
        direction: TransferDirection,
        /// How many octets went over the data association.
        octets: u64,
        /// The time it took.
        took: stackwright_contract::Duration,
        /// Whether the file is whole.
        result: Result<(), Trouble>,
    },
    /// A client has left.
    Left {
        /// The client.
        peer: Participant,
    },
}

/// The direction of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransferDirection {
    /// To the client.
    Sent,
    /// From the client.
    Received,
    /// A listing.
    Listed,
}

/// The reason for which a transfer is not whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Trouble {
    /// A failure of the files.
    #[error("{0}")]
    File(#[from] Failure),
    /// The end of the data association.
    #[error("the data connection: {0}")]
    Data(#[from] Ended),
    /// The data association did not resume the TLS session of its control association: it may be
    /// another client's.
    #[error("the data connection does not belong to the client's TLS session")]
    NotResumed,
    /// What arrived is no file in the form that was agreed on.
    #[error("{0}")]
    Form(#[from] Damage),
    /// The client aborted it.
    #[error("the client gave it up")]
    GivenUp,
}
