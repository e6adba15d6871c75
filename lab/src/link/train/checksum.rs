//! The Internet check of headers whose fields have changed.

use stackwright_wire::check::Internet;

/// Where the checksum stands in a TCP header.
pub(super) const IN_TCP: u16 = 16;
/// Where it stands in a UDP header.
pub(super) const IN_UDP: u16 = 6;

/// The sum over the pseudo-header (RFC 9293 §3.1, RFC 8200 §8.1), not yet complemented, of an IP
/// packet whose transport header and payload have `length` octets.
///
/// # Panics
///
/// Where `packet` is shorter than its IP header.
pub(super) fn pseudo_header(packet: &[u8], protocol: u8, length: usize) -> u16 {
    let mut check = Internet::new();
    check.add(if packet[0] >> 4 == 4 { &packet[12..20] } else { &packet[8..40] });
    check.add(&[0, protocol]);
    // A length has at most 17 bits.
    check.add(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    !check.value()
}

/// A UDP checksum of 0 means that there is none, so that a sum of 0 is sent as the other zero (RFC
/// 768).
pub(super) fn sent(check: u16, offset: u16) -> u16 {
    if offset == IN_UDP && check == 0 { 0xffff } else { check }
}

/// Writes the check of an IPv4 header of so many octets into it.
///
/// # Panics
///
/// Where there are fewer than 20.
pub(super) fn complete_ipv4(header: &mut [u8]) {
    header[10..12].fill(0);
    let check = Internet::of(header);
    header[10..12].copy_from_slice(&check.to_be_bytes());
}
