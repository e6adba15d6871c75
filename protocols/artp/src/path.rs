//! Finds out whether the path passes packets longer than the base before data leave in such packets
//! (RFC 8899), and whether it still does later (§4.3 there, RFC 4821 §7.7).
//!
//! A router whose next link has a smaller MTU may drop long packets silently, or its report may be
//! dropped: packets would be sent again for ever, and none acknowledged. So a session begins at a
//! length that passes everywhere. The request that opens it is padded, by an option without a
//! meaning, to the length that packets shall have; if it is answered, packets have that length,
//! which costs no round trip. If no answer arrives, the request is repeated, short, and packets
//! stay short for the session's life.
//!
//! The path may change later: [`BlackHoleDetector`]. Then datagrams that begin later are cut
//! shorter. One that is cut already cannot be cut again, because the peer may know its fragments;
//! they leave in parts.

use crate::header::Packet;
use stackwright_wire::Header as _;

/// The longest packet that every path passes, with its header, in octets: `BASE_PLPMTU` of RFC 8899
/// §5.1.2.
pub(crate) const BASE: usize = 1200;

/// The longest body of a packet of that length with the shortest header: a longer one always makes
/// a longer packet.
const SHORT_MOST: usize = BASE - Packet::LENGTH;

/// The state of the path MTU to the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum PathMtu {
    /// Nothing was sent.
    #[default]
    Unasked,
    /// A long packet was sent, and no short one that an answer could belong to.
    Asked,
    /// The path passes long packets.
    Long,
    /// The answer may belong to a short packet.
    Short,
    /// The path passed long packets, and now drops them silently.
    BlackHole,
}

impl PathMtu {
    /// Records that a packet that opens the session leaves: `long`, as long as packets shall be, or
    /// not.
    pub(crate) fn on_said(&mut self, long: bool) {
        *self = match (*self, long) {
            (PathMtu::Unasked, true) => PathMtu::Asked,
            (PathMtu::Unasked | PathMtu::Asked, false) => PathMtu::Short,
            (path, _) => path,
        };
    }

    /// Records that it was answered.
    pub(crate) fn on_answered(&mut self) {
        if *self == PathMtu::Asked {
            *self = PathMtu::Long;
        }
    }

    /// Records that the peer asked for a repetition: it leaves with the same length.
    pub(crate) fn on_asked_again(&mut self) {
        if *self == PathMtu::Asked {
            *self = PathMtu::Unasked;
        }
    }

    /// Returns the longest packet, where `agreed` is the longest that both ends accept.
    pub(crate) fn packet(self, agreed: usize) -> usize {
        if self == PathMtu::Long { agreed } else { agreed.min(BASE) }
    }
}

/// How many false alarms count.
const ALARMS_MOST: u8 = 2;

/// Detects that the path drops long packets and nothing else (RFC 8899 §4.3): a black hole.
///
/// ```text
///         long, sent again            the same, sent again            acknowledged
/// clear ───────────────────▸ whole ───────────────────▸ in parts ───────────────────▸ alive
///   ▴                         ▴                                                         │
///   │                         └────────────── long, sent again ─────────────────────────┤
///   └───── a whole long one is acknowledged, at any time           sent again once more ▾ found
/// ```
///
/// A packet whose copy was lost as well leaves in parts, each as long as the base: a probe that
/// every path passes. By then, three timeouts have passed without an acknowledgement of a long
/// packet (one, and the next, which is twice as long). If the parts arrive, the path is alive: one
/// more long packet is tried, and if that is lost too, the path is a black hole. An outage, however
/// long, ends otherwise: what is tried after it arrives. The number of lost packets says little:
/// one lost acknowledgement may leave many packets unacknowledged.
///
/// A path with much random loss looks alike now and then, and mostly soon shows that it does not:
/// each such false alarm, up to two, makes one more arrival in parts necessary.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BlackHoleDetector {
    /// The lowest sequence number that left once more, whole; lost packets leave in ascending
    /// order.
    repeated: Option<u64>,
    /// Whether it left in parts since then.
    in_parts: bool,
    /// The lowest sequence number that left whole, once more, behind those parts.
    behind: Option<u64>,
    /// The octets of the shortest packet that left once more: an acknowledgement of a shorter one
    /// proves nothing. 0: none did.
    shortest: usize,
    /// How often long packets arrived in parts, and none whole since.
    alive: u8,
    /// How often a long packet arrived whole after another had left in parts.
    alarms: u8,
}

impl BlackHoleDetector {
    /// Records that a body of `octets` left once more; sequence numbers below `settled` do not
    /// leave again.
    pub(crate) fn on_repeated(&mut self, settled: u64, number: u64, octets: usize) {
        if octets <= SHORT_MOST {
            return;
        }
        self.shortest = if self.shortest == 0 { octets } else { self.shortest.min(octets) };
        match self.repeated.filter(|first| settled <= *first && *first <= number) {
            Some(first) if first == number => (self.in_parts, self.behind) = (true, None),
            Some(_) if self.in_parts => self.behind = self.behind.or(Some(number)),
            Some(_) => {}
            None => (self.repeated, self.in_parts, self.behind) = (Some(number), false, None),
        }
    }

    /// Whether the long packet `number` leaves in parts, to find out whether the path is alive.
    #[inline]
    pub(crate) fn probes(&self, number: u64) -> bool {
        self.repeated == Some(number)
    }

    /// Whether the path is a black hole, now that this long packet leaves.
    #[inline]
    pub(crate) fn is_found(&self, number: u64) -> bool {
        self.alive > self.alarms && self.probes(number)
    }

