//! Packets are taken for lost: by what a report says, by order and time of transmission, or by a
//! timeout. A loss is a change of state of a range, or of a part of it that is split off first.

use alloc::vec::Vec;
use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_wire::Message;

use super::{Cause, SentQueue, State, Transmission};

/// What a loss judge is given of packets that a report makes suspect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suspect {
    /// Their numbers. Each of the packets has numbers in the span that is judged.
    pub span: Range<u64>,
    /// The number of their transmissions.
    pub times: u16,
    /// The first inquiry that covers them.
    pub stamp: u32,
    /// When they last left.
    pub sent_at: Instant,
}

/// How many spans of lost packets are remembered until they are known to have arrived. Where there
/// are more, nothing is undone.
const DOUBTED_MOST: usize = 256;

/// What was taken for lost since an episode of loss began, and is not known to have arrived all the
/// same. Where all of it has, the episode was none (RFC 3708, RFC 4015).
#[derive(Debug)]
pub(super) struct Doubted {
    spans: Vec<Range<u64>>,
    /// The episode is over when all before this number is settled.
    upto: u64,
    /// Whether it began with a timeout, and not because packets were overtaken.
    timed_out: bool,
}

impl Doubted {
    pub(super) const fn new() -> Self {
        Doubted { spans: Vec::new(), upto: 0, timed_out: false }
    }

    /// Ends the episode.
    pub(super) fn forget(&mut self) {
        *self = Doubted::new();
    }

    /// Adds packets, and begins an episode where all before `settled` is settled.
    fn add(&mut self, numbers: &Range<u64>, settled: u64, sent_upto: u64) {
        if settled >= self.upto {
            (self.upto, self.timed_out) = (sent_upto, false);
            self.spans.clear();
        }
        let spans = self.spans.len();
        match self.spans.last_mut() {
            Some(last) if last.end == numbers.start => last.end = numbers.end,
            // One more than is remembered is never known to have arrived.
            _ if spans <= DOUBTED_MOST => self.spans.push(numbers.clone()),
            _ => {}
        }
    }

    /// Records that packets have arrived. Returns whether some of them were doubted.
    fn remove(&mut self, numbers: &Range<u64>) -> bool {
        let (mut at, mut found) = (0, false);
        if self.spans.len() > DOUBTED_MOST {
            return false;
        }
        while let Some(span) = self.spans.get_mut(at) {
            let (before, after) = (span.start..numbers.start, numbers.end..span.end);
            if before.end >= span.end || after.start <= span.start {
                at += 1;
                continue;
            }
            found = true;
            match (before.is_empty(), after.is_empty()) {
                (true, true) => drop(self.spans.swap_remove(at)),
                (true, false) => *span = after,
                (false, is_last) => {
                    *span = before;
                    if !is_last {
                        self.spans.push(after);
                    }
                }
            }
        }
        found
    }
}

/// What is known of packets that were taken for lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Proven {
    /// Whether packets that others had overtaken were late.
    pub(crate) late: bool,
    /// Whether all that was lost since an episode of loss began has arrived.
    pub(crate) all: bool,
}

impl<M: Message> SentQueue<M> {
    /// Records that packets were received once more, or were received though they had been taken
    /// for lost.
    #[cold]
    pub(crate) fn prove(&mut self, spans: &[Range<u64>]) -> Proven {
        let doubted = &mut self.doubted;
        let found = spans.iter().filter(|span| doubted.remove(span)).count() > 0;
        let proven =
            Proven { late: found && !doubted.timed_out, all: found && doubted.spans.is_empty() };
        if proven.all {
            doubted.forget();
        }
        proven
    }

