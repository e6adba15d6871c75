//! Whether the way takes packets that are longer than every way is believed to take, before data leave in such (RFC 8899), and
//! whether it still does (§4.3 there, RFC 4821 §7.7).
//!
//! A router whose next link takes less may drop what is longer and say nothing, or what it says may be dropped: packets would
//! be sent again for ever, and nobody would hear of any. So a session begins at a length that passes everywhere. What opens it is
//! made as long as packets shall be, by an option that says nothing, and where that is answered they are: it costs no round
//! trip. Where no answer comes it is said again, short, and packets stay short for the session's life.
//!
//! The way may change later. Where long packets are sent again and again and no such is heard of any more, it is believed to
//! take short ones only: datagrams that begin then are cut shorter. One that is cut already cannot be cut again, because the
//! peer may know of its fragments; they leave in parts.

use crate::header::Packet;
use stackwright_wire::Header as _;

/// The longest packet that every way takes, with its header, in octets: `BASE_PLPMTU` of RFC 8899 §5.1.2.
pub(crate) const BASE: usize = 1200;

/// A body with more octets makes a longer packet than that, whatever stands before it.
const SHORT_MOST: usize = BASE - Packet::LENGTH;

/// So often the same long packet has left once more without a word of any. Where every tenth packet is lost, acknowledgements too,
/// and one is on its way at a time, that befalls one of a hundred thousand. A timeout is at most a twelfth of the silence after
/// which a peer is dead: some of that is left for the parts.
const ROUNDS: u8 = 7;

/// What is known of our way to the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Path {
    /// Nothing was said.
    #[default]
    Unasked,
    /// A long packet was said, and no short one that an answer could be to.
    Asked,
    /// It takes long ones.
    Long,
    /// It may have been a short one that was answered.
    Short,
    /// It took long ones, and does not any more.
    Narrowed,
}

impl Path {
    /// Something that opens the session leaves, as long as packets shall be, or not.
    pub(crate) fn on_said(&mut self, long: bool) {
        *self = match (*self, long) {
            (Path::Unasked, true) => Path::Asked,
            (Path::Unasked | Path::Asked, false) => Path::Short,
            (path, _) => path,
        };
    }

    /// It was answered.
    pub(crate) fn on_answered(&mut self) {
        if *self == Path::Asked {
            *self = Path::Long;
        }
    }

    /// It was answered that it is to be said again: as it was.
    pub(crate) fn on_asked_again(&mut self) {
        if *self == Path::Asked {
            *self = Path::Unasked;
        }
    }

    /// The longest packet for which `agreed` is the longest that both ends take.
    pub(crate) fn packet(self, agreed: usize) -> usize {
        if self == Path::Long { agreed } else { agreed.min(BASE) }
    }
}

/// What speaks against long packets since one was heard of last. How many left once more says little: by one acknowledgement a
/// great many may be found lost, and all may be sent again for one acknowledgement that was lost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Doubt {
    /// The lowest number that left once more; what is lost leaves in the order of numbers.
    first: u64,
    /// How often it did.
    rounds: u8,
    /// The octets of the shortest that left once more: what is heard of a shorter one says nothing.
    shortest: usize,
}

impl Doubt {
    /// A body of so many octets left once more; what has lower numbers than `settled` does not. Whether the way is to be believed
    /// narrow.
    pub(crate) fn on_repeated(&mut self, settled: u64, number: u64, octets: usize) -> bool {
        if octets <= SHORT_MOST {
            return false;
        }
        if self.rounds == 0 {
            *self = Doubt { first: number, rounds: 1, shortest: octets };
            return false;
        }
        self.rounds += u8::from(number == self.first);
        if number < self.first || self.first < settled {
            self.first = number;
        }
        self.shortest = self.shortest.min(octets);
        self.rounds >= ROUNDS
    }

    /// It was heard of a body of so many octets.
    #[inline]
    pub(crate) fn on_acknowledged(&mut self, octets: usize) {
        if self.rounds > 0 && octets >= self.shortest {
            *self = Doubt::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_that_is_to_nothing_short_shows_that_long_ones_pass() {
        let after = |said: &[bool]| {
            let mut path = Path::default();
            said.iter().for_each(|long| path.on_said(*long));
            path.on_answered();
            path.packet(9000)
        };
        assert_eq!(after(&[true]), 9000);
        assert_eq!([after(&[]), after(&[false]), after(&[true, false]), after(&[false, true])], [BASE; 4]);
        assert_eq!(
            [Path::Short.packet(600), Path::Narrowed.packet(600), Path::Narrowed.packet(9000)],
            [600, 600, BASE]
        );
    }

    #[test]
    fn who_is_told_to_come_again_comes_as_long_as_he_was() {
        let mut path = Path::default();
        path.on_said(true);
        path.on_asked_again();
        assert_eq!(path, Path::Unasked);
        path.on_said(true);
        path.on_said(false);
        path.on_asked_again();
        assert_eq!(path, Path::Short);
    }

    #[test]
    fn nothing_that_is_said_later_makes_a_way_wide_that_became_narrow() {
        let mut path = Path::Narrowed;
        path.on_said(true);
        path.on_said(false);
        path.on_answered();
        assert_eq!(path, Path::Narrowed);
    }

    #[test]
    fn a_way_is_narrow_where_a_long_packet_left_again_seven_times_and_nothing_was_heard_of_any() {
        let mut doubt = Doubt::default();
        assert!((1..ROUNDS).all(|_| !doubt.on_repeated(0, 7, 9000)));
        assert!(doubt.on_repeated(0, 7, 9000));
        let mut doubt = Doubt::default();
        assert!((1..ROUNDS).all(|_| (7..10).all(|number| !doubt.on_repeated(0, number, 9000))));
        assert!(doubt.on_repeated(0, 7, 9000));
    }

    #[test]
    fn a_hundred_that_are_found_lost_at_once_are_no_sign() {
        let mut doubt = Doubt::default();
        assert!((0..100).all(|number| !doubt.on_repeated(0, number, 9000)));
    }

    #[test]
    fn where_the_first_of_them_expires_the_next_one_is_counted() {
        let mut doubt = Doubt::default();
        assert!((2..ROUNDS).all(|_| !doubt.on_repeated(0, 7, 9000)));
        assert!(!doubt.on_repeated(8, 8, 9000));
        assert!(!doubt.on_repeated(8, 8, 9000));
        assert!(doubt.on_repeated(8, 8, 9000));
    }

    #[test]
    fn short_ones_neither_speak_against_long_ones_nor_for_them() {
        let mut doubt = Doubt::default();
        assert!((0..100).all(|_| !doubt.on_repeated(0, 1, SHORT_MOST)));
        assert!((1..ROUNDS).all(|_| !doubt.on_repeated(0, 1, 9000)));
        doubt.on_acknowledged(8999);
        assert!(doubt.on_repeated(0, 1, 9000));
        doubt.on_acknowledged(9000);
        assert!((1..ROUNDS).all(|_| !doubt.on_repeated(0, 1, 9000)));
    }
}
