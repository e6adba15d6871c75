//! The words of every service with associations: one set, generic over what is carried.

use super::{Batch, Code, Credit, Datagrams, Ended, Groups, Streams, Transfer};
use crate::{Command, CommandError, Handle, Life, Participant, PathLimits, Service, Trouble, Word};

/// What may be asked of a datagram service.
pub type DatagramsRequest<M> = AssociationRequest<Datagrams<M>>;
/// What a datagram service tells.
pub type DatagramsIndication<M> = AssociationIndication<Datagrams<M>>;
/// What may be asked of a stream service.
pub type StreamsRequest<M> = AssociationRequest<Streams<M>>;
/// What a stream service tells.
pub type StreamsIndication<M> = AssociationIndication<Streams<M>>;
/// What may be asked of a group service.
pub type GroupsRequest<M> = AssociationRequest<Groups<M>>;
/// What a group service tells.
pub type GroupsIndication<M> = AssociationIndication<Groups<M>>;

/// What may be asked of a service with associations.
#[derive(Debug)]
pub enum AssociationRequest<T: Transfer> {
    /// Listens. Answered by `Listening` with the true local address, or by `Ended`.
    Listen {
        /// The listener's name.
        listener: Handle,
        /// The address; port 0 asks for any.
        local: Participant,
    },
    /// Gives a name and the first credit upward to one arrival: without such a name no peer is
    /// accepted. Answered by `Opened` or `Ended`, as `Open` is.
    Await {
        /// The listener whose arrival is awaited.
        listener: Handle,
        /// The arrival's name.
        association: Handle,
        /// The first credit upward.
        credit: Credit,
    },
    /// Opens an association. Answered by `Opened` or `Ended`.
    Open {
        /// The association's name.
        association: Handle,
        /// The peer.
        remote: Participant,
        /// The own address and port; `None`: any. A service that cannot choose answers any other
        /// with [`Ended::Unavailable`].
        local: Option<Participant>,
        /// The first credit upward.
        credit: Credit,
    },
    /// Sends a batch, within the credit, which it uses up as [`Transfer::cost`] says. A single
    /// message that the path takes and that is longer than all of the credit may be sent where
    /// nothing is on its way: it uses up all octets of the credit.
    Send {
        /// The association.
        association: Handle,
        /// What is sent. Regions of files only where the facts say that they are sent.
        batch: Batch<T::Message>,
        /// Its properties. A number is that of the first message; each other has the next.
        properties: T::Properties,
    },
    /// Gives more credit upward: this much was consumed, or there is room for it. Never zero.
    Credit {
        /// The association.
        association: Handle,
        /// How much more.
        credit: Credit,
    },
    /// Orders what this service alone knows. Nothing answers it but what its meaning says.
    Tell {
        /// The association.
        association: Handle,
        /// The order; there is none for messages and octets.
        order: T::Order,
    },
    /// Commands a layer below. Answered by `Controlled`, in the order of the commands.
    Control {
        /// The association.
        association: Handle,
        /// What is to be done.
        command: Command,
    },
    /// Half close: nothing more will be sent. What was sent is delivered; then the peer is told
    /// `Finished`. A service without half close does nothing.
    Finish {
        /// The association.
        association: Handle,
    },
    /// Ends an association at once. Where that can be said, the peer is told [`Ended::Reset`] with
    /// the code, or [`Ended::Refused`] while it was not open. Answered by `Ended`.
    Abort {
        /// The association.
        association: Handle,
        /// The reason, in a number that both applications know; 0 says nothing.
        code: Code,
    },
    /// Ends a name in good order; answered by `Ended`. Of an association, both halves end: what was
    /// sent is delivered, and what still arrives is discarded. Then it is [`Ended::Finished`], or
    /// [`Ended::Expired`] where the peer does not come to its end in time. Only `Abort` may follow.
    /// A name that waits for its arrival, or is not open, ends at once, as `Finished`. With a
    /// listener, the names that still wait for its arrivals end.
    Close {
        /// The name of a listener, or of an association.
        name: Handle,
    },
}

