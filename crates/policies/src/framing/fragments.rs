//! Messages in fragments, each with the number of its message, its index and their count.

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use core::mem;
use core::num::NonZeroU32;

use stackwright_contract::Instant;
use stackwright_contract::services::{MessageKind, MessageProperties};
use stackwright_transport::component;
use stackwright_transport::slots::{Framing, Joined};
use stackwright_transport::words::{
    Dropped, Label, MILLISECOND, Nanoseconds, PieceForm, SECOND, UnitHeader, View,
};
use stackwright_wire::{Message, Pool};

use super::assembly::{ASIDE, Assembly, Bounds, message_upto};

/// How many of the longest messages may be incomplete, beside what is in flight: those that are
/// overtaken, and the one that is being sent, both now and when the first packet that has not
/// arrived was sent.
const INCOMPLETE_LONGEST: usize = 4;

/// The time without a piece after which an incomplete message is discarded, where nothing is sent
/// again.
const FORGOTTEN_AFTER: Nanoseconds = 30 * SECOND;

/// The least time between two looks for messages to discard.
const LOOKS_EVERY: Nanoseconds = 100 * MILLISECOND;

/// Sends a message in fragments, which carry a message number, an index and a count, and delivers
/// messages when they are whole, in any order.
///
/// The message number is the application's where it gives one (ARTP's DSEQ); it must not be in use
/// twice at a time. Fragments are equally long, within one octet, so that no packet is short. What
/// applications tell each other about data ([`MessageKind::Control`]) is not fragmented.
///
/// Memory for incomplete messages is bounded by `most` octets for each, and by four times that
/// together and what is [in flight](Self::on_the_way). The whole length of a message is reserved
/// with its first piece, so that no other piece of it is refused. Where there is no room, a piece
/// that begins a message is refused before it is acknowledged, and comes again; but one that
/// everything waits for is admitted until one message more than that is reserved. A sender that
/// obeys the protocol stays below: of the messages that it has begun, those that are overtaken have
/// no more than `most` octets together.
///
/// ```
/// use stackwright_policies::framing::Fragments;
/// use stackwright_wire::BufferTree;
/// let fragments = Fragments::<BufferTree>::new(0xffff, 10 << 20);
/// # let _ = fragments;
/// ```
pub struct Fragments<M> {
    /// The most fragments of a message that the format can express.
    count_most: u32,
    bounds: Bounds,
    /// The most octets that are reserved for incomplete messages, unless everything waits for one.
    held_most: usize,
    next: u32,
    begun: BTreeMap<u32, Assembly<M>>,
    held: usize,
    /// Numbers of pieces whose message was replaced by another with its message number.
    gone: u64,
    /// Which incomplete messages are discarded.
    forgetting: Forgetting,
    /// The number after the last one of messages of which a piece was abandoned; 0: none is
    /// incomplete.
    abandoned_upto: u64,
    /// When to look for messages that will never be whole.
    looks_at: Instant,
}

impl<M> Fragments<M> {
    /// Creates the policy for messages of at most `count_most` fragments and `most` octets.
    pub const fn new(count_most: u32, most: usize) -> Self {
        Fragments {
            count_most,
            bounds: Bounds { piece: most, message: most },
            held_most: most.saturating_mul(INCOMPLETE_LONGEST),
            next: 0,
            begun: BTreeMap::new(),
            held: 0,
            gone: 0,
            forgetting: Forgetting::Nothing,
            abandoned_upto: 0,
            looks_at: Instant::END,
        }
    }

    /// Returns how many fragments of at most `room` octets a message of `octets` octets has; `None`
    /// where the format cannot express as many.
    pub fn pieces(&self, octets: usize, kind: MessageKind, room: usize) -> Option<u32> {
        if octets <= room {
            return Some(1); // without a division, as nearly all are
        }
        let most = if kind == MessageKind::Control { 1 } else { self.count_most };
        u32::try_from(octets.div_ceil(room).max(1)).ok().filter(|count| *count <= most)
    }

    /// Returns the label of the first of `count` fragments of the next message.
    #[inline]
    pub fn next_label(&mut self, properties: &MessageProperties, count: u32) -> Label {
        let number = properties.number.unwrap_or(self.next);
        self.next = number.wrapping_add(1);
        Label {
            message: number,
            index: 0,
            count,
            last: count == 1,
            kind: properties.kind,
            priority: properties.priority,
            form: PieceForm::Framed,
        }
    }

