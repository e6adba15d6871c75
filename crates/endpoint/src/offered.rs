//! What an endpoint can offer: datagrams or streams, in one set of words.

use stackwright_contract::services::{
    Batch, Datagrams, DatagramsIndication, DatagramsRequest, Ended, Quality, Room, Streams,
    StreamsIndication, StreamsRequest,
};
use stackwright_contract::{Handle, Participant, Service};
use stackwright_wire::Message;

use crate::send_buffer::SendBuffer;

/// A service that an endpoint can offer to an application. [`Datagrams`] and [`Streams`] are, and nothing else is.
///
/// ```
/// use stackwright_contract::services::{Datagrams, Streams};
/// use stackwright_endpoint::Offered;
/// use stackwright_wire::BufferTree;
/// fn is_offered<V: Offered>() {}
/// is_offered::<Datagrams<BufferTree>>();
/// is_offered::<Streams<BufferTree>>();
/// ```
pub trait Offered: Spoken {}

impl<M: Message> Offered for Datagrams<M> {}
impl<M: Message> Offered for Streams<M> {}

/// How such a service says what an endpoint means. Nobody outside can name it.
pub trait Spoken: Service<Name = Handle> {
    /// What it carries.
    type Message: Message;
    /// Whether our half may be over while the peer's is not.
    const HALVES: bool;

    fn listen(listener: Handle, local: Participant) -> Self::Request;
    fn expect(listener: Handle, association: Handle, room: Room) -> Self::Request;
    fn unlisten(listener: Handle) -> Self::Request;
    fn open(association: Handle, remote: Participant, room: Room) -> Self::Request;
    fn send(association: Handle, messages: Batch<Self::Message>, quality: Quality) -> Self::Request;
    fn receive(association: Handle, room: Room) -> Self::Request;
    /// Lets `last` say so much more, if it gives room to this association. Whether it does.
    fn receive_more(last: &mut Self::Request, association: Handle, room: Room) -> bool;
    /// No more is sent; what was sent still arrives, where that is promised.
    fn finish(association: Handle) -> Self::Request;
    /// Nobody cares any more.
    fn abort(association: Handle) -> Self::Request;
    fn word(indication: Self::Indication) -> Word<Self::Message>;
}

/// What an application hands over at once: a message, or several that are as long as each other. Nobody outside can name it.
pub trait Parcel<M>: Into<Batch<M>> {
    fn size(&self) -> Size;
}

/// How large a parcel is: all its octets, those of its longest message, and how many messages there
/// are.
#[derive(Clone, Copy)]
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

impl<M: Message> Parcel<M> for M {
    fn size(&self) -> Size {
        Size::one(self.len())
    }
}

impl<M: Message> Parcel<M> for SendBuffer<M> {
    fn size(&self) -> Size {
        let (octets, len) = (self.written(), self.len());
        // Where nothing was written, that is a message too.
        Size { octets, longest: octets.min(len), messages: octets.div_ceil(len.max(1)).max(1) }
    }
}

/// What a stack tells, whichever of the two it provides.
pub enum Word<M> {
    Listening { listener: Handle, local: Participant },
    Opened { association: Handle, local: Participant, remote: Participant, room: Room },
    Room { association: Handle, room: Room },
    Delivered { association: Handle, messages: Batch<M>, quality: Quality },
    Finished { association: Handle },
    Ended { name: Handle, why: Ended },
}

impl<M: Message> Spoken for Datagrams<M> {
    type Message = M;
    const HALVES: bool = false;

    fn listen(listener: Handle, local: Participant) -> DatagramsRequest<M> {
        DatagramsRequest::Listen { listener, local }
    }

    fn expect(listener: Handle, association: Handle, room: Room) -> DatagramsRequest<M> {
        DatagramsRequest::Await { listener, association, room }
    }

    fn unlisten(listener: Handle) -> DatagramsRequest<M> {
        DatagramsRequest::Unlisten { listener }
    }

