//! What a word of a service with names says about them: enough to rename, to lead, and to count.

use stackwright_contract::services::{
    DatagramsIndication, DatagramsRequest, FilesIndication, FilesRequest, StreamsIndication, StreamsRequest,
};
use stackwright_contract::words::{Indication, Request};
use stackwright_contract::{Handle, Participant, Service};

/// Where in the life of its name a word stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Life {
    /// It gives the name.
    Begins,
    /// The name lives before and after it.
    Goes,
    /// It is the last word on the name.
    Ends,
}

/// A word that tells whom it is about.
pub trait Named {
    /// Whom; `None` where the service has no names, or keeps them to itself.
    fn name(&mut self) -> Option<&mut Handle>;
    /// Where in the life of that name it stands.
    fn life(&self) -> Life;
    /// The second name in it: whose arrival is awaited.
    fn listener(&mut self) -> Option<&mut Handle> {
        None
    }
    /// The local and the remote participant, where it tells them.
    fn participants(&mut self) -> [Option<&mut Participant>; 2] {
        [None, None]
    }
}

/// The same for the words of datagrams and of streams, which differ in the payload's words only.
macro_rules! associations {
    ($request:ident $indication:ident, $local:ident: $own:expr, asks $($asks:ident)*, tells $($tells:ident)*) => {
        impl<M> Named for $request<M> {
            fn name(&mut self) -> Option<&mut Handle> {
                match self {
                    $request::Listen { listener: name, .. }
                    | $request::Unlisten { listener: name, .. }
                    | $request::Open { association: name, .. }
                    | $request::Await { association: name, .. }
                    $(| $request::$asks { association: name, .. })* => Some(name),
                }
            }

            fn life(&self) -> Life {
                match self {
                    $request::Listen { .. } | $request::Open { .. } | $request::Await { .. } => Life::Begins,
                    _ => Life::Goes,
                }
            }

            fn listener(&mut self) -> Option<&mut Handle> {
                if let $request::Await { listener, .. } = self { Some(listener) } else { None }
            }

            fn participants(&mut self) -> [Option<&mut Participant>; 2] {
                match self {
                    $request::Listen { local, .. } => [Some(local), None],
                    $request::Open { remote, $local, .. } => [$own, Some(remote)],
                    _ => [None, None],
                }
            }
        }

        impl<M> Named for $indication<M> {
            fn name(&mut self) -> Option<&mut Handle> {
                match self {
                    $indication::Listening { listener: name, .. }
                    | $indication::Opened { association: name, .. }
                    | $indication::Ended { name, .. }
                    $(| $indication::$tells { association: name, .. })* => Some(name),
                }
            }

            fn life(&self) -> Life {
                if matches!(self, $indication::Ended { .. }) { Life::Ends } else { Life::Goes }
            }

            fn participants(&mut self) -> [Option<&mut Participant>; 2] {
                match self {
                    $indication::Listening { local, .. } => [Some(local), None],
                    $indication::Opened { local, remote, .. } => [Some(local), Some(remote)],
                    _ => [None, None],
                }
            }
        }
    };
}

associations!(StreamsRequest StreamsIndication, local: local.as_mut(),
    asks Send Receive Unread Finish Abort, tells Room Delivered Finished);
associations!(DatagramsRequest DatagramsIndication, room: { let _no_own_address = room; None },
    asks Send Receive Close, tells Room Delivered);

impl<M> Named for FilesRequest<M> {
    fn name(&mut self) -> Option<&mut Handle> {
        match self {
            FilesRequest::Open { file: name, .. }
            | FilesRequest::Read { file: name, .. }
            | FilesRequest::Next { file: name }
            | FilesRequest::Write { file: name, .. }
            | FilesRequest::Close { file: name, .. }
            | FilesRequest::Stat { token: name, .. }
            | FilesRequest::Rename { token: name, .. }
            | FilesRequest::Remove { token: name, .. } => Some(name),
        }
    }

    fn life(&self) -> Life {
        match self {
            FilesRequest::Open { .. }
            | FilesRequest::Stat { .. }
            | FilesRequest::Rename { .. }
            | FilesRequest::Remove { .. } => Life::Begins,
            _ => Life::Goes,
        }
    }
}

impl<M> Named for FilesIndication<M> {
    fn name(&mut self) -> Option<&mut Handle> {
        match self {
            FilesIndication::Opened { file: name, .. }
            | FilesIndication::Read { file: name, .. }
            | FilesIndication::Entries { file: name, .. }
            | FilesIndication::Written { file: name, .. }
            | FilesIndication::Closed { file: name, .. }
            | FilesIndication::Stated { token: name, .. }
            | FilesIndication::Done { token: name, .. } => Some(name),
        }
    }

    fn life(&self) -> Life {
        match self {
            FilesIndication::Closed { .. }
            | FilesIndication::Stated { .. }
            | FilesIndication::Done { .. } => Life::Ends,
            _ => Life::Goes,
        }
    }
}

/// The words of a graph tell what the words in them tell.
macro_rules! any_word {
    ($word:ident) => {
        impl<M, B: Service> Named for $word<M, B> {
            fn name(&mut self) -> Option<&mut Handle> {
                match self {
                    $word::Datagram(word) => word.name(),
                    $word::Stream(word) => word.name(),
                    $word::File(word) => word.name(),
                    $word::Line(_) | $word::Frame(_) | $word::Outside(_) | $word::Own(_) => None,
                }
            }

            fn life(&self) -> Life {
                match self {
                    $word::Datagram(word) => word.life(),
                    $word::Stream(word) => word.life(),
                    $word::File(word) => word.life(),
                    $word::Line(_) | $word::Frame(_) | $word::Outside(_) | $word::Own(_) => Life::Goes,
                }
            }

            fn listener(&mut self) -> Option<&mut Handle> {
                match self {
                    $word::Datagram(word) => word.listener(),
                    $word::Stream(word) => word.listener(),
                    _ => None,
                }
            }

            fn participants(&mut self) -> [Option<&mut Participant>; 2] {
                match self {
                    $word::Datagram(word) => word.participants(),
                    $word::Stream(word) => word.participants(),
                    _ => [None, None],
                }
            }
        }
    };
}

any_word!(Request);
any_word!(Indication);