/// What a service with associations tells.
#[derive(Debug)]
pub enum AssociationIndication<T: Transfer> {
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
        /// The own address.
        local: Participant,
        /// The peer's address.
        remote: Participant,
        /// The first credit downward.
        credit: Credit,
        /// What the path below takes.
        path: PathLimits,
    },
    /// Tells that the limits of the path have changed.
    Changed {
        /// The association.
        association: Handle,
        /// What the path below takes from now on.
        path: PathLimits,
    },
    /// Delivers a batch, within the credit that was given.
    Delivered {
        /// The association.
        association: Handle,
        /// What arrived. Regions of files only after [`Command::Unread`].
        batch: Batch<T::Message>,
        /// What came with it; the default where the layer carries none. A number is that of the
        /// first message; each other has the next.
        properties: T::Properties,
    },
    /// Gives more credit downward: this much is no longer on its way, or the layer below takes more
    /// at once, but not while nothing is on its way. Never zero.
    Credit {
        /// The association.
        association: Handle,
        /// How much more.
        credit: Credit,
    },
    /// Tells what this service alone knows. Needs no credit.
    Told {
        /// The association.
        association: Handle,
        /// The notice; there is none of messages and octets.
        notice: T::Notice,
    },
    /// Answers `Control`.
    Controlled {
        /// The association.
        association: Handle,
        /// What the command says it returns, or why it was not done.
        outcome: Result<u32, CommandError>,
    },
    /// A router or a host on the path reports trouble with something that was sent. Not every layer
    /// tells it; whoever is told passes it upward or drops it.
    Reported {
        /// The association.
        association: Handle,
        /// Who reports it, as the layer that tells it names hosts.
        by: Participant,
        /// What it is.
        what: Trouble,
        /// The first octets of the message that met it, as the layer above had sent it: who cannot
        /// know them forged the report (RFC 5927 §4).
        quoted: [u8; 8],
    },
    /// The end of what the peer sends has arrived, though octets may wait for credit before it:
    /// `Finished` or `Ended` follows them. Of all associations of a layer, ends are told in the
    /// order in which they arrived, so a layer above knows which of two came first. Not every layer
    /// tells it.
    Ending {
        /// The association.
        association: Handle,
    },
    /// The peer's half close: nothing more will be delivered. Needs no credit.
    Finished {
        /// The association.
        association: Handle,
    },
    /// The last word on any name, listeners too. Comes exactly once, however it ended.
    Ended {
        /// The name that ends.
        name: Handle,
        /// Why.
        why: Ended,
    },
}

impl<T: Transfer> AssociationIndication<T> {
    /// Returns the name that it is about.
    pub fn name(&self) -> Handle {
        match self {
            Self::Listening { listener: name, .. }
            | Self::Opened { association: name, .. }
            | Self::Changed { association: name, .. }
            | Self::Reported { association: name, .. }
            | Self::Controlled { association: name, .. }
            | Self::Delivered { association: name, .. }
            | Self::Told { association: name, .. }
            | Self::Credit { association: name, .. }
            | Self::Ending { association: name }
            | Self::Finished { association: name }
            | Self::Ended { name, .. } => *name,
        }
    }
}

impl<T: Transfer> AssociationIndication<T> {
    /// Returns the answer of a layer that knows no command and has none below it.
    pub const fn unknown_command(association: Handle) -> Self {
        Self::Controlled { association, outcome: Err(CommandError::Unknown) }
    }
}

impl<T: Transfer> Service for T {
    const NAME: &'static str = T::SERVICE;
    type Request = AssociationRequest<T>;
    type Indication = AssociationIndication<T>;
    type Name = Handle;

    #[inline(always)]
    fn requests_several(request: &AssociationRequest<T>) -> bool {
        T::MESSAGES
            && matches!(request, AssociationRequest::Send { batch, .. } if batch.segment_size().is_some())
    }

    #[inline(always)]
    fn indicates_several(indication: &AssociationIndication<T>) -> bool {
        T::MESSAGES
            && matches!(indication, AssociationIndication::Delivered { batch, .. } if batch.segment_size().is_some())
    }

    fn split_request(several: &mut AssociationRequest<T>) -> Option<AssociationRequest<T>> {
        let AssociationRequest::Send { association, batch, properties } = several else {
            return None;
        };
        let (association, batch) = (*association, batch.split_first()?.into());
        let first = AssociationRequest::Send { association, batch, properties: *properties };
        *properties = T::of_next(*properties);
        Some(first)
    }

    fn split_indication(
        several: &mut AssociationIndication<T>,
    ) -> Option<AssociationIndication<T>> {
        let AssociationIndication::Delivered { association, batch, properties } = several else {
            return None;
        };
        let (association, batch) = (*association, batch.split_first()?.into());
        let first =
            AssociationIndication::Delivered { association, batch, properties: *properties };
        *properties = T::of_next(*properties);
        Some(first)
    }

    fn refund_request(dropped: &AssociationRequest<T>) -> [Option<AssociationIndication<T>>; 2] {
        let AssociationRequest::Send { association, batch, .. } = dropped else {
            return [None, None];
        };
        let (association, credit) = (*association, T::cost(batch));
        [
            (credit != Credit::NONE)
                .then_some(AssociationIndication::Credit { association, credit }),
            None,
        ]
    }

