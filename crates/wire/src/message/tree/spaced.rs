//! Octets of one block with gaps between them: the bodies of packets that lie there one behind the other.
//!
//! ```text
//!  before start  end       gap   part           last_gap  last   lead   first
//! ├─ ─ ─ ─┼───────┼─ ─ ─ ─ ─┼─────────┼─ ─ ─ ─ ─┼─ ─ ─ ─ ─ ─┼──────┼─ ─ ─ ─┼───────┼─ ─
//!                          └──── `more` of them follow it ─────────┘       └ `messages` like it follow
//! ```

mod parts;

use alloc::boxed::Box;
use core::ops::Range;

use triomphe::Arc;

use super::Unshared;
use super::slice::Slice;
use crate::message::{Ends, Layout, Strides};
pub(super) use parts::{MessagesMut, Parts, PartsMut, Stretches};

/// Parts of a block. However many they are, nothing is allocated for them.
#[derive(Clone, Debug)]
pub(super) struct Spaced {
    block: Arc<Box<[u8]>>,
    places: Places,
}

/// Where they lie. A block is shorter than 4 GiB, and a part or a gap than 64 KiB.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Places {
    /// What may be written before the first part that is left. That is not empty.
    before: u32,
    start: u32,
    end: u32,
    /// How many of its message follow it.
    more: u16,
    /// What stands before each of them, and how many octets it has, but for the last.
    gap: u16,
    part: u16,
    last_gap: u16,
    last: u16,
    /// How many messages follow that one, what stands before each of them, how many octets its first part has, and how many parts follow
    /// that.
    messages: u16,
    lead: u16,
    first: u16,
    count: u16,
}

impl Places {
    /// Those of the octets `first`, of which there are some, and of the `parts` that lie behind it in so many octets; `None` where one has
    /// none, and where this is not enough for them.
    #[inline]
    pub(super) fn of(first: Range<usize>, parts: &Strides, there: usize) -> Option<Self> {
        let last = parts.last(there)?;
        let start = u32::try_from(first.start).ok()?;
        let places = Places {
            before: start,
            start,
            end: u32::try_from(first.end).ok().filter(|end| *end > start)?,
            more: u16::try_from(parts.count).ok()?,
            gap: u16::try_from(parts.skip).ok()?,
            part: u16::try_from(parts.stride.checked_sub(parts.skip)?).ok()?,
            last_gap: u16::try_from(parts.skip_last).ok()?,
            last: u16::try_from(last).ok()?,
            ..Places::default()
        };
        let all = u64::from(places.end) + u64::from(places.more) * parts.stride as u64;
        u32::try_from(all).is_ok().then_some(places)
    }

    /// Those of messages that are laid out; as there.
    pub(super) fn laid_out(layout: &Layout) -> Option<Self> {
        let Layout { first, parts, end, messages, gap } = layout;
        u32::try_from(layout.all_end()?).ok()?;
        let one = Self::of(first.clone(), parts, end.checked_sub(first.end)?)?;
        Some(Places {
            messages: u16::try_from(messages.checked_sub(1)?).ok()?,
            lead: u16::try_from(*gap).ok()?,
            first: u16::try_from(first.len()).ok()?,
            count: one.more,
            ..one
        })
    }

    /// How many octets the parts have that are left of the first message.
    #[inline]
    fn octets_of_first(&self) -> usize {
        let behind = self.octets_behind(self.more);
        (self.end - self.start) as usize + behind
    }

    /// Those of the last `more` parts of a message, of which one at least stands before them.
    #[inline]
    fn octets_behind(&self, more: u16) -> usize {
        more.checked_sub(1)
            .map_or(0, |parts| usize::from(parts) * usize::from(self.part) + usize::from(self.last))
    }

    /// How many octets all parts have.
    #[inline]
    pub(super) fn octets(&self) -> usize {
        let each = usize::from(self.first) + self.octets_behind(self.count);
        self.octets_of_first() + usize::from(self.messages) * each
    }

    /// Whether each message has so many octets: the first is whole, too.
    fn are_alike(&self, octets: usize) -> bool {
        self.octets_of_first() == octets && self.octets() == octets * (usize::from(self.messages) + 1)
    }

    /// Where the first message ends.
    #[inline]
    fn end_of_first(&self) -> u32 {
        let Some(between) = self.more.checked_sub(1) else { return self.end };
        let between = u32::from(between) * (u32::from(self.gap) + u32::from(self.part));
        self.end + between + u32::from(self.last_gap) + u32::from(self.last)
    }

    /// The place after the first one.
    #[inline]
    fn pass(&mut self) -> bool {
        let (gap, part) = match self.more {
            0 => return self.pass_message(),
            1 => (self.last_gap, self.last),
            _ => (self.gap, self.part),
        };
        self.more -= 1;
        self.step(gap, part);
        true
    }

