//! The Internet checksum.

use stackwright_contract::{Address, Participant};
use stackwright_transport::component;
use stackwright_transport::slots::{CheckAt, Integrity};
use stackwright_transport::words::Dropped;
use stackwright_wire::internet::pseudo_header;
use stackwright_wire::{Message, check};

use super::covered::{LOOKS_AT, each, each_of};

/// Checks packets with the Internet checksum (RFC 1071), 16 bits, over the octets that the format
/// names: XTP, XSTP, UDP, TCP.
///
/// Choose it where the specification demands it: it detects one altered word, and misses two that
/// were swapped.
///
/// ```
/// use stackwright_policies::integrity::Internet;
/// let check = Internet::new();
/// # let _ = check;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Internet;

/// Returns the sum of two hosts and the number of a protocol, to which the length of a packet is
/// [added](CheckAt::behind). Over a protocol with ports, a check covers no hosts: they may be
/// translated on the way.
pub fn hosts_sum(local: Participant, remote: Participant, protocol: u8) -> u16 {
    match (local.address, remote.address) {
        (
            Address::InternetProtocol { host: local, .. },
            Address::InternetProtocol { host: remote, .. },
        ) => pseudo_header(local, remote, protocol, 0),
        _ => u16::from(protocol),
    }
}

impl Internet {
    /// Creates a check of what is sent, and of the [sum](CheckAt::plus) that stands before it.
    pub const fn new() -> Self {
        Internet
    }
}

/// Returns the sum that stands before the octets of a packet.
fn begin(plus: u16) -> check::Internet {
    let mut sum = check::Internet::new();
    if plus != 0 {
        sum.add(&plus.to_be_bytes());
    }
    sum
}

impl<M: Message> Integrity<M> for Internet {
    fn verify(&self, packet: &M, at: Option<CheckAt>) -> Result<(), Dropped> {
        let mut sum = begin(at.as_ref().map_or(0, |at| at.plus));
        let whole = at.is_some_and(|at| each(packet, at.covers, |octets| sum.add(octets)));
        if whole && sum.value() == 0 { Ok(()) } else { Err(Dropped::Corrupt) }
    }

    fn seal(&self, header: &mut [u8], body: Option<&M>, at: Option<CheckAt>) {
        let Some(CheckAt { field, covers, plus, .. }) = at else { return };
        header[field..field + 2].fill(0);
        let mut sum = begin(plus);
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
