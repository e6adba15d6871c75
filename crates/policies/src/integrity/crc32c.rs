//! CRC-32C.

use stackwright_transport::component;
use stackwright_transport::slots::{CheckAt, Integrity};
use stackwright_transport::words::Dropped;
use stackwright_wire::{Message, check};

use super::covered::{LOOKS_AT, each_and_check, each_of};

/// Checks packets with CRC-32C, 32 bits, over the octets that the format names; in the packet, the
/// least significant octet is first (RFC 9260 appendix A).
///
/// Choose it for a new format: it detects every burst of up to 32 bits, and processors have an
/// instruction for it.
///
/// ```
/// use stackwright_policies::integrity::Crc32c;
/// use stackwright_transport::rules::{Component, Property};
/// assert!(Crc32c::FACTS.gives.has(Property::CHECKS));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Crc32c;

/// The length of the check in octets.
const LENGTH: usize = 4;

impl<M: Message> Integrity<M> for Crc32c {
    fn verify(&self, packet: &M, at: Option<CheckAt>) -> Result<(), Dropped> {
        let at = at.ok_or(Dropped::Corrupt)?;
        let mut check = check::Crc32c::new();
        let said = each_and_check(packet, at, |octets| check.add(octets));
        if said == Some(check.value().to_le_bytes()) { Ok(()) } else { Err(Dropped::Corrupt) }
    }

    fn seal(&self, header: &mut [u8], body: Option<&M>, at: Option<CheckAt>) {
        let Some(CheckAt { field, covers, .. }) = at else { return };
        header[field..field + LENGTH].fill(0);
        let mut check = check::Crc32c::new();
        each_of(header, body, covers, |octets| check.add(octets));
        header[field..field + LENGTH].copy_from_slice(&check.value().to_le_bytes());
    }

    fn looks_at(&self) -> usize {
        LOOKS_AT
    }
}

component! {
    Crc32c: "integrity by CRC-32C", "drops what was altered",
    needs: Property::CHECK_FIELD, gives: Property::CHECKS,
}
