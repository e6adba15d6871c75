//! Where frames begin and end in a line of octets.
//!
//! ```text
//! FEND  type  data, escaped …  FEND
//!  C0                           C0      in between, C0 is DB DC, and DB is DB DD
//! ```

use alloc::boxed::Box;
use alloc::vec;

/// Before and behind each frame (FEND).
pub(crate) const END: u8 = 0xC0;
/// Says that the next octet stands for another (FESC).
const ESCAPE: u8 = 0xDB;
/// Behind an escape: a FEND (TFEND).
const ESCAPED_END: u8 = 0xDC;
/// Behind an escape: a FESC (TFESC).
const ESCAPED_ESCAPE: u8 = 0xDD;

/// Returns the most octets that a frame of `octets` octets, its type included, has on the line.
pub(crate) const fn escaped_most(octets: usize) -> usize {
    2 * octets + 2
}

/// Writes frames into a block that is long enough for all of it.
pub(crate) struct Framer<'a> {
    block: &'a mut [u8],
    length: usize,
}

impl<'a> Framer<'a> {
    pub(crate) fn new(block: &'a mut [u8]) -> Self {
        Framer { block, length: 0 }
    }

    /// Begins or ends a frame.
    pub(crate) fn end(&mut self) {
        self.put(&[END]);
    }

    /// Writes octets of a frame, its type among them.
    pub(crate) fn add(&mut self, mut octets: &[u8]) {
        while !octets.is_empty() {
            let (plain, rest) = octets.split_at(plain(octets));
            self.put(plain);
            octets = rest;
            if let [special, rest @ ..] = octets {
                let stand_in = if *special == END { ESCAPED_END } else { ESCAPED_ESCAPE };
                self.put(&[ESCAPE, stand_in]);
                octets = rest;
            }
        }
    }

    /// Returns the octets written.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    fn put(&mut self, octets: &[u8]) {
        self.block[self.length..][..octets.len()].copy_from_slice(octets);
        self.length += octets.len();
    }
}

/// Returns the number of octets before the first that is an end or an escape.
fn plain(octets: &[u8]) -> usize {
    octets.iter().position(|octet| matches!(*octet, END | ESCAPE)).unwrap_or(octets.len())
}

/// Finds frames in octets. It holds one, of a bounded length, and allocates nothing after it was
/// made.
pub(crate) struct Deframer {
    frame: Box<[u8]>,
    length: usize,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// What comes before the next end belongs to no frame: it is the chatter of a TNC that is not
    /// in KISS yet, or the rest of a frame that is broken.
    Outside,
    Inside,
    /// Inside, behind an escape.
    Escaped,
    /// The frame is complete; the next octet begins another.
    Complete,
}

/// What octets held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// A frame; [`frame`](Deframer::frame) lends it until more is taken.
    Frame,
    /// A frame that is dropped, and why.
    Broken(&'static str),
}

pub(crate) const TOO_LONG: &str = "a frame longer than is allowed";
const UNKNOWN_ESCAPE: &str = "an unknown escape";

impl Deframer {
    /// Makes one for frames of at most `longest` octets, their types included.
    pub(crate) fn new(longest: usize) -> Self {
        Deframer { frame: vec![0; longest].into(), length: 0, state: State::Outside }
    }

    /// Forgets what it holds: the octets that come next do not follow those that came.
    pub(crate) fn reset(&mut self) {
        (self.length, self.state) = (0, State::Outside);
    }

    /// Returns the frame that was found: at least its type.
    pub(crate) fn frame(&self) -> &[u8] {
        &self.frame[..self.length]
    }

    /// Takes octets from the front of `octets`, up to the end of a frame or to where one broke;
    /// `None`: it took all of them.
    pub(crate) fn take(&mut self, octets: &mut &[u8]) -> Option<Found> {
        if self.state == State::Complete {
            // The end of one frame may be the beginning of the next.
            (self.length, self.state) = (0, State::Inside);
        }
        while let [first, rest @ ..] = *octets {
            if self.state == State::Outside {
                let end = octets.iter().position(|octet| *octet == END);
                *octets = end.map_or(&[], |end| &octets[end + 1..]);
                if end.is_some() {
                    (self.length, self.state) = (0, State::Inside);
                }
                continue;
            }
            if self.state == State::Inside && !matches!(*first, END | ESCAPE) {
                let (run, rest) = octets.split_at(plain(octets));
                *octets = rest;
                if !self.put(run) {
                    return self.broken(TOO_LONG);
                }
                continue;
            }
            *octets = rest;
            match (self.state, *first) {
                (State::Inside, END) if self.length > 0 => {
                    self.state = State::Complete;
                    return Some(Found::Frame);
                }
                (State::Inside, END) => {}
                (State::Inside, _) => self.state = State::Escaped,
                (_, ESCAPED_END | ESCAPED_ESCAPE) => {
                    self.state = State::Inside;
                    let octet = if *first == ESCAPED_END { END } else { ESCAPE };
                    if !self.put(&[octet]) {
                        return self.broken(TOO_LONG);
                    }
                }
                (_, END) => {
                    // The frame is broken, and its end is where the next may begin.
                    (self.length, self.state) = (0, State::Inside);
                    return Some(Found::Broken(UNKNOWN_ESCAPE));
                }
                _ => return self.broken(UNKNOWN_ESCAPE),
            }
        }
        None
    }

    /// Appends octets; returns whether there was room.
    fn put(&mut self, octets: &[u8]) -> bool {
        let Some(room) = self.frame[self.length..].get_mut(..octets.len()) else { return false };
        room.copy_from_slice(octets);
        self.length += octets.len();
        true
    }

