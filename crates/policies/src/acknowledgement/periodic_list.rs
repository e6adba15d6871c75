//! The number of every packet, gathered for some time.

use alloc::vec::Vec;
use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_transport::slots::Acknowledgement;
use stackwright_transport::words::{MILLISECOND, Nanoseconds, Report, UnitHeader, View};
use stackwright_transport::{Receipts, component};

use super::delayed_ack::Spacing;

/// How many spans are reported once more, beside what is news: a report that is lost would cost
/// retransmissions.
const REPEATED_MOST: usize = 4;

/// How many ranges beyond the first hole are repeated. As each report names all before the hole, a
/// range has as many reports to be learned from as leave until the hole is filled.
const RANGES_MOST: usize = 8;

/// How many spans are reported as received again (RFC 2883): one per report is the usual case.
const AGAIN_MOST: usize = 4;

/// How many times in a row the repetitions of a report double: the last time they are sixteen.
const VAIN_MOST: u8 = 5;

/// How many spans are gathered, at most: 16 octets each. What is beyond is not acknowledged, and
/// comes again.
const GATHERED_MOST: usize = 4096;

/// The least length of a full packet, in octets: of a sender whose packets are all shorter, none is
/// full.
const FULL_LEAST: usize = 1024;

/// How many numbers are gathered, at most, before a round trip was measured. A side that sends
/// nothing never measures one, and does not know how long it may keep the sender waiting.
const UNMEASURED_MOST: u64 = 2;

/// Gathers the numbers of what arrived, duplicates too, and lists them after some time (ARTP
/// §1.4.5). The last list is repeated once where there is room, since it may be lost: where two
/// lists in a row are, what arrived is sent again.
///
/// [With ranges](PeriodicList::ranges), each report names all that arrived before the first hole,
/// and of the ranges beyond it those that grew and the highest ones (RFC 9000 §13.2.3, RFC 2018
/// §4): as long as any report arrives, nothing is sent again that is here. It also names what was
/// received again (D-SACK, RFC 2883). Where that happens time after time and nothing new arrives,
/// reports are lost in a burst: they are repeated, the more often the longer.
///
/// A list leaves a quarter of a round trip after the first number it holds, but not sooner than a
/// millisecond (an exchange on a fast path is not acknowledged packet by packet) and at most
/// `every` after it; and at once where numbers are missing before the newest, where one arrived
/// again, where it has `most` numbers, where [as many full packets](PeriodicList::full) could have
/// held what it lists, or where the sender waits for credit. Before a round trip was measured, it
/// leaves with the second number.
///
/// Choose it for a path that reorders: the numbers say what arrived and nothing else. On a narrow
/// return path, prefer [`OnRequest`](super::OnRequest).
///
/// ```
/// use stackwright_policies::acknowledgement::PeriodicList;
/// let list = PeriodicList::new(50_000_000, 2);
/// # let _ = list;
/// ```
#[derive(Clone, Debug)]
pub struct PeriodicList {
    every: Nanoseconds,
    most: u64,
    full: Option<u32>,
    at: Instant,
    spacing: Spacing,
    /// What arrived since the last list, in the order of arrival; how many numbers, and how many
    /// octets their packets had.
    news: Vec<Range<u64>>,
    numbers: u64,
    octets: usize,
    /// The longest piece that arrived, which is the length of a full packet.
    longest: usize,
    /// The octets of the full packets that are waited for. The last need not be quite full.
    enough: usize,
    said: Vec<Range<u64>>,
    /// What arrived again since the last report.
    again: Vec<Range<u64>>,
    /// Up to which number all had arrived when one arrived again last; how many times in a row
    /// nothing had arrived before that, and how many reports are repeated for that.
    again_upto: u64,
    vain: u8,
    repeats: u8,
    /// Whether reports name ranges, and repeat them.
    ranges: bool,
    /// Whether the first number is reported at once, and nothing was reported yet.
    is_first: bool,
    /// Whether the next report is due without news, and a list is to name all that arrived before
    /// it.
    all: bool,
}

impl PeriodicList {
    /// Creates the policy: a list leaves at most `every` nanoseconds after its first number, or
    /// when it has `most` numbers.
    pub const fn new(every: Nanoseconds, most: u64) -> Self {
        PeriodicList {
            every,
            most,
            full: None,
            at: Instant::END,
            spacing: Spacing::new(),
            news: Vec::new(),
            numbers: 0,
            octets: 0,
            longest: FULL_LEAST,
            enough: usize::MAX,
            said: Vec::new(),
            again: Vec::new(),
            again_upto: 0,
            vain: 0,
            repeats: 0,
            ranges: false,
            is_first: false,
            all: false,
        }
    }

