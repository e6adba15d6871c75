//! The options of a segment (RFC 9293 §3.2).

use alloc::vec::Vec;
use core::ops::Range;

/// The most octets of options: the header has 60 at most, and 20 of them are fixed.
pub const OPTIONS_MOST: usize = 40;

/// The most blocks in a SACK option that stands alone, and beside timestamps (RFC 2018 §3).
pub const BLOCKS_MOST: usize = 4;
pub(crate) const BLOCKS_BESIDE_TIMESTAMPS: usize = 3;

/// The octets of timestamps with their padding (RFC 7323 appendix A).
pub const TIMESTAMPS_LENGTH: usize = 12;

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// The largest shift of a window (RFC 7323 §2.3).
pub const SHIFT_MOST: u8 = 14;

/// When a segment left, by its sender's clock, and the newest such time that it has received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpTimestamps {
    /// TSval.
    pub value: u32,
    /// TSecr: of use with an acknowledgement only.
    pub echo: u32,
}

/// An option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TcpOption<'a> {
    /// The most octets of data in a segment that its sender takes (RFC 9293 §3.7.1).
    MaximumSegmentSize(u16),
    /// By how many bits windows are shifted (RFC 7323 §2): what is larger than 14 counts as 14.
    WindowScale(u8),
    /// The sender takes SACK (RFC 2018 §2).
    SackPermitted,
    /// What was received beyond the acknowledged (RFC 2018 §3): whole blocks.
    Sack(SackBlocks<'a>),
    /// Timestamps (RFC 7323 §3).
    Timestamps(TcpTimestamps),
    /// Another kind, which is skipped (RFC 9293 §3.1, MUST-6).
    Other(u8),
}

/// The blocks of a SACK option: the first number of each, and the number after its last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SackBlocks<'a>(&'a [[u8; 8]]);

impl Iterator for SackBlocks<'_> {
    type Item = (u32, u32);

    fn next(&mut self) -> Option<(u32, u32)> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        let block = u64::from_be_bytes(*first);
        Some(((block >> 32) as u32, block as u32))
    }
}

/// Reads options, until the end of the list, or what cannot be one: the rest is not looked at.
#[derive(Clone, Copy, Debug)]
pub struct TcpOptions<'a>(&'a [u8]);

impl<'a> TcpOptions<'a> {
    /// Reads `octets`: the header behind its first 20.
    pub const fn new(octets: &'a [u8]) -> Self {
        TcpOptions(octets)
    }
}

impl<'a> Iterator for TcpOptions<'a> {
    type Item = TcpOption<'a>;

    fn next(&mut self) -> Option<TcpOption<'a>> {
        loop {
            let (kind, behind) = self.0.split_first()?;
            match *kind {
                END => return None,
                NO_OPERATION => self.0 = behind,
                kind => {
                    // Kind and length count: each option is at least two octets long.
                    let length = usize::from(*behind.first()?);
                    let value = self.0.get(2..length)?;
                    self.0 = &self.0[length..];
                    return Some(read(kind, value));
                }
            }
        }
    }
}

/// Reads one option; a known kind of another length is not what it says.
fn read(kind: u8, value: &[u8]) -> TcpOption<'_> {
    match (kind, value) {
        (MAXIMUM_SEGMENT_SIZE, [high, low]) => {
            TcpOption::MaximumSegmentSize(u16::from_be_bytes([*high, *low]))
        }
        (WINDOW_SCALE, [shift]) => TcpOption::WindowScale((*shift).min(SHIFT_MOST)),
        (SACK_PERMITTED, []) => TcpOption::SackPermitted,
        (SACK, blocks) => match blocks.as_chunks() {
            (blocks, []) => TcpOption::Sack(SackBlocks(blocks)),
            _ => TcpOption::Other(SACK),
        },
        (TIMESTAMPS, value) => match value.as_chunks::<4>() {
            ([value, echo], []) => TcpOption::Timestamps(TcpTimestamps {
                value: u32::from_be_bytes(*value),
                echo: u32::from_be_bytes(*echo),
            }),
            _ => TcpOption::Other(TIMESTAMPS),
        },
        (kind, _) => TcpOption::Other(kind),
    }
}

pub(crate) fn put_maximum_segment_size(octets: u16, into: &mut Vec<u8>) {
    into.extend_from_slice(&[MAXIMUM_SEGMENT_SIZE, 4]);
    into.extend_from_slice(&octets.to_be_bytes());
}

