//! A JPEG as pieces that need nothing but its tables, and the way back.
//!
//! | file | what |
//! | --- | --- |
//! | `flaw.rs` | why a file or a piece is refused: [`JpegFlaw`] |
//! | `bits.rs`, `huffman.rs` | bits, and the codes of a table |
//! | `segments.rs` | the segments of a file: frame, tables, scans |
//! | `layout.rs` | what they amount to: [`JpegLayout`] |
//! | `entropy.rs` | the blocks of a scan, read and written |
//! | `picture.rs` | a file that was read: [`Picture`] |
//! | `rewrite.rs`, `band.rs`, `optimal.rs` | one that is progressive, or damaged, as a baseline file |
//! | `piece.rs`, `split.rs` | pieces, several to a body |
//! | `orientation.rs` | which way round it is shown |
//! | `join.rs` | bodies in any order become the file again: [`Assembly`] |
//!
//! Each piece begins with DC values of its own; all other bits of the file are copied, so nothing
//! is lost (ITU-T T.81, which the comments cite).

mod band;
mod bits;
mod entropy;
mod flaw;
mod huffman;
mod join;
mod layout;
mod optimal;
#[cfg(feature = "pixels")]
pub(crate) mod orientation;
mod picture;
mod piece;
pub(crate) mod rewrite;
mod segments;
mod split;

pub use flaw::JpegFlaw;
pub use join::{Assembly, Summary};
pub use layout::{JpegFrame, JpegLayout};
pub use picture::Picture;
pub use piece::{PieceHead, pieces};

/// The longest body of a table ADU.
pub const TABLE_MOST: usize = 1400;
/// The longest body of an ADU of pieces.
pub const BODY_MOST: usize = 1450;
