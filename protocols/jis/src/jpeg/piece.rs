//! The head of a piece.

use stackwright_wire::Header;

/// The head of a piece. Behind it are `length` octets.
#[derive(Header, Clone, Copy, PartialEq, Eq, Debug)]
pub struct PieceHead {
    /// The scan; 255: octets of the file that are no picture data.
    pub scan: u8,
    /// The first unit of the scan, or the first octet.
    #[bits(24)]
    pub first: u32,
    /// How many units.
    pub count: u8,
    /// How many octets.
    pub length: u16,
}

/// The `scan` of octets that are no picture data.
pub(crate) const OUTSIDE: u8 = 255;
