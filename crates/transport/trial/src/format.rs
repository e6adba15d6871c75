//! A format that carries everything.

use core::marker::PhantomData;
use core::ops::Range;

use stackwright_contract::services::{MessageKind, MessageProperties};
use stackwright_policies::connection::TwoStage;
use stackwright_transport::rules::{Component, Facts, Property};
use stackwright_transport::slots::{CheckAt, Format};
use stackwright_transport::words::{
    Dropped, Ending, Incoming, Label, Numbering, Outgoing, PieceForm, Report, Signals, Terms,
    Timestamp, Unit, View, unwrap,
};
use stackwright_wire::{Header, Message};

/// The longest packet.
const PACKET: usize = 600;

/// Both sides begin here, so that numbers wrap at once.
const FIRST: u64 = (1 << 33) - 6;

/// Before everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Header)]
struct Packet {
    /// The check.
    check: u32,
    /// A bit for each signal.
    signals: u16,
    /// It carries a unit.
    unit: bool,
    /// The last of its message.
    last: bool,
    /// It reports.
    reports: bool,
    /// The report answers a question.
    answers: bool,
    /// It asks.
    asks: bool,
    /// It grants credit.
    credits: bool,
    /// Applications' control.
    control: bool,
    /// The report says up to where all was received.
    rises: bool,
    /// It tells how fast its sender takes data.
    limits: bool,
    /// The unit was abandoned: its octets do not come.
    abandoned: bool,
    /// 0.
    #[bits(6)]
    spare: u8,
    /// Of the unit.
    priority: u8,
    /// How many spans are held.
    held: u16,
    /// How many spans are missing.
    missing: u16,
    /// Of the unit, or the sender's next.
    number: u32,
    /// All before it was received.
    upto: u32,
    /// Below this number nothing comes again.
    settled: u32,
    /// The question that is answered.
    answer: u32,
    /// The question that is asked.
    inquiry: u32,
    /// How far the peer may send.
    credit: u32,
    /// Of which message.
    message: u32,
    /// Which piece of it.
    index: u32,
    /// Of how many.
    count: u32,
    /// When it was said, in microseconds since 1970.
    at: u64,
    /// For how long it is valid from then on, in microseconds.
    valid: u32,
    /// How many octets a second its sender takes.
    rate: u32,
    /// How many at once.
    burst: u32,
}

/// Two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
struct Span {
    /// The first.
    start: u32,
    /// The one after the last.
    end: u32,
}

const SIGNALS: [Signals; 9] = [
    Signals::OPEN,
    Signals::ACCEPT,
    Signals::CONFIRM,
    Signals::REFUSE,
    Signals::FINISH,
    Signals::STOP,
    Signals::END,
    Signals::ENDED,
    TwoStage::AGAIN,
];

fn bits(signals: Signals) -> u16 {
    let bits = SIGNALS.iter().enumerate();
    bits.map(|(bit, signal)| u16::from(signals.has(*signal)) << bit).sum()
}

/// Carries everything; numbers count octets, or else packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Everything<const OCTETS: bool, M>(PhantomData<fn() -> M>);

impl<const OCTETS: bool, M> Everything<OCTETS, M> {
    /// Makes it.
    pub const fn new() -> Self {
        Everything(PhantomData)
    }
}

fn spans<M: Message>(packet: &mut M, count: u16, near: u64) -> Result<Vec<Range<u64>>, Dropped> {
    let read = |_| {
        let span = packet.pull::<Span>()?;
        let (start, end) = (unwrap(span.start, 32, near), unwrap(span.end, 32, near));
        if start < end { Ok(start..end) } else { Err(Dropped::Malformed) }
    };
    (0..count).map(read).collect()
}

impl<const OCTETS: bool, M: Message> Format<M> for Everything<OCTETS, M> {
    type Front = ();

    fn numbering(&self) -> Numbering {
        if OCTETS { Numbering::Octets } else { Numbering::Packets }
    }

    fn first(&self) -> u64 {
        FIRST
    }

    fn peer_first(&self) -> Option<u64> {
        Some(FIRST)
    }

    fn room(&self, _: usize, _: &MessageProperties) -> usize {
        PACKET - Packet::LENGTH
    }

    fn headroom(&self) -> usize {
        Packet::LENGTH
    }

    fn report_room(&self) -> usize {
        (PACKET - Packet::LENGTH) / (2 * Span::LENGTH)
    }

    fn check(&self, _: &[u8], octets: usize) -> Option<CheckAt> {
        (octets >= Packet::LENGTH).then_some(CheckAt::new(0, 0..octets))
    }

