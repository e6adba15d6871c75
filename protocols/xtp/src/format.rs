//! Words and octets of one context.

use core::marker::PhantomData;
use core::mem;
use core::net::SocketAddr;

use alloc::sync::Arc;
use alloc::vec::Vec;

use stackwright_contract::services::MessageProperties;
use stackwright_contract::{Address, Participant};
use stackwright_transport::component;
use stackwright_transport::slots::{CheckAt, Format, Front};
use stackwright_transport::words::{
    self, Dropped, Ending, Incoming, Label, Numbering, Outgoing, Report, ReportRequest, Signals,
    Unit, View,
};
use stackwright_wire::{Header, Malformed, Message};

use crate::config::{self, Config};
use crate::header::{
    AddressHeader, ControlSegment, DiagnosticSegment, Internet6Address, InternetAddress,
    KeyExchange, MessageTag, SpanCount, SpanSegment, TrafficHeader, TrafficTerms, XtpKind,
    XtpOptions, XtpPacket,
};
use crate::key::ContextKey;

/// Where the check of a packet stands.
const CHECK: usize = 16;
/// Where its length stands.
const LENGTH: usize = 12;
/// The octets of the longest traffic specifier.
const TRAFFIC_MOST: usize = TrafficHeader::LENGTH + TrafficTerms::LENGTH;
/// The octets of one that says nothing.
const TRAFFIC_LEAST: usize = TrafficHeader::LENGTH + 4;
/// The longest address segment.
const ADDRESS_MOST: usize = AddressHeader::LENGTH + Internet6Address::LENGTH;
/// The most octets before data.
pub(crate) const HEADER_MOST: usize = XtpPacket::LENGTH + ADDRESS_MOST + TRAFFIC_MOST + TAG;
/// The octets of a tag.
const TAG: usize = MessageTag::LENGTH;

const SIGNALS: [(Signals, XtpOptions); 3] = [
    (Signals::FINISH, XtpOptions::WCLOSE),
    (Signals::STOP, XtpOptions::RCLOSE),
    (Signals::END, XtpOptions::END),
];

/// What is fixed of the packets of a service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// The number of the service.
    pub(crate) service: u8,
    /// The longest packet, in octets.
    pub(crate) packet: usize,
    /// XtpOptions that every packet bears.
    pub(crate) options: XtpOptions,
    /// Whether every packet of data is a FIRST until the peer has answered: any may be the first
    /// that arrives.
    pub(crate) opens_always: bool,
    /// Whether the peer answers.
    pub(crate) is_answered: bool,
    /// Whether all messages have a number.
    pub(crate) numbers: bool,
    /// The number of the inquiry before the first.
    pub(crate) sync: u32,
    /// How fast this side sends, where it tells that, and how fast it takes data.
    pub(crate) sends: Option<words::Terms>,
}

/// The packets of a context: it knows the keys that tell it from others.
#[derive(Clone, Debug)]
pub struct Xtp4<M> {
    terms: Terms,
    own: Option<ContextKey>,
    /// The key of the peer's context, once a packet has shown it.
    peer: Option<u64>,
    /// Whether the peer returns our key: it has heard us.
    is_known: bool,
    /// The bit EDGE of the last packet.
    edge: bool,
    /// Counts this context among those whose peer has not shown that it hears.
    half_open: Option<Arc<()>>,
    here: SocketAddr,
    there: SocketAddr,
    /// The most octets that the peer takes in a packet, behind its header; 0: no bound.
    longest: u32,
    message: PhantomData<fn() -> M>,
}

impl<M> Xtp4<M> {
    /// Creates the format of a context with the key `own`; `peer` is the peer's, where it opened.
    pub(crate) fn new(
        terms: Terms,
        own: Option<ContextKey>,
        peer: Option<u64>,
        (here, there): (SocketAddr, SocketAddr),
    ) -> Self {
        // What is told of a key is confirmed by its return.
        let is_known = peer.is_none() || own.is_none();
        Xtp4 {
            terms,
            own,
            peer,
            is_known,
            edge: false,
            half_open: None,
            here,
            there,
            longest: 0,
            message: PhantomData,
        }
    }

