//! Reads packets: octets to words.

use core::mem;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use stackwright_transport::slots::pull_front;
use stackwright_transport::words::{
    self, Dropped, Incoming, Label, Report, ReportRequest, Signals, Unit, View,
};
use stackwright_wire::{Header, Message};

use crate::config;
use crate::format::{SIGNALS, TRAFFIC_LEAST, TRAFFIC_MOST, Xtp4};
use crate::header::{
    AddressHeader, ControlSegment, DiagnosticSegment, Internet6Address, InternetAddress,
    KeyExchange, MessageTag, NullAddress, SpanCount, SpanSegment, TrafficHeader, TrafficTerms,
    XtpKind, XtpOptions, XtpPacket,
};

/// What a traffic specifier says: the service, and perhaps terms.
type Traffic = (u8, Option<TrafficTerms>);

/// Removes an address segment. Returns the destination that it names, if any.
///
/// # Errors
/// What is wrong with it, as the value of a DIAG.
pub(crate) fn pull_address<M: Message>(packet: &mut M) -> Result<Option<IpAddr>, u32> {
    const BAD: u32 = DiagnosticSegment::ADDRESS;
    let head = packet.pull::<AddressHeader>().map_err(|_| BAD)?;
    if head.domain != 0 {
        return Err(DiagnosticSegment::ADDRESS_FORMAT);
    }
    let (octets, destination) = match head.format {
        AddressHeader::NULL => {
            packet.pull::<NullAddress>().map_err(|_| BAD)?;
            (NullAddress::LENGTH, None)
        }
        AddressHeader::INTERNET => {
            let ends = packet.pull::<InternetAddress>().map_err(|_| BAD)?;
            (InternetAddress::LENGTH, Some(Ipv4Addr::from_bits(ends.destination).into()))
        }
        AddressHeader::INTERNET_6 => {
            let ends = packet.pull::<Internet6Address>().map_err(|_| BAD)?;
            (Internet6Address::LENGTH, Some(Ipv6Addr::from(ends.destination).into()))
        }
        _ => return Err(DiagnosticSegment::ADDRESS_FORMAT),
    };
    match usize::from(head.length) == AddressHeader::LENGTH + octets {
        true => Ok(destination),
        false => Err(BAD),
    }
}

/// Removes a traffic specifier.
///
/// # Errors
/// What is wrong with it, as the value of a DIAG.
pub(crate) fn pull_traffic<M: Message>(packet: &mut M) -> Result<Traffic, u32> {
    const BAD: u32 = DiagnosticSegment::TRAFFIC_MALFORMED;
    let head = packet.pull::<TrafficHeader>().map_err(|_| BAD)?;
    let (octets, terms) = match head.format {
        TrafficHeader::NO_TERMS => {
            packet.pull::<NullAddress>().map_err(|_| BAD)?;
            (TRAFFIC_LEAST, None)
        }
        TrafficHeader::TERMS => {
            (TRAFFIC_MOST, Some(packet.pull::<TrafficTerms>().map_err(|_| BAD)?))
        }
        _ => return Err(DiagnosticSegment::TRAFFIC_FORMAT),
    };
    if usize::from(head.length) == octets { Ok((head.service, terms)) } else { Err(BAD) }
}

