//! Operations in casts, each of which fits into a packet: short ones together, a long one in
//! several. All numbers are big endian.
//!
//! ```text
//! cast       kind 8 (0 whole operations, 1 the first piece of one, 2 a further, 3 the last,
//!            4 the time), origin 64
//! operation  number 64, time 64, kind 8 (1: it only reads), octets 32, octets
//! ```

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// The longest cast, so that it fits into a packet of 1500 octets with all headers below.
pub(crate) const CAST_MOST: usize = 1280;
/// The longest operation.
pub(crate) const OPERATION_MOST: usize = 640 << 10;

const WHOLE: u8 = 0;
const FIRST: u8 = 1;
const FURTHER: u8 = 2;
const LAST: u8 = 3;
const TIME: u8 = 4;
/// Octets of a cast before its operations, and of an operation before its own.
const HEAD: usize = 1 + 8;
const BEFORE: usize = 8 + 8 + 1 + 4;

/// What is read from the front: nothing of a peer is trusted.
pub(crate) struct Front<'a>(pub(crate) &'a [u8]);

impl<'a> Front<'a> {
    pub(crate) fn octets(&mut self, count: usize) -> Option<&'a [u8]> {
        let (octets, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(octets)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.octets(1).map(|octets| octets[0])
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.octets(4)?.try_into().ok()?))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.octets(8)?.try_into().ok()?))
    }

    /// Returns what has its length before it.
    pub(crate) fn counted(&mut self) -> Option<&'a [u8]> {
        let count = self.u32()?;
        self.octets(count as usize)
    }
}

/// Appends what has its length before it.
pub(crate) fn push_counted(octets: &mut Vec<u8>, part: &[u8]) {
    octets.extend((part.len() as u32).to_be_bytes());
    octets.extend(part);
}

/// An operation as it is cast.
#[derive(Clone, Copy)]
pub(crate) struct Operation<'a> {
    pub(crate) number: u64,
    pub(crate) time: u64,
    pub(crate) reads: bool,
    pub(crate) octets: &'a [u8],
}

/// Returns the casts of operations: those of a cast, and up to which of them it completes.
pub(crate) fn casts<'a>(
    origin: u64,
    operations: impl Iterator<Item = Operation<'a>>,
) -> VecDeque<(Vec<u8>, Option<u64>)> {
    let head = |kind: u8| [&[kind][..], &origin.to_be_bytes()].concat();
    let mut casts: VecDeque<(Vec<u8>, Option<u64>)> = VecDeque::new();
    for Operation { number, time, reads, octets } in operations {
        let mut whole = Vec::with_capacity(BEFORE + octets.len());
        whole.extend(number.to_be_bytes());
        whole.extend(time.to_be_bytes());
        whole.push(u8::from(reads));
        push_counted(&mut whole, octets);
        if let Some((cast, upto)) = casts.back_mut()
            && cast[0] == WHOLE
            && cast.len() + whole.len() <= CAST_MOST
        {
            cast.extend(whole);
            *upto = Some(number);
            continue;
        }
        let pieces = whole.chunks(CAST_MOST - HEAD);
        let count = pieces.len();
        for (nth, piece) in pieces.enumerate() {
            let (kind, upto) = match nth + 1 {
                1 if count == 1 => (WHOLE, Some(number)),
                last if last == count => (LAST, Some(number)),
                1 => (FIRST, None),
                _ => (FURTHER, None),
            };
            casts.push_back(([&head(kind), piece].concat(), upto));
        }
    }
    casts
}

/// Returns the cast that tells the time.
pub(crate) fn time(time: u64) -> Vec<u8> {
    [&[TIME][..], &time.to_be_bytes()].concat()
}

/// What a cast is.
pub(crate) enum Cast<'a> {
    Time(u64),
    /// The operations of a replica.
    Operations(u64, Front<'a>),
}

/// The pieces of one member's operation.
#[derive(Default)]
pub(crate) struct Assembly(Vec<u8>);

impl Assembly {
    /// Takes a cast; returns what it is, or completes.
    pub(crate) fn take<'a>(&'a mut self, cast: &'a [u8]) -> Option<Cast<'a>> {
        let mut front = Front(cast);
        let (kind, origin) = (front.u8()?, front.u64()?);
        match kind {
            WHOLE => return Some(Cast::Operations(origin, front)),
            TIME => return Some(Cast::Time(origin)),
            FIRST => self.0.clear(),
            FURTHER | LAST => {}
            _ => return None,
        }
        if self.0.len() + front.0.len() > OPERATION_MOST + BEFORE {
            // No member of the view completes it.
            self.0.clear();
            return None;
        }
        self.0.extend(front.0);
        (kind == LAST).then_some(Cast::Operations(origin, Front(&self.0)))
    }
}

impl<'a> Iterator for Front<'a> {
    type Item = Operation<'a>;

    fn next(&mut self) -> Option<Operation<'a>> {
        let (number, time, kind) = (self.u64()?, self.u64()?, self.u8()?);
        let octets = self.counted()?;
        Some(Operation { number, time, reads: kind == 1, octets })
    }
}
