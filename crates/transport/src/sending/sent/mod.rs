//! The retransmit queue: ranges of packets that were sent and are not acknowledged.
//!
//! ```text
//! ranges       ┌──────────────────┬──┬────────────┬───┬───────────────────┐   by number; gaps are
//!              │ 11 … 54          │61│ 62 … 98    │107│ 108 … 151         │   acknowledged
//!              └──────────────────┴──┴────────────┴───┴───────────────────┘
//! lost                             61              107                        spans, lowest first
//! transmissions  11…151 (but 61, 107), 61                                     in the order sent
//! ```
//!
//! A burst is one range as long as its packets share a fate. An acknowledgement or a loss splits a
//! range at most at two places, and settled packets leave the queue at once. So the queue grows
//! with the number of holes, not with the number of packets. This is Linux's retransmit queue,
//! where an skb of several segments is split when a SACK demands it (`tcp_match_skb_to_sack`).

mod acknowledge;
mod hold;
mod loss;
#[cfg(test)]
mod tests;

use alloc::collections::VecDeque;
use core::cell::Cell;
use core::mem;
use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_wire::Message;

pub use acknowledge::Acknowledged;
pub(crate) use acknowledge::Settling;
use loss::Doubted;
#[cfg(test)]
use loss::Proven;
pub use loss::Suspect;

use super::Leaving;
use super::pieces::Pieces;
use super::waiting::Payload;
use crate::receipts::Receipts;
use crate::words::Numbering;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    InFlight,
    /// The lowest is sent again first: the receiver always has memory for it, whereas for a higher
    /// one it may have to take others first.
    Lost(Cause),
    /// The receiver reported it, and may drop it again.
    Held,
}

/// Why a packet counts as lost. If an earlier copy arrives all the same, that tells of what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cause {
    /// A packet that left later has arrived: they were reordered.
    Overtaken,
    /// A timeout expired, and nothing else tells: it was spurious (F-RTO, RFC 5682 §3).
    TimedOut,
    /// It probes the tail: nothing.
    Probes,
}

/// Consecutive packets that were sent at one moment and have the same state.
#[derive(Debug)]
pub(crate) struct SentRange<M> {
    /// Numbers of all packets.
    pub(crate) numbers: Range<u64>,
    /// Packets.
    pub(crate) count: usize,
    /// Transmissions of this range.
    times: u16,
    state: State,
    /// Whether it left in parts, the last time: then it is one packet.
    in_parts: bool,
    /// Why it was sent again, the last time.
    cause: Option<Cause>,
    /// The first inquiry that covers it.
    inquiry_number: u32,
    /// When it was last sent.
    sent_at: Instant,
    /// Packets that had been sent before its first one, at the last transmission.
    order: u64,
    /// The body holds these packets alone; the pieces describe what was behind them, too.
    pub(crate) payload: Payload<M>,
}

impl<M: Message> SentRange<M> {
    /// Returns the number of packet `index`.
    #[inline]
    pub(super) fn number(&self, index: usize, numbering: Numbering) -> u64 {
        self.numbers.start + self.payload.pieces.numbers(index, numbering)
    }

    /// Returns how many packets lie wholly before `number`.
    #[inline]
    fn packets_before(&self, number: u64, numbering: Numbering) -> usize {
        if number >= self.numbers.end {
            return self.count;
        }
        let ahead = number.saturating_sub(self.numbers.start) as usize; // less than there are
        match numbering {
            Numbering::Packets => ahead,
            Numbering::Octets => self.payload.pieces.whole(ahead),
        }
    }

    /// Returns how many packets begin before `number`.
    #[inline]
    fn packets_begun(&self, number: u64, numbering: Numbering) -> usize {
        let whole = self.packets_before(number, numbering);
        whole + usize::from(whole < self.count && self.number(whole, numbering) < number)
    }

    /// Returns whether it was abandoned: then it is one packet, without octets.
    pub(super) fn is_abandoned(&self) -> bool {
        self.payload.pieces.label().is_abandoned()
    }

    /// Keeps the first `count` packets.
    fn truncate(&mut self, count: usize, numbering: Numbering) {
        self.numbers.end = self.number(count, numbering);
        self.payload.body.truncate(self.payload.pieces.octets(count));
        self.count = count;
    }

    /// Drops the first `count` packets.
    fn skip(&mut self, count: usize, numbering: Numbering) {
        let octets = self.payload.pieces.octets(count);
        self.payload.body.advance(octets);
        self.pass(count, numbering);
        self.payload.pieces = self.payload.pieces.skip(count);
    }

    /// Splits the first `count` packets off.
    fn split_to(&mut self, count: usize, numbering: Numbering) -> Self {
        let numbers = self.numbers.start..self.number(count, numbering);
        let order = self.order;
        self.pass(count, numbering);
        let octets = self.payload.pieces.octets(count);
        SentRange { numbers, count, order, payload: self.payload.split_to(count, octets), ..*self }
    }

