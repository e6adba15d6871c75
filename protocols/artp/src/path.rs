//! Whether the way takes packets that are longer than every way is believed to take, before data leave in such (RFC 8899).
//!
//! A router whose next link takes less may drop what is longer and say nothing, or what it says may be dropped: packets would
//! be sent again for ever, and nobody would hear of any. So a session begins at a length that passes everywhere. What opens it is
//! made as long as packets shall be, by an option that says nothing, and where that is answered they are: it costs no round
//! trip. Where no answer comes it is said again, short, and packets stay short: for the session's life, because a datagram that
//! is cut cannot be cut again.

/// The longest packet that every way takes, with its header, in octets: `BASE_PLPMTU` of RFC 8899 §5.1.2.
pub(crate) const BASE: usize = 1200;

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
        assert_eq!(Path::Short.packet(600), 600);
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
}
