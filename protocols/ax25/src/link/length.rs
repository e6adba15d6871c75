//! How long I frames are: a long one has less head to carry, and is lost more often.

use crate::config::{Config, FrameLength};
use crate::header::Modulus;

/// The lengths to choose from, in octets of information.
const LENGTHS: [u16; 7] = [32, 48, 64, 96, 128, 192, 256];
/// The length on a link of which nothing is known.
const FIRST: u16 = 64;
/// First transmissions that the estimate looks back at.
const SAMPLES: usize = 32;
/// Octets of a frame beside its information: addresses, control field, protocol identifier, and a
/// flag.
const HEAD: f32 = 17.0;
/// Octets of a frame in which one wrong bit loses it, beside its information.
const EXPOSED: u16 = 20;

/// What is remembered of a peer from one link to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Learned {
    /// The length that was best.
    length: Option<u16>,
    /// How the link counted.
    pub(crate) modulus: Option<Modulus>,
}

/// Chooses the length.
pub(super) struct Lengths {
    fixed: Option<u16>,
    /// The longest that the peer takes.
    pub(super) most: u16,
    /// The longest that it has acknowledged: no frame is more than twice as long. A frame that was
    /// sent is never cut anew, as the peer may hold it: too long a step would stop the link.
    proven: u16,
    samples: [Sample; SAMPLES],
    newest: usize,
    /// What a key-up costs, in octets.
    access: u32,
}

/// The first transmission of a frame; of length 0: there was none.
#[derive(Clone, Copy, Default)]
struct Sample {
    length: u16,
    lost: bool,
}

impl Lengths {
    pub(super) fn new(config: &Config, port: u8, learned: Learned) -> Self {
        let fixed = match config.frame {
            FrameLength::Adaptive => None,
            FrameLength::Fixed(length) => Some(length.max(1)),
        };
        let access = config.access.as_millis() as u64 * u64::from(config.rate_of(port)) / 8000;
        Lengths {
            fixed,
            most: config.longest.min(config.paclen.into()) as u16,
            proven: learned.length.unwrap_or(FIRST) / 2,
            samples: [Sample::default(); SAMPLES],
            newest: 0,
            access: u32::try_from(access).unwrap_or(u32::MAX),
        }
    }

    pub(super) fn learned(&self, modulus: Option<Modulus>) -> Learned {
        Learned { length: Some(self.choose(4)), modulus }
    }

    /// Records what became of the first transmission of a frame.
    pub(super) fn record(&mut self, length: usize, lost: bool) {
        let length = length.min(usize::from(u16::MAX)) as u16;
        self.samples[self.newest] = Sample { length, lost };
        self.newest = (self.newest + 1) % SAMPLES;
        if !lost {
            self.proven = self.proven.max(length);
        }
    }

    /// Returns the length of the next frame, of which `burst` leave in one transmission.
    pub(super) fn choose(&self, burst: usize) -> u16 {
        if let Some(length) = self.fixed {
            return length.min(self.most);
        }
        let (errors, access) = (self.bit_errors(), self.access as f32 / burst.max(1) as f32);
        let bound = self.proven.saturating_mul(2).max(LENGTHS[0]).min(self.most);
        let value = |length: u16| {
            let passes = power(1.0 - errors, 8 * u32::from(length + EXPOSED));
            f32::from(length) / (f32::from(length) + HEAD + access) * passes
        };
        let mut best = (LENGTHS[0].min(bound), f32::MIN);
        for length in LENGTHS.into_iter().filter(|length| *length <= bound) {
            let value = value(length);
            if value > best.1 {
                best = (length, value);
            }
        }
        best.0
    }

    /// Returns whether the length is longer than any that was acknowledged.
    pub(super) fn is_trying(&self) -> bool {
        self.fixed.is_none() && self.choose(4) > self.proven
    }

    /// Estimates the probability of a wrong bit: the share of lost frames, by their bits.
    fn bit_errors(&self) -> f32 {
        let (mut lost, mut bits) = (0u32, 0u32);
        for sample in self.samples.iter().filter(|sample| sample.length > 0) {
            lost += u32::from(sample.lost);
            // A frame that is lost is so at its first wrong bit: half-way, in the mean.
            bits += 8 * u32::from(sample.length + EXPOSED) / if sample.lost { 2 } else { 1 };
        }
        if lost == 0 { 0.0 } else { lost as f32 / bits as f32 }
    }
}

/// Returns `base` to the power of `exponent`, which is not negative.
fn power(mut base: f32, mut exponent: u32) -> f32 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(frame: FrameLength) -> Lengths {
        let call = "N0CALL".parse().expect("a call sign");
        Lengths::new(&Config { frame, ..Config::new(call) }, 0, Learned::default())
    }

    #[test]
    fn it_begins_in_the_middle_and_at_most_doubles() {
        let mut lengths = lengths(FrameLength::Adaptive);
        assert_eq!(lengths.choose(4), 64);
        lengths.record(64, false);
        assert_eq!(lengths.choose(4), 128);
        lengths.record(128, false);
        assert_eq!(lengths.choose(4), 256);
        let learned = lengths.learned(None);
        let call = "N0CALL".parse().expect("a call sign");
        assert_eq!(Lengths::new(&Config::new(call), 0, learned).choose(4), 256);
    }

    /// At 2.5 wrong bits in a thousand, one frame of 256 octets in 250 passes.
    #[test]
    fn losses_make_frames_short() {
        let mut lengths = lengths(FrameLength::Adaptive);
        for _ in 0..SAMPLES {
            let length = lengths.choose(4);
            lengths.record(usize::from(length), length > 40);
        }
        assert!(lengths.choose(4) <= 48, "{}", lengths.choose(4));
        for _ in 0..4 * SAMPLES {
            let length = lengths.choose(4);
            lengths.record(usize::from(length), false);
        }
        assert_eq!(lengths.choose(4), 256);
    }

    #[test]
    fn a_fixed_length_is_at_most_what_the_peer_takes() {
        let mut lengths = lengths(FrameLength::Fixed(200));
        lengths.record(200, true);
        assert_eq!(lengths.choose(1), 200);
        lengths.most = 128;
        assert_eq!(lengths.choose(1), 128);
    }
}
