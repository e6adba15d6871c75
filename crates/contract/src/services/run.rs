//! Messages that cross a boundary together.

use core::iter::FusedIterator;

use stackwright_wire::Message;

use super::Room;

/// Several messages, one behind the other: equally long but the last, which may be shorter; none is empty.
///
/// It is the same as each of them by itself, in order. Who has no use for it takes it apart: it is an iterator, and there is
/// nothing left when that is done.
#[derive(Clone, Debug)]
pub struct Run<M> {
    octets: M,
    stride: usize,
}

impl<M: Message> Run<M> {
    /// The messages that `octets` hold, each of which has `stride` octets, but the last, which may have fewer.
    ///
    /// # Panics
    /// Where `stride` is 0, or there are no octets: no message of a run is empty.
    pub fn new(octets: M, stride: usize) -> Self {
        assert!(stride > 0 && !octets.is_empty(), "no message of a run is empty");
        Run { octets, stride }
    }

    /// How many octets each message has, but the last.
    #[inline]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// How many messages are left.
    #[inline]
    pub fn messages(&self) -> usize {
        self.octets.len().div_ceil(self.stride)
    }

    /// The room that the messages take which are left.
    #[inline]
    pub fn room(&self) -> Room {
        Room { octets: self.octets.len(), messages: self.messages() }
    }

    /// How many octets the next message has; 0 where none is left.
    #[inline]
    pub fn next_octets(&self) -> usize {
        self.octets.len().min(self.stride)
    }

    /// Whether no message is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    /// The octets of the messages that are left, where they lie in one piece.
    #[inline]
    pub fn octets(&mut self) -> Option<&[u8]> {
        self.octets.front(self.octets.len())
    }

    /// The messages that are left, as one.
    #[inline]
    pub fn into_octets(self) -> M {
        self.octets
    }
}

impl<M: Message> Iterator for Run<M> {
    type Item = M;

    #[inline]
    fn next(&mut self) -> Option<M> {
        let octets = self.next_octets();
        (octets > 0).then(|| self.octets.split_to(octets))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.messages(), Some(self.messages()))
    }
}

impl<M: Message> ExactSizeIterator for Run<M> {}

impl<M: Message> FusedIterator for Run<M> {}

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
            let mut run = Run::new(M::with_headroom(3, &whole), stride);
            let mut start = 0;
            for (place, expected) in lengths.iter().enumerate() {
                let left = lengths.len() - place;
                assert_eq!((run.messages(), run.len(), run.is_empty()), (left, left, false));
                assert_eq!(run.room(), Room { octets: whole.len() - start, messages: left });
                assert_eq!((run.stride(), run.next_octets()), (stride, *expected));
                let message = run.next().expect("one more");
                assert_eq!(octets(&message), whole[start..start + expected]);
                start += expected;
            }
            assert_eq!((run.messages(), run.room(), run.next_octets()), (0, Room::default(), 0));
            assert!(run.is_empty() && run.next().is_none() && run.next().is_none());
        }
    }

    #[test]
    fn it_comes_apart_into_what_it_was_made_of() {
        comes_apart::<BufferTree>();
        comes_apart::<SingleBuffer>();
    }

    /// The last message takes the octets with it: who took a run apart holds nothing of it any more.
    #[test]
    fn the_last_message_is_given_whole() {
        let mut run = Run::new(BufferTree::with_headroom(0, &[7; 300]), 200);
        drop(run.next());
        let mut last = run.next().expect("two of them");
        assert!(last.unshared().is_some(), "nobody else holds the block");
        assert!(run.is_empty());
    }

    #[test]
    fn what_is_left_is_given_in_one_piece() {
        let mut run = Run::new(BufferTree::with_headroom(0, b"abcdefgh"), 3);
        assert_eq!(run.next().map(|first| octets(&first)), Some(b"abc".to_vec()));
        assert_eq!(octets(&run.into_octets()), b"defgh");
    }

    #[test]
    #[should_panic = "no message of a run is empty"]
    fn nothing_is_no_run() {
        Run::new(BufferTree::default(), 3);
    }

    #[test]
    #[should_panic = "no message of a run is empty"]
    fn messages_without_octets_are_no_run() {
        Run::new(BufferTree::with_headroom(0, b"abc"), 0);
    }
}
