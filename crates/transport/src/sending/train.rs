//! Packets that left together, one behind the other, of which nothing was heard yet.
//!
//! ```text
//! units: each by itself            trains: what is known of one is known of all
//! ┌───┬───┬───┬───┐   ┌───────────────────┬──────────────┬─────
//! │ 7 │ 8 │ 9 │10 │   │ 11 12 13 14 15 16 │ 17 18 19 20  │ …       numbers rise
//! └───┴───┴───┴───┘   └───────────────────┴──────────────┴─────
//! ```
//!
//! As a rule they arrive in order, and are heard of in order: then a train leaves as it came, and nothing was done for each of its
//! packets. Where one of them has a fate of its own, the train is taken apart, with those before it.

use core::num::NonZeroU32;
use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_wire::{Message, Pool, Stretch};

use super::waiting::Waiting;
use super::{Acknowledged, Ahead, Left, Sending, Sent, State};
use crate::words::{Label, Numbering, Unit};

/// Pieces of a message that left together, or all that was left of it, and whole messages that were sent together with it. They follow
/// each other, in number and place.
#[derive(Debug)]
pub(super) struct Train<M> {
    /// What they are, and how many.
    pieces: Ahead,
    count: usize,
    /// Their octets, and behind them what of the message had not left when the train began.
    body: M,
    since: Instant,
    lifetime: Option<NonZeroU32>,
    at: Instant,
    /// How many packets had left before the first.
    order: u64,
    stamp: u32,
    /// As in [`Sent`]: of each message, if the last piece ends one.
    release: Option<usize>,
}

impl<M: Message> Train<M> {
    /// A packet that left alone.
    pub(super) fn of(sent: Sent<M>) -> Self {
        let Sent { unit: Unit { span, label, body, since, lifetime }, at, order, stamp, release, .. } = sent;
        let pieces = Ahead::new(span.start, label, body.len(), body.len());
        Train { pieces, count: 1, body, since, lifetime, at, order, stamp, release }
    }

    /// What they are.
    pub(super) fn pieces(&self) -> &Ahead {
        &self.pieces
    }

    /// The number of the first.
    #[inline]
    fn first(&self) -> u64 {
        self.pieces.span().start
    }

    /// The first of them, by itself; none of an empty train.
    fn take_first(&mut self) -> Option<Sent<M>> {
        if self.count == 0 {
            return None;
        }
        let (span, label, octets) = (self.pieces.span(), *self.pieces.label(), self.pieces.octets(1));
        // What of its message has not left is behind it.
        let release = self.release.filter(|_| label.last);
        let label = Label { last: release.is_some(), ..label };
        let body = self.body.split_to(octets);
        let unit = Unit { span, label, body, since: self.since, lifetime: self.lifetime };
        let (at, order, stamp) = (self.at, self.order, self.stamp);
        self.pass(1);
        Some(Sent { unit, at, order, times: 1, stamp, in_parts: false, release, state: State::InFlight })
    }

    /// So many of the first are not among them any more.
    fn pass(&mut self, count: usize) {
        self.pieces = self.pieces.behind(count);
        self.order += count as u64;
        self.count -= count;
    }
}

impl<M: Message> Sending<M> {
    /// The pieces of the message that waits first, and of those that were sent together with it; `None` where there is none, or something else leaves before it.
    #[inline]
    pub(crate) fn ahead(&self) -> Option<Ahead> {
        if self.lost_units > 0 || self.units.len() > self.sent {
            return None;
        }
        Some(self.waiting.front()?.ahead(self.sent_upto))
    }

    /// The octets and the pieces of several messages that were sent together, if they are what leaves next and nothing of the first has left.
    #[inline]
    pub(crate) fn together(&self) -> Option<(u64, u64)> {
        let ahead = self.waiting.front()?.together()?;
        let pieces = ahead.pieces();
        Some((ahead.octets(pieces) as u64, pieces as u64))
    }

