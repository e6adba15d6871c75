//! The Internet checksum, where the layer below may compute it.

use stackwright_transport::component;
use stackwright_transport::slots::{CheckAt, Integrity};
use stackwright_transport::words::Dropped;
use stackwright_wire::Message;

use super::Internet;
use super::covered::LOOKS_AT;

/// Checks packets as [`Internet`] does, unless the layer below
/// [offers](CheckAt::offered) to: then only the sum of the pseudo-header is written, which that
/// layer completes (`CHECKSUM_PARTIAL` in Linux), and what arrives was verified.
///
/// Choose it for TCP and UDP above an IP layer in user space: on a TUN device, most of the octets
/// are never read.
///
/// ```
/// use stackwright_policies::integrity::OfferedCheck;
/// use stackwright_transport::slots::{CheckAt, Integrity};
/// use stackwright_wire::SingleBuffer;
/// let mut header = [0; 20];
/// let at = CheckAt { plus: 0x1234, offered: true, ..CheckAt::new(16, 0..20) };
/// OfferedCheck.seal(&mut header, None::<&SingleBuffer>, Some(at));
/// assert_eq!(header[16..18], [0x12, 0x34]);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct OfferedCheck;

impl<M: Message> Integrity<M> for OfferedCheck {
    fn verify(&self, packet: &M, at: Option<CheckAt>) -> Result<(), Dropped> {
        if at.as_ref().is_some_and(|at| at.offered) {
            return Ok(());
        }
        Internet::new().verify(packet, at)
    }

    fn seal(&self, header: &mut [u8], body: Option<&M>, at: Option<CheckAt>) {
        match at {
            Some(at) if at.offered => {
                header[at.field..at.field + 2].copy_from_slice(&at.plus.to_be_bytes());
            }
            at => Internet::new().seal(header, body, at),
        }
    }

    fn looks_at(&self) -> usize {
        LOOKS_AT
    }
}

component! {
    OfferedCheck: "integrity by the Internet check, offered below",
    "drops what was altered, unless the layer below does",
    needs: Property::CHECK_FIELD, gives: Property::CHECKS,
}

#[cfg(test)]
mod tests {
    use stackwright_wire::{SingleBuffer, check};

    use super::*;

    #[test]
    fn a_check_covers_the_pseudo_header_or_is_left_to_the_layer_below() {
        let body = SingleBuffer::with_headroom(0, b"odd");
        for offered in [false, true] {
            let at = || Some(CheckAt { plus: 0xfedc, offered, ..CheckAt::new(2, 0..9) });
            let mut packet = *b"ab\0\0cdodd";
            OfferedCheck.seal(&mut packet[..6], Some(&body), at());
            if offered {
                assert_eq!(packet[2..4], [0xfe, 0xdc]);
                // The layer below puts the check of all octets there, the sum included.
                let check = check::Internet::of(&packet);
                packet[2..4].copy_from_slice(&check.to_be_bytes());
            }
            let mut sum = check::Internet::new();
            sum.add(&[0xfe, 0xdc]);
            sum.add(&packet);
            assert_eq!(sum.value(), 0);
            let verified =
                |packet: &[u8]| OfferedCheck.verify(&SingleBuffer::with_headroom(0, packet), at());
            assert_eq!(verified(&packet), Ok(()));
            packet[8] ^= 1;
            assert_eq!(verified(&packet).is_ok(), offered);
        }
    }
}
