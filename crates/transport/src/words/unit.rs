//! Units: what is numbered.

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

/// The position of a unit in its message. Framing writes and reads it; a format carries what it has
/// fields for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Label {
    /// The number of the message.
    pub message: u32,
    /// The index of the piece, from 0.
    pub index: u32,
    /// The number of its pieces.
    pub count: u32,
    /// Whether nothing of this message follows.
    pub last: bool,
    /// The kind: data, or what applications tell each other about it.
    pub kind: MessageKind,
    /// The priority: the smaller, the more urgent.
    pub priority: u8,
    /// What there is of it.
    pub form: PieceForm,
}

impl Label {
    /// Returns whether it was [abandoned](PieceForm::Abandoned).
    #[inline]
    pub fn is_abandoned(&self) -> bool {
        self.form == PieceForm::Abandoned
    }
}

/// What there is of a piece of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PieceForm {
    /// Its octets, behind a framing header.
    #[default]
    Framed,
    /// A message in one piece without a framing header: for a format that says so.
    Bare,
    /// Nothing: it was abandoned, and will not come (RFC 3758 §3.2 has a chunk for that). For a
    /// format that carries it.
    Abandoned,
}

/// A unit as far as the header of its octets tells.
// It borrows: a unit that was just made is not read back to be copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cargo<'a> {
    /// Its numbers.
    pub span: &'a Range<u64>,
    /// Its position in its message.
    pub label: &'a Label,
    /// Its octets.
    pub octets: usize,
}

/// The smallest thing that is numbered, sent, acknowledged and sent again.
#[derive(Debug)]
pub struct Unit<M> {
    /// Its numbers: octets or packets, as the format counts. Internally they have 64 bits and do
    /// not wrap.
    pub span: Range<u64>,
    /// Its position in its message.
    pub label: Label,
    /// Its octets.
    pub body: M,
    /// When its message was sent, or when it arrived.
    pub since: Instant,
    /// How long it is of use from then on, in microseconds.
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

/// The metadata of a unit that arrived, or of several that arrived together, have consecutive
/// numbers, and are pieces of one message, or whole messages of equal length and consecutive
/// numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitHeader {
    /// Their numbers, as [`Unit::span`].
    pub span: Range<u64>,
    /// The number of packets. If there are several, each has one number.
    pub count: u32,
    /// The octets of each packet, but the last of a message, which may have fewer.
    pub piece: usize,
    /// The position of the first in its message.
    pub label: Label,
    /// When they arrived.
    pub since: Instant,
    /// The lifetime, as [`Unit::lifetime`].
    pub lifetime: Option<NonZeroU32>,
}

impl UnitHeader {
    /// Returns the count of numbers.
    #[inline]
    pub fn numbers(&self) -> u64 {
        self.span.end - self.span.start
    }

    /// Returns whether these are all pieces of a message, or of several.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.count >= self.label.count
    }

    /// Returns the number of messages that they belong to.
    #[inline]
    pub fn messages(&self) -> usize {
        // The usual case, without a division.
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
