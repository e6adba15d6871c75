//! A repeated key.

use super::Stage;

/// XORs octets with a key of four octets, over and over, as WebSocket masks its frames (RFC 6455
/// §5.3). Twice the same is the original.
///
/// It hides nothing: where measurements need the work of a stream cipher, it is the least there is.
#[derive(Clone, Copy, Debug)]
pub struct XorMask {
    /// The key, from the octet on that is next.
    key: [u8; 4],
}

impl XorMask {
    /// Creates a mask; the first octet is XORed with the first one of `key`.
    pub const fn new(key: [u8; 4]) -> Self {
        XorMask { key }
    }
}

impl Stage for XorMask {
    #[inline(always)]
    fn block<const N: usize>(&mut self, block: &mut [u8; N]) {
        let key = u64::from(u32::from_ne_bytes(self.key)) * 0x1_0000_0001;
        for eight in block.as_chunks_mut().0 {
            *eight = (u64::from_ne_bytes(*eight) ^ key).to_ne_bytes();
        }
    }

    #[inline]
    fn tail(&mut self, octets: &mut [u8]) {
        for (octet, key) in octets.iter_mut().zip(self.key.into_iter().cycle()) {
            *octet ^= key;
        }
        let passed = octets.len() % self.key.len();
        self.key.rotate_left(passed);
    }
}