fn unit<M: Message>(
    view: &View,
    header: &XtpPacket,
    mut body: M,
) -> Result<Option<Unit<M>>, Dropped> {
    let last = header.options.has(XtpOptions::EOM);
    let label = if header.options.has(XtpOptions::BTAG) {
        let MessageTag { number, .. } = body.pull()?;
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
    let count = packet.pull::<SpanCount>()?.spans as usize;
    if count.checked_mul(SpanSegment::LENGTH) != Some(packet.len()) {
        return Err(Dropped::Malformed);
    }
    let mut from = report.upto;
    while !packet.is_empty() {
        let span = packet.pull::<SpanSegment>()?;
        if span.left <= from || span.right <= span.left {
            return Err(Dropped::Malformed);
        }
        report.missing.push(from..span.left);
        report.held.push(span.left..span.right);
        from = span.right;
    }
    Ok(())
}

impl<M: Message> Xtp4<M> {
    /// Returns whether a packet is of this context.
    fn knows(&mut self, header: &XtpPacket) -> bool {
        let own = self.own.map(|own| own.number);
        let key = if header.returned { own } else { self.peer };
        let is_ours = key == Some(header.key);
        self.is_known |= is_ours && header.returned;
        is_ours
    }

    /// Heeds the terms of a peer, and returns how fast it takes data.
    fn heed(&mut self, terms: Option<TrafficTerms>) -> Option<words::Terms> {
        let TrafficTerms { longest, rate_in: rate, burst_in: burst, .. } = terms?;
        self.longest = longest;
        Some(words::Terms { rate, burst })
    }

    /// Reads a packet.
    pub(crate) fn read(
        &mut self,
        view: &View,
        front: Option<&XtpPacket>,
        mut packet: M,
        report: &mut Report,
    ) -> Result<Incoming<M>, Dropped> {
        let header = pull_front(front, &mut packet)?;
        if header.length as usize != packet.len() {
            return Err(Dropped::Malformed);
        }
        if !self.knows(&header) {
            return Err(Dropped::NotOurs);
        }
        let [at_once, when_taken] =
            [XtpOptions::SREQ, XtpOptions::DREQ].map(|option| header.options.has(option));
        // What an old packet asks was asked again since (the report's *less than*: discarded). Its
        // data are not older than what they fill.
        let is_old = (header.sync.wrapping_sub(self.sync.unwrap_or(header.sync)) as i32) < 0;
        let edge = header.options.has(XtpOptions::EDGE);
        let [at_once, when_taken] = [
            !is_old && (at_once || edge != mem::replace(&mut self.edge, edge)),
            !is_old && when_taken,
        ];
        if at_once || when_taken {
            self.sync = Some(header.sync);
        }
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
                    pull_address(&mut packet).map_err(|_| Dropped::Malformed)?;
                    let (_, terms) = pull_traffic(&mut packet).map_err(|_| Dropped::Malformed)?;
                    incoming.terms = self.heed(terms);
                    incoming.signals = incoming.signals.with(Signals::OPEN);
                }
                incoming.unit = unit(view, &header, packet)?;
                if let Some(unit) = &incoming.unit {
                    incoming.next = Some(unit.span.end);
                }
            }
            XtpKind::Control | XtpKind::ErrorControl | XtpKind::TrafficControl => {
                let control = packet.pull::<ControlSegment>()?;
                (report.upto, report.answers) = (control.received, Some(control.echo));
                if header.format == XtpKind::ErrorControl {
                    spans(&mut packet, report)?;
                }
                if header.format == XtpKind::TrafficControl {
                    let exchange = packet.pull::<KeyExchange>()?;
                    let (_, terms) = pull_traffic(&mut packet).map_err(|_| Dropped::Malformed)?;
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
                let DiagnosticSegment { code, value } = packet.pull()?;
                // With the key of ours, it is about data that overtook the FIRST.
                if code == DiagnosticSegment::INVALID && header.returned {
                    return Err(Dropped::NotOurs);
                }
                let signal = match code {
                    DiagnosticSegment::REFUSED => Signals::REFUSE,
                    DiagnosticSegment::TOO_LONG => Signals::END.with(Signals::TOO_LONG),
                    _ => Signals::END,
                };
                incoming.signals = signal.with(Signals::because(value));
            }
            XtpKind::JoinControl => return Err(Dropped::NotOurs),
        }
        Ok(incoming)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use stackwright_policies::integrity::Internet;
    use stackwright_transport::slots::{Format, Integrity};
    use stackwright_wire::BufferTree;

    use super::*;
    use crate::config::Config;
    use crate::format::Terms;
    use crate::key::ContextKey;
    use crate::send::{LENGTH, put};

    type M = BufferTree;

    /// Returns a context that has `key`, of a peer that has 1.
    fn context(key: u64) -> Xtp4<M> {
        let own = Some(ContextKey { ours: true, number: key });
        let terms = Terms {
            service: 4,
            packet: 600,
            longest: usize::MAX,
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
