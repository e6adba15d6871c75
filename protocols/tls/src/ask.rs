//! What was negotiated, as an answer to a question.

use stackwright_contract::ask::{Query, Question};
use stackwright_contract::{Fingerprint, Handle};
use stackwright_wire::Message;

use crate::Tls;
use crate::state::Stage;

/// How is the association protected? Without an answer, it is not, or not yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Security;

impl Query for Security {
    type Answer = SecurityFacts;
}

/// What a handshake has negotiated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SecurityFacts {
    /// The version.
    pub version: &'static str,
    /// The cipher suite, as IANA names it.
    pub suite: &'static str,
    /// The certificate that the server showed, in this handshake or in the one that it resumes:
    /// known to the client.
    pub certificate: Option<Fingerprint>,
    /// Whether it resumed a session.
    pub resumed: bool,
}

impl<M: Message> Tls<M> {
    pub(crate) fn answer(&self, about: Handle, question: &mut Question<'_>) {
        if let Some(association) = self.associations.get(about)
            && let Stage::Secure(secured) = &association.stage
            && !secured.shaking
        {
            question.answer::<Security>(|_| Some(secured.connection.facts()));
        }
    }
}
