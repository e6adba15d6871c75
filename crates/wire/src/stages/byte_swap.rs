//! From one byte order to the other.

use super::Stage;

/// Swaps the octets of each 32-bit word, as between XDR (RFC 4506) and a little-endian host.
///
/// Words are counted from the beginning of a pass; up to three octets behind the last word are left
/// as they are.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByteSwap;

impl Stage for ByteSwap {
    #[inline(always)]
    fn block<const N: usize>(&mut self, block: &mut [u8; N]) {
        for word in block.as_chunks_mut().0 {
            *word = u32::from_ne_bytes(*word).swap_bytes().to_ne_bytes();
        }
    }

    #[inline]
    fn tail(&mut self, octets: &mut [u8]) {
        for word in octets.as_chunks_mut::<4>().0 {
            word.reverse();
        }
    }
}
