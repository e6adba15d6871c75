//! Every number that was ever received: the only guard of exactly-once. A mechanism, and not a policy.

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
    /// Nothing was received; the first number that will be is `first`.
    pub const fn new(first: u64) -> Self {
        Receipts { upto: first, beyond: Vec::new() }
    }

    /// All numbers before this one were received, or are not waited for.
    #[inline]
    pub fn upto(&self) -> u64 {
        self.upto
    }

    /// The number after the highest one.
    #[inline]
    pub fn highest(&self) -> u64 {
        self.beyond.last().map_or(self.upto, |span| span.end)
    }

    /// The numbers right before `start` that were never received, where none behind it was.
    #[inline]
    pub(crate) fn gap_before(&self, start: u64) -> Option<Range<u64>> {
        // As a rule, nothing is missing.
        if start <= self.upto {
            return None;
        }
        let highest = self.highest();
        (start > highest).then_some(highest..start)
    }

    /// What lies beyond the first hole.
    #[inline]
    pub fn beyond(&self) -> &[Range<u64>] {
        &self.beyond
    }

    /// The holes.
    pub fn missing(&self) -> impl Iterator<Item = Range<u64>> {
        let starts = core::iter::once(self.upto).chain(self.beyond.iter().map(|span| span.end));
        starts.zip(&self.beyond).map(|(from, span)| from..span.start)
    }

    /// Below `upto` nothing is missed any more: what still comes is a duplicate.
    pub fn forgive(&mut self, upto: u64) {
        self.upto = self.upto.max(upto);
        let swallowed = self.beyond.partition_point(|span| span.start <= self.upto);
        if let Some(last) = self.beyond.drain(..swallowed).next_back() {
            self.upto = self.upto.max(last.end);
        }
    }

    /// Gives back memory that it does not need now.
    pub(crate) fn shrink(&mut self) {
        self.beyond.shrink_to_fit();
    }

    /// Whether a span can be entered: nobody can make it hold more than 64 KiB.
    #[inline]
    pub fn has_room(&self, span: &Range<u64>) -> bool {
        self.beyond.len() < SPANS_MOST || span.start <= self.upto
    }

    /// Whether all of a span was received.
    pub(crate) fn holds(&self, span: &Range<u64>) -> bool {
        let from = span.start.max(self.upto);
        let place = self.beyond.partition_point(|other| other.end < span.end);
        from >= span.end || self.beyond.get(place).is_some_and(|other| other.start <= from)
    }

    /// Whether a span begins where all others end.
    #[inline]
    pub fn follows(&self, span: &Range<u64>) -> bool {
        span.start == self.upto && self.beyond.is_empty()
    }

    /// Enters a span that [follows](Receipts::follows); whether it does.
    #[inline]
    pub fn follow(&mut self, span: &Range<u64>) -> bool {
        let follows = self.follows(span);
        if follows {
            self.upto = span.end;
        }
        follows
    }

    /// Enters a span and hands the parts that were never seen before to `fresh`.
    #[inline]
    pub fn insert(&mut self, span: Range<u64>, mut fresh: impl FnMut(Range<u64>)) {
        if self.beyond.is_empty() && span.start <= self.upto {
            if span.end > self.upto {
                let part = self.upto..span.end;
                self.upto = span.end;
                fresh(part);
            }
            return;
        }
        self.insert_beyond(span, &mut fresh);
    }

    fn insert_beyond(&mut self, span: Range<u64>, fresh: &mut dyn FnMut(Range<u64>)) {
        let mut from = span.start.max(self.upto);
        if from >= span.end {
            return;
        }
        let first = self.beyond.partition_point(|other| other.end < from);
        let mut last = first;
        let mut merged = from..span.end;
        while let Some(other) = self.beyond.get(last)
            && other.start <= span.end
        {
            if from < other.start {
                fresh(from..other.start);
            }
            from = from.max(other.end);
            merged = merged.start.min(other.start)..merged.end.max(other.end);
            last += 1;
        }
        if from < span.end {
            fresh(from..span.end);
        }
        if merged.start <= self.upto {
            self.upto = merged.end;
            self.beyond.drain(first..last);
        } else if first == last {
            self.beyond.insert(first, merged);
        } else {
            self.beyond[first] = merged;
            self.beyond.drain(first + 1..last);
        }
    }
}
