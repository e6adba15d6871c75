//! What a word does to an association, as far as a packet can say it.

use stackwright_contract::services::{
    AssociationIndication, AssociationRequest, Ended, FramesIndication, FramesRequest,
    OctetsIndication, OctetsRequest, Transfer,
};
use stackwright_contract::words::{Indication, Request};
use stackwright_contract::{Participant, Service};
use stackwright_wire::Message;

/// What a word does. Its message stays in the word.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    /// Nothing that a packet says.
    Nothing,
    /// An association is asked for: `passive` where the peer comes to us.
    Begins { passive: bool },
    /// It is there.
    Opened { local: Participant, remote: Participant, stream: bool },
    /// Octets of a stream.
    Octets { urgent: bool },
    /// A datagram.
    Datagram,
    /// Octets of a line, or a frame: neither knows associations.
    Line,
    /// One side of a stream has finished.
    Finishes,
    /// We abort it.
    Resets,
    /// The last word.
    Ended { why: Ended, stream: bool },
}

/// Returns what a request does.
pub(super) fn of_request<M: Message, B: Service>(word: &Request<M, B>) -> Act {
    match word {
        Request::Line(OctetsRequest::Send { .. }) | Request::Frame(FramesRequest::Send { .. }) => {
            Act::Line
        }
        Request::Datagram(word) => of_association_request(word, |_| Act::Datagram),
        Request::Stream(word) => {
            of_association_request(word, |properties| Act::Octets { urgent: properties.expedited })
        }
        _ => Act::Nothing,
    }
}

fn of_association_request<T: Transfer>(
    word: &AssociationRequest<T>,
    sends: impl FnOnce(T::Properties) -> Act,
) -> Act {
    match word {
        AssociationRequest::Open { .. } => Act::Begins { passive: false },
        AssociationRequest::Await { .. } => Act::Begins { passive: true },
        AssociationRequest::Send { properties, .. } => sends(*properties),
        AssociationRequest::Finish { .. } if !T::MESSAGES => Act::Finishes,
        AssociationRequest::Abort { .. } if !T::MESSAGES => Act::Resets,
        _ => Act::Nothing,
    }
}

/// Returns what an indication does.
pub(super) fn of_indication<M: Message, B: Service>(word: &Indication<M, B>) -> Act {
    match word {
        Indication::Line(OctetsIndication::Delivered { .. })
        | Indication::Frame(FramesIndication::Delivered { .. }) => Act::Line,
        Indication::Datagram(word) => of_association_indication(word, Act::Datagram),
        Indication::Stream(word) => of_association_indication(word, Act::Octets { urgent: false }),
        _ => Act::Nothing,
    }
}

fn of_association_indication<T: Transfer>(word: &AssociationIndication<T>, delivers: Act) -> Act {
    let stream = !T::MESSAGES;
    match word {
        AssociationIndication::Opened { local, remote, .. } => {
            Act::Opened { local: *local, remote: *remote, stream }
        }
        AssociationIndication::Delivered { .. } => delivers,
        AssociationIndication::Finished { .. } if stream => Act::Finishes,
        AssociationIndication::Ended { why, .. } => Act::Ended { why: *why, stream },
        _ => Act::Nothing,
    }
}
