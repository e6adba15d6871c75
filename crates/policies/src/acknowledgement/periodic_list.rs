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
mod tests;
