//! Super-packets of every kind, split and merged, and what is not merged.

use std::io::IoSlice;

use fastrand::Rng;
use rustix::io::Errno;
use stackwright_contract::services::Batch;
use stackwright_wire::internet::{complete_ipv4, pseudo_header_of};
use stackwright_wire::{BufferTree, Message as _, Pool, SingleBuffer};

use super::checksum::{IN_TCP, IN_UDP, TCP, Transport, UDP, is_right};
use super::merge::{Merging, PUSH, write};
use super::*;

const ALL: Merging = Merging { segments: true, datagrams: true };

/// A frame as a device gives it.
#[derive(Clone)]
struct Given {
    offload: Offload,
    link: usize,
    /// Octets of the IP header.
    network: usize,
    frame: Vec<u8>,
}

impl Given {
    /// Draws a super-packet of up to `most` segments: headers from random octets, with what must be
    /// right in them made right.
    fn draw(rng: &mut Rng, most: usize) -> Self {
        let (is_tcp, is_v4) = (rng.bool(), rng.bool());
        let link = if rng.bool() { 0 } else { ETHERNET };
        let network = if is_v4 { 20 + 4 * rng.usize(0..=10) } else { 40 };
        let transport = if is_tcp { 20 + 4 * rng.usize(0..=10) } else { 8 };
        let headers = link + network + transport;
        let size = rng.usize(1..=120);
        let payload = rng.usize(1..=most * size);
        let mut frame: Vec<u8> = (0..headers + payload).map(|_| rng.u8(..)).collect();
        if link > 0 {
            frame[12..14].copy_from_slice(if is_v4 { &[0x08, 0] } else { &[0x86, 0xdd] });
        }
        let packet = &mut frame[link..];
        let length = packet.len();
        let protocol = if is_tcp { TCP } else { UDP };
        if is_v4 {
            packet[0] = 0x40 | (network / 4) as u8;
            packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            (packet[6], packet[7]) = (packet[6] & 0x40, 0);
            packet[9] = protocol;
            complete_ipv4(&mut packet[..network]);
        } else {
            packet[0] = 0x60;
            packet[4..6].copy_from_slice(&((length - 40) as u16).to_be_bytes());
            packet[6] = protocol;
        }
        let offset = if is_tcp {
            packet[network + 12] = (transport as u8 / 4) << 4;
            // An acknowledgement, and in the last segment that it is one.
            packet[network + 13] = 0x10 | packet[network + 13] & 0x49;
            IN_TCP
        } else {
            let length = (length - network) as u16;
            packet[network + 4..network + 6].copy_from_slice(&length.to_be_bytes());
            IN_UDP
        };
        let sum = pseudo_header_of(packet, protocol, length - network);
        let at = network + usize::from(offset);
        packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        let kind = match (is_tcp, is_v4) {
            (true, true) => SegmentKind::Tcp4,
            (true, false) => SegmentKind::Tcp6,
            (false, _) => SegmentKind::Udp,
        };
        let split = Some((kind, size as u16, headers as u16));
        let checksum = Some(((link + network) as u16, offset));
        Given { offload: Offload { checksum, split, valid: false }, link, network, frame }
    }

    /// Returns its segments, each a frame.
    fn frames(&self, checks: Checks) -> Vec<Vec<u8>> {
        let mut octets = self.frame.clone();
        let whole = SuperPacket::decode(self.offload, self.link, &mut octets[..]);
        let whole = whole.expect("it is sound");
        let frame = |nth| {
            let mut frame = Vec::new();
            let payload = whole.encode(nth..nth + 1, checks, &mut frame).to_vec();
            frame.extend_from_slice(&payload);
            frame.split_off(LENGTH)
        };
        (0..whole.segments()).map(frame).collect()
    }
}

fn batch(frames: &[Vec<u8>]) -> Batch<BufferTree> {
    Batch::new(BufferTree::with_headroom(0, &frames.concat()), frames[0].len())
}

/// Returns what is written of a batch.
fn written<M: Message>(batch: &Batch<M>, link: usize) -> Vec<(Offload, Vec<u8>)> {
    let (mut writes, mut done) = (Vec::new(), 0);
    let put = |slices: &[IoSlice<'_>]| {
        let octets: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
        let (head, frame) = octets.split_at(LENGTH);
        let head = head.try_into().expect("octets of that length");
        writes.push((Offload::decode(head).expect("it can be decoded"), frame.to_vec()));
        Ok(())
    };
    write(batch, &mut done, link, ALL, put).expect("nothing fails");
    assert_eq!(done, batch.count());
    writes
}

#[test]
fn what_was_split_is_merged_again() {
    let mut rng = Rng::with_seed(1);
    for nth in 0..100_000 {
        let given = Given::draw(&mut rng, if nth % 100 == 0 { 64 } else { 8 });
        let checks = if rng.bool() { Checks::Complete } else { Checks::Offered };
        let frames = given.frames(checks);
        let writes = written(&batch(&frames), given.link);
        assert_eq!(writes.len(), 1, "{:?}, {} frames", given.offload, frames.len());
        if frames.len() > 1 {
            assert_eq!(writes[0].0, given.offload);
            assert!(writes[0].1 == given.frame, "{:?}", given.offload);
        } else {
            assert!(writes[0].0.split.is_none() && writes[0].1 == frames[0]);
        }
    }
}

