//! Detects that the path drops long packets silently.

use super::{BASE, steps};

/// How often a packet leaves in parts of one length, at most, before these are shorter: the more
/// parts there are, the less it says that some were lost.
const TRIES_MOST: usize = 4;

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
/// A packet whose copy was lost as well leaves in parts, each as long as the next shorter step
/// (1200, 548 or 256 octets), and one step shorter where these are lost, too: a probe that the path
/// passes if it passes anything. Where parts may be lost by chance, one length is tried several
/// times, and what arrived once is tried first. If the parts arrive, the path is alive: one more
/// long packet is tried, and if that is lost too, the path is a black hole. An outage, however
/// long, ends otherwise: what is tried after it arrives. The number of lost packets says little:
/// one lost acknowledgement may leave many packets unacknowledged. Where nothing was acknowledged
/// yet, the first copy leaves in parts at once, and where no long packet ever arrived, what was
/// lost with it counts as tried: so an association opens on a narrow path.
///
/// A path with much random loss looks alike now and then, and mostly soon shows that it does not:
/// each such false alarm, up to two, makes one more arrival in parts necessary. Packets of less
/// than the base cost more: where longer ones did pass before, one more arrival is necessary as
/// well.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlackHoleDetector {
    /// The octets of the shortest header.
    header: usize,
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
    /// Whether nothing arrived whole.
    is_fresh: bool,
    /// How often long packets arrived in parts, and none whole since.
    alive: u8,
    /// How often a long packet arrived whole after another had left in parts.
    alarms: u8,
}

impl BlackHoleDetector {
    /// Creates one for a path of which nothing is known, and packets with `header` octets before a
    /// body at least.
    pub(super) const fn new(header: usize) -> Self {
        BlackHoleDetector {
            header,
            repeated: None,
            in_parts: 0,
            passed: 0,
            whole: 0,
            behind: None,
            shortest: 0,
            is_fresh: true,
            alive: 0,
            alarms: 0,
        }
    }

    /// Returns one for the same path, which passes packets of `octets` octets.
    pub(super) fn passing(self, octets: usize) -> Self {
        let detector = BlackHoleDetector::new(self.header);
        BlackHoleDetector { whole: octets, is_fresh: false, ..detector }
    }

    /// Records that a packet of `octets` octets arrived.
    pub(super) fn on_passed(&mut self, octets: usize) {
        self.whole = self.whole.max(octets);
    }

    /// Returns the longest body of a packet of `octets` octets with the shortest header: a longer
    /// one always makes a longer packet.
    pub(super) fn body_most(&self, octets: usize) -> usize {
        octets - self.header
    }

    /// Records that a body of `octets` left once more; sequence numbers below `settled` do not
    /// leave again. `packet` is the longest packet now.
    pub(super) fn on_repeated(&mut self, packet: usize, settled: u64, number: u64, octets: usize) {
        if steps(packet).first().is_none_or(|step| octets <= self.body_most(*step)) {
            return;
        }
        self.shortest = if self.shortest == 0 { octets } else { self.shortest.min(octets) };
        match self.repeated.filter(|first| settled <= *first && *first <= number) {
            Some(first) if first == number => {
                (self.in_parts, self.behind) = (self.in_parts + 1, None);
            }
            Some(_) if self.in_parts > 0 => self.behind = self.behind.or(Some(number)),
            Some(_) => {}
            None => {
                // A lower one takes the place of a higher one, and left as that did.
                let begun = if self.repeated.is_some_and(|first| number < first) {
                    self.in_parts
                } else {
                    0
                };
                let in_parts = begun.max(usize::from(self.tries(packet, number)));
                (self.repeated, self.in_parts, self.behind) = (Some(number), in_parts, None);
            }
        }
    }

    /// Whether the packet `number` is the one that leaves in parts if it leaves again.
    #[inline]
    pub(super) fn probes(&self, number: u64) -> bool {
        self.repeated == Some(number)
    }

