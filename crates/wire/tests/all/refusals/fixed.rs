//! A fixed field holds nothing but its value.

use stackwright_wire::Header;

/// Wrong.
#[derive(Header)]
struct Held {
    /// It could be set to something else.
    #[fixed(4)]
    version: u8,
    /// Fixed to what?
    #[bits(8)]
    nothing: (),
    /// How wide?
    #[fixed(1)]
    reserved: (),
}

/// Wrong.
#[derive(Header)]
struct TooLarge {
    /// Four bits hold at most 15.
    #[bits(4)]
    #[fixed(16)]
    version: (),
    /// The rest.
    #[bits(4)]
    rest: u8,
}

fn main() {}