    /// Admits as much more of incomplete messages as a sender can have in flight: `pieces` pieces
    /// of at most `piece_most` octets each.
    #[must_use]
    pub fn on_the_way(self, pieces: usize, piece_most: usize) -> Self {
        // Each may begin a message, or wait for those before it.
        let each = piece_most.saturating_add(ASIDE + Assembly::<M>::BESIDE);
        let held_most = self.held_most.saturating_add(pieces.saturating_mul(each));
        Fragments { held_most, bounds: Bounds { piece: piece_most, ..self.bounds }, ..self }
    }

    /// Sets which incomplete messages are discarded; by default, none.
    #[must_use]
    pub fn forgetting(self, forgetting: Forgetting) -> Self {
        Fragments { forgetting, ..self }
    }
}

/// The incomplete messages that are discarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forgetting {
    /// None: what is lost is sent again.
    Nothing,
    /// Those whose lifetime is over: what is reserved for them would soon be all that a sender may
    /// begin. A message without a lifetime may come late, behind all that is more urgent. What was
    /// sent before the sender knew this side's clock seems to have none (ARTP §1.4.2): it is kept,
    /// and is no more than the sender's first window.
    Expired,
    /// Those of which nothing arrived for 30 s and for this many numbers, which is how many the
    /// sender may have in flight: nothing is sent again.
    Lost(u64),
}

impl Forgetting {
    /// Returns how long after the newest piece a message is discarded that has `lifetime`
    /// microseconds left then; `None`: never.
    fn after(self, lifetime: Option<NonZeroU32>) -> Option<Nanoseconds> {
        match self {
            Forgetting::Nothing => None,
            Forgetting::Expired => lifetime.map(|lifetime| u64::from(lifetime.get()) * 1000),
            Forgetting::Lost(_) => Some(FORGOTTEN_AFTER),
        }
    }

    /// Returns how many numbers must have arrived after its newest piece.
    fn window(self) -> Option<u64> {
        if let Forgetting::Lost(window) = self { Some(window) } else { None }
    }
}

impl<M: Message> Fragments<M> {
    /// Does what [`admits`](Framing::admits) does, for pieces.
    #[inline(never)]
    fn admits_pieces(
        &self,
        unit: &UnitHeader,
        octets: usize,
        follows: bool,
    ) -> Result<usize, Dropped> {
        let Label { message, index, count, .. } = unit.label;
        if unit.label.is_abandoned() {
            return Ok(0);
        }
        let mut numbers = (0..unit.messages() as u32).map(|nth| message.wrapping_add(nth));
        let mut others = self.held;
        if let Some(assembly) = numbers.find_map(|number| self.begun.get(&number)) {
            if unit.messages() > 1 {
                return Err(Dropped::Unjoinable);
            }
            if assembly.admits(unit, octets) {
                return Ok(0); // all that it may become is reserved already
            }
            if !assembly.is_replaced_by(unit) {
                return Err(Dropped::Unjoinable);
            }
            others = others.saturating_sub(assembly.held(self.bounds));
        }
        // Of a message whose last piece came first, the length of the others is not known yet.
        let piece = if index + 1 >= count { 0 } else { unit.piece };
        if octets == 0 {
            return Err(Dropped::Unjoinable);
        }
        // All but the last piece have this length, and that has one octet at least.
        if piece.saturating_mul(count as usize - 1) >= self.bounds.message {
            return Err(Dropped::TooLong);
        }
        let whole = self.bounds.whole(count, piece);
        let held = others.saturating_add(whole).saturating_add(Assembly::<M>::BESIDE);
        match self.held_most {
            most if held <= most => Ok(held),
            most if held > most.saturating_add(self.bounds.message) => Err(Dropped::Overrun),
            _ if follows => Ok(held),
            _ => Err(Dropped::NoRoom),
        }
    }

    /// Learns that a piece was abandoned.
    #[cold]
    #[inline(never)]
    fn abandon(&mut self, unit: &UnitHeader) {
        self.gone += unit.numbers();
        let Label { index, count, .. } = unit.label;
        if count > 1 {
            self.abandoned_upto =
                self.abandoned_upto.max(message_upto(unit.span.start, index, count));
            self.looks_at = Instant::START;
        }
    }

    /// Discards the messages of which all has come that will come. Their pieces have the numbers
    /// behind each other: where pieces are abandoned, no message overtakes one that has begun.
    fn forget_abandoned(&mut self, view: &View) -> u64 {
        let mut numbers = 0;
        let (held, bounds) = (&mut self.held, self.bounds);
        self.begun.retain(|_, assembly| {
            let is_over = assembly.message_upto() <= view.received_upto;
            if is_over {
                numbers += assembly.numbers;
                *held = held.saturating_sub(assembly.held(bounds));
            }
            !is_over
        });
        if view.received_upto >= self.abandoned_upto {
            self.abandoned_upto = 0;
        } else {
            self.looks_at = self.looks_at.min(view.now.later(LOOKS_EVERY));
        }
        numbers
    }

