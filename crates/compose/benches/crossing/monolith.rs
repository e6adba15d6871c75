//! The four headers in one function each way, by hand: what composition is measured against.
//!
//! It writes the same octets into the same memory and refuses the same messages, but as nobody
//! would who had to change a layer: one stretch of room for all headers, one test of the length,
//! words prepared and compared with masks instead of fields. It shares nothing but the sums. Make
//! it faster where you can; never slower.

use stackwright_contract::Context;
use stackwright_wire::check::{Crc16, Crc32c, Internet};
use stackwright_wire::{Message, SingleBuffer};

use crate::{BothWays, Ends, Station};

const RECORD: usize = 5;
const PACKET: usize = 4 + 12;
const DATAGRAM: usize = 20;
const FRAME: usize = 2 + 16;
/// All four.
const HEADERS: usize = FRAME + DATAGRAM + PACKET + RECORD;

// Where each begins.
const DATAGRAM_AT: usize = FRAME;
const PACKET_AT: usize = DATAGRAM_AT + DATAGRAM;
const RECORD_AT: usize = PACKET_AT + PACKET;

/// The bits of the two halves of a frame's header that have one right value: all but the source's
/// call sign and number and the two bits for commands and responses. Of a call sign's octets the
/// last bit.
const FRAME_MASKS: [u64; 2] = [
    u64::from_le_bytes([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x01]),
    u64::from_le_bytes([0x01, 0x01, 0x01, 0x01, 0x01, 0x61, 0xff, 0xff]),
];

/// Tag and all.
pub(crate) struct Monolith<const CHECKS: bool> {
    /// As it travels.
    tag: [u8; 2],
    next: u32,
    expected: u32,
    window: [u8; 2],
    identification: u16,
    transport: u8,
    local: [u8; 4],
    /// Source and destination.
    addresses: [u8; 8],
    frame: [u8; 16],
    /// What an arriving frame has under `FRAME_MASKS`.
    arriving: [u64; 2],
}

impl<const CHECKS: bool> Monolith<CHECKS> {
    pub(crate) fn new(station: &Station) -> Self {
        let mut addresses = [0; 8];
        addresses[..4].copy_from_slice(&station.local);
        addresses[4..].copy_from_slice(&station.remote);
        let frame = |destination: ([u8; 6], u8), source: ([u8; 6], u8)| {
            let mut frame = [0; 16];
            frame[..6].copy_from_slice(&destination.0.map(|character| character << 1));
            frame[6] = 0x80 | 0x60 | destination.1 << 1;
            frame[7..13].copy_from_slice(&source.0.map(|character| character << 1));
            frame[13] = 0x60 | source.1 << 1 | 1;
            frame[14] = 0x03;
            frame[15] = station.network;
            frame
        };
        let arriving = halves(&frame(station.local_sign, station.remote_sign));
        Monolith {
            tag: station.tag.to_be_bytes(),
            next: 0,
            expected: 0,
            window: station.window.to_be_bytes(),
            identification: 0,
            transport: station.transport,
            local: station.local,
            addresses,
            frame: frame(station.remote_sign, station.local_sign),
            arriving: [arriving[0] & FRAME_MASKS[0], arriving[1] & FRAME_MASKS[1]],
        }
    }
}

/// One reason for all faults: whoever reads the count knows no more, and no fault costs the good
/// messages anything.
#[cold]
#[inline(never)]
fn dropped(cx: &Context) {
    cx.dropped("Monolith", "a fault");
}

#[inline]
fn halves(frame: &[u8; 16]) -> [u64; 2] {
    let (first, second) = frame.split_at(8);
    [first, second].map(|half| u64::from_le_bytes(half.try_into().expect("half of 16")))
}