    fn pass(&mut self, count: usize, numbering: Numbering) {
        self.numbers.start = self.number(count, numbering);
        self.count -= count;
        self.order += count as u64;
    }
}

/// Packets that were sent one after the other. Never split: packets that were acknowledged or sent
/// again since are skipped when it is read.
#[derive(Clone, Debug)]
struct Transmission {
    numbers: Range<u64>,
    orders: Range<u64>,
}

/// The packets that were sent and are not settled.
#[derive(Debug)]
pub(crate) struct SentQueue<M> {
    numbering: Numbering,
    ranges: VecDeque<SentRange<M>>,
    /// Spans in which ranges were lost, rising. The state of the ranges decides.
    lost: VecDeque<Range<u64>>,
    lost_packets: usize,
    transmissions: VecDeque<Transmission>,
    /// Packets that were sent, retransmissions included.
    orders: u64,
    /// The highest order that was acknowledged.
    acknowledged_order: u64,
    /// The order behind those that a timeout had lost in vain: a packet below it is overtaken by
    /// time, though nothing that left later has arrived.
    restored_order: u64,
    doubted: Doubted,
    /// The numbers that were reported and are kept: reports repeat them.
    held: Receipts,
    in_flight: u64,
    sent_upto: u64,
    /// What [`find`](Self::find) found last.
    near: Cell<usize>,
}

impl<M: Message> SentQueue<M> {
    /// Creates a queue whose first number will be `first`.
    pub(super) const fn new(numbering: Numbering, first: u64) -> Self {
        SentQueue {
            numbering,
            ranges: VecDeque::new(),
            lost: VecDeque::new(),
            lost_packets: 0,
            transmissions: VecDeque::new(),
            orders: 0,
            acknowledged_order: 0,
            restored_order: 0,
            doubted: Doubted::new(),
            held: Receipts::new(first),
            in_flight: 0,
            sent_upto: first,
            near: Cell::new(0),
        }
    }

    #[inline]
    pub(crate) fn numbering(&self) -> Numbering {
        self.numbering
    }

    /// Returns the octets in flight: sent, and neither acknowledged nor lost.
    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Returns the highest order that was acknowledged.
    pub(crate) fn acknowledged_order(&self) -> u64 {
        self.acknowledged_order
    }

    /// Returns the number after the last one sent.
    #[inline]
    pub(crate) fn sent_upto(&self) -> u64 {
        self.sent_upto
    }

    /// Returns the lowest number that was sent and is not settled.
    #[inline]
    pub(crate) fn settled_upto(&self) -> u64 {
        self.ranges.front().map_or(self.sent_upto, |range| range.numbers.start)
    }

    /// Returns the number of packets that are lost and wait to be sent again.
    #[inline]
    pub(crate) fn lost_packets(&self) -> usize {
        self.lost_packets
    }

    /// Returns whether everything that was sent is settled.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Allocates memory for one range.
    pub(super) fn furnish(&mut self) {
        self.ranges.reserve_exact(1);
        self.transmissions.reserve_exact(1);
    }

    /// Frees memory when everything is settled.
    pub(super) fn shrink(&mut self) {
        self.lost.clear();
        self.transmissions.clear();
        self.doubted.forget();
        self.held = Receipts::new(self.sent_upto);
        self.ranges.shrink_to_fit();
        self.lost.shrink_to_fit();
        self.transmissions.shrink_to_fit();
    }

    /// Records that the first `count` pieces of `payload`, which are all that its body holds, are
    /// sent for the first time. Returns them.
    #[inline(always)] // a message is not moved to get there
    pub(super) fn push(
        &mut self,
        payload: Payload<M>,
        count: usize,
        leaving: &Leaving,
    ) -> &mut SentRange<M> {
        // Field by field they stay in registers.
        let Payload { pieces, body, since, lifetime, epoch, credit } = payload;
        let start = self.sent_upto;
        let numbers = start..start + pieces.numbers(count, self.numbering);
        debug_assert!(!numbers.is_empty(), "a packet has at least one number");
        self.sent_upto = numbers.end;
        self.in_flight += body.len() as u64;
        let order = self.transmit(&numbers, count);
        let (times, state, sent_at) = (1, State::InFlight, leaving.now);
        let Leaving { inquiry_number, in_parts, .. } = *leaving;
        self.ranges.push_back_mut(SentRange {
            numbers,
            count,
            times,
            state,
            in_parts,
            cause: None,
            inquiry_number,
            sent_at,
            order,
            payload: Payload { pieces, body, since, lifetime, epoch, credit },
        })
    }

    /// Returns the lowest range that is lost. It is sent again with [`resend`](Self::resend).
    pub(super) fn first_lost(&mut self) -> Option<&SentRange<M>> {
        let at = self.surface()?;
        self.ranges.get(at)
    }

