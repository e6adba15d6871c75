//! Words and octets of one context.

use core::marker::PhantomData;
use core::net::SocketAddrV4;

use stackwright_contract::services::MessageProperties;
use stackwright_transport::component;
use stackwright_transport::slots::{CheckAt, Format};
use stackwright_transport::words::{
    Dropped, Incoming, Label, Numbering, Outgoing, Report, Signals, Unit, View,
};
use stackwright_wire::{Header, Malformed, Message};

use super::header::{Addresses, Control, Diagnostic, Options, Packet, PacketFormat, Span};

/// The longest packet.
const PACKET: usize = 600;

const SIGNALS: [(Signals, Options); 3] = [
    (Signals::FINISH, Options::WCLOSE),
    (Signals::STOP, Options::RCLOSE),
    (Signals::END, Options::END),
];

/// The count of spans, in ECNTL.
const COUNT: usize = 4;

/// Knows the keys, which tell contexts apart: its own, and the peer's once a packet has shown it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Xtp4<M> {
    key: u64,
    peer_key: Option<u64>,
    here: SocketAddrV4,
    there: SocketAddrV4,
    message: PhantomData<fn() -> M>,
}

impl<M> Xtp4<M> {
    pub(super) const fn new(key: u64, here: SocketAddrV4, there: SocketAddrV4) -> Self {
        Xtp4 { key, peer_key: None, here, there, message: PhantomData }
    }

    fn knows(&mut self, header: &Packet) -> bool {
        if header.returned {
            return header.key == self.key;
        }
        *self.peer_key.get_or_insert(header.key) == header.key
    }

    /// The key of what leaves: the peer's, returned, once it is known.
    fn keys(&self) -> (bool, u64) {
        (self.peer_key.is_some(), self.peer_key.unwrap_or(self.key))
    }

    fn addresses(&self) -> Addresses {
        Addresses {
            length: (),
            domain: 0,
            format: (),
            destination: self.there.ip().to_bits(),
            source: self.here.ip().to_bits(),
            destination_port: self.there.port(),
            source_port: self.here.port(),
            traffic_length: (),
            service: 4,
            traffic_format: (),
            unused: 0,
        }
    }
}

/// Writes that a context is over, or was never made; the sum is left out.
pub(super) fn diagnose(returned: bool, key: u64, diagnostic: Diagnostic, octets: &mut Vec<u8>) {
    put(
        &Packet {
            returned,
            key,
            options: Options::END,
            version: (),
            format: PacketFormat::Diagnostic,
            length: Diagnostic::LENGTH as u32,
            check: 0,
            sort: 0,
            sync: 0,
            sequence: 0,
        },
        octets,
    );
    put(&diagnostic, octets);
}

fn malformed(_: Malformed) -> Dropped {
    Dropped::Malformed
}

fn put<H: Header>(header: &H, octets: &mut Vec<u8>) {
    let start = octets.len();
    octets.resize(start + H::LENGTH, 0);
    header.encode(&mut octets[start..]);
}

fn unit<M: Message>(view: &View, header: &Packet, body: M) -> Result<Option<Unit<M>>, Dropped> {
    let end = header.sequence.checked_add(body.len() as u64).ok_or(Dropped::Malformed)?;
    let label = Label { last: header.options.has(Options::EOM), ..Label::default() };
    let span = header.sequence..end;
    Ok((!span.is_empty()).then_some(Unit { span, label, body, since: view.now, lifetime: None }))
}

/// Rising, and none touches another: else it is not what a receiver has.
fn spans<M: Message>(packet: &mut M, report: &mut Report) -> Result<(), Dropped> {
    let count = packet.front(COUNT).and_then(|count| count.try_into().ok()).map(u32::from_be_bytes);
    packet.advance(count.map_or(0, |_| COUNT));
    if count.map(|count| count as usize * Span::LENGTH) != Some(packet.len()) {
        return Err(Dropped::Malformed);
    }
    let mut from = report.upto;
    while !packet.is_empty() {
        let span = packet.pull::<Span>().map_err(malformed)?;
        if span.left <= from || span.right <= span.left {
            return Err(Dropped::Malformed);
        }
        report.missing.push(from..span.left);
        report.held.push(span.left..span.right);
        from = span.right;
    }
    Ok(())
}

impl<M: Message> Format<M> for Xtp4<M> {
    type Front = ();

    fn numbering(&self) -> Numbering {
        Numbering::Octets
    }

    fn first(&self) -> u64 {
        0
    }

    fn room(&self, _: usize, _: &MessageProperties) -> usize {
        PACKET - self.headroom()
    }

    fn headroom(&self) -> usize {
        Packet::LENGTH + Addresses::LENGTH
    }

    fn report_room(&self) -> usize {
        (PACKET - Packet::LENGTH - Control::LENGTH - COUNT) / Span::LENGTH
    }

    fn check(&self, front: &[u8], octets: usize) -> Option<CheckAt> {
        let header = Packet::decode(front).ok()?;
        let end = if header.options.has(Options::NOCHECK) { Packet::LENGTH } else { octets };
        Some(CheckAt { field: 16, covers: 0..end })
    }

