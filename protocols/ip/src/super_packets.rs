//! A TCP packet that a kernel has handed over before it was segmented, segmented: where it leaves
//! by a link that takes less.

use alloc::vec;
use alloc::vec::Vec;

use stackwright_wire::Message;
use stackwright_wire::check::Internet;
use stackwright_wire::internet::pseudo_header;

use crate::head::v6;
use crate::head::{Head, TCP};

const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// Returns the packets of at most `longest` octets that a super-packet stands for, and the octets
/// of each but the last; `None`: it is malformed, or its headers are too long for any. With
/// `checks`, the check fields hold the sum of the pseudo-header, which a driver completes.
pub(crate) fn split(
    head: &Head,
    packet: &impl Message,
    longest: usize,
    checks: bool,
) -> Option<(Vec<u8>, usize)> {
    let mut whole = vec![0; head.total];
    packet.copy_to(&mut whole);
    let ip = usize::from(head.length);
    let tcp = usize::from(*whole.get(ip + 12)? >> 4) * 4;
    let header = ip + tcp;
    if tcp < 20 || header >= whole.len() || longest <= header {
        return None;
    }
    let each = longest - header;
    let (front, payload) = whole.split_at(header);
    let count = payload.len().div_ceil(each);
    let mut octets = Vec::with_capacity(payload.len() + count * header);
    let number = u32::from_be_bytes(*front[ip + 4..].first_chunk()?);
    for (place, part) in payload.chunks(each).enumerate() {
        let start = octets.len();
        octets.extend_from_slice(front);
        octets.extend_from_slice(part);
        let packet = &mut octets[start..];
        let total = packet.len() as u16;
        if head.source.is_ipv4() {
            packet[2..4].copy_from_slice(&total.to_be_bytes());
            packet[10..12].fill(0);
            let check = Internet::of(&packet[..ip]);
            packet[10..12].copy_from_slice(&check.to_be_bytes());
        } else {
            let behind = total - v6::LENGTH as u16;
            packet[4..6].copy_from_slice(&behind.to_be_bytes());
        }
        let segment = &mut packet[ip..];
        let number = number.wrapping_add((place * each) as u32);
        segment[4..8].copy_from_slice(&number.to_be_bytes());
        // The last ends what the whole ended; the first says that the window was reduced.
        if place + 1 < count {
            segment[13] &= !(FIN | PSH);
        }
        if place > 0 {
            segment[13] &= !CWR;
        }
        let sum = pseudo_header(head.source, head.destination, TCP, segment.len() as u32);
        segment[16..18].copy_from_slice(&sum.to_be_bytes());
        if !checks {
            let check = Internet::of(segment);
            segment[16..18].copy_from_slice(&check.to_be_bytes());
        }
    }
    Some((octets, longest))
}
