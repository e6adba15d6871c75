//! What a word says, for whoever only listens: which service, which primitive, about whom, with which payload.

use stackwright_contract::services::{
    Batch, DatagramsIndication, DatagramsRequest, FilesIndication, FilesRequest, FramesIndication,
    FramesRequest, OctetsIndication, OctetsRequest, StreamsIndication, StreamsRequest,
};
use stackwright_contract::words::{Indication, Request};
use stackwright_contract::{Handle, Service};
use stackwright_wire::Message;

/// A word, as far as it is the same for all services.
pub(super) struct Speech<'a, M> {
    pub(super) service: &'static str,
    pub(super) primitive: &'static str,
    pub(super) name: Option<Handle>,
    /// What it carries: a message, or several in one piece.
    pub(super) message: Option<&'a M>,
    /// How many messages that are.
    pub(super) messages: usize,
}

const fn speech<'a, M>(
    service: &'static str,
    primitive: &'static str,
    name: Option<Handle>,
    message: Option<&'a M>,
) -> Speech<'a, M> {
    Speech { service, primitive, name, message, messages: if message.is_some() { 1 } else { 0 } }
}

fn of_batch<'a, M: Message>(
    service: &'static str,
    primitive: &'static str,
    name: Option<Handle>,
    batch: Option<&'a Batch<M>>,
) -> Speech<'a, M> {
    let speech = speech(service, primitive, name, batch.map(Batch::as_octets));
    Speech { messages: batch.map_or(0, Batch::count), ..speech }
}

/// What a request says.
pub(super) fn of_request<M: Message, B: Service>(word: &Request<M, B>) -> Speech<'_, M> {
    match word {
        Request::Line(OctetsRequest::Send { message }) => speech("Octets", "Send", None, Some(message)),
        Request::Line(OctetsRequest::Receive { .. }) => speech("Octets", "Receive", None, None),
        Request::Frame(FramesRequest::Send { messages, .. }) => {
            of_batch("Frames", "Send", None, Some(messages))
        }
        Request::Frame(FramesRequest::Receive { .. }) => speech("Frames", "Receive", None, None),
        Request::Datagram(word) => {
            use DatagramsRequest::{Await, Close, Listen, Open, Receive, Send, Unlisten};
            let (primitive, name, batch) = match word {
                Listen { listener, .. } => ("Listen", listener, None),
                Unlisten { listener } => ("Unlisten", listener, None),
                Await { association, .. } => ("Await", association, None),
                Open { association, .. } => ("Open", association, None),
                Send { association, messages, .. } => ("Send", association, Some(messages)),
                Receive { association, .. } => ("Receive", association, None),
                Close { association } => ("Close", association, None),
            };
            of_batch("Datagrams", primitive, Some(*name), batch)
        }
        Request::Stream(word) => {
            use StreamsRequest::{Abort, Await, Finish, Listen, Open, Receive, Send, Unlisten, Unread};
            let (primitive, name, message) = match word {
                Listen { listener, .. } => ("Listen", listener, None),
                Unlisten { listener } => ("Unlisten", listener, None),
                Await { association, .. } => ("Await", association, None),
                Open { association, .. } => ("Open", association, None),
                Send { association, message, .. } => ("Send", association, Some(message)),
                Receive { association, .. } => ("Receive", association, None),
                Unread { association } => ("Unread", association, None),
                Finish { association } => ("Finish", association, None),
                Abort { association } => ("Abort", association, None),
            };
            speech("Streams", primitive, Some(*name), message)
        }
        Request::File(word) => {
            use FilesRequest::{Close, Next, Open, Read, Remove, Rename, Stat, Write};
            let (primitive, name, message) = match word {
                Open { file, .. } => ("Open", file, None),
                Read { file, .. } => ("Read", file, None),
                Next { file } => ("Next", file, None),
                Write { file, message, .. } => ("Write", file, Some(message)),
                Close { file, .. } => ("Close", file, None),
                Stat { token, .. } => ("Stat", token, None),
                Rename { token, .. } => ("Rename", token, None),
                Remove { token, .. } => ("Remove", token, None),
            };
            speech("Files", primitive, Some(*name), message)
        }
        Request::Outside(_) => speech(B::NAME, "request", None, None),
        Request::Own(_) => speech("its own service", "request", None, None),
    }
}

/// What an indication says.
pub(super) fn of_indication<M: Message, B: Service>(word: &Indication<M, B>) -> Speech<'_, M> {
    match word {
        Indication::Line(OctetsIndication::Delivered { message }) => {
            speech("Octets", "Delivered", None, Some(message))
        }
        Indication::Line(OctetsIndication::Room { .. }) => speech("Octets", "Room", None, None),
        Indication::Line(OctetsIndication::State { .. }) => speech("Octets", "State", None, None),
        Indication::Frame(word) => {
            use FramesIndication::{Delivered, Left, Room, State};
            let (primitive, batch) = match word {
                Room { .. } => ("Room", None),
                Delivered { messages, .. } => ("Delivered", Some(messages)),
                Left { .. } => ("Left", None),
                State { .. } => ("State", None),
            };
            of_batch("Frames", primitive, None, batch)
        }
        Indication::Datagram(word) => {
            use DatagramsIndication::{Delivered, Ended, Listening, Opened, Room};
            let (primitive, name, batch) = match word {
                Listening { listener, .. } => ("Listening", listener, None),
                Opened { association, .. } => ("Opened", association, None),
                Room { association, .. } => ("Room", association, None),
                Delivered { association, messages, .. } => ("Delivered", association, Some(messages)),
                Ended { name, .. } => ("Ended", name, None),
            };
            of_batch("Datagrams", primitive, Some(*name), batch)
        }
        Indication::Stream(word) => {
            use StreamsIndication::{Delivered, Ended, Finished, Listening, Opened, Room};
            let (primitive, name, message) = match word {
                Listening { listener, .. } => ("Listening", listener, None),
                Opened { association, .. } => ("Opened", association, None),
                Room { association, .. } => ("Room", association, None),
                Delivered { association, message } => ("Delivered", association, Some(message)),
                Finished { association } => ("Finished", association, None),
                Ended { name, .. } => ("Ended", name, None),
            };
            speech("Streams", primitive, Some(*name), message)
        }
        Indication::File(word) => {
            use FilesIndication::{Closed, Done, Entries, Opened, Read, Stated, Written};
            let name = Some(word.name());
            let (primitive, message) = match word {
                Opened { .. } => ("Opened", None),
                Read { message, .. } => ("Read", Some(message)),
                Entries { .. } => ("Entries", None),
                Written { .. } => ("Written", None),
                Closed { .. } => ("Closed", None),
                Stated { .. } => ("Stated", None),
                Done { .. } => ("Done", None),
            };
            speech("Files", primitive, name, message)
        }
        Indication::Outside(_) => speech(B::NAME, "indication", None, None),
        Indication::Own(_) => speech("its own service", "indication", None, None),
    }
}
