//! Frames as HDLC puts them on the air (ISO/IEC 13239 §4.3, AX.25 v2.2 §3): each octet with its
//! least significant bit first, a zero stuffed behind five ones, a check behind and a flag at each
//! end.

use std::sync::Arc;

use stackwright_wire::check::Crc16;

use crate::LinkPacket;

/// Octets of the check.
pub(super) const FCS: usize = 2;

/// How many ones in a row are followed by a stuffed zero.
const ONES_MOST: u32 = 5;

/// A frame with its frame check sequence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HdlcFrame {
    octets: Arc<[u8]>,
}

impl HdlcFrame {
    /// Returns the frame of these octets, to which the check is added.
    pub fn new(octets: &[u8]) -> Self {
        let check = Crc16::of(octets).to_le_bytes();
        HdlcFrame { octets: octets.iter().copied().chain(check).collect() }
    }

    /// Returns the octets without the check; `None` if it does not agree.
    pub fn octets(&self) -> Option<&[u8]> {
        let is_good = Crc16::of(&self.octets) == Crc16::GOOD;
        is_good.then(|| &self.octets[..self.octets.len() - FCS])
    }

    /// Returns how many bits are stuffed into the frame and its check.
    pub fn stuffed_bits(&self) -> u64 {
        let (mut ones, mut stuffed) = (0, 0);
        for octet in self.octets.iter() {
            for bit in 0..8 {
                ones = if octet >> bit & 1 == 1 { ones + 1 } else { 0 };
                if ones == ONES_MOST {
                    (ones, stuffed) = (0, stuffed + 1);
                }
            }
        }
        stuffed
    }
}

/// Flags are framing, which the channel adds: see
/// [`ChannelConditions::overhead`](crate::ChannelConditions::overhead).
impl LinkPacket for HdlcFrame {
    fn octets(&self) -> usize {
        self.octets.len()
    }

    fn air_bits(&self) -> u64 {
        8 * self.octets.len() as u64 + self.stuffed_bits()
    }

    fn twin(&self) -> Self {
        self.clone()
    }

    fn alter(&mut self, bit: u64) {
        let bit = bit % (8 * self.octets.len() as u64);
        let mut octets = self.octets.to_vec();
        octets[(bit / 8) as usize] ^= 1 << (bit % 8);
        self.octets = octets.into();
    }
}
