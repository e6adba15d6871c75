//! Writes packets: words to octets.

use alloc::vec::Vec;
use core::ops::Range;

use stackwright_contract::services::Code;
use stackwright_transport::words::{Cargo, Ending, EpochMark, Label, Outgoing, Signals, View};
use stackwright_wire::Header;

use crate::format::TailoredFormat;
use crate::header::{
    InquiryNumber, NumberSpan, PartHeader, PieceHeader, ReasonCode, ReportHeader, TailoredHeader,
    TailoredKind,
};
use crate::opening::Opening;
use crate::rules;

pub(crate) fn put<H: Header>(header: &H, octets: &mut Vec<u8>) {
    let start = octets.len();
    octets.resize(start + H::LENGTH, 0);
    header.encode(&mut octets[start..]);
}

/// Returns a report that tells nothing.
pub(crate) const fn silent() -> ReportHeader {
    ReportHeader {
        credits: false,
        answered: false,
        end: false,
        refuse: false,
        too_long: false,
        proposes: false,
        reserved: (),
        held: 0,
        missing: 0,
        upto: 0,
        credit: 0,
        answers: 0,
    }
}

/// Appends a packet that says this alone, with a reason where the association is over or was not
/// made; its check is left out.
pub(crate) fn tell(
    header: TailoredHeader,
    report: ReportHeader,
    opening: Opening,
    code: Option<Code>,
    octets: &mut Vec<u8>,
) {
    put(&TailoredHeader { opening: opening.stage(), ..header }, octets);
    octets.resize(octets.len() + header.check.octets(), 0);
    opening.put(octets);
    put(&report, octets);
    if let Some(code) = code {
        put(&ReasonCode { code }, octets);
    }
}

impl<M> TailoredFormat<M> {
    /// Returns how far the opening is.
    fn opening(&self, signals: Signals) -> Opening {
        match self.token {
            _ if signals.has(Signals::OPEN) => Opening::Asked(self.terms.hashes),
            Some(token) if !self.is_open && self.called => Opening::Answered(token),
            Some(token) if !self.is_open => Opening::Confirmed(token),
            _ => Opening::Over,
        }
    }

    /// Returns the octets of a unit that leave now, if the path does not pass all of them, or may
    /// not.
    fn part(&mut self, view: &View, unit: &Cargo<'_>, opening: Opening) -> Option<Range<usize>> {
        let piece = if unit.label.count > 1 { PieceHeader::LENGTH } else { 0 };
        let before = self.terms.before(Opening::octets(opening.stage())) + piece;
        let most = self.path.part_most(view, unit.span.start, before + unit.octets)?;
        let most = most - before - PartHeader::LENGTH;
        Some(self.path.next_part(unit.span.start, unit.octets, most))
    }

