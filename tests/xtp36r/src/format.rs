//! Packets of 4.0 in the layout of 3.6, and back.

use std::mem;

use stackwright_contract::Participant;
use stackwright_contract::services::MessageProperties;
use stackwright_transport::component;
use stackwright_transport::slots::{CheckAt, Format, Front, pull_front};
use stackwright_transport::words::{
    Dropped, Ending, Incoming, Numbering, Outgoing, Report, View, unwrap,
};
use stackwright_wire::{Header, Malformed, Message};
use stackwright_xtp::header::{
    ControlSegment, KeyExchange, SpanCount, SpanSegment, TrafficHeader, XtpKind, XtpOptions,
    XtpPacket,
};
use stackwright_xtp::services::context;
use stackwright_xtp::{Config, ContextKey, Xtp4, XtpService};

use crate::Connection36r;
use crate::header::{Control36r, Packet36r, Span36r};

/// Where the check of a packet stands.
const CHECK: usize = 16;
/// How much longer the header is than that of 4.0.
const LONGER: usize = Packet36r::LENGTH - XtpPacket::LENGTH;
/// What TCNTL has behind the header of traffic without terms.
const NO_TERMS: [u8; 4] = [0; 4];
/// The most bits of a key.
const KEY: u32 = 31;

/// The packets of a context. Its words are those of [`Xtp4`].
#[derive(Clone, Debug)]
pub struct Xtp36r<M> {
    words: Xtp4<M>,
    /// What stands on the wire for the number 0.
    first: u32,
}

impl<M: Message> Xtp36r<M> {
    pub(super) fn new(
        config: &Config,
        own: ContextKey,
        peer: Option<u64>,
        remote: Participant,
        first: u32,
    ) -> Self {
        let mut keys = peer.into_iter().chain([own.number]);
        assert!(keys.all(|key| key >> KEY == 0), "a key has at most {KEY} bits");
        let words = context::<M, Connection36r>(config, Some(own), peer, remote);
        Xtp36r { words: words.format().clone(), first }
    }

    fn wrapped(&self, number: u64) -> u32 {
        (number as u32).wrapping_add(self.first)
    }

    fn unwrapped(&self, number: u32, near: u64) -> u64 {
        unwrap(number.wrapping_sub(self.first), u32::BITS, near)
    }

    /// Translates a packet of 4.0, or what precedes its body.
    ///
    /// # Errors
    /// None: [`Xtp4`] has written it.
    fn translate(&self, octets: &mut Vec<u8>) -> Result<(), Malformed> {
        let said = mem::take(octets);
        let (header, mut rest) = pulled::<XtpPacket>(&said)?;
        let behind = rest.len();
        let format = match header.format {
            XtpKind::ErrorControl | XtpKind::TrafficControl => XtpKind::Control,
            other => other,
        };
        octets.resize(Packet36r::LENGTH, 0);
        if format == XtpKind::Control {
            let (control, after) = pulled::<ControlSegment>(rest)?;
            rest = after;
            let (mut xkey, mut spans) = (0, 0);
            if header.format == XtpKind::ErrorControl {
                (SpanCount { spans }, rest) = pulled(rest)?;
            }
            if header.format == XtpKind::TrafficControl {
                xkey = pulled::<KeyExchange>(rest)?.0.key as u32;
                rest = &[];
            }
            let segment = Control36r {
                rate: 0,
                burst: 0,
                echo: control.echo,
                time: 0,
                techo: 0,
                xkey,
                xroute: 0,
                allocated: self.wrapped(control.allocated),
                received: self.wrapped(control.received),
                spans,
            };
            put(&segment, octets);
            for _ in 0..spans {
                let (span, after) = pulled::<SpanSegment>(rest)?;
                let [left, right] = [span.left, span.right].map(|number| self.wrapped(number));
                put(&Span36r { left, right }, octets);
                rest = after;
            }
        }
        octets.extend_from_slice(rest);
        // A body follows that is not among these octets.
        let body = header.length as usize - behind;
        let header = Packet36r {
            returned: header.returned,
            key: header.key as u32,
            options: header.options,
            version: (),
            format,
            length: (octets.len() - Packet36r::LENGTH + body) as u32,
            offset: (),
            check: 0,
            sort: u32::from(header.sort),
            sync: header.sync,
            sequence: self.wrapped(header.sequence),
            route: 0,
            reserved: 0,
        };
        header.encode(octets);
        Ok(())
    }
}

