//! Neighbouring segments of a super-packet, as one again or one as a packet of its own.

use std::ops::{DerefMut, Range};

use stackwright_contract::services::Batch;
use stackwright_wire::check::Internet;
use stackwright_wire::internet::segment_headers;
use stackwright_wire::{Block as _, Message, Pool, count_copied};

use super::checksum::{self, IN_TCP, IN_UDP, TCP, UDP};
use super::offload::{self, Offload, SegmentKind};
use super::super_packet::SuperPacket;

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
        let last = segments.end == self.segments();
        segment_headers(packet, (protocol, start), segments.start, span, last);
        let transport = &mut packet[start..];
        let at = usize::from(offset);
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
