//! How messages are cut into pieces, as arithmetic: nothing is cut to describe it.
//!
//! Waiting messages and sent ranges use the same description, so a range that leaves is the front
//! of one that waits, and splitting a range is [`Pieces::skip`].

use core::ops::Range;

use stackwright_wire::SegmentsMut;

use crate::words::{Cargo, Label, Numbering, PieceForm};

/// The rest of a message, cut into pieces, and equally long messages behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pieces {
    /// The label of the first piece.
    label: Label,
    /// The octets of every piece but the last of a message.
    piece: usize,
    /// The octets that are left of the first message.
    left: usize,
    /// The number of messages behind the first: their numbers follow its number, and each has as
    /// many pieces as the label says.
    more: u32,
    /// The octets of each message, from its beginning on.
    each: usize,
    /// The entry of the first message in [`Messages`](super::messages::Messages).
    serial: u32,
}

/// The messages that some pieces belong to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Parts {
    /// The number of messages of which all pieces are among them.
    pub(super) whole: usize,
    /// The serial and octets of the messages before and behind those.
    pub(super) partial: [Option<(u32, usize)>; 2],
}

impl Pieces {
    /// Describes one message of `octets` octets, cut into pieces of `piece` octets. `label` is that
    /// of its first piece.
    #[inline]
    pub(crate) fn new(label: Label, serial: u32, piece: usize, octets: usize) -> Self {
        debug_assert!(piece > 0, "a piece has octets");
        let label = Label { last: octets <= piece, ..label };
        Pieces { label, piece, left: octets, more: 0, each: octets, serial }
    }

    /// Adds `more` messages of the same length. Their serials follow the first's.
    pub(super) fn and(self, more: u32) -> Self {
        debug_assert!(
            more == 0 || self.label.count as usize == self.in_message(),
            "the pieces of several messages were counted"
        );
        Pieces { more, ..self }
    }

    /// Abandons the first piece, which is the only one that is left.
    pub(super) fn abandon(&mut self) {
        self.label.form = PieceForm::Abandoned;
    }

    /// Describes what leaves instead of an abandoned piece.
    pub(super) fn without_octets(&self) -> Self {
        Pieces { piece: 1, left: 0, more: 0, each: 0, ..*self }
    }

    /// Returns the serial of the first message.
    pub(super) fn serial(&self) -> u32 {
        self.serial
    }

    /// Returns the label of the first piece.
    #[inline]
    pub(crate) fn label(&self) -> &Label {
        &self.label
    }

    /// Returns the octets of the first piece.
    #[inline]
    pub(crate) fn first_octets(&self) -> usize {
        self.left.min(self.piece)
    }

    /// Describes the first piece, whose numbers are `span`.
    #[inline]
    pub(crate) fn cargo<'a>(&'a self, span: &'a Range<u64>) -> Cargo<'a> {
        Cargo { span, label: &self.label, octets: self.first_octets() }
    }

    /// Returns the octets of the second piece, if there is one.
    #[inline]
    pub(super) fn second_octets(&self) -> Option<usize> {
        match self.left.checked_sub(self.piece) {
            Some(left) if left > 0 => Some(left.min(self.piece)),
            _ => (self.more > 0).then_some(self.each.min(self.piece)),
        }
    }

    /// Returns how many messages there are, the first perhaps in part.
    #[inline]
    pub(super) fn messages(&self) -> usize {
        1 + self.more as usize
    }

    /// Returns how many pieces are left of the first message. An empty message has one.
    #[inline]
    pub(crate) fn in_message(&self) -> usize {
        if self.label.last { 1 } else { self.left.div_ceil(self.piece) }
    }

    /// Returns how many pieces each message behind the first has.
    #[inline]
    fn per_message(&self) -> usize {
        (self.label.count as usize).max(1)
    }