    #[inline]
    fn step(&mut self, gap: u16, part: u16) {
        self.before = gap.into();
        self.start = self.end + self.before;
        self.end = self.start + u32::from(part);
    }

    /// The first place of the next message, from any place of this one.
    #[inline]
    fn pass_message(&mut self) -> bool {
        let Some(messages) = self.messages.checked_sub(1) else { return false };
        self.end = self.end_of_first();
        (self.messages, self.more) = (messages, self.count);
        self.step(self.lead, self.first);
        true
    }

    /// Whether it is the last one.
    #[inline]
    fn is_last(&self) -> bool {
        self.more == 0 && self.messages == 0
    }

    /// The part that so many are before, as the first.
    #[inline]
    fn at(mut self, mut place: usize) -> Option<Self> {
        while place > usize::from(self.more) {
            place -= usize::from(self.more) + 1;
            if !self.pass_message() {
                return None;
            }
        }
        if let Some(between) = place.checked_sub(1) {
            self.skip(between as u16);
            self.pass();
        }
        Some(self)
    }

    /// Passes so many of the parts between the first and the last of a message, which are alike.
    #[inline]
    fn skip(&mut self, between: u16) {
        self.end += u32::from(between) * (u32::from(self.gap) + u32::from(self.part));
        self.more -= between;
    }

    /// How many places from the first one on are in packets of one length, or some of them: at least one. And which of them end their
    /// messages.
    #[inline]
    fn stretch(&self) -> (usize, Ends) {
        let is_last = self.more == 0;
        let (gap, part) = if is_last { (self.last_gap, self.last) } else { (self.gap, self.part) };
        let every = usize::from(self.count) + 1;
        if self.before != gap.into() || self.end - self.start != part.into() {
            return (1, Ends { behind: self.more.into(), every, gap: self.before as usize });
        }
        let ends = Ends { behind: self.more.into(), every, gap: self.last_gap.into() };
        let stride = u32::from(self.gap) + u32::from(self.part);
        if u32::from(self.last_gap) + u32::from(self.last) != stride {
            // Behind it, before the last one.
            return (self.more.max(1).into(), ends);
        }
        let follows = self.lead == self.gap && self.first == self.part;
        let messages = if follows { self.messages.into() } else { 0 };
        (ends.behind + 1 + messages * ends.every, ends)
    }
}

impl Spaced {
    /// The octets at these places of the block that a slice lies in.
    #[inline]
    pub(super) fn new(slice: Slice, places: Places) -> Self {
        Spaced { block: slice.into_shared(), places }
    }

    #[inline]
    pub(super) fn first(&self) -> &[u8] {
        &self.block[self.places.start as usize..self.places.end as usize]
    }

    /// Takes octets away from the front, of which it has as many. Whether only the last part is left, or what was behind it.
    #[inline]
    pub(super) fn advance(&mut self, mut octets: usize) -> bool {
        let places = &mut self.places;
        loop {
            let first = places.end - places.start;
            if octets < first as usize || places.is_last() {
                let octets = first.min(octets as u32);
                places.before += octets;
                places.start += octets;
                return places.is_last();
            }
            octets -= first as usize;
            places.pass();
        }
    }

    /// Splits the first messages off, if they have so many octets together, and there is another one.
    #[inline]
    pub(super) fn split_messages(&mut self, octets: usize) -> Option<Spaced> {
        let (mut first, mut rest, mut left) = (self.places, self.places, octets);
        first.messages = 0;
        while let Some(behind) = left.checked_sub(rest.octets_of_first())
            && rest.pass_message()
        {
            if behind == 0 {
                self.places = rest;
                return Some(Spaced { block: self.block.clone(), places: first });
            }
            (left, first.messages) = (behind, first.messages + 1);
        }
        None
    }

    /// What it is, if it is one part.
    #[inline]
    pub(super) fn into_last(self) -> Result<Slice, Self> {
        match self.places.is_last() {
            true => Ok(Slice::of(self.block, self.places.start as usize, self.places.end as usize)),
            false => Err(self),
        }
    }

