//! A batch of frames in as few writes as possible: neighbours that are segments of one super-packet
//! leave as that, headers first, then every payload where it is.

use std::io::IoSlice;

use rustix::io::Errno;
use stackwright_contract::services::Batch;
use stackwright_wire::Message;
use stackwright_wire::internet::{complete_ipv4, pseudo_header_of};

use super::ETHERNET;
use super::checksum::{IPV6, TCP, Transport, network};
use super::offload::{self, Offload, SegmentKind};

/// Octets of all headers of a frame, at most: those of a link, of IPv4 and TCP with all options.
const FRONT: usize = 192;
/// Pieces of a write behind its headers, at most.
const PIECES: usize = 72;
/// Octets of the longest super-packet.
const LONGEST: usize = 65_535;
/// `UDP_MAX_SEGMENTS` of linux/udp.h, before Linux 6.9 doubled it.
const DATAGRAMS_MOST: usize = 64;
/// Flags of TCP that only the last segment has (RFC 9293 §3.1).
const FIN: u8 = 1;
pub(super) const PUSH: u8 = 8;
/// Flags of TCP that all segments of one super-packet may have, beside a push: an acknowledgement,
/// an ECN echo (RFC 9293 §3.1).
const ACK: u8 = 16;
const ECHO: u8 = 64;

/// What may be merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Merging {
    pub(super) segments: bool,
    pub(super) datagrams: bool,
}

impl Merging {
    pub(super) const NONE: Self = Merging { segments: false, datagrams: false };
}

/// A write that failed.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) error: Errno,
    /// How many frames it would have written; 0: one that is in too many pieces.
    pub(super) frames: usize,
}