    /// The same, with what may be written before them: nothing where the messages do not lie so, or somebody else holds them.
    #[inline]
    pub(crate) fn stretches(&mut self) -> impl Iterator<Item = Stretch<'_>> {
        self.waiting.front_mut().into_iter().flat_map(Waiting::stretches)
    }

    /// Since when that message waits, and for how long it is of use.
    #[inline]
    pub(crate) fn next_wish(&self) -> (Instant, Option<NonZeroU32>) {
        self.first_waiting().unwrap_or((Instant::START, None))
    }

    /// It leaves in a run: its octets are written. `follows`: it is a piece of the same message as the one before it in that run.
    /// Whether it could be.
    #[inline]
    pub(crate) fn board(
        &mut self,
        label: Label,
        into: &mut [u8],
        follows: bool,
        now: Instant,
        stamp: u32,
    ) -> bool {
        let Some(waiting) = self.waiting.front_mut() else { return false };
        if waiting.copy_next(into) < into.len() {
            return false;
        }
        let octets = into.len();
        if !follows {
            let (body, piece, since, lifetime) = waiting.rest();
            self.trains.push_back(Train {
                pieces: Ahead::new(self.sent_upto, label, piece, 0),
                count: 0,
                body,
                since,
                lifetime,
                at: now,
                order: self.orders,
                stamp,
                release: None,
            });
        }
        let Some(train) = self.trains.back_mut() else { return false };
        train.count += 1;
        train.pieces.grow(octets);
        if let Some(waiting) = self.waiting.front_mut() {
            train.release = waiting.pass(1, octets);
        }
        if train.release.is_some() {
            self.waiting.pop_front();
        }
        self.orders += 1;
        self.sent_upto += 1;
        self.in_flight += octets as u64;
        self.waiting_octets -= octets;
        true
    }

    /// The next `count` pieces leave with what was [written before them](Sending::stretches), and so many octets before the first: the packets
    /// as they lie.
    #[inline]
    pub(crate) fn board_together(
        &mut self,
        count: usize,
        before: usize,
        now: Instant,
        stamp: u32,
    ) -> Option<M> {
        let packets = self.waiting.front()?.with_gaps(before, count)?;
        let mut left = count;
        while left > 0 {
            left -= self.board_messages(left, now, stamp)?;
        }
        Some(packets)
    }

    /// The next pieces, so many at most: some of the message that waits first, or all that are left of it, and of whole messages that were
    /// sent together with it. Gives how many.
    #[inline]
    fn board_messages(&mut self, most: usize, now: Instant, stamp: u32) -> Option<usize> {
        let waiting = self.waiting.front_mut()?;
        let pieces = waiting.ahead(self.sent_upto).until(most);
        let (count, octets) = (pieces.pieces(), pieces.all());
        let (body, since, lifetime, release) = if octets < waiting.left {
            let (body, _, since, lifetime) = waiting.rest();
            waiting.pass(count as u32, octets);
            (body, since, lifetime, None)
        } else {
            let whole = match waiting.split_to(pieces.more()) {
                Some(whole) => whole,
                None => self.waiting.pop_front()?,
            };
            whole.into_rest()
        };
        self.trains.push_back(Train {
            pieces,
            count,
            body,
            since,
            lifetime,
            at: now,
            order: self.orders,
            stamp,
            release,
        });
        self.orders += count as u64;
        self.sent_upto += count as u64;
        self.in_flight += octets as u64;
        self.waiting_octets -= octets;
        Some(count)
    }

    /// Nothing more leaves in this run: the last train lets go of what it does not carry.
    pub(crate) fn depart(&mut self) {
        if let Some(train) = self.trains.back_mut() {
            train.body.truncate(train.pieces.all());
        }
    }

    /// Those before `number` become units, so that each may have a fate of its own.
    #[cold]
    #[inline(never)]
    pub(super) fn take_apart(&mut self, number: u64) {
        // One that has its number, and has not left, comes behind them.
        let numbered = if self.units.len() > self.sent { self.units.pop_back() } else { None };
        while let Some(train) = self.trains.front_mut()
            && train.first() < number
        {
            while let Some(sent) = train.take_first() {
                self.left.push_back(Left { at: sent.at, order: sent.order, number: sent.unit.span.start });
                self.units.push_back(sent);
                self.sent += 1;
            }
            self.trains.pop_front();
        }
        self.units.extend(numbered);
        // What was sent again left before them, between them, or after them.
        self.left.make_contiguous().sort_by_key(|left| left.order);
    }

    /// All numbers before `end` have arrived, and no unit is in flight: they are the first of the trains.
    #[inline]
    pub(super) fn acknowledge_trains(&mut self, end: u64, pool: &Pool<M>, sum: &mut Acknowledged) {
        while let Some(train) = self.trains.front_mut()
            && train.first() < end
        {
            let (pieces, release) = (train.pieces, train.release);
            let count = train.count.min((end - train.first()) as usize);
            let octets = pieces.octets(count);
            sum.octets += octets as u64;
            sum.units += count as u64;
            sum.longest = sum.longest.max(pieces.octets(1));
            sum.newest = sum.newest.max(Some(train.at));
            sum.surely = sum.surely.max(sum.newest);
            self.heard_order = self.heard_order.max(train.order + count as u64 - 1);
            self.settled_upto = train.first() + count as u64;
            self.in_flight -= octets as u64;
            let messages = if count < train.count {
                train.body.advance(octets);
                train.pass(count);
                pieces.more() - train.pieces.more()
            } else {
                if let Some(train) = self.trains.pop_front() {
                    train.body.reclaim(pool);
                }
                pieces.more() + 1
            };
            if let Some(octets) = release {
                (0..messages).for_each(|_| self.release(octets));
            }
        }
    }

    /// Of the packets that left together: when the first one did of which nothing was heard, and its order and number.
    #[inline]
    pub(super) fn oldest_train(&self) -> Option<Left> {
        let train = self.trains.front()?;
        Some(Left { at: train.at, order: train.order, number: train.first() })
    }

    /// Whether some of `span` left in trains.
    #[inline]
    pub(super) fn is_in_trains(&self, span: &Range<u64>) -> bool {
        self.trains.front().is_some_and(|train| train.first() < span.end)
    }

    /// Whether packets of this kind can leave in trains: each has a number.
    pub(super) fn has_trains(&self) -> bool {
        self.numbering == Numbering::Packets
    }

    /// What left by itself behind trains is one of them. Gives its octets.
    #[inline(never)]
    pub(super) fn follow_trains(&mut self) -> &mut M {
        let sent = self.units.pop_back().expect("the last one has just left");
        self.trains.push_back(Train::of(sent));
        &mut self.trains.back_mut().expect("it was just put there").body
    }
}