    /// Abandons the first lost packet, if it left `times` times or more: its octets leave no more,
    /// and are returned with its piece. What tells the peer so leaves instead, until it is
    /// acknowledged.
    #[cold]
    pub(super) fn abandon_first(&mut self, times: u16) -> Option<(&Pieces, M)> {
        let at = self.surface()?;
        let range = &self.ranges[at];
        if range.is_abandoned() || range.times < times {
            return None;
        }
        self.split(at, 1);
        let range = &mut self.ranges[at];
        range.payload.pieces.abandon();
        Some((&range.payload.pieces, range.payload.body.take()))
    }

    /// Records that the first `count` packets of the [first lost range](Self::first_lost) are sent
    /// again. Returns them.
    pub(super) fn resend(&mut self, count: usize, leaving: &Leaving) -> Option<&mut SentRange<M>> {
        let at = self.surface()?;
        self.split(at, count);
        let numbers = self.ranges[at].numbers.clone();
        let order = self.transmit(&numbers, count);
        let range = &mut self.ranges[at];
        (range.sent_at, range.order) = (leaving.now, order);
        (range.inquiry_number, range.in_parts) = (leaving.inquiry_number, leaving.in_parts);
        range.times = range.times.saturating_add(1);
        if let State::Lost(cause) = mem::replace(&mut range.state, State::InFlight) {
            range.cause = Some(cause);
        }
        self.in_flight += range.payload.body.len() as u64;
        self.lost_packets -= count;
        if let Some(span) = self.lost.front_mut() {
            span.start = numbers.end;
        }
        Some(range)
    }

    /// Returns the index of the first range that ends behind `number`. It checks the front first,
    /// and the range that it found last: the next number is usually near. Otherwise it takes O(log
    /// n).
    #[inline]
    fn find(&self, number: u64) -> usize {
        let ends = |at: usize| self.ranges.get(at).is_none_or(|range| range.numbers.end > number);
        if ends(0) {
            return 0;
        }
        let near = self.near.get();
        let is_behind = near > 0 && near <= self.ranges.len() && !ends(near - 1);
        if is_behind && let Some(at) = (near..near + 3).find(|at| ends(*at)) {
            self.near.set(at);
            return at;
        }
        let at = self.ranges.partition_point(|range| range.numbers.end <= number);
        self.near.set(at);
        at
    }

    /// Splits a range behind its first `count` packets, if it has more.
    fn split(&mut self, at: usize, count: usize) {
        let range = &mut self.ranges[at];
        if count < range.count {
            let before = range.split_to(count, self.numbering);
            self.ranges.insert(at, before);
        }
    }

    /// Appends to the transmissions; returns the order of the first packet.
    #[inline(always)] // as `push`
    fn transmit(&mut self, numbers: &Range<u64>, count: usize) -> u64 {
        let order = self.orders;
        self.orders += count as u64;
        match self.transmissions.back_mut() {
            // The usual case: what is sent follows what was sent before.
            Some(last) if last.numbers.end == numbers.start && last.orders.end == order => {
                (last.numbers.end, last.orders.end) = (numbers.end, self.orders);
            }
            _ => self.enter(Transmission { numbers: numbers.clone(), orders: order..self.orders }),
        }
        order
    }

    #[inline(never)]
    fn enter(&mut self, transmission: Transmission) {
        // If the oldest is never requested, nothing else removes them.
        if self.transmissions.len() > 2 * self.ranges.len() + 16 {
            self.forget_transmissions();
        }
        self.transmissions.push_back(transmission);
    }

    /// Drops the spans of `lost` that are settled; returns the index of the first lost range.
    fn surface(&mut self) -> Option<usize> {
        while let Some(span) = self.lost.front() {
            let (start, end) = (span.start, span.end);
            let at = self.find(start);
            match self.ranges.get(at).filter(|range| range.numbers.start < end) {
                Some(range) if matches!(range.state, State::Lost(_)) => return Some(at),
                Some(range) if range.numbers.end < end => self.lost[0].start = range.numbers.end,
                _ => drop(self.lost.pop_front()),
            }
        }
        None
    }

    /// Returns whether a number that was sent is settled.
    pub(super) fn is_settled(&self, number: u64) -> bool {
        self.ranges.get(self.find(number)).is_none_or(|range| range.numbers.start > number)
    }

    /// Returns what is not settled: the pieces of each range, and how many of them there are.
    pub(super) fn unsettled(&self) -> impl Iterator<Item = (&Pieces, usize)> {
        self.ranges.iter().map(|range| (&range.payload.pieces, range.count))
    }

    /// Removes the range that begins with `number`: it will not be acknowledged. Also returns its
    /// number of packets.
    pub(super) fn take(&mut self, number: u64) -> Option<(Payload<M>, usize)> {
        let at = self.find(number);
        let SentRange { state, payload, count, .. } = self.ranges.remove(at)?;
        match state {
            State::InFlight => self.in_flight -= payload.body.len() as u64,
            State::Lost(_) => self.lost_packets -= count,
            State::Held => {}
        }
        Some((payload, count))
    }
}
