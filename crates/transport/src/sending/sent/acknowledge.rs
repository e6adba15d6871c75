//! Packets are acknowledged: they leave the queue.

use alloc::vec::Vec;
use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_wire::{Message, Pool};

use super::{Cause, SentQueue, SentRange, State};
use crate::sending::messages::Messages;
use crate::sending::pieces::Pieces;
use crate::sending::waiting::Payload;
use crate::words::Numbering;

/// What a report newly acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Acknowledged {
    /// In octets.
    pub octets: u64,
    /// In units.
    pub units: u64,
    /// The octets of the longest of them that left whole, the last time, or was abandoned since.
    pub longest: usize,
    /// Whether one of them left in parts, the last time.
    pub in_parts: bool,
    /// Whether a copy arrived of one of them that had been found lost because others overtook it:
    /// they were reordered.
    pub late: bool,
    /// The same of one that was lost by a timeout: that was spurious.
    pub doubtful: bool,
    /// When the oldest packet left that was sent once and arrived after one that had left later.
    pub overtaken: Option<Instant>,
    /// When the newest packet left that was sent once.
    pub newest: Option<Instant>,
    /// When the newest packet left that was sent more than once: which copy arrived is unknown.
    pub repeated: Option<Instant>,
    /// When the newest packet left of which this copy is known to have arrived.
    pub surely: Option<Instant>,
}

impl Acknowledged {
    /// Returns when the newest packet left that was sent once, where that measures the path: what
    /// left before something that was sent again may have been acknowledged only with that.
    pub fn measured(&self) -> Option<Instant> {
        self.newest.filter(|newest| self.repeated.is_none_or(|repeated| *newest > repeated))
    }

    /// Records that a packet arrived after one that had left later.
    #[cold]
    fn on_overtaken(&mut self, sent_at: Instant) {
        self.overtaken = Some(self.overtaken.unwrap_or(sent_at).min(sent_at));
    }
}

/// The context of an acknowledgement beside the queue.
pub(crate) struct Settling<'a, M: Message> {
    /// Packets that were sent again after this: their last copy may not be the one that arrived.
    pub(crate) copies: Instant,
    /// Packets that were sent again after this: their last copy cannot be the one that arrived.
    pub(crate) too_soon: Instant,
    /// The highest order that was acknowledged before. What a report names first, and left last,
    /// has overtaken nothing that the same report names.
    pub(crate) highest: u64,
    pub(crate) messages: &'a mut Messages,
    pub(crate) pool: &'a Pool<M>,
    pub(crate) sum: &'a mut Acknowledged,
    /// The numbers of packets that are known to have arrived though they had been taken for lost.
    pub(crate) again: &'a mut Vec<Range<u64>>,
}

/// The acknowledged packets of ranges in rising order.
pub(super) struct Tally {
    numbering: Numbering,
    octets: u64,
    units: u64,
    /// What of them had been taken for lost.
    lost_octets: u64,
    lost: usize,
    /// When the newest packet left that was sent once.
    newest: Option<Instant>,
    /// The highest order of which it is known that this copy arrived.
    order: u64,
}

impl Tally {
    pub(super) const fn new(numbering: Numbering) -> Self {
        Tally { numbering, octets: 0, units: 0, lost_octets: 0, lost: 0, newest: None, order: 0 }
    }

    /// Accounts for `count` packets of a range, which are the first of `pieces`, behind `skipped`
    /// others.
    #[inline(always)] // for each range
    fn add<M: Message>(
        &mut self,
        range: &SentRange<M>,
        (pieces, skipped, count): (&Pieces, usize, usize),
        octets: usize,
        settling: &mut Settling<'_, M>,
    ) {
        settling.messages.settle(pieces, count, range.payload.credit);
        self.count(range, (pieces, skipped, count), octets, settling);
    }

    /// Accounts for packets as [`add`](Self::add) does, and does not settle them.
    #[inline(always)] // as `add`
    pub(super) fn count<M: Message>(
        &mut self,
        range: &SentRange<M>,
        (pieces, skipped, count): (&Pieces, usize, usize),
        octets: usize,
        settling: &mut Settling<'_, M>,
    ) {
        self.octets += octets as u64;
        self.units += count as u64;
        if range.in_parts {
            settling.sum.in_parts = true;
        } else {
            settling.sum.longest = settling.sum.longest.max(pieces.longest(count));
        }
        let order = range.order + (skipped + count) as u64 - 1;
        if range.times == 1 && range.state == State::InFlight {
            if range.order + (skipped as u64) < settling.highest {
                settling.sum.on_overtaken(range.sent_at);
            }
            self.newest = Some(range.sent_at); // numbers and times rise together
            self.order = self.order.max(order);
        } else {
            self.add_doubted(range, (skipped, count), octets, order, settling);
        }
    }