#[test]
fn a_batch_is_split_as_its_segments_are() {
    let (mut rng, pool) = (Rng::with_seed(2), Pool::<SingleBuffer>::new(2000, 4));
    for _ in 0..1000 {
        let given = Given::draw(&mut rng, 64);
        let mut octets = given.frame.clone();
        let whole = SuperPacket::decode(given.offload, given.link, &mut octets[..]);
        let batch = whole.expect("it is sound").split(16, &pool);
        let split = batch.pieces().map(|pieces| pieces.flatten().copied().collect::<Vec<u8>>());
        assert!(split.eq(given.frames(Checks::Offered)));
    }
}

/// Whatever one of the frames says that the others do not: no octet of any of them changes.
#[test]
fn what_is_not_alike_leaves_as_it_is() {
    let mut rng = Rng::with_seed(3);
    let mut whole = 0;
    for _ in 0..50_000 {
        let given = Given::draw(&mut rng, 8);
        let checks = if rng.bool() { Checks::Complete } else { Checks::Offered };
        let mut frames = given.frames(checks);
        let (frame, nth) = (rng.usize(..frames.len()), rng.usize(..given.frame.len().min(140)));
        let bit = 1 << rng.u8(..8);
        // Which of the segments is pushed means nothing: see the next test.
        let pushes = nth == given.link + given.network + 13 && bit == PUSH;
        if let Some(octet) = frames[frame].get_mut(nth).filter(|_| !pushes) {
            *octet ^= bit;
        }
        if rng.bool() && given.link == 0 && frames[frame][0] >> 4 == 4 {
            complete_ipv4(&mut frames[frame][..given.network]);
        }
        // One complete check of 65 536 is the sum that is to be completed: then it is.
        let by_chance = |frame: &Vec<u8>| {
            let packet = &frame[given.link.min(frame.len())..];
            Transport::find(packet).is_some_and(|transport| transport.is_incomplete(packet))
        };
        if checks == Checks::Complete && frames.iter().any(by_chance) {
            continue;
        }
        let writes = written(&batch(&frames), given.link);
        whole += usize::from(writes.len() == 1 && frames.len() > 1);
        let again: Vec<Vec<u8>> = writes
            .into_iter()
            .flat_map(|(offload, frame)| match offload.split {
                Some(_) => Given { offload, frame, ..given.clone() }.frames(checks),
                None => vec![frame],
            })
            .collect();
        // Of several that leave in one write, a device makes the check of IPv4 anew, and the
        // identification where it means nothing.
        for (frame, again) in frames.iter_mut().zip(&again) {
            let Some(header) = again.get(given.link..given.link + 20) else { continue };
            if header[0] >> 4 == 4 {
                frame[given.link + 10..given.link + 12].copy_from_slice(&header[10..12]);
                if header[6] & 0x40 != 0 {
                    frame[given.link + 4..given.link + 6].copy_from_slice(&header[4..6]);
                }
            }
        }
        assert!(again == frames, "{:?}, octet {nth} of frame {frame}", given.offload);
    }
    // An altered octet of the last payload, under an offered check, is nobody's business here.
    assert!(whole > 0);
}

/// What a sender pushes segment by segment leaves in one write, and the last of it is pushed.
#[test]
fn segments_that_are_all_pushed_are_merged() {
    let mut rng = Rng::with_seed(5);
    let (mut given, mut frames);
    loop {
        given = Given::draw(&mut rng, 3);
        frames = given.frames(Checks::Offered);
        let is_tcp = !matches!(given.offload.split, Some((SegmentKind::Udp, ..)) | None);
        if is_tcp && frames.len() == 3 {
            break;
        }
    }
    let flags = given.link + given.network + 13;
    frames.iter_mut().for_each(|frame| frame[flags] |= PUSH);
    let writes = written(&batch(&frames), given.link);
    let [(offload, frame)] = &writes[..] else { panic!("{} writes", writes.len()) };
    let again = Given { offload: *offload, frame: frame.clone(), ..given }.frames(Checks::Offered);
    let pushed: Vec<bool> = again.iter().map(|frame| frame[flags] & PUSH != 0).collect();
    assert_eq!(pushed, [false, false, true]);
}

#[test]
fn a_packet_without_its_number_is_merged_where_that_means_nothing() {
    for (df, writes) in [(0x40, 1), (0, 3)] {
        let mut rng = Rng::with_seed(4);
        let given = loop {
            let given = Given::draw(&mut rng, 3);
            let is_tcp4 = matches!(given.offload.split, Some((SegmentKind::Tcp4, ..)));
            if is_tcp4 && given.frames(Checks::Offered).len() == 3 {
                break given;
            }
        };
        let mut frames = given.frames(Checks::Offered);
        for frame in &mut frames {
            let packet = &mut frame[given.link..];
            (packet[4], packet[5], packet[6]) = (0, 0, df);
            complete_ipv4(&mut packet[..given.network]);
        }
        assert_eq!(written(&batch(&frames), given.link).len(), writes);
    }
}