    /// Holds `half_open` until the peer returns our key.
    #[must_use]
    pub(crate) fn holding(self, half_open: Option<Arc<()>>) -> Self {
        Xtp4 { half_open, ..self }
    }

    /// Returns whether a packet is of this context.
    fn knows(&mut self, header: &XtpPacket) -> bool {
        let own = self.own.map(|own| own.number);
        let key = if header.returned { own } else { self.peer };
        let is_ours = key == Some(header.key);
        if is_ours && header.returned {
            (self.is_known, self.half_open) = (true, None);
        }
        is_ours
    }

    /// Returns the key of what leaves: the peer's, once it is known.
    fn key(&self) -> (bool, u64) {
        let own = self.own.map_or(0, |own| own.number);
        (self.peer.is_some(), self.peer.unwrap_or(own))
    }

    pub(crate) fn start(&self, format: XtpKind, options: XtpOptions) -> XtpPacket {
        let (returned, key) = self.key();
        let options = options.with(self.terms.options);
        XtpPacket {
            returned,
            key,
            options,
            version: (),
            format,
            length: 0,
            check: 0,
            sort: 0,
            sync: 0,
            sequence: 0,
        }
    }

    pub(crate) fn put_addresses(&self, octets: &mut Vec<u8>) {
        let head = |length: usize, format| AddressHeader {
            length: (AddressHeader::LENGTH + length) as u16,
            domain: 0,
            format,
        };
        let (destination_port, source_port) = (self.there.port(), self.here.port());
        match (self.there, self.here) {
            (SocketAddr::V4(there), SocketAddr::V4(here)) => {
                put(&head(InternetAddress::LENGTH, AddressHeader::INTERNET), octets);
                let (destination, source) = (there.ip().to_bits(), here.ip().to_bits());
                put(
                    &InternetAddress { destination, source, destination_port, source_port },
                    octets,
                );
            }
            (there, here) => {
                let address = |end: SocketAddr| match end {
                    SocketAddr::V4(end) => end.ip().to_ipv6_mapped().octets(),
                    SocketAddr::V6(end) => end.ip().octets(),
                };
                put(&head(Internet6Address::LENGTH, AddressHeader::INTERNET_6), octets);
                let (destination, source) = (address(there), address(here));
                put(
                    &Internet6Address { destination, source, destination_port, source_port },
                    octets,
                );
            }
        }
    }

    /// Returns the most octets between the header and data without a number.
    fn before(&self) -> usize {
        ADDRESS_MOST + if self.terms.sends.is_some() { TRAFFIC_MOST } else { TRAFFIC_LEAST }
    }

    pub(crate) fn put_traffic(&self, takes: Option<words::Terms>, octets: &mut Vec<u8>) {
        let service = self.terms.service;
        let (Some(takes), Some(sends)) = (takes, self.terms.sends) else {
            put(&TrafficHeader { length: TRAFFIC_LEAST as u16, service, format: 0 }, octets);
            return octets.extend_from_slice(&[0; 4]);
        };
        let format = TrafficHeader::TERMS;
        put(&TrafficHeader { length: TRAFFIC_MOST as u16, service, format }, octets);
        let terms = TrafficTerms {
            longest: 0,
            rate_in: takes.rate,
            burst_in: takes.burst,
            rate_out: sends.rate,
            burst_out: sends.burst,
        };
        put(&terms, octets);
    }

    /// Heeds the terms of a peer, and returns how fast it takes data.
    fn heed(&mut self, terms: Option<TrafficTerms>) -> Option<words::Terms> {
        let TrafficTerms { longest, rate_in: rate, burst_in: burst, .. } = terms?;
        self.longest = longest;
        Some(words::Terms { rate, burst })
    }
}

