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
    /// Its numbers: octets or packets, as the format counts. Internally they have 64 bits and do not wrap.
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
    /// What its header tells.
    #[inline]
    pub fn cargo(&self) -> Cargo<'_> {
        Cargo { span: &self.span, label: &self.label, octets: self.body.len() }
    }
}
