//! Reads packets: octets to words.

use alloc::vec::Vec;
use core::ops::Range;

use stackwright_transport::path_mtu::PartPlace;
use stackwright_transport::slots::pull_front;
use stackwright_transport::words::{
    Dropped, EpochMark, Incoming, Label, PieceForm, Report, Signals, Unit, View, unwrap,
};
use stackwright_wire::Message;

use crate::format::{PRIORITY, TailoredFormat};
use crate::header::{
    InquiryNumber, NumberSpan, PartHeader, PieceHeader, ReasonCode, ReportHeader, TailoredHeader,
    TailoredKind,
};
use crate::opening::Opening;
use crate::rules;

/// Reads spans: they rise from `from` on, and none touches another.
fn spans<M: Message>(
    packet: &mut M,
    count: u8,
    from: u64,
    into: &mut Vec<Range<u64>>,
) -> Result<(), Dropped> {
    let mut least = from;
    for _ in 0..count {
        let span = packet.pull::<NumberSpan>()?;
        let (start, end) = (unwrap(span.start, 32, from), unwrap(span.end, 32, from));
        if start < least || end <= start {
            return Err(Dropped::Malformed);
        }
        into.push(start..end);
        least = end;
    }
    Ok(())
}

impl<M: Message> TailoredFormat<M> {
    /// Reads a packet.
    pub(crate) fn read(
        &mut self,
        view: &View,
        front: Option<&TailoredHeader>,
        mut packet: M,
        report: &mut Report,
    ) -> Result<Incoming<M>, Dropped> {
        let header = pull_front(front, &mut packet)?;
        if (header.key, header.called) != (self.key, !self.called) {
            return Err(Dropped::NotOurs);
        }
        let mark = EpochMark { bits: header.epoch, first: header.first };
        let says_epoch = header.first || header.epoch != 0;
        if says_epoch && (!self.terms.switches || header.kind == TailoredKind::Report) {
            return Err(Dropped::Malformed);
        }
        if header.check != self.terms.check || packet.len() < header.check.octets() {
            return Err(Dropped::Malformed);
        }
        packet.advance(header.check.octets());
        let opening = Opening::read(header.opening, &mut packet)?;
        let inquiry = match header.asks {
            true => Some(packet.pull::<InquiryNumber>()?.number.into()),
            false => None,
        };
        let number = unwrap(header.number, 32, view.received_upto);
        let mut incoming = Incoming { inquiry, next: Some(number), ..Incoming::silent() };
        let mut signals = Signals::FINISH.when(header.finish).with(Signals::STOP.when(header.stop));
        let label = Label { priority: PRIORITY, ..Label::default() };
        let label = match header.kind {
            TailoredKind::Unit => {
                Some(Label { message: header.number, count: 1, last: true, ..label })
            }
            TailoredKind::Piece | TailoredKind::Gap => {
                let piece = packet.pull::<PieceHeader>()?;
                let is_gap = header.kind == TailoredKind::Gap;
                let is_empty = packet.is_empty();
                let fits =
                    is_gap <= self.terms.abandons && is_empty == is_gap && !(is_gap && header.part);
                if piece.index >= piece.count || !fits {
                    return Err(Dropped::Malformed);
                }
                let last = piece.index + 1 == piece.count;
                let (index, count) = (u32::from(piece.index), u32::from(piece.count));
                let form = if is_gap { PieceForm::Abandoned } else { PieceForm::Framed };
                Some(Label { message: piece.message, index, count, last, form, ..label })
            }
            TailoredKind::Report if header.part => return Err(Dropped::Malformed),
            TailoredKind::Report => None,
        };
        if let Some(label) = label {
            let span = number..number.checked_add(1).ok_or(Dropped::Malformed)?;
            incoming.next = Some(span.end);
            let body = match header.part {
                true => self.take_part(view, number, label, packet)?,
                false => Some(packet),
            };
            incoming.mark = self.terms.switches.then_some(mark);
            incoming.unit =
                body.map(|body| Unit { span, label, body, since: view.now, lifetime: None });
        } else {
            let told = packet.pull::<ReportHeader>()?;
            if told.end || told.refuse {
                let ReasonCode { code } = packet.pull()?;
                let what = if told.refuse { Signals::REFUSE } else { Signals::END };
                signals = signals.with(what).with(Signals::because(code));
                signals = signals.with(Signals::TOO_LONG.when(told.end && told.too_long));
            }
            if told.proposes {
                if !self.terms.negotiates || told.refuse {
                    return Err(Dropped::Malformed);
                }
                incoming.proposal = Some(rules::read(view, &packet.pull()?)?);
            }
            report.upto = unwrap(told.upto, 32, view.sent_upto);
            report.answers = told.answered.then_some(told.answers);
            spans(&mut packet, told.held, report.upto, &mut report.held)?;
            spans(&mut packet, told.missing, report.upto, &mut report.missing)?;
            if !packet.is_empty() {
                return Err(Dropped::Malformed);
            }
            incoming.reports = !told.refuse;
            incoming.credit = told.credits.then(|| unwrap(told.credit, 32, view.sent_upto));
        }
        // Last, so that a packet that cannot be read changes nothing.
        incoming.signals = signals.with(self.on_opening(opening)?);
        Ok(incoming)
    }

    /// Takes a part of the body of a unit. Returns the body if it is complete, or was received
    /// before: it is acknowledged once more.
    #[cold]
    fn take_part(
        &mut self,
        view: &View,
        number: u64,
        label: Label,
        mut packet: M,
    ) -> Result<Option<M>, Dropped> {
        let PartHeader { offset, whole } = packet.pull()?;
        let place = PartPlace { offset: usize::from(offset), whole: usize::from(whole) };
        if place.whole > self.terms.packet {
            return Err(Dropped::Malformed);
        }
        if number < view.received_upto {
            return Ok(Some(packet));
        }
        // Nothing is kept for a peer that has not shown that it hears: it is answered, and sends it
        // again.
        if self.called && !self.is_open {
            return Ok(None);
        }
        self.parts.take(view.received_upto, number, label, place, &packet)
    }

    fn on_opening(&mut self, opening: Opening) -> Result<Signals, Dropped> {
        match (opening, self.called) {
            (Opening::Over, true) => Ok(Signals::NONE),
            (Opening::Over, false) => {
                self.is_open = true;
                Ok(Signals::NONE)
            }
            // What is configured otherwise was refused before; this is an old packet's copy.
            (Opening::Asked(hashes), true)
                if hashes.configuration == self.terms.hashes.configuration
                    && self.terms.understands(hashes.protocol) =>
            {
                Ok(Signals::OPEN)
            }
            (Opening::Answered(token), false) => {
                (self.token, self.is_open) = (Some(token), false);
                Ok(Signals::ACCEPT)
            }
            (Opening::Confirmed(token), true) if Some(token) == self.token => {
                self.is_open = true;
                // Where the opening was answered without an association, this packet makes it.
                Ok(Signals::OPEN.with(Signals::CONFIRM))
            }
            _ => Err(Dropped::NotOurs),
        }
    }
}
