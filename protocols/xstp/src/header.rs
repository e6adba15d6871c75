//! The header of a packet. None was ever published: the layout is ours, the kinds are SSCOP's
//! (Q.2110 §7.1). All numbers are big-endian.

use stackwright_transport::slots::Front;
use stackwright_wire::{FieldValue, Header, Malformed, Message};

/// The header of every packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct XstpHeader {
    /// From which port.
    pub source_port: u16,
    /// To which.
    pub destination_port: u16,
    /// What the packet is.
    #[bits(4)]
    pub kind: XstpKind,
    /// What its kind says of them.
    #[bits(4)]
    pub flags: u8,
    /// Of data (N(S)), the next of its sender (POLL), or the first that is missing (N(R)); with a
    /// beginning, the first number of its sender.
    #[bits(24)]
    pub number: u32,
    /// The number of a question (N(PS)); with an answer to a beginning, the number that it answers.
    #[bits(24)]
    pub poll: u32,
    /// How many packets beyond N(R) may be sent; 255 stands for more, too.
    pub credit: u8,
    /// When it was sent, in milliseconds, which wrap; of a STAT: when the POLL was sent.
    pub time: u16,
    /// The Internet check, of pseudo-header and packet.
    pub checksum: u16,
}

/// The position of the check in a packet.
pub(crate) const CHECK: usize = 14;

/// The end of a stream: of POLL, its sender has sent all; of STAT, its sender has all of that; of
/// END, it is in good order.
pub(crate) const STREAM_END: u8 = 8;

/// Of BGREJ: it answers no beginning, but a packet of a connection that is not there (any more).
pub(crate) const GONE: u8 = 4;

/// Of END: its sender has all of the other side's stream.
pub(crate) const HAS_ALL: u8 = 1;

/// What a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum XstpKind {
    /// BGN: requests a connection.
    Begin = 1,
    /// BGAK: accepts it.
    BeginAcknowledge = 2,
    /// END: the connection is over for its sender.
    End = 3,
    /// ENDAK: the answer to that.
    EndAcknowledge = 4,
    /// BGREJ: there is no connection.
    Reject = 7,
    /// SD: data.
    Data = 8,
    /// SDP: data, with a question.
    DataPoll = 9,
    /// POLL: a question.
    Poll = 10,
    /// STAT: the answer to a question.
    Status = 11,
    /// USTAT: a gap that has just shown.
    UnsolicitedStatus = 12,
}

impl FieldValue for XstpKind {
    fn from_bits(bits: u64) -> Option<Self> {
        use XstpKind::*;
        [
            Begin,
            BeginAcknowledge,
            End,
            EndAcknowledge,
            Reject,
            Data,
            DataPoll,
            Poll,
            Status,
            UnsolicitedStatus,
        ]
        .into_iter()
        .find(|kind| *kind as u64 == bits)
    }

    fn to_bits(&self) -> u64 {
        *self as u64
    }
}

impl<M: Message> Front<M> for XstpHeader {
    #[inline]
    fn read(packet: &mut M) -> Result<Self, Malformed> {
        XstpHeader::decode(packet.front(XstpHeader::LENGTH).ok_or(Malformed::TooShort)?)
    }
}
