//! What an endpoint can offer: datagrams or streams.

use stackwright_contract::Service;
use stackwright_contract::services::{
    AssociationIndication, AssociationRequest, Batch, Datagrams, MessageProperties,
    StreamProperties, Streams, Transfer,
};
use stackwright_wire::Message;

use crate::send_buffer::SendBuffer;

/// A service that an endpoint can offer to an application. [`Datagrams`] and [`Streams`] are, and
/// nothing else is.
///
/// ```
/// use stackwright_contract::services::{Datagrams, Streams};
/// use stackwright_endpoint::Offered;
/// use stackwright_wire::BufferTree;
/// fn is_offered<V: Offered>() {}
/// is_offered::<Datagrams<BufferTree>>();
/// is_offered::<Streams<BufferTree>>();
/// ```
pub trait Offered: OfferedProperties {}

impl<M: Message> Offered for Datagrams<M> {}
impl<M: Message> Offered for Streams<M> {}

/// How the properties of a service look to an application, which sees those of messages only. Not
/// nameable from outside.
pub trait OfferedProperties:
    Transfer<Notice = core::convert::Infallible>
    + Service<
        Request = AssociationRequest<Self>,
        Indication = AssociationIndication<Self>,
        Name = stackwright_contract::Handle,
    >
{
    fn said(properties: MessageProperties) -> Self::Properties;
    fn told(properties: Self::Properties) -> MessageProperties;
}

impl<M: Message> OfferedProperties for Datagrams<M> {
    #[inline]
    fn said(properties: MessageProperties) -> MessageProperties {
        properties
    }

    #[inline]
    fn told(properties: MessageProperties) -> MessageProperties {
        properties
    }
}

impl<M: Message> OfferedProperties for Streams<M> {
    #[inline]
    fn said(_octets_have_none: MessageProperties) -> StreamProperties {
        StreamProperties::default()
    }

    #[inline]
    fn told(_: StreamProperties) -> MessageProperties {
        MessageProperties::default()
    }
}

/// What an application sends at once: a message, or several of equal length. It cannot be named
/// outside.
#[allow(unreachable_pub, reason = "without tokio no public call is bounded by it")]
pub trait Outbound<M>: Into<Batch<M>> {
    fn size(&self) -> Size;
}

/// The size of an [`Outbound`]: all its octets, those of its longest message, and the number of
/// messages.
#[derive(Clone, Copy)]
#[allow(unreachable_pub, reason = "as `Outbound`, which returns it")]
pub struct Size {
    pub octets: usize,
    pub longest: usize,
    pub messages: usize,
}

impl Size {
    /// Of one message.
    pub(crate) fn one(octets: usize) -> Self {
        Size { octets, longest: octets, messages: 1 }
    }
}

impl<M: Message> Outbound<M> for M {
    #[inline]
    fn size(&self) -> Size {
        Size::one(self.len())
    }
}

impl<M: Message> Outbound<M> for SendBuffer<M> {
    #[inline]
    fn size(&self) -> Size {
        let (octets, len) = (self.written(), self.len());
        // Where nothing was written, that is a message too.
        Size { octets, longest: octets.min(len), messages: octets.div_ceil(len.max(1)).max(1) }
    }
}
