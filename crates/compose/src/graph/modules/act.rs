//! What a word does to an association, as far as a packet can say it.

use stackwright_contract::services::{
    DatagramsIndication, DatagramsRequest, Ended, FramesIndication, FramesRequest, OctetsIndication,
    OctetsRequest, StreamsIndication, StreamsRequest,
};
use stackwright_contract::words::{Indication, Request};
use stackwright_contract::{Participant, Service};

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

/// What a request does.
pub(super) fn of_request<M, B: Service>(word: &Request<M, B>) -> Act {
    match word {
        Request::Line(OctetsRequest::Send { .. }) | Request::Frame(FramesRequest::Send { .. }) => Act::Line,
        Request::Datagram(word) => match word {
            DatagramsRequest::Open { .. } => Act::Begins { passive: false },
            DatagramsRequest::Await { .. } => Act::Begins { passive: true },
            DatagramsRequest::Send { .. } => Act::Datagram,
            _ => Act::Nothing,
        },
        Request::Stream(word) => match word {
            StreamsRequest::Open { .. } => Act::Begins { passive: false },
            StreamsRequest::Await { .. } => Act::Begins { passive: true },
            StreamsRequest::Send { urgent, .. } => Act::Octets { urgent: *urgent },
            StreamsRequest::Finish { .. } => Act::Finishes,
            StreamsRequest::Abort { .. } => Act::Resets,
            _ => Act::Nothing,
        },
        _ => Act::Nothing,
    }
}

/// What an indication does.
pub(super) fn of_indication<M, B: Service>(word: &Indication<M, B>) -> Act {
    match word {
        Indication::Line(OctetsIndication::Delivered { .. })
        | Indication::Frame(FramesIndication::Delivered { .. }) => Act::Line,
        Indication::Datagram(word) => match word {
            DatagramsIndication::Opened { local, remote, .. } => {
                Act::Opened { local: *local, remote: *remote, stream: false }
            }
            DatagramsIndication::Delivered { .. } => Act::Datagram,
            DatagramsIndication::Ended { why, .. } => Act::Ended { why: *why, stream: false },
            _ => Act::Nothing,
        },
        Indication::Stream(word) => match word {
            StreamsIndication::Opened { local, remote, .. } => {
                Act::Opened { local: *local, remote: *remote, stream: true }
            }
            StreamsIndication::Delivered { .. } => Act::Octets { urgent: false },
            StreamsIndication::Finished { .. } => Act::Finishes,
            StreamsIndication::Ended { why, .. } => Act::Ended { why: *why, stream: true },
            _ => Act::Nothing,
        },
        _ => Act::Nothing,
    }
}