    /// Sends a list also when `packets` full packets, or as many octets in more packets, have
    /// arrived. A sender needs an early report of octets, because they are what its window counts;
    /// but in an exchange of short messages, a list for every other one would be a third of the
    /// packets.
    #[must_use]
    pub fn full(mut self, packets: u32) -> Self {
        self.full = Some(packets);
        self.lengthen(self.longest);
        self
    }

    /// Sets whether reports repeat the ranges of what arrived, where the format names ranges;
    /// otherwise they list each number twice at most, as the document does.
    #[must_use]
    pub fn ranges(self, ranges: bool) -> Self {
        PeriodicList { ranges, ..self }
    }

    /// Lists the very first number at once, as TCP acknowledges quickly in the beginning: its
    /// sender learns the round trip, and an association of one exchange is not kept open by the
    /// delay.
    #[must_use]
    pub fn first_at_once(self) -> Self {
        PeriodicList { is_first: true, ..self }
    }

    #[inline(always)] // for each packet
    fn gather(&mut self, span: &Range<u64>) {
        let spans = self.news.len();
        match self.news.last_mut() {
            Some(last) if last.end == span.start => last.end = span.end,
            _ if spans < GATHERED_MOST => self.news.push(span.clone()),
            _ => return,
        }
        self.numbers += span.end - span.start;
    }

    /// Records how long a full packet is.
    #[cold]
    fn lengthen(&mut self, longest: usize) {
        self.longest = longest;
        if let Some(full) = self.full {
            self.enough = (full as usize * longest).saturating_sub(longest / 2);
        }
    }

    /// Has the report of what arrived again repeated, the more often the more reports of it were in
    /// vain: a sender that waits twice as long for each would hear none of a burst of losses.
    fn repeat(&mut self, view: &View) {
        if view.received_upto > self.again_upto {
            (self.again_upto, self.vain, self.repeats) = (view.received_upto, 0, 0);
        } else if self.repeats == 0 && self.again.is_empty() && self.ranges {
            self.vain = (self.vain + 1).min(VAIN_MOST);
            self.repeats = 1 << (self.vain - 1);
        }
    }

    /// Makes a report due although nothing new arrived: a list repeats the last number that did.
    fn remind(&mut self, view: &View, receipts: &Receipts) {
        if self.ranges {
            self.all = true;
        } else if self.news.is_empty() && receipts.highest() > 0 {
            let last = receipts.highest() - 1;
            if last < receipts.upto()
                || receipts.beyond().last().is_some_and(|span| span.contains(&last))
            {
                self.gather(&(last..last + 1));
            }
        }
        self.at = view.now;
    }
}

/// Writes all that was received before the first hole, and of the ranges beyond it those that hold
/// `news` and the highest ones, `most` at most.
fn write_ranges(news: &[Range<u64>], receipts: &Receipts, most: usize, into: &mut Report) {
    into.upto = receipts.upto();
    let beyond = receipts.beyond();
    let (older, highest) = beyond.split_at(beyond.len().saturating_sub(most.min(RANGES_MOST)));
    if let Some(below) = highest.first() {
        let room = most - highest.len();
        let held = news.iter().filter(|span| (into.upto..below.start).contains(&span.start));
        let grown = held.map(|span| older.partition_point(|range| range.end <= span.start));
        into.held.extend(grown.filter_map(|place| older.get(place).cloned()).take(room));
        into.held.sort_unstable_by_key(|range| range.start);
        into.held.dedup();
    }
    into.held.extend_from_slice(highest);
}

impl Acknowledgement for PeriodicList {
    fn on_begun(&mut self, names_ranges: bool) {
        self.ranges &= names_ranges;
    }

    #[cold]
    fn on_again(&mut self, view: &View, span: &Range<u64>) {
        self.at = view.now; // its sender does not know
        self.repeat(view);
        self.spacing.on_received(view, true);
        let spans = self.again.len();
        match self.again.last_mut() {
            Some(last) if last.end == span.start => last.end = span.end,
            _ if spans < AGAIN_MOST => self.again.push(span.clone()),
            _ => {}
        }
    }

