//! What the two sides say to each other: a word in front of each message.

use stackwright::wire::{FieldValue, Header};

/// What stands in front of each message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
#[header(crate = stackwright::wire)]
pub(crate) struct Word {
    /// What the message is.
    #[bits(8)]
    pub(crate) kind: Kind,
    /// Which of its kind; of an end, how many messages were sent before it.
    #[bits(48)]
    pub(crate) number: u64,
}

impl Word {
    /// The word that a message begins with.
    pub(crate) fn begins<'a>(mut pieces: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let first = pieces.next()?;
        if let Some(word) = first.first_chunk::<{ Word::LENGTH }>() {
            return Self::decode(word).ok();
        }
        let word: Vec<u8> =
            first.iter().chain(pieces.flatten()).copied().take(Self::LENGTH).collect();
        Self::decode(word.first_chunk::<{ Word::LENGTH }>()?).ok()
    }
}

/// What a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Is counted.
    Data = 1,
    /// Is counted, and answered by `Reply` with the same octets.
    Request = 2,
    Reply = 3,
    /// Nothing comes behind it. It is answered by `Report` when all has come.
    End = 4,
    /// What has come: [`Report`] stands behind it.
    Report = 5,
    /// Something comes, and is counted: who waits for a report waits on.
    Counting = 6,
}

impl FieldValue for Kind {
    fn from_bits(bits: u64) -> Option<Self> {
        use Kind::*;
        [Data, Request, Reply, End, Report, Counting]
            .into_iter()
            .find(|kind| kind.to_bits() == bits)
    }

    fn to_bits(&self) -> u64 {
        *self as u64
    }
}

/// What the receiver has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Header)]
#[header(crate = stackwright::wire)]
pub(crate) struct Report {
    /// In messages of data and requests.
    pub(crate) octets: u64,
    /// How many of them.
    pub(crate) messages: u64,
    /// From the first of them to the last, in nanoseconds.
    pub(crate) took: u64,
    /// What the receiver's thread took of the processor since the first, in nanoseconds.
    pub(crate) processor: u64,
    /// How many octets that thread copied.
    pub(crate) copied: u64,
}

/// The shortest message.
pub(crate) const SHORTEST: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_across_pieces() {
        let word = Word { kind: Kind::Data, number: 0x0102_0304_0506 };
        let mut octets = [9; Word::LENGTH + 3];
        word.encode(&mut octets[..Word::LENGTH]);
        for at in 0..octets.len() {
            let (one, other) = octets.split_at(at);
            assert_eq!(Word::begins([one, other].into_iter()), Some(word), "{at}");
        }
        assert_eq!(
            Word::begins([&octets[..3], &octets[3..6]].into_iter()),
            None,
            "it is too short"
        );
        assert_eq!(Word::begins([].into_iter()), None);
    }
}