    /// Takes pieces of a message of which others are missing, or arrived before.
    #[inline(never)]
    fn gather(
        &mut self,
        view: &View,
        unit: &UnitHeader,
        body: &mut M,
        pool: &Pool<M>,
    ) -> Result<Option<Joined>, Dropped> {
        let label = unit.label;
        let mut before = 0;
        let mut entry = match self.begun.entry(label.message) {
            Entry::Vacant(entry) => entry.insert_entry(Assembly::new(unit, properties(&label))),
            Entry::Occupied(entry) => {
                before = entry.get().held(self.bounds);
                entry
            }
        };
        let is_replaced = !entry.get().admits(unit, body.len()) && entry.get().is_replaced_by(unit);
        if is_replaced {
            self.gone += entry.insert(Assembly::new(unit, properties(&label))).numbers;
        }
        let assembly = entry.get_mut();
        let taken = assembly.take(unit, body.take(), pool);
        let is_whole = matches!(taken, Ok(true));
        let after = if is_whole { 0 } else { assembly.held(self.bounds) };
        self.held = (self.held + after).saturating_sub(before);
        taken?;
        if !is_whole {
            if let Some(silence) = self.forgetting.after(assembly.lifetime) {
                self.looks_at = self.looks_at.min(view.now.later(silence.max(LOOKS_EVERY)));
            }
            return Ok(None);
        }
        let assembly = entry.remove();
        let (properties, numbers) = (assembly.properties, assembly.numbers);
        let properties = MessageProperties { lifetime: unit.lifetime, ..properties };
        *body = assembly.whole();
        Ok(Some(Joined { properties, numbers }))
    }
}

/// Returns the properties that arrived with a piece.
#[inline]
fn properties(label: &Label) -> MessageProperties {
    MessageProperties {
        lifetime: None,
        number: (label.kind == MessageKind::Data).then_some(label.message),
        priority: label.priority,
        kind: label.kind,
        ..MessageProperties::default()
    }
}

impl<M: Message> Framing<M> for Fragments<M> {
    #[inline]
    fn begin(
        &mut self,
        message: M,
        properties: &MessageProperties,
        room: usize,
        _: &Pool<M>,
    ) -> Result<(M, Label, usize), M> {
        let octets = message.len();
        let Some(count) = self.pieces(octets, properties.kind, room) else { return Err(message) };
        let piece = if count == 1 { octets } else { octets.div_ceil(count as usize) };
        Ok((message, self.next_label(properties, count), piece.max(1)))
    }

    #[inline]
    fn admits(&self, unit: &UnitHeader, octets: usize, follows: bool) -> Result<usize, Dropped> {
        if unit.label.count > 1 { self.admits_pieces(unit, octets, follows) } else { Ok(0) }
    }

    #[inline]
    fn held(&self) -> usize {
        self.held
    }

    #[inline(always)] // a unit is not moved to be looked at
    fn join(
        &mut self,
        view: &View,
        unit: &UnitHeader,
        body: &mut M,
        pool: &Pool<M>,
    ) -> Result<Option<Joined>, Dropped> {
        let several = unit.label.count > 1;
        if unit.label.is_abandoned() {
            self.abandon(unit);
            return Ok(None);
        }
        if !unit.is_whole() || several && self.begun.contains_key(&unit.label.message) {
            return self.gather(view, unit, body, pool);
        }
        let properties = MessageProperties { lifetime: unit.lifetime, ..properties(&unit.label) };
        Ok(Some(Joined { properties, numbers: unit.numbers() }))
    }

    fn forget(&mut self, view: &View) -> u64 {
        let mut numbers = mem::take(&mut self.gone);
        if self.looks_at > view.now {
            return numbers;
        }
        let (held, forgetting, bounds) = (&mut self.held, self.forgetting, self.bounds);
        let (next_look, mut looks_at) = (view.now.later(LOOKS_EVERY), Instant::END);
        self.begun.retain(|_, assembly| {
            let Some(silence) = forgetting.after(assembly.lifetime) else { return true };
            let at = assembly.at.later(silence);
            let is_over = forgetting
                .window()
                .is_none_or(|window| assembly.upto + window <= view.received_upto);
            if is_over && at <= view.now {
                numbers += assembly.numbers;
                *held = held.saturating_sub(assembly.held(bounds));
                return false;
            }
            looks_at = looks_at
                .min(if at <= view.now { view.now.later(silence) } else { at }.max(next_look));
            true
        });
        self.looks_at = looks_at;
        if self.abandoned_upto > 0 {
            numbers += self.forget_abandoned(view);
        }
        numbers
    }

