//! Words and octets of one association.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::ops::Range;

use stackwright_contract::services::{Code, MessageProperties};
use stackwright_transport::component;
use stackwright_transport::slots::{CheckAt, Format, Front};
use stackwright_transport::words::{
    Dropped, Ending, Incoming, Label, Numbering, Outgoing, PieceForm, Report, Signals, Unit, View,
    unwrap,
};
use stackwright_wire::{Header, Malformed, Message};

use crate::header::{
    InquiryNumber, LongCheck, NumberSpan, OpeningHashes, OpeningToken, PacketCheck, PieceHeader,
    ReasonCode, ReportHeader, TailoredHeader, TailoredKind,
};
use crate::opening::Opening;

/// The first number of both sides: 0 on the wire.
const FIRST: u64 = 1 << 32;

/// The most octets before a body: all that may precede it, with the longest check.
pub(crate) const HEADER_MOST: usize = TailoredHeader::LENGTH
    + LongCheck::LENGTH
    + OpeningHashes::LENGTH
    + InquiryNumber::LENGTH
    + PieceHeader::LENGTH;

/// The default priority of a message: packets carry none.
pub(crate) const PRIORITY: u8 = 128;

/// The most spans of each kind in a report.
const SPANS_MOST: usize = 100;

/// What is fixed of the packets of a configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PacketTerms {
    /// The longest packet, in octets.
    pub(crate) packet: usize,
    /// The check.
    pub(crate) check: PacketCheck,
    /// Whether the check covers bodies.
    pub(crate) covers_body: bool,
    /// Whether peers answer. Otherwise every packet opens, and nobody is told that it is over.
    pub(crate) answers: bool,
    /// Whether packets may be abandoned.
    pub(crate) abandons: bool,
    /// What both sides must have in common.
    pub(crate) hashes: OpeningHashes,
    /// Hashes of other protocols that a called side takes.
    pub(crate) accepts: &'static [u64],
}

impl PacketTerms {
    /// Returns the most octets before a message in one packet, of which the opening has `opening`.
    const fn before(&self, opening: usize) -> usize {
        TailoredHeader::LENGTH + self.check.octets() + opening + InquiryNumber::LENGTH
    }

    /// Returns the longest message that travels in one packet, in octets, once the opener has been
    /// answered.
    pub(crate) const fn unit_most(&self) -> usize {
        self.packet - self.before(OpeningToken::LENGTH)
    }

    /// Returns whether a called side takes an opener of this protocol.
    pub(crate) fn understands(&self, protocol: u64) -> bool {
        protocol == self.hashes.protocol || self.accepts.contains(&protocol)
    }

    /// Those of no association.
    pub(crate) const LEAST: PacketTerms = PacketTerms {
        packet: 256,
        check: PacketCheck::Absent,
        covers_body: true,
        answers: true,
        abandons: false,
        hashes: OpeningHashes { configuration: 0, protocol: 0 },
        accepts: &[],
    };
}

/// The packets of an association.
#[derive(Clone, Debug)]
pub struct TailoredFormat<M> {
    terms: PacketTerms,
    key: u16,
    /// Whether the peer opened it.
    called: bool,
    /// Of the called side: what the peer has to return. Of the other: what it returns.
    token: Option<u32>,
    /// On the called side, whether the peer returned it; on the other, whether it still has to be.
    is_open: bool,
    /// Counts this association among those whose peer has not shown that it hears.
    half_open: Option<Arc<()>>,
    message: PhantomData<fn() -> M>,
}

impl<M> TailoredFormat<M> {
    /// Creates the format of the side that opens.
    pub(crate) const fn calling(terms: PacketTerms, key: u16) -> Self {
        TailoredFormat {
            terms,
            key,
            called: false,
            token: None,
            is_open: false,
            half_open: None,
            message: PhantomData,
        }
    }

    /// Creates the format of the side that is called: the peer has to return `token`, and until
    /// then `half_open` is held.
    pub(crate) const fn called(
        terms: PacketTerms,
        key: u16,
        token: u32,
        half_open: Option<Arc<()>>,
    ) -> Self {
        TailoredFormat {
            terms,
            key,
            called: true,
            token: Some(token),
            is_open: false,
            half_open,
            message: PhantomData,
        }
    }

    /// Returns how far the opening is.
    fn opening(&self, signals: Signals) -> Opening {
        match self.token {
            _ if signals.has(Signals::OPEN) => Opening::Asked(self.terms.hashes),
            Some(token) if !self.is_open && self.called => Opening::Answered(token),
            Some(token) if !self.is_open => Opening::Confirmed(token),
            _ => Opening::Over,
        }
    }

    /// Returns the most octets that say how far the opening is.
    const fn opening_most(&self) -> usize {
        match self.token {
            None => OpeningHashes::LENGTH,
            Some(_) => OpeningToken::LENGTH,
        }
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
                self.half_open = None;
                Ok(Signals::CONFIRM)
            }
            _ => Err(Dropped::NotOurs),
        }
    }
}