    /// Judges all packets in flight that have numbers in `span`, once per range. Returns the octets
    /// of those that are lost. All before `settled` was settled when the report came.
    pub(crate) fn judge(
        &mut self,
        span: Range<u64>,
        settled: u64,
        is_lost: impl Fn(&Suspect) -> bool,
    ) -> u64 {
        let (mut at, mut octets) = (self.find(span.start), 0);
        while let Some(range) = self.ranges.get(at).filter(|range| range.numbers.start < span.end) {
            let from = range.packets_before(span.start, self.numbering);
            let to = range.packets_begun(span.end, self.numbering);
            let numbers = range.number(from, self.numbering)..range.number(to, self.numbering);
            let (times, stamp, sent_at) = (range.times, range.inquiry_number, range.sent_at);
            if range.state == State::InFlight
                && from < to
                && is_lost(&Suspect { span: numbers, times, stamp, sent_at })
            {
                if from > 0 {
                    self.split(at, from);
                    at += 1;
                }
                octets += self.lose_overtaken_at(at, to - from, settled);
            }
            at += 1;
        }
        octets
    }

    /// Loses the packets that were sent `tolerance` packets or more before the newest acknowledged
    /// one, or before it, and before `before` (RFC 9002 §6.1, RFC 8985 §6.2). Returns their
    /// octets.
    pub(crate) fn lose_overtaken(
        &mut self,
        tolerance: u64,
        before: Option<Instant>,
        settled: u64,
    ) -> u64 {
        let mut octets = 0;
        while let Some(at) = self.oldest_below(self.acknowledged_order) {
            let range = &self.ranges[at];
            let overtaken =
                (self.acknowledged_order + 1).saturating_sub(tolerance.saturating_add(range.order));
            let count = match before {
                Some(before) if range.sent_at < before => range.count,
                _ => range.count.min(usize::try_from(overtaken).unwrap_or(usize::MAX)),
            };
            if count == 0 {
                break;
            }
            octets += self.lose_overtaken_at(at, count, settled);
        }
        octets
    }

    /// Loses what is in flight for a guess alone, of what was sent before `before`. Returns its
    /// octets.
    #[cold]
    pub(crate) fn lose_restored(&mut self, before: Instant, settled: u64) -> u64 {
        let mut octets = 0;
        while let Some(at) = self.oldest_below(self.restored_order)
            && self.ranges[at].sent_at < before
        {
            octets += self.lose_overtaken_at(at, self.ranges[at].count, settled);
        }
        octets
    }

    fn lose_overtaken_at(&mut self, at: usize, count: usize, settled: u64) -> u64 {
        let octets = self.lose(at, count, Cause::Overtaken);
        self.doubted.add(&self.ranges[at].numbers, settled, self.sent_upto);
        octets
    }

    /// Loses all packets in flight, for no other reason than a timeout.
    pub(crate) fn lose_all(&mut self) {
        self.doubted.forget();
        for range in self.ranges.iter_mut().filter(|range| range.state == State::InFlight) {
            range.state = State::Lost(Cause::TimedOut);
            self.lost_packets += range.count;
            self.doubted.add(&range.numbers, 0, self.sent_upto);
        }
        (self.doubted.upto, self.doubted.timed_out) = (self.sent_upto, true);
        self.in_flight = 0;
        self.transmissions.clear();
        self.lost.clear();
        self.lost.push_back(self.settled_upto()..self.sent_upto);
    }

    /// Takes the packets for in flight again that only a timeout had lost, and that have not left
    /// since. Returns when the first of them left. It is no more than a guess: they are lost when
    /// nothing is reported for a while. What left once more in vain has overtaken none of them: its
    /// first copy arrived.
    pub(crate) fn restore(&mut self) -> Option<Instant> {
        let (mut transmissions, mut first) = (Vec::new(), None);
        self.doubted.forget();
        self.lost.clear();
        for range in &mut self.ranges {
            if range.state == State::Lost(Cause::TimedOut) {
                range.state = State::InFlight;
                self.lost_packets -= range.count;
                self.in_flight += range.payload.body.len() as u64;
                self.restored_order = self.restored_order.max(range.order + range.count as u64);
                self.acknowledged_order = self.acknowledged_order.min(range.order);
                first = Some(first.map_or(range.sent_at, |at: Instant| at.min(range.sent_at)));
            }
            let (numbers, count) = (range.numbers.clone(), range.count as u64);
            if range.state == State::InFlight {
                let orders = range.order..range.order + count;
                transmissions.push(Transmission { numbers, orders });
            } else if range.state != State::Held {
                self.lost.push_back(numbers);
            }
        }
        transmissions.sort_unstable_by_key(|transmission| transmission.orders.start);
        self.transmissions = transmissions.into();
        first
    }

