//! What waiting messages are cut into, as numbers: nothing is cut for it.

use core::ops::Range;

use stackwright_wire::Stretch;

use crate::words::Label;

/// The pieces that leave next: those that are left of a message, and those of others behind it that are as long as each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ahead {
    /// The number of the first piece, and what it is.
    number: u64,
    label: Label,
    /// How many octets each has, but the last of a message.
    piece: usize,
    /// How many octets are left of the first message.
    octets: usize,
    /// How many messages follow it, and how many octets each of them has: they are numbered one after the other, and of as many pieces as
    /// the label says.
    more: u32,
    each: usize,
}

impl Ahead {
    /// What is left of a message, in pieces of `piece` octets.
    #[inline]
    pub(super) fn new(number: u64, label: Label, piece: usize, octets: usize) -> Self {
        let label = Label { last: octets <= piece, ..label };
        Ahead { number, label, piece, octets, more: 0, each: 0 }
    }

    /// And so many messages behind it, of so many octets each.
    #[inline]
    pub(super) fn and(self, more: u32, each: usize) -> Self {
        Ahead { more, each, ..self }
    }

    /// What has left of a message is longer by a piece of so many octets.
    #[inline]
    pub(super) fn grow(&mut self, octets: usize) {
        self.octets += octets;
        self.label.last = self.octets <= self.piece;
    }

    /// The first `most` pieces, or fewer: those of the first message, and of whole messages behind it.
    #[inline]
    pub(super) fn until(self, most: usize) -> Self {
        match most.checked_sub(self.pieces_of_first()) {
            None => Self::new(self.number, self.label, self.piece, most * self.piece),
            Some(0) => Ahead { more: 0, ..self },
            Some(behind) => Ahead { more: self.more.min(behind as u32 / self.label.count.max(1)), ..self },
        }
    }

    /// How many messages there are behind the first.
    #[inline]
    pub(super) fn more(&self) -> u32 {
        self.more
    }

    /// How many pieces there are.
    #[inline]
    pub(crate) fn pieces(&self) -> usize {
        self.pieces_of_first() + self.more as usize * self.label.count as usize
    }

    /// And of the first message.
    #[inline]
    fn pieces_of_first(&self) -> usize {
        self.octets.div_ceil(self.piece)
    }

    /// How many octets they have.
    #[inline]
    pub(super) fn all(&self) -> usize {
        self.octets + self.more as usize * self.each
    }

    /// The octets of the first `count` pieces.
    #[inline]
    pub(crate) fn octets(&self, count: usize) -> usize {
        let octets = count * self.piece;
        if octets <= self.octets || self.more == 0 {
            return octets.min(self.octets);
        }
        self.all() - self.behind(count).all()
    }

    /// Those behind the first `count`, of which there are as many.
    #[inline]
    pub(crate) fn behind(&self, count: usize) -> Self {
        let number = self.number + count as u64;
        let octets = self.octets.saturating_sub(count * self.piece);
        if octets > 0 || self.more == 0 {
            let (index, last) = (self.label.index + count as u32, octets <= self.piece);
            return Ahead { number, label: Label { index, last, ..self.label }, octets, ..*self };
        }
        self.in_message(number, count - self.pieces_of_first())
    }

    /// Those behind so many pieces of the messages that follow the first.
    #[inline]
    fn in_message(&self, number: u64, count: usize) -> Self {
        // Of messages in several pieces: their framing has counted them.
        let each = (self.label.count as usize).max(1);
        let (messages, index) = (count / each, count % each);
        // Behind the last one is nothing.
        let more = self.more.checked_sub(messages as u32 + 1);
        let octets = more.map_or(0, |_| self.each - index * self.piece);
        let label = Label {
            message: self.label.message.wrapping_add(messages as u32 + 1),
            index: index as u32,
            last: octets <= self.piece,
            ..self.label
        };
        Ahead { number, label, octets, more: more.unwrap_or(0), ..*self }
    }

    /// The numbers of the first piece.
    #[inline]
    pub(crate) fn span(&self) -> Range<u64> {
        self.number..self.number + 1
    }

    /// What it is.
    #[inline]
    pub(crate) fn label(&self) -> &Label {
        &self.label
    }

    /// Whether these packets hold the first of the pieces, as long as they are, and end their messages where those do.
    #[inline]
    pub(crate) fn lie_in(&self, packets: &Stretch<'_>) -> bool {
        let (count, stride, ends) = (packets.count(), packets.stride(), packets.ends());
        let behind = self.pieces_of_first() - 1;
        let between = count.min(ends.behind) == 0 || stride - packets.gap() == self.piece;
        let last = count <= behind || stride - ends.gap == self.octets - behind * self.piece;
        let more = count <= behind + 1 || ends.every == self.label.count as usize;
        between && last && more && (count <= ends.behind && count <= behind || ends.behind == behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second piece of a message in four, and two messages behind it, of 37 octets each in pieces of ten.
    fn three() -> Ahead {
        let label = Label { message: u32::MAX, index: 1, count: 4, ..Label::default() };
        Ahead::new(100, label, 10, 27).and(2, 37)
    }

    #[test]
    fn the_pieces_of_several_messages_follow_each_other() {
        let ahead = three();
        let lengths = [10, 10, 7, 10, 10, 10, 7, 10, 10, 10, 7];
        assert_eq!(ahead.pieces(), lengths.len());
        for place in 0..lengths.len() {
            assert_eq!(ahead.octets(place), lengths[..place].iter().sum::<usize>());
            let behind = ahead.behind(place);
            let label = *behind.label();
            assert_eq!(behind.span(), 100 + place as u64..101 + place as u64);
            // The first message lacks its first piece.
            let (message, index) = ((place + 1) / 4, (place + 1) % 4);
            assert_eq!(label.message, u32::MAX.wrapping_add(message as u32));
            assert_eq!((label.index, label.last, label.count), (index as u32, index == 3, 4));
        }
        assert_eq!(ahead.octets(lengths.len()), 27 + 2 * 37);
    }

    #[test]
    fn what_is_behind_some_of_them_is_the_same_from_anywhere() {
        let ahead = three();
        for first in 0..=ahead.pieces() {
            for second in 0..=ahead.pieces() - first {
                let (behind, at_once) = (ahead.behind(first).behind(second), ahead.behind(first + second));
                assert_eq!((behind.pieces(), behind.all()), (at_once.pieces(), at_once.all()));
                if behind.pieces() > 0 {
                    assert_eq!(behind, at_once);
                }
            }
        }
    }
}
