//! What stands in a message: who it is, and octets that follow from that, so that whoever gets it
//! can tell whether it is whole.

use stackwright_wire::{Block, Header, Message};

/// What a message says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub(crate) struct Label {
    /// Which of the plan's conversations.
    pub(crate) conversation: u16,
    /// How many octets it has, these included.
    pub(crate) octets: u16,
    /// Which message of it, from 0.
    pub(crate) number: u32,
    /// Of how many.
    pub(crate) of: u32,
    /// How many octets the reply to it shall have; 0 for none.
    pub(crate) reply: u16,
    /// Nothing.
    #[bits(16)]
    #[fixed(0)]
    pub(crate) reserved: (),
    /// When it was sent, in nanoseconds of the sender's clock.
    pub(crate) sent: u64,
}

/// Shorter messages have no room for a label and a word that proves it, in octets.
pub(crate) const SHORTEST: usize = Label::LENGTH + WORD;

const WORD: usize = size_of::<u64>();

/// The words of the content: a stream of splitmix64, which begins where the label says.
struct Words(u64);

impl Words {
    fn of(label: &Label) -> Self {
        let mut octets = [0; Label::LENGTH];
        label.encode(&mut octets);
        let mut words = Words(0);
        for piece in octets.chunks_exact(WORD) {
            words.0 ^= u64::from_be_bytes(piece.try_into().expect("a whole word"));
            words.0 = words.next();
        }
        words
    }

    #[inline]
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}

/// The message of a label.
///
/// # Panics
/// Where it has less than [`SHORTEST`] octets.
pub(crate) fn write<M: Message>(label: &Label) -> M {
    let octets = usize::from(label.octets);
    let mut block = M::Block::zeroed(super::HEADROOM + octets);
    let (front, content) = block[super::HEADROOM..].split_at_mut(Label::LENGTH);
    label.encode(front);
    let mut words = Words::of(label);
    for piece in content.chunks_mut(WORD) {
        piece.copy_from_slice(&words.next().to_be_bytes()[..piece.len()]);
    }
    M::from_block(block, super::HEADROOM, super::HEADROOM + octets)
}

/// What a message says of itself; `None` where it is not as it was written.
pub(crate) fn read<M: Message>(mut message: M) -> Option<Label> {
    let length = message.len();
    let octets = message.front(length)?;
    if octets.len() < SHORTEST {
        return None;
    }
    let (front, content) = octets.split_at(Label::LENGTH);
    let label = Label::decode(front).ok().filter(|label| usize::from(label.octets) == length)?;
    let mut words = Words::of(&label);
    let whole =
        content.chunks(WORD).all(|piece| *piece == words.next().to_be_bytes()[..piece.len()]);
    whole.then_some(label)
}

#[cfg(test)]
mod tests {
    use stackwright_wire::SingleBuffer;

    use super::*;

    fn label(octets: usize) -> Label {
        let octets = u16::try_from(octets).unwrap_or_default();
        Label {
            conversation: 3,
            octets,
            number: 1 << 20,
            of: 1 << 21,
            reply: 0,
            reserved: (),
            sent: u64::MAX,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for octets in SHORTEST..200 {
            let message: SingleBuffer = write(&label(octets));
            assert_eq!((message.len(), read(message)), (octets, Some(label(octets))));
        }
    }

    #[test]
    fn no_octet_may_change_and_none_may_be_missing() {
        let message: SingleBuffer = write(&label(61));
        for at in 0..61 {
            let mut octets = message.octets().to_vec();
            octets[at] ^= 1 << (at % 8);
            assert_eq!(read(SingleBuffer::with_headroom(0, &octets)), None, "octet {at}");
        }
        for octets in 0..61 {
            let cut = SingleBuffer::with_headroom(0, &message.octets()[..octets]);
            assert_eq!(read(cut), None, "{octets} octets");
        }
    }
}
