//! What a receiver reports that may drop it again (RFC 2018 §8): it is neither in flight nor lost,
//! and stays in the queue until all before it has arrived.

use core::ops::Range;

use stackwright_wire::Message;

use super::acknowledge::Tally;
use super::{Cause, SentQueue, Settling, State};
use crate::receipts::Receipts;

impl<M: Message> SentQueue<M> {
    /// Records that numbers in `span` are reported, which were sent. Packets all of whose numbers
    /// are reported by now count as acknowledged, but are kept.
    pub(crate) fn hold(&mut self, span: &Range<u64>, settling: &mut Settling<'_, M>) {
        self.held.skip_to(self.settled_upto());
        // Each report names what others named before: only what is new is looked at.
        while self.held.has_room(span)
            && let Some(new) = self.held.enter_first(span.clone())
        {
            let start = self.held_from(new.start);
            self.hold_packets(start..self.held.hole_from(start).start, new.end, settling);
        }
    }

    /// Returns the first number of the packet that has `number`, or `number` where an earlier one
    /// of it is not held.
    fn held_from(&self, number: u64) -> u64 {
        let Some(range) = self.ranges.get(self.find(number)) else { return number };
        let before = range.packets_before(number, self.numbering);
        let start = range.number(before, self.numbering).min(number);
        if self.held.holds(&(start..number)) { start } else { number }
    }

    /// Holds the packets that lie wholly in `span` and begin before `upto`.
    fn hold_packets(&mut self, span: Range<u64>, upto: u64, settling: &mut Settling<'_, M>) {
        let mut tally = Tally::new(self.numbering);
        let mut at = self.find(span.start);
        while let Some(range) = self.ranges.get(at).filter(|range| range.numbers.start < upto) {
            let from = range.packets_begun(span.start, self.numbering);
            let to = range.packets_before(span.end, self.numbering);
            if range.state != State::Held && from < to {
                let mut pieces = range.payload.pieces;
                if from > 0 {
                    pieces = pieces.skip(from);
                }
                let octets = pieces.octets(to - from);
                tally.count(range, (&pieces, from, to - from), octets, settling);
                if from > 0 {
                    self.split(at, from);
                    at += 1;
                }
                self.split(at, to - from);
                self.ranges[at].state = State::Held;
            }
            at += 1;
        }
        self.sum_up(&tally, settling);
    }

    /// Records that the receiver expects the number `upto` next. Where that is of a
    /// packet that was held, it was dropped again, and so may be all that is held: it is lost.
    #[inline]
    pub(crate) fn expect(&mut self, upto: u64) {
        let is_gone = |front: &super::SentRange<M>| {
            front.state == State::Held && front.numbers.contains(&upto)
        };
        if self.ranges.front().is_some_and(is_gone) {
            self.lose_held();
        }
    }

    #[cold]
    fn lose_held(&mut self) {
        for range in self.ranges.iter_mut().filter(|range| range.state == State::Held) {
            // What arrives of it tells nothing of the path.
            range.state = State::Lost(Cause::Probes);
            self.lost_packets += range.count;
        }
        self.held = Receipts::new(self.settled_upto());
        self.lost.clear();
        self.lost.push_back(self.settled_upto()..self.sent_upto);
    }
}
