//! Octets of one block with gaps between them: the bodies of packets that lie there one behind the other.
//!
//! ```text
//!        start  end       gap   part           last_gap  last
//! ├──────┼───────┼─ ─ ─ ─ ─┼─────────┼─ ─ ─ ─ ─┼─ ─ ─ ─ ─ ─┼──────┤
//!        first            └──── `more` of them follow it ─────────┘
//! ```

use triomphe::Arc;

use super::Unshared;
use super::slice::Slice;
use crate::message::Strides;

/// Parts of a block. However many they are, nothing is allocated for them.
#[derive(Clone, Debug)]
pub(super) struct Spaced {
    block: Arc<Box<[u8]>>,
    places: Places,
}

/// Where they lie. A block is shorter than 4 GiB.
#[derive(Clone, Copy, Debug)]
struct Places {
    /// The first part that is left. It is not empty.
    start: u32,
    end: u32,
    /// How many follow it.
    more: u32,
    /// What stands before each of them, and how many octets it has, but for the last.
    gap: u32,
    part: u32,
    last_gap: u32,
    last: u32,
}

impl Places {
    /// The place after the first one.
    #[inline]
    fn pass(&mut self) -> bool {
        let (gap, part) = match self.more {
            0 => return false,
            1 => (self.last_gap, self.last),
            _ => (self.gap, self.part),
        };
        self.start = self.end + gap;
        self.end = self.start + part;
        self.more -= 1;
        true
    }
}

impl Spaced {
    /// Whether it may be the first part: what is kept of places is enough for its block.
    #[inline]
    pub(super) fn takes(first: &Slice) -> bool {
        !first.is_empty() && u32::try_from(first.block().len()).is_ok()
    }

    /// The octets of `first`, and those of the `parts` that lie behind it in its block: none is empty, and the last has `last` octets.
    #[inline]
    pub(super) fn new(first: Slice, parts: &Strides, last: usize) -> Self {
        let Strides { stride, count, skip, skip_last } = *parts;
        let (start, end) = first.place();
        let places = Places {
            start: start as u32,
            end: end as u32,
            more: count as u32,
            gap: skip as u32,
            part: (stride - skip) as u32,
            last_gap: skip_last as u32,
            last: last as u32,
        };
        Spaced { block: first.into_shared(), places }
    }

    #[inline]
    pub(super) fn first(&self) -> &[u8] {
        &self.block[self.places.start as usize..self.places.end as usize]
    }

    /// Takes octets away from the front, of which it has as many. Whether only the last part is left, or what was behind it.
    #[inline]
    pub(super) fn advance(&mut self, mut octets: usize) -> bool {
        let places = &mut self.places;
        loop {
            let first = places.end - places.start;
            if octets < first as usize || places.more == 0 {
                places.start += first.min(octets as u32);
                return places.more == 0;
            }
            octets -= first as usize;
            places.pass();
        }
    }

    /// The last part.
    pub(super) fn into_last(self) -> Slice {
        Slice::of(self.block, self.places.start as usize, self.places.end as usize)
    }

    #[inline]
    pub(super) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let mut left = Some(self.places);
        core::iter::from_fn(move || {
            let place = left.as_mut()?;
            let part = &self.block[place.start as usize..place.end as usize];
            if !place.pass() {
                left = None;
            }
            Some(part)
        })
    }

    /// Each part as a piece of its own.
    pub(super) fn for_each(self, mut take: impl FnMut(Slice)) {
        let Spaced { block, mut places } = self;
        loop {
            take(Slice::of(block.clone(), places.start as usize, places.end as usize));
            if !places.pass() {
                return;
            }
        }
    }

    #[inline]
    pub(super) fn is_unique(&self) -> bool {
        self.block.is_unique()
    }

    /// Its block, where nobody else holds it.
    #[inline]
    pub(super) fn into_block(self) -> Option<Unshared> {
        Unshared::of(self.block)
    }
}
