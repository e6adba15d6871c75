//! The headers of one segment of a super-packet: several segments of TCP or UDP under one header.

use core::net::IpAddr;
use core::ops::Range;

use super::pseudo_header;
use crate::check::Internet;

/// The protocol number of TCP.
const TCP: u8 = 6;
/// Flags of TCP (RFC 9293 §3.1, RFC 3168 §6.1.2).
const FIN: u8 = 1;
const PUSH: u8 = 8;
const CONGESTION_WINDOW_REDUCED: u8 = 128;

/// Writes the check of an IPv4 header, with its options, into it.
///
/// # Panics
/// Where there are fewer than 20 octets.
pub fn complete_ipv4(header: &mut [u8]) {
    header[10..12].fill(0);
    let check = Internet::of(header);
    header[10..12].copy_from_slice(&check.to_be_bytes());
}

/// Returns the [sum over the pseudo-header](pseudo_header) of an IP packet whose transport header
/// and payload have `octets` octets.
///
/// # Panics
/// Where `packet` is shorter than its IP header.
pub fn pseudo_header_of(packet: &[u8], protocol: u8, octets: usize) -> u16 {
    fn host<const N: usize>(packet: &[u8], at: usize) -> IpAddr
    where
        IpAddr: From<[u8; N]>,
    {
        let octets: [u8; N] = packet[at..at + N].try_into().expect("a slice of that length");
        octets.into()
    }
    let (source, destination) = if packet[0] >> 4 == 4 {
        (host::<4>(packet, 12), host::<4>(packet, 16))
    } else {
        (host::<16>(packet, 8), host::<16>(packet, 24))
    };
    // A length has at most 17 bits.
    pseudo_header(source, destination, protocol, u32::try_from(octets).unwrap_or(u32::MAX))
}

/// Makes the headers of a super-packet those of its segments from the `nth` on, which have the
/// octets `span` of its payload, and are the `last`, or not: lengths, numbers and flags, as its
/// sender would have written them. The transport's check is the sum over the pseudo-header, to be
/// completed. `headers` begin with that of IP; the transport's begins at `start`.
///
/// # Panics
/// Where there are fewer octets than the headers have.
pub fn segment_headers(
    headers: &mut [u8],
    (protocol, start): (u8, usize),
    nth: usize,
    span: Range<usize>,
    last: bool,
) {
    // A super-packet has at most 65 535 octets, so that no length is cut off.
    let total = headers.len() + span.len();
    if headers[0] >> 4 == 4 {
        let identification = u16::from_be_bytes([headers[4], headers[5]]).wrapping_add(nth as u16);
        headers[2..4].copy_from_slice(&(total as u16).to_be_bytes());
        headers[4..6].copy_from_slice(&identification.to_be_bytes());
        complete_ipv4(&mut headers[..start]);
    } else {
        headers[4..6].copy_from_slice(&((total - 40) as u16).to_be_bytes());
    }
    let sum = pseudo_header_of(headers, protocol, total - start).to_be_bytes();
    let header = &mut headers[start..];
    if protocol != TCP {
        header[4..6].copy_from_slice(&((8 + span.len()) as u16).to_be_bytes());
        return header[6..8].copy_from_slice(&sum);
    }
    let number = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    let number = number.wrapping_add(span.start as u32);
    header[4..8].copy_from_slice(&number.to_be_bytes());
    header[16..18].copy_from_slice(&sum);
    // The last ends what the whole ended; the first says that the window was reduced.
    if !last {
        header[13] &= !(FIN | PUSH);
    }
    if span.start > 0 {
        header[13] &= !CONGESTION_WINDOW_REDUCED;
    }
}