    fn refund_indication(dropped: &AssociationIndication<T>) -> Option<AssociationRequest<T>> {
        let AssociationIndication::Delivered { association, batch, .. } = dropped else {
            return None;
        };
        let (association, credit) = (*association, T::cost(batch));
        (credit != Credit::NONE).then_some(AssociationRequest::Credit { association, credit })
    }

    fn unreachable(name: Handle) -> Option<AssociationIndication<T>> {
        Some(AssociationIndication::Ended { name, why: Ended::Unreachable })
    }
}

impl<T: Transfer> Word for AssociationRequest<T> {
    type Message = T::Message;

    fn primitive(&self) -> &'static str {
        match self {
            Self::Listen { .. } => "Listen",
            Self::Await { .. } => "Await",
            Self::Open { .. } => "Open",
            Self::Send { .. } => "Send",
            Self::Credit { .. } => "Credit",
            Self::Tell { .. } => "Tell",
            Self::Control { .. } => "Control",
            Self::Finish { .. } => "Finish",
            Self::Abort { .. } => "Abort",
            Self::Close { .. } => "Close",
        }
    }

    fn life(&self) -> Life {
        match self {
            Self::Listen { .. } | Self::Await { .. } | Self::Open { .. } => Life::Begins,
            _ => Life::Continues,
        }
    }

    fn name_mut(&mut self) -> Option<&mut Handle> {
        match self {
            Self::Listen { listener: name, .. }
            | Self::Await { association: name, .. }
            | Self::Open { association: name, .. }
            | Self::Send { association: name, .. }
            | Self::Credit { association: name, .. }
            | Self::Tell { association: name, .. }
            | Self::Control { association: name, .. }
            | Self::Finish { association: name }
            | Self::Abort { association: name, .. }
            | Self::Close { name } => Some(name),
        }
    }

    fn listener_mut(&mut self) -> Option<&mut Handle> {
        if let Self::Await { listener, .. } = self { Some(listener) } else { None }
    }

    fn participants_mut(&mut self) -> [Option<&mut Participant>; 2] {
        match self {
            Self::Listen { local, .. } => [Some(local), None],
            Self::Open { local, remote, .. } => [local.as_mut(), Some(remote)],
            _ => [None, None],
        }
    }

    fn message(&self) -> Option<&T::Message> {
        if let Self::Send { batch, .. } = self { Some(batch.as_octets()) } else { None }
    }

    fn messages(&self) -> usize {
        if let Self::Send { batch, .. } = self { batch.count() } else { 0 }
    }

    fn batch_mut(&mut self) -> Option<&mut Batch<T::Message>> {
        if let Self::Send { batch, .. } = self { Some(batch) } else { None }
    }
}

impl<T: Transfer> Word for AssociationIndication<T> {
    type Message = T::Message;

    fn primitive(&self) -> &'static str {
        match self {
            Self::Listening { .. } => "Listening",
            Self::Opened { .. } => "Opened",
            Self::Changed { .. } => "Changed",
            Self::Reported { .. } => "Reported",
            Self::Delivered { .. } => "Delivered",
            Self::Credit { .. } => "Credit",
            Self::Told { .. } => "Told",
            Self::Controlled { .. } => "Controlled",
            Self::Ending { .. } => "Ending",
            Self::Finished { .. } => "Finished",
            Self::Ended { .. } => "Ended",
        }
    }

    fn life(&self) -> Life {
        if matches!(self, Self::Ended { .. }) { Life::Ends } else { Life::Continues }
    }

    fn name_mut(&mut self) -> Option<&mut Handle> {
        match self {
            Self::Listening { listener: name, .. }
            | Self::Opened { association: name, .. }
            | Self::Changed { association: name, .. }
            | Self::Reported { association: name, .. }
            | Self::Controlled { association: name, .. }
            | Self::Delivered { association: name, .. }
            | Self::Told { association: name, .. }
            | Self::Credit { association: name, .. }
            | Self::Ending { association: name }
            | Self::Finished { association: name }
            | Self::Ended { name, .. } => Some(name),
        }
    }

    fn participants_mut(&mut self) -> [Option<&mut Participant>; 2] {
        match self {
            Self::Listening { local, .. } => [Some(local), None],
            Self::Opened { local, remote, .. } => [Some(local), Some(remote)],
            Self::Reported { by, .. } => [Some(by), None],
            _ => [None, None],
        }
    }

    fn message(&self) -> Option<&T::Message> {
        if let Self::Delivered { batch, .. } = self { Some(batch.as_octets()) } else { None }
    }

    fn messages(&self) -> usize {
        if let Self::Delivered { batch, .. } = self { batch.count() } else { 0 }
    }

    fn batch_mut(&mut self) -> Option<&mut Batch<T::Message>> {
        if let Self::Delivered { batch, .. } = self { Some(batch) } else { None }
    }
}