    #[inline(always)] // for each packet
    fn on_received(
        &mut self,
        view: &View,
        unit: &UnitHeader,
        octets: usize,
        gap: Option<Range<u64>>,
    ) {
        self.gather(&unit.span);
        self.octets += octets;
        if unit.piece > self.longest {
            self.lengthen(unit.piece);
        }
        self.spacing.on_received(view, false);
        let is_measured = view.rtt.smoothed > 0;
        let most = if is_measured { self.most } else { self.most.min(UNMEASURED_MOST) };
        // What is missing is sent again the sooner (RFC 5681 §4.2).
        if gap.is_some() || self.is_first {
            self.at = view.now;
        } else if self.numbers >= most || self.octets >= self.enough {
            self.at = self.at.min(self.spacing.next(view));
        } else if self.at == Instant::END {
            // The first of them waits longest.
            let wait =
                if is_measured { (view.rtt.smoothed / 4).max(MILLISECOND) } else { u64::MAX };
            self.at = view.now.later(self.every.min(wait));
        }
    }

    fn on_refused(&mut self, view: &View, receipts: &Receipts) {
        self.remind(view, receipts);
    }

    fn on_room(&mut self, view: &View, receipts: &Receipts) {
        self.remind(view, receipts);
    }

    fn on_moved(&mut self, view: &View, receipts: &Receipts) {
        self.remind(view, receipts);
        self.all = true;
    }

    fn hurry(&mut self, view: &View) {
        if !self.news.is_empty() {
            self.at = self.at.min(view.now);
        }
    }

    fn report(&self, view: &View, receipts: &Receipts, room: usize, into: &mut Report) -> bool {
        if self.at > view.now || self.news.is_empty() && !(self.ranges && self.all) {
            return false;
        }
        into.clear();
        if self.ranges {
            write_ranges(&self.news, receipts, room - self.again.len(), into);
            into.again.extend_from_slice(&self.again);
            return true;
        }
        into.upto = if self.all { receipts.upto() } else { 0 };
        let mut left = room as u64;
        for span in self.news.iter().chain(&self.said) {
            if left == 0 {
                break;
            }
            let end = span.end.min(span.start + left);
            left -= end - span.start;
            into.held.push(span.start..end);
        }
        true
    }

    fn on_reported(&mut self, view: &View, report: &Report) {
        (self.octets, self.all, self.is_first) = (0, false, false);
        self.spacing.on_reported(view);
        if self.ranges {
            self.numbers = 0;
            self.news.clear();
            self.again.clear();
            self.at = Instant::END;
            if self.repeats > 0 && view.received_upto <= self.again_upto {
                (self.repeats, self.all) = (self.repeats - 1, true);
                self.at = view.now.later(self.every.max(view.rtt.smoothed / 4));
            }
            return;
        }
        let mut said =
            report.held.iter().map(|span| span.end - span.start).sum::<u64>().min(self.numbers);
        self.numbers -= said;
        self.said.clear();
        let mut whole = 0;
        for span in &mut self.news {
            let length = span.end - span.start;
            if length > said {
                span.start += said;
                break;
            }
            said -= length;
            whole += 1;
        }
        let repeated = whole.min(REPEATED_MOST);
        self.said.extend(self.news.drain(..whole).skip(whole - repeated));
        self.at = if self.news.is_empty() { Instant::END } else { view.now };
    }

    #[inline]
    fn deadline(&self) -> Instant {
        self.at
    }
}

component! {
    PeriodicList: "acknowledgement by a periodic list", "lists the number of every packet, now and then",
    needs: Property::SPANS.and(Property::COUNTS_PACKETS), gives: Property::REPORTS.and(Property::UNASKED),
}

#[cfg(test)]
mod tests {
    use stackwright_transport::words::{Estimate, Label, SECOND};

    use super::*;

    const NOW: View = View {
        now: Instant::START,
        rtt: Estimate { smoothed: MILLISECOND, variation: 0, least: 0, timeout: 0 },
        ..View::START
    };

    fn unit(span: Range<u64>, piece: usize) -> UnitHeader {
        let (count, label) = ((span.end - span.start) as u32, Label::default());
        UnitHeader { span, count, piece, label, since: NOW.now, lifetime: None }
    }

