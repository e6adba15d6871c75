//! What a service with associations carries: messages or octets.

use core::convert::Infallible;
use core::fmt::Debug;
use core::marker::PhantomData;

use stackwright_wire::Message;

use super::{Batch, Credit, MessageProperties};

/// What the words of a service with associations carry, and what it costs. Every type that
/// implements it is a [`Service`](crate::Service), with the words
/// [`AssociationRequest`](super::AssociationRequest) and
/// [`AssociationIndication`](super::AssociationIndication).
pub trait Transfer: Sized + 'static {
    /// The service's name in messages for people.
    const SERVICE: &'static str;
    /// Whether message boundaries are kept.
    const MESSAGES: bool;
    /// What is carried.
    type Message: Message;
    /// What is said of a batch, in both directions.
    type Properties: Copy + Default + PartialEq + Debug + Send;
    /// What is [ordered](super::AssociationRequest::Tell) beside messages; [`Infallible`]: nothing.
    type Order: Send + 'static;
    /// What is [told](super::AssociationIndication::Told) beside messages; [`Infallible`]: nothing.
    type Notice: Send + 'static;

    /// Returns the credit that a batch uses up.
    fn cost(batch: &Batch<Self::Message>) -> Credit;

    /// Returns the properties of the next message of a batch.
    #[inline]
    #[must_use]
    fn of_next(properties: Self::Properties) -> Self::Properties {
        properties
    }
}

/// What is said of a batch of `T`.
pub type PropertiesOf<T> = <T as Transfer>::Properties;

/// Messages that keep their boundaries: UDP, IP, unnumbered frames. What else is promised, the
/// [facts](crate::Facts) say.
#[derive(Debug)]
pub struct Datagrams<M>(PhantomData<M>);

impl<M: Message> Transfer for Datagrams<M> {
    const SERVICE: &'static str = "Datagrams";
    const MESSAGES: bool = true;
    type Message = M;
    type Properties = MessageProperties;
    type Order = Infallible;
    type Notice = Infallible;

    #[inline]
    fn cost(batch: &Batch<M>) -> Credit {
        batch.cost()
    }

    #[inline]
    fn of_next(properties: MessageProperties) -> MessageProperties {
        properties.of_next()
    }
}

/// Octets in order, in both directions, each with an end of its own: what TCP offers, without its
/// sockets. A batch is octets, however they are cut; it uses up credit for octets only.
#[derive(Debug)]
pub struct Streams<M>(PhantomData<M>);

impl<M: Message> Transfer for Streams<M> {
    const SERVICE: &'static str = "Streams";
    const MESSAGES: bool = false;
    type Message = M;
    type Properties = StreamProperties;
    type Order = Infallible;
    type Notice = Infallible;

    #[inline]
    fn cost(batch: &Batch<M>) -> Credit {
        Credit::of_octets(batch.octets())
    }
}

/// Expedited octets are the most urgent there are.
impl From<StreamProperties> for MessageProperties {
    #[inline]
    fn from(properties: StreamProperties) -> Self {
        let usual = MessageProperties::default();
        let priority = if properties.expedited { Self::EXPEDITED } else { usual.priority };
        MessageProperties { priority, ..usual }
    }
}

/// Nothing else that is said of a message holds for octets.
impl From<MessageProperties> for StreamProperties {
    #[inline]
    fn from(properties: MessageProperties) -> Self {
        StreamProperties { expedited: properties.priority == MessageProperties::EXPEDITED }
    }
}

/// What is said of octets of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StreamProperties {
    /// The last octet is expedited (TCP's urgent pointer, RFC 9293 §3.8.5). Only where the facts
    /// promise it; a layer below that does not carry it keeps the octet in order.
    pub expedited: bool,
}