    /// Writes a packet without its body.
    pub(crate) fn write(&mut self, view: &View, say: &mut Outgoing<'_>, octets: &mut Vec<u8>) {
        let report = say.report.take();
        let is_report = report.is_some() || say.proposal.is_some();
        let unit = if is_report { None } else { say.unit.take() };
        let opening = self.opening(say.signals);
        let part = unit.and_then(|unit| self.part(view, &unit, opening));
        if unit.is_some_and(|unit| part.as_ref().is_some_and(|part| part.end < unit.octets)) {
            say.unit = unit;
        }
        // The inquiry rides on the last packet there is.
        let inquiry = if say.unit.is_none() { say.inquiry.take() } else { None };
        // The end of a half rides on its last data; all else tells what was received as well.
        let all = Signals::FINISH.with(Signals::STOP).with(Signals::END);
        let says = match &unit {
            // Before the data that still waits, nothing ends.
            None if say.unit.is_some() => Signals::NONE,
            None => say.signals.shared(all),
            Some(unit) if unit.span.end < view.sent_upto || say.unit.is_some() => Signals::NONE,
            Some(_) => say.signals.shared(Signals::FINISH),
        };
        let why = if says.has(Signals::END) { say.signals.reason() } else { Signals::NONE };
        // How far the opening is, every packet tells: its token is the confirmation.
        let opens = Signals::OPEN.with(Signals::ACCEPT).with(Signals::CONFIRM);
        let told = says.with(say.signals.shared(opens));
        say.signals = say.signals.without(told.with(why));
        let mark = unit.and(say.mark).unwrap_or(EpochMark { bits: 0, first: false });
        let header = TailoredHeader {
            kind: match unit {
                Some(unit) if unit.label.is_abandoned() => TailoredKind::Gap,
                Some(unit) if unit.label.count > 1 => TailoredKind::Piece,
                Some(_) => TailoredKind::Unit,
                None => TailoredKind::Report,
            },
            first: mark.first,
            epoch: mark.bits,
            part: part.is_some(),
            check: self.terms.check,
            opening: opening.stage(),
            called: self.called,
            asks: inquiry.is_some(),
            finish: says.has(Signals::FINISH),
            stop: says.has(Signals::STOP),
            key: self.key,
            number: unit.map_or(view.sent_upto, |unit| unit.span.start) as u32,
        };
        put(&header, octets);
        octets.resize(octets.len() + header.check.octets(), 0);
        opening.put(octets);
        if let Some(inquiry) = inquiry {
            put(&InquiryNumber { number: inquiry.number }, octets);
        }
        if let Some(unit) = unit {
            if matches!(header.kind, TailoredKind::Piece | TailoredKind::Gap) {
                let Label { message, index, count, .. } = *unit.label;
                put(&PieceHeader { message, index: index as u16, count: count as u16 }, octets);
            }
            if let Some(part) = &part {
                let (offset, whole) = (part.start as u16, unit.octets as u16);
                put(&PartHeader { offset, whole }, octets);
            }
            say.part = part;
            return;
        }
        let (credit, proposal) = (say.credit.take(), say.proposal.take());
        let answers = report.and_then(|report| report.answers);
        let told = ReportHeader {
            credits: credit.is_some(),
            answered: answers.is_some(),
            end: says.has(Signals::END),
            too_long: why.has(Signals::TOO_LONG),
            proposes: proposal.is_some(),
            held: report.map_or(0, |report| report.held.len() as u8),
            missing: report.map_or(0, |report| report.missing.len() as u8),
            upto: report.map_or(view.received_upto, |report| report.upto) as u32,
            credit: credit.unwrap_or(0) as u32,
            answers: answers.unwrap_or(0),
            ..silent()
        };
        put(&told, octets);
        if told.end {
            put(&ReasonCode { code: why.code() }, octets);
        }
        if let Some(proposal) = &proposal {
            put(&rules::written(proposal), octets);
        }
        for span in report.iter().flat_map(|report| report.held.iter().chain(&report.missing)) {
            put(&NumberSpan { start: span.start as u32, end: span.end as u32 }, octets);
        }
    }

    /// Writes the packet that tells the peer that this association is over, and why.
    pub(crate) fn write_farewell(&self, view: &View, why: Ending, into: &mut Vec<u8>) -> bool {
        if !self.terms.answers {
            return true;
        }
        let closes = matches!(why, Ending::Finished | Ending::Reset(_));
        let opening = self.opening(Signals::NONE);
        let header = TailoredHeader {
            kind: TailoredKind::Report,
            first: false,
            epoch: 0,
            part: false,
            check: self.terms.check,
            opening: opening.stage(),
            called: self.called,
            asks: false,
            // A peer that closes both halves is told that it is over, whatever it has not taken.
            finish: closes,
            stop: closes,
            key: self.key,
            number: view.sent_upto as u32,
        };
        let why = Signals::end(why);
        let (upto, too_long) = (view.received_upto as u32, why.has(Signals::TOO_LONG));
        let report = ReportHeader { end: true, upto, too_long, ..silent() };
        tell(header, report, opening, Some(why.code()), into);
        true
    }
}
