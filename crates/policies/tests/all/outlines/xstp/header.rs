//! The header of a packet, in a format made for this test, because none was ever published. All
//! numbers are big-endian.

use stackwright_wire::{FieldValue, Header};

/// The header of every packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub(super) struct Packet {
    /// From which port.
    pub(super) source: u16,
    /// To which.
    pub(super) destination: u16,
    /// What it is.
    #[bits(4)]
    pub(super) kind: Kind,
    /// The end of a stream; the end of a record, and a probe, are not used here.
    #[bits(4)]
    pub(super) flags: u8,
    /// Of a packet of data (N(S)), or the first that is missing (N(R)).
    #[bits(24)]
    pub(super) number: u32,
    /// The number of an inquiry (N(PS)).
    #[bits(24)]
    pub(super) poll: u32,
    /// How many packets beyond N(R) may be sent; 255 stands for more, too.
    pub(super) credit: u8,
    /// When it was sent, in milliseconds.
    pub(super) time: u16,
    /// The Internet check.
    pub(super) check: u16,
}

/// What a packet is: the codes of SSCOP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Begin = 1,
    BeginAcknowledge = 2,
    End = 3,
    EndAcknowledge = 4,
    Reject = 7,
    Data = 8,
    Poll = 10,
    Status = 11,
    UnsolicitedStatus = 12,
}

impl FieldValue for Kind {
    fn from_bits(bits: u64) -> Option<Self> {
        use Kind::{
            Begin, BeginAcknowledge, Data, End, EndAcknowledge, Poll, Reject, Status,
            UnsolicitedStatus,
        };
        [
            Begin,
            BeginAcknowledge,
            End,
            EndAcknowledge,
            Reject,
            Data,
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
