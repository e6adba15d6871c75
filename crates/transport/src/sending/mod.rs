//! What was sent, what waits to be, and what is believed to be lost. A mechanism: it judges nothing.
//!
//! ```text
//! send ─▸ waiting ─▸ (cut, numbered) ─▸ in flight ─▸ settled
//!                                         │   ▴
//!                                         ▼   │
//!                                         lost
//! ```
//!
//! What left together stands in `train.rs`, as long as nothing is known of one packet that is not known of all.

mod ahead;
mod numbers;
mod settle;
mod train;
mod waiting;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_contract::services::Room;
use stackwright_wire::{Message, Pool};

use crate::words::{Numbering, Unit};
use numbers::Numbers;
use train::Train;
use waiting::Waiting;

pub(crate) use ahead::Ahead;
pub use settle::Acknowledged;

/// Where a unit stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// It has its number and has not left yet. At most one unit is in this state: the last.
    Numbered,
    InFlight,
    Lost,
    /// Nobody will hear of it again.
    Done,
}

/// A unit that was sent.
#[derive(Debug)]
pub struct Sent<M> {
    /// What.
    pub unit: Unit<M>,
    /// When last.
    pub at: Instant,
    /// How many packets had left before it, the last time.
    pub order: u64,
    /// How often.
    pub times: u16,
    /// The first question that covers it.
    pub stamp: u32,
    /// Whether it left in parts, the last time.
    pub in_parts: bool,
    /// What the layer above gets back when this last piece of a message is settled: the message's octets.
    release: Option<usize>,
    state: State,
}

/// A packet that left, in the order in which they did.
#[derive(Clone, Copy, Debug)]
struct Left {
    at: Instant,
    order: u64,
    number: u64,
}

/// Units in the order of their numbers, and messages that wait to become units.
#[derive(Debug)]
pub struct Sending<M> {
    numbering: Numbering,
    waiting: VecDeque<Waiting<M>>,
    /// Their octets.
    waiting_octets: usize,
    units: VecDeque<Sent<M>>,
    /// How many of `units` have left; one more may be numbered.
    sent: usize,
    /// What left behind all of those, together.
    trains: VecDeque<Train<M>>,
    sent_upto: u64,
    settled_upto: u64,
    in_flight: u64,
    /// Numbers of lost units, rising; some are settled by now. The lowest leaves first: for it there is always room, whereas for
    /// one that lies higher the receiver may have to take others first.
    lost: VecDeque<u64>,
    lost_units: usize,
    left: VecDeque<Left>,
    /// How many packets with a unit have left.
    orders: u64,
    /// After how many packets the newest one left of which it was heard.
    heard_order: u64,
    released: Room,
    /// The octets of messages that were begun and overtaken, or more; and how many there may be.
    overtaken: usize,
    overtaken_most: usize,
    /// Where an application chooses numbers.
    numbers: Option<Box<Numbers<M>>>,
}

impl<M: Message> Sending<M> {
    /// Nothing was sent; the first number will be `first`.
    pub fn new(numbering: Numbering, first: u64) -> Self {
        Sending {
            numbering,
            waiting: VecDeque::new(),
            waiting_octets: 0,
            units: VecDeque::new(),
            sent: 0,
            trains: VecDeque::new(),
            sent_upto: first,
            settled_upto: first,
            in_flight: 0,
            lost: VecDeque::new(),
            lost_units: 0,
            left: VecDeque::new(),
            orders: 0,
            heard_order: 0,
            released: Room::default(),
            overtaken: 0,
            overtaken_most: usize::MAX,
            numbers: None,
        }
    }

    /// Messages that were begun and are overtaken may have so many octets together.
    pub(crate) fn limit_overtaken(&mut self, most: usize) {
        self.overtaken_most = most;
    }

