//! Packets arrive together: those of a whole message go up as that message, and each is heard of as if it had come by itself.

use stackwright_contract::Instant;
use stackwright_contract::services::{BatchMessages, Quality, Room};
use stackwright_wire::{Message as _, Pool};

use super::receive::furnish;
use super::{Association, Memory};
use crate::configuration::Configuration;
use crate::slots::{
    Acknowledgement as _, Connection as _, Flow as _, Format as _, Framing as _, Integrity as _,
    Ordering as _,
};
use crate::words::{Came, Dropped, Label, Unit, View, Whole};

impl<C: Configuration> Association<C> {
    /// A packet of this association arrives, and others that came `behind` it. Those are taken that are a message with it, and nothing
    /// else: it is as if each of them had arrived by itself. Gives that message as [`receive`](Association::receive) does, or several that
    /// came so.
    ///
    /// # Errors
    /// Why it was dropped, in part or as a whole.
    #[inline]
    pub fn receive_batch(
        &mut self,
        now: Instant,
        packet: C::Message,
        behind: &mut BatchMessages<C::Message>,
        memory: &mut Memory<C::Message>,
        room: Room,
    ) -> Result<Option<Came<C::Message>>, Dropped> {
        let (view, others) = (self.view(now), behind.len());
        if others == 0 || !self.takes_whole(&view, others) {
            return self.receive(now, packet, memory, room).map(|came| came.map(Came::from));
        }
        match self.slots.format.read_whole(&view, packet, behind) {
            Ok(whole) if whole.messages > 1 => self.accept_several(view, whole, &memory.pool, room),
            Ok(whole) => self.accept_whole(view, whole, &memory.pool, room).map(|came| came.map(Came::from)),
            Err(packet) => self.receive(now, packet, memory, room).map(|came| came.map(Came::from)),
        }
    }

    /// Messages that are alike go up as they came, all of them; or else each by itself.
    fn accept_several(
        &mut self,
        mut view: View,
        whole: Whole<C::Message>,
        pool: &Pool<C::Message>,
        room: Room,
    ) -> Result<Option<Came<C::Message>>, Dropped> {
        let Whole { mut unit, messages, piece, octets, stamp } = whole;
        let bodies = unit.body.len();
        let may = self.may_go_up(Room { octets: bodies, messages }, room);
        let opened =
            if may { self.slots.framing.open_run(&unit.label, messages, &mut unit.body) } else { None };
        let Some(quality) = opened else {
            let whole = Whole { unit, messages, piece, octets, stamp };
            return self.accept_one_by_one(view.now, whole, pool, room);
        };
        self.admit_plain(&view, stamp, octets)?;
        self.used = Some(view.now);
        self.slots.acknowledgement.on_several(&view, &unit.span, piece, bodies);
        view.received_upto = unit.span.end;
        let quality = self.take_at_once(&view, &unit.span, Ok(quality))?;
        Ok(Some(Came { octets: unit.body, messages, quality }))
    }

    /// The first goes up at once, if it may; all others wait in the inbox.
    #[cold]
    fn accept_one_by_one(
        &mut self,
        now: Instant,
        whole: Whole<C::Message>,
        pool: &Pool<C::Message>,
        mut room: Room,
    ) -> Result<Option<Came<C::Message>>, Dropped> {
        let Whole { unit, messages, piece, octets, stamp } = whole;
        let Unit { mut span, label, mut body, since, lifetime } = unit;
        let (numbers, each) = ((span.end - span.start) / messages as u64, body.len() / messages);
        let mut result = Ok(None);
        for message in 0..messages as u32 {
            // Something before it was refused, and comes again: so does this.
            if self.receipts.upto() != span.start {
                break;
            }
            let label = Label { message: label.message.wrapping_add(message), ..label };
            span = span.start..span.start + numbers;
            let unit = Unit { span: span.clone(), label, body: body.split_to(each), since, lifetime };
            let whole = Whole { unit, messages: 1, piece, octets: octets / messages, stamp };
            let accepted = self.accept_whole(self.view(now), whole, pool, room);
            result = match (result, accepted) {
                (Ok(came), Ok(more)) => Ok(came.or(more.map(Came::from))),
                (Ok(came @ Some(_)), Err(_)) => Ok(came),
                (Ok(None), Err(dropped)) => Err(dropped),
                (error, _) => error,
            };
            (room, span) = (Room::default(), span.end..span.end);
        }
        result
    }

    /// Whether a message may go up as it came, if so many packets and one belong to it.
    fn takes_whole(&self, view: &View, others: usize) -> bool {
        let numbers = others as u64 + 1;
        let span = view.received_upto..view.received_upto + numbers;
        let slots = &self.slots;
        self.begun
            && self.receipts.beyond().is_empty()
            && slots.ordering.passes()
            && slots.integrity.looks_at() == 0
            && !slots.connection.is_half_open()
            && slots.flow.admit(&View { pending: self.pending + numbers, ..*view }, &span).is_ok()
    }

    fn accept_whole(
        &mut self,
        mut view: View,
        whole: Whole<C::Message>,
        pool: &Pool<C::Message>,
        room: Room,
    ) -> Result<Option<(C::Message, Quality)>, Dropped> {
        let Whole { mut unit, messages: _, piece, octets, stamp } = whole;
        self.admit_plain(&view, stamp, octets)?;
        let slots = &mut self.slots;
        if !slots.framing.takes_whole(&unit.label, unit.body.len()) {
            return self.accept_apart(view.now, unit, piece, pool).map(|()| None);
        }
        self.used = Some(view.now);
        if self.inbox.capacity() == 0 {
            furnish(&mut self.inbox);
        }
        slots.acknowledgement.on_several(&view, &unit.span, piece, unit.body.len());
        view.received_upto = unit.span.end;
        if let Some(opened) = self.open_at_once(&unit.label, &mut unit.body, room) {
            return self.take_at_once(&view, &unit.span, opened).map(|quality| Some((unit.body, quality)));
        }
        self.receipts.follow(&unit.span);
        self.pending += unit.span.end - unit.span.start;
        self.join(&view, unit, pool).map(|()| None)
    }

    /// Something of the message was here before, or it is too long: each piece by itself.
    #[cold]
    fn accept_apart(
        &mut self,
        now: Instant,
        unit: Unit<C::Message>,
        piece: usize,
        pool: &Pool<C::Message>,
    ) -> Result<(), Dropped> {
        let Unit { span, label, mut body, since, lifetime } = unit;
        let count = (span.end - span.start) as u32;
        let mut result = Ok(());
        for (index, number) in (0..count).zip(span) {
            let label = Label { index, count, last: index + 1 == count, ..label };
            let body = body.split_to(piece.min(body.len()));
            let view = self.view(now);
            let unit = Unit { span: number..number + 1, label, body, since, lifetime };
            result = result.and(self.accept(&view, unit, pool));
        }
        result
    }
}