    fn decode(
        &mut self,
        view: &View,
        _: Option<&()>,
        mut packet: M,
        report: &mut Report,
    ) -> Result<Incoming<M>, Dropped> {
        let header = packet.pull::<Packet>().map_err(malformed)?;
        if header.length as usize != packet.len() {
            return Err(Dropped::Malformed);
        }
        if !self.knows(&header) {
            return Err(Dropped::NotOurs);
        }
        let mut segment = Incoming {
            inquiry: header.options.has(Options::SREQ).then_some(header.sync.into()),
            next: Some(header.sequence),
            ..Incoming::silent()
        };
        for (signal, option) in SIGNALS {
            segment.signals = segment.signals.with(signal.when(header.options.has(option)));
        }
        match header.format {
            PacketFormat::First | PacketFormat::Data => {
                if header.format == PacketFormat::First {
                    packet.pull::<Addresses>().map_err(malformed)?;
                    segment.signals = segment.signals.with(Signals::OPEN);
                }
                segment.unit = unit(view, &header, packet)?;
                segment.next = segment.unit.as_ref().map(|unit| unit.span.end);
            }
            PacketFormat::Control | PacketFormat::ErrorControl => {
                let control = packet.pull::<Control>().map_err(malformed)?;
                (report.upto, report.answers) = (control.received, Some(control.echo));
                if header.format == PacketFormat::ErrorControl {
                    spans(&mut packet, report)?;
                }
                (segment.reports, segment.credit) = (true, Some(control.allocated));
            }
            PacketFormat::Diagnostic => {
                let Diagnostic { code, value } = packet.pull().map_err(malformed)?;
                let signal =
                    if code == Diagnostic::REFUSED { Signals::REFUSE } else { Signals::END };
                segment.signals = signal.with(Signals::because(value));
            }
        }
        Ok(segment)
    }

    fn encode(&mut self, view: &View, say: &mut Outgoing<'_>, octets: &mut Vec<u8>) {
        if say.signals.has(Signals::END) && !say.signals.has(Signals::FINISH) {
            let (returned, key) = self.keys();
            let value = core::mem::take(&mut say.signals).code();
            return diagnose(
                returned,
                key,
                Diagnostic { code: Diagnostic::ABANDONED, value },
                octets,
            );
        }
        let opening = say.signals.has(Signals::OPEN);
        let report = say.report.take();
        let unit = if report.is_some() { None } else { say.unit.take() };
        let format = match (report, unit) {
            (Some(report), _) if report.held.is_empty() => PacketFormat::Control,
            (Some(_), _) => PacketFormat::ErrorControl,
            (None, Some(unit)) if !opening || unit.span.start > 0 => PacketFormat::Data,
            (None, None) if !opening => PacketFormat::Control,
            _ => PacketFormat::First,
        };
        // The inquiry rides on the last packet there is.
        let inquiry = if say.unit.is_none() { say.inquiry.take() } else { None };
        let mut options = Options::SREQ
            .when(inquiry.is_some())
            .with(Options::EOM.when(unit.is_some_and(|unit| unit.label.last)));
        // The end of a half rides on its last data; all else tells what was received as well, and
        // so on none.
        let says = match &unit {
            // Before the data that still waits, nothing ends.
            None if say.unit.is_some() => Signals::NONE,
            None => say.signals,
            Some(unit) => Signals::FINISH
                .when(say.signals.has(Signals::FINISH) && unit.span.end >= view.sent_upto),
        };
        for (signal, option) in SIGNALS {
            options = options.with(option.when(says.has(signal)));
        }
        let first = format == PacketFormat::First;
        say.signals = say
            .signals
            .without(says)
            .without(Signals::OPEN.when(first))
            .with(Signals::OPEN.when(opening && !first));
        let sequence = match unit {
            Some(unit) => unit.span.start,
            None => view.sent_upto,
        };
        let (returned, key) = self.keys();
        put(
            &Packet {
                returned,
                key,
                options,
                version: (),
                format,
                length: 0,
                check: 0,
                sort: 0,
                sync: inquiry.map_or(view.asked, |question| question.number),
                sequence,
            },
            octets,
        );
        if first {
            put(&self.addresses(), octets);
        }
        if matches!(format, PacketFormat::Control | PacketFormat::ErrorControl) {
            let allocated = say.credit.take().unwrap_or(view.received_upto);
            let echo = report.and_then(|report| report.answers).unwrap_or(view.answered);
            put(&Control { received: view.received_upto, allocated, echo }, octets);
        }
        if let Some(report) = report.filter(|_| format == PacketFormat::ErrorControl) {
            octets.extend_from_slice(&(report.held.len() as u32).to_be_bytes());
            for span in &report.held {
                put(&Span { left: span.start, right: span.end }, octets);
            }
        }
        let length = octets.len() - Packet::LENGTH + unit.map_or(0, |unit| unit.octets);
        octets[12..16].copy_from_slice(&(length as u32).to_be_bytes());
    }
}

component! {
    <M> Xtp4<M>: "format of XTP 4.0", "writes XTP's packets",
    gives: Property::SPANS
        .and(Property::INQUIRIES)
        .and(Property::CREDIT)
        .and(Property::MARKS)
        .and(Property::SIGNALS)
        .and(Property::CHECK_FIELD)
        .and(Property::COUNTS_OCTETS),
}