    /// Octets that were sent and of which nothing was heard.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Nothing that was sent is unheard of.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.sent == 0 && self.trains.is_empty()
    }

    /// Nothing waits to be sent, again or for the first time.
    #[inline]
    pub fn is_drained(&self) -> bool {
        self.lost_units == 0 && self.units.len() == self.sent && self.waiting.is_empty()
    }

    /// Whether several packets wait, and nothing that has its number leaves before them.
    #[inline]
    pub(crate) fn has_several(&self) -> bool {
        self.has_trains()
            && self.lost_units == 0
            && self.units.len() == self.sent
            && (self.waiting.len() > 1 || self.waiting.front().and_then(Waiting::second_octets).is_some())
    }

    /// Whether something that was lost leaves next.
    #[inline]
    pub(crate) fn is_losing(&self) -> bool {
        self.lost_units > 0
    }

    /// The number after the last one sent.
    #[inline]
    pub fn sent_upto(&self) -> u64 {
        self.sent_upto
    }

    /// The first number that was sent and of which nothing was heard.
    #[inline]
    pub fn settled_upto(&self) -> u64 {
        self.settled_upto
    }

    /// Whether it holds no memory: it never had a message, or has given all back.
    #[inline]
    pub(crate) fn is_bare(&self) -> bool {
        self.waiting.capacity() == 0
    }

    /// Takes memory for one message, where queues that grow would begin with four: most associations never have more on its way.
    #[cold]
    #[inline(never)]
    pub(crate) fn furnish(&mut self) {
        self.waiting.reserve_exact(1);
        self.units.reserve_exact(1);
        self.left.reserve_exact(1);
    }

    /// Nothing is in flight, and nothing waits: memory is given back.
    pub(crate) fn shrink(&mut self) {
        // Of what these still name, everything was heard.
        self.lost.clear();
        self.left.clear();
        self.waiting.shrink_to_fit();
        self.units.shrink_to_fit();
        self.trains.shrink_to_fit();
        self.lost.shrink_to_fit();
        self.left.shrink_to_fit();
    }

    /// Whether the layer above may send something again.
    #[inline]
    pub(crate) fn has_released(&self) -> bool {
        self.released != Room::default()
    }

    /// What the layer above may send again for what was settled since this was asked last.
    pub fn released(&mut self) -> Room {
        core::mem::take(&mut self.released)
    }

    /// A message of so many octets is done with.
    pub(crate) fn release(&mut self, octets: usize) {
        self.released.octets += octets;
        self.released.messages += 1;
    }

    /// The unit at a place that this mechanism gave.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> &Sent<M> {
        &self.units[place]
    }

    #[inline]
    pub(crate) fn numbers(&self, octets: usize) -> u64 {
        match self.numbering {
            Numbering::Octets => octets as u64,
            Numbering::Packets => 1,
        }
    }

    /// Where the unit is that has `number`, or the first one beyond it.
    #[inline]
    fn place(&self, number: u64) -> usize {
        let Some(first) = self.units.front() else { return 0 };
        let Some(ahead) = number.checked_sub(first.unit.span.start) else { return 0 };
        match self.numbering {
            Numbering::Packets => usize::try_from(ahead).unwrap_or(usize::MAX).min(self.units.len()),
            Numbering::Octets => self.units.partition_point(|sent| sent.unit.span.end <= number),
        }
    }

    /// Forgets those that were lost and are settled: then the first one is lost indeed.
    fn surface(&mut self) {
        while let Some(number) = self.lost.front() {
            let place = self.place(*number);
            if place < self.sent && self.units[place].state == State::Lost {
                return;
            }
            self.lost.pop_front();
        }
    }

    /// What could leave next: octets, and the number after its last one. What was lost comes first.
    #[inline]
    pub fn first(&mut self) -> Option<(usize, u64)> {
        if self.lost_units > 0 {
            self.surface();
            let unit = &self.units[self.place(*self.lost.front()?)].unit;
            return Some((unit.body.len(), unit.span.end));
        }
        if let Some(numbered) = self.units.get(self.sent) {
            return Some((numbered.unit.body.len(), numbered.unit.span.end));
        }
        let octets = self.waiting.front()?.next_octets();
        Some((octets, self.sent_upto + self.numbers(octets)))
    }

    /// What could follow it.
    pub fn second(&self) -> Option<(usize, u64)> {
        let fresh = |octets: usize, upto: u64| Some((octets, upto + self.numbers(octets)));
        let first = || self.waiting.front().map(Waiting::next_octets);
        if self.lost_units > 1 {
            return Some((1, 0)); // it had its number before; nothing is shorter
        }
        let numbered = self.units.get(self.sent);
        match (self.lost_units, numbered) {
            (0, Some(numbered)) => fresh(first()?, numbered.unit.span.end),
            (0, None) => {
                let second = self.waiting.front()?.second_octets();
                let second = second.or_else(|| self.waiting.get(1).map(Waiting::next_octets))?;
                fresh(second, self.sent_upto + self.numbers(first()?))
            }
            (_, Some(numbered)) => Some((numbered.unit.body.len(), numbered.unit.span.end)),
            (_, None) => fresh(first()?, self.sent_upto),
        }
    }

    /// The place of what leaves next; `kept`: it will be heard of. A fresh one gets its number now, and not before: what expires or is
    /// overtaken while it waits leaves no hole.
    #[inline]
    pub(crate) fn take_first(&mut self, pool: &Pool<M>, headroom: usize, kept: bool) -> Option<usize> {
        if self.lost_units > 0 {
            self.surface();
            return self.lost.front().map(|number| self.place(*number));
        }
        if !kept && !self.trains.is_empty() {
            self.take_apart(self.sent_upto); // among them it would be heard of
        }
        if self.units.len() == self.sent {
            self.cut(pool, headroom)?;
        }
        Some(self.sent)
    }

    /// It leaves. `kept`: it will be heard of; else it is to be settled. Gives its octets.
    #[inline]
    pub(crate) fn on_sent(&mut self, place: usize, now: Instant, stamp: u32, kept: bool) -> &mut M {
        let order = self.orders;
        self.orders += 1;
        let sent = &mut self.units[place];
        let fresh = sent.state != State::Lost;
        if fresh {
            self.sent_upto = sent.unit.span.end;
        } else {
            self.lost.pop_front();
            self.lost_units -= 1;
        }
        (sent.at, sent.order, sent.stamp, sent.state) = (now, order, stamp, State::InFlight);
        sent.in_parts = false;
        sent.times = sent.times.saturating_add(1);
        self.in_flight += sent.unit.body.len() as u64;
        if fresh && kept && !self.trains.is_empty() {
            return self.follow_trains();
        }
        self.sent += usize::from(fresh);
        let number = self.units[place].unit.span.start;
        if kept {
            // Where nobody asks for the oldest, nothing else takes them away.
            if self.left.len() > 2 * self.units.len() {
                self.forget_left();
            }
            self.left.push_back(Left { at: now, order, number });
        }
        &mut self.units[place].unit.body
    }

    /// The unit that just left did so in parts.
    #[cold]
    pub(crate) fn on_sent_in_parts(&mut self, place: usize) {
        if let Some(sent) = self.units.get_mut(place) {
            sent.in_parts = true;
        }
    }

    /// Those of `span` that are in flight and that `is_lost` says are lost. Gives their octets.
    pub fn judge(&mut self, span: Range<u64>, is_lost: impl Fn(&Sent<M>) -> bool) -> u64 {
        let mut octets = 0;
        if self.is_in_trains(&span) {
            self.take_apart(span.end);
        }
        for place in self.place(span.start)..self.sent {
            let sent = &self.units[place];
            if sent.unit.span.start >= span.end {
                break;
            }
            if sent.state == State::InFlight && is_lost(sent) {
                octets += self.lose(place);
            }
        }
        octets
    }

    /// It is believed to be lost. Gives its octets.
    fn lose(&mut self, place: usize) -> u64 {
        let sent = &mut self.units[place];
        let octets = sent.unit.body.len() as u64;
        sent.state = State::Lost;
        self.in_flight -= octets;
        let number = sent.unit.span.start;
        let place = if self.lost.back().is_none_or(|last| *last <= number) {
            self.lost.len()
        } else {
            self.lost.partition_point(|other| *other <= number)
        };
        self.lost.insert(place, number);
        self.lost_units += 1;
        octets
    }

    /// The place of what left so, where nothing was heard of it since.
    #[inline]
    fn out(&self, left: &Left) -> Option<usize> {
        let place = self.place(left.number);
        let sent = self.units.get(place).filter(|_| place < self.sent)?;
        (sent.state == State::InFlight && sent.order == left.order).then_some(place)
    }

    fn forget_left(&mut self) {
        let mut left = core::mem::take(&mut self.left);
        left.retain(|left| self.out(left).is_some());
        self.left = left;
    }

    /// The first packet that left by itself and of which nothing was heard, in the order in which they left.
    fn oldest_unit(&mut self) -> Option<Left> {
        while let Some(left) = self.left.front() {
            if self.out(left).is_some() {
                return Some(*left);
            }
            self.left.pop_front();
        }
        None
    }

    /// The first packet that left and of which nothing was heard, in the order in which they left.
    #[inline]
    fn oldest(&mut self) -> Option<Left> {
        let (unit, train) = (self.oldest_unit(), self.oldest_train());
        match (unit, train) {
            (Some(unit), Some(train)) => Some(if unit.order < train.order { unit } else { train }),
            (unit, train) => unit.or(train),
        }
    }

    /// When the first one left of which nothing was heard.
    pub fn oldest_at(&mut self) -> Option<Instant> {
        self.oldest().map(|left| left.at)
    }

    /// Where it is, if it is a unit; and if not, it becomes one.
    fn place_of(&mut self, left: &Left) -> Option<usize> {
        if self.is_in_trains(&(left.number..left.number + 1)) {
            self.take_apart(left.number + 1);
        }
        self.out(left)
    }

    /// The first of which nothing was heard, if it left at `before` or earlier.
    pub(crate) fn overdue(&mut self, before: Instant) -> Option<usize> {
        let oldest = self.oldest().filter(|left| left.at <= before)?;
        self.place_of(&oldest)
    }

    /// Of `place`, nothing was heard for too long. Gives its octets.
    pub(crate) fn give_up_waiting(&mut self, place: usize) -> u64 {
        self.left.pop_front();
        self.lose(place)
    }

    /// Those are lost after which `tolerance` packets or more have left of which it was heard; and that left before `before`.
    /// Gives their octets.
    pub(crate) fn lose_overtaken(&mut self, tolerance: u64, before: Option<Instant>) -> u64 {
        let mut octets = 0;
        while let Some(left) = self.oldest()
            && (left.order + tolerance <= self.heard_order || before.is_some_and(|before| left.at < before))
            && let Some(place) = self.place_of(&left)
        {
            self.left.pop_front();
            octets += self.lose(place);
        }
        octets
    }

    /// The last one in flight is sent once more: whatever is heard of it tells about all before it.
    pub(crate) fn probe(&mut self) -> bool {
        if !self.trains.is_empty() {
            self.take_apart(self.sent_upto);
        }
        let newest = self.units.range(..self.sent).rposition(|sent| sent.state == State::InFlight);
        newest.map(|place| self.lose(place)).is_some()
    }
}