/// Returns the octets before a body.
fn header_octets(header: &TailoredHeader) -> usize {
    TailoredHeader::LENGTH
        + header.check.octets()
        + Opening::octets(header.opening)
        + if header.asks { InquiryNumber::LENGTH } else { 0 }
        + match header.kind {
            TailoredKind::Piece | TailoredKind::Gap => PieceHeader::LENGTH,
            TailoredKind::Unit | TailoredKind::Report => 0,
        }
}

/// Returns where the check of a packet is, and what it covers.
pub(crate) fn check(terms: &PacketTerms, front: &[u8], octets: usize) -> Option<CheckAt> {
    let header = TailoredHeader::decode(front).ok()?;
    let covers_all = terms.covers_body || header.kind == TailoredKind::Report;
    let end = if covers_all { octets } else { header_octets(&header) };
    (header.check == terms.check)
        .then_some(CheckAt { field: TailoredHeader::LENGTH, covers: 0..end })
}

/// Appends the packet that tells that an association is over or was not made; its check is left
/// out.
pub(crate) fn tell(
    header: TailoredHeader,
    report: ReportHeader,
    opening: Opening,
    code: Code,
    octets: &mut Vec<u8>,
) {
    put(&TailoredHeader { opening: opening.stage(), ..header }, octets);
    octets.resize(octets.len() + header.check.octets(), 0);
    opening.put(octets);
    put(&report, octets);
    put(&ReasonCode { code }, octets);
}

/// Returns a report that tells nothing.
pub(crate) const fn silent() -> ReportHeader {
    ReportHeader {
        credits: false,
        answered: false,
        end: false,
        refuse: false,
        reserved: (),
        held: 0,
        missing: 0,
        upto: 0,
        credit: 0,
        answers: 0,
    }
}

fn malformed(_: Malformed) -> Dropped {
    Dropped::Malformed
}

pub(crate) fn put<H: Header>(header: &H, octets: &mut Vec<u8>) {
    let start = octets.len();
    octets.resize(start + H::LENGTH, 0);
    header.encode(&mut octets[start..]);
}

/// Reads spans: they rise from `from` on, and none touches another.
fn spans<M: Message>(
    packet: &mut M,
    count: u8,
    from: u64,
    into: &mut Vec<Range<u64>>,
) -> Result<(), Dropped> {
    let mut least = from;
    for _ in 0..count {
        let span = packet.pull::<NumberSpan>().map_err(malformed)?;
        let (start, end) = (unwrap(span.start, 32, from), unwrap(span.end, 32, from));
        if start < least || end <= start {
            return Err(Dropped::Malformed);
        }
        into.push(start..end);
        least = end;
    }
    Ok(())
}

impl<M: Message> Front<M> for TailoredHeader {
    #[inline]
    fn read(packet: &mut M) -> Result<Self, Malformed> {
        TailoredHeader::decode(packet.front(TailoredHeader::LENGTH).ok_or(Malformed::TooShort)?)
    }
}

impl<M: Message> Format<M> for TailoredFormat<M> {
    type Front = TailoredHeader;

    fn numbering(&self) -> Numbering {
        Numbering::Packets
    }

    fn first(&self) -> u64 {
        FIRST
    }

    fn peer_first(&self) -> Option<u64> {
        Some(FIRST)
    }

    fn room(&self, octets: usize, _: &MessageProperties) -> usize {
        let unit = self.terms.packet - self.terms.before(self.opening_most());
        if octets <= unit { unit } else { unit - PieceHeader::LENGTH }
    }

    /// Where pieces may be abandoned, those of a message have the numbers behind each other, so that
    /// the peer knows of which message nothing will come any more.
    fn overtaken_most(&self) -> usize {
        if self.terms.abandons { 0 } else { usize::MAX }
    }

    fn headroom(&self) -> usize {
        self.terms.before(self.opening_most()) + PieceHeader::LENGTH
    }

    fn report_room(&self) -> usize {
        let before = Format::<M>::headroom(self) + ReportHeader::LENGTH + ReasonCode::LENGTH;
        ((self.terms.packet - before) / (2 * NumberSpan::LENGTH)).min(SPANS_MOST)
    }

    fn check(&self, front: &[u8], octets: usize) -> Option<CheckAt> {
        check(&self.terms, front, octets)
    }