    /// Returns after how many packets of `octets` octets a list leaves at once.
    fn packets(view: &View, octets: usize) -> u64 {
        let mut list = PeriodicList::new(MILLISECOND, 32).full(2);
        let (mut report, mut came) = (Report::default(), 0);
        while !list.report(view, &Receipts::default(), 100, &mut report) {
            list.on_received(view, &unit(came..came + 1, octets), octets, None);
            came += 1;
        }
        list.on_reported(view, &report);
        assert_eq!(report.held.first(), Some(&(0..came)));
        assert!(!list.report(view, &Receipts::default(), 100, &mut report), "it was said");
        came
    }

    #[test]
    fn few_full_packets_are_acknowledged_at_once_and_many_short_ones() {
        assert_eq!(
            [1000, 760, 740, 100, 64, 0].map(|octets| packets(&NOW, octets)),
            [2, 3, 3, 16, 24, 32]
        );
    }

    #[test]
    fn before_a_round_trip_was_measured_the_second_packet_is_acknowledged() {
        let rtt = Estimate { smoothed: 0, ..NOW.rtt };
        assert_eq!([1000, 64, 0].map(|octets| packets(&View { rtt, ..NOW }, octets)), [2, 2, 2]);
    }

    #[test]
    fn eight_reports_leave_in_a_round_trip_at_most_unless_something_is_missing() {
        let rtt = Estimate { smoothed: 40 * MILLISECOND, ..NOW.rtt };
        let at = |time: u64| View { now: NOW.now.later(time * MILLISECOND), rtt, ..NOW };
        let (mut list, mut receipts) = (PeriodicList::new(SECOND, 32).full(2), Receipts::new(0));
        let (mut report, mut reports) = (Report::default(), 0);
        // Ten packets a millisecond, for four round trips behind those that are reported at once.
        for number in 0..2048 + 1600 {
            let (view, span) = (at(1000 + number / 10), number..number + 1);
            list.on_received(&view, &unit(span.clone(), 1200), 1200, None);
            receipts.enter(&span);
            if list.report(&view, &receipts, 100, &mut report) {
                list.on_reported(&view, &report);
                reports += u64::from(number >= 2048);
            }
        }
        assert!((31..=33).contains(&reports), "{reports}");
        list.on_received(&at(1364), &unit(4001..4002, 1200), 1200, Some(4000..4001));
        assert!(list.report(&at(1364), &receipts, 100, &mut report), "something is missing");
    }

    #[test]
    fn the_first_number_alone_is_acknowledged_at_once() {
        let mut list = PeriodicList::new(MILLISECOND, 32).full(2).first_at_once();
        let (receipts, mut report) = (Receipts::default(), Report::default());
        list.on_received(&NOW, &unit(0..1, 64), 64, None);
        assert!(list.report(&NOW, &receipts, 100, &mut report));
        list.on_reported(&NOW, &report);
        list.on_received(&NOW, &unit(1..2, 64), 64, None);
        assert!(!list.report(&NOW, &receipts, 100, &mut report), "the next ones are gathered");
    }

    /// Reports that are lost in a row: where the sender waits twice as long each time, as many as
    /// are lost would take for ever.
    #[test]
    fn what_comes_again_and_again_is_reported_more_and_more_often() {
        let mut list = PeriodicList::new(SECOND, 32).ranges(true);
        let mut receipts = Receipts::new(0);
        receipts.enter(&(0..1));
        let mut view = View { received_upto: 1, ..NOW };
        let (mut report, mut reports) = (Report::default(), Vec::new());
        for _ in 0..7 {
            view.now = view.now.later(60 * SECOND);
            list.on_received(&view, &unit(0..1, 100), 100, None);
            list.on_again(&view, &(0..1));
            let mut times = 0;
            while list.deadline() != Instant::END {
                view.now = view.now.max(list.deadline());
                assert!(list.report(&view, &receipts, 100, &mut report));
                list.on_reported(&view, &report);
                times += 1;
            }
            reports.push(times);
        }
        assert_eq!(reports, [1, 2, 3, 5, 9, 17, 17]);
        view.received_upto = 2;
        list.on_received(&view, &unit(0..1, 100), 100, None);
        list.on_again(&view, &(0..1));
        list.on_reported(&view, &report);
        assert_eq!(list.deadline(), Instant::END, "something new has arrived since");
    }