    /// Returns whether the long packet `number`, which leaves once more, leaves in parts, to find
    /// out whether the path is alive.
    pub(super) fn tries(&self, packet: usize, number: u64) -> bool {
        self.probes(number) || (self.is_fresh || self.alive > 0) && !self.did_pass(packet)
    }

    /// Returns the length of the parts in which the long packet `number` leaves.
    pub(super) fn parts(&self, packet: usize, number: u64) -> Option<usize> {
        // Others leave as the one that was tried last did.
        let before = usize::from(!self.probes(number));
        self.step(packet, self.in_parts.saturating_sub(before))
    }

    /// Whether a long packet arrived whole, ever, or none is long.
    fn did_pass(&self, packet: usize) -> bool {
        steps(packet).first().is_none_or(|step| self.whole > self.body_most(*step))
    }

    /// Returns the length of parts after a packet has left in parts `times` times.
    fn step(&self, packet: usize, times: usize) -> Option<usize> {
        let steps = steps(packet);
        let first = steps.iter().position(|step| *step == self.passed).unwrap_or(0);
        let parts = packet / steps.first()?;
        let tries = (parts + usize::from(self.did_pass(packet))).min(TRIES_MOST);
        steps.get(first + times / tries).or(steps.last()).copied()
    }

    /// Returns the longest packet that passes, if the path is a black hole for longer ones, now
    /// that this long packet leaves, which [tries](Self::tries).
    pub(super) fn found(&self, packet: usize, number: u64) -> Option<usize> {
        let did_pass = packet <= BASE && self.did_pass(packet);
        let is_found =
            self.alive > self.alarms.max(u8::from(did_pass)) && self.tries(packet, number);
        is_found.then_some(self.passed)
    }