    fn decode(
        &mut self,
        view: &View,
        front: Option<&TailoredHeader>,
        mut packet: M,
        report: &mut Report,
    ) -> Result<Incoming<M>, Dropped> {
        let header = match front {
            Some(header) => {
                packet.advance(TailoredHeader::LENGTH);
                *header
            }
            None => packet.pull::<TailoredHeader>().map_err(malformed)?,
        };
        if (header.key, header.called) != (self.key, !self.called) {
            return Err(Dropped::NotOurs);
        }
        if header.check != self.terms.check || packet.len() < header.check.octets() {
            return Err(Dropped::Malformed);
        }
        packet.advance(header.check.octets());
        let opening = Opening::read(header.opening, &mut packet).map_err(malformed)?;
        let inquiry = match header.asks {
            true => Some(packet.pull::<InquiryNumber>().map_err(malformed)?.number.into()),
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
                let piece = packet.pull::<PieceHeader>().map_err(malformed)?;
                let is_gap = header.kind == TailoredKind::Gap;
                let fits = is_gap <= self.terms.abandons && packet.is_empty() == is_gap;
                if piece.index >= piece.count || !fits {
                    return Err(Dropped::Malformed);
                }
                let last = piece.index + 1 == piece.count;
                let (index, count) = (u32::from(piece.index), u32::from(piece.count));
                let form = if is_gap { PieceForm::Abandoned } else { PieceForm::Framed };
                Some(Label { message: piece.message, index, count, last, form, ..label })
            }
            TailoredKind::Report => None,
        };
        if let Some(label) = label {
            let span = number..number.checked_add(1).ok_or(Dropped::Malformed)?;
            incoming.next = Some(span.end);
            incoming.unit =
                Some(Unit { span, label, body: packet, since: view.now, lifetime: None });
        } else {
            let told = packet.pull::<ReportHeader>().map_err(malformed)?;
            if told.end || told.refuse {
                let ReasonCode { code } = packet.pull().map_err(malformed)?;
                let what = if told.refuse { Signals::REFUSE } else { Signals::END };
                signals = signals.with(what).with(Signals::because(code));
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

    fn encode(&mut self, view: &View, say: &mut Outgoing<'_>, octets: &mut Vec<u8>) {
        let report = say.report.take();
        let unit = if report.is_some() { None } else { say.unit.take() };
        // The inquiry rides on the last packet there is.
        let inquiry = if say.unit.is_none() { say.inquiry.take() } else { None };
        let opening = self.opening(say.signals);
        // The end of a half rides on its last data; all else tells what was received as well.
        let all = Signals::FINISH.with(Signals::STOP).with(Signals::END);
        let says = match &unit {
            // Before the data that still waits, nothing ends.
            None if say.unit.is_some() => Signals::NONE,
            None => say.signals.shared(all),
            Some(unit) if unit.span.end < view.sent_upto => Signals::NONE,
            Some(_) => say.signals.shared(Signals::FINISH),
        };
        let code = if says.has(Signals::END) { say.signals.code() } else { 0 };
        // How far the opening is, every packet tells: its token is the confirmation.
        let opens = Signals::OPEN.with(Signals::ACCEPT).with(Signals::CONFIRM);
        let told = says.with(say.signals.shared(opens));
        say.signals = say.signals.without(told.with(Signals::because(code)));
        let header = TailoredHeader {
            kind: match unit {
                Some(unit) if unit.label.is_abandoned() => TailoredKind::Gap,
                Some(unit) if unit.label.count > 1 => TailoredKind::Piece,
                Some(_) => TailoredKind::Unit,
                None => TailoredKind::Report,
            },
            binding: (),
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
            return;
        }
        let credit = say.credit.take();
        let answers = report.and_then(|report| report.answers);
        let told = ReportHeader {
            credits: credit.is_some(),
            answered: answers.is_some(),
            end: says.has(Signals::END),
            held: report.map_or(0, |report| report.held.len() as u8),
            missing: report.map_or(0, |report| report.missing.len() as u8),
            upto: report.map_or(view.received_upto, |report| report.upto) as u32,
            credit: credit.unwrap_or(0) as u32,
            answers: answers.unwrap_or(0),
            ..silent()
        };
        put(&told, octets);
        if told.end {
            put(&ReasonCode { code }, octets);
        }
        for span in report.iter().flat_map(|report| report.held.iter().chain(&report.missing)) {
            put(&NumberSpan { start: span.start as u32, end: span.end as u32 }, octets);
        }
    }

    fn farewell(&self, view: &View, why: Ending, into: &mut Vec<u8>) -> bool {
        if !self.terms.answers {
            return true;
        }
        let closes = matches!(why, Ending::Finished | Ending::Reset(_));
        let opening = self.opening(Signals::NONE);
        let header = TailoredHeader {
            kind: TailoredKind::Report,
            binding: (),
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
        let report = ReportHeader { end: true, upto: view.received_upto as u32, ..silent() };
        let code = if let Ending::Aborted(code) = why { code } else { 0 };
        tell(header, report, opening, code, into);
        true
    }
}

component! {
    <M> TailoredFormat<M>: "format of tailored packets", "writes what the configuration needs",
    gives: Property::SPANS
        .and(Property::INQUIRIES)
        .and(Property::CREDIT)
        .and(Property::FRAGMENTS)
        .and(Property::SIGNALS)
        .and(Property::GAPS)
        .and(Property::CHECK_FIELD)
        .and(Property::COUNTS_PACKETS),
}
