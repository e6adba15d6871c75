//! Every number that was ever received: the only guard of exactly-once. A mechanism, and not a
//! policy.

use alloc::vec::Vec;
use core::ops::Range;

/// How many spans may lie beyond the first hole: 16 octets each.
const SPANS_MOST: usize = 4096;

/// The numbers that were received.
#[derive(Debug, Default)]
pub struct Receipts {
    upto: u64,
    /// In rising order; none touches another, or `upto`.
    beyond: Vec<Range<u64>>,
}

impl Receipts {
    /// Creates the receipts of an association that has received nothing; its first number will be
    /// `first`.
    pub const fn new(first: u64) -> Self {
        Receipts { upto: first, beyond: Vec::new() }
    }

    /// Returns the number before which all were received, or are no longer expected.
    #[inline]
    pub fn upto(&self) -> u64 {
        self.upto
    }

    /// Returns the number after the highest one.
    #[inline]
    pub fn highest(&self) -> u64 {
        self.beyond.last().map_or(self.upto, |span| span.end)
    }

    /// Returns the numbers right before `start` that were never received, if none behind it was.
    #[inline]
    pub(crate) fn gap_before(&self, start: u64) -> Option<Range<u64>> {
        // The usual case: nothing is missing.
        if start <= self.upto {
            return None;
        }
        let highest = self.highest();
        (start > highest).then_some(highest..start)
    }

    /// Returns the spans beyond the first hole.
    #[inline]
    pub fn beyond(&self) -> &[Range<u64>] {
        &self.beyond
    }

    /// Returns the holes.
    pub fn missing(&self) -> impl Iterator<Item = Range<u64>> {
        let starts = core::iter::once(self.upto).chain(self.beyond.iter().map(|span| span.end));
        starts.zip(&self.beyond).map(|(from, span)| from..span.start)
    }

    /// Gives up the numbers below `upto`: any that still arrives is a duplicate.
    pub fn skip_to(&mut self, upto: u64) {
        self.upto = self.upto.max(upto);
        let swallowed = self.beyond.partition_point(|span| span.start <= self.upto);
        if let Some(last) = self.beyond.drain(..swallowed).next_back() {
            self.upto = self.upto.max(last.end);
        }
    }

    /// Frees memory that is not needed now.
    pub(crate) fn shrink(&mut self) {
        self.beyond.shrink_to_fit();
    }

    /// Returns whether a span can be entered: no peer can make the receipts larger than 64 KiB.
    #[inline]
    pub fn has_room(&self, span: &Range<u64>) -> bool {
        self.beyond.len() < SPANS_MOST || span.start <= self.upto
    }

    /// Returns whether all of a span was received.
    pub(crate) fn holds(&self, span: &Range<u64>) -> bool {
        self.hole_from(span.start).start >= span.end
    }

    /// Returns the first numbers from `start` on that were never received. The hole beyond the
    /// highest number has no end.
    #[inline]
    pub fn hole_from(&self, start: u64) -> Range<u64> {
        let start = start.max(self.upto);
        if start >= self.highest() {
            return start..u64::MAX;
        }
        let place = self.place_of(start);
        let held = &self.beyond[place];
        if start < held.start {
            return start..held.start;
        }
        held.end..self.beyond.get(place + 1).map_or(u64::MAX, |next| next.start)
    }

    /// Returns where the first span is, or would be, that ends after `number`.
    #[inline]
    fn place_of(&self, number: u64) -> usize {
        self.beyond.partition_point(|span| span.end <= number)
    }

    /// Enters a span of which nothing was received. Returns `false` where something was; then
    /// nothing is done.
    #[inline]
    pub fn enter(&mut self, span: &Range<u64>) -> bool {
        if span.start == self.upto && self.beyond.is_empty() {
            self.upto = span.end;
            return true;
        }
        self.enter_beyond(span)
    }

    fn enter_beyond(&mut self, span: &Range<u64>) -> bool {
        // The usual case: it continues the last span, or is beyond it.
        let place = if span.start >= self.highest() {
            self.beyond.len()
        } else {
            self.place_of(span.start)
        };
        let next = self.beyond.get(place);
        if span.start < self.upto || next.is_some_and(|next| next.start < span.end) {
            return false;
        }
        let meets_next = next.is_some_and(|next| next.start == span.end);
        let meets_last = place.checked_sub(1).filter(|last| self.beyond[*last].end == span.start);
        match meets_last {
            // Only the first hole is before it, and is filled now.
            _ if span.start == self.upto => {
                self.upto = if meets_next { self.beyond.remove(0).end } else { span.end };
            }
            Some(last) if meets_next => self.beyond[last].end = self.beyond.remove(place).end,
            Some(last) => self.beyond[last].end = span.end,
            None if meets_next => self.beyond[place].start = span.start,
            None => self.beyond.insert(place, span.clone()),
        }
        true
    }

    /// Enters the first part of a span of which nothing was received, and returns it.
    pub fn enter_first(&mut self, span: Range<u64>) -> Option<Range<u64>> {
        let hole = self.hole_from(span.start);
        let part = hole.start..hole.end.min(span.end);
        (!part.is_empty() && self.enter(&part)).then_some(part)
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    /// Spans in any order are entered as if each number were kept by itself.
    #[test]
    fn what_is_entered_is_what_was_received() {
        let mut seed = 1_u32;
        let mut random = |most: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            u64::from((seed >> 8) % most)
        };
        for _ in 0..300 {
            let (mut receipts, mut model) = (Receipts::new(10), BTreeSet::new());
            for _ in 0..60 {
                let start = 8 + random(60);
                let span = start..start + 1 + random(8);
                let new: Vec<u64> = span
                    .clone()
                    .filter(|number| *number >= 10 && !model.contains(number))
                    .collect();
                let is_fresh = new.len() as u64 == span.end - span.start;
                assert_eq!(receipts.holds(&span), new.is_empty());
                let hole = receipts.hole_from(span.start);
                assert_eq!(hole.start < span.end, !new.is_empty());
                assert!(hole.clone().take(100).all(|number| !model.contains(&number)));
                if random(2) == 0 {
                    assert_eq!(receipts.enter(&span), is_fresh, "{span:?} into {receipts:?}");
                    if !is_fresh {
                        continue;
                    }
                } else {
                    let parts = core::iter::from_fn(|| receipts.enter_first(span.clone()));
                    let fresh: Vec<u64> = parts.flatten().collect();
                    assert_eq!(fresh, new, "{span:?} into {receipts:?}");
                }
                model.extend(new);
                let upto = (10..).find(|number| !model.contains(number)).unwrap_or_default();
                assert_eq!(receipts.upto(), upto);
                assert!(
                    receipts.beyond().iter().cloned().flatten().eq(model.range(upto..).copied())
                );
                let touch = receipts.beyond().windows(2).any(|pair| pair[0].end >= pair[1].start);
                assert!(
                    !touch && receipts.beyond().iter().all(|span| span.start > upto),
                    "{receipts:?}"
                );
            }
        }
    }
}