pub(crate) fn put_window_scale(shift: u8, into: &mut Vec<u8>) {
    into.extend_from_slice(&[NO_OPERATION, WINDOW_SCALE, 3, shift]);
}

pub(crate) fn put_sack_permitted(into: &mut Vec<u8>) {
    into.extend_from_slice(&[NO_OPERATION, NO_OPERATION, SACK_PERMITTED, 2]);
}

pub(crate) fn put_timestamps(times: TcpTimestamps, into: &mut Vec<u8>) {
    into.extend_from_slice(&[NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10]);
    into.extend_from_slice(&times.value.to_be_bytes());
    into.extend_from_slice(&times.echo.to_be_bytes());
}

/// Returns the timestamps of options that are laid out as ours, with nothing else (RFC 7323
/// appendix A).
#[inline]
pub(crate) fn timestamps_alone(options: &[u8]) -> Option<TcpTimestamps> {
    let [NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10, times @ ..] = options else { return None };
    let (value, echo) = times.split_first_chunk()?;
    let value = u32::from_be_bytes(*value);
    Some(TcpTimestamps { value, echo: u32::from_be_bytes(echo.try_into().ok()?) })
}

/// Writes blocks, at least one and at most [`BLOCKS_MOST`], the lowest 32 bits of each number.
pub(crate) fn put_sack<'a>(
    blocks: impl ExactSizeIterator<Item = &'a Range<u64>>,
    into: &mut Vec<u8>,
) {
    let length = 2 + 8 * blocks.len() as u8;
    into.extend_from_slice(&[NO_OPERATION, NO_OPERATION, SACK, length]);
    for block in blocks {
        into.extend_from_slice(&(block.start as u32).to_be_bytes());
        into.extend_from_slice(&(block.end as u32).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let times = TcpTimestamps { value: 0x0102_0304, echo: u32::MAX };
        let mut octets = Vec::new();
        put_maximum_segment_size(1460, &mut octets);
        put_sack_permitted(&mut octets);
        put_timestamps(times, &mut octets);
        put_window_scale(7, &mut octets);
        assert_eq!(octets.len(), 24, "whole words");
        let read = Vec::from_iter(TcpOptions::new(&octets));
        let expected = [
            TcpOption::MaximumSegmentSize(1460),
            TcpOption::SackPermitted,
            TcpOption::Timestamps(times),
            TcpOption::WindowScale(7),
        ];
        assert_eq!(read, expected);
        let blocks = [0x1_0000_0005..0x1_0000_0009, 0xffff_fffe..0x1_0000_0002];
        octets.clear();
        put_timestamps(times, &mut octets);
        put_sack(blocks.iter(), &mut octets);
        assert_eq!(octets.len(), TIMESTAMPS_LENGTH + 4 + 16);
        let Some(TcpOption::Sack(read)) = TcpOptions::new(&octets).nth(1) else {
            panic!("two options")
        };
        assert_eq!(Vec::from_iter(read), [(5, 9), (0xffff_fffe, 2)]);
    }

    /// RFC 9293 §3.1: MUST-5 to MUST-7, and MUST-64 of §3.2.
    #[test]
    fn what_is_unknown_is_skipped_and_what_is_no_option_ends_the_list() {
        let read = |octets: &'static [u8]| Vec::from_iter(TcpOptions::new(octets));
        let after = TcpOption::WindowScale(SHIFT_MOST);
        assert_eq!(read(&[30, 5, 9, 9, 9, 1, 3, 3, 200]), [TcpOption::Other(30), after]);
        assert_eq!(read(&[2, 3, 9, 3, 3, 14]), [TcpOption::Other(2), after], "a wrong length");
        assert_eq!(read(&[5, 9, 0, 0, 0, 0, 0, 0, 0]), [TcpOption::Other(5)], "no whole block");
        assert_eq!(read(&[1, 1, 0, 3, 3, 14]), [], "behind the end");
        for cut in [&[3][..], &[3, 0, 14], &[3, 1, 14], &[3, 4, 14], &[8, 255]] {
            assert_eq!(TcpOptions::new(cut).count(), 0, "{cut:?}");
        }
    }

    #[test]
    fn any_octets_are_read_to_their_end() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..100_000 {
            let octets = Vec::from_iter((0..random.usize(..=40)).map(|_| random.u8(..12)));
            assert!(TcpOptions::new(&octets).count() <= octets.len() / 2);
        }
    }
}
