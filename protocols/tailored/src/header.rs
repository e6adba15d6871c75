//! The headers. All numbers are big-endian.

use stackwright_wire::{FieldValue, Header};

/// The header of every packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct TailoredHeader {
    /// The kind of the packet: what follows.
    #[bits(2)]
    pub kind: TailoredKind,
    /// The unit is the first of its epoch.
    pub first: bool,
    /// The epoch of the unit, where phases have services of their own: a number that wraps, and the
    /// phase. 0 in a report.
    #[bits(4)]
    pub epoch: u8,
    /// The body is a part of the unit's: a [`PartHeader`] precedes it.
    pub part: bool,
    /// Which check follows this header.
    #[bits(2)]
    pub check: PacketCheck,
    /// How far the opening is: hashes or a token follow the check unless it is over.
    #[bits(2)]
    pub opening: OpeningStage,
    /// The sender did not open the association.
    pub called: bool,
    /// The number of an inquiry follows the token.
    pub asks: bool,
    /// The sender sends no more data.
    pub finish: bool,
    /// The sender takes no more data, or has all.
    pub stop: bool,
    /// The association, as the side that opened it calls it.
    pub key: u16,
    /// The number of the packet's unit; without a unit, of the sender's next. Wraps.
    pub number: u32,
}

/// The kind of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TailoredKind {
    /// A message.
    Unit = 0,
    /// A piece of a message: [`PieceHeader`].
    Piece = 1,
    /// What its sender has received, and what concerns the association: [`ReportHeader`].
    Report = 2,
    /// A packet that was abandoned, and will not come: the [`PieceHeader`] of its content.
    Gap = 3,
}

/// The check of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketCheck {
    /// None.
    Absent = 0,
    /// The Internet checksum: an [`InternetCheck`].
    Internet = 1,
    /// CRC-32C: a [`LongCheck`].
    Crc32c = 2,
    /// CXOR: a [`LongCheck`].
    Cxor = 3,
}

impl PacketCheck {
    /// Returns its octets.
    pub const fn octets(self) -> usize {
        match self {
            PacketCheck::Absent => 0,
            PacketCheck::Internet => InternetCheck::LENGTH,
            PacketCheck::Crc32c | PacketCheck::Cxor => LongCheck::LENGTH,
        }
    }
}

/// How far the opening of an association is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpeningStage {
    /// Both sides know that the other hears.
    Over = 0,
    /// The sender opens, and has heard nothing: [`OpeningHashes`].
    Asked = 1,
    /// The sender was called, and does not know whether it is heard: the [`OpeningToken`] is to be
    /// returned.
    Answered = 2,
    /// The sender returns the [`OpeningToken`] that it heard.
    Confirmed = 3,
}

/// The Internet checksum (RFC 1071).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct InternetCheck {
    /// The sum.
    pub check: u16,
}

/// CRC-32C, the least significant octet first, or CXOR, the most significant octet first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct LongCheck {
    /// The sum.
    pub check: u32,
}

/// What the side that opens has to have in common with the other one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct OpeningHashes {
    /// The hash of its configuration: what a receiver has to know of it.
    pub configuration: u32,
    /// The hash of the application's protocol.
    pub protocol: u64,
}

/// What shows that the side that opened hears the other one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct OpeningToken {
    /// A number that only the called side knows.
    pub token: u32,
}

/// The inquiry that a packet carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct InquiryNumber {
    /// Its number, which the answer returns.
    pub number: u32,
}

/// The position of a piece in its message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct PieceHeader {
    /// The number of the message.
    pub message: u32,
    /// The index of the piece, from 0.
    pub index: u16,
    /// The number of pieces.
    pub count: u16,
}

/// The position of a part in the body of its unit, where the path does not pass all of it in one
/// packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct PartHeader {
    /// The octets before it.
    pub offset: u16,
    /// The octets of the whole body.
    pub whole: u16,
}

