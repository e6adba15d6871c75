//! The head of a piece.

use stackwright_wire::Header;

use super::flaw::JpegFlaw;

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

impl PieceHead {
    /// Whether it is of units; otherwise its octets are no picture data.
    pub fn is_of_units(&self) -> bool {
        self.scan != OUTSIDE
    }
}

/// Reads the pieces of a body: the head and the octets of each, or [`JpegFlaw::Stray`], which ends
/// it.
pub fn pieces(mut body: &[u8]) -> impl Iterator<Item = Result<(PieceHead, &[u8]), JpegFlaw>> {
    core::iter::from_fn(move || {
        if body.is_empty() {
            return None;
        }
        let piece = first(body);
        body = piece.map_or(&[], |(_, _, rest)| rest);
        Some(piece.map(|(head, octets, _)| (head, octets)).ok_or(JpegFlaw::Stray))
    })
}

/// Returns the first piece of a body, and what is behind it.
fn first(body: &[u8]) -> Option<(PieceHead, &[u8], &[u8])> {
    let head = PieceHead::decode(body).ok()?;
    let (octets, rest) =
        body.get(PieceHead::LENGTH..)?.split_at_checked(usize::from(head.length))?;
    Some((head, octets, rest))
}

/// The `scan` of octets that are no picture data.
pub(crate) const OUTSIDE: u8 = 255;
