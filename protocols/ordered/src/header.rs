//! The header.

use stackwright_wire::{FieldValue, Header};

/// The header of every datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct OrderedHeader {
    /// The kind of the datagram.
    #[bits(8)]
    pub kind: DatagramKind,
    /// The offset in the sender's stream of the first octet behind the header, or of the one that
    /// would come next. In a finish, it is the length of the stream; in a reset, the application's
    /// code.
    pub offset: u64,
    /// The credit of the other side, counted from the beginning: each piece counts as its octets,
    /// and as 64 at least. It never decreases; a smaller one was overtaken.
    pub credit: u64,
}

/// The kind of a datagram. Only `Octets` has anything behind the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DatagramKind {
    /// Requests an association: the first datagram of the side that opens, and its only one until
    /// it is answered.
    Open = 1,
    /// A piece of the stream.
    Octets = 2,
    /// Nothing but credit. It answers `Open`.
    Credit = 3,
    /// The stream ends here.
    Finish = 4,
    /// Answers `Finish`: all octets before it were delivered.
    Heard = 5,
    /// The association was aborted, with the code in `offset`.
    Reset = 6,
    /// The sender is done with the association: it has received a `Reset`, or both streams were
    /// delivered to their ends. In that case it also has the meaning of `Heard`.
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

/// The least weight of a piece, in octets: many small pieces cost much to hold.
pub(crate) const LIGHTEST: usize = 64;

/// Returns the weight of a piece of `octets` octets.
pub(crate) fn weight(octets: usize) -> u64 {
    octets.max(LIGHTEST) as u64
}
