//! What a datagram word carries: one message, or several that leave or have come together.

use alloc::vec;
use core::iter::FusedIterator;
use core::num::NonZeroU32;

use stackwright_wire::Message;

use super::Credit;
use crate::rules::HEADER_ROOM_MOST;

/// One message of any length, or several that lie one behind the other, equally long but the last,
/// which may be shorter: what the kernel calls generic segmentation and receive offload (GSO, GRO).
///
/// It means the same as its messages one by one, in order. A protocol that says so in
/// [`BATCHES`](crate::Protocol::BATCHES) is handed several at once; every other gets batches of
/// one.
///
/// A batch owns one thing, its octets. A word with two things to drop could not be kept in
/// registers on its way through a stack (`crossing/stack/8` of the gate: 290 instructions for 167).
///
/// ```
/// use stackwright_contract::services::Batch;
/// use stackwright_wire::{BufferTree, Message};
/// let batch = Batch::new(BufferTree::with_headroom(0, b"abcdefgh"), 3);
/// assert_eq!(batch.count(), 3);
/// assert!(batch.into_iter().map(|message| message.len()).eq([3, 3, 2]));
/// ```
#[derive(Debug)]
pub struct Batch<M> {
    octets: M,
    /// `None`: there is one message.
    segment_size: Option<NonZeroU32>,
}

impl<M> From<M> for Batch<M> {
    #[inline(always)]
    fn from(message: M) -> Self {
        Batch { octets: message, segment_size: None }
    }
}

impl<M> Batch<M> {
    /// Returns how many octets each message has, but the last; `None`: there is one message.
    #[inline(always)]
    pub fn segment_size(&self) -> Option<NonZeroU32> {
        self.segment_size
    }

    /// Lends the octets of all messages, in one piece.
    #[inline(always)]
    pub fn as_octets(&self) -> &M {
        &self.octets
    }

    /// Lends the only message, to be altered in place: how a protocol that [takes one at a
    /// time](crate::Protocol::BATCHES) writes and reads its header.
    #[inline(always)]
    pub fn single_mut(&mut self) -> &mut M {
        self.assert_single();
        &mut self.octets
    }

    /// Returns the only message.
    #[inline(always)]
    pub fn into_single(self) -> M {
        self.assert_single();
        self.octets
    }

    #[inline(always)]
    fn assert_single(&self) {
        debug_assert!(self.segment_size.is_none(), "one message at a time was asked for");
    }

    /// Returns the octets of all messages, in one piece.
    #[inline]
    pub fn into_octets(self) -> M {
        self.octets
    }
}

impl<M: Message> Batch<M> {
    /// Returns the messages that lie one behind the other in `octets`, `segment_size` octets each
    /// but the last.
    ///
    /// # Panics
    /// Where there are no octets, or `segment_size` is 0: no message of several is empty. And where
    /// several messages have 4 GiB or more each.
    pub fn new(octets: M, segment_size: usize) -> Self {
        assert!(segment_size > 0 && !octets.is_empty(), "no message of several is empty");
        if octets.len() <= segment_size {
            return octets.into(); // one message has one form
        }
        let size = u32::try_from(segment_size).expect("a message of several is shorter than 4 GiB");
        Batch { octets, segment_size: NonZeroU32::new(size) }
    }

    /// Returns how many octets the longest message has, which is the first.
    #[inline]
    pub fn longest(&self) -> usize {
        self.segment_size.map_or(self.octets.len(), |size| size.get() as usize)
    }

    /// Returns how many messages there are: at least one.
    #[inline]
    pub fn count(&self) -> usize {
        self.segment_size.map_or(1, |size| self.octets.len().div_ceil(size.get() as usize))
    }

    /// Returns how many octets all messages have.
    #[inline]
    pub fn octets(&self) -> usize {
        self.octets.len()
    }

    /// Returns the credit that the messages use up.
    #[inline]
    pub fn cost(&self) -> Credit {
        Credit { octets: self.octets(), messages: self.count() }
    }

    /// Prepends `header` to each message; of several, in the gaps between them. Returns whether it
    /// did: [`Message::push_each`].
    #[inline(always)]
    pub fn push_each(&mut self, header: &[u8]) -> bool {
        let Some(size) = self.segment_size else {
            self.octets.push_front(header.len()).copy_from_slice(header);
            return true;
        };
        let pushed = self.octets.push_each(size.get() as usize, header);
        if pushed {
            self.segment_size = size.checked_add(header.len() as u32);
        }
        pushed
    }