/// Returns the address of a peer, for the address segment of FIRST; over IP it has no port.
pub(crate) fn place(peer: Participant) -> SocketAddr {
    match peer.address {
        Address::InternetProtocol { host, .. } => SocketAddr::new(host, 0),
        _ => peer.internet().unwrap_or(Config::UNSPECIFIED),
    }
}

/// Returns the octets that the check of a packet covers.
pub(crate) fn check(header: &XtpPacket, octets: usize) -> CheckAt {
    let end = if header.options.has(XtpOptions::NOCHECK) { XtpPacket::LENGTH } else { octets };
    CheckAt { field: CHECK, covers: 0..end }
}

/// Appends a DIAG; its check is left out.
pub(crate) fn diagnose(header: XtpPacket, diagnostic: DiagnosticSegment, octets: &mut Vec<u8>) {
    put(&XtpPacket { length: DiagnosticSegment::LENGTH as u32, ..header }, octets);
    put(&diagnostic, octets);
}

pub(crate) fn malformed(_: Malformed) -> Dropped {
    Dropped::Malformed
}

pub(crate) fn put<H: Header>(header: &H, octets: &mut Vec<u8>) {
    let start = octets.len();
    octets.resize(start + H::LENGTH, 0);
    header.encode(&mut octets[start..]);
}

/// What a traffic specifier says: the service, and perhaps terms.
type Traffic = (u8, Option<TrafficTerms>);

/// Reads the address segment and the traffic specifier of a FIRST.
pub(crate) fn pull_opening<M: Message>(
    packet: &mut M,
) -> Result<(AddressHeader, Traffic), Malformed> {
    let address = packet.pull::<AddressHeader>()?;
    skip(packet, usize::from(address.length), AddressHeader::LENGTH)?;
    Ok((address, pull_traffic(packet)?))
}

pub(crate) fn pull_traffic<M: Message>(packet: &mut M) -> Result<Traffic, Malformed> {
    let traffic = packet.pull::<TrafficHeader>()?;
    let (mut read, mut terms) = (TrafficHeader::LENGTH, None);
    if traffic.format == TrafficHeader::TERMS && usize::from(traffic.length) >= TRAFFIC_MOST {
        (read, terms) = (TRAFFIC_MOST, Some(packet.pull::<TrafficTerms>()?));
    }
    skip(packet, usize::from(traffic.length), read)?;
    Ok((traffic.service, terms))
}

/// Removes what is left of a segment of `length` octets, whose header was read.
fn skip<M: Message>(packet: &mut M, length: usize, header: usize) -> Result<(), Malformed> {
    let rest = length.checked_sub(header).filter(|rest| *rest <= packet.len());
    packet.advance(rest.ok_or(Malformed::Field("length"))?);
    Ok(())
}

fn unit<M: Message>(
    view: &View,
    header: &XtpPacket,
    mut body: M,
) -> Result<Option<Unit<M>>, Dropped> {
    let last = header.options.has(XtpOptions::EOM);
    let label = if header.options.has(XtpOptions::BTAG) {
        let MessageTag { number, .. } = body.pull().map_err(malformed)?;
        Label { message: number, count: 1, last, ..Label::default() }
    } else {
        Label { last, ..Label::default() }
    };
    let sorts = header.options.has(XtpOptions::SORT);
    let sort = u8::try_from(header.sort).unwrap_or(u8::MAX);
    let label = Label { priority: if sorts { sort } else { config::USUAL }, ..label };
    let end = header.sequence.checked_add(body.len() as u64).ok_or(Dropped::Malformed)?;
    let span = header.sequence..end;
    Ok((!span.is_empty()).then_some(Unit { span, label, body, since: view.now, lifetime: None }))
}