    #[test]
    fn several_are_as_each_of_them() {
        for (count, piece, last) in [(1, 1000, 10), (2, 1000, 1000), (7, 1400, 1300), (40, 100, 1)]
        {
            let octets = (count as usize - 1) * piece + last;
            let fresh = || PeriodicList::new(MILLISECOND, 32).full(2);
            let (mut each, mut several) = (fresh(), fresh());
            each.on_received(&NOW, &unit(0..1, 50), 50, None);
            several.on_received(&NOW, &unit(0..1, 50), 50, None);
            for number in 1..=count {
                let octets = if number == count { last } else { piece };
                each.on_received(&NOW, &unit(number..number + 1, octets), octets, None);
            }
            several.on_received(&NOW, &unit(1..count + 1, piece), octets, None);
            assert_eq!(
                alloc::format!("{each:?}"),
                alloc::format!("{several:?}"),
                "{count} of {piece}"
            );
        }
    }

    fn one(span: Range<u64>) -> Vec<Range<u64>> {
        Vec::from_iter([span])
    }

    /// Has packets arrive, each number once or more, and returns what is reported then.
    fn reported(list: &mut PeriodicList, receipts: &mut Receipts, numbers: &[u64]) -> Report {
        for number in numbers {
            let (span, mut report) = (*number..number + 1, Report::default());
            let view = View { received_upto: receipts.upto(), ..NOW };
            list.on_received(&view, &unit(span.clone(), 100), 100, None);
            if !receipts.enter(&span) {
                list.on_again(&view, &span);
            }
            let is_due = list.report(&view, receipts, 20, &mut report);
            assert_eq!(is_due, !list.again.is_empty(), "{number}");
        }
        let mut report = Report::default();
        list.hurry(&NOW);
        assert!(list.report(&NOW, receipts, 20, &mut report));
        list.on_reported(&NOW, &report);
        assert_eq!(list.deadline(), Instant::END);
        report
    }

    #[test]
    fn each_report_tells_all_that_arrived_so_that_any_one_suffices() {
        let (mut list, mut receipts) =
            (PeriodicList::new(SECOND, 99).ranges(true), Receipts::new(0));
        assert_eq!(reported(&mut list, &mut receipts, &[0, 1, 3]).held, one(3..4));
        let report = reported(&mut list, &mut receipts, &[5, 8]);
        assert_eq!((report.upto, &report.held[..]), (2, &[3..4, 5..6, 8..9][..]));
        let report = reported(&mut list, &mut receipts, &[2]);
        assert_eq!((report.upto, &report.held[..]), (4, &[5..6, 8..9][..]));
        assert_eq!(report.again, []);
    }

    #[test]
    fn of_many_ranges_those_that_grew_and_the_highest_are_reported() {
        let (mut list, mut receipts) =
            (PeriodicList::new(SECOND, 999).ranges(true), Receipts::new(0));
        let odd = Vec::from_iter((1..200).step_by(2));
        let highest = Vec::from_iter(odd[92..].iter().map(|number| *number..number + 1));
        assert_eq!(
            reported(&mut list, &mut receipts, &odd).held.len(),
            20,
            "there is no more room"
        );
        let report = reported(&mut list, &mut receipts, &[10, 4, 12]);
        assert_eq!(report.held, [&[3..6, 9..14][..], &highest].concat());
    }

    #[test]
    fn what_arrives_again_is_reported_as_that_once() {
        let (mut list, mut receipts) =
            (PeriodicList::new(SECOND, 99).ranges(true), Receipts::new(0));
        let report = reported(&mut list, &mut receipts, &[0, 1, 0, 1, 5, 5]);
        assert_eq!((report.upto, &report.held), (2, &one(5..6)));
        assert_eq!(report.again, [0..2, 5..6]);
        assert_eq!(reported(&mut list, &mut receipts, &[6]).again, []);
    }

    #[test]
    fn where_the_format_names_no_ranges_numbers_are_listed_twice() {
        let (mut list, mut receipts) =
            (PeriodicList::new(SECOND, 99).ranges(true), Receipts::new(0));
        list.on_begun(false);
        assert_eq!(reported(&mut list, &mut receipts, &[0, 1]).held, one(0..2));
        assert_eq!(reported(&mut list, &mut receipts, &[2]).held, [2..3, 0..2]);
        let report = reported(&mut list, &mut receipts, &[3]);
        assert_eq!((report.upto, &report.held[..]), (0, &[3..4, 2..3][..]));
    }
}