    /// Takes `header` off each message. Returns whether it did: each has to begin with it, and
    /// several have to be as [`Message::strip_each`] says.
    pub fn strip_each(&mut self, header: &[u8]) -> bool {
        let Some(size) = self.segment_size else {
            let begins = self.octets.front(header.len()) == Some(header);
            if begins {
                self.octets.advance(header.len());
            }
            return begins;
        };
        let stripped = self.octets.strip_each(size.get() as usize, header);
        if stripped {
            self.segment_size = NonZeroU32::new(size.get() - header.len() as u32);
        }
        stripped
    }

    /// Returns the first `octets` octets of the first message: [`Message::front`].
    #[inline(always)]
    pub fn front(&mut self, octets: usize) -> Option<&[u8]> {
        self.octets.front(octets)
    }

    /// Returns the octets of each message, piece by piece, where they lie. An empty message has no
    /// piece.
    #[inline]
    pub fn pieces(&self) -> impl Iterator<Item = impl Iterator<Item = &[u8]>> {
        self.octets.messages(self.longest().max(1))
    }

    /// Splits the first of several messages off; `None`: there is only one.
    #[inline]
    pub fn split_first(&mut self) -> Option<M> {
        let size = self.segment_size?.get() as usize;
        let first = self.octets.split_to(size);
        if self.octets.len() <= size {
            self.segment_size = None;
        }
        Some(first)
    }

    /// Splits off as many of the first messages as `credit` covers; `None`: not one, or all.
    pub fn split_covered(&mut self, credit: Credit) -> Option<Self> {
        let size = self.segment_size?.get() as usize;
        let count = (credit.octets / size).min(credit.messages);
        if count == 0 || credit.covers(self.cost()) {
            return None;
        }
        let first = Batch::new(self.octets.split_to(count * size), size);
        if self.octets.len() <= size {
            self.segment_size = None;
        }
        Some(first)
    }

    /// Alters the octets of all messages, piece by piece and in order: in place, or in a copy where
    /// another holder would see it.
    ///
    /// # Panics
    /// Where a region of a file is among them: a protocol that [reads
    /// payload](crate::Facts::reads_payload) never meets one.
    pub fn alter(&mut self, mut alter: impl FnMut(&mut [u8])) {
        let in_place = self.octets.segments_mut().map(|(_, octets)| alter(octets)).count();
        if in_place > 0 {
            return;
        }
        let mut octets = vec![0; self.octets.len()];
        let copied = self.octets.copy_to(&mut octets);
        assert_eq!(copied, octets.len(), "no region of a file meets a protocol that reads payload");
        alter(&mut octets);
        self.octets = M::with_headroom(HEADER_ROOM_MOST, &octets);
    }

    /// Returns the same messages once more, without a copy where messages are
    /// [shared](Message::SHARES).
    pub fn share(&self) -> Self {
        Batch { octets: self.octets.share(), segment_size: self.segment_size }
    }
}

impl<M: Message> IntoIterator for Batch<M> {
    type Item = M;
    type IntoIter = BatchMessages<M>;

    #[inline]
    fn into_iter(self) -> BatchMessages<M> {
        BatchMessages { segment_size: self.longest(), left: self.count(), octets: self.octets }
    }
}

/// The messages of a [`Batch`] that were not taken from it yet.
#[derive(Debug)]
pub struct BatchMessages<M> {
    octets: M,
    segment_size: usize,
    left: usize,
}

impl<M: Message> BatchMessages<M> {
    /// Returns how many octets each has, but the last.
    #[inline]
    pub fn segment_size(&self) -> usize {
        self.segment_size
    }

    /// Appends the octets of the next `count` to `message`: without a copy where it lies right
    /// before them, in one piece.
    ///
    /// # Panics
    /// Where there are fewer messages.
    #[inline]
    pub fn join_next(&mut self, message: &mut M, count: usize) {
        assert!(count <= self.left, "no more than are left");
        let octets = self.octets.len().min(count * self.segment_size);
        message.join(self.octets.split_to(octets));
        self.left -= count;
    }

    /// Returns the same messages once more, as [`Batch::share`].
    #[inline]
    pub fn share(&self) -> Self {
        BatchMessages { octets: self.octets.share(), ..*self }
    }

    /// Returns the octets of each that is left, piece by piece, where they lie.
    #[inline]
    pub fn pieces(&self) -> impl Iterator<Item = impl Iterator<Item = &[u8]>> {
        self.octets.messages(self.segment_size)
    }

    /// Lends the octets of those that are left, where they lie in one piece.
    #[inline]
    pub fn octets(&mut self) -> Option<&[u8]> {
        self.octets.front(self.octets.len())
    }
}