/// Reads spans: they rise, and none touches another, or they are not what a receiver has.
pub(crate) fn spans<M: Message>(packet: &mut M, report: &mut Report) -> Result<(), Dropped> {
    let count = packet.pull::<SpanCount>().map_err(malformed)?.spans as usize;
    if count.checked_mul(SpanSegment::LENGTH) != Some(packet.len()) {
        return Err(Dropped::Malformed);
    }
    let mut from = report.upto;
    while !packet.is_empty() {
        let span = packet.pull::<SpanSegment>().map_err(malformed)?;
        if span.left <= from || span.right <= span.left {
            return Err(Dropped::Malformed);
        }
        report.missing.push(from..span.left);
        report.held.push(span.left..span.right);
        from = span.right;
    }
    Ok(())
}

impl<M: Message> Front<M> for XtpPacket {
    #[inline]
    fn read(packet: &mut M) -> Result<Self, Malformed> {
        XtpPacket::decode(packet.front(XtpPacket::LENGTH).ok_or(Malformed::TooShort)?)
    }
}

impl<M: Message> Format<M> for Xtp4<M> {
    type Front = XtpPacket;

    fn numbering(&self) -> Numbering {
        Numbering::Octets
    }

    fn first(&self) -> u64 {
        0
    }

    fn inquiries_behind(&self) -> u32 {
        self.terms.sync
    }

    fn locator(&self) -> u64 {
        self.own.map_or(0, |own| own.number)
    }

    fn room(&self, _: usize, properties: &MessageProperties) -> usize {
        // Whether FIRST or DATA carries it is not known yet.
        let tag = if self.terms.numbers || properties.number.is_some() { TAG } else { 0 };
        let before = self.before() + tag;
        let own = self.terms.packet - XtpPacket::LENGTH - before;
        match (self.longest as usize).saturating_sub(before) {
            0 => own,
            theirs => own.min(theirs),
        }
    }

    fn headroom(&self) -> usize {
        XtpPacket::LENGTH + self.before() + TAG
    }

    fn report_room(&self) -> usize {
        (self.terms.packet - XtpPacket::LENGTH - ControlSegment::LENGTH - SpanCount::LENGTH)
            / SpanSegment::LENGTH
    }

    fn runs(&self, _: u64) -> bool {
        // A FIRST says more.
        !self.terms.opens_always
    }

    fn check(&self, front: &[u8], octets: usize) -> Option<CheckAt> {
        Some(check(&XtpPacket::decode(front).ok()?, octets))
    }

    fn decode(
        &mut self,
        view: &View,
        front: Option<&XtpPacket>,
        mut packet: M,
        report: &mut Report,
    ) -> Result<Incoming<M>, Dropped> {
        let header = match front {
            Some(header) => {
                packet.advance(XtpPacket::LENGTH);
                *header
            }
            None => packet.pull::<XtpPacket>().map_err(malformed)?,
        };
        if header.length as usize != packet.len() {
            return Err(Dropped::Malformed);
        }
        if !self.knows(&header) {
            return Err(Dropped::NotOurs);
        }
        let [at_once, when_taken] =
            [XtpOptions::SREQ, XtpOptions::DREQ].map(|option| header.options.has(option));
        let edge = header.options.has(XtpOptions::EDGE);
        let at_once = at_once || edge != mem::replace(&mut self.edge, edge);
        let question = ReportRequest { number: header.sync, at_once, when_taken };
        let mut incoming = Incoming {
            inquiry: Some(question).filter(|_| at_once || when_taken),
            signals: Signals::CONFIRM.when(header.returned),
            next: Some(header.sequence),
            ..Incoming::silent()
        };
        for (signal, option) in SIGNALS {
            incoming.signals = incoming.signals.with(signal.when(header.options.has(option)));
        }
        match header.format {
            XtpKind::First | XtpKind::Data => {
                if header.format == XtpKind::First {
                    let (_, (_, terms)) = pull_opening(&mut packet).map_err(malformed)?;
                    incoming.terms = self.heed(terms);
                    incoming.signals = incoming.signals.with(Signals::OPEN);
                }
                incoming.unit = unit(view, &header, packet)?;
                if let Some(unit) = &incoming.unit {
                    incoming.next = Some(unit.span.end);
                }
            }
            XtpKind::Control | XtpKind::ErrorControl | XtpKind::TrafficControl => {
                let control = packet.pull::<ControlSegment>().map_err(malformed)?;
                (report.upto, report.answers) = (control.received, Some(control.echo));
                if header.format == XtpKind::ErrorControl {
                    spans(&mut packet, report)?;
                }
                if header.format == XtpKind::TrafficControl {
                    let exchange = packet.pull::<KeyExchange>().map_err(malformed)?;
                    let (_, terms) = pull_traffic(&mut packet).map_err(malformed)?;
                    incoming.terms = self.heed(terms);
                    // A peer that knows that we know its key does not say it.
                    if exchange.key != 0 {
                        self.peer.get_or_insert(exchange.key & (u64::MAX >> 1));
                        incoming.signals = incoming.signals.with(Signals::ACCEPT);
                    }
                }
                (incoming.reports, incoming.credit) = (true, Some(control.allocated));
            }
            XtpKind::Diagnostic => {
                let DiagnosticSegment { code, value } = packet.pull().map_err(malformed)?;
                let signal =
                    if code == DiagnosticSegment::REFUSED { Signals::REFUSE } else { Signals::END };
                incoming.signals = signal.with(Signals::because(value));
            }
            XtpKind::JoinControl => return Err(Dropped::NotOurs),
        }
        Ok(incoming)
    }

