//! Messages that cross a boundary together.

use core::iter::FusedIterator;
use core::mem::ManuallyDrop;

use stackwright_wire::{Message, Strides};

use super::{Ecn, Quality, Room};

/// Several messages, one behind the other: equally long but the last, which may be shorter; none is empty.
///
/// It is the same as each of them by itself, in order. Who has no use for it takes it apart: `for message in run`.
///
/// Whoever hears it takes its octets, in one way or the other: it does not let go of them when it is dropped, and they stay where they
/// are until the program ends. A word with two kinds of octets to let go of cannot be kept in registers on its way through a stack:
/// each crossing of *any* word would cost ten instructions more (`crossing/stack/8` of the gate 290 for 167).
#[derive(Debug)]
#[must_use = "nobody else lets go of its octets"]
pub struct Run<M> {
    octets: ManuallyDrop<M>,
    stride: u32,
    number: Option<u32>,
    ecn: Ecn,
}

impl<M: Message> Run<M> {
    /// The messages that `octets` hold, each of which has `stride` octets, but the last, which may have fewer.
    ///
    /// # Panics
    /// Where `stride` is 0, or there are no octets: no message of a run is empty. And where it is 4 GiB or more.
    pub fn new(octets: M, stride: usize) -> Self {
        assert!(stride > 0 && !octets.is_empty(), "no message of a run is empty");
        let stride = u32::try_from(stride).expect("no message of a run is as long");
        Run { octets: ManuallyDrop::new(octets), stride, number: None, ecn: Ecn::NotEct }
    }

    /// The same messages, of which the first has this [number](Quality::number), if any, and each the next one of that before it.
    pub fn numbered(self, number: Option<u32>) -> Self {
        Run { number, ..self }
    }

    /// The number of the first message.
    pub fn number(&self) -> Option<u32> {
        self.number
    }

    /// The same messages, of which each says this of congestion.
    pub fn bearing(self, ecn: Ecn) -> Self {
        Run { ecn, ..self }
    }

    /// What each message says of congestion.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        self.ecn
    }

    /// What is wished of each message, and what came with it, but for its number.
    #[inline]
    pub fn quality(&self) -> Quality {
        Quality { ecn: self.ecn, ..Quality::default() }
    }

    /// How many octets each message has, but the last.
    #[inline]
    pub fn stride(&self) -> usize {
        self.stride as usize
    }

    /// How many messages there are.
    #[inline]
    pub fn messages(&self) -> usize {
        self.octets.len().div_ceil(self.stride())
    }

    /// The room that they take.
    #[inline]
    pub fn room(&self) -> Room {
        Room { octets: self.octets.len(), messages: self.messages() }
    }

    /// How many octets the first message has.
    #[inline]
    pub fn next_octets(&self) -> usize {
        self.octets.len().min(self.stride())
    }

    /// The same messages once more, for who hears of them and lets them pass.
    pub fn share(&self) -> Apart<M> {
        Apart { octets: self.octets.share(), stride: self.stride() }
    }

    /// All messages, in one piece.
    #[inline]
    pub fn into_octets(self) -> M {
        ManuallyDrop::into_inner(self.octets)
    }
}

impl<M: Message> IntoIterator for Run<M> {
    type Item = M;
    type IntoIter = Apart<M>;

    #[inline]
    fn into_iter(self) -> Apart<M> {
        let stride = self.stride();
        Apart { octets: self.into_octets(), stride }
    }
}

/// A run that is being taken apart: the messages that are left.
#[derive(Debug)]
pub struct Apart<M> {
    octets: M,
    stride: usize,
}

impl<M: Message> Apart<M> {
    /// How many octets each message has, but the last.
    #[inline]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// How many are left.
    #[inline]
    pub fn messages(&self) -> usize {
        self.octets.len().div_ceil(self.stride)
    }

    /// The octets of the next `count` are appended to `message`, but for the first `skip` of each, and the first `skip_last` of the
    /// last of them. Gives how many they have.
    ///
    /// # Panics
    /// Where there are fewer, or one has fewer octets than that.
    #[inline]
    pub fn join_next(&mut self, message: &mut M, count: usize, skip: usize, skip_last: usize) -> usize {
        assert!(count <= self.messages(), "no more than are left");
        let parts = Strides { stride: self.stride, count, skip, skip_last };
        let octets = parts.octets(self.octets.len());
        message.join_parts(&mut self.octets, &parts);
        octets
    }

