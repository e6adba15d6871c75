//! Parts of a message that lie behind each other, with something before each.

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

    /// How many octets all parts have, where the last has `last`.
    #[inline]
    pub(super) fn body(&self, last: usize) -> usize {
        (self.count - 1) * (self.stride - self.skip) + last
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