    fn encode(&mut self, view: &View, say: &mut Outgoing<'_>, octets: &mut Vec<u8>) {
        if say.signals.has(Signals::END) && !say.signals.has(Signals::FINISH) {
            let value = mem::take(&mut say.signals).code();
            let header = self.start(XtpKind::Diagnostic, XtpOptions::END);
            return diagnose(
                header,
                DiagnosticSegment { code: DiagnosticSegment::ABANDONED, value },
                octets,
            );
        }
        let opening = say.signals.has(Signals::OPEN);
        let report = say.report.take();
        let unit = if report.is_some() { None } else { say.unit.take() };
        let control = match report {
            Some(report) if !report.held.is_empty() => XtpKind::ErrorControl,
            // Until the peer returns our key, it may not know it.
            _ if !self.is_known || say.terms.is_some() => XtpKind::TrafficControl,
            _ => XtpKind::Control,
        };
        let format = match (report, unit) {
            (Some(_), _) => control,
            (None, Some(unit)) if !opening || unit.span.start > 0 && !self.terms.opens_always => {
                XtpKind::Data
            }
            (None, None) if !opening => control,
            _ => XtpKind::First,
        };
        // What is not said ranks after what is (*chosen*: the usual one is in the middle).
        let sorts = say.priority != config::USUAL;
        // The inquiry rides on the last packet there is.
        let inquiry = if say.unit.is_none() { say.inquiry.take() } else { None };
        let mut options = XtpOptions::EOM.when(unit.is_some_and(|unit| unit.label.last));
        let begins = |label: &Label| label.count > 0 && label.index == 0;
        let tag = unit.map(|unit| unit.label).filter(|label| begins(label));
        options = options.with(XtpOptions::BTAG.when(tag.is_some()));
        options = options.with(XtpOptions::SORT.when(sorts));
        let asks = |kind: fn(&ReportRequest) -> bool| inquiry.as_ref().is_some_and(kind);
        options = options
            .with(XtpOptions::SREQ.when(asks(|question| question.at_once)))
            .with(XtpOptions::DREQ.when(asks(|question| question.when_taken)));
        // The end of a half rides on its last data; all else tells what was received as well, and
        // so on none.
        let says = match &unit {
            // Before the data that still waits, nothing ends.
            None if say.unit.is_some() => Signals::NONE,
            None => say.signals,
            Some(unit) if unit.span.end < view.sent_upto => Signals::NONE,
            Some(_) if view.received_upto > 0 => say.signals.shared(Signals::FINISH),
            Some(_) => say.signals,
        };
        for (signal, option) in SIGNALS {
            options = options.with(option.when(says.has(signal)));
        }
        let first = format == XtpKind::First;
        let told = says.without(Signals::OPEN).with(Signals::OPEN.when(first));
        say.signals = say.signals.without(told);
        let header = XtpPacket {
            sort: if options.has(XtpOptions::SORT) { say.priority.into() } else { 0 },
            sync: inquiry.map_or(view.asked, |question| question.number),
            sequence: unit.map_or(view.sent_upto, |unit| unit.span.start),
            ..self.start(format, options)
        };
        put(&header, octets);
        match format {
            XtpKind::First => {
                self.put_addresses(octets);
                self.put_traffic(say.terms.take(), octets);
            }
            XtpKind::Control | XtpKind::ErrorControl | XtpKind::TrafficControl => {
                let allocated = say.credit.take().unwrap_or(view.received_upto);
                let echo = report.and_then(|report| report.answers).unwrap_or(view.answered);
                put(&ControlSegment { received: view.received_upto, allocated, echo }, octets);
            }
            _ => {}
        }
        match (format, report) {
            (XtpKind::ErrorControl, Some(report)) => {
                put(&SpanCount { spans: report.held.len() as u32 }, octets);
                for span in &report.held {
                    put(&SpanSegment { left: span.start, right: span.end }, octets);
                }
            }
            (XtpKind::TrafficControl, _) => {
                let key = if self.is_known { 0 } else { Format::<M>::locator(self) };
                put(&KeyExchange { reserved: 0, key }, octets);
                self.put_traffic(say.terms.take(), octets);
            }
            _ => {}
        }
        if let Some(label) = tag {
            put(&MessageTag { reserved: 0, number: label.message }, octets);
        }
        let length = octets.len() - XtpPacket::LENGTH + unit.map_or(0, |unit| unit.octets);
        octets[LENGTH..][..4].copy_from_slice(&(length as u32).to_be_bytes());
    }