    #[inline]
    pub(super) fn parts(&self) -> Parts<'_> {
        Parts { block: &self.block, left: Some(self.places) }
    }

    /// Each part as a piece of its own.
    pub(super) fn for_each(self, mut take: impl FnMut(Slice)) {
        let Spaced { block, mut places } = self;
        loop {
            take(Slice::of(block.clone(), places.start as usize, places.end as usize));
            if !places.pass() {
                return;
            }
        }
    }

    /// Its parts, where nobody else holds the block.
    #[inline]
    pub(super) fn parts_mut(&mut self) -> PartsMut<'_> {
        let Some(block) = Arc::get_mut(&mut self.block) else { return PartsMut::default() };
        let places = self.places;
        PartsMut { block: &mut block[(places.start - places.before) as usize..], left: Some(places) }
    }

    /// The same, message by message.
    #[inline]
    pub(super) fn messages_mut(&mut self) -> MessagesMut<'_> {
        MessagesMut(self.parts_mut())
    }

    /// The same, with what may be written before each.
    #[inline]
    pub(super) fn stretches(&mut self) -> Stretches<'_> {
        Stretches(self.parts_mut())
    }

    /// Whether it can grow to the front in place.
    #[inline]
    pub(super) fn has_headroom(&self, octets: usize) -> bool {
        octets <= self.places.before as usize && self.is_unique()
    }

    /// Grows to the front in place.
    ///
    /// # Panics
    /// Where it [has no headroom](Spaced::has_headroom) for that.
    #[inline]
    pub(super) fn push_front(&mut self, octets: usize) -> &mut [u8] {
        let block = Arc::get_mut(&mut self.block).expect("nobody else holds the block");
        let end = self.places.start;
        self.places.before -= octets as u32;
        self.places.start -= octets as u32;
        &mut block[self.places.start as usize..end as usize]
    }

    /// Writes `header` before each of its messages, if each has so many octets, and nobody else holds the block.
    pub(super) fn push_each(&mut self, octets: usize, header: &[u8]) -> bool {
        let mut places = self.places;
        let Ok(more) = u16::try_from(header.len()) else { return false };
        let (Some(before), Some(lead), Some(first)) = (
            places.before.checked_sub(more.into()),
            // What does not follow stands nowhere.
            places.lead.checked_sub(more).or((places.messages == 0).then_some(0)),
            places.first.checked_add(more),
        ) else {
            return false;
        };
        let are_alike = places.are_alike(octets);
        let Some(block) = Arc::get_mut(&mut self.block).filter(|_| are_alike) else { return false };
        let start = places.start - u32::from(more);
        self.places = Places { before, start, lead, first, ..places };
        loop {
            let end = places.start as usize;
            block[end - header.len()..end].copy_from_slice(header);
            if !places.pass_message() {
                return true;
            }
        }
    }

    /// Messages that are as it is follow it in `behind`, which lies right behind it: one every so many octets, `lead` of which are before
    /// its first part. Whether they can be kept so.
    pub(super) fn repeat(&mut self, behind: &Slice, messages: usize, stride: usize, lead: usize) -> bool {
        let places = self.places;
        let (Ok(messages), Ok(lead)) = (u16::try_from(messages), u16::try_from(lead)) else { return false };
        let Ok(first) = u16::try_from(places.end - places.start) else { return false };
        let end = places.end_of_first();
        let follows = behind.follows(&self.block, end as usize);
        let is_next = (end - places.start) as usize + usize::from(lead) == stride;
        if places.messages > 0 || !follows || !is_next {
            return false;
        }
        self.places = Places { messages, lead, first, count: places.more, ..places };
        true
    }

    /// Takes `header` off each of its messages, if each has so many octets, begins with it, and its first part has more.
    pub(super) fn strip_each(&mut self, octets: usize, header: &[u8]) -> bool {
        let mut places = self.places;
        let Ok(less) = u16::try_from(header.len()) else { return false };
        let first = if places.messages > 0 { places.first } else { u16::MAX };
        let longer = u32::from(less) < places.end - places.start && less < first;
        if !longer || !places.are_alike(octets) {
            return false;
        }
        let stripped = Places {
            before: places.before + u32::from(less),
            start: places.start + u32::from(less),
            lead: places.lead.saturating_add(less),
            first: places.first.saturating_sub(less),
            ..places
        };
        loop {
            if !self.block[places.start as usize..].starts_with(header) {
                return false;
            }
            if !places.pass_message() {
                self.places = stripped;
                return true;
            }
        }
    }

    /// From so many octets before it to the end of part `count`: one piece.
    #[inline]
    pub(super) fn with_gaps(&self, before: usize, count: usize) -> Option<Slice> {
        let last = self.places.at(count.checked_sub(1)?)?;
        let start = self.places.before.checked_sub(u32::try_from(before).ok()?)?;
        let start = self.places.start - self.places.before + start;
        Some(Slice::of(self.block.clone(), start as usize, last.end as usize))
    }

    #[inline]
    pub(super) fn is_unique(&self) -> bool {
        self.block.is_unique()
    }

    /// Its block, where nobody else holds it.
    #[inline]
    pub(super) fn into_block(self) -> Option<Unshared> {
        Unshared::of(self.block)
    }
}
