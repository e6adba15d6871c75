//! The path MTU: how long packets are, and what happens to those that became too long (RFC 8899). A
//! mechanism, and not a policy: a format has a [`PathMtu`] and asks it.
//!
//! | file | what |
//! | --- | --- |
//! | `black_hole.rs` | detects that the path drops long packets silently (§4.3, RFC 4821 §7.7) |
//! | `parts.rs` | reassembles what arrives in parts, where each packet has one number |
//!
//! A router whose next link has a smaller MTU may drop long packets silently, or its report may be
//! dropped: packets would be sent again for ever, and none acknowledged. A protocol whose opening
//! can be padded finds out before data leaves, without a round trip ([`PathMtu::asking`]); another
//! one assumes that long packets pass, and cuts its first packets again where none is answered
//! ([`PathMtu::assuming`]).
//!
//! Where longer packets are found to vanish, messages that begin later are cut shorter. One that is
//! cut already cannot be cut again, because the peer may know its pieces: a piece leaves in parts.
//! After a while, one piece leaves whole again; if it is acknowledged, all do (§5.3.2).

mod black_hole;
mod parts;

use core::ops::Range;

use stackwright_contract::Instant;

use crate::words::{Nanoseconds, SECOND, View};
use black_hole::BlackHoleDetector;
pub use parts::{PacketParts, PartPlace};

/// The longest packet that every path should pass, with its header, in octets: `BASE_PLPMTU` of RFC
/// 8899 §5.1.2.
pub const BASE: usize = 1200;

/// The lengths of packets that are tried where longer ones vanish: below the base, what fits with
/// the headers of UDP into the 576 octets that an IPv4 host must accept (RFC 791 §3.1), and what
/// passes links of low rate.
const STEPS: [usize; 3] = [BASE, 548, 256];

/// After how long a narrow path is first tried with a long packet, and the longest that this wait
/// becomes, which doubles with each that is lost. The latter is `PMTU_RAISE_TIMER` (§5.1.1).
const RAISE_FIRST: Nanoseconds = 30 * SECOND;
const RAISE_MOST: Nanoseconds = 600 * SECOND;

/// Returns the lengths that are tried on a path that may not pass packets of `packet` octets.
fn steps(packet: usize) -> &'static [usize] {
    &STEPS[STEPS.iter().position(|step| *step < packet).unwrap_or(STEPS.len())..]
}

/// The path MTU to the peer of an association.
#[derive(Clone, Copy, Debug)]
pub struct PathMtu {
    /// The longest packet that both ends accept.
    most: usize,
    state: State,
    black_hole: BlackHoleDetector,
    /// The unit that leaves in parts, and how many of its octets have left.
    parted: Option<(u64, usize)>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Nothing was sent.
    Unasked,
    /// A long packet was sent, and no short one that an answer could belong to.
    Asked,
    /// The path passes long packets.
    Long,
    /// It passes shorter ones.
    Narrow(Narrow),
}

#[derive(Clone, Copy, Debug)]
struct Narrow {
    /// The longest packet that it passes.
    passes: usize,
    /// Whether there may be pieces for longer packets.
    has_long: bool,
    raise: Raise,
    /// When a long packet is tried next, and the wait behind that.
    raise_at: Instant,
    wait: Nanoseconds,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Raise {
    No,
    /// Messages that begin are cut long, and the next piece that is long leaves whole.
    Cutting,
    /// The unit of this number left whole.
    Probing(u64),
}

impl Narrow {
    fn new(now: Instant, passes: usize, has_long: bool) -> Self {
        let raise_at = now.later(RAISE_FIRST);
        Narrow { passes, has_long, raise: Raise::No, raise_at, wait: 2 * RAISE_FIRST }
    }

