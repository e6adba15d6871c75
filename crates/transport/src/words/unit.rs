//! What is numbered.

use core::num::NonZeroU32;
use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_contract::services::MessageKind;
use stackwright_wire::Message;

use super::Stamp;

/// What a sequence number counts: a fact of the format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbering {
    /// Each octet has one.
    Octets,
    /// Each packet has one.
    Packets,
}

/// Where a unit stands in its message. Framing writes and reads it; a format carries what it has fields for.
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

/// What acknowledgements know of consecutive units that arrived together, perhaps not for the first
/// time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received<'a> {
    /// Their numbers.
    pub span: &'a Range<u64>,
    /// How many there are.
    pub packets: u32,
    /// Octets of the longest.
    pub longest: usize,
    /// Octets of all.
    pub octets: usize,
    /// The hole that they show.
    pub gap: Option<Range<u64>>,
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

/// The headers of a unit that says nothing else.
#[derive(Clone, Copy, Debug)]
pub struct UnitHeader {
    /// Number of the first packet.
    pub number: u64,
    /// As [`Unit::count`].
    pub count: u32,
    /// As [`Unit::piece`].
    pub piece: usize,
    /// Octets of all its packets, headers included.
    pub octets: usize,
    /// As [`Unit::label`].
    pub label: Label,
    /// When it was sent, and for how long it is of use.
    pub stamp: Stamp,
}

/// The smallest thing that is numbered, sent, acknowledged and sent again; or several that arrived
/// together, with consecutive numbers: pieces of one message, or whole messages of equal length and
/// consecutive numbers.
#[derive(Debug)]
pub struct Unit<M> {
    /// Its numbers: octets or packets, as the format counts. Internally they have 64 bits and do not wrap.
    pub span: Range<u64>,
    /// How many packets it came in. Where there are several, each has one number.
    pub count: u32,
    /// How many octets each packet has, but the last of a message, which may have fewer.
    pub piece: usize,
    /// Where the first packet stands in its message.
    pub label: Label,
    /// Its octets.
    pub body: M,
    /// When its message was sent, or when it arrived.
    pub since: Instant,
    /// For how long it is of use from then on, in microseconds.
    pub lifetime: Option<NonZeroU32>,
}

impl<M: Message> Unit<M> {
    /// Returns the unit of one packet that arrived at `since`.
    #[inline]
    pub fn new(span: Range<u64>, label: Label, body: M, since: Instant) -> Self {
        Unit { span, count: 1, piece: body.len(), label, body, since, lifetime: None }
    }

    /// Returns how many numbers it has.
    #[inline]
    pub fn numbers(&self) -> u64 {
        self.span.end - self.span.start
    }

    /// Returns whether it has all pieces of its message, or of several.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.count >= self.label.count
    }

    /// Returns how many messages it is, or is of.
    #[inline]
    pub fn messages(&self) -> u32 {
        // Nearly always, there is nothing to divide.
        if self.count == 1 { 1 } else { (self.count / self.label.count.max(1)).max(1) }
    }

    /// Takes a unit of several packets apart: into messages where it has several, else into pieces.
    pub fn parts(mut self) -> impl Iterator<Item = Unit<M>> {
        let messages = self.messages();
        let (packets, octets) = match messages {
            1 => (1, self.piece),
            _ => (self.label.count, self.body.len() / messages as usize),
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
            let body = self.body.split_to(octets.min(self.body.len()));
            Unit { span: start..self.span.start, count: packets, label, body, ..self }
        })
    }

    /// What its header tells.
    #[inline]
    pub fn cargo(&self) -> Cargo<'_> {
        Cargo { span: &self.span, label: &self.label, octets: self.body.len() }
    }
}
