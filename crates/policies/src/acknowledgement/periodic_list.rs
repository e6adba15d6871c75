//! The number of every packet, gathered for some time.

use alloc::vec::Vec;
use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_transport::slots::Acknowledgement;
use stackwright_transport::words::{MILLISECOND, Nanoseconds, Report, UnitHeader, View};
use stackwright_transport::{Receipts, component};

/// How many spans are reported once more: a list that is lost would cost retransmissions.
const REPEATED_MOST: usize = 4;

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
/// §1.4.5). The last list is repeated once where there is room, since it may be lost.
///
/// A list leaves a quarter of a round trip after the first number it holds, but not sooner than a
/// millisecond (an exchange on a fast path is not acknowledged packet by packet) and at most
/// `every` after it; and at once where numbers are missing before the newest, where it has `most`
/// numbers, where [as many full packets](PeriodicList::full) could have held what it lists, or
/// where the sender waits for credit. Before a round trip was measured, it leaves with the second
/// number.
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
    /// Whether the first number is listed at once, and nothing was listed yet.
    is_first: bool,
    /// Whether the next list is to name all that arrived before it.
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
            news: Vec::new(),
            numbers: 0,
            octets: 0,
            longest: FULL_LEAST,
            enough: usize::MAX,
            said: Vec::new(),
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

    /// Makes a report due although nothing new arrived: it repeats the last number that did.
    fn remind(&mut self, view: &View, receipts: &Receipts) {
        if self.news.is_empty() && receipts.highest() > 0 {
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

impl Acknowledgement for PeriodicList {
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
        let is_measured = view.rtt.smoothed > 0;
        let most = if is_measured { self.most } else { self.most.min(UNMEASURED_MOST) };
        // What is missing is sent again the sooner (RFC 5681 §4.2).
        let is_enough = self.numbers >= most || self.octets >= self.enough;
        if is_enough || gap.is_some() || self.is_first {
            self.at = view.now;
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
        if self.at > view.now || self.news.is_empty() {
            return false;
        }
        into.clear();
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
        let mut said =
            report.held.iter().map(|span| span.end - span.start).sum::<u64>().min(self.numbers);
        self.numbers -= said;
        self.octets = 0;
        (self.all, self.is_first) = (false, false);
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
    use stackwright_transport::words::{Estimate, Label};

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
    fn the_first_number_alone_is_acknowledged_at_once() {
        let mut list = PeriodicList::new(MILLISECOND, 32).full(2).first_at_once();
        let (receipts, mut report) = (Receipts::default(), Report::default());
        list.on_received(&NOW, &unit(0..1, 64), 64, None);
        assert!(list.report(&NOW, &receipts, 100, &mut report));
        list.on_reported(&NOW, &report);
        list.on_received(&NOW, &unit(1..2, 64), 64, None);
        assert!(!list.report(&NOW, &receipts, 100, &mut report), "the next ones are gathered");
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
}
