//! What happens to units when it is heard of them.

use core::num::NonZeroU32;
use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_wire::{Message, Pool};

use super::{Sending, State};

/// What a report newly acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acknowledged {
    /// In octets.
    pub octets: u64,
    /// In units.
    pub units: u64,
    /// The octets of the longest of them that left whole, the last time.
    pub longest: usize,
    /// Whether one of them left in parts, the last time.
    pub in_parts: bool,
    /// When the newest of those left that were sent once: of the others nobody knows which copy was heard of.
    pub newest: Option<Instant>,
    /// When the newest of the others left.
    pub repeated: Option<Instant>,
    /// When the newest of all left of which it is known that this copy was heard of.
    pub surely: Option<Instant>,
}

impl Acknowledged {
    /// When the newest of those left that were sent once, where that measures the way: what left before something that was
    /// sent again may have been heard of only with that.
    pub fn measured(&self) -> Option<Instant> {
        self.newest.filter(|newest| self.repeated.is_none_or(|repeated| *newest > repeated))
    }
}

impl<M: Message> Sending<M> {
    /// Nobody will hear of it again: it was acknowledged, or it expired, or it is never repeated.
    pub(crate) fn settle(&mut self, place: usize, pool: &Pool<M>) {
        self.close(place);
        self.forget_done(pool);
    }

    #[inline]
    fn close(&mut self, place: usize) {
        let sent = &mut self.units[place];
        match sent.state {
            State::InFlight => self.in_flight -= sent.unit.body.len() as u64,
            State::Lost => self.lost_units -= 1,
            State::Numbered | State::Done => return,
        }
        sent.state = State::Done;
        if let Some(octets) = sent.release.take() {
            self.release(octets);
        }
    }

    /// Those before the first of which something will be heard.
    #[inline]
    fn forget_done(&mut self, pool: &Pool<M>) {
        while self.sent > 0 && self.units[0].state == State::Done {
            if let Some(done) = self.units.pop_front() {
                self.settled_upto = done.unit.span.end; // where the next one begins
                done.unit.body.reclaim(pool);
            }
            self.sent -= 1;
        }
    }

    /// The units that lie in `span` have arrived. What was sent again later than `copies` was not heard of in this copy.
    #[inline]
    pub(crate) fn acknowledge(
        &mut self,
        span: Range<u64>,
        copies: Instant,
        pool: &Pool<M>,
        sum: &mut Acknowledged,
    ) {
        if self.is_in_trains(&span) {
            if self.sent == 0 && span.start <= self.settled_upto {
                return self.acknowledge_trains(span.end, pool, sum);
            }
            self.take_apart(span.end);
        }
        let (mut newest, mut longest) = (None, 0);
        for place in self.place(span.start)..self.sent {
            let sent = &self.units[place];
            if sent.unit.span.end > span.end {
                break;
            }
            if sent.state == State::Done || sent.unit.span.start < span.start {
                continue;
            }
            let octets = sent.unit.body.len();
            sum.octets += octets as u64;
            sum.units += 1;
            if sent.in_parts {
                sum.in_parts = true;
            } else {
                longest = longest.max(octets);
            }
            if sent.times == 1 {
                newest = Some(newest.map_or(sent.at, |newest: Instant| newest.max(sent.at)));
                self.heard_order = self.heard_order.max(sent.order);
            } else {
                sum.repeated = sum.repeated.max(Some(sent.at));
                if sent.at <= copies {
                    sum.surely = sum.surely.max(Some(sent.at));
                    self.heard_order = self.heard_order.max(sent.order);
                }
            }
            self.close(place);
        }
        sum.newest = sum.newest.max(newest);
        sum.surely = sum.surely.max(newest);
        sum.longest = sum.longest.max(longest);
        self.forget_done(pool);
    }

    /// What leaves next: since when it waits, and for how long it is of use.
    #[inline]
    pub(crate) fn first_wish(&mut self) -> Option<(Instant, Option<NonZeroU32>)> {
        let place = if self.lost_units > 0 {
            self.surface();
            self.lost.front().map(|number| self.place(*number))
        } else {
            (self.sent < self.units.len()).then_some(self.sent)
        };
        match place {
            Some(place) => {
                let unit = &self.units[place].unit;
                Some((unit.since, unit.lifetime))
            }
            None => self.first_waiting(),
        }
    }

    /// What leaves next is of no use any more. What never left gives its number to another.
    #[cold]
    pub(crate) fn drop_first(&mut self, pool: &Pool<M>) {
        if self.lost_units > 0 {
            self.surface();
            if let Some(number) = self.lost.pop_front() {
                self.settle(self.place(number), pool);
            }
        } else if self.sent < self.units.len()
            && let Some(sent) = self.units.pop_back()
        {
            if let Some(octets) = sent.release {
                self.release(octets);
            }
            sent.unit.body.reclaim(pool);
        } else {
            self.drop_waiting(pool);
        }
    }
}