impl<M: Message> Xtp36r<M> {
    /// Returns the octets that a packet of 4.0 has for a numbered message.
    fn numbered_room(&self) -> usize {
        let properties = MessageProperties { number: Some(0), ..MessageProperties::default() };
        Format::<M>::room(&self.words, 0, &properties)
    }

    /// Translates a CNTL, without its header, to one of 4.0: its kind, and its octets.
    fn control(&self, view: &View, mut packet: M) -> Result<(XtpKind, M), Dropped> {
        let segment = packet.pull::<Control36r>()?;
        let spans = segment.spans as usize;
        if spans.checked_mul(Span36r::LENGTH) != Some(packet.len()) {
            return Err(Dropped::Malformed);
        }
        // What the peer says of our octets is near those that were sent.
        let number = |number| self.unwrapped(number, view.sent_upto);
        let mut octets = Vec::new();
        put(
            &ControlSegment {
                received: number(segment.received),
                allocated: number(segment.allocated),
                echo: segment.echo,
            },
            &mut octets,
        );
        let kind = if spans > 0 {
            put(&SpanCount { spans: segment.spans }, &mut octets);
            while !packet.is_empty() {
                let Span36r { left, right } = packet.pull()?;
                put(&SpanSegment { left: number(left), right: number(right) }, &mut octets);
            }
            XtpKind::ErrorControl
        } else if segment.xkey != 0 {
            put(&KeyExchange { reserved: 0, key: u64::from(segment.xkey) }, &mut octets);
            let length = (TrafficHeader::LENGTH + NO_TERMS.len()) as u16;
            let service = Connection36r::NUMBER;
            put(&TrafficHeader { length, service, format: 0 }, &mut octets);
            octets.extend(NO_TERMS);
            XtpKind::TrafficControl
        } else {
            XtpKind::Control
        };
        Ok((kind, M::with_headroom(XtpPacket::LENGTH, &octets)))
    }
}

fn put<H: Header>(header: &H, octets: &mut Vec<u8>) {
    let start = octets.len();
    octets.resize(start + H::LENGTH, 0);
    header.encode(&mut octets[start..]);
}

fn pulled<H: Header>(octets: &[u8]) -> Result<(H, &[u8]), Malformed> {
    let (header, rest) = octets.split_at_checked(H::LENGTH).ok_or(Malformed::TooShort)?;
    Ok((H::decode(header)?, rest))
}

impl<M: Message> Front<M> for Packet36r {
    #[inline]
    fn read(packet: &mut M) -> Result<Self, Malformed> {
        Packet36r::decode(packet.front(Packet36r::LENGTH).ok_or(Malformed::TooShort)?)
    }
}

impl<M: Message> Format<M> for Xtp36r<M> {
    type Front = Packet36r;

    fn numbering(&self) -> Numbering {
        Numbering::Octets
    }

    fn first(&self) -> u64 {
        0
    }

    fn inquiries_behind(&self) -> u32 {
        Format::<M>::inquiries_behind(&self.words)
    }

    fn locator(&self) -> u64 {
        Format::<M>::locator(&self.words)
    }

    fn room(&self, _: usize, _: &MessageProperties) -> usize {
        self.numbered_room() - LONGER
    }

    fn headroom(&self) -> usize {
        Format::<M>::headroom(&self.words) + LONGER
    }

    fn report_room(&self) -> usize {
        let packet = self.numbered_room() + Format::<M>::headroom(&self.words);
        (packet - Packet36r::LENGTH - Control36r::LENGTH) / Span36r::LENGTH
    }

    fn check(&self, front: &[u8], octets: usize) -> Option<CheckAt> {
        let options = Packet36r::decode(front).ok()?.options;
        let header_alone = options.has(XtpOptions::NOCHECK);
        let end = if header_alone { Packet36r::LENGTH } else { octets };
        Some(CheckAt::new(CHECK, 0..end))
    }

