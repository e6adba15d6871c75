//! Parts of a message that lie behind each other, with something before each.

use core::mem;
use core::ops::Range;

use super::Message;

/// Packets that lie behind each other, and what stands before the part of each that is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strides {
    /// The octets of a packet, but of the last of a message, which may be shorter.
    pub stride: usize,
    /// How many packets.
    pub count: usize,
    /// How many octets of each are not wanted, at its front; and of the last.
    pub skip: usize,
    /// As [`skip`](Strides::skip), of the last.
    pub skip_last: usize,
}

/// How messages that are alike lie in a block, one behind the other, and each of them [apart](Message::join_parts).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The first part of the first message: not empty.
    pub first: Range<usize>,
    /// What lies behind it, of that message.
    pub parts: Strides,
    /// Where that message ends.
    pub end: usize,
    /// How many messages there are.
    pub messages: usize,
    /// How many octets are between two of them.
    pub gap: usize,
}

/// Packets of one length that lie behind each other in a block that nobody else holds, and at the end of each a part of a message: of one,
/// or of several.
#[derive(Debug)]
pub struct Stretch<'a> {
    octets: &'a mut [u8],
    count: usize,
    stride: usize,
    gap: usize,
    ends: Ends,
}

/// Which of several packets end their messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ends {
    /// How many packets are before the first that does. There may be fewer: then none does.
    pub behind: usize,
    /// From there on one of so many does.
    pub every: usize,
    /// How many octets are before the part of each that does.
    pub gap: usize,
}

impl<'a> Stretch<'a> {
    /// `count` packets of `stride` octets are at the front of `octets`: `gap` of them are before the part of each that ends no message.
    #[inline]
    pub(super) fn new(octets: &'a mut [u8], count: usize, stride: usize, gap: usize, ends: Ends) -> Self {
        Stretch { octets, count, stride, gap, ends }
    }

    /// How many packets there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many octets each has.
    #[inline]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// How many octets are before the part of each that ends no message.
    #[inline]
    pub fn gap(&self) -> usize {
        self.gap
    }

    /// Which of them end their messages.
    #[inline]
    pub fn ends(&self) -> Ends {
        self.ends
    }

    /// How many octets are before the first part.
    #[inline]
    pub fn first_gap(&self) -> usize {
        if self.ends.behind == 0 { self.ends.gap } else { self.gap }
    }

    /// How many octets the first part has.
    #[inline]
    pub fn first_part(&self) -> usize {
        self.stride - self.first_gap()
    }

    /// Splits the first `count` packets off, or all if there are fewer.
    #[inline]
    #[must_use]
    pub fn split_to(&mut self, count: usize) -> Self {
        let count = count.min(self.count);
        let (octets, rest) = mem::take(&mut self.octets).split_at_mut(count * self.stride);
        let first = Stretch { octets, count, ..*self };
        self.octets = rest;
        self.count -= count;
        let Ends { behind, every, .. } = self.ends;
        self.ends.behind = match behind.checked_sub(count) {
            Some(behind) => behind,
            None => every - 1 - (count - behind - 1) % every,
        };
        first
    }

    /// Splits the packets of the first message off: those before the one that ends it, and that one, if it is there. `None`: none are left.
    #[inline]
    pub fn split_message(&mut self) -> Option<(impl Iterator<Item = &'a mut [u8]>, Option<&'a mut [u8]>)> {
        if self.count == 0 {
            return None;
        }
        let before = self.ends.behind.min(self.count);
        let (between, rest) = mem::take(&mut self.octets).split_at_mut(before * self.stride);
        self.count -= before;
        self.ends.behind -= before;
        let mut last = None;
        self.octets = rest;
        if self.count > 0 {
            let (packet, rest) = mem::take(&mut self.octets).split_at_mut(self.stride);
            (self.octets, last) = (rest, Some(packet));
            self.count -= 1;
            self.ends.behind = self.ends.every - 1;
        }
        Some((between.chunks_exact_mut(self.stride), last))
    }

    /// Packet by packet, what is before its part, and the part.
    #[inline]
    pub fn packets(self) -> impl Iterator<Item = &'a mut [u8]> {
        self.octets.chunks_exact_mut(self.stride)
    }
}

impl Layout {
    /// Where the last message ends; `None`: nowhere.
    pub(super) fn all_end(&self) -> Option<usize> {
        let stride = self.end.checked_sub(self.first.start)?.checked_add(self.gap)?;
        self.messages.checked_sub(1)?.checked_mul(stride)?.checked_add(self.end)
    }

    /// The messages, each put together.
    ///
    /// # Panics
    /// Where they do not lie within `block`.
    pub(super) fn join<M: Message>(&self, block: M::Block) -> M {
        let end = self.all_end().expect("messages lie somewhere");
        let mut left = M::from_block(block, self.first.start, end);
        let mut all = self.next(&mut left);
        for _ in 1..self.messages {
            left.advance(self.gap);
            all.join(self.next(&mut left));
        }
        all
    }

    fn next<M: Message>(&self, left: &mut M) -> M {
        let mut message = left.split_to(self.first.len());
        let mut behind = left.split_to(self.end - self.first.end);
        message.join_parts(&mut behind, &self.parts);
        message
    }
}

impl Strides {
    /// How many octets they have, of so many that are there.
    #[inline]
    pub fn octets(&self, there: usize) -> usize {
        there.min(self.count * self.stride)
    }

    /// How many octets the last part has then; `None`: there is no last, or it has none.
    #[inline]
    pub(super) fn last(&self, there: usize) -> Option<usize> {
        let before = self.count.checked_sub(1)? * self.stride + self.skip_last;
        self.octets(there).checked_sub(before).filter(|octets| *octets > 0)
    }

    /// Splits the parts off `message`, and what stands before them.
    ///
    /// # Panics
    /// Where it has fewer.
    pub(super) fn each<M: Message>(&self, message: &mut M, mut take: impl FnMut(M)) {
        for place in 1..=self.count {
            let skip = if place == self.count { self.skip_last } else { self.skip };
            let octets = message.len().min(self.stride);
            message.advance(skip);
            take(message.split_to(octets - skip));
        }
    }
}
