//! What the two sides say to each other: a word in front of each message.

use stackwright::wire::{FieldValue, Header};

/// What stands in front of each message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
#[header(crate = stackwright::wire)]
pub(super) struct Word {
    /// What the message is.
    #[bits(8)]
    pub(super) kind: Kind,
    /// Which of its kind; of an end, how many messages were sent before it.
    #[bits(48)]
    pub(super) number: u64,
}

/// What a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Is counted.
    Data = 1,
    /// Is counted, and answered by `Reply` with the same octets.
    Request = 2,
    Reply = 3,
    /// Nothing comes behind it. It is answered by `Report` when all has come.
    End = 4,
    /// What has come: [`Report`] stands behind it.
    Report = 5,
}

impl FieldValue for Kind {
    fn from_bits(bits: u64) -> Option<Self> {
        use Kind::*;
        [Data, Request, Reply, End, Report].into_iter().find(|kind| kind.to_bits() == bits)
    }

    fn to_bits(&self) -> u64 {
        *self as u64
    }
}

/// What the receiver has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Header)]
#[header(crate = stackwright::wire)]
pub(super) struct Report {
    /// In messages of data and requests.
    pub(super) octets: u64,
    /// How many of them.
    pub(super) messages: u64,
    /// From the first of them to the last, in nanoseconds.
    pub(super) took: u64,
    /// What the receiver's thread took of the processor since the first, in nanoseconds.
    pub(super) processor: u64,
}

/// The shortest message.
pub(super) const SHORTEST: usize = 16;
