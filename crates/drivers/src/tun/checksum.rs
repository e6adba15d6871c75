//! The Internet checks of packets: found, verified, written anew where fields have changed.

use stackwright_wire::check::Internet;
use stackwright_wire::internet::pseudo_header_of;

/// Octets of an IPv4 header without options.
pub(super) const IPV4: usize = 20;
/// Octets of an IPv6 header.
pub(super) const IPV6: usize = 40;
/// The protocol number of TCP.
pub(super) const TCP: u8 = 6;
/// The protocol number of UDP.
pub(super) const UDP: u8 = 17;
/// Where the check is in a TCP header.
pub(super) const IN_TCP: u16 = 16;
/// Where it is in a UDP header.
pub(super) const IN_UDP: u16 = 6;
/// The most IPv6 extension headers before a transport's.
const EXTENSIONS_MOST: usize = 8;

/// Where the TCP or UDP header of a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Transport {
    /// 6 or 17.
    pub(super) protocol: u8,
    /// Where it begins, from the first octet of the IP header.
    pub(super) start: usize,
    /// Where its payload ends: what is behind that is padding, of a short frame as a rule.
    pub(super) end: usize,
    /// Where the IP packet ends.
    pub(super) packet: usize,
}

impl Transport {
    /// Finds the header in the front of an IP packet. `None` where there is none, where lengths
    /// contradict each other, and where there is only a part of what its check covers: in a
    /// fragment, and behind a routing header that is not exhausted (RFC 8200 §8.1).
    pub(super) fn find(front: &[u8]) -> Option<Self> {
        let found = match front.first()? >> 4 {
            4 => {
                let [_, _, length @ ..] = front.first_chunk::<IPV4>()?;
                let end = usize::from(u16::from_be_bytes([length[0], length[1]]));
                // More fragments, and the offset (RFC 791 §3.1).
                let fragment = u16::from_be_bytes([front[6], front[7]]) & 0x3fff != 0;
                let start = usize::from(front[0] & 15) * 4;
                let protocol = front[9];
                let found = Transport { protocol, start, end, packet: end };
                (!fragment && start >= IPV4).then_some(found)
            }
            6 => behind_extensions(front),
            _ => None,
        }?;
        let (start, most) = (found.start, found.packet);
        let least = match found.protocol {
            TCP => 20,
            UDP => 8,
            _ => return None,
        };
        let header = front.get(start..start + least).filter(|_| start + least <= most)?;
        // A datagram says itself how long it is (RFC 768).
        let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let end = if found.protocol == UDP { start + length } else { most };
        (start + least <= end && end <= most).then_some(Transport { end, ..found })
    }

    /// Returns where its check is, from its first octet.
    pub(super) fn offset(self) -> u16 {
        if self.protocol == TCP { IN_TCP } else { IN_UDP }
    }

    /// Returns the octets of its check.
    pub(super) fn check(self, front: &[u8]) -> u16 {
        let at = self.start + usize::from(self.offset());
        u16::from_be_bytes([front[at], front[at + 1]])
    }

    /// Returns whether its check is only the sum over the pseudo-header: to be completed.
    pub(super) fn is_incomplete(self, front: &[u8]) -> bool {
        self.check(front) == pseudo_header_of(front, self.protocol, self.end - self.start)
    }

    /// Returns whether its check is right, for a packet whose octets `each` lends piece by piece,
    /// from the transport's first octet to its last. A datagram without a check is (RFC 768).
    pub(super) fn is_right(self, front: &[u8], each: impl FnOnce(&mut Internet)) -> bool {
        if self.protocol == UDP && self.check(front) == 0 {
            return true;
        }
        let mut sum = Internet::new();
        sum.add(&pseudo_header_of(front, self.protocol, self.end - self.start).to_be_bytes());
        each(&mut sum);
        sum.value() == 0
    }
}

/// Returns where the IP header of a frame begins, if it has one: in front, or behind an Ethernet
/// header of `link` octets and at most one tag of a VLAN (IEEE 802.1Q §9.3).
pub(super) fn network(front: &[u8], link: usize) -> Option<usize> {
    if link == 0 {
        return Some(0);
    }
    let ether_type = |at: usize| front.get(at - 2..at);
    let start = match ether_type(link)? {
        [0x81, 0x00] | [0x88, 0xa8] => link + 4,
        _ => link,
    };
    matches!(ether_type(start)?, [0x08, 0x00] | [0x86, 0xdd]).then_some(start)
}

/// Finds what is behind the extension headers of IPv6 (RFC 8200 §4).
fn behind_extensions(front: &[u8]) -> Option<Transport> {
    let header = front.first_chunk::<IPV6>()?;
    let end = IPV6 + usize::from(u16::from_be_bytes([header[4], header[5]]));
    let (mut protocol, mut start) = (header[6], IPV6);
    for _ in 0..EXTENSIONS_MOST {
        match protocol {
            // Hop-by-hop and destination options; routing, with nothing left to visit.
            0 | 43 | 60 => {
                let extension = front.get(start..start + 4)?;
                if protocol == 43 && extension[3] > 0 {
                    return None;
                }
                protocol = extension[0];
                start += (usize::from(extension[1]) + 1) * 8;
            }
            _ => return Some(Transport { protocol, start, end, packet: end }),
        }
    }
    None
}

/// Returns whether the check of a whole IP packet is right, as far as it has one that can be
/// verified here.
pub(super) fn is_right(packet: &[u8]) -> bool {
    let Some(transport) = Transport::find(packet) else { return true };
    let Some(covered) = packet.get(transport.start..transport.end) else { return false };
    transport.is_right(packet, |sum| sum.add(covered))
}

/// Returns a check as it is sent: one of UDP that is 0 would say that there is none, and is sent as
/// the other zero (RFC 768).
pub(super) fn sent(check: u16, offset: u16) -> u16 {
    if offset == IN_UDP && check == 0 { 0xffff } else { check }
}
