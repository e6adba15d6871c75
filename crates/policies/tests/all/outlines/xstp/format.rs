//! Words and octets of one connection.

use core::marker::PhantomData;
use core::ops::Range;

use stackwright_contract::services::MessageProperties;
use stackwright_transport::component;
use stackwright_transport::slots::{CheckAt, Format};
use stackwright_transport::words::{
    Dropped, Incoming, Label, MILLISECOND, Numbering, Outgoing, Report, Signals, Unit, View, unwrap,
};
use stackwright_wire::{Header, Message};

use super::header::{Kind, Packet};

/// The longest packet: what a frame of packet radio leaves after two headers below.
const PACKET: usize = 178;

/// The flag of POLL: its sender has sent all; of STAT: its sender has all of that; of END: without
/// it, it is an abort.
const STREAM_END: u8 = 8;

/// The flag of END: its sender has all of the other side's stream.
const HAS_ALL: u8 = 1;

/// The octets of the code in an END that aborts, and in a BGREJ.
const CODE: usize = 4;

/// The octets of a boundary in a list.
const BOUNDARY: usize = 3;

/// Both sides begin here, so that numbers wrap at once.
const FIRST: u64 = (1 << 25) - 6;

const SIGNALS: [(Signals, Kind); 5] = [
    (Signals::OPEN, Kind::Begin),
    (Signals::ACCEPT, Kind::BeginAcknowledge),
    (Signals::REFUSE, Kind::Reject),
    (Signals::END, Kind::End),
    (Signals::ENDED, Kind::EndAcknowledge),
];

/// Knows the ports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sixteen<M> {
    here: u16,
    there: u16,
    message: PhantomData<fn() -> M>,
}

impl<M> Sixteen<M> {
    pub(super) const fn new(here: u16, there: u16) -> Self {
        Sixteen { here, there, message: PhantomData }
    }
}

/// First missing, first received after, next missing and so on; rising.
fn boundaries<M: Message>(view: &View, packet: &mut M) -> Result<Vec<u64>, Dropped> {
    let octets = packet.len();
    let (threes, []) = packet.front(octets).ok_or(Dropped::Malformed)?.as_chunks::<BOUNDARY>()
    else {
        return Err(Dropped::Malformed);
    };
    let number = |three: &[u8; BOUNDARY]| {
        unwrap(u32::from_be_bytes([0, three[0], three[1], three[2]]), 24, view.sent_upto)
    };
    let boundaries: Vec<u64> = threes.iter().map(number).collect();
    if boundaries.is_sorted_by(|one, other| one < other) {
        Ok(boundaries)
    } else {
        Err(Dropped::Malformed)
    }
}

fn pairs(boundaries: &[u64]) -> impl Iterator<Item = Range<u64>> {
    boundaries.chunks_exact(2).map(|pair| pair[0]..pair[1])
}

/// The flag stands for this signal here.
fn flag(flags: &mut u8, flag: u8, say: &mut Outgoing<'_>, signal: Signals) {
    if say.signals.has(signal) {
        *flags |= flag;
        say.signals = say.signals.without(signal);
    }
}

fn put(boundary: u64, list: &mut Vec<u8>) {
    list.extend_from_slice(&(boundary as u32).to_be_bytes()[1..]);
}

fn put_both(span: &Range<u64>, list: &mut Vec<u8>) {
    put(span.start, list);
    put(span.end, list);
}

impl<M: Message> Format<M> for Sixteen<M> {
    type Front = ();

    fn numbering(&self) -> Numbering {
        Numbering::Packets
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
        // Two boundaries each, and one before the first.
        ((PACKET - Packet::LENGTH) / BOUNDARY - 1) / 2
    }

    fn check(&self, _: &[u8], octets: usize) -> Option<CheckAt> {
        (octets >= Packet::LENGTH).then_some(CheckAt::new(14, 0..octets))
    }