    fn deadline(&self) -> Instant {
        if self.gone > 0 { Instant::START } else { self.looks_at }
    }
}

#[cfg(test)]
mod tests {
    use stackwright_wire::BufferTree;

    use super::*;

    const WINDOW: u64 = 16;

    /// The first of two pieces, and 100 s and as many numbers later whether it is still known.
    fn keeps(forgetting: Forgetting, lifetime: Option<u32>) -> bool {
        let mut fragments = Fragments::new(0xffff, 1 << 20).forgetting(forgetting);
        let pool = Pool::new(64, 1);
        let label = Label { message: 7, count: 2, priority: 128, ..Label::default() };
        let mut body = BufferTree::with_headroom(0, b"piece");
        let lifetime = lifetime.and_then(NonZeroU32::new);
        let unit =
            UnitHeader { span: 0..1, count: 1, piece: 5, label, since: Instant::START, lifetime };
        assert_eq!(fragments.join(&View::START, &unit, &mut body, &pool), Ok(None));
        let now = Instant::START.later(100 * SECOND);
        let numbers = fragments.forget(&View { now, received_upto: 100, ..View::START });
        assert_eq!(numbers, u64::from(fragments.begun.is_empty()), "its numbers are free again");
        !fragments.begun.is_empty()
    }

    /// Of a message that was numbered before another one of its number, a part is here, or comes
    /// late.
    #[test]
    fn pieces_of_two_messages_of_one_number_are_told_apart_by_their_own_numbers() {
        let mut fragments = Fragments::new(0xffff, 1 << 20);
        let pool = Pool::new(64, 1);
        let mut take = |number: u64, index: u32, octets: &[u8]| {
            let label = Label { message: 7, index, count: 3, last: index == 2, ..Label::default() };
            let mut body = BufferTree::with_headroom(0, octets);
            let (span, since) = (number..number + 1, Instant::START);
            let unit =
                UnitHeader { span, count: 1, piece: octets.len(), label, since, lifetime: None };
            let admitted = fragments.admits(&unit, octets.len(), false).map(|_| ());
            let joined =
                admitted.and_then(|()| fragments.join(&View::START, &unit, &mut body, &pool));
            let whole = joined.map(|joined| joined.map(|_| body));
            (
                whole.map(|whole| whole.map(|mut whole| whole.front(6).map(<[u8]>::to_vec))),
                fragments.forget(&View::START),
            )
        };
        let more = (Ok(None), 0);
        assert!(take(2, 1, b"a1") == more);
        assert!(take(11, 0, b"b0") == (Ok(None), 1), "it lies before what was numbered earlier");
        assert!(take(1, 0, b"a0") == (Err(Dropped::Unjoinable), 0));
        assert!(
            take(3, 2, b"a2") == (Err(Dropped::Unjoinable), 0),
            "it lies behind what was numbered later"
        );
        assert!(take(13, 2, b"b2") == more);
        assert!(take(21, 0, b"c0") == (Ok(None), 2), "it was here");
        assert!(take(23, 2, b"c2") == more);
        assert!(take(22, 1, b"c1") == (Ok(Some(Some(b"c0c1c2".to_vec()))), 0));
    }

    #[test]
    fn what_does_not_expire_is_never_forgotten_where_it_is_sent_again() {
        let expired = Forgetting::Expired;
        assert!(keeps(expired, None), "it waits behind what is more urgent");
        assert!(keeps(expired, Some(101_000_000)), "it may still come");
        assert!(!keeps(expired, Some(99_000_000)) && !keeps(expired, Some(1)));
        assert!(
            !keeps(Forgetting::Lost(WINDOW), None)
                && !keeps(Forgetting::Lost(WINDOW), Some(101_000_000))
        );
        assert!(keeps(Forgetting::Lost(1000), None), "its other half may be on its way");
        assert!(keeps(Forgetting::Nothing, None) && keeps(Forgetting::Nothing, Some(1)));
    }
}

component! {
    <M> Fragments<M>: "framing in fragments", "cuts messages and joins them in any order",
    needs: Property::FRAGMENTS, gives: Property::BOUNDS,
}
