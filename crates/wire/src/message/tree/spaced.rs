//! Octets of one block with gaps between them: the bodies of packets that lie there one behind the other.
//!
//! ```text
//!  before start  end       gap   part           last_gap  last
//! ├─ ─ ─ ─┼───────┼─ ─ ─ ─ ─┼─────────┼─ ─ ─ ─ ─┼─ ─ ─ ─ ─ ─┼──────┤
//!         first            └──── `more` of them follow it ─────────┘
//! ```

use alloc::boxed::Box;
use core::mem;

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
    /// What may be written before the first part that is left. That is not empty.
    before: u32,
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
        self.before = gap;
        self.start = self.end + gap;
        self.end = self.start + part;
        self.more -= 1;
        true
    }

    /// The part that so many are before, as the first.
    #[inline]
    fn at(mut self, place: u32) -> Option<Self> {
        if place > self.more {
            return None;
        }
        if let Some(between) = place.checked_sub(1) {
            // Those between the first and the last are alike.
            self.end += between * (self.gap + self.part);
            self.more -= between;
            self.pass();
        }
        Some(self)
    }
}

/// Part by part.
pub(super) struct Parts<'a> {
    block: &'a [u8],
    left: Option<Places>,
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let place = self.left.as_mut()?;
        let part = &self.block[place.start as usize..place.end as usize];
        if !place.pass() {
            self.left = None;
        }
        Some(part)
    }
}

/// Part by part, each with what may be written before it.
#[derive(Default)]
pub(super) struct PartsMut<'a> {
    /// From the next gap on.
    block: &'a mut [u8],
    left: Option<Places>,
}

impl<'a> Iterator for PartsMut<'a> {
    type Item = (&'a mut [u8], &'a mut [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let place = self.left.as_mut()?;
        let (gap, rest) = mem::take(&mut self.block).split_at_mut(place.before as usize);
        let (part, rest) = rest.split_at_mut((place.end - place.start) as usize);
        self.block = rest;
        if !place.pass() {
            self.left = None;
        }
        Some((gap, part))
    }
}

impl Spaced {
    /// Whether parts of a block may be: what is kept of places is enough for it.
    #[inline]
    pub(super) fn takes(block: &[u8]) -> bool {
        u32::try_from(block.len()).is_ok()
    }

    /// The octets of `first`, of which there are some, and those of the `parts` that lie behind it in its block: none is empty, and
    /// the last has `last` octets.
    #[inline]
    pub(super) fn new(first: Slice, parts: &Strides, last: usize) -> Self {
        let Strides { stride, count, skip, skip_last } = *parts;
        let (start, end) = first.place();
        let places = Places {
            before: start as u32,
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
                let octets = first.min(octets as u32);
                places.before += octets;
                places.start += octets;
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
    pub(super) fn parts(&self) -> Parts<'_> {
        Parts { block: &self.block, left: Some(self.places) }
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

    /// Each part, and what may be written before it, where nobody else holds the block.
    #[inline]
    pub(super) fn parts_mut(&mut self) -> PartsMut<'_> {
        let Some(block) = Arc::get_mut(&mut self.block) else { return PartsMut::default() };
        let places = self.places;
        PartsMut { block: &mut block[(places.start - places.before) as usize..], left: Some(places) }
    }

    /// Whether it can grow to the front in place.
    #[inline]
    pub(super) fn has_headroom(&self, octets: usize) -> bool {
        octets <= self.places.before as usize && self.is_unique()
    }

    /// Grows to the front in place.
    ///
    /// # Panics
    /// Where it [has no headroom](Spaced::has_headroom) for that.
    #[inline]
    pub(super) fn push_front(&mut self, octets: usize) -> &mut [u8] {
        let block = Arc::get_mut(&mut self.block).expect("nobody else holds the block");
        let end = self.places.start;
        self.places.before -= octets as u32;
        self.places.start -= octets as u32;
        &mut block[self.places.start as usize..end as usize]
    }

    /// From so many octets before it to the end of part `count`: one piece.
    #[inline]
    pub(super) fn with_gaps(&self, before: usize, count: usize) -> Option<Slice> {
        let last = self.places.at(u32::try_from(count.checked_sub(1)?).ok()?)?;
        let start = self.places.before.checked_sub(u32::try_from(before).ok()?)?;
        let start = self.places.start - self.places.before + start;
        Some(Slice::of(self.block.clone(), start as usize, last.end as usize))
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