    fn open(association: Handle, remote: Participant, room: Room) -> DatagramsRequest<M> {
        DatagramsRequest::Open { association, remote, room }
    }

    fn send(association: Handle, messages: Batch<M>, quality: Quality) -> DatagramsRequest<M> {
        DatagramsRequest::Send { association, messages, quality }
    }

    fn receive(association: Handle, room: Room) -> DatagramsRequest<M> {
        DatagramsRequest::Receive { association, room }
    }

    fn receive_more(last: &mut DatagramsRequest<M>, name: Handle, more: Room) -> bool {
        match last {
            DatagramsRequest::Receive { association, room } if *association == name => {
                room.octets += more.octets;
                room.messages += more.messages;
                true
            }
            _ => false,
        }
    }

    fn finish(association: Handle) -> DatagramsRequest<M> {
        DatagramsRequest::Close { association }
    }

    fn abort(association: Handle) -> DatagramsRequest<M> {
        DatagramsRequest::Close { association }
    }

    fn word(indication: DatagramsIndication<M>) -> Word<M> {
        match indication {
            DatagramsIndication::Listening { listener, local } => Word::Listening { listener, local },
            DatagramsIndication::Opened { association, local, remote, room } => {
                Word::Opened { association, local, remote, room }
            }
            DatagramsIndication::Room { association, room } => Word::Room { association, room },
            DatagramsIndication::Delivered { association, messages, quality } => {
                Word::Delivered { association, messages, quality }
            }
            DatagramsIndication::Ended { name, why } => Word::Ended { name, why },
        }
    }
}

impl<M: Message> Spoken for Streams<M> {
    type Message = M;
    const HALVES: bool = true;

    fn listen(listener: Handle, local: Participant) -> StreamsRequest<M> {
        StreamsRequest::Listen { listener, local }
    }

    fn expect(listener: Handle, association: Handle, room: Room) -> StreamsRequest<M> {
        StreamsRequest::Await { listener, association, room: room.octets }
    }

    fn unlisten(listener: Handle) -> StreamsRequest<M> {
        StreamsRequest::Unlisten { listener }
    }

    fn open(association: Handle, remote: Participant, room: Room) -> StreamsRequest<M> {
        StreamsRequest::Open { association, remote, local: None, room: room.octets }
    }

    fn send(
        association: Handle,
        messages: Batch<M>,
        _nothing_is_wished_of_octets: Quality,
    ) -> StreamsRequest<M> {
        StreamsRequest::Send { association, message: messages.into_octets(), urgent: false }
    }

    fn receive(association: Handle, room: Room) -> StreamsRequest<M> {
        StreamsRequest::Receive { association, room: room.octets }
    }

    fn receive_more(last: &mut StreamsRequest<M>, name: Handle, more: Room) -> bool {
        match last {
            StreamsRequest::Receive { association, room } if *association == name => {
                *room += more.octets;
                true
            }
            _ => false,
        }
    }

    fn finish(association: Handle) -> StreamsRequest<M> {
        StreamsRequest::Finish { association }
    }

    fn abort(association: Handle) -> StreamsRequest<M> {
        StreamsRequest::Abort { association }
    }

    fn word(indication: StreamsIndication<M>) -> Word<M> {
        match indication {
            StreamsIndication::Listening { listener, local } => Word::Listening { listener, local },
            StreamsIndication::Opened { association, local, remote, room } => {
                // Streams count octets only: there is always room for one message more.
                let room = Room { octets: room, messages: usize::MAX };
                Word::Opened { association, local, remote, room }
            }
            StreamsIndication::Room { association, room } => {
                Word::Room { association, room: Room { octets: room, messages: 1 } }
            }
            StreamsIndication::Delivered { association, message } => {
                Word::Delivered { association, messages: message.into(), quality: Quality::default() }
            }
            StreamsIndication::Finished { association } => Word::Finished { association },
            StreamsIndication::Ended { name, why } => Word::Ended { name, why },
        }
    }
}
