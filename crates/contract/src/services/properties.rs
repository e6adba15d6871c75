//! The properties of a message: requested on its way down, received with it on its way up.

use core::num::NonZeroU32;

/// The properties requested of a message, and those that came with one. A layer that cannot carry a
/// property drops it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageProperties {
    /// How long it is of use after it is sent, in microseconds (at most 71 minutes); with one that
    /// is delivered, for how much longer it is, at least 1. `None`: for ever.
    pub lifetime: Option<NonZeroU32>,
    /// The application's own number of it (ARTP's DSEQ); `None`: the layer counts.
    ///
    /// Where nothing expires, a number may be used again at any time: a message that is sent in
    /// several pieces waits, and others overtake it, until all pieces of the one before with its
    /// number have arrived. Of one that expired in part, the peer holds what it has for 30 s and as
    /// long as it would have been of use: until then, another in several pieces with its number is
    /// taken for the same.
    pub number: Option<u32>,
    /// The smaller, the more urgent, as XTP's sort is: 0 is the most urgent, 128 the default.
    pub priority: u8,
    /// Whether it is data, or what applications tell each other about data.
    pub kind: MessageKind,
    /// Whether the network may mark congestion on it, and whether it did.
    pub ecn: Ecn,
    /// Whether it goes back. Downward, it came from there and nobody here awaits it: a layer that
    /// can say so tells its sender, and does not send it. Upward, it was sent on this association,
    /// and cannot arrive.
    pub returned: bool,
}

impl Default for MessageProperties {
    fn default() -> Self {
        MessageProperties {
            lifetime: None,
            number: None,
            priority: 128,
            kind: MessageKind::Data,
            ecn: Ecn::NotEct,
            returned: false,
        }
    }
}

impl MessageProperties {
    /// The priority of what is the most urgent: the expedited octets of a stream.
    pub const EXPEDITED: u8 = 0;

    /// Returns the properties of the next message of a batch: the same, with the next number.
    #[inline]
    #[must_use]
    pub fn of_next(self) -> Self {
        MessageProperties { number: self.number.map(|number| number.wrapping_add(1)), ..self }
    }
}

/// Explicit congestion notification (RFC 3168 §5): what a packet says of congestion to its sender,
/// to routers and to its receiver. Only layers that control the rate at which they send use it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ecn {
    /// Not-ECT: where there is congestion, routers drop it.
    #[default]
    NotEct,
    /// ECT: its sender is told of marks and responds to them, so that a router may mark it instead
    /// of dropping it. This is ECT(0): ECT(1) asks for another kind of router (RFC 9331).
    Ect,
    /// CE: a router met congestion and marked it.
    Ce,
}

impl Ecn {
    /// Returns the two bits of the codepoint.
    pub fn bits(self) -> u8 {
        match self {
            Ecn::NotEct => 0b00,
            Ecn::Ect => 0b10,
            Ecn::Ce => 0b11,
        }
    }

    /// Returns the codepoint of the last two bits of a traffic class. ECT(1) is none that a sender
    /// here writes: a path that turns ECT(0) into it does not pass ECN (RFC 9000 §13.4.2.1).
    pub fn of_bits(class: u8) -> Self {
        match class & 0b11 {
            0b10 => Ecn::Ect,
            0b11 => Ecn::Ce,
            _ => Ecn::NotEct,
        }
    }
}

/// What a message is to the applications. Layers carry both alike, unless their specification tells
/// them apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MessageKind {
    /// The payload that they exchange.
    #[default]
    Data,
    /// What they tell each other about it.
    Control,
}