    fn decode(
        &mut self,
        view: &View,
        front: Option<&Packet36r>,
        mut packet: M,
        report: &mut Report,
    ) -> Result<Incoming<M>, Dropped> {
        let header = pull_front(front, &mut packet)?;
        if header.length as usize != packet.len() {
            return Err(Dropped::Malformed);
        }
        let (format, mut packet) = match header.format {
            XtpKind::Data | XtpKind::First | XtpKind::Diagnostic => (header.format, packet),
            XtpKind::Control => self.control(view, packet)?,
            XtpKind::ErrorControl | XtpKind::TrafficControl | XtpKind::JoinControl => {
                return Err(Dropped::Malformed);
            }
        };
        let header = XtpPacket {
            returned: header.returned,
            key: u64::from(header.key),
            options: header.options,
            version: (),
            format,
            length: packet.len() as u32,
            check: 0,
            sort: header.sort as u16,
            sync: header.sync,
            sequence: self.unwrapped(header.sequence, view.received_upto),
        };
        packet.push_front(XtpPacket::LENGTH);
        self.words.decode(view, Some(&header), packet, report)
    }

    fn encode(&mut self, view: &View, say: &mut Outgoing<'_>, octets: &mut Vec<u8>) {
        Format::<M>::encode(&mut self.words, view, say, octets);
        self.translate(octets).expect("a packet of 4.0");
    }

    fn farewell(&self, view: &View, why: Ending, into: &mut Vec<u8>) -> bool {
        let remembered = Format::<M>::farewell(&self.words, view, why, into);
        if !into.is_empty() {
            self.translate(into).expect("a packet of 4.0");
        }
        remembered
    }

    fn on_repeated(&mut self, view: &View, number: u64, octets: usize) {
        Format::<M>::on_repeated(&mut self.words, view, number, octets);
    }

    fn on_acknowledged(&mut self, longest: usize, in_parts: bool) {
        Format::<M>::on_acknowledged(&mut self.words, longest, in_parts);
    }
}

component! {
    <M> Xtp36r<M>: "format of XTP 3.6, reconstructed", "writes packets that nothing else understands",
    gives: Property::SPANS
        .and(Property::INQUIRIES)
        .and(Property::CREDIT)
        .and(Property::MARKS)
        .and(Property::SIGNALS)
        .and(Property::CHECK_FIELD)
        .and(Property::COUNTS_OCTETS),
}

#[cfg(test)]
mod tests {
    use stackwright_policies::integrity::Cxor;
    use stackwright_transport::slots::Integrity;
    use stackwright_wire::{BufferTree, check};

    use super::*;

    type M = BufferTree;

    /// What stands for the number 0.
    const FIRST: u32 = 0xffff_ff00;

    /// A context with the key 7, of a peer with the key 1.
    fn format() -> Xtp36r<M> {
        let config = Config { packet: 600, ..Config::new([0; 16]) };
        let own = ContextKey { ours: true, number: 7 };
        Xtp36r::new(&config, own, Some(1), Participant::OTHER_END, FIRST)
    }

