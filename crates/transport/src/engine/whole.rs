//! Packets arrive together: those of a whole message go up as that message, and each is heard of as if it had come by itself.

use stackwright_contract::Instant;
use stackwright_contract::services::{Apart, Quality, Room};
use stackwright_wire::{Message as _, Pool};

use super::receive::furnish;
use super::{Association, Memory};
use crate::configuration::Configuration;
use crate::slots::{
    Acknowledgement as _, Connection as _, Flow as _, Format as _, Framing as _, Integrity as _,
    Ordering as _,
};
use crate::words::{Dropped, Label, Unit, View, Whole};

impl<C: Configuration> Association<C> {
    /// A packet of this association arrives, and others that came `behind` it. Those are taken that are a message with it, and nothing
    /// else: it is as if each of them had arrived by itself. Gives that message as [`receive`](Association::receive) does.
    ///
    /// # Errors
    /// Why it was dropped, in part or as a whole.
    #[inline]
    pub fn receive_run(
        &mut self,
        now: Instant,
        packet: C::Message,
        behind: &mut Apart<C::Message>,
        memory: &mut Memory<C::Message>,
        room: Room,
    ) -> Result<Option<(C::Message, Quality)>, Dropped> {
        let (view, others) = (self.view(now), behind.messages());
        if others == 0 || !self.takes_whole(&view, others) {
            return self.receive(now, packet, memory, room);
        }
        match self.slots.format.read_whole(&view, packet, behind) {
            Ok(whole) => self.accept_whole(view, whole, &memory.pool, room),
            Err(packet) => self.receive(now, packet, memory, room),
        }
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
        let Whole { mut unit, piece, octets, stamp } = whole;
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