impl<M: Message> Iterator for BatchMessages<M> {
    type Item = M;

    #[inline]
    fn next(&mut self) -> Option<M> {
        self.left = self.left.checked_sub(1)?;
        // The last takes the octets with it: what was taken apart holds no block any more.
        let octets = if self.left == 0 { self.octets.len() } else { self.segment_size };
        Some(self.octets.split_to(octets))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<M: Message> ExactSizeIterator for BatchMessages<M> {}

impl<M: Message> FusedIterator for BatchMessages<M> {}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use stackwright_wire::{BufferTree, SingleBuffer};

    use super::*;

    fn octets<M: Message>(message: &M) -> Vec<u8> {
        let mut octets = alloc::vec![0; message.len()];
        message.copy_to(&mut octets);
        octets
    }

    fn comes_apart<M: Message>() {
        for (length, size, lengths) in [
            (10, 4, &[4, 4, 2][..]),
            (8, 4, &[4, 4]),
            (3, 4, &[3]),
            (4, 4, &[4]),
            (3, 1, &[1, 1, 1]),
        ] {
            let whole: Vec<u8> = (0..length).collect();
            let made = || Batch::new(M::with_headroom(3, &whole), size);
            let mut batch = made();
            assert_eq!(batch.cost(), Credit { octets: whole.len(), messages: lengths.len() });
            assert_eq!(batch.segment_size().is_some(), lengths.len() > 1, "one has one form");
            assert_eq!(batch.longest(), lengths[0]);
            let pieces = batch.pieces().map(|pieces| pieces.map(<[u8]>::len).sum::<usize>());
            assert!(pieces.eq(lengths.iter().copied()));
            let (mut start, mut left) = (0, made().into_iter());
            for (place, expected) in lengths.iter().enumerate() {
                assert_eq!(left.len(), lengths.len() - place);
                assert_eq!(left.octets(), Some(&whole[start..]));
                let message = left.next().expect("one more");
                assert_eq!(octets(&message), whole[start..start + expected]);
                // The same by splitting: it ends with a batch of one.
                assert_eq!(batch.count(), lengths.len() - place);
                let same = match batch.split_first() {
                    Some(first) => first,
                    None => batch.share().into_single(),
                };
                assert_eq!(octets(&same), octets(&message));
                start += expected;
            }
            assert!(left.next().is_none() && left.next().is_none() && batch.count() == 1);
        }
    }

    #[test]
    fn it_comes_apart_into_what_it_was_made_of() {
        comes_apart::<BufferTree>();
        comes_apart::<SingleBuffer>();
    }

    #[test]
    fn an_empty_message_is_one() {
        let empty = Batch::from(BufferTree::default());
        assert_eq!((empty.cost(), empty.longest()), (Credit { octets: 0, messages: 1 }, 0));
        assert_eq!(empty.pieces().flatten().count(), 0);
        assert_eq!(empty.into_iter().map(|message| message.len()).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn the_next_messages_are_joined_in_one_piece() {
        let mut left = Batch::new(BufferTree::with_headroom(0, b"1abc2def3g"), 4).into_iter();
        let mut message = left.next().expect("three of them");
        left.join_next(&mut message, 1);
        assert_eq!((octets(&message), left.len()), (b"1abc2def".to_vec(), 1));
        left.join_next(&mut message, 1);
        left.join_next(&mut message, 0);
        assert_eq!((octets(&message), left.next().is_none()), (b"1abc2def3g".to_vec(), true));
        assert!(
            message.unshared().is_some(),
            "nothing was copied, and nobody else holds the block"
        );
    }

    #[test]
    fn the_last_message_takes_the_block() {
        let mut left = Batch::new(BufferTree::with_headroom(0, &[7; 300]), 200).into_iter();
        drop(left.next());
        let mut last = left.next().expect("two of them");
        assert!(last.unshared().is_some(), "nobody else holds the block");
    }

    #[test]
    fn what_is_dropped_holds_no_block() {
        let mut whole = BufferTree::with_headroom(0, &[7; 300]);
        let batch = || Batch::new(whole.share(), 200);
        let mut half = batch().into_iter();
        drop((batch(), half.next(), half));
        assert!(whole.unshared().is_some());
    }

    #[test]
    #[should_panic = "no message of several is empty"]
    fn nothing_is_not_several_messages() {
        let _batch = Batch::new(BufferTree::default(), 3);
    }

    #[test]
    #[should_panic = "no message of several is empty"]
    fn several_messages_have_octets() {
        let _batch = Batch::new(BufferTree::with_headroom(0, b"abc"), 0);
    }
}
