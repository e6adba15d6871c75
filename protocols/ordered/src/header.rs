//! What stands before the octets.

use stackwright_wire::{FieldValue, Header};

/// The header of every datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct OrderedHeader {
    /// What the datagram is.
    #[bits(8)]
    pub kind: DatagramKind,
    /// The place in the sender's stream of the first octet behind the header, or of the one that
    /// would come next. Of a finish, it is the length of the stream; of a reset, the application's
    /// code.
    pub offset: u64,
    /// How much the other side may send, from the beginning: each piece counts as its octets, and
    /// as 64 at least. It never becomes less; a smaller one was overtaken.
    pub credit: u64,
}

/// What a datagram is. Only `Octets` has anything behind the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DatagramKind {
    /// Asks for an association: the first word of the side that opens, and its only one until it is
    /// answered.
    Open = 1,
    /// A piece of the stream.
    Octets = 2,
    /// Nothing but credit. It answers `Open`.
    Credit = 3,
    /// The stream ends here.
    Finish = 4,
    /// Answers `Finish`: all octets before it were delivered.
    Heard = 5,
    /// The association was aborted, with the code that `offset` says.
    Reset = 6,
    /// The sender is done with the association: it has heard a `Reset`, or both streams were
    /// delivered to their ends. Then it says what `Heard` does, too.
    Farewell = 7,
}

impl FieldValue for DatagramKind {
    fn from_bits(bits: u64) -> Option<Self> {
        use DatagramKind::*;
        [Open, Octets, Credit, Finish, Heard, Reset, Farewell]
            .into_iter()
            .find(|kind| kind.to_bits() == bits)
    }

    #[inline]
    fn to_bits(&self) -> u64 {
        *self as u64
    }
}

/// What a piece counts at least: many small ones are much to hold. In octets.
pub(crate) const LIGHTEST: usize = 64;

/// Returns what a piece of `octets` octets counts.
pub(crate) fn weight(octets: usize) -> u64 {
    octets.max(LIGHTEST) as u64
}
