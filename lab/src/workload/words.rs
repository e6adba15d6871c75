//! What is asked of a workload, and what it tells.

use stackwright_contract::services::Ended;
use stackwright_contract::{Participant, Service};

/// The service that a workload provides to whoever runs it.
pub(crate) struct Working;

impl Service for Working {
    const NAME: &'static str = "Working";
    type Request = Request;
    type Indication = Told;
    type Name = ();
}

/// What is asked.
#[derive(Debug)]
pub(crate) enum Request {
    /// Of a client: work with the server at this address. Of a server: listen there.
    Start(Participant),
}

/// What is told.
#[derive(Debug)]
pub(crate) enum Told {
    /// A server listens.
    Listening,
    /// A server cannot.
    Deaf(Ended),
    /// All conversations of a client are over.
    Done,
}