    fn farewell(&self, view: &View, why: Ending, into: &mut Vec<u8>) -> bool {
        if !self.terms.is_answered {
            return true; // a copy of a packet makes no other context, and nobody is told
        }
        // A peer that closes both halves is told that it is over, whatever it has not taken.
        if !matches!(why, Ending::Finished | Ending::Reset(_)) {
            let value = if let Ending::Aborted(code) = why { code } else { 0 };
            let header = self.start(XtpKind::Diagnostic, XtpOptions::END);
            diagnose(header, DiagnosticSegment { code: DiagnosticSegment::ABANDONED, value }, into);
            return true;
        }
        let ends = XtpOptions::WCLOSE.with(XtpOptions::RCLOSE).with(XtpOptions::END);
        let header = XtpPacket {
            length: ControlSegment::LENGTH as u32,
            sync: view.asked,
            sequence: view.sent_upto,
            ..self.start(XtpKind::Control, ends)
        };
        put(&header, into);
        let (received, echo) = (view.received_upto, view.answered);
        put(&ControlSegment { received, allocated: received, echo }, into);
        true
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
        .and(Property::TERMS)
        .and(Property::COUNTS_OCTETS),
}

#[cfg(test)]
mod tests {
    use stackwright_policies::integrity::Internet;
    use stackwright_transport::slots::Integrity;
    use stackwright_wire::BufferTree;

    use super::*;

    type M = BufferTree;

    /// Returns a context that has `key`, of a peer that has 1.
    fn context(key: u64) -> Xtp4<M> {
        let own = Some(ContextKey { ours: true, number: key });
        let terms = Terms {
            service: 4,
            packet: 600,
            options: XtpOptions::NONE,
            opens_always: false,
            is_answered: true,
            numbers: false,
            sync: 0,
            sends: None,
        };
        let ends = (Config::UNSPECIFIED, Config::UNSPECIFIED);
        Xtp4::new(terms, own, Some(1), ends)
    }

