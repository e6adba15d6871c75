//! Checksums: what is sent along with octets, so that altered ones are detected.
//!
//! | check | detects | cost |
//! | --- | --- | --- |
//! | [`Internet`] | most accidents; no exchanged 16-bit words | low, and it can be updated in place |
//! | [`Crc16`] | all bursts of at most 16 bits | tables of 8 KiB |
//! | [`Crc32c`] | all bursts of at most 32 bits | tables of 8 KiB, or one instruction for 8 octets |
//! | [`Cxor`] | every odd number of inverted bits; XTP 3.6 | lowest: less than a copy |
//! | [`Fletcher`] | most accidents, exchanged octets too; ISO transport | a few times the Internet check's |
//!
//! All are fed piece by piece, and those of two adjacent pieces can be combined into that of
//! both:
//!
//! ```
//! use stackwright_wire::check::Crc32c;
//!
//! let mut check = Crc32c::new();
//! check.add(b"12345");
//! check.add(b"6789");
//! assert_eq!(check.value(), 0xe306_9283);
//! assert_eq!(Crc32c::combine(Crc32c::of(b"12345"), Crc32c::of(b"6789"), 4), check.value());
//! ```

mod crc16;
mod crc32c;
mod cxor;
mod fletcher;
mod internet;
mod reflected;

pub use crc16::Crc16;
pub use crc32c::Crc32c;
pub use cxor::Cxor;
pub use fletcher::Fletcher;
pub use internet::Internet;