    /// Returns the index of the range in flight that was sent first, if it has a lower order.
    fn oldest_below(&mut self, order: u64) -> Option<usize> {
        self.oldest().filter(|at| self.ranges[*at].order < order)
    }

    /// Returns when the oldest packet in flight was sent, if one that was sent later was
    /// acknowledged.
    pub(crate) fn overtaken_at(&mut self) -> Option<Instant> {
        self.oldest_below(self.acknowledged_order).map(|at| self.ranges[at].sent_at)
    }

    /// Returns when the oldest packet in flight was sent, if it is in flight for a guess alone: it
    /// was [restored](Self::restore), and none that left later is known to have arrived.
    pub(crate) fn restored_at(&mut self) -> Option<Instant> {
        if self.restored_order <= self.acknowledged_order {
            return None;
        }
        self.oldest_below(self.restored_order).map(|at| self.ranges[at].sent_at)
    }

    /// Returns when the oldest packet in flight was sent.
    pub(crate) fn oldest_at(&mut self) -> Option<Instant> {
        self.oldest().map(|at| self.ranges[at].sent_at)
    }

    /// Has the highest packet in flight sent again: its acknowledgement covers all before it.
    pub(crate) fn probe(&mut self) -> bool {
        let Some(mut at) = self.ranges.iter().rposition(|range| range.state == State::InFlight)
        else {
            return false;
        };
        let count = self.ranges[at].count;
        if count > 1 {
            self.split(at, count - 1);
            at += 1;
        }
        self.lose(at, 1, Cause::Probes);
        true
    }

    /// Loses the first `count` packets of a range in flight. Returns their octets.
    fn lose(&mut self, at: usize, count: usize, cause: Cause) -> u64 {
        self.split(at, count);
        let range = &mut self.ranges[at];
        range.state = State::Lost(cause);
        let (octets, numbers) = (range.payload.body.len() as u64, range.numbers.clone());
        self.in_flight -= octets;
        self.lost_packets += count;
        match self.lost.back_mut() {
            Some(last) if last.end == numbers.start => last.end = numbers.end,
            Some(last) if last.end > numbers.start => {
                let place = self.lost.partition_point(|span| span.start < numbers.start);
                self.lost.insert(place, numbers);
            }
            _ => self.lost.push_back(numbers),
        }
        octets
    }

    /// Returns the index of the range in flight that was sent first.
    fn oldest(&mut self) -> Option<usize> {
        while let Some(front) = self.transmissions.front() {
            let (start, end, orders) = (front.numbers.start, front.numbers.end, &front.orders);
            let at = self.find(start);
            match self.ranges.get(at).filter(|range| range.numbers.start < end) {
                Some(range) if range.state == State::InFlight && orders.contains(&range.order) => {
                    return Some(at);
                }
                Some(range) if range.numbers.end < end => {
                    self.transmissions[0].numbers.start = range.numbers.end;
                }
                _ => drop(self.transmissions.pop_front()),
            }
        }
        None
    }

    /// Drops transmissions of which nothing is in flight.
    #[cold]
    pub(super) fn forget_transmissions(&mut self) {
        let mut transmissions = core::mem::take(&mut self.transmissions);
        transmissions.retain(|Transmission { numbers, orders }| {
            let ranges = self.ranges.range(self.find(numbers.start)..);
            ranges
                .take_while(|range| range.numbers.start < numbers.end)
                .any(|range| range.state == State::InFlight && orders.contains(&range.order))
        });
        self.transmissions = transmissions;
    }
}
