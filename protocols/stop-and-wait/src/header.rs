//! What stands before a message.

use stackwright_wire::{FieldValue, Header};

/// The header of every message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Label {
    /// 0: a message; 1: an acknowledgement.
    #[bits(8)]
    pub kind: Kind,
    /// Of the message that is sent, or acknowledged. Counts on from 0, and wraps.
    pub number: u16,
}

/// What a label stands before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A message.
    Message,
    /// An acknowledgement, and nothing behind it.
    Acknowledgement,
}

impl FieldValue for Kind {
    fn from_bits(bits: u64) -> Option<Self> {
        match bits {
            0 => Some(Kind::Message),
            1 => Some(Kind::Acknowledgement),
            _ => None,
        }
    }

    fn to_bits(&self) -> u64 {
        *self as u64
    }
}
