//! How long a frame of HDLC is on the air: every bit of it.

use stackwright_contract::{Duration, Instant};
use stackwright_simulator::{Channel, ChannelConditions, HdlcFrame, LinkPacket};

/// Octets a second: 1200 bit/s.
const RATE: u64 = 150;
/// Octets of flags around a frame.
const FLAGS: usize = 2;

/// The bits on the air, from the first of the opening flag to the last of the closing one, written
/// out one by one (ISO/IEC 13239): it shares nothing with what is tested.
fn encoded(frame: &[u8]) -> Vec<bool> {
    let mut register = 0xffff_u16;
    let mut body = Vec::new();
    let bits = |octet: u8| (0..8).map(move |place| octet & (1 << place) != 0);
    for octet in frame {
        for bit in bits(*octet) {
            let feedback = (register & 1 == 1) != bit;
            register = (register >> 1) ^ if feedback { 0x8408 } else { 0 };
            body.push(bit);
        }
    }
    (!register).to_le_bytes().into_iter().for_each(|octet| body.extend(bits(octet)));
    let flag = [false, true, true, true, true, true, true, false];
    let (mut sent, mut ones) = (flag.to_vec(), 0);
    for bit in body {
        sent.push(bit);
        ones = if bit { ones + 1 } else { 0 };
        if ones == 5 {
            sent.push(false);
            ones = 0;
        }
    }
    sent.extend(flag);
    sent
}

/// Takes stuffed bits out again, and returns the octets between the flags.
fn decoded(sent: &[bool]) -> Vec<u8> {
    let (mut octets, mut ones, mut body) = (Vec::new(), 0, Vec::new());
    for bit in &sent[8..sent.len() - 8] {
        if ones == 5 {
            ones = 0;
            continue;
        }
        ones = if *bit { ones + 1 } else { 0 };
        body.push(*bit);
    }
    for bits in body.chunks(8) {
        octets.push(bits.iter().rev().fold(0, |octet, bit| octet << 1 | u8::from(*bit)));
    }
    octets
}

fn air_time(frame: &[u8]) -> Duration {
    let conditions = ChannelConditions { overhead: FLAGS, ..ChannelConditions::ideal(RATE) };
    let mut channel = Channel::new(conditions, 2, 0);
    channel.send(Instant::START, 0, None, HdlcFrame::new(frame));
    let mut heard = Vec::new();
    while let Some(deadline) = channel.next_deadline() {
        channel.handle_timeout(deadline, &mut heard);
    }
    assert_eq!(heard[0].packet.octets(), Some(frame), "the check agrees");
    heard[0].time.since(Instant::START)
}

#[test]
fn a_thousand_frames_take_the_time_of_their_bits() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut stuffed = 0;
    for nth in 0..1000 {
        let length = random.usize(1..=330);
        // Also those that stuff most, and none.
        let octet = |random: &mut fastrand::Rng| match nth % 4 {
            0 => 0xff,
            1 => [0x00, 0xff, 0x1f, 0xf8, 0x7e][random.usize(0..5)],
            _ => random.u8(..),
        };
        let frame: Vec<u8> = (0..length).map(|_| octet(&mut random)).collect();
        let sent = encoded(&frame);
        assert_eq!(decoded(&sent)[..length], frame);
        let bits = HdlcFrame::new(&frame).air_bits() + 8 * FLAGS as u64;
        assert_eq!(bits, sent.len() as u64, "{frame:x?}");
        let nanoseconds = (sent.len() as u64 * 1_000_000_000).div_ceil(8 * RATE);
        assert_eq!(air_time(&frame), Duration::from_nanos(nanoseconds));
        stuffed += HdlcFrame::new(&frame).stuffed_bits();
    }
    assert!(stuffed > 10_000, "{stuffed}");
}

/// Every bit that may be altered is noticed.
#[test]
fn the_check_finds_each_altered_bit() {
    let frame = HdlcFrame::new(b"a frame");
    for bit in 0..8 * LinkPacket::octets(&frame) as u64 {
        let mut altered = frame.twin();
        altered.alter(bit);
        assert_eq!(altered.octets(), None);
        altered.alter(bit);
        assert_eq!(altered, frame);
    }
}