    /// Returns how many pieces there are.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.in_message() + self.more as usize * self.per_message()
    }

    /// Returns the octets of the first `count` pieces.
    #[inline]
    pub(crate) fn octets(&self, count: usize) -> usize {
        let octets = count * self.piece;
        // This avoids a division if the pieces are in the first message.
        if octets <= self.left || self.more == 0 {
            return octets.min(self.left);
        }
        let behind = count - self.in_message();
        let (messages, index) = (behind / self.per_message(), behind % self.per_message());
        self.left + messages * self.each + index * self.piece
    }

    /// Returns how many numbers the first `count` pieces have.
    #[inline]
    pub(crate) fn numbers(&self, count: usize, numbering: Numbering) -> u64 {
        match numbering {
            Numbering::Packets => count as u64,
            Numbering::Octets => self.octets(count) as u64,
        }
    }

    /// Returns the octets of the longest of the first `count` pieces.
    #[inline]
    pub(super) fn longest(&self, count: usize) -> usize {
        let behind = if self.more > 0 && count > self.in_message() { self.each } else { 0 };
        self.piece.min(self.left.max(behind))
    }

    /// Returns how many pieces are wholly in the first `octets` octets.
    pub(super) fn whole(&self, octets: usize) -> usize {
        if octets < self.left {
            return octets / self.piece;
        }
        if self.more == 0 {
            return self.in_message();
        }
        let behind = octets - self.left;
        let (messages, rest) = (behind / self.each, behind % self.each);
        let whole = self.in_message() + messages * self.per_message() + rest / self.piece;
        whole.min(self.count())
    }

    /// Returns what follows the first `count` pieces, at least one of which there is.
    #[inline]
    pub(crate) fn skip(&self, count: usize) -> Self {
        let of_first = self.in_message();
        if count < of_first {
            let left = self.left - count * self.piece;
            let (index, last) = (self.label.index + count as u32, left <= self.piece);
            return Pieces { label: Label { index, last, ..self.label }, left, ..*self };
        }
        let behind = count - of_first;
        let (messages, index) = ((behind / self.per_message()) as u32, behind % self.per_message());
        let left = self.each - index * self.piece;
        let label = Label {
            message: self.label.message.wrapping_add(messages + 1),
            index: index as u32,
            last: left <= self.piece,
            ..self.label
        };
        let (more, serial) =
            (self.more.saturating_sub(messages + 1), self.serial.wrapping_add(messages + 1));
        Pieces { label, left, more, serial, ..*self }
    }

    /// Describes the first message as if it had `octets` octets, in one piece.
    pub(super) fn of_octets(&self, octets: usize) -> Self {
        Pieces::new(self.label, self.serial, octets, octets)
    }

    /// Cuts the first piece of the only message after `octets` octets: returns these, and the rest.
    pub(super) fn cut(&self, octets: usize) -> Option<(Self, Self)> {
        let cuts = self.more == 0 && octets < self.first_octets();
        let label = |index, last| Label { index, last, ..self.label };
        let first =
            Pieces { label: label(self.label.index, false), piece: octets, left: octets, ..*self };
        let left = self.left - octets.min(self.left);
        let rest = Pieces { label: label(self.label.index + 1, left <= self.piece), left, ..*self };
        cuts.then_some((first, rest))
    }

    /// Returns the octets of each message, from its beginning on.
    #[inline]
    pub(super) fn each(&self) -> usize {
        self.each
    }

    /// Returns whether the first `count` pieces are one message, and all of it.
    #[inline]
    pub(super) fn are_message(&self, count: usize) -> bool {
        self.left == self.each && count == self.in_message()
    }

    /// Returns the number of messages that the first `count` pieces belong to.
    pub(super) fn messages_begun(&self, count: usize) -> u32 {
        let behind = count.saturating_sub(self.in_message());
        1 + behind.div_ceil(self.per_message()) as u32
    }

    /// Returns which messages the first `count` pieces belong to.
    pub(super) fn parts(&self, count: usize) -> Parts {
        let octets = self.left.min(count * self.piece);
        let is_whole = octets == self.each;
        let first = (!is_whole).then_some((self.serial, octets));
        let mut parts = Parts { whole: usize::from(is_whole), partial: [first, None] };
        if let Some(behind) = count.checked_sub(self.in_message()) {
            let (messages, rest) = (behind / self.per_message(), behind % self.per_message());
            parts.whole += messages;
            if rest > 0 {
                let serial = self.serial.wrapping_add(messages as u32 + 1);
                parts.partial[1] = Some((serial, rest * self.piece));
            }
        }
        parts
    }

    /// Returns whether each of the segments, which hold the octets of all pieces, is one piece.
    #[inline]
    pub(crate) fn are_segments(&self, segments: &SegmentsMut<'_>) -> bool {
        let (layout, count, each) = (segments.layout(), self.in_message(), self.per_message());
        let end = segments.index() + count;
        let is_piece = |place| layout.octets(place) == self.piece;
        // What is not checked follows from the octets of all.
        segments.len() == self.count()
            && segments.next_octets() == self.first_octets()
            && (count < 3 || is_piece(1))
            && match self.more {
                0 => end <= layout.segments(),
                _ => {
                    (end, each) == (layout.segments(), end)
                        && (each < 2 || is_piece(0))
                        && (each < 3 || is_piece(1))
                        && (each - 1) * self.piece + layout.octets(each - 1) == self.each
                }
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second piece of a message in four, and two messages behind it, of 37 octets each in
    /// pieces of ten.
    fn three() -> (Pieces, [usize; 11]) {
        let label = Label { message: u32::MAX, count: 4, ..Label::default() };
        (
            Pieces::new(label, u32::MAX, 10, 37).and(2).skip(1),
            [10, 10, 7, 10, 10, 10, 7, 10, 10, 10, 7],
        )
    }

    #[test]
    fn the_pieces_of_several_messages_follow_each_other() {
        let (pieces, lengths) = three();
        assert_eq!(pieces.count(), lengths.len());
        for count in 0..=lengths.len() {
            let octets = lengths[..count].iter().sum();
            assert_eq!(pieces.octets(count), octets);
            assert_eq!((pieces.whole(octets), pieces.whole(octets + 6)), (count, count));
        }
        for (place, length) in lengths.iter().enumerate() {
            let rest = pieces.skip(place);
            // The first message lacks its first piece.
            let (message, index) = ((place + 1) / 4, (place + 1) % 4);
            assert_eq!(rest.first_octets(), *length);
            assert_eq!(rest.second_octets(), lengths.get(place + 1).copied());
            let label = rest.label();
            assert_eq!(rest.serial, label.message);
            assert_eq!(label.message, u32::MAX.wrapping_add(message as u32));
            assert_eq!((label.index, label.last, label.count), (index as u32, index == 3, 4));
            assert_eq!(rest.messages(), 3 - message);
        }
    }

    #[test]
    fn what_is_behind_some_of_them_is_the_same_from_anywhere() {
        let (pieces, lengths) = three();
        for first in 0..lengths.len() {
            for second in 0..lengths.len() - first {
                assert_eq!(pieces.skip(first).skip(second), pieces.skip(first + second));
            }
        }
    }

    #[test]
    fn the_first_pieces_are_of_whole_messages_and_of_parts() {
        let (pieces, _) = three();
        let parts = |skipped: usize, count| pieces.skip(skipped).parts(count);
        assert_eq!(parts(1, 8), Parts { whole: 1, partial: [Some((u32::MAX, 17)), Some((1, 20))] });
        assert_eq!(parts(3, 4), Parts { whole: 1, partial: [None, None] });
        assert_eq!(parts(3, 8), Parts { whole: 2, partial: [None, None] });
        assert_eq!(parts(4, 1), Parts { whole: 0, partial: [Some((0, 10)), None] });
        assert!(
            pieces.skip(3).are_message(4)
                && !pieces.are_message(3)
                && !pieces.skip(3).are_message(8)
        );
    }

    #[test]
    fn an_empty_message_has_one_piece() {
        let pieces = Pieces::new(Label::default(), 0, 1, 0);
        assert_eq!((pieces.count(), pieces.octets(1), pieces.whole(0)), (1, 0, 1));
        assert!(pieces.are_message(1));
    }
}