/// What its sender has received. Behind it stand a [`ReasonCode`] with `end` or `refuse`, a
/// [`RuleHeader`] with `proposes`, the spans that were received beyond `upto`, and those that are
/// missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct ReportHeader {
    /// The field `credit` is valid.
    pub credits: bool,
    /// The field `answers` is valid.
    pub answered: bool,
    /// The sender releases the association.
    pub end: bool,
    /// The association was not made.
    pub refuse: bool,
    /// With `end`: a message is longer than its receiver takes; the code is how many octets it
    /// takes.
    pub too_long: bool,
    /// A [`RuleHeader`] follows.
    pub proposes: bool,
    /// 0.
    #[bits(10)]
    #[fixed(0)]
    pub reserved: (),
    /// The spans that were received.
    pub held: u8,
    /// The spans that are missing.
    pub missing: u8,
    /// All before it was received.
    pub upto: u32,
    /// How far the peer may send.
    pub credit: u32,
    /// The inquiry that is answered.
    pub answers: u32,
}

/// Why an association ends, or was not made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct ReasonCode {
    /// The application's code, or one of this protocol's.
    pub code: u32,
}

impl ReasonCode {
    /// Nobody listens.
    pub const NO_LISTENER: u32 = 1;
    /// The two sides are not configured alike.
    pub const CONFIGURED_OTHERWISE: u32 = 2;
    /// There is no memory, or too many peers have not shown that they hear.
    pub const NO_RESOURCE: u32 = 3;
    /// The application's protocols differ, and the called side does not accept the other one.
    pub const ANOTHER_PROTOCOL: u32 = 4;
}

/// What its sender says of the rule by which one of the two sends messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct RuleHeader {
    /// What it says.
    #[bits(3)]
    pub act: RuleActCode,
    /// Messages are delivered in order.
    pub ordered: bool,
    /// They are delivered behind all that was sent in earlier phases.
    pub fenced: bool,
    /// A packet is abandoned after some retransmissions.
    pub abandons: bool,
    /// The phase that has the rule.
    #[bits(2)]
    pub phase: u8,
    /// Which of the questions with this `number` it is, from 0.
    pub nth: u8,
    /// Why it is refused; else the retransmissions before a packet is abandoned, or 0.
    pub detail: u16,
    /// The number that was expected next when the question was first asked.
    pub number: u32,
}

/// What is said of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuleActCode {
    /// A receiver of messages asks for it.
    Wish = 1,
    /// The sender goes by it.
    Grant = 2,
    /// The sender does not, for the reason.
    Decline = 3,
    /// A sender of messages asks whether it is taken.
    Propose = 4,
    /// The receiver takes it.
    Accept = 5,
    /// The receiver does not, for the reason.
    Refuse = 6,
}

/// A span of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct NumberSpan {
    /// The first.
    pub start: u32,
    /// The number after the last.
    pub end: u32,
}

impl FieldValue for TailoredKind {
    #[inline]
    fn from_bits(bits: u64) -> Option<Self> {
        use TailoredKind::*;
        [Unit, Piece, Report, Gap].into_iter().find(|kind| *kind as u64 == bits)
    }

    #[inline]
    fn to_bits(&self) -> u64 {
        *self as u64
    }
}

impl FieldValue for RuleActCode {
    #[inline]
    fn from_bits(bits: u64) -> Option<Self> {
        use RuleActCode::*;
        let all = [Wish, Grant, Decline, Propose, Accept, Refuse];
        all.into_iter().find(|act| *act as u64 == bits)
    }

    #[inline]
    fn to_bits(&self) -> u64 {
        *self as u64
    }
}

impl FieldValue for PacketCheck {
    #[inline]
    fn from_bits(bits: u64) -> Option<Self> {
        use PacketCheck::*;
        [Absent, Internet, Crc32c, Cxor].into_iter().find(|check| *check as u64 == bits)
    }

    #[inline]
    fn to_bits(&self) -> u64 {
        *self as u64
    }
}

impl FieldValue for OpeningStage {
    #[inline]
    fn from_bits(bits: u64) -> Option<Self> {
        use OpeningStage::*;
        [Over, Asked, Answered, Confirmed].into_iter().find(|stage| *stage as u64 == bits)
    }

    #[inline]
    fn to_bits(&self) -> u64 {
        *self as u64
    }
}
