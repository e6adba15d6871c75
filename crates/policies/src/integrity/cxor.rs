//! CXOR.

use stackwright_transport::component;
use stackwright_transport::slots::{CheckAt, Integrity};
use stackwright_transport::words::Dropped;
use stackwright_wire::{Message, check};

use super::covered::{LOOKS_AT, each_and_check, each_of};

/// Checks packets with CXOR, 32 bits, over the octets that the format names, as XTP 3.6 does. In
/// the packet, the most significant octet is first.
///
/// Choose it where the specification demands it: it detects every odd number of inverted bits, and
/// costs less than a copy, but it misses one bit that is inverted in two octets 32 apart.
///
/// ```
/// use stackwright_policies::integrity::Cxor;
/// use stackwright_transport::rules::{Component, Property};
/// assert!(Cxor::FACTS.gives.has(Property::CHECKS));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Cxor;

/// The length of the check in octets.
const LENGTH: usize = 4;

impl<M: Message> Integrity<M> for Cxor {
    fn verify(&self, packet: &M, at: Option<CheckAt>) -> Result<(), Dropped> {
        let at = at.ok_or(Dropped::Corrupt)?;
        let mut check = check::Cxor::new();
        let said = each_and_check(packet, at, |octets| check.add(octets));
        if said == Some(check.value().to_be_bytes()) { Ok(()) } else { Err(Dropped::Corrupt) }
    }

    fn seal(&self, header: &mut [u8], body: Option<&M>, at: Option<CheckAt>) {
        let Some(CheckAt { field, covers, .. }) = at else { return };
        header[field..field + LENGTH].fill(0);
        let mut check = check::Cxor::new();
        each_of(header, body, covers, |octets| check.add(octets));
        header[field..field + LENGTH].copy_from_slice(&check.value().to_be_bytes());
    }

    fn looks_at(&self) -> usize {
        LOOKS_AT
    }
}

component! {
    Cxor: "integrity by CXOR", "drops what was altered",
    needs: Property::CHECK_FIELD, gives: Property::CHECKS,
}

#[cfg(test)]
mod tests {
    use super::*;
    use stackwright_wire::SingleBuffer;

    #[test]
    fn the_check_is_in_the_packet_with_its_most_significant_octet_first() {
        let at = || Some(CheckAt::new(2, 0..13));
        let mut packet = *b"..\0\0\0\0..a body";
        let body = SingleBuffer::with_headroom(0, &packet[8..]);
        let check = check::Cxor::of(&packet[..13]);
        Cxor.seal(&mut packet[..8], Some(&body), at());
        assert_eq!(packet[2..6], check.to_be_bytes());
        let verified = |packet: &[u8]| Cxor.verify(&SingleBuffer::with_headroom(0, packet), at());
        assert_eq!(verified(&packet), Ok(()));
        assert_eq!(verified(&packet[..12]), Err(Dropped::Corrupt), "it is not all there");
        for bit in 0..8 * 13 {
            packet[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(verified(&packet), Err(Dropped::Corrupt), "bit {bit}");
            packet[bit / 8] ^= 1 << (bit % 8);
        }
        packet[13] ^= 1;
        assert_eq!(verified(&packet), Ok(()), "what it does not cover");
    }
}