    fn decode(
        &mut self,
        view: &View,
        _: Option<&()>,
        mut packet: M,
        report: &mut Report,
    ) -> Result<Incoming<M>, Dropped> {
        let header = packet.pull::<Packet>()?;
        let mut segment = Incoming {
            reports: header.reports,
            inquiry: header.asks.then(|| header.inquiry.into()),
            credit: header.credits.then(|| unwrap(header.credit, 32, view.sent_upto)),
            stamp: Some(Timestamp { at: header.at, valid: header.valid }),
            terms: header.limits.then_some(Terms { rate: header.rate, burst: header.burst }),
            ..Incoming::silent()
        };
        for (bit, signal) in SIGNALS.into_iter().enumerate() {
            segment.signals = segment.signals.with(signal.when(header.signals >> bit & 1 == 1));
        }
        if header.reports {
            report.upto = if header.rises { unwrap(header.upto, 32, view.sent_upto) } else { 0 };
            report.answers = header.answers.then_some(header.answer);
            report.held = spans(&mut packet, header.held, view.sent_upto)?;
            report.missing = spans(&mut packet, header.missing, view.sent_upto)?;
        }
        let start = unwrap(header.number, 32, view.received_upto);
        segment.next = Some(start);
        if header.unit {
            let numbers = if OCTETS { packet.len() as u64 } else { 1 };
            if numbers == 0 || header.abandoned && !packet.is_empty() {
                return Err(Dropped::Malformed);
            }
            let label = Label {
                message: header.message,
                index: header.index,
                count: header.count,
                last: header.last,
                kind: if header.control { MessageKind::Control } else { MessageKind::Data },
                priority: header.priority,
                form: if header.abandoned { PieceForm::Abandoned } else { PieceForm::Framed },
            };
            let span = start..start + numbers;
            segment.next = Some(span.end);
            segment.settled = Some(unwrap(header.settled, 32, start).min(start));
            segment.unit =
                Some(Unit { span, label, body: packet, since: view.now, lifetime: None });
        }
        Ok(segment)
    }

    fn encode(&mut self, view: &View, say: &mut Outgoing<'_>, octets: &mut Vec<u8>) {
        // A report leaves alone, and the question with the last packet there is.
        let report = say.report.take();
        let unit = if report.is_some() { None } else { say.unit.take() };
        let inquiry = if say.unit.is_none() { say.inquiry.take() } else { None };
        let credit = say.credit.take();
        let terms = say.terms.take();
        let own = Timestamp { at: say.clock, valid: 0 };
        let stamp = if unit.is_some() { say.stamp } else { own };
        let label = unit.map_or_else(Label::default, |unit| *unit.label);
        let header = Packet {
            check: 0,
            signals: bits(say.signals),
            unit: unit.is_some(),
            last: label.last,
            reports: report.is_some(),
            answers: report.is_some_and(|report| report.answers.is_some()),
            asks: inquiry.is_some(),
            credits: credit.is_some(),
            control: label.kind == MessageKind::Control,
            rises: report.is_some_and(|report| report.upto > 0),
            priority: label.priority,
            held: report.map_or(0, |report| report.held.len() as u16),
            missing: report.map_or(0, |report| report.missing.len() as u16),
            number: unit.map_or(view.sent_upto, |unit| unit.span.start) as u32,
            upto: report.map_or(0, |report| report.upto as u32),
            settled: view.settled_upto as u32,
            answer: report.and_then(|report| report.answers).unwrap_or(0),
            inquiry: inquiry.map_or(0, |question| question.number),
            credit: credit.unwrap_or(0) as u32,
            message: label.message,
            index: label.index,
            count: label.count,
            at: stamp.at,
            valid: stamp.valid,
            limits: terms.is_some(),
            abandoned: label.is_abandoned(),
            spare: 0,
            rate: terms.unwrap_or_default().rate,
            burst: terms.unwrap_or_default().burst,
        };
        say.signals = Signals::NONE;
        octets.resize(Packet::LENGTH, 0);
        header.encode(octets);
        for span in report.iter().flat_map(|report| report.held.iter().chain(&report.missing)) {
            let at = octets.len();
            octets.resize(at + Span::LENGTH, 0);
            Span { start: span.start as u32, end: span.end as u32 }.encode(&mut octets[at..]);
        }
    }

    fn farewell(&self, view: &View, why: Ending, into: &mut Vec<u8>) -> bool {
        // A peer that closes both halves is told that it is over, whatever it has not taken.
        if !matches!(why, Ending::Finished | Ending::Reset(_)) {
            return false;
        }
        let header = Packet {
            signals: bits(Signals::FINISH.with(Signals::STOP).with(Signals::END)),
            reports: true,
            rises: view.received_upto > 0,
            number: view.sent_upto as u32,
            upto: view.received_upto as u32,
            settled: view.settled_upto as u32,
            ..Packet::default()
        };
        into.resize(Packet::LENGTH, 0);
        header.encode(into);
        true
    }
}

impl<const OCTETS: bool, M> Component for Everything<OCTETS, M> {
    const FACTS: Facts = {
        let counts = match OCTETS {
            true => Property::COUNTS_OCTETS,
            false => Property::COUNTS_PACKETS.and(Property::GAPS),
        };
        let name = if OCTETS { "a format of octets" } else { "a format of packets" };
        Facts {
            gives: counts
                .and(Property::SPANS)
                .and(Property::INQUIRIES)
                .and(Property::CREDIT)
                .and(Property::FRAGMENTS)
                .and(Property::MARKS)
                .and(Property::TIMES)
                .and(Property::SETTLES)
                .and(Property::TERMS)
                .and(Property::SIGNALS)
                .and(Property::CHECK_FIELD),
            ..Facts::of(name, "carries everything")
        }
    };
}
