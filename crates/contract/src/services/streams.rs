//! Octets in order, both ways, with an end.

use core::marker::PhantomData;

use crate::{Handle, Participant, Service};

/// Associations that carry octets in order: what TCP offers, without its sockets.
pub struct Streams<M>(PhantomData<M>);

impl<M> Service for Streams<M> {
    const NAME: &'static str = "Streams";
    type Request = StreamsRequest<M>;
    type Indication = StreamsIndication<M>;
    type Name = Handle;
}

/// What may be asked of a stream service.
#[derive(Debug)]
pub enum StreamsRequest<M> {
    /// Answered by `Listening` with the true local address, or `Ended`.
    Listen {
        /// The listener's name.
        listener: Handle,
        /// Where; port 0 asks for any.
        local: Participant,
    },
    /// Room for one arrival under this name: nobody is accepted without. Answered by `Opened` or `Ended`, as `Open` is.
    Await {
        /// Whose arrivals.
        listener: Handle,
        /// The arrival's name.
        association: Handle,
        /// First room upward, in octets.
        room: usize,
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
        /// From which own address and port; `None` for any.
        local: Option<Participant>,
        /// First room upward, in octets.
        room: usize,
    },
    /// Within the room.
    Send {
        /// On what.
        association: Handle,
        /// The octets, or regions of files where the facts say that they are sent.
        message: M,
        /// The last octet of `message` is expedited (TCP's urgent pointer). Only where the facts promise it.
        urgent: bool,
    },
    /// The upper has consumed so many octets, or has room for so many more. Never zero.
    Receive {
        /// On what.
        association: Handle,
        /// In octets.
        room: usize,
    },
    /// Nobody above reads what is delivered here: from now on it may come as regions of whatever the adapter keeps it in, and
    /// milliseconds later where more comes together then.
    Unread {
        /// On what.
        association: Handle,
    },
    /// No more will be sent; what was sent still goes out.
    Finish {
        /// What.
        association: Handle,
    },
    /// At once, and the peer shall know: it sees a reset. Answered by `Ended`.
    Abort {
        /// What.
        association: Handle,
    },
}

/// What a stream service tells.
#[derive(Debug)]
pub enum StreamsIndication<M> {
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
        /// First room downward, in octets.
        room: usize,
    },
    /// What was sent left: so many more octets may be sent. Never zero.
    Room {
        /// On what.
        association: Handle,
        /// In octets.
        room: usize,
    },
    /// Octets, within the room that was given.
    Delivered {
        /// On what.
        association: Handle,
        /// The octets; regions only where that was said to be right, by `Unread`.
        message: M,
    },
    /// The peer's `Finish`: nothing more will be delivered. Needs no room.
    Finished {
        /// On what.
        association: Handle,
    },
    /// The last word on any name, listeners too. Comes exactly once, whoever ended it.
    Ended {
        /// Whose last word.
        name: Handle,
        /// Why.
        why: Ended,
    },
}

impl<M> StreamsIndication<M> {
    /// Whom it is about.
    pub fn name(&self) -> Handle {
        match self {
            StreamsIndication::Listening { listener: name, .. }
            | StreamsIndication::Opened { association: name, .. }
            | StreamsIndication::Room { association: name, .. }
            | StreamsIndication::Delivered { association: name, .. }
            | StreamsIndication::Finished { association: name }
            | StreamsIndication::Ended { name, .. } => *name,
        }
    }
}

/// Why an association, or a listener, is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Ended {
    /// Both sides have finished.
    #[error("both sides have finished")]
    Finished,
    /// We aborted it.
    #[error("it was aborted here")]
    Aborted,
    /// Its listener was closed before anybody came, or we do not listen any more.
    #[error("nobody listens any more")]
    Unlistened,
    /// Nobody answers at that address, or it cannot be used here.
    #[error("the other side cannot be reached")]
    Unreachable,
    /// The address is somebody else's, or we lack the right to it.
    #[error("the address is taken, or not ours to use")]
    Unavailable,
    /// The peer's application does not want it: it was asked, and said no. Asking again changes nothing.
    #[error(
        "the other side refused the connection: its application decides whom it admits, and asking again will not help"
    )]
    Refused,
    /// The peer, or the network, ended it.
    #[error("the other side reset the connection")]
    Reset,
    /// A region of a file turned out shorter than it was when it was sent.
    #[error("the file became shorter while it was sent")]
    SourceShort,
    /// It took too long.
    #[error("it took too long")]
    Expired,
    /// What came was not what the other side's seal or signature says, again and again: another key, or a forger.
    #[error("what came is not sealed with the other side's key")]
    Forged,
    /// A message was longer than the other side takes, or than can be said.
    #[error("a message was longer than the other side takes")]
    TooLong,
    /// More messages were begun, or longer ones, than one side holds until they are whole.
    #[error(
        "more was begun than the receiver holds until it is whole: send fewer or shorter messages at a time"
    )]
    Overrun,
}
