//! The Internet checksum.

use stackwright_transport::component;
use stackwright_transport::slots::{CheckAt, Integrity};
use stackwright_transport::words::Dropped;
use stackwright_wire::{Message, check};

use super::covered::{LOOKS_AT, each, each_of};

/// Checks packets with the Internet checksum (RFC 1071), 16 bits, over the octets that the format
/// names: XTP, XSTP, UDP, TCP.
///
/// Octets that both sides know and that are not sent, as a pseudo-header, may be counted, too.
///
/// Choose it where the specification demands it: it detects one altered word, and misses two that
/// were swapped.
///
/// ```
/// use stackwright_policies::integrity::Internet;
/// let plain = Internet::new();
/// let from_10_0_0_1 = Internet::after(&[10, 0, 0, 1]);
/// # let _ = (plain, from_10_0_0_1);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Internet {
    before: check::Internet,
}

impl Internet {
    /// Creates a check of what is sent.
    pub const fn new() -> Self {
        Internet { before: check::Internet::new() }
    }

    /// Creates a check of `octets` and, after them, what is sent.
    pub fn after(octets: &[u8]) -> Self {
        let mut before = check::Internet::new();
        before.add(octets);
        Internet { before }
    }

    /// Returns the sum that stands before the octets of a packet.
    fn with(&self, plus: u16) -> check::Internet {
        let mut sum = self.before;
        if plus != 0 {
            sum.add(&plus.to_be_bytes());
        }
        sum
    }
}

impl<M: Message> Integrity<M> for Internet {
    fn verify(&self, packet: &M, at: Option<CheckAt>) -> Result<(), Dropped> {
        let mut sum = self.with(at.as_ref().map_or(0, |at| at.plus));
        let whole = at.is_some_and(|at| each(packet, at.covers, |octets| sum.add(octets)));
        if whole && sum.value() == 0 { Ok(()) } else { Err(Dropped::Corrupt) }
    }

    fn seal(&self, header: &mut [u8], body: Option<&M>, at: Option<CheckAt>) {
        let Some(CheckAt { field, covers, plus, .. }) = at else { return };
        header[field..field + 2].fill(0);
        let mut sum = self.with(plus);
        each_of(header, body, covers, |octets| sum.add(octets));
        header[field..field + 2].copy_from_slice(&sum.value().to_be_bytes());
    }

    fn looks_at(&self) -> usize {
        LOOKS_AT
    }
}

component! {
    Internet: "integrity by the Internet check", "drops what was altered",
    needs: Property::CHECK_FIELD, gives: Property::CHECKS,
}