    /// Records that bodies were acknowledged: the longest of those that left whole has `longest`
    /// octets; and some may have left in parts.
    #[inline]
    pub(crate) fn on_acknowledged(&mut self, longest: usize, in_parts: bool) {
        if self.shortest == 0 {
            return;
        }
        if longest >= self.shortest {
            let false_alarm = self.in_parts || self.alive > 0;
            let alarms = (self.alarms + u8::from(false_alarm)).min(ALARMS_MOST);
            *self = BlackHoleDetector { alarms, ..BlackHoleDetector::default() };
        } else if in_parts {
            self.alive = self.alive.saturating_add(1);
            (self.repeated, self.in_parts) = (self.behind.take(), false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_that_is_to_nothing_short_shows_that_long_ones_pass() {
        let after = |said: &[bool]| {
            let mut path = PathMtu::default();
            said.iter().for_each(|long| path.on_said(*long));
            path.on_answered();
            path.packet(9000)
        };
        assert_eq!(after(&[true]), 9000);
        assert_eq!(
            [after(&[]), after(&[false]), after(&[true, false]), after(&[false, true])],
            [BASE; 4]
        );
        assert_eq!(
            [
                PathMtu::Short.packet(600),
                PathMtu::BlackHole.packet(600),
                PathMtu::BlackHole.packet(9000)
            ],
            [600, 600, BASE]
        );
    }

    #[test]
    fn who_is_told_to_come_again_comes_as_long_as_he_was() {
        let mut path = PathMtu::default();
        path.on_said(true);
        path.on_asked_again();
        assert_eq!(path, PathMtu::Unasked);
        path.on_said(true);
        path.on_said(false);
        path.on_asked_again();
        assert_eq!(path, PathMtu::Short);
    }

    #[test]
    fn nothing_that_is_said_later_makes_a_way_wide_that_became_narrow() {
        let mut path = PathMtu::BlackHole;
        path.on_said(true);
        path.on_said(false);
        path.on_answered();
        assert_eq!(path, PathMtu::BlackHole);
    }

    /// Sends a long packet once more. Returns whether the path is found to be a black hole before,
    /// and whether the packet leaves in parts.
    fn again(detector: &mut BlackHoleDetector, number: u64) -> (bool, bool) {
        let leaves = (detector.is_found(number), detector.probes(number));
        detector.on_repeated(0, number, 9000);
        leaves
    }

    #[test]
    fn a_path_is_a_black_hole_where_only_parts_of_long_packets_arrive() {
        let detector = &mut BlackHoleDetector::default();
        assert_eq!([7, 8, 9].map(|number| again(detector, number)), [(false, false); 3]);
        assert_eq!(again(detector, 7), (false, true));
        detector.on_acknowledged(0, true);
        assert_eq!([8, 9].map(|number| again(detector, number)), [(false, false); 2]);
        assert_eq!(again(detector, 8), (true, true));
    }

    #[test]
    fn what_leaves_whole_behind_the_parts_is_the_next_one_tried() {
        let detector = &mut BlackHoleDetector::default();
        assert_eq!(
            [7, 8, 7, 8].map(|number| again(detector, number).1),
            [false, false, true, false]
        );
        detector.on_acknowledged(0, true);
        assert_eq!(again(detector, 8), (true, true));
    }

    #[test]
    fn each_false_alarm_makes_one_more_arrival_necessary() {
        for alarms in 0..5 {
            let detector = &mut BlackHoleDetector::default();
            for _ in 0..alarms {
                assert_eq!(
                    [7, 7].map(|number| again(detector, number)),
                    [(false, false), (false, true)]
                );
                detector.on_acknowledged(9000, false);
            }
            for number in 8..=8 + alarms.min(2) {
                assert_eq!(
                    [number; 2].map(|number| again(detector, number).0),
                    [false; 2],
                    "{alarms}"
                );
                detector.on_acknowledged(0, true);
            }
            assert_eq!([20; 2].map(|number| again(detector, number).0), [false, true], "{alarms}");
        }
    }

    #[test]
    fn an_outage_however_long_is_none() {
        let detector = &mut BlackHoleDetector::default();
        assert!((0..100).all(|_| !again(detector, 7).0));
        detector.on_acknowledged(0, true); // it is over
        assert!(!again(detector, 8).0);
        detector.on_acknowledged(9000, false);
        assert_eq!(again(detector, 9), (false, false));
        assert!(!again(detector, 9).0);
    }

    #[test]
    fn parts_and_a_whole_one_that_arrive_together_speak_for_the_path() {
        let detector = &mut BlackHoleDetector::default();
        assert_eq!([7, 7].map(|number| again(detector, number).1), [false, true]);
        detector.on_acknowledged(9000, true);
        assert!((0..2).all(|_| !again(detector, 8).0));
    }

    #[test]
    fn where_the_first_of_them_expires_the_next_one_is_tried() {
        let detector = &mut BlackHoleDetector::default();
        again(detector, 7);
        detector.on_repeated(8, 9, 9000);
        assert!(!detector.probes(7) && detector.probes(9));
    }

    #[test]
    fn short_ones_neither_speak_against_long_ones_nor_for_them() {
        let detector = &mut BlackHoleDetector::default();
        detector.on_repeated(0, 1, SHORT_MOST);
        assert!(!detector.probes(1));
        again(detector, 1);
        detector.on_acknowledged(8999, false);
        assert!(again(detector, 1).1);
        detector.on_acknowledged(9000, false);
        assert!(!again(detector, 1).1);
    }
}