    /// Accounts for packets of a range that was taken for lost, or sent again.
    #[inline(never)]
    fn add_doubted<M: Message>(
        &mut self,
        range: &SentRange<M>,
        (skipped, count): (usize, usize),
        octets: usize,
        order: u64,
        settling: &mut Settling<'_, M>,
    ) {
        let (sum, sent_at) = (&mut *settling.sum, Some(range.sent_at));
        if range.state == State::Held {
            // That was accounted for when it was reported.
            (self.octets, self.units) = (self.octets - octets as u64, self.units - count as u64);
            return;
        }
        let arrived = match range.state {
            State::Lost(cause) => {
                self.lost_octets += octets as u64;
                self.lost += count;
                Some(cause)
            }
            // A part takes less time than the packets of which the minimum RTT is known.
            State::InFlight if range.in_parts => None,
            _ => range.cause.filter(|_| range.sent_at > settling.too_soon),
        };
        if arrived.is_some_and(|cause| cause != Cause::Probes) {
            let number = |index| range.number(index, self.numbering);
            settling.again.push(number(skipped)..number(skipped + count));
        }
        sum.late |= arrived == Some(Cause::Overtaken);
        sum.doubtful |= arrived == Some(Cause::TimedOut);
        if range.times == 1 {
            if range.order + (skipped as u64) < settling.highest {
                sum.on_overtaken(range.sent_at);
            }
            self.newest = sent_at;
        } else {
            sum.repeated = sum.repeated.max(sent_at);
            if range.sent_at > settling.copies {
                return;
            }
            sum.surely = sum.surely.max(sent_at);
        }
        self.order = self.order.max(order);
    }
}

impl<M: Message> SentQueue<M> {
    /// Settles the packets that lie wholly in `span`.
    #[inline]
    pub(crate) fn acknowledge(&mut self, span: Range<u64>, settling: &mut Settling<'_, M>) {
        let mut tally = Tally::new(self.numbering);
        let mut first = self.find(span.start);
        if self.ranges.get(first).is_some_and(|range| range.numbers.start < span.start) {
            self.acknowledge_within(first, &span, &mut tally, settling);
            first += 1;
        }
        let mut end = first;
        for range in self.ranges.range(first..) {
            if range.numbers.end > span.end {
                break;
            }
            let Payload { pieces, body, .. } = &range.payload;
            tally.add(range, (pieces, 0, range.count), body.len(), settling);
            end += 1;
        }
        self.remove(first..end, settling.pool);
        if let Some(range) = self.ranges.get(first).filter(|range| range.numbers.start < span.end) {
            let (pieces, count) =
                (&range.payload.pieces, range.packets_before(span.end, self.numbering));
            if count > 0 {
                tally.add(range, (pieces, 0, count), pieces.octets(count), settling);
                self.ranges[first].skip(count, self.numbering);
            }
        }
        self.sum_up(&tally, settling);
    }

    /// Adds what was accounted for to the sum of the report.
    #[inline(always)] // as `acknowledge`
    pub(super) fn sum_up(&mut self, tally: &Tally, settling: &mut Settling<'_, M>) {
        self.in_flight -= tally.octets - tally.lost_octets;
        self.lost_packets -= tally.lost;
        self.acknowledged_order = self.acknowledged_order.max(tally.order);
        let sum = &mut *settling.sum;
        sum.octets += tally.octets;
        sum.units += tally.units;
        sum.newest = sum.newest.max(tally.newest);
        sum.surely = sum.surely.max(tally.newest);
    }

    /// Settles the packets of a range that lie in `span`, which begins behind its first packet.
    fn acknowledge_within(
        &mut self,
        at: usize,
        span: &Range<u64>,
        tally: &mut Tally,
        settling: &mut Settling<'_, M>,
    ) {
        let range = &self.ranges[at];
        let from = range.packets_begun(span.start, self.numbering);
        let to = range.packets_before(span.end, self.numbering);
        if from >= to {
            return;
        }
        let (pieces, count) = (range.payload.pieces.skip(from), to - from);
        tally.add(range, (&pieces, from, count), pieces.octets(count), settling);
        self.split(at, to);
        self.ranges[at].truncate(from, self.numbering);
    }

    #[inline]
    fn remove(&mut self, places: Range<usize>, pool: &Pool<M>) {
        if places.start == 0 {
            for _ in places {
                if let Some(range) = self.ranges.pop_front() {
                    range.payload.body.reclaim(pool);
                }
            }
        } else if !places.is_empty() {
            self.ranges.drain(places).for_each(|range| range.payload.body.reclaim(pool));
        }
    }
}
