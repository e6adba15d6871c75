//! From a device: the headers are found, and a lone packet is completed.

use stackwright_wire::check::Internet;

use super::super::offload::{Kind, Offload};
use super::checksum;
use super::{Cut, Protocol, Train};

/// Octets of an IPv4 header without options.
const IPV4: usize = 20;
/// Octets of an IPv6 header.
const IPV6: usize = 40;
/// Octets of the longest packet, an IPv6 one.
pub(in super::super) const LONGEST: usize = IPV6 + 65_535;

impl Train {
    /// A packet as the device gave it. `None` where its headers contradict each other, or are of no
    /// known version.
    pub(in super::super) fn decode(offload: Offload, packet: &[u8]) -> Option<Train> {
        let protocol = match (packet.first()? >> 4, packet.len()) {
            (4, IPV4..=65_535) => named(packet[9], true),
            (6, IPV6..=LONGEST) => named(packet[6], false),
            _ => return None,
        };
        let mut octets = Box::<[u8]>::from(packet);
        let cut = match (offload.cut, offload.checksum) {
            (Some((kind, size, _)), Some((transport, _))) => {
                Some(cut(&octets, kind, size, transport)?)
            }
            // What is to be cut needs new checksums.
            (Some(_), None) => return None,
            (None, Some((start, offset))) => {
                complete(&mut octets, start, offset)?;
                None
            }
            (None, None) => None,
        };
        Some(Train { octets, protocol, cut })
    }
}

fn named(number: u8, ipv4: bool) -> Protocol {
    match number {
        1 if ipv4 => Protocol::Icmp,
        6 => Protocol::Tcp,
        17 => Protocol::Udp,
        _ => Protocol::Other,
    }
}

/// Where the segments of a super-packet lie. The length of its headers is asked of themselves: the
/// device only hints.
fn cut(octets: &[u8], kind: Kind, size: u16, transport: u16) -> Option<Cut> {
    let version = octets[0] >> 4;
    let start = usize::from(transport);
    let follows = match version {
        4 => start >= IPV4 && start == usize::from(octets[0] & 15) * 4,
        // Extension headers may stand between.
        _ => start >= IPV6,
    };
    let (length, least, fits) = match kind {
        Kind::Udp => (8, 8, true),
        _ => {
            let length = u16::from(octets.get(start + 12)? >> 4) * 4;
            (length, 20, (kind == Kind::Tcp4) == (version == 4))
        }
    };
    let headers = transport.checked_add(length)?;
    let sound =
        size > 0 && follows && fits && length >= least && usize::from(headers) <= octets.len();
    sound.then_some(Cut { kind, transport, headers, size })
}

/// Completes a checksum that holds only the sum of the pseudo-header, so that whoever sees the
/// packet altered, sees it.
fn complete(octets: &mut [u8], start: u16, offset: u16) -> Option<()> {
    let covered = octets.get_mut(usize::from(start)..)?;
    let at = usize::from(offset);
    if covered.len() < at + 2 {
        return None;
    }
    let check = checksum::sent(Internet::of(covered), offset);
    covered[at..at + 2].copy_from_slice(&check.to_be_bytes());
    Some(())
}