    /// Returns whether a unit that leaves for the first time, in a packet of `octets` octets,
    /// leaves whole though it is too long.
    fn raises(&mut self, view: &View, number: u64, octets: usize) -> bool {
        match self.raise {
            Raise::No if self.raise_at <= view.now => {
                (self.raise, self.has_long) = (Raise::Cutting, true);
            }
            // It expired, or was acknowledged with nothing else.
            Raise::Probing(probe) if probe < view.settled_upto => self.fail(view),
            _ => {}
        }
        let raises = self.raise == Raise::Cutting && octets > self.passes;
        if raises {
            self.raise = Raise::Probing(number);
        }
        raises
    }

    fn fail(&mut self, view: &View) {
        (self.raise, self.raise_at) = (Raise::No, view.now.later(self.wait));
        self.wait = (2 * self.wait).min(RAISE_MOST);
    }
}

impl PathMtu {
    /// Creates that of a protocol whose opening asks: packets are no longer than the base before it
    /// is answered. They are at most `most` octets long, `header` of which precede a body at least.
    pub const fn asking(most: usize, header: usize) -> Self {
        PathMtu {
            most,
            state: State::Unasked,
            black_hole: BlackHoleDetector::new(header),
            parted: None,
        }
    }

    /// Creates that of a protocol whose first packets are as long as all.
    pub const fn assuming(most: usize, header: usize) -> Self {
        PathMtu { state: State::Long, ..PathMtu::asking(most, header) }
    }

    /// Returns the longest packet that both ends accept.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Sets the longest packet that both ends accept.
    pub fn set_most(&mut self, most: usize) {
        self.most = most;
    }

    /// Records that the path takes packets of at most `most` octets now, as a router or the layer
    /// below tells: what was cut for longer ones leaves in parts. Where it takes longer ones again,
    /// one tries that.
    pub fn on_told(&mut self, most: usize) {
        if most < self.packet() {
            let passes = most.min(self.passes());
            self.state = State::Narrow(Narrow::new(Instant::START, passes, true));
            self.black_hole = self.black_hole.passing(passes);
        }
        self.most = most;
    }

    /// Returns whether no packet was sent that opens.
    pub fn is_unasked(&self) -> bool {
        matches!(self.state, State::Unasked)
    }

    /// Records that a packet that opens leaves: `long`, as long as packets shall be, or not.
    pub fn on_said(&mut self, now: Instant, long: bool) {
        self.state = match (self.state, long) {
            (State::Unasked, true) => State::Asked,
            (State::Unasked | State::Asked, false) => State::Narrow(Narrow::new(now, BASE, false)),
            (state, _) => state,
        };
    }

    /// Records that it was answered, by a packet that shows that a `long` one arrived, or by one
    /// that does not tell which was answered.
    pub fn on_answered(&mut self, long: bool) {
        let was_short = matches!(self.state, State::Narrow(Narrow { has_long: false, .. }));
        if matches!(self.state, State::Asked) || long && was_short {
            self.state = State::Long;
            self.black_hole.on_passed(self.most);
        }
    }

    /// Returns how long ago the first packet that opens left short, where one did.
    pub fn short_for(&self, now: Instant) -> Option<Nanoseconds> {
        let State::Narrow(narrow) = self.state else { return None };
        Some(now.nanoseconds_since(narrow.raise_at.sooner(RAISE_FIRST)))
    }

    /// Records that the peer asked for a repetition: it leaves with the same length.
    pub fn on_asked_again(&mut self) {
        if let State::Asked = self.state {
            self.state = State::Unasked;
        }
    }

    /// Returns the longest packet that messages are cut for.
    #[inline]
    pub fn packet(&self) -> usize {
        match self.state {
            State::Long => self.most,
            State::Narrow(narrow) if narrow.raise == Raise::Cutting => self.most,
            _ => self.passes().min(self.most),
        }
    }

    /// Returns the longest packet that the path passes.
    fn passes(&self) -> usize {
        match self.state {
            State::Long => usize::MAX,
            State::Narrow(narrow) => narrow.passes,
            State::Unasked | State::Asked => BASE,
        }
    }

    /// Returns the longest packet of which the detector finds out whether the path passes it.
    fn judged(&self) -> usize {
        self.passes().min(self.most)
    }

