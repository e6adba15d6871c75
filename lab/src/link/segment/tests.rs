//! Super-packets of every kind, cut and joined; checksums by a straightforward sum that shares
//! nothing with the code.

use proptest::prelude::*;
use stackwright_drivers::tun::SegmentKind as Kind;
use stackwright_simulator::LinkPacket as _;

use super::{Checks, LENGTH, Offload, Protocol, Segment, SuperPacket};

/// The Internet check as RFC 1071 §1 defines it, word by word.
fn sum(octets: &[u8]) -> u32 {
    let mut sum = 0_u32;
    for pair in octets.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

/// What a pseudo-header adds, of a packet whose transport begins at `start`.
fn pseudo(packet: &[u8], start: usize, number: u8) -> u32 {
    let addresses = if packet[0] >> 4 == 4 { &packet[12..20] } else { &packet[8..40] };
    let mut octets = addresses.to_vec();
    octets.extend_from_slice(&[0, number]);
    octets.extend_from_slice(&u32::try_from(packet.len() - start).unwrap().to_be_bytes());
    sum(&octets)
}

/// Whether a complete packet has a right length and right checksums.
fn is_sound(packet: &[u8], start: usize, number: u8) -> bool {
    let folded = |sum: u32| (sum & 0xffff) + (sum >> 16);
    let network = if packet[0] >> 4 == 4 {
        usize::from(u16::from_be_bytes([packet[2], packet[3]])) == packet.len()
            && sum(&packet[..start]) == 0xffff
    } else {
        40 + usize::from(u16::from_be_bytes([packet[4], packet[5]])) == packet.len()
    };
    network && folded(pseudo(packet, start, number) + sum(&packet[start..])) == 0xffff
}

fn decode(offload: Offload, packet: &[u8]) -> Option<SuperPacket<Box<[u8]>>> {
    SuperPacket::decode(offload, 0, packet.into())?.complete(offload)
}

/// A super-packet as the kernel gives it.
#[derive(Clone, Debug)]
struct Super {
    kind: Kind,
    /// Where the transport begins.
    start: usize,
    headers: usize,
    size: u16,
    packet: Vec<u8>,
}

impl Super {
    fn number(&self) -> u8 {
        if self.kind == Kind::Udp { 17 } else { 6 }
    }

    fn offload(&self) -> Offload {
        let offset = if self.kind == Kind::Udp { 6 } else { 16 };
        let start = u16::try_from(self.start).unwrap();
        let headers = u16::try_from(self.headers).unwrap();
        Offload {
            checksum: Some((start, offset)),
            split: Some((self.kind, self.size, headers)),
            valid: false,
        }
    }

    fn whole(&self) -> SuperPacket<Box<[u8]>> {
        decode(self.offload(), &self.packet).expect("it is sound")
    }

    fn segments(&self) -> Vec<Segment> {
        Segment::all(self.offload(), &self.packet).expect("it is sound").collect()
    }
}

/// Headers from random octets, with what must be right in them made right.
fn super_packet() -> impl Strategy<Value = Super> {
    let kinds = prop_oneof![
        Just((Kind::Tcp4, 4)),
        Just((Kind::Tcp6, 6)),
        Just((Kind::Udp, 4)),
        Just((Kind::Udp, 6))
    ];
    let octets = prop::collection::vec(any::<u8>(), 120);
    let payload = prop::collection::vec(any::<u8>(), 1..5000);
    (kinds, octets, payload, 1_u16..1500, 0_usize..=10, 0_usize..=10).prop_map(
        |((kind, version), octets, payload, size, network_options, options)| {
            let start = if version == 4 { 20 + 4 * network_options } else { 40 };
            let transport = if kind == Kind::Udp { 8 } else { 20 + 4 * options };
            let headers = start + transport;
            let mut packet = octets[..headers].to_vec();
            packet.extend_from_slice(&payload);
            let length = packet.len();
            let number = if kind == Kind::Udp { 17 } else { 6 };
            if version == 4 {
                packet[0] = 0x40 | u8::try_from(start / 4).unwrap();
                packet[2..4].copy_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
                packet[9] = number;
                packet[10..12].fill(0);
                let check = !(sum(&packet[..start]) as u16);
                packet[10..12].copy_from_slice(&check.to_be_bytes());
            } else {
                packet[0] = 0x60;
                packet[4..6].copy_from_slice(&u16::try_from(length - 40).unwrap().to_be_bytes());
                packet[6] = number;
            }
            let at = if kind == Kind::Udp {
                packet[start + 4..start + 6]
                    .copy_from_slice(&u16::try_from(length - start).unwrap().to_be_bytes());
                start + 6
            } else {
                packet[start + 12] = u8::try_from(transport / 4).unwrap() << 4;
                // The device is not told of this one: such packets are cut by the kernel.
                packet[start + 13] &= !128;
                start + 16
            };
            let pseudo = pseudo(&packet, start, number);
            packet[at..at + 2].copy_from_slice(&(pseudo as u16).to_be_bytes());
            Super { kind, start, headers, size, packet }
        },
    )
}

/// What is written of some segments: the device's header, and the packet.
fn written(whole: &SuperPacket<Box<[u8]>>, segments: std::ops::Range<usize>) -> (Offload, Vec<u8>) {
    let mut octets = Vec::new();
    let payload = whole.encode(segments, Checks::Complete, &mut octets).to_vec();
    octets.extend_from_slice(&payload);
    let packet = octets.split_off(LENGTH);
    let offload =
        Offload::decode(octets.try_into().unwrap()).expect("what is encoded can be decoded");
    (offload, packet)
}

proptest! {
    #[test]
    fn segments_are_packets_of_their_own(of in super_packet()) {
        let whole = of.whole();
        let count = (of.packet.len() - of.headers).div_ceil(of.size.into());
        prop_assert_eq!(whole.segments(), count);
        let mut payload = Vec::new();
        for nth in 0..count {
            let (_, packet) = written(&whole, nth..nth + 1);
            prop_assert!(is_sound(&packet, of.start, of.number()));
            if of.kind != Kind::Udp {
                let at = of.start + 4..of.start + 8;
                let number = |packet: &[u8]| u32::from_be_bytes(packet[at.clone()].try_into().unwrap());
                prop_assert_eq!(number(&packet), number(&of.packet).wrapping_add(payload.len() as u32));
                let ends = |packet: &[u8]| packet[of.start + 13] & (1 | 8);
                prop_assert_eq!(ends(&packet), if nth + 1 == count { ends(&of.packet) } else { 0 });
            }
            payload.extend_from_slice(&packet[of.headers..]);
        }
        prop_assert_eq!(&payload, &of.packet[of.headers..]);
    }

    #[test]
    fn what_is_joined_is_what_was_cut(of in super_packet(), cuts in prop::collection::vec(0_usize..600, 0..4)) {
        let whole = of.whole();
        let count = whole.segments();
        let alone = |whole: &SuperPacket<_>, nth| written(whole, nth..nth + 1);

        let (offload, packet) = written(&whole, 0..count);
        if count > 1 {
            prop_assert_eq!(offload, of.offload());
            prop_assert_eq!(&packet, &of.packet);
        }

        let within = cuts.into_iter().filter(|cut| (1..count).contains(cut));
        let mut cuts: Vec<_> = within.chain([0, count]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        for run in cuts.windows(2) {
            let (offload, packet) = written(&whole, run[0]..run[1]);
            let again = decode(offload, &packet).expect("several segments are a super-packet");
            prop_assert_eq!(again.segments(), run[1] - run[0]);
            for nth in run[0]..run[1] {
                prop_assert_eq!(alone(&again, nth - run[0]), alone(&whole, nth));
            }
        }
    }

    #[test]
    fn an_altered_segment_is_seen_to_be(of in super_packet(), nth: prop::sample::Index, bit: u64) {
        let mut segments = of.segments();
        let count = segments.len();
        let segment = &mut segments[nth.index(count)];
        let (octets, exposed) = (segment.octets(), segment.exposed());
        prop_assert_eq!(octets - exposed, of.headers);
        segment.alter(bit % (exposed as u64 * 8));
        prop_assert!(segment.is_altered());
        prop_assert_eq!(segment.octets(), octets);
        let mut packet = Vec::new();
        let rest = segment.encode(1, &mut packet).to_vec();
        packet.extend_from_slice(&rest);
        packet.drain(..LENGTH);
        prop_assert!(!is_sound(&packet, of.start, of.number()));
        // It has left its super-packet: nobody may join it to a neighbour again.
        for two in segments.windows(2) {
            prop_assert_eq!(two[0].precedes(&two[1]), !two[0].is_altered() && !two[1].is_altered());
        }
    }

    /// RFC 3168 §5: its ECN field is as it was sent or set, and the rest is what it was.
    #[test]
    fn a_segment_of_any_codepoint_is_sound(mut of in super_packet(), nth: prop::sample::Index, bits in 0_u8..4, set in 0_u8..4) {
        let (octet, shift) = if of.packet[0] >> 4 == 4 { (1, 0) } else { (1, 4) };
        of.packet[octet] = of.packet[octet] & !(0b11 << shift) | bits << shift;
        if of.packet[0] >> 4 == 4 {
            of.packet[10..12].fill(0);
            let check = !(sum(&of.packet[..of.start]) as u16);
            of.packet[10..12].copy_from_slice(&check.to_be_bytes());
        }
        let mut segments = of.segments();
        let count = segments.len();
        let segment = &mut segments[nth.index(count)];
        let alone = |segment: &Segment| {
            let mut packet = Vec::new();
            let rest = segment.encode(1, &mut packet).to_vec();
            packet.extend_from_slice(&rest);
            packet.split_off(LENGTH)
        };
        let before = alone(segment);
        prop_assert_eq!(segment.ecn(), bits);
        segment.set_ecn(set);
        prop_assert_eq!(segment.ecn(), set);
        let after = alone(segment);
        prop_assert!(is_sound(&after, of.start, of.number()) && !segment.is_altered());
        prop_assert_eq!(after[octet], before[octet] & !(0b11 << shift) | set << shift);
        prop_assert_eq!(&after[of.start..], &before[of.start..]);
    }

    #[test]
    fn a_lone_packet_is_completed(of in super_packet()) {
        let Offload { checksum, .. } = of.offload();
        let lone = Offload { checksum, ..Offload::default() };
        let whole = decode(lone, &of.packet).expect("it is sound");
        prop_assert_eq!(whole.segments(), 1);
        let (offload, packet) = written(&whole, 0..1);
        prop_assert_eq!(offload, Offload::default());
        prop_assert!(is_sound(&packet, of.start, of.number()));
    }

    #[test]
    fn nothing_that_a_device_says_is_fatal(
        head: [u8; LENGTH],
        version in 0_u8..16,
        mut packet in prop::collection::vec(any::<u8>(), 0..200),
        bit: u64,
    ) {
        if let Some(first) = packet.first_mut() {
            *first = version << 4 | *first & 15;
        }
        let Some(offload) = Offload::decode(head) else { return Ok(()) };
        let Some(whole) = decode(offload, &packet) else { return Ok(()) };
        let count = whole.segments();
        written(&whole, 0..count);
        for mut segment in Segment::all(offload, &packet).into_iter().flatten() {
            segment.exposed();
            segment.alter(bit);
        }
    }
}

#[test]
fn an_empty_segment_is_altered_in_its_checksum() {
    let mut packet = vec![0; 40];
    packet[0] = 0x45;
    packet[3] = 40;
    packet[9] = 6;
    packet[32] = 5 << 4;
    let sound = |packet: &[u8]| sum(&packet[20..]) + pseudo(packet, 20, 6);
    packet[36] = 0x12;
    let before = sound(&packet);
    let all = Segment::all(Offload::default(), &packet).expect("it is sound");
    let mut segment = all.last().expect("there is one");
    assert_eq!(segment.protocol(), Protocol::Tcp);
    assert_eq!(segment.exposed(), 2);
    segment.alter(15);
    let mut head = Vec::new();
    let altered = segment.encode(1, &mut head);
    assert_eq!(altered[37], 0x80);
    assert_eq!(altered[..36], packet[..36]);
    assert_ne!(sound(altered), before);
}
