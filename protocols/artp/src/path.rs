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
//! The path may change later, or pass less than the base from the beginning:
//! [`BlackHoleDetector`]. Then datagrams that begin later are cut
//! shorter. One that is cut already cannot be cut again, because the peer may know its fragments;
//! they leave in parts.

use crate::header::Packet;
use stackwright_wire::Header as _;

/// The longest packet that every path should pass, with its header, in octets: `BASE_PLPMTU` of RFC
/// 8899 §5.1.2.
pub(crate) const BASE: usize = 1200;

/// The lengths of packets that are tried where longer ones vanish: below the base, what fits with the
/// headers of UDP into the 576 octets that an IPv4 host must accept (RFC 791 §3.1), and what passes
/// links of low rate.
const STEPS: [usize; 3] = [BASE, 548, 256];

/// Returns the lengths that are tried on a path that may not pass packets of `packet` octets.
pub(crate) fn steps(packet: usize) -> &'static [usize] {
    &STEPS[STEPS.iter().position(|step| *step < packet).unwrap_or(STEPS.len())..]
}

/// Returns the longest body of a packet of `octets` with the shortest header: a longer one always
/// makes a longer packet.
fn body_most(octets: usize) -> usize {
    octets - Packet::LENGTH
}

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
    /// The path drops longer packets silently.
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

