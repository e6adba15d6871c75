//! Every field has a width, and it fits its type.

use stackwright_wire::Header;

struct Level;

/// Wrong.
#[derive(Header)]
struct Wrong {
    /// Only its author knows how wide it is.
    unknown: Level,
    /// So wide that an octet cannot hold it.
    #[bits(9)]
    too_wide: u8,
    /// A field value has at most 64 bits.
    #[bits(65)]
    much_too_wide: Level,
    /// It would hide its neighbour.
    #[bits(0)]
    no_bits: u8,
    /// Which part of it?
    #[bits(16)]
    octets: [u8; 3],
    undocumented: u8,
}

/// Wrong.
#[derive(Header)]
struct Constant {
    /// The table is written before anybody evaluates this.
    octets: [u8; LENGTH],
}

const LENGTH: usize = 4;

fn main() {}
