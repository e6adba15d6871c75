//! Messages with bounds.

use core::marker::PhantomData;
use core::num::NonZeroU32;

use stackwright_wire::Message;

use super::{Batch, Ended};
use crate::{Handle, Participant, Service};

/// Messages that keep their bounds: UDP, IP, unnumbered frames. What else is promised, the facts say.
pub struct Datagrams<M>(PhantomData<M>);

impl<M: Message> Service for Datagrams<M> {
    const NAME: &'static str = "Datagrams";
    type Request = DatagramsRequest<M>;
    type Indication = DatagramsIndication<M>;
    type Name = Handle;

    #[inline(always)]
    fn requests_several(request: &DatagramsRequest<M>) -> bool {
        matches!(request, DatagramsRequest::Send { messages, .. } if messages.segment_size().is_some())
    }

    #[inline(always)]
    fn indicates_several(indication: &DatagramsIndication<M>) -> bool {
        matches!(indication, DatagramsIndication::Delivered { messages, .. } if messages.segment_size().is_some())
    }

    fn split_request(several: &mut DatagramsRequest<M>) -> Option<DatagramsRequest<M>> {
        let DatagramsRequest::Send { association, messages, quality } = several else { return None };
        let (association, messages) = (*association, messages.split_first()?.into());
        let first = DatagramsRequest::Send { association, messages, quality: *quality };
        *quality = quality.of_next();
        Some(first)
    }

    fn split_indication(several: &mut DatagramsIndication<M>) -> Option<DatagramsIndication<M>> {
        let DatagramsIndication::Delivered { association, messages, quality } = several else { return None };
        let (association, messages) = (*association, messages.split_first()?.into());
        let first = DatagramsIndication::Delivered { association, messages, quality: *quality };
        *quality = quality.of_next();
        Some(first)
    }
}

/// Credit for messages: so many octets in at most so many messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Room {
    /// In octets of payload.
    pub octets: usize,
    /// In messages.
    pub messages: usize,
}

/// What is wished of one message, and what came with one. A layer that cannot carry a wish lets it go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quality {
    /// For how long it is of use, from when it is sent, in microseconds (at most 71 minutes); `None`: for ever.
    pub lifetime: Option<NonZeroU32>,
    /// The application's own number of it (ARTP's DSEQ); `None`: the layer counts. Where nothing
    /// expires, a number may be used again at any time: a message that is sent in several pieces waits, and others overtake it, until
    /// all pieces of the one before with its number have arrived. Of one that expired in part, the peer holds what it has for 30 s and
    /// as long as it would have been of use: until then, another in several pieces with its number is taken for the same.
    pub number: Option<u32>,
    /// The smaller, the more urgent, as XTP's sort is: 0 is the most urgent, 128 where nothing is wished.
    pub priority: u8,
    /// Data, or what applications tell each other about data.
    pub kind: MessageKind,
    /// Whether the network may say on it that too much is sent, and whether it did.
    pub ecn: Ecn,
}

impl Default for Quality {
    fn default() -> Self {
        Quality { lifetime: None, number: None, priority: 128, kind: MessageKind::Data, ecn: Ecn::NotEct }
    }
}

impl Quality {
    /// Returns the properties of the next message of a batch: the same, with the next number.
    #[inline]
    #[must_use]
    pub fn of_next(self) -> Self {
        Quality { number: self.number.map(|number| number.wrapping_add(1)), ..self }
    }
}

/// Explicit congestion notification (RFC 3168 §5): what a packet says of congestion, for who sends it, for routers, and for who
/// receives it. Only layers that answer for the rate at which they send have a use for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ecn {
    /// Not-ECT: where there is congestion, routers have nothing but to drop it.
    #[default]
    NotEct,
    /// ECT: who sent it hears of marks and heeds them, so that a router may mark it where it would drop it. Both codepoints of RFC
    /// 3168 read so; ECT(0) is written, since ECT(1) asks for another kind of router (RFC 9331).
    Ect,
    /// CE: a router met congestion and marked it.
    Ce,
}

/// What a message is to the applications. Layers carry both alike, unless their specification tells them apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MessageKind {
    /// What they exchange.
    #[default]
    Data,
    /// What they tell each other about it.
    Control,
}

/// What may be asked of a datagram service.
#[derive(Debug)]
pub enum DatagramsRequest<M> {
    /// Answered by `Listening` with the true local address, or `Ended`.
    Listen {
        /// The listener's name.
        listener: Handle,
        /// Where.
        local: Participant,
    },
    /// Room for one arrival under this name. Answered by `Opened` or `Ended`, as `Open` is.
    Await {
        /// Whose arrivals.
        listener: Handle,
        /// The arrival's name.
        association: Handle,
        /// First room upward.
        room: Room,
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
        /// First room upward.
        room: Room,
    },
    /// Sends within the room, which it uses up in octets and in messages.
    Send {
        /// On what.
        association: Handle,
        /// The payloads.
        messages: Batch<M>,
        /// What is wished of each; the number is that of the first, and each has the one after that of the message before it.
        quality: Quality,
    },
    /// The upper has consumed this much, or has room for so much more. Never zero.
    Receive {
        /// On what.
        association: Handle,
        /// How much more.
        room: Room,
    },
    /// Ends the association; answered by `Ended`.
    Close {
        /// What.
        association: Handle,
    },
}

/// What a datagram service tells.
#[derive(Debug)]
pub enum DatagramsIndication<M> {
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
        /// First room downward.
        room: Room,
    },
    /// So much more may be sent. Never zero.
    Room {
        /// On what.
        association: Handle,
        /// How much more.
        room: Room,
    },
    /// Messages, within the room that was given.
    Delivered {
        /// On what.
        association: Handle,
        /// The payloads.
        messages: Batch<M>,
        /// What came with each; the number is that of the first, and each has the one after that of the message before it. The
        /// default where the layer does not carry it.
        quality: Quality,
    },
    /// The last word on any name, listeners too.
    Ended {
        /// Whose last word.
        name: Handle,
        /// Why.
        why: Ended,
    },
}