    /// Records that bodies were acknowledged: the longest of those that left whole has `longest`
    /// octets; and some may have left in parts.
    #[inline]
    pub(super) fn on_acknowledged(&mut self, packet: usize, longest: usize, in_parts: bool) {
        self.is_fresh &= longest == 0;
        if self.shortest == 0 {
            self.whole = self.whole.max(longest);
            return;
        }
        let did_pass = self.did_pass(packet);
        self.whole = self.whole.max(longest);
        if longest >= self.shortest {
            let false_alarm = did_pass && (self.in_parts > 0 || self.alive > 0);
            let alarms = (self.alarms + u8::from(false_alarm)).min(ALARMS_MOST);
            *self = BlackHoleDetector { alarms, ..self.passing(self.whole) };
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

    const HEADER: usize = 20;

    /// Returns the detector of a path that did pass long packets.
    fn passed() -> BlackHoleDetector {
        BlackHoleDetector::new(HEADER).passing(9000)
    }

    /// Sends a long packet once more. Returns whether the path is found to be a black hole before,
    /// and whether the packet leaves in parts.
    fn again(detector: &mut BlackHoleDetector, number: u64) -> (bool, bool) {
        let tries = detector.tries(9000, number);
        let leaves = (tries && detector.found(9000, number).is_some(), tries);
        detector.on_repeated(9000, 0, number, 8900);
        leaves
    }

    #[test]
    fn a_path_is_a_black_hole_where_only_parts_of_long_packets_arrive() {
        let detector = &mut passed();
        assert_eq!([7, 8, 9].map(|number| again(detector, number)), [(false, false); 3]);
        assert_eq!(again(detector, 7), (false, true));
        detector.on_acknowledged(9000, 0, true);
        assert_eq!([8, 9].map(|number| again(detector, number)), [(false, false); 2]);
        assert_eq!(again(detector, 8), (true, true));
    }

    /// A probe of the tail left in parts of two lengths before the first one, which leaves as it
    /// did the last time.
    #[test]
    fn a_lower_packet_that_leaves_in_parts_leaves_as_the_higher_one_before_it() {
        let detector = &mut BlackHoleDetector::new(HEADER);
        for _ in 0..3 {
            assert!(detector.tries(1480, 9));
            detector.on_repeated(1480, 1, 9, 1448);
        }
        assert_eq!(detector.parts(1480, 1), Some(256));
        detector.on_repeated(1480, 1, 1, 1448);
        detector.on_acknowledged(1480, 0, true);
        assert_eq!(detector.passed, 256);
    }

    #[test]
    fn what_leaves_whole_behind_the_parts_is_the_next_one_tried() {
        let detector = &mut passed();
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
            let detector = &mut passed();
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
        let detector = &mut passed();
        assert!((0..100).all(|_| !again(detector, 7).0));
        detector.on_acknowledged(9000, 0, true); // it is over
        assert!(!again(detector, 8).0);
        detector.on_acknowledged(9000, 8900, false);
        assert_eq!(again(detector, 9), (false, false));
        assert!(!again(detector, 9).0);
    }

    #[test]
    fn parts_and_a_whole_one_that_arrive_together_speak_for_the_path() {
        let detector = &mut passed();
        assert_eq!([7, 7].map(|number| again(detector, number).1), [false, true]);
        detector.on_acknowledged(9000, 8900, true);
        assert!((0..2).all(|_| !again(detector, 8).0));
    }

    #[test]
    fn where_the_first_of_them_expires_the_next_one_is_tried() {
        let detector = &mut passed();
        again(detector, 7);
        detector.on_repeated(9000, 8, 9, 8900);
        assert!(!detector.probes(7) && detector.probes(9));
    }

    #[test]
    fn short_ones_neither_speak_against_long_ones_nor_for_them() {
        let detector = &mut passed();
        detector.on_repeated(9000, 0, 1, BASE - HEADER);
        assert!(!detector.probes(1));
        again(detector, 1);
        detector.on_acknowledged(9000, 8899, false);
        assert!(again(detector, 1).1);
        detector.on_acknowledged(9000, 8900, false);
        assert!(!again(detector, 1).1);
    }

    #[test]
    fn parts_become_shorter_until_some_arrive() {
        let detector = &mut passed();
        detector.on_repeated(9000, 0, 7, 8900);
        let lengths = [(); 10].map(|()| {
            let length = detector.parts(9000, 7);
            detector.on_repeated(9000, 0, 7, 8900);
            length
        });
        assert_eq!(lengths, [1200, 1200, 1200, 1200, 548, 548, 548, 548, 256, 256].map(Some));
        detector.on_acknowledged(9000, 0, true);
        assert!(!again(detector, 8).0);
        assert_eq!(detector.found(9000, 8), Some(256));
    }

    #[test]
    fn below_the_base_more_is_asked_of_a_path_that_did_pass_it() {
        let detector = &mut BlackHoleDetector::new(HEADER);
        detector.on_acknowledged(1200, 1180, false);
        for number in 7..=8 {
            (0..2).for_each(|_| detector.on_repeated(1200, 0, number, 1180));
            assert_eq!(detector.found(1200, number), None);
            detector.on_acknowledged(1200, 0, true);
        }
        detector.on_repeated(1200, 0, 20, 1180);
        assert_eq!(detector.found(1200, 20), Some(548));
    }

    #[test]
    fn where_nothing_ever_passed_the_first_copy_leaves_in_parts_and_the_next_one_is_enough() {
        for (packet, lengths) in [(1472, [1200, 548, 256, 256]), (1200, [548, 548, 256, 256])] {
            let detector = &mut BlackHoleDetector::new(HEADER);
            let again = |detector: &mut BlackHoleDetector, number| {
                let parts =
                    detector.parts(packet, number).filter(|_| detector.tries(packet, number));
                detector.on_repeated(packet, 0, number, packet - HEADER);
                parts
            };
            for length in lengths {
                assert_eq!([7, 8].map(|number| again(detector, number)), [Some(length); 2]);
            }
            assert_eq!(detector.found(packet, 9), None);
            detector.on_acknowledged(packet, 0, true);
            assert_eq!(detector.found(packet, 9), Some(256), "what left with the others");
        }
    }

    #[test]
    fn nothing_is_shorter_than_the_last_step() {
        let detector = &mut passed();
        (0..3).for_each(|_| detector.on_repeated(256, 0, 1, 236));
        assert_eq!((detector.probes(1), detector.parts(256, 1)), (false, None));
    }
}