impl<const CHECKS: bool> BothWays for Monolith<CHECKS> {
    #[inline(never)]
    fn down(&mut self, cx: &Context, message: SingleBuffer, ends: &mut Ends) {
        let [mut message] = [message]; // see `up`
        let length = message.len();
        if length > usize::from(u16::MAX) - RECORD - PACKET - DATAGRAM {
            return dropped(cx);
        }
        message.push_front(HEADERS);
        let octets = message.octets_mut();
        let (headers, _) = octets.split_first_chunk_mut::<HEADERS>().expect("just pushed");

        headers[RECORD_AT] = 1;
        headers[RECORD_AT + 1..RECORD_AT + 3].copy_from_slice(&(length as u16).to_be_bytes());
        headers[RECORD_AT + 3..].copy_from_slice(&self.tag);

        let number = self.next;
        self.next = number.wrapping_add(1);
        headers[PACKET_AT + 4..PACKET_AT + 8].copy_from_slice(&number.to_be_bytes());
        headers[PACKET_AT + 8..PACKET_AT + 12].copy_from_slice(&self.expected.to_be_bytes());
        headers[PACKET_AT + 12..PACKET_AT + 14].copy_from_slice(&self.window);
        headers[PACKET_AT + 14..PACKET_AT + 16].copy_from_slice(&[0x80, 0]);

        let total = (length + RECORD + PACKET + DATAGRAM) as u32;
        self.identification = self.identification.wrapping_add(1);
        headers[DATAGRAM_AT..DATAGRAM_AT + 4].copy_from_slice(&(0x4500_0000 | total).to_be_bytes());
        headers[DATAGRAM_AT + 4..DATAGRAM_AT + 6]
            .copy_from_slice(&self.identification.to_be_bytes());
        headers[DATAGRAM_AT + 6..DATAGRAM_AT + 9].copy_from_slice(&[0x40, 0, 64]);
        headers[DATAGRAM_AT + 9] = self.transport;
        headers[DATAGRAM_AT + 10..DATAGRAM_AT + 12].copy_from_slice(&[0; 2]);
        headers[DATAGRAM_AT + 12..DATAGRAM_AT + 20].copy_from_slice(&self.addresses);

        headers[2..FRAME].copy_from_slice(&self.frame);

        let check =
            if CHECKS { Crc32c::of(&octets[PACKET_AT + 4..]) } else { Crc32c::new().value() };
        octets[PACKET_AT..PACKET_AT + 4].copy_from_slice(&check.to_be_bytes());
        if CHECKS {
            let check = Internet::of(&octets[DATAGRAM_AT..PACKET_AT]);
            octets[DATAGRAM_AT + 10..DATAGRAM_AT + 12].copy_from_slice(&check.to_be_bytes());
        }
        let check = if CHECKS { Crc16::of(&octets[2..]) } else { Crc16::new().value() };
        octets[..2].copy_from_slice(&check.to_le_bytes());
        ends.fallen = Some(message);
    }

    #[inline(never)]
    fn up(&mut self, cx: &Context, message: SingleBuffer, ends: &mut Ends) {
        // Moved once, so that it is altered in registers: in the caller's memory, where it came, it
        // would be stored in part and then loaded whole, for which the processor makes the load
        // wait.
        let [mut message] = [message];
        let octets = message.octets();
        let Some((headers, payload)) = octets.split_first_chunk::<HEADERS>() else {
            return dropped(cx);
        };

        let check = if CHECKS { Crc16::of(&octets[2..]) } else { Crc16::new().value() };
        if u16::from_le_bytes([headers[0], headers[1]]) != check {
            return dropped(cx);
        }
        let frame: &[u8; 16] = headers[2..FRAME].try_into().expect("16 octets");
        let [first, second] = halves(frame);
        if first & FRAME_MASKS[0] != self.arriving[0] || second & FRAME_MASKS[1] != self.arriving[1]
        {
            return dropped(cx);
        }

        let datagram: &[u8; DATAGRAM] =
            headers[DATAGRAM_AT..PACKET_AT].try_into().expect("20 octets");
        if CHECKS && Internet::of(datagram) != 0 {
            return dropped(cx);
        }
        // No reserved bit, no more fragments, no offset: all but the bit "don't fragment" is zero.
        if datagram[0] != 0x45 || (datagram[6] & !0x40) | datagram[7] != 0 {
            return dropped(cx);
        }
        if datagram[9] != self.transport || datagram[16..] != self.local {
            return dropped(cx);
        }
        let total = usize::from(u16::from_be_bytes([datagram[2], datagram[3]]));
        if total < DATAGRAM + PACKET + RECORD
            || total - (DATAGRAM + PACKET + RECORD) > payload.len()
        {
            return dropped(cx);
        }

        let packet: &[u8; PACKET] = headers[PACKET_AT..RECORD_AT].try_into().expect("16 octets");
        let covered = &octets[PACKET_AT + 4..DATAGRAM_AT + total];
        let check = if CHECKS { Crc32c::of(covered) } else { Crc32c::new().value() };
        if u32::from_be_bytes([packet[0], packet[1], packet[2], packet[3]]) != check {
            return dropped(cx);
        }
        let number = u32::from_be_bytes([packet[4], packet[5], packet[6], packet[7]]);
        let acknowledged = u32::from_be_bytes([packet[8], packet[9], packet[10], packet[11]]);
        if (packet[14] & 0x3f) | packet[15] != 0
            || number != self.expected
            || acknowledged > self.next
        {
            return dropped(cx);
        }
        self.expected = number.wrapping_add(1);

        let record: &[u8; RECORD] = headers[RECORD_AT..].try_into().expect("5 octets");
        let length = usize::from(u16::from_be_bytes([record[1], record[2]]));
        if record[0] != 1
            || length != total - (DATAGRAM + PACKET + RECORD)
            || record[3..] != self.tag
        {
            return dropped(cx);
        }
        message.advance(HEADERS);
        message.truncate(length);
        ends.risen = Some(message);
    }
}