    /// Returns whether the unit `number` leaves whole; numbers below `sent_upto` left before.
    #[inline]
    pub fn runs(&self, number: u64, sent_upto: u64) -> bool {
        match self.state {
            State::Narrow(narrow) if narrow.has_long => false,
            _ => number >= sent_upto || !self.black_hole.tries(self.judged(), number),
        }
    }

    /// Returns the longest part of a unit that leaves now in a packet of `octets` octets, header
    /// included, if it leaves in parts: the path drops it, or it is the probe that shows whether
    /// the path does.
    #[inline]
    pub fn part_most(&mut self, view: &View, number: u64, octets: usize) -> Option<usize> {
        match self.state {
            // The usual case: it leaves for the first time.
            State::Long if number >= view.sent_upto => None,
            // So do all that are as long as both ends accept: nothing longer is tried.
            State::Narrow(Narrow { passes, .. })
                if number >= view.sent_upto && octets <= passes && passes >= self.most =>
            {
                None
            }
            _ => self.narrow_most(view, number, octets),
        }
    }

    #[cold]
    fn narrow_most(&mut self, view: &View, number: u64, octets: usize) -> Option<usize> {
        let packet = self.judged();
        let mut most = self.passes();
        if number >= view.sent_upto {
            if let State::Narrow(narrow) = &mut self.state
                && narrow.passes < self.most
                && narrow.raises(view, number, octets)
            {
                return None;
            }
        } else if octets > steps(packet).first().copied().unwrap_or(usize::MAX)
            && self.black_hole.tries(packet, number)
        {
            if let Some(passes) = self.black_hole.found(packet, number) {
                self.state = State::Narrow(Narrow::new(view.now, passes, true));
                self.black_hole = self.black_hole.passing(passes);
                most = passes;
            } else {
                most = self.black_hole.parts(packet, number).unwrap_or(most);
            }
        }
        (octets > most).then_some(most)
    }

    /// Returns the octets of the next part of the unit `number`, of whose body a packet holds
    /// `most` of `whole` octets. The one that ends with the body is the last.
    pub fn next_part(&mut self, number: u64, whole: usize, most: usize) -> Range<usize> {
        let begun = self.parted.filter(|(begun, left)| *begun == number && *left < whole);
        let offset = begun.map_or(0, |(_, left)| left);
        let end = whole.min(offset + most);
        self.parted = (end < whole).then_some((number, end));
        offset..end
    }

    /// Returns where the next part of the unit `number` begins.
    pub fn part_begins(&self, number: u64) -> usize {
        self.parted.filter(|(begun, _)| *begun == number).map_or(0, |(_, left)| left)
    }

    /// Records that a unit with a body of `octets` octets left once more: for the second time or a
    /// later one.
    #[cold]
    pub fn on_repeated(&mut self, view: &View, number: u64, octets: usize) {
        if let State::Narrow(narrow) = &mut self.state
            && narrow.raise == Raise::Probing(number)
        {
            narrow.fail(view);
        }
        // What leaves in parts anyway is lost more often, and says nothing about the parts.
        if octets < self.passes() {
            self.black_hole.on_repeated(self.judged(), view.settled_upto, number, octets);
        }
    }

