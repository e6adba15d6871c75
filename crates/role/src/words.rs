//! What an application asks of a role, and is told.

use core::marker::PhantomData;

use stackwright_contract::services::{Credit, Ended};
use stackwright_contract::words::Speaks;
use stackwright_contract::{Handle, Participant, PathLimits, Service};
use stackwright_wire::Message;

/// The service of a role: associations, and its own words. `I` are what it is told, `O` what it
/// tells.
pub struct Speaking<I, O>(PhantomData<(I, O)>);

/// What may be asked of a role.
#[derive(Debug)]
pub enum RoleRequest<I> {
    /// Listens. Answered by `Listening`, or by `Ended`.
    Listen {
        /// The listener's name.
        listener: Handle,
        /// The address; port 0 asks for any.
        local: Participant,
    },
    /// Gives a name to one arrival. Answered by `Opened` or `Ended`.
    Await {
        /// The listener whose arrival is awaited.
        listener: Handle,
        /// The arrival's name.
        association: Handle,
        /// How much may arrive before it is heard.
        credit: Credit,
    },
    /// Opens an association. Answered by `Opened` or `Ended`.
    Open {
        /// The association's name.
        association: Handle,
        /// The peer.
        remote: Participant,
        /// The own address and port; `None`: any.
        local: Option<Participant>,
        /// How much may arrive before it is heard.
        credit: Credit,
    },
    /// Tells the role something; what it does not hear yet is held.
    Tell {
        /// The association.
        association: Handle,
        /// What it is told.
        input: I,
    },
    /// Ends a name in good order, whatever the role does. Answered by `Ended`.
    Close {
        /// The name of a listener, or of an association.
        name: Handle,
    },
    /// Ends an association at once: what has not arrived is lost, and the peer is told. Answered by
    /// `Ended`.
    Abort {
        /// The association.
        association: Handle,
    },
}

/// What a role tells.
#[derive(Debug)]
pub enum RoleIndication<O> {
    /// Answers `Listen`.
    Listening {
        /// The listener's name.
        listener: Handle,
        /// The true local address.
        local: Participant,
    },
    /// Answers `Open` and `Await`. The role begins.
    Opened {
        /// The association's name.
        association: Handle,
        /// The own address.
        local: Participant,
        /// The peer's address.
        remote: Participant,
        /// What the layer below takes at once.
        credit: Credit,
        /// What the path below takes.
        path: PathLimits,
    },
    /// The limits of the path have changed.
    Changed {
        /// The association.
        association: Handle,
        /// What the path below takes from now on.
        path: PathLimits,
    },
    /// An output of the role.
    Told {
        /// The association.
        association: Handle,
        /// What it tells.
        output: O,
    },
    /// The last word on any name: the role is over, or the association is.
    Ended {
        /// The name that ends.
        name: Handle,
        /// Why.
        why: Ended,
    },
}

impl<I, O> Service for Speaking<I, O> {
    const NAME: &'static str = "the words of a role";
    type Request = RoleRequest<I>;
    type Indication = RoleIndication<O>;
    type Name = Handle;

    fn unreachable(name: Handle) -> Option<RoleIndication<O>> {
        Some(RoleIndication::Ended { name, why: Ended::Unreachable })
    }
}

impl<M: Message, B: Service, I: 'static, O: 'static> Speaks<M, B> for Speaking<I, O> {}