#[test]
fn pieces_are_written_from_where_they_are() {
    let mut rng = Rng::with_seed(5);
    for _ in 0..1000 {
        let given = Given::draw(&mut rng, 8);
        let frames = given.frames(Checks::Offered);
        let mut octets = BufferTree::default();
        for frame in &frames {
            let (front, rest) = frame.split_at(rng.usize(..frame.len()));
            octets.join(BufferTree::with_headroom(0, front));
            octets.join(BufferTree::with_headroom(0, rest));
        }
        let writes = written(&Batch::new(octets, frames[0].len()), given.link);
        assert!(writes.len() == 1);
        assert!(frames.len() == 1 || writes[0].1 == given.frame);
    }
}

#[test]
fn an_altered_octet_is_noticed() {
    let mut rng = Rng::with_seed(6);
    for _ in 0..2000 {
        let given = Given::draw(&mut rng, 2);
        for frame in given.frames(Checks::Complete) {
            let packet = &frame[given.link..];
            assert!(is_right(packet));
            let mut altered = packet.to_vec();
            let octet = rng.usize(given.network..altered.len());
            altered[octet] ^= 1 << rng.u8(..8);
            let unchecked = packet[if packet[0] >> 4 == 4 { 9 } else { 6 }] == UDP
                && altered[given.network + 6..given.network + 8] == [0, 0];
            // A datagram that says that it is longer than its packet is refused for that above.
            let is_length = matches!(octet - given.network, 4 | 5);
            assert!(unchecked || is_length || !is_right(&altered), "octet {octet}");
            // What is only a part of a datagram cannot be verified.
            if packet[0] >> 4 == 4 {
                altered[6] |= 0x20;
                assert!(is_right(&altered));
            }
        }
    }
}

#[test]
fn nothing_that_arrives_is_fatal() {
    let (mut rng, pool) = (Rng::with_seed(7), Pool::<BufferTree>::new(2000, 4));
    for _ in 0..100_000 {
        let mut frame: Vec<u8> = (0..rng.usize(..160)).map(|_| rng.u8(..)).collect();
        let link = if rng.bool() { 0 } else { ETHERNET };
        if let Some(first) = frame.get_mut(link) {
            *first = if rng.bool() { 0x45 } else { 0x60 };
        }
        let mut head: [u8; LENGTH] = std::array::from_fn(|_| rng.u8(..4));
        (head[1], head[6]) = (rng.u8(..6), rng.u8(..80));
        if let Some(offload) = Offload::decode(head)
            && let Some(whole) = SuperPacket::decode(offload, link, &mut frame[..])
        {
            is_right(&whole.frame()[link..]);
            let batch: Batch<BufferTree> = whole.split(0, &pool);
            written(&batch, link);
        }
        if !frame.is_empty() {
            written(&Batch::new(BufferTree::with_headroom(0, &frame), rng.usize(1..100)), link);
        }
    }
}

#[test]
fn a_tag_of_a_vlan_is_passed_over() {
    let mut rng = Rng::with_seed(8);
    for _ in 0..1000 {
        let given = Given::draw(&mut rng, 3);
        if given.link == 0 {
            continue;
        }
        let tagged: Vec<Vec<u8>> = given
            .frames(Checks::Offered)
            .into_iter()
            .map(|frame| [&frame[..12], &[0x81, 0, 0, 7], &frame[12..]].concat())
            .collect();
        let writes = written(&batch(&tagged), given.link);
        assert_eq!(writes.len(), tagged.len(), "none is merged");
        for ((offload, written), frame) in writes.into_iter().zip(&tagged) {
            let (start, offset) = given.offload.checksum.expect("it is offered");
            assert_eq!((offload.checksum, &written), (Some((start + 4, offset)), frame));
            assert!(!is_right(&frame[18..]), "the check is only begun");
            assert_eq!(checksum::network(frame, given.link), Some(18));
        }
    }
}

#[test]
fn a_frame_without_octets_and_one_in_too_many_pieces_are_refused() {
    let mut pieces = BufferTree::default();
    (0..100).for_each(|_| pieces.join(BufferTree::with_headroom(0, &[7; 100])));
    for (message, frames) in [(BufferTree::default(), 1), (pieces.share(), 1)] {
        let (batch, mut done) = (message.into(), 0);
        let failed = write(&batch, &mut done, 0, ALL, |_| Ok(())).unwrap_err();
        assert_eq!((failed.frames, done), (frames, 0));
        done = 1;
        assert!(write(&batch, &mut done, 0, ALL, |_| Err(Errno::IO)).is_ok(), "it was given up");
    }
    let (batch, mut done) = (Batch::new(pieces, 9000), 0);
    let failed = write(&batch, &mut done, 0, ALL, |_| Ok(())).unwrap_err();
    assert_eq!((failed.frames, done), (0, 0));
    done = 1;
    assert!(write(&batch, &mut done, 0, ALL, |_| Ok(())).is_ok() && done == 2, "the rest leaves");
}