/// Writes the frames of `batch` from the `done`-th on, which is counted up, until one write fails.
/// They are IP packets, or behind a header of `link` octets: that of Ethernet.
///
/// # Errors
/// What failed; `done` frames were written before.
pub(super) fn write<M: Message>(
    batch: &Batch<M>,
    done: &mut usize,
    link: usize,
    merging: Merging,
    mut put: impl FnMut(&[IoSlice<'_>]) -> Result<(), Errno>,
) -> Result<(), Failed> {
    let mut frame = Frame::EMPTY;
    if batch.segment_size().is_none() {
        if *done > 0 {
            return Ok(());
        }
        let is_whole = batch.pieces().all(|pieces| frame.read(pieces));
        frame.put(link, is_whole, put)?;
        *done = 1;
        return Ok(());
    }
    let mut put = |run: Option<Run<'_>>, done: &mut usize| {
        let Some(run) = run else { return Ok(()) };
        let frames = run.frames;
        run.put(&mut put).map_err(|error| Failed { error, frames })?;
        *done += frames;
        Ok(())
    };
    let mut run: Option<Run<'_>> = None;
    for pieces in batch.pieces().skip(*done) {
        if !frame.read(pieces) {
            put(run.take(), done)?;
            return Err(Failed { error: Errno::MSGSIZE, frames: 0 });
        }
        let headers = Headers::find(&frame, link);
        if let Some(run) = &mut run
            && let Some(headers) = headers
            && run.join(&frame, headers)
        {
            continue;
        }
        put(run.replace(Run::begin(&frame, headers, merging)), done)?;
    }
    put(run, done)
}

/// Writes a frame whose headers are in one place.
fn emit<'p>(
    offload: Offload,
    headers: &[u8],
    pieces: impl Iterator<Item = &'p [u8]>,
    put: impl FnOnce(&[IoSlice<'_>]) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let mut head = [0; offload::LENGTH + FRONT];
    let head = &mut head[..offload::LENGTH + headers.len()];
    head[..offload::LENGTH].copy_from_slice(&offload.encode());
    head[offload::LENGTH..].copy_from_slice(headers);
    let mut slices = [IoSlice::new(&[]); 1 + PIECES];
    slices[0] = IoSlice::new(head);
    let mut count = 1;
    for (slice, piece) in slices[1..].iter_mut().zip(pieces) {
        *slice = IoSlice::new(piece);
        count += 1;
    }
    put(&slices[..count])
}

/// A frame: where its pieces are, and a copy of its front.
struct Frame<'a> {
    front: [u8; FRONT],
    octets: usize,
    pieces: [&'a [u8]; PIECES],
    count: usize,
}

impl<'a> Frame<'a> {
    const EMPTY: Self = Frame { front: [0; FRONT], octets: 0, pieces: [&[]; PIECES], count: 0 };

    /// Returns whether it has not too many pieces.
    fn read(&mut self, pieces: impl Iterator<Item = &'a [u8]>) -> bool {
        (self.octets, self.count) = (0, 0);
        for piece in pieces {
            let Some(place) = self.pieces.get_mut(self.count) else { return false };
            *place = piece;
            self.count += 1;
            if let Some(free) = self.front.get_mut(self.octets..) {
                let octets = piece.len().min(free.len());
                free[..octets].copy_from_slice(&piece[..octets]);
            }
            self.octets += piece.len();
        }
        true
    }

    /// Writes it, if it is `whole`.
    fn put(
        &self,
        link: usize,
        whole: bool,
        put: impl FnOnce(&[IoSlice<'_>]) -> Result<(), Errno>,
    ) -> Result<(), Failed> {
        let headers = Headers::find(self, link);
        let octets = headers.map_or(0, |headers| headers.octets);
        let incomplete = headers.filter(|headers| headers.incomplete);
        let checksum = incomplete.and_then(Headers::checksum);
        let offload = Offload { checksum, ..Offload::default() };
        let written = if whole && self.octets > 0 {
            emit(offload, &self.front[..octets], self.behind(octets), put)
        } else {
            Err(Errno::MSGSIZE)
        };
        written.map_err(|error| Failed { error, frames: 1 })
    }

    fn front(&self) -> &[u8] {
        &self.front[..self.octets.min(FRONT)]
    }

    /// Lends what is behind the first `octets` octets.
    fn behind(&self, mut octets: usize) -> impl Iterator<Item = &'a [u8]> {
        self.pieces[..self.count].iter().filter_map(move |piece| {
            let skipped = octets;
            octets = octets.saturating_sub(piece.len());
            piece.get(skipped..).filter(|rest| !rest.is_empty())
        })
    }
}

/// What is known of a frame with a transport's header.
#[derive(Clone, Copy)]
struct Headers {
    /// Where the IP header begins.
    link: usize,
    /// Relative to the IP header.
    transport: Transport,
    /// Octets of all headers.
    octets: usize,
    incomplete: bool,
}

impl Headers {
    fn find(frame: &Frame<'_>, link: usize) -> Option<Self> {
        let front = frame.front();
        let link = network(front, link)?;
        let packet = front.get(link..)?;
        let transport = Transport::find(packet)?;
        let length = match transport.protocol {
            TCP => usize::from(packet[transport.start + 12] >> 4) * 4,
            _ => 8,
        };
        let octets = link + transport.start + length;
        let least = if transport.protocol == TCP { 20 } else { 8 };
        let fits = length >= least
            && octets <= front.len()
            && octets <= link + transport.end
            && link + transport.end <= frame.octets;
        fits.then(|| Headers {
            link,
            transport,
            octets,
            incomplete: transport.is_incomplete(packet),
        })
    }

    /// Returns what the check of the frame says to a device.
    fn checksum(self) -> Option<(u16, u16)> {
        // All headers are in a front.
        Some(((self.link + self.transport.start) as u16, self.transport.offset()))
    }

    /// Returns whether nothing is behind the transport's payload.
    fn fill(self, frame: &Frame<'_>) -> bool {
        let Transport { end, packet, .. } = self.transport;
        end == packet && self.link + end == frame.octets
    }

    /// Returns whether its check will be right, or is.
    fn is_sound<'p>(self, front: &[u8], payload: impl Iterator<Item = &'p [u8]>) -> bool {
        let Transport { protocol, start, .. } = self.transport;
        let packet = &front[self.link..self.octets];
        // A datagram without a check gets none.
        let has_one = protocol == TCP || self.transport.check(packet) != 0;
        self.incomplete
            || has_one
                && self.transport.is_right(packet, |sum| {
                    sum.add(&packet[start..]);
                    payload.for_each(|piece| sum.add(piece));
                })
    }
}

/// Neighbouring frames that leave in one write.
struct Run<'a> {
    front: [u8; FRONT],
    /// Of the first frame; `None` where they are not known: then it leaves as it is.
    headers: Option<Headers>,
    /// Which bits of the headers others must have alike, if others may follow.
    alike: Option<[u8; FRONT]>,
    /// Whether all have one identification; `None`: there is one frame.
    fixed: Option<bool>,
    frames: usize,
    /// Octets of payload of the first.
    size: usize,
    /// Octets of payload of all.
    payload: usize,
    pieces: [&'a [u8]; PIECES],
    count: usize,
}

impl<'a> Run<'a> {
    fn begin(frame: &Frame<'a>, headers: Option<Headers>, merging: Merging) -> Self {
        let octets = headers.map_or(0, |headers| headers.octets);
        let alike = headers.filter(|_| merging != Merging::NONE).filter(|headers| {
            let may = if headers.transport.protocol == TCP {
                merging.segments
            } else {
                merging.datagrams
            };
            may && begins(frame, *headers)
        });
        let mut run = Run {
            front: frame.front,
            headers,
            alike: alike.map(|headers| alike_bits(&frame.front, headers)),
            fixed: None,
            frames: 1,
            size: frame.octets - octets,
            payload: frame.octets - octets,
            pieces: [&[]; PIECES],
            count: 0,
        };
        // As many at most as the frame has.
        for (place, piece) in run.pieces.iter_mut().zip(frame.behind(octets)) {
            *place = piece;
            run.count += 1;
        }
        run
    }

    /// Takes a frame that is the next segment. Returns whether it is.
    fn join(&mut self, frame: &Frame<'a>, headers: Headers) -> bool {
        let (Some(alike), Some(first)) = (&self.alike, self.headers) else { return false };
        let is_tcp = first.transport.protocol == TCP;
        let link = headers.link;
        let payload = frame.octets - headers.octets;
        let more = frame.behind(headers.octets).count();
        let total = headers.octets - link + self.payload + payload;
        if headers.octets != first.octets
            || headers.transport.protocol != first.transport.protocol
            || !headers.fill(frame)
            || payload == 0
            || payload > self.size
            || total > LONGEST
            || self.count + more > PIECES
            || !is_tcp && self.frames >= DATAGRAMS_MOST
            || differ(&self.front, &frame.front, alike, headers.octets)
        {
            return false;
        }
        let fixed = match self.identifies(&self.front[link..], &frame.front[link..]) {
            Some(fixed) => fixed,
            None => return false,
        };
        let (old, new) = (first.transport.start + link, headers.transport.start + link);
        if is_tcp
            && number(&frame.front, new)
                != number(&self.front, old).wrapping_add(self.payload as u32)
            || !headers.is_sound(&frame.front, frame.behind(headers.octets))
        {
            return false;
        }
        let payload_of_first = self.pieces[..self.count].iter().copied();
        if self.frames == 1 && !first.is_sound(&self.front, payload_of_first) {
            self.alike = None;
            return false;
        }
        self.fixed = fixed;
        self.frames += 1;
        self.payload += payload;
        for (place, piece) in self.pieces[self.count..].iter_mut().zip(frame.behind(headers.octets))
        {
            *place = piece;
        }
        self.count += more;
        // Senders that push each segment are served as those that push the last: it has the flag.
        let pushed = self.front[old + 13] & PUSH != 0;
        let ending = if pushed { FIN } else { FIN | PUSH };
        let ends = is_tcp && frame.front[new + 13] & ending != 0;
        if is_tcp {
            self.front[old + 13] |= frame.front[new + 13];
        }
        if ends || payload < self.size {
            self.alike = None;
        }
        true
    }

    /// Returns whether the identification of IPv4 goes on, and how: by one each, as segmentation
    /// counts it, or not at all, where it means nothing (RFC 6864 §4.1). `None`: it does not.
    fn identifies(&self, first: &[u8], packet: &[u8]) -> Option<Option<bool>> {
        if first[0] >> 4 == 6 {
            return Some(None);
        }
        let [old, new] = [first, packet].map(|packet| u16::from_be_bytes([packet[4], packet[5]]));
        let unfragmented = first[6] & 0x40 != 0;
        if self.fixed != Some(true) && new == old.wrapping_add(self.frames as u16) {
            Some(Some(false))
        } else if self.fixed != Some(false) && unfragmented && new == old {
            Some(Some(true))
        } else {
            None
        }
    }

    /// Writes it.
    fn put(mut self, put: impl FnOnce(&[IoSlice<'_>]) -> Result<(), Errno>) -> Result<(), Errno> {
        let mut offload = Offload::default();
        let octets = self.headers.map_or(0, |headers| headers.octets);
        if let Some(headers) = self.headers {
            if headers.incomplete || self.frames > 1 {
                offload.checksum = headers.checksum();
            }
            if self.frames > 1 {
                let kind = self.unite(headers);
                // A size is less than 64 KiB, and headers are in a front.
                offload.split = Some((kind, self.size as u16, octets as u16));
            }
        }
        emit(offload, &self.front[..octets], self.pieces[..self.count].iter().copied(), put)
    }

    /// Makes the headers those of one packet.
    fn unite(&mut self, headers: Headers) -> SegmentKind {
        let Transport { protocol, start, .. } = headers.transport;
        let packet = &mut self.front[headers.link..headers.octets];
        // No longer than the longest.
        let total = (packet.len() + self.payload) as u16;
        let length = total - start as u16;
        let is_v4 = packet[0] >> 4 == 4;
        if is_v4 {
            packet[2..4].copy_from_slice(&total.to_be_bytes());
            complete_ipv4(&mut packet[..start]);
        } else {
            packet[4..6].copy_from_slice(&(total - IPV6 as u16).to_be_bytes());
        }
        if protocol != TCP {
            packet[start + 4..start + 6].copy_from_slice(&length.to_be_bytes());
        }
        let sum = pseudo_header_of(packet, protocol, length.into());
        let at = start + usize::from(headers.transport.offset());
        packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        match (protocol, is_v4) {
            (TCP, true) => SegmentKind::Tcp4,
            (TCP, false) => SegmentKind::Tcp6,
            _ => SegmentKind::Udp,
        }
    }
}

/// Returns whether a frame may be the first of several: one of UDP with a check, or one of TCP with
/// an acknowledgement and nothing that only one segment may say.
fn begins(frame: &Frame<'_>, headers: Headers) -> bool {
    let Headers { link, transport: Transport { protocol, start, .. }, .. } = headers;
    let is_plain = match protocol {
        TCP => frame.front[link + start + 13] & !(ECHO | PUSH) == ACK,
        _ => true,
    };
    // What segments a super-packet finds no tag of a VLAN, and no extension header of IPv6.
    let is_v4 = frame.front[link] >> 4 == 4;
    is_plain
        && link <= ETHERNET
        && (is_v4 || start == IPV6)
        && headers.fill(frame)
        && headers.octets < frame.octets
}

/// Returns which bits of the headers of a frame are the same in each segment.
fn alike_bits(front: &[u8; FRONT], headers: Headers) -> [u8; FRONT] {
    let mut bits = [0xff; FRONT];
    let packet = &mut bits[headers.link..];
    if front[headers.link] >> 4 == 4 {
        // Length, identification, check.
        packet[2..6].fill(0);
        packet[10..12].fill(0);
    } else {
        packet[4..6].fill(0);
    }
    let transport = &mut packet[headers.transport.start..];
    // The number of a segment; length and check of a datagram.
    transport[4..8].fill(0);
    if headers.transport.protocol == TCP {
        transport[13] = !(FIN | PUSH);
        transport[16..18].fill(0);
    }
    bits
}

/// Returns whether the first `octets` octets of two fronts differ in one of those bits.
fn differ(one: &[u8; FRONT], other: &[u8; FRONT], bits: &[u8; FRONT], octets: usize) -> bool {
    let pairs = one.iter().zip(other).zip(bits).take(octets);
    pairs.fold(0, |differ, ((one, other), bits)| differ | (one ^ other) & bits) != 0
}

/// The number of the first octet of a TCP segment.
fn number(front: &[u8; FRONT], start: usize) -> u32 {
    u32::from_be_bytes([front[start + 4], front[start + 5], front[start + 6], front[start + 7]])
}