    /// Records that bodies were acknowledged: the longest of those that left whole has `longest`
    /// octets; and some may have left in parts.
    #[inline]
    pub fn on_acknowledged(&mut self, longest: usize, in_parts: bool) {
        if let State::Narrow(narrow) = self.state
            && let Raise::Probing(_) = narrow.raise
            && longest > self.black_hole.body_most(narrow.passes)
        {
            self.state = State::Long;
            self.black_hole = self.black_hole.passing(self.most);
        }
        self.black_hole.on_acknowledged(self.judged(), longest, in_parts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: usize = 20;

    fn at(seconds: u64, sent_upto: u64) -> View {
        View { now: Instant::START.later(seconds * SECOND), sent_upto, ..View::START }
    }

    #[test]
    fn only_an_answer_that_is_to_nothing_short_shows_that_long_ones_pass() {
        let after = |said: &[bool]| {
            let mut path = PathMtu::asking(9000, HEADER);
            said.iter().for_each(|long| path.on_said(Instant::START, *long));
            path.on_answered(false);
            path.packet()
        };
        assert_eq!(after(&[true]), 9000);
        assert_eq!(
            [after(&[]), after(&[false]), after(&[true, false]), after(&[false, true])],
            [BASE; 4]
        );
        let mut path = PathMtu::asking(600, HEADER);
        path.on_said(Instant::START, false);
        assert_eq!(path.packet(), 600);
    }

    #[test]
    fn who_is_told_to_come_again_comes_as_long_as_he_was() {
        let mut path = PathMtu::asking(9000, HEADER);
        path.on_said(Instant::START, true);
        path.on_asked_again();
        assert!(path.is_unasked());
        path.on_said(Instant::START, true);
        path.on_said(Instant::START, false);
        path.on_asked_again();
        assert!(!path.is_unasked() && path.packet() == BASE);
    }

    /// Returns a path that was found, after a second, to pass nothing longer than the base.
    fn narrow() -> PathMtu {
        let mut path = PathMtu::assuming(9000, HEADER);
        path.on_acknowledged(8900, false);
        for number in [1, 2] {
            assert_eq!(path.part_most(&at(1, 5), number, 8920), None);
            path.on_repeated(&at(1, 5), number, 8900);
            let found = path.part_most(&at(1, 5), number, 8920);
            assert_eq!(found, Some(BASE));
            path.on_repeated(&at(1, 5), number, 8900);
            path.on_acknowledged(0, true);
        }
        assert_eq!((path.packet(), path.runs(9, 9)), (BASE, false));
        path
    }

    #[test]
    fn nothing_that_is_said_later_makes_a_way_wide_that_became_narrow() {
        let mut path = narrow();
        path.on_said(Instant::START, true);
        path.on_said(Instant::START, false);
        path.on_answered(false);
        path.on_acknowledged(8900, false);
        assert_eq!((path.packet(), path.part_most(&at(2, 5), 5, 8920)), (BASE, Some(BASE)));
    }

    /// After half a minute, and then less and less often.
    #[test]
    fn a_narrow_path_is_tried_again_with_one_packet_and_is_wide_if_that_arrives() {
        let mut path = narrow();
        assert_eq!(path.part_most(&at(30, 5), 5, 1200), None);
        assert_eq!(path.packet(), BASE);
        let (mut now, mut number) = (31, 6);
        for wait in [60, 120, 240, 480, 600, 600] {
            assert_eq!(path.part_most(&at(now, number), number, 1200), None);
            assert_eq!(path.packet(), 9000, "after {now} s");
            assert_eq!(path.part_most(&at(now, number), number, 8920), None, "it is the probe");
            assert_eq!(path.packet(), BASE);
            assert_eq!(path.part_most(&at(now, number), number + 1, 8920), Some(BASE));
            path.on_repeated(&at(now, number + 2), number, 8900);
            assert_eq!(path.part_most(&at(now, number + 2), number, 8920), Some(BASE));
            path.on_acknowledged(1100, true);
            (now, number) = (now + wait, number + 2);
            assert_eq!(path.part_most(&at(now - 1, number), number, 1200), None);
            assert_eq!(path.packet(), BASE);
        }
        assert_eq!(path.part_most(&at(now, number), number, 8920), None);
        path.on_acknowledged(8900, false);
        assert_eq!((path.packet(), path.runs(number + 1, number + 1)), (9000, true));
    }

    #[test]
    fn a_unit_leaves_in_parts_from_its_beginning_to_its_end() {
        let mut path = narrow();
        assert_eq!(
            [(); 3].map(|()| path.next_part(7, 2500, 1000)),
            [0..1000, 1000..2000, 2000..2500]
        );
        assert_eq!(path.next_part(7, 2500, 1000), 0..1000);
        assert_eq!((path.part_begins(7), path.part_begins(8)), (1000, 0));
        assert_eq!(path.next_part(8, 2500, 500), 0..500, "another one is begun");
    }
}
