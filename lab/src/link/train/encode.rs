//! To a device: neighbouring segments as one super-packet again, or one as a packet of its own.

use std::ops::Range;

use stackwright_wire::check::Internet;

use super::super::offload::{self, Kind, Offload};
use super::checksum::{self, IN_TCP, IN_UDP, pseudo_header};
use super::{Cut, Train};

/// Flags of TCP (RFC 9293 §3.1, RFC 3168 §6.1.2).
const FIN: u8 = 1;
const PUSH: u8 = 8;
const CONGESTION_WINDOW_REDUCED: u8 = 128;

impl Train {
    /// Writes the device's header and those of the packet into `head`, and returns what follows
    /// them.
    ///
    /// One segment has a complete checksum; several are left to the receiving kernel, which then
    /// spares them as it does its own.
    ///
    /// # Panics
    ///
    /// Where there are no such segments.
    pub(in super::super) fn encode(&self, segments: Range<usize>, head: &mut Vec<u8>) -> &[u8] {
        assert!(
            segments.start < segments.end && segments.end <= self.segments(),
            "a train has {segments:?}"
        );
        head.clear();
        let Some(cut) = self.cut else {
            head.extend_from_slice(&Offload::default().encode());
            return &self.octets;
        };
        let (headers, payload) = self.octets.split_at(usize::from(cut.headers));
        let span = self.span(cut, segments.clone());
        let alone = segments.len() == 1;
        let payload = &payload[span.clone()];

        let offset = if cut.kind == Kind::Udp { IN_UDP } else { IN_TCP };
        let offload = if alone {
            Offload::default()
        } else {
            Offload {
                checksum: Some((cut.transport, offset)),
                cut: Some((cut.kind, cut.size, cut.headers)),
            }
        };
        head.extend_from_slice(&offload.encode());
        head.extend_from_slice(headers);
        let packet = &mut head[offload::LENGTH..];
        network_header(packet, cut, segments.start, payload.len());
        let last = segments.end == self.segments();
        transport_header(&mut packet[usize::from(cut.transport)..], cut, &span, last);

        let length = packet.len() - usize::from(cut.transport) + payload.len();
        let protocol = if cut.kind == Kind::Udp { 17 } else { 6 };
        let sum = pseudo_header(packet, protocol, length);
        let transport = &mut packet[usize::from(cut.transport)..];
        let at = usize::from(offset);
        transport[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        if alone {
            let mut check = Internet::new();
            check.add(transport);
            check.add(payload);
            let check = checksum::sent(check.value(), offset);
            transport[at..at + 2].copy_from_slice(&check.to_be_bytes());
        }
        payload
    }
}

/// The length is that of these segments, and each has the identification of its place in the train.
fn network_header(packet: &mut [u8], cut: Cut, first: usize, payload: usize) {
    let length = usize::from(cut.headers) + payload;
    if packet[0] >> 4 == 4 {
        // A train has at most 65 535 octets, so that neither cuts anything off.
        let length = length as u16;
        let identification = u16::from_be_bytes([packet[4], packet[5]]).wrapping_add(first as u16);
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        packet[4..6].copy_from_slice(&identification.to_be_bytes());
        checksum::complete_ipv4(&mut packet[..usize::from(cut.transport)]);
    } else {
        let length = (length - 40) as u16;
        packet[4..6].copy_from_slice(&length.to_be_bytes());
    }
}

/// Numbers and flags as the sender would have written them into these segments.
fn transport_header(header: &mut [u8], cut: Cut, span: &Range<usize>, last: bool) {
    if cut.kind == Kind::Udp {
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
