//! What is numbered.

use core::num::NonZeroU32;
use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_contract::services::MessageKind;
use stackwright_wire::Message;

/// What a sequence number counts: a fact of the format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbering {
    /// Each octet has one.
    Octets,
    /// Each packet has one.
    Packets,
}

/// Where a unit stands in its message. Framing writes and reads it; a format carries what it has
/// fields for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Label {
    /// Of which message.
    pub message: u32,
    /// Which piece of it, from 0.
    pub index: u32,
    /// Of how many.
    pub count: u32,
    /// Nothing of this message follows.
    pub last: bool,
    /// Data, or what applications tell each other about it.
    pub kind: MessageKind,
    /// The smaller, the more urgent.
    pub priority: u8,
    /// A message in one piece, before which the framing has put nothing: for a format that says so.
    pub bare: bool,
}

/// A unit as far as what stands before its octets tells.
// Looked at where it lies: a unit that was just made is not read back to be copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cargo<'a> {
    /// Its numbers.
    pub span: &'a Range<u64>,
    /// Where it stands in its message.
    pub label: &'a Label,
    /// How many octets it has.
    pub octets: usize,
}

/// The smallest thing that is numbered, sent, acknowledged and sent again.
#[derive(Debug)]
pub struct Unit<M> {
    /// Its numbers: octets or packets, as the format counts. Internally they have 64 bits and do
    /// not wrap.
    pub span: Range<u64>,
    /// Where it stands in its message.
    pub label: Label,
    /// Its octets.
    pub body: M,
    /// When its message was sent, or when it arrived.
    pub since: Instant,
    /// For how long it is of use from then on, in microseconds.
    pub lifetime: Option<NonZeroU32>,
}

impl<M: Message> Unit<M> {
    /// Splits it, as one packet that arrived.
    #[inline]
    pub fn into_parts(self) -> (UnitHeader, M) {
        let Unit { span, label, body, since, lifetime } = self;
        (UnitHeader { span, count: 1, piece: body.len(), label, since, lifetime }, body)
    }
}

/// What is known of the octets of a unit that arrived, or of several that arrived together, have
/// consecutive numbers, and are pieces of one message, or whole messages of equal length and
/// consecutive numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitHeader {
    /// As [`Unit::span`], of all.
    pub span: Range<u64>,
    /// How many packets they came in. Where there are several, each has one number.
    pub count: u32,
    /// How many octets each packet has, but the last of a message, which may have fewer.
    pub piece: usize,
    /// Where the first stands in its message.
    pub label: Label,
    /// When they arrived.
    pub since: Instant,
    /// As [`Unit::lifetime`].
    pub lifetime: Option<NonZeroU32>,
}

impl UnitHeader {
    /// Returns how many numbers there are.
    #[inline]
    pub fn numbers(&self) -> u64 {
        self.span.end - self.span.start
    }

    /// Returns whether these are all pieces of a message, or of several.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.count >= self.label.count
    }

    /// Returns of how many messages they are.
    #[inline]
    pub fn messages(&self) -> usize {
        // Nearly always, there is nothing to divide.
        if self.count == 1 { 1 } else { (self.count / self.label.count.max(1)).max(1) as usize }
    }

    /// Splits several packets: into messages where there are several, else into pieces.
    pub fn split<M: Message>(mut self, mut body: M) -> impl Iterator<Item = (UnitHeader, M)> {
        let messages = self.messages();
        let (packets, octets) = match messages {
            1 => (1, self.piece),
            _ => (self.label.count, body.len() / messages),
        };
        (0..self.count / packets).map(move |_| {
            let (start, label) = (self.span.start, self.label);
            self.span.start += u64::from(packets);
            if messages > 1 {
                self.label.message = label.message.wrapping_add(1);
            } else {
                self.label.index += 1;
                self.label.last = self.label.index + 1 == label.count;
            }
            let body = body.split_to(octets.min(body.len()));
            (UnitHeader { span: start..self.span.start, count: packets, label, ..self }, body)
        })
    }
}
