//! Writes packets: words to octets.

use alloc::vec::Vec;
use core::ops::Range;

use stackwright_transport::words::{MILLISECOND, Outgoing, Signals, View};
use stackwright_wire::{Header as _, Message};

use super::{SIGNALS, VERSION, XstpFormat};
use crate::header::{GONE, HAS_ALL, STREAM_END, XstpHeader, XstpKind};

/// The lower bits of a number, as they are on the wire.
const fn low(number: u64) -> u32 {
    number as u32 & 0xff_ffff
}

/// Sets a flag for a signal that it stands for here.
fn flag(flags: &mut u8, flag: u8, say: &mut Outgoing<'_>, signal: Signals) {
    if say.signals.has(signal) {
        *flags |= flag;
        say.signals = say.signals.without(signal);
    }
}

fn put(boundary: u64, list: &mut Vec<u8>) {
    list.extend_from_slice(&low(boundary).to_be_bytes()[1..]);
}

fn put_both(span: &Range<u64>, list: &mut Vec<u8>) {
    put(span.start, list);
    put(span.end, list);
}

impl<M: Message> XstpFormat<M> {
    /// Writes a packet without its data.
    pub(super) fn write(&mut self, view: &View, say: &mut Outgoing<'_>, octets: &mut Vec<u8>) {
        say.terms = None;
        octets.resize(XstpHeader::LENGTH, 0);
        let mut header = self.header(view, XstpKind::Poll);
        let signal = SIGNALS.into_iter().find(|(signal, _)| say.signals.has(*signal));
        if let Some((signal, kind)) = signal {
            header.kind = kind;
            self.write_signal(&mut header, say, octets);
            let code = Signals::because(say.signals.code());
            say.signals = say.signals.without(signal).without(code);
        } else if let Some(report) = say.report.take() {
            flag(&mut header.flags, STREAM_END, say, Signals::STOP);
            header.number = low(report.upto);
            match report.answers {
                Some(answer) => {
                    (header.kind, header.poll) = (XstpKind::Status, low(answer.into()));
                    header.time = self.asked_at;
                    if !report.held.is_empty() {
                        put(report.upto, octets);
                    }
                    report.held.iter().for_each(|span| put_both(span, octets));
                }
                None => {
                    (header.kind, header.poll) = (XstpKind::UnsolicitedStatus, 0);
                    report.missing.iter().for_each(|hole| put_both(hole, octets));
                }
            }
        } else if let Some(unit) = say.unit.take() {
            header.number = low(unit.span.start);
            header.kind = XstpKind::Data;
            // What follows the newest data is known; where it comes once more, it is not told.
            if unit.span.end >= view.sent_upto
                && !say.signals.has(Signals::FINISH)
                && let Some(question) = say.inquiry.take()
            {
                (header.kind, header.poll) = (XstpKind::DataPoll, low(question.number.into()));
            }
        } else {
            flag(&mut header.flags, STREAM_END, say, Signals::FINISH);
            if let Some(question) = say.inquiry.take() {
                header.poll = low(question.number.into());
            }
        }
        let edge = say.credit.take().map(|edge| edge.saturating_sub(view.received_upto));
        header.credit = edge.map_or(u8::MAX, |edge| u8::try_from(edge).unwrap_or(u8::MAX));
        header.encode(octets);
    }

    /// Writes that the connection is not there any more; the peer's first number shows that this is
    /// no forgery.
    pub(super) fn write_gone(&self, view: &View, octets: &mut Vec<u8>) {
        let number = low(self.peer.unwrap_or(0));
        let header = XstpHeader { flags: GONE, number, ..self.header(view, XstpKind::Reject) };
        octets.resize(XstpHeader::LENGTH, 0);
        header.encode(octets);
    }

    /// Returns a header that says nothing but its kind.
    fn header(&self, view: &View, kind: XstpKind) -> XstpHeader {
        XstpHeader {
            source_port: self.ports.own,
            destination_port: self.ports.peer,
            kind,
            flags: 0,
            number: low(view.sent_upto),
            poll: low(view.asked.into()),
            credit: 0,
            time: (view.now.nanoseconds() / MILLISECOND) as u16,
            checksum: 0,
        }
    }

    fn write_signal(&self, header: &mut XstpHeader, say: &mut Outgoing<'_>, octets: &mut Vec<u8>) {
        match header.kind {
            XstpKind::Begin | XstpKind::BeginAcknowledge => {
                header.number = low(self.first);
                header.poll = match header.kind {
                    XstpKind::BeginAcknowledge => low(self.peer.unwrap_or(0)),
                    _ => 0,
                };
                let takes = (self.packet - XstpHeader::LENGTH) as u16;
                octets.push(VERSION);
                octets.extend_from_slice(&takes.to_be_bytes());
            }
            XstpKind::End => {
                flag(&mut header.flags, STREAM_END, say, Signals::FINISH);
                flag(&mut header.flags, HAS_ALL, say, Signals::STOP);
                if header.flags & STREAM_END == 0 {
                    octets.extend_from_slice(&say.signals.code().to_be_bytes());
                }
            }
            _ => {}
        }
    }
}
