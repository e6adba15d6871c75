//! Neighbouring segments of a super-packet, as one again or one as a packet of its own.

use std::ops::{DerefMut, Range};

use stackwright_contract::services::Batch;
use stackwright_wire::check::Internet;
use stackwright_wire::{Block as _, Message, Pool, count_copied};

use super::checksum::{self, IN_TCP, IN_UDP, IPV6, TCP, UDP, pseudo_header};
use super::offload::{self, Offload, SegmentKind};
use super::super_packet::{Layout, SuperPacket};

/// Flags of TCP (RFC 9293 §3.1, RFC 3168 §6.1.2).
pub(super) const FIN: u8 = 1;
pub(super) const PUSH: u8 = 8;
const CONGESTION_WINDOW_REDUCED: u8 = 128;

/// Which check a lone segment gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checks {
    /// A complete one.
    Complete,
    /// The sum over the pseudo-header: somebody else completes it.
    Offered,
}

impl<O: DerefMut<Target = [u8]>> SuperPacket<O> {
    /// Writes the device's header and those of the frame into `head`, and returns what follows
    /// them.
    ///
    /// One segment has the check that is asked for; that of several is left to the receiving
    /// kernel, which then spares it as it does its own.
    ///
    /// # Panics
    /// Where there are no such segments.
    pub fn encode(&self, segments: Range<usize>, checks: Checks, head: &mut Vec<u8>) -> &[u8] {
        assert!(
            segments.start < segments.end && segments.end <= self.segments(),
            "a super-packet has {segments:?}"
        );
        head.clear();
        let Some(layout) = self.layout else {
            head.extend_from_slice(&Offload::default().encode());
            return &self.octets;
        };
        let (headers, payload) = self.octets.split_at(usize::from(layout.headers));
        let span = self.span(layout, segments.clone());
        let alone = segments.len() == 1;
        let payload = &payload[span.clone()];

        let (offset, protocol) =
            if layout.kind == SegmentKind::Udp { (IN_UDP, UDP) } else { (IN_TCP, TCP) };
        let complete = alone && checks == Checks::Complete;
        let offload = Offload {
            checksum: (!complete).then_some((layout.transport, offset)),
            split: (!alone).then_some((layout.kind, layout.size, layout.headers)),
            valid: false,
        };
        head.extend_from_slice(&offload.encode());
        head.extend_from_slice(headers);
        let packet = &mut head[offload::LENGTH + usize::from(layout.network)..];
        let start = usize::from(layout.transport - layout.network);
        network_header(packet, start, segments.start, payload.len());
        let last = segments.end == self.segments();
        transport_header(&mut packet[start..], layout, &span, last);

        let length = packet.len() - start + payload.len();
        let sum = pseudo_header(packet, protocol, length);
        let transport = &mut packet[start..];
        let at = usize::from(offset);
        transport[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        if complete {
            let mut check = Internet::new();
            check.add(transport);
            check.add(payload);
            let check = checksum::sent(check.value(), offset);
            transport[at..at + 2].copy_from_slice(&check.to_be_bytes());
        }
        payload
    }

    /// Returns its segments as frames of their own, one behind the other behind `headroom` octets,
    /// with the sum over the pseudo-header as check.
    pub(super) fn split<M: Message>(&self, headroom: usize, pool: &Pool<M>) -> Batch<M> {
        let count = self.segments();
        let total = (0..count).map(|nth| self.octets(nth..nth + 1)).sum::<usize>();
        let block = pool.again(headroom + total);
        let mut block = block.unwrap_or_else(|| M::Block::zeroed(headroom + total));
        let (mut at, mut head) = (headroom, Vec::new());
        for nth in 0..count {
            let payload = self.encode(nth..nth + 1, Checks::Offered, &mut head);
            for octets in [&head[offload::LENGTH..], payload] {
                block[at..at + octets.len()].copy_from_slice(octets);
                at += octets.len();
            }
        }
        count_copied(total);
        Batch::new(M::from_block(block, headroom, at), self.octets(0..1))
    }
}

/// Writes the length of these segments, and the identification of the first.
fn network_header(packet: &mut [u8], start: usize, first: usize, payload: usize) {
    let length = packet.len() + payload;
    if packet[0] >> 4 == 4 {
        // A super-packet has at most 65 535 octets, so that neither cuts anything off.
        let length = length as u16;
        let identification = u16::from_be_bytes([packet[4], packet[5]]).wrapping_add(first as u16);
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        packet[4..6].copy_from_slice(&identification.to_be_bytes());
        checksum::complete_ipv4(&mut packet[..start]);
    } else {
        let length = (length - IPV6) as u16;
        packet[4..6].copy_from_slice(&length.to_be_bytes());
    }
}

/// Writes numbers and flags as the sender would have written them into these segments.
fn transport_header(header: &mut [u8], layout: Layout, span: &Range<usize>, last: bool) {
    if layout.kind == SegmentKind::Udp {
        let length = (8 + span.len()) as u16;
        header[4..6].copy_from_slice(&length.to_be_bytes());
        return;
    }
    let number = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    let number = number.wrapping_add(span.start as u32);
    header[4..8].copy_from_slice(&number.to_be_bytes());
    if !last {
        header[13] &= !(FIN | PUSH);
    }
    if span.start > 0 {
        header[13] &= !CONGESTION_WINDOW_REDUCED;
    }
}