    fn broken(&mut self, why: &'static str) -> Option<Found> {
        self.reset();
        Some(Found::Broken(why))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// What the octets hold where they come in pieces of `piece`.
    fn found(mut deframer: Deframer, octets: &[u8], piece: usize) -> Vec<Result<Vec<u8>, &str>> {
        let mut all = Vec::new();
        for mut piece in octets.chunks(piece) {
            while let Some(found) = deframer.take(&mut piece) {
                all.push(match found {
                    Found::Frame => Ok(deframer.frame().to_vec()),
                    Found::Broken(why) => Err(why),
                });
            }
            assert!(piece.is_empty(), "all of it was taken");
        }
        all
    }

    fn framed(frame: &[u8]) -> Vec<u8> {
        let mut block = vec![0; escaped_most(frame.len())];
        let mut framer = Framer::new(&mut block);
        framer.end();
        framer.add(frame);
        framer.end();
        let length = framer.length();
        block.truncate(length);
        block
    }

    /// Chepponis and Karn, "The KISS TNC", and the vectors that follow from it: also the type is
    /// escaped.
    const VECTORS: &[(&[u8], &[u8])] = &[
        (b"\x00TEST", b"\xC0\x00TEST\xC0"),
        (b"\x50Hello", b"\xC0\x50Hello\xC0"),
        (b"\x00\xC0\xDB", b"\xC0\x00\xDB\xDC\xDB\xDD\xC0"),
        (b"\xC0A", b"\xC0\xDB\xDC\x41\xC0"),
        (b"\x00\x00\xC0\x01\xDB\x02", b"\xC0\x00\x00\xDB\xDC\x01\xDB\xDD\x02\xC0"),
        (b"\xFF", b"\xC0\xFF\xC0"),
        (b"\x00\xDC\xDD", b"\xC0\x00\xDC\xDD\xC0"),
    ];

    #[test]
    fn frames_are_escaped_as_the_specification_says() {
        for (frame, line) in VECTORS {
            assert_eq!(framed(frame), *line);
            for piece in 1..=line.len() {
                let all = found(Deframer::new(16), line, piece);
                assert_eq!(all, [Ok(frame.to_vec())], "in pieces of {piece}");
            }
        }
    }

    #[test]
    fn one_end_may_be_that_of_two_frames_and_many_ends_are_none() {
        let line = b"cmd:\xC0\xC0\xC0\x00A\xC0\x00B\xC0\xC0\x00C\xC0";
        for piece in 1..line.len() {
            let all = found(Deframer::new(16), line, piece);
            assert_eq!(all, [Ok(b"\0A".to_vec()), Ok(b"\0B".to_vec()), Ok(b"\0C".to_vec())]);
        }
        assert!(found(Deframer::new(4), &[END; 100_000], 1000).is_empty(), "a storm is nothing");
    }

    #[test]
    fn a_broken_frame_is_dropped_alone() {
        for (broken, why) in [
            (&b"\x00\xDBx"[..], UNKNOWN_ESCAPE),
            (b"\x00\xDB\xDBtail\xDB", UNKNOWN_ESCAPE),
            (b"\x00\xDB", UNKNOWN_ESCAPE),
            (b"\x0012345678", TOO_LONG),
            (b"\x001234567\xDB\xDC", TOO_LONG),
        ] {
            let line = [b"\xC0", broken, b"\xC0\x00next\xC0"].concat();
            for piece in 1..=line.len() {
                let all = found(Deframer::new(8), &line, piece);
                assert_eq!(all, [Err(why), Ok(b"\0next".to_vec())], "{broken:x?} by {piece}");
            }
        }
    }

    /// Whatever a line carries, no frame is longer than the bound, and the next one is found.
    #[test]
    fn a_million_random_streams_end_with_the_frame_behind_them() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut deframer = Deframer::new(12);
        let (mut frames, mut breaks) = (0, 0);
        for stream in 0..1_000_000 {
            let length = random.usize(0..40);
            let mut line: Vec<u8> = (0..length)
                .map(|_| match random.u8(0..8) {
                    0 => END,
                    1 => ESCAPE,
                    2 => ESCAPED_END,
                    3 => ESCAPED_ESCAPE,
                    _ => random.u8(..),
                })
                .collect();
            line.extend_from_slice(b"\xC0\x00resync\xC0");
            let mut last = Vec::new();
            let (mut front, mut back) = line.split_at(random.usize(0..line.len()));
            for piece in [&mut front, &mut back] {
                while let Some(what) = deframer.take(piece) {
                    match what {
                        Found::Frame => frames += 1,
                        Found::Broken(_) => breaks += 1,
                    }
                    assert!(what != Found::Frame || (1..=12).contains(&deframer.frame().len()));
                    last.clear();
                    last.extend_from_slice(deframer.frame());
                }
            }
            assert_eq!(last, b"\0resync", "stream {stream}");
        }
        assert!(frames > 2_000_000 && breaks > 500_000, "{frames} frames, {breaks} broken");
    }

    #[test]
    fn what_was_framed_is_found_again() {
        let mut random = fastrand::Rng::with_seed(8);
        for _ in 0..10_000 {
            let octet = |random: &mut fastrand::Rng| match random.u8(0..3) {
                0 => [END, ESCAPE, ESCAPED_END, ESCAPED_ESCAPE][random.usize(0..4)],
                _ => random.u8(..),
            };
            let frame: Vec<u8> = (0..random.usize(1..50)).map(|_| octet(&mut random)).collect();
            let line = framed(&frame);
            assert!(line[1..line.len() - 1].iter().all(|octet| *octet != END));
            assert_eq!(found(Deframer::new(50), &line, random.usize(1..60)), [Ok(frame)]);
        }
    }
}
