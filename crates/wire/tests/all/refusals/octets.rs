//! A header is whole octets, and so is an octet string in it.

use stackwright_wire::Header;

/// Wrong.
#[derive(Header)]
struct HalfAnOctet {
    /// Twelve bits, and nothing follows.
    #[bits(12)]
    number: u16,
}

/// Wrong.
#[derive(Header)]
struct Crooked {
    /// Half an octet.
    #[bits(4)]
    half: u8,
    /// It does not begin with an octet.
    octets: [u8; 2],
    /// Half an octet.
    #[bits(4)]
    other_half: u8,
}

/// Wrong.
#[derive(Header)]
#[header(little_endian)]
struct LittleBits {
    /// Which half comes first?
    #[bits(4)]
    half: u8,
    /// Nobody knows.
    #[bits(4)]
    other_half: u8,
}

fn main() {}