    /// Messages whose parts lie in the next `messages` times `count` of them, as those of `message` do in the ones before: they are
    /// appended to it. Whether it was so, and nothing had to be copied; else nothing is done.
    #[inline]
    pub fn join_alike(&mut self, message: &mut M, messages: usize, count: usize, lead: usize) -> bool {
        messages * count <= self.messages()
            && message.join_alike(&mut self.octets, messages, count * self.stride, lead)
    }

    /// The octets of those that are left, where they lie in one piece.
    #[inline]
    pub fn octets(&mut self) -> Option<&[u8]> {
        self.octets.front(self.octets.len())
    }
}

impl<M: Message> Iterator for Apart<M> {
    type Item = M;

    #[inline]
    fn next(&mut self) -> Option<M> {
        let octets = self.octets.len().min(self.stride);
        (octets > 0).then(|| self.octets.split_to(octets))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.messages(), Some(self.messages()))
    }
}

impl<M: Message> ExactSizeIterator for Apart<M> {}

impl<M: Message> FusedIterator for Apart<M> {}

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
        for (length, stride, lengths) in
            [(10, 4, &[4, 4, 2][..]), (8, 4, &[4, 4]), (3, 4, &[3]), (4, 4, &[4]), (3, 1, &[1, 1, 1])]
        {
            let whole: Vec<u8> = (0..length).collect();
            let run = Run::new(M::with_headroom(3, &whole), stride);
            assert_eq!(run.room(), Room { octets: whole.len(), messages: lengths.len() });
            assert_eq!((run.stride(), run.next_octets()), (stride, lengths[0]));
            let (mut start, mut apart) = (0, run.into_iter());
            for (place, expected) in lengths.iter().enumerate() {
                let left = lengths.len() - place;
                assert_eq!((apart.messages(), apart.len(), apart.stride()), (left, left, stride));
                assert_eq!(apart.octets(), Some(&whole[start..]));
                let message = apart.next().expect("one more");
                assert_eq!(octets(&message), whole[start..start + expected]);
                start += expected;
            }
            assert!(apart.messages() == 0 && apart.next().is_none() && apart.next().is_none());
        }
    }

    #[test]
    fn it_comes_apart_into_what_it_was_made_of() {
        comes_apart::<BufferTree>();
        comes_apart::<SingleBuffer>();
    }

    #[test]
    fn the_octets_of_messages_are_joined_without_what_stands_before_them() {
        let mut apart = Run::new(BufferTree::with_headroom(0, b"1abc2def3g"), 4).into_iter();
        let mut message = BufferTree::with_headroom(0, b"-");
        assert_eq!(apart.join_next(&mut message, 1, 1, 2), 4);
        assert_eq!(apart.join_next(&mut message, 2, 1, 1), 6);
        assert_eq!((apart.join_next(&mut message, 0, 1, 1), octets(&message)), (0, b"-bcdefg".to_vec()));
    }

    /// The last message takes the octets with it: who took a run apart holds nothing of it any more.
    #[test]
    fn the_last_message_is_given_whole() {
        let mut apart = Run::new(BufferTree::with_headroom(0, &[7; 300]), 200).into_iter();
        drop(apart.next());
        let mut last = apart.next().expect("two of them");
        assert!(last.unshared().is_some(), "nobody else holds the block");
    }

    #[test]
    fn it_is_given_in_one_piece_and_nobody_else_holds_it() {
        let run = Run::new(BufferTree::with_headroom(0, b"abcdefgh"), 3);
        let mut whole = run.into_octets();
        assert_eq!(octets(&whole), b"abcdefgh");
        assert!(whole.unshared().is_some());
    }

    #[test]
    fn what_is_left_of_one_that_comes_apart_is_let_go_of() {
        let mut whole = BufferTree::with_headroom(0, &[7; 300]);
        let mut apart = Run::new(whole.share(), 200).into_iter();
        drop((apart.next(), apart));
        assert!(whole.unshared().is_some());
    }

    #[test]
    #[should_panic = "no message of a run is empty"]
    fn nothing_is_no_run() {
        let _run = Run::new(BufferTree::default(), 3);
    }

    #[test]
    #[should_panic = "no message of a run is empty"]
    fn messages_without_octets_are_no_run() {
        let _run = Run::new(BufferTree::with_headroom(0, b"abc"), 0);
    }
}
