//! The header of a segment, read before its connection is known.

use stackwright_transport::slots::Front;
use stackwright_wire::internet::Tcp;
use stackwright_wire::{Header, Malformed, Message};

use crate::options::OPTIONS_MOST;

/// The octets of the longest header.
pub(crate) const HEADER_MOST: usize = Tcp::LENGTH + OPTIONS_MOST;

/// The header of a segment without its options, whose length is plausible.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TcpFront(pub Tcp);

impl TcpFront {
    /// Returns the octets of the header, options included: 20 … 60.
    pub fn octets(&self) -> usize {
        4 * usize::from(self.0.data_offset)
    }

    /// Decodes the header of a segment of `octets` octets.
    ///
    /// # Errors
    /// If it is too short for a header, or for the options that it says it has.
    pub fn of(front: &[u8], octets: usize) -> Result<Self, Malformed> {
        let front = TcpFront(Tcp::decode(front)?);
        if front.octets() < Tcp::LENGTH {
            return Err(Malformed::Field("data_offset"));
        }
        if front.octets() > octets { Err(Malformed::TooShort) } else { Ok(front) }
    }
}

impl<M: Message> Front<M> for TcpFront {
    #[inline]
    fn read(packet: &mut M) -> Result<Self, Malformed> {
        let octets = packet.len();
        TcpFront::of(packet.front(Tcp::LENGTH).ok_or(Malformed::TooShort)?, octets)
    }
}

#[cfg(test)]
mod tests {
    use stackwright_wire::SingleBuffer;

    use super::*;

    fn read(octets: &[u8]) -> Result<TcpFront, Malformed> {
        TcpFront::read(&mut SingleBuffer::with_headroom(0, octets))
    }

    /// RFC 9293 §3.1: the data offset.
    #[test]
    fn a_header_is_as_long_as_it_says_and_no_longer_than_its_segment() {
        let mut octets = [0; 24];
        for (offset, length) in [(5, 20), (6, 24)] {
            octets[12] = offset << 4;
            assert_eq!(read(&octets).map(|front| front.octets()), Ok(length));
        }
        for (offset, why) in [(4, Malformed::Field("data_offset")), (7, Malformed::TooShort)] {
            octets[12] = offset << 4;
            assert_eq!(read(&octets), Err(why));
        }
        assert_eq!(read(&octets[..19]), Err(Malformed::TooShort));
    }
}
