//! How long frames are on the air: Direwolf's modems beside the model of the channel.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use stackwright_simulator::{HdlcFrame, LinkPacket};

use crate::rig::Rig;

const BAUD: u32 = 9600;
const BURSTS: usize = 20;
/// Frames of a burst: from the first to the last there is no key-up.
const FRAMES: usize = 8;
/// Bits of the flag between two frames.
const FLAG: u64 = 8;
const FEND: u8 = 0xc0;

/// The median of the bursts: from when the first frame came to when the last did, beside what the
/// model says of all but the first.
pub(crate) fn is_as_in_the_model() {
    let rig = Rig::new(BAUD);
    let (mut sender, mut receiver) = (Kiss::new(rig.kiss(0)), Kiss::new(rig.kiss(1)));
    let mut ratios = Vec::new();
    for burst in 0..BURSTS {
        let frames: Vec<Vec<u8>> = (0..FRAMES).map(|nth| frame(burst * FRAMES + nth)).collect();
        sender.send(&frames);
        let came: Vec<(Instant, Vec<u8>)> = (0..FRAMES).map(|_| receiver.next()).collect();
        assert!(came.iter().map(|(_, frame)| frame).eq(&frames), "all, in order\n{}", rig.logs());
        let bits = |octets: &Vec<u8>| HdlcFrame::new(octets).air_bits() + FLAG;
        let model = frames[1..].iter().map(bits).sum::<u64>() as f64 / f64::from(BAUD);
        let measured = came[FRAMES - 1].0.duration_since(came[0].0).as_secs_f64();
        ratios.push(measured / model);
    }
    ratios.sort_by(f64::total_cmp);
    let (least, median, most) = (ratios[0], ratios[BURSTS / 2], ratios[BURSTS - 1]);
    eprintln!("measured / model: {median:.4}, {least:.4} to {most:.4}, of {BURSTS} bursts");
    assert!((0.95..=1.10).contains(&median), "{ratios:?}");
}

/// A UI frame from N0AAA to N0BBB, of 100 to 250 octets that differ. None of them has to be escaped
/// in KISS.
fn frame(nth: usize) -> Vec<u8> {
    let address = |call: &str, last: u8| {
        let mut octets: Vec<u8> = call.bytes().chain(*b" ").map(|octet| octet << 1).collect();
        octets.push(0x60 | last);
        octets
    };
    let text = (0..100 + nth * 37 % 151).map(|place| (nth * 31 + place * place * 7) as u8 & 0x7f);
    [address("N0BBB", 0), address("N0AAA", 1), vec![0x03, 0xf0], text.collect()].concat()
}

struct Kiss {
    stream: TcpStream,
    unread: Vec<u8>,
}

impl Kiss {
    fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
        Kiss { stream, unread: Vec::new() }
    }

    fn send(&mut self, frames: &[Vec<u8>]) {
        let framed = |frame: &Vec<u8>| [&[FEND, 0], &frame[..], &[FEND]].concat();
        let octets: Vec<u8> = frames.iter().flat_map(framed).collect();
        self.stream.write_all(&octets).expect("it reads");
    }

    /// Returns the next frame, and when it came.
    fn next(&mut self) -> (Instant, Vec<u8>) {
        loop {
            let begin = self.unread.iter().take_while(|octet| **octet == FEND).count();
            let rest = &self.unread[begin..];
            if let Some(length) = rest.iter().position(|octet| *octet == FEND) {
                let frame = rest[1..length].to_vec();
                self.unread.drain(..begin + length);
                return (Instant::now(), frame);
            }
            let mut octets = [0; 4096];
            match self.stream.read(&mut octets) {
                Ok(length @ 1..) => self.unread.extend_from_slice(&octets[..length]),
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                other => panic!("no frame: {other:?}"),
            }
        }
    }
}
