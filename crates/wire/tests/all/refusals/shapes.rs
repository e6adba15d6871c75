//! A header is a plain struct.

use stackwright_wire::Header;

/// Wrong.
#[derive(Header)]
enum Choice {
    One,
}

/// Wrong.
#[derive(Header)]
struct Tuple(u8, u8);

/// Wrong.
#[derive(Header)]
struct Empty {}

/// Wrong.
#[derive(Header)]
struct Generic<T> {
    /// Of many widths.
    value: T,
}

/// Wrong.
#[derive(Header)]
#[header(big_endian)]
struct Option {
    /// One octet.
    value: u8,
}

fn main() {}