    fn decode(
        &mut self,
        view: &View,
        _: Option<&()>,
        mut packet: M,
        report: &mut Report,
    ) -> Result<Incoming<M>, Dropped> {
        let header = packet.pull::<Packet>()?;
        if (header.destination, header.source) != (self.here, self.there) {
            return Err(Dropped::NotOurs);
        }
        let mut segment = Incoming::silent();
        match header.kind {
            Kind::Data => {
                let number = unwrap(header.number, 24, view.received_upto);
                let (span, label) = (number..number + 1, Label::default());
                segment.unit =
                    Some(Unit { span, label, body: packet, since: view.now, lifetime: None });
            }
            Kind::Poll => {
                segment.signals = Signals::FINISH.when(header.flags & STREAM_END != 0);
                let number = unwrap(header.poll, 24, u64::from(view.answered)) as u32;
                segment.inquiry = Some(number.into());
                segment.next = Some(unwrap(header.number, 24, view.received_upto));
            }
            Kind::Status | Kind::UnsolicitedStatus => {
                segment.signals = Signals::STOP.when(header.flags & STREAM_END != 0);
                report.upto = unwrap(header.number, 24, view.sent_upto);
                let boundaries = boundaries(view, &mut packet)?;
                if boundaries.first().is_some_and(|first| *first < report.upto) {
                    return Err(Dropped::Malformed);
                }
                report.missing.extend(pairs(&boundaries));
                if header.kind == Kind::Status {
                    report.answers = Some(unwrap(header.poll, 24, u64::from(view.asked)) as u32);
                    report.held.extend(pairs(boundaries.get(1..).unwrap_or_default()));
                }
                (segment.reports, segment.credit) =
                    (true, Some(report.upto + u64::from(header.credit)));
            }
            kind => {
                let known = SIGNALS.into_iter().find(|(_, other)| *other == kind);
                let signal = known.map_or(Signals::NONE, |(signal, _)| signal);
                segment.signals = signal
                    .with(Signals::FINISH.when(header.flags & STREAM_END != 0))
                    .with(Signals::STOP.when(header.flags & HAS_ALL != 0));
                if let Some(code) = packet.front(CODE).and_then(|code| code.try_into().ok()) {
                    segment.signals =
                        segment.signals.with(Signals::because(u32::from_be_bytes(code)));
                }
            }
        }
        Ok(segment)
    }

    fn encode(&mut self, view: &View, say: &mut Outgoing<'_>, octets: &mut Vec<u8>) {
        let signal = SIGNALS.into_iter().find(|(signal, _)| say.signals.has(*signal));
        let (mut list, mut flags) = (Vec::new(), 0);
        let (kind, number, poll) = if let Some((signal, kind)) = signal {
            if kind == Kind::End {
                flag(&mut flags, STREAM_END, say, Signals::FINISH);
                flag(&mut flags, HAS_ALL, say, Signals::STOP);
                if flags & STREAM_END == 0 {
                    list.extend_from_slice(&say.signals.code().to_be_bytes());
                }
                say.signals = say.signals.without(Signals::because(say.signals.code()));
            }
            say.signals = say.signals.without(signal);
            (kind, FIRST, 0)
        } else if let Some(report) = say.report.take() {
            flag(&mut flags, STREAM_END, say, Signals::STOP);
            match report.answers {
                Some(answer) => {
                    if !report.held.is_empty() {
                        put(report.upto, &mut list);
                    }
                    report.held.iter().for_each(|span| put_both(span, &mut list));
                    (Kind::Status, report.upto, answer)
                }
                None => {
                    report.missing.iter().for_each(|hole| put_both(hole, &mut list));
                    (Kind::UnsolicitedStatus, report.upto, 0)
                }
            }
        } else if let Some(unit) = say.unit.take() {
            (Kind::Data, unit.span.start, view.asked)
        } else {
            flag(&mut flags, STREAM_END, say, Signals::FINISH);
            (
                Kind::Poll,
                view.sent_upto,
                say.inquiry.take().map_or(view.asked, |question| question.number),
            )
        };
        let credit = say.credit.take().map_or(u8::MAX, |edge| {
            u8::try_from(edge.saturating_sub(view.received_upto)).unwrap_or(u8::MAX)
        });
        let header = Packet {
            source: self.here,
            destination: self.there,
            kind,
            flags,
            number: number as u32 & 0xff_ffff,
            poll: poll & 0xff_ffff,
            credit,
            time: (view.now.nanoseconds() / MILLISECOND) as u16,
            check: 0,
        };
        octets.resize(Packet::LENGTH, 0);
        header.encode(octets);
        octets.extend_from_slice(&list);
    }
}

component! {
    <M> Sixteen<M>: "format of XSTP", "writes XSTP's packets",
    gives: Property::SPANS
        .and(Property::INQUIRIES)
        .and(Property::CREDIT)
        .and(Property::SIGNALS)
        .and(Property::CHECK_FIELD)
        .and(Property::COUNTS_PACKETS),
}