    /// Returns what arrives with these octets.
    fn heard(key: u64, octets: &[u8]) -> Result<(Incoming<M>, Report), Dropped> {
        let mut format = context(key);
        let (packet, mut report) = (M::with_headroom(0, octets), Report::default());
        let at = Format::<M>::check(&format, octets, octets.len());
        Internet::new().verify(&packet, at)?;
        Ok((format.decode(&View::START, None, packet, &mut report)?, report))
    }

    #[test]
    fn a_change_of_edge_asks_and_nothing_else() {
        let mut format = context(7);
        let mut asks = |options| {
            let header = XtpPacket {
                returned: true,
                key: 7,
                sync: 5,
                length: 1,
                ..format.start(XtpKind::Data, options)
            };
            let mut octets = Vec::new();
            put(&header, &mut octets);
            octets.push(0);
            let packet = M::with_headroom(0, &octets);
            let read = format.decode(&View::START, None, packet, &mut Report::default());
            read.expect("a packet").inquiry
        };
        let edges = [XtpOptions::NONE, XtpOptions::EDGE, XtpOptions::EDGE, XtpOptions::NONE];
        let asked = edges.map(|options| asks(options).map(|question| question.number));
        assert_eq!(asked, [None, Some(5), None, Some(5)]);
    }

    /// A message's number (BTAG) and the sort of its context (SORT) are the label's.
    #[test]
    fn a_tag_is_no_octet_of_the_data() {
        let mut format = context(7);
        let options = XtpOptions::BTAG.with(XtpOptions::SORT).with(XtpOptions::EOM);
        let header = XtpPacket {
            returned: true,
            key: 7,
            length: 10,
            sort: 9,
            sequence: 100,
            ..format.start(XtpKind::Data, options)
        };
        let mut octets = Vec::new();
        put(&header, &mut octets);
        octets.extend(b"\0\0\0\0\0\0\x01\x02hi");
        let packet = M::with_headroom(0, &octets);
        let read = format.decode(&View::START, None, packet, &mut Report::default());
        let unit = read.expect("a packet").unit.expect("data");
        assert_eq!((unit.span, unit.body.len()), (100..102, 2));
        let Label { message, count, priority, last, .. } = unit.label;
        assert_eq!((message, count, priority, last), (0x102, 1, 9, true));
        // A packet that is shorter than its tag is not data.
        octets.truncate(XtpPacket::LENGTH + 4);
        octets[LENGTH + 3] = 4;
        let packet = M::with_headroom(0, &octets);
        let read = format.decode(&View::START, None, packet, &mut Report::default());
        assert_eq!(read.unwrap_err(), Dropped::Malformed);
    }

    #[test]
    fn packets_are_read_as_the_definition_writes_them() {
        let data =
            b"\x00\x00\x00\x00\x00\x00\x00\x01\x00\x44\x00\x20\x00\x00\x00\x05\xBB\x5E\x00\x00\x00\x00\x00\x01\
            \x00\x00\x00\x00\x00\x00\x00\x64hello";
        let (incoming, _) = heard(7, data).unwrap();
        let unit = incoming.unit.unwrap();
        assert_eq!(
            (unit.span, unit.label.last, incoming.inquiry),
            (100..105, true, Some(1.into()))
        );

        let control = b"\x80\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x21\x00\x00\x00\x14\x7E\xF9\x00\x00\x00\x00\x00\x01\
            \x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x69\x00\x00\x00\x00\x00\x01\x00\x64\x00\x00\x00\x01";
        let (incoming, report) = heard(1, control).unwrap();
        assert_eq!((report.upto, report.answers, incoming.credit), (105, Some(1), Some(65_636)));
        assert_eq!(heard(2, control).unwrap_err(), Dropped::NotOurs);
    }
}
