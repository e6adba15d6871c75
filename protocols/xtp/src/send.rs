//! Writes packets: words to octets.

use core::mem;
use core::net::SocketAddr;
use core::ops::Range;

use alloc::vec::Vec;

use stackwright_transport::words::{
    self, Cargo, Ending, Label, Outgoing, ReportRequest, Signals, View,
};
use stackwright_wire::Header;

use crate::config;
use crate::format::{SIGNALS, TAG, TRAFFIC_LEAST, TRAFFIC_MOST, Xtp4};
use crate::header::{
    AddressHeader, ControlSegment, DiagnosticSegment, Internet6Address, InternetAddress,
    KeyExchange, MessageTag, SpanCount, SpanSegment, TrafficHeader, TrafficTerms, XtpKind,
    XtpOptions, XtpPacket,
};

/// Where the length of a packet stands.
pub(crate) const LENGTH: usize = 12;

pub(crate) fn put<H: Header>(header: &H, octets: &mut Vec<u8>) {
    let start = octets.len();
    octets.resize(start + H::LENGTH, 0);
    header.encode(&mut octets[start..]);
}

/// Returns what a DIAG says of the end of a context.
const fn abandoned(end: Signals) -> DiagnosticSegment {
    let is_long = end.has(Signals::TOO_LONG);
    let code = if is_long { DiagnosticSegment::TOO_LONG } else { DiagnosticSegment::ABANDONED };
    DiagnosticSegment { code, value: end.code() }
}

/// Appends a DIAG; its check is left out.
pub(crate) fn diagnose(header: XtpPacket, diagnostic: DiagnosticSegment, octets: &mut Vec<u8>) {
    put(&XtpPacket { length: DiagnosticSegment::LENGTH as u32, ..header }, octets);
    put(&diagnostic, octets);
}

/// Returns whether a unit begins a message, and is tagged.
fn begins(label: &Label) -> bool {
    label.count > 0 && label.index == 0
}

impl<M> Xtp4<M> {
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

    /// Returns the octets of a unit that leave now: all of them, unless the path does not pass
    /// them, or may not. Each has a number, so that a part is a packet as any other.
    fn part(&mut self, view: &View, unit: &Cargo<'_>) -> Range<usize> {
        let before =
            XtpPacket::LENGTH + self.terms.before() + if begins(unit.label) { TAG } else { 0 };
        let (number, whole) = (unit.span.start, unit.octets);
        match self.path.part_most(view, number, before + whole) {
            Some(most) => self.path.next_part(number, whole, most - before),
            None => 0..whole,
        }
    }

    /// Writes a packet without its body.
    pub(crate) fn write(&mut self, view: &View, say: &mut Outgoing<'_>, octets: &mut Vec<u8>) {
        if say.signals.has(Signals::END) && !say.signals.has(Signals::FINISH) {
            let header = self.start(XtpKind::Diagnostic, XtpOptions::END);
            return diagnose(header, abandoned(mem::take(&mut say.signals)), octets);
        }
        let opening = say.signals.has(Signals::OPEN);
        let report = say.report.take();
        let unit = if report.is_some() { None } else { say.unit.take() };
        let part = unit.map_or(0..0, |unit| self.part(view, &unit));
        let is_last = unit.is_none_or(|unit| part.end == unit.octets);
        if !is_last {
            say.unit = unit;
        }
        let control = match report {
            Some(report) if !report.held.is_empty() => XtpKind::ErrorControl,
            // Until the peer returns our key, it may not know it.
            _ if !self.is_known || say.terms.is_some() => XtpKind::TrafficControl,
            _ => XtpKind::Control,
        };
        let format = match (report, unit) {
            (Some(_), _) => control,
            (None, Some(unit))
                if !opening
                    || unit.span.start + part.start as u64 > 0 && !self.terms.opens_always =>
            {
                XtpKind::Data
            }
            (None, None) if !opening => control,
            _ => XtpKind::First,
        };
        // What is not said ranks after what is (*chosen*: the usual one is in the middle).
        let sorts = say.priority != config::USUAL;
        // The inquiry rides on the last packet there is.
        let inquiry = if say.unit.is_none() { say.inquiry.take() } else { None };
        let mut options = XtpOptions::EOM.when(unit.is_some_and(|unit| unit.label.last && is_last));
        let tag = unit.map(|unit| unit.label).filter(|label| begins(label) && part.start == 0);
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
            Some(unit) if unit.span.end < view.sent_upto || !is_last => Signals::NONE,
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
            sequence: unit.map_or(view.sent_upto, |unit| unit.span.start + part.start as u64),
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
                let key = if self.is_known { 0 } else { self.own.map_or(0, |own| own.number) };
                put(&KeyExchange { reserved: 0, key }, octets);
                self.put_traffic(say.terms.take(), octets);
            }
            _ => {}
        }
        if let Some(label) = tag {
            put(&MessageTag { reserved: 0, number: label.message }, octets);
        }
        let length = octets.len() - XtpPacket::LENGTH + part.len();
        octets[LENGTH..][..4].copy_from_slice(&(length as u32).to_be_bytes());
        say.part = unit.filter(|unit| part.len() < unit.octets).map(|_| part);
    }

    /// Writes the packet that tells a peer that this context is over, and why.
    pub(crate) fn write_farewell(&self, view: &View, why: Ending, into: &mut Vec<u8>) -> bool {
        if !self.terms.is_answered {
            return true; // a copy of a packet makes no other context, and nobody is told
        }
        // A peer that closes both halves is told that it is over, whatever it has not taken.
        if !matches!(why, Ending::Finished | Ending::Reset(_)) {
            let header = self.start(XtpKind::Diagnostic, XtpOptions::END);
            diagnose(header, abandoned(Signals::end(why)), into);
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