/// How often a packet leaves in parts of one length before these are shorter: of a path that did pass
/// such packets, and of packets longer than the base. On any other path, once.
const TRIES: usize = 3;
const TRIES_LONG: usize = 4;

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
/// A packet whose copy was lost as well leaves in parts, each as long as the next shorter step (1200,
/// 548 or 256 octets), and one step shorter where these are lost, too: a probe that the path passes
/// if it passes anything. Where parts may be lost by chance, one length is tried several times, and
/// what arrived once is tried first. If the parts arrive, the path is alive: one
/// more long packet is tried, and if that is lost too, the path is a black hole. An outage, however
/// long, ends otherwise: what is tried after it arrives. The number of lost packets says little:
/// one lost acknowledgement may leave many packets unacknowledged.
///
/// A path with much random loss looks alike now and then, and mostly soon shows that it does not:
/// each such false alarm, up to two, makes one more arrival in parts necessary. Packets of less than
/// the base cost more: where longer ones did pass before, one more arrival is necessary as well.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BlackHoleDetector {
    /// The lowest sequence number that left once more, whole; lost packets leave in ascending
    /// order.
    repeated: Option<u64>,
    /// How often it left in parts since then.
    in_parts: usize,
    /// The length of the parts that arrived last.
    passed: usize,
    /// The longest body that was acknowledged whole.
    whole: usize,
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
    /// Creates one for a path that passes packets of `octets` octets.
    pub(crate) fn passing(octets: usize) -> Self {
        BlackHoleDetector { whole: octets, ..BlackHoleDetector::default() }
    }

    /// Records that a body of `octets` left once more; sequence numbers below `settled` do not
    /// leave again.
    /// `packet` is the longest packet now.
    pub(crate) fn on_repeated(&mut self, packet: usize, settled: u64, number: u64, octets: usize) {
        if steps(packet).first().is_none_or(|step| octets <= body_most(*step)) {
            return;
        }
        self.shortest = if self.shortest == 0 { octets } else { self.shortest.min(octets) };
        match self.repeated.filter(|first| settled <= *first && *first <= number) {
            Some(first) if first == number => {
                (self.in_parts, self.behind) = (self.in_parts + 1, None);
            }
            Some(_) if self.in_parts > 0 => self.behind = self.behind.or(Some(number)),
            Some(_) => {}
            None => (self.repeated, self.in_parts, self.behind) = (Some(number), 0, None),
        }
    }

    /// Whether the long packet `number` leaves in parts, to find out whether the path is alive.
    #[inline]
    pub(crate) fn probes(&self, number: u64) -> bool {
        self.repeated == Some(number)
    }

    /// Returns the length of the parts in which the long packet `number` leaves, if it does.
    pub(crate) fn parts(&self, packet: usize, number: u64) -> Option<usize> {
        self.probes(number).then(|| self.step(packet, self.in_parts)).flatten()
    }

    /// Whether a long packet arrived whole, ever.
    fn did_pass(&self, packet: usize) -> bool {
        steps(packet).first().is_some_and(|step| self.whole > body_most(*step))
    }

    /// Returns the length of parts after a packet has left in parts `times` times.
    fn step(&self, packet: usize, times: usize) -> Option<usize> {
        let steps = steps(packet);
        let first = steps.iter().position(|step| *step == self.passed).unwrap_or(0);
        let tries = match packet > BASE {
            true => TRIES_LONG,
            false if self.did_pass(packet) => TRIES,
            false => 1,
        };
        steps.get(first + times / tries).or(steps.last()).copied()
    }

    /// Returns the longest packet that passes, if the path is a black hole for longer ones, now that
    /// this long packet leaves.
    pub(crate) fn found(&self, packet: usize, number: u64) -> Option<usize> {
        let did_pass = packet <= BASE && self.did_pass(packet);
        let is_found = self.alive > self.alarms.max(u8::from(did_pass)) && self.probes(number);
        is_found.then_some(self.passed)
    }

    /// Records that bodies were acknowledged: the longest of those that left whole has `longest`
    /// octets; and some may have left in parts.
    #[inline]
    pub(crate) fn on_acknowledged(&mut self, packet: usize, longest: usize, in_parts: bool) {
        self.whole = self.whole.max(longest);
        if self.shortest == 0 {
            return;
        }
        if longest >= self.shortest {
            let false_alarm = self.in_parts > 0 || self.alive > 0;
            let alarms = (self.alarms + u8::from(false_alarm)).min(ALARMS_MOST);
            let whole = self.whole;
            *self = BlackHoleDetector { alarms, whole, ..BlackHoleDetector::default() };
        } else if in_parts {
            self.alive = self.alive.saturating_add(1);
            self.passed = self.step(packet, self.in_parts.saturating_sub(1)).unwrap_or(packet);
            (self.repeated, self.in_parts) = (self.behind.take(), 0);
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
        let leaves = (detector.found(9000, number).is_some(), detector.probes(number));
        detector.on_repeated(9000, 0, number, 8900);
        leaves
    }

    #[test]
    fn a_path_is_a_black_hole_where_only_parts_of_long_packets_arrive() {
        let detector = &mut BlackHoleDetector::default();
        assert_eq!([7, 8, 9].map(|number| again(detector, number)), [(false, false); 3]);
        assert_eq!(again(detector, 7), (false, true));
        detector.on_acknowledged(9000, 0, true);
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
        detector.on_acknowledged(9000, 0, true);
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
                detector.on_acknowledged(9000, 8900, false);
            }
            for number in 8..=8 + alarms.min(2) {
                assert_eq!(
                    [number; 2].map(|number| again(detector, number).0),
                    [false; 2],
                    "{alarms}"
                );
                detector.on_acknowledged(9000, 0, true);
            }
            assert_eq!([20; 2].map(|number| again(detector, number).0), [false, true], "{alarms}");
        }
    }

    #[test]
    fn an_outage_however_long_is_none() {
        let detector = &mut BlackHoleDetector::default();
        assert!((0..100).all(|_| !again(detector, 7).0));
        detector.on_acknowledged(9000, 0, true); // it is over
        assert!(!again(detector, 8).0);
        detector.on_acknowledged(9000, 8900, false);
        assert_eq!(again(detector, 9), (false, false));
        assert!(!again(detector, 9).0);
    }

    #[test]
    fn parts_and_a_whole_one_that_arrive_together_speak_for_the_path() {
        let detector = &mut BlackHoleDetector::default();
        assert_eq!([7, 7].map(|number| again(detector, number).1), [false, true]);
        detector.on_acknowledged(9000, 8900, true);
        assert!((0..2).all(|_| !again(detector, 8).0));
    }

    #[test]
    fn where_the_first_of_them_expires_the_next_one_is_tried() {
        let detector = &mut BlackHoleDetector::default();
        again(detector, 7);
        detector.on_repeated(9000, 8, 9, 8900);
        assert!(!detector.probes(7) && detector.probes(9));
    }

    #[test]
    fn short_ones_neither_speak_against_long_ones_nor_for_them() {
        let detector = &mut BlackHoleDetector::default();
        detector.on_repeated(9000, 0, 1, body_most(BASE));
        assert!(!detector.probes(1));
        again(detector, 1);
        detector.on_acknowledged(9000, 8899, false);
        assert!(again(detector, 1).1);
        detector.on_acknowledged(9000, 8900, false);
        assert!(!again(detector, 1).1);
    }

    #[test]
    fn parts_become_shorter_until_some_arrive() {
        let detector = &mut BlackHoleDetector::default();
        let lengths = [(); 13].map(|()| {
            let length = detector.parts(9000, 7);
            detector.on_repeated(9000, 0, 7, 8900);
            length
        });
        assert_eq!(lengths[0], None);
        for (nth, length) in [(1, 1200), (4, 1200), (5, 548), (8, 548), (9, 256), (12, 256)] {
            assert_eq!(lengths[nth], Some(length));
        }
        detector.on_acknowledged(9000, 0, true);
        assert!(!again(detector, 8).0);
        assert_eq!(detector.found(9000, 8), Some(256));
    }

    #[test]
    fn below_the_base_more_is_asked_of_a_path_that_did_pass_it() {
        for did_pass in [false, true] {
            let detector = &mut BlackHoleDetector::default();
            if did_pass {
                detector.on_acknowledged(1200, 1180, false);
            }
            for number in 7..=7 + u64::from(did_pass) {
                (0..2).for_each(|_| detector.on_repeated(1200, 0, number, 1180));
                assert_eq!(detector.found(1200, number), None);
                detector.on_acknowledged(1200, 0, true);
            }
            detector.on_repeated(1200, 0, 20, 1180);
            assert_eq!(detector.found(1200, 20), Some(548), "{did_pass}");
        }
    }

    #[test]
    fn nothing_is_shorter_than_the_last_step() {
        let detector = &mut BlackHoleDetector::default();
        (0..3).for_each(|_| detector.on_repeated(256, 0, 1, 236));
        assert_eq!((detector.probes(1), detector.parts(256, 1)), (false, None));
    }
}