    /// Returns what arrives with these octets, to which the check is added.
    fn heard(view: &View, octets: &[u8]) -> Result<(Incoming<M>, Report), Dropped> {
        let mut octets = octets.to_vec();
        let check = check::Cxor::of(&octets);
        octets[CHECK..CHECK + 4].copy_from_slice(&check.to_be_bytes());
        let (mut format, mut report) = (format(), Report::default());
        let packet = M::with_headroom(0, &octets);
        Cxor.verify(&packet, Format::<M>::check(&format, &octets, octets.len()))?;
        Ok((format.decode(view, None, packet, &mut report)?, report))
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    /// A CNTL to our key: `received`, `allocated`, and spans of numbers behind [`FIRST`].
    fn control(counted: u32, spans: &[[u32; 2]]) -> Vec<u8> {
        let length = Control36r::LENGTH + Span36r::LENGTH * spans.len();
        let number = |number: u32| number.wrapping_add(FIRST);
        let mut said = vec![0x8000_0007, 1, length as u32, 0, 0, 0, 3, FIRST, 0, 0];
        said.extend([0, 0, 9, 0, 0, 0, 0, number(900), number(300), counted]);
        said.extend(spans.iter().flatten().map(|place| number(*place)));
        words(&said)
    }

    #[test]
    fn data_is_read() {
        let mut packet = words(&[1, 0x0044_0000, 5, 0, 0, 0, 2, 0xffff_fffe, 0, 0]);
        packet.extend(b"hello");
        let (incoming, _) = heard(&View::START, &packet).expect("a packet");
        let unit = incoming.unit.expect("a unit");
        let body = unit.body.leaves().count();
        assert_eq!((unit.span, unit.label.last, body), (254..259, true, 1), "its numbers wrap");
        assert_eq!(incoming.inquiry, Some(2.into()));
        packet.pop();
        assert_eq!(heard(&View::START, &packet).unwrap_err(), Dropped::Malformed);
        packet.splice(.., words(&[2, 0, 0, 0, 0, 0, 0, FIRST, 0, 0]));
        assert_eq!(heard(&View::START, &packet).unwrap_err(), Dropped::NotOurs);
    }

    /// However often they have wrapped, and whether they are behind what is expected or ahead.
    #[test]
    fn numbers_are_those_near_what_is_expected() {
        let view = |upto| View { received_upto: upto, sent_upto: upto, ..View::START };
        for number in
            [0, 1, 0xff, 0x100, 0xffff_ffff, 1 << 32, 7 << 32 | 5, u64::from(u32::MAX) * 9]
        {
            let sequence = (number as u32).wrapping_add(FIRST);
            let mut packet = words(&[1, 0, 1, 0, 0, 0, 0, sequence, 0, 0]);
            packet.push(0);
            for near in [number.saturating_sub(1 << 30), number, number + (1 << 30)] {
                let (incoming, _) = heard(&view(near), &packet).expect("a packet");
                let span = incoming.unit.expect("a unit").span;
                assert_eq!(span, number..number + 1, "near {near}");
            }
        }
    }

    #[test]
    fn control_is_read_and_lying_spans_are_not() {
        let view = View { sent_upto: 700, settled_upto: 100, ..View::START };
        let read = |counted, spans: &[_]| heard(&view, &control(counted, spans));
        let (incoming, report) = read(2, &[[400, 500], [600, 610]]).expect("a report");
        assert_eq!((report.upto, report.answers, incoming.credit), (300, Some(9), Some(900)));
        assert_eq!(report.held, [400..500, 600..610]);
        assert_eq!(report.missing, [300..400, 500..600]);
        let lies: [(u32, &[[u32; 2]]); 6] = [
            (1, &[]),
            (0, &[[400, 500]]),
            (u32::MAX, &[[400, 500]]),
            (1, &[[300, 500]]),
            (1, &[[500, 400]]),
            (2, &[[400, 500], [450, 600]]),
        ];
        for (counted, spans) in lies {
            assert_eq!(read(counted, spans).unwrap_err(), Dropped::Malformed, "{spans:?}");
        }
    }

    /// Where a header cannot be read, its check is not found.
    #[test]
    fn what_4_0_alone_has_and_other_versions_are_dropped() {
        let of = |kind, offset| words(&[0x8000_0007, kind, 0, offset, 0, 0, 0, FIRST, 0, 0]);
        for (kind, why) in [
            (XtpKind::ErrorControl as u32, Dropped::Malformed),
            (XtpKind::TrafficControl as u32, Dropped::Malformed),
            (XtpKind::JoinControl as u32, Dropped::Malformed),
            (4, Dropped::Corrupt),
            (0x20, Dropped::Corrupt),
        ] {
            assert_eq!(heard(&View::START, &of(kind, 0)).unwrap_err(), why, "{kind}");
        }
        assert!(heard(&View::START, &of(0, 0)).is_ok());
        assert_eq!(heard(&View::START, &of(0, 4)).unwrap_err(), Dropped::Corrupt);
    }

    #[test]
    fn an_end_is_written() {
        let view =
            View { sent_upto: 0x105, received_upto: 3, asked: 4, answered: 5, ..View::START };
        let (format, mut octets) = (format(), Vec::new());
        assert!(Format::<M>::farewell(&format, &view, Ending::Finished, &mut octets));
        // WCLOSE, RCLOSE, END; CNTL.
        let header = [0x8000_0001, 0x001a_0001, 40, 0, 0, 0, 4, 5, 0, 0];
        let segment = [0, 0, 5, 0, 0, 0, 0, FIRST + 3, FIRST + 3, 0];
        assert_eq!(octets, words(&[header, segment].concat()));
    }
}
