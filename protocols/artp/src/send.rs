//! Writes packets: words to octets. One packet carries a signal, or an acknowledgement, or a unit.

use alloc::vec::Vec;
use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_contract::services::MessageKind;
use stackwright_policies::connection::TwoStage;
use stackwright_transport::words::{
    Cargo, EcnCounts, Ending, Label, Outgoing, PieceForm, Report, Signals, Timestamp, View,
};
use stackwright_wire::{Header, Message, SegmentsMut};

use crate::control::Item;
use crate::header::{
    Arrived, ArrivedRange, BARE, Close, ControlHeader, ControlKind, Fragment, Identity,
    Microseconds, OptionHeader, Packet, PacketKind, Proposal, Reason, Single, Token, Verdict,
    Version,
};
use crate::option::{Large, Marks, PADDING, PacketOption, Part};
use crate::receive::NAMED_MOST;
use crate::state::{Format, Matter, ORDER, can_be_padded};

fn put<H: Header>(header: &H, octets: &mut Vec<u8>) {
    let start = octets.len();
    octets.resize(start + H::LENGTH, 0);
    header.encode(&mut octets[start..]);
}

impl<M: Message> Format<M> {
    pub(crate) fn write(&mut self, view: &View, saying: &mut Outgoing<'_>, octets: &mut Vec<u8>) {
        // Acknowledgements carry their sender's own clock, and do not expire (§1.4.2).
        let own = Timestamp { at: saying.clock, valid: 0 };
        // What has arrived is told before it is told that the session is over.
        let owes = saying.report.is_some() && saying.signals.has(Signals::END | Signals::ENDED);
        if saying.signals != Signals::NONE
            && !owes
            && let Some(signal) = ORDER.into_iter().find(|signal| saying.signals.has(*signal))
        {
            let reason = saying.signals.reason();
            saying.signals = saying.signals.without(signal);
            if signal == Signals::END {
                saying.signals = saying.signals.without(reason);
            }
            self.asks |= signal == Signals::OPEN;
            let sequence = self.next_unacknowledged();
            put(&packet(PacketKind::Control, 0, sequence, own), octets);
            if matches!(signal, Signals::OPEN | Signals::ACCEPT) {
                self.lengthen(view.now, signal == Signals::ACCEPT, octets);
            } else if signal == TwoStage::PROBE {
                // A peer that has lost the session answers with less (see `reset.rs`).
                PacketOption::Padding(0).write(octets);
                end_options(octets);
            }
            self.arrange(view, signal.with(reason), octets);
        } else if let Some(report) = saying.report.take() {
            let sequence = self.next_unacknowledged();
            put(&packet(PacketKind::Acknowledge, self.session, sequence, own), octets);
            if let Some(credit) = saying.credit.take() {
                PacketOption::Credit(credit as u32).write(octets);
            }
            self.acknowledge(report, octets);
        } else if let Some(unit) = saying.unit.take() {
            let Cargo { label, span, .. } = unit;
            let control = label.kind == MessageKind::Control;
            let kind = match label.form == PieceForm::Bare {
                _ if control => PacketKind::Control,
                true => PacketKind::Single,
                false => PacketKind::Data,
            };
            let settled = self.both.expires.then_some(view.settled_upto as u32);
            let padding = self.padding(label, unit.octets);
            // Written in place: octets that were just written are not read back to be moved.
            octets.extend_from_slice(&[0; BARE]);
            packet(kind, self.session, span.start as u32, saying.stamp).encode(octets);
            if control
                || label.count > u32::from(u16::MAX)
                || label.priority != 128
                || settled.or(padding).is_some()
            {
                octets.truncate(Packet::LENGTH);
                options(label, settled, padding, None, octets);
                put_place(label, octets);
            } else if label.form == PieceForm::Bare {
                Single { datagram: label.message }.encode(&mut octets[Packet::LENGTH..]);
                octets.truncate(Packet::LENGTH + Single::LENGTH);
            } else {
                fragment(label).encode(&mut octets[Packet::LENGTH..]);
            }
            if self.both.parts
                && let Some(most) =
                    self.path.part_most(view, span.start, octets.len() + unit.octets)
            {
                self.write_part(unit, most, settled, saying, octets);
            }
        }
    }

    /// Writes the next part of a unit that was made when the path passed longer packets, in place
    /// of the unit.
    #[cold]
    fn write_part<'a>(
        &mut self,
        unit: Cargo<'a>,
        most: usize,
        settled: Option<u32>,
        saying: &mut Outgoing<'a>,
        octets: &mut Vec<u8>,
    ) {
        let (number, whole, label) = (unit.span.start, unit.octets, unit.label);
        let offset = self.path.part_begins(number);
        let part = Part { offset: offset as u16, whole: whole as u16 };
        octets.truncate(Packet::LENGTH);
        options(label, settled, None, Some(part), octets);
        put_place(label, octets);
        let part = self.path.next_part(number, whole, most - octets.len());
        saying.unit = (part.end < whole).then_some(unit);
        saying.part = Some(part);
    }

    /// Pads a request or a grant to the length that packets shall have, where the path is not known
    /// to pass that.
    fn lengthen(&mut self, now: Instant, grants: bool, octets: &mut Vec<u8>) {
        const PROPOSED: usize =
            Packet::LENGTH + OptionHeader::LENGTH + ControlHeader::LENGTH + Proposal::LENGTH;
        let probe = self.probe(grants);
        self.path.on_said(now, probe.is_some());
        if let Some(padding) = probe.and_then(|packet| packet.checked_sub(PROPOSED)) {
            PacketOption::Padding(padding as u16).write(octets);
            end_options(octets);
        }
    }

    /// Returns by how much the last fragment of a datagram is shorter than those that left before
    /// it, to be made up by padding. Packets of one length leave by one system call; a shorter one
    /// would end that.
    #[inline]
    fn padding(&mut self, label: &Label, octets: usize) -> Option<u32> {
        if label.count == 1 {
            return None;
        }
        if !label.last {
            self.cut = (label.message, octets);
            return None;
        }
        let short = self.short(label.message, octets);
        (short > 0).then_some(short as u32)
    }

    /// Returns by how many octets the last fragment of a datagram falls short of those that left
    /// before it, if padding can make up for it; otherwise 0.
    #[inline]
    fn short(&self, datagram: u32, octets: usize) -> usize {
        let (of, longest) = self.cut;
        let short =
            longest.checked_sub(octets).filter(|short| of == datagram && can_be_padded(*short));
        short.unwrap_or(0)
    }

    /// Writes the header of a fragment, derived from `header`, the one of an earlier fragment that
    /// leaves at the same moment: of the same datagram or of one before it, and without options.
    /// Returns its length in octets.
    #[inline]
    pub(crate) fn write_next(
        &mut self,
        header: &[u8],
        unit: &Cargo<'_>,
        into: &mut [u8],
    ) -> Option<usize> {
        let header: &[u8; BARE] = header.try_into().ok()?;
        let Cargo { label, span, .. } = unit;
        let sequence = span.start as u32;
        // The first fragment of a datagram gives the length that the last is compared with.
        let padding =
            if label.last || label.index == 0 { self.padding(label, unit.octets) } else { None };
        write_last(header, sequence, fragment(label), padding.unwrap_or(0) as usize, into)
    }

    /// Writes the headers into the gap before each of several fragments, of one datagram or of
    /// several that are alike, as long as they fill the gaps. Returns the number of fragments.
    #[inline]
    pub(crate) fn write_alike(
        &mut self,
        header: &[u8],
        first: &Cargo<'_>,
        fragments: SegmentsMut<'_>,
    ) -> usize {
        let Ok(header) = <&[u8; BARE]>::try_from(header) else { return 0 };
        let (mut place, begin) = (fragment(first.label), first.span.start as u32);
        let mut sequence = begin;
        for (gap, body) in fragments {
            let is_last = place.index + 1 == place.count;
            // The last fragment is compared with the first.
            if place.index == 0 {
                self.cut = (place.datagram, body.len());
            }
            let is_written = if is_last {
                // Sent by itself, the fragment would be padded equally.
                let padding = self.short(place.datagram, body.len());
                gap.len() == BARE + padding
                    && write_last(header, sequence, place, padding, gap).is_some()
            } else {
                gap.try_into().map(|gap| write_bare(header, sequence, place, gap)).is_ok()
            };
            if !is_written {
                break;
            }
            sequence = sequence.wrapping_add(1);
            place.index += 1;
            if is_last {
                place = Fragment { datagram: place.datagram.wrapping_add(1), index: 0, ..place };
            }
        }
        sequence.wrapping_sub(begin) as usize
    }

    /// Returns the octets before a fragment, and before the last one, which may be shorter; `None`
    /// if the options carry more than padding.
    pub(crate) fn before_pieces(&self, piece: usize, last: usize) -> Option<(usize, usize)> {
        let short = piece.checked_sub(last)?;
        let padding = if can_be_padded(short) { short } else { 0 };
        let plain = !self.both.expires && self.path.runs(u64::MAX, 0);
        plain.then_some((BARE, BARE + padding))
    }

    /// Writes a packet that tells the peer that the session is over; returns whether it is known.
    pub(crate) fn write_farewell(&self, view: &View, why: Ending, octets: &mut Vec<u8>) -> bool {
        let sequence = self.unacknowledged.wrapping_add(1);
        put(&packet(PacketKind::Control, 0, sequence, Timestamp::default()), octets);
        self.arrange(view, Signals::end(why), octets);
        self.theirs.is_some()
    }

    fn next_unacknowledged(&mut self) -> u32 {
        self.unacknowledged = self.unacknowledged.wrapping_add(1);
        self.unacknowledged
    }

    /// Writes sequence numbers one by one, or in ranges if both sides support them.
    fn acknowledge(&self, report: &Report, octets: &mut Vec<u8>) {
        let ranges = self.both.ranges;
        if ranges {
            PacketOption::Ranges.write(octets);
        }
        // No packet arrived that could have been marked: there is nothing to report.
        if let Some(EcnCounts { capable, experienced }) = report.ecn.filter(|ecn| ecn.capable > 0) {
            PacketOption::Marks(Marks { capable, experienced }).write(octets);
        }
        end_options(octets);
        let put_range = |span: &Range<u64>, octets: &mut Vec<u8>| {
            let last = (span.end as u32).wrapping_sub(1);
            put(&ArrivedRange { first: span.start as u32, last }, octets);
        };
        // All before it arrived, of which the last are news to a peer whose reports were lost. No
        // other range names so many that the peer would refuse it.
        if ranges && report.upto > 0 {
            let first = self.peer_first.unwrap_or(report.upto).min(report.upto - 1);
            let from = first.max(report.upto.saturating_sub(NAMED_MOST / 2));
            put_range(&(from..report.upto), octets);
        }
        let most = NAMED_MOST / 2 / (report.held.len() + report.again.len()).max(1) as u64;
        for span in &report.held {
            if ranges {
                put_range(&(span.start.max(span.end.saturating_sub(most))..span.end), octets);
                continue;
            }
            for number in span.clone() {
                put(&Arrived { sequence: number as u32 }, octets);
            }
        }
        // What an earlier range names has arrived again.
        for span in report.again.iter().filter(|_| ranges) {
            put_range(span, octets);
        }
    }

    fn arrange(&self, view: &View, signal: Signals, octets: &mut Vec<u8>) {
        let (matter, kind) = match signal.without(signal.reason()) {
            Signals::OPEN => (Matter::Open, ControlKind::Request),
            Signals::ACCEPT => (Matter::Open, ControlKind::Reply),
            Signals::END => (Matter::Close, ControlKind::Request),
            Signals::ENDED => (Matter::Close, ControlKind::Reply),
            TwoStage::PROBE => (Matter::Probe, ControlKind::Request),
            TwoStage::PRESENT => (Matter::Probe, ControlKind::Reply),
            TwoStage::IDENTIFY => (Matter::Identify, ControlKind::Request),
            TwoStage::RESPOND => (Matter::Identify, ControlKind::Reply),
            _ => (Matter::Confirm, ControlKind::Request),
        };
        let theirs = self.theirs.as_ref().map_or(0, |theirs| theirs.nonce);
        let mut value = [0; Proposal::LENGTH];
        let length = match (matter, kind) {
            (Matter::Open, ControlKind::Request) => {
                self.ours.encode(&mut value);
                Proposal::LENGTH
            }
            (Matter::Open, ControlKind::Reply) => {
                Proposal { verdict: Verdict::Granted, echo: theirs, ..self.ours }
                    .encode(&mut value);
                Proposal::LENGTH
            }
            (Matter::Identify, kind) => {
                self.identity(kind).encode(&mut value);
                Identity::LENGTH
            }
            (Matter::Close, _) => {
                let (session, received) = (self.session, view.received_upto as u32);
                let (reason, detail) = (why(signal), signal.code());
                Close { session, reason, reserved: (), detail, received, token: theirs }
                    .encode(&mut value);
                Close::LENGTH
            }
            _ => {
                Token { session: self.session, reserved: (), token: theirs }.encode(&mut value);
                Token::LENGTH
            }
        };
        Item { kind, id: matter.id(), value: &value[..length] }.write(octets);
    }
}

/// Returns the reason of an end.
fn why(signals: Signals) -> Reason {
    match signals {
        _ if signals.has(Signals::OVERRUN) => Reason::Overrun,
        _ if signals.has(Signals::ABORT) => Reason::Aborted,
        _ if signals.has(Signals::TOO_LONG) => Reason::TooLong,
        _ if signals.has(Signals::SILENT) => Reason::Silent,
        _ if signals.has(Signals::FORGED) => Reason::Forged,
        _ => Reason::Done,
    }
}

#[inline]
fn fragment(label: &Label) -> Fragment {
    Fragment { datagram: label.message, index: label.index as u16, count: label.count as u16 }
}

/// Writes the header of a fragment: `header` with another sequence number and place. It is written
/// in place: octets that were just written are not read back to be moved.
#[inline]
fn write_bare(header: &[u8; BARE], sequence: u32, fragment: Fragment, into: &mut [u8; BARE]) {
    *into = *header;
    into[SEQUENCE].copy_from_slice(&sequence.to_be_bytes());
    fragment.encode(&mut into[Packet::LENGTH..]);
}

/// Writes the same before the last fragment, with `padding` octets of padding. Returns its length
/// in octets.
#[inline]
fn write_last(
    header: &[u8; BARE],
    sequence: u32,
    fragment: Fragment,
    padding: usize,
    into: &mut [u8],
) -> Option<usize> {
    if padding == 0 {
        write_bare(header, sequence, fragment, into.first_chunk_mut()?);
        return Some(BARE);
    }
    let (before, place) =
        into.get_mut(..BARE + padding)?.split_last_chunk_mut::<{ Fragment::LENGTH }>()?;
    let (packet, options) = before.split_first_chunk_mut::<{ Packet::LENGTH }>()?;
    let (size, nothing) = options.split_first_chunk_mut::<{ OptionHeader::LENGTH }>()?;
    *packet = *header.first_chunk()?;
    packet[OPTIONS].copy_from_slice(&(padding as u16).to_be_bytes());
    packet[SEQUENCE].copy_from_slice(&sequence.to_be_bytes());
    fragment.encode(place);
    OptionHeader { size: padding as u16, id: PADDING }.encode(size);
    nothing.fill(0);
    Some(BARE + padding)
}

/// Writes the unit's place in its datagram; control has none.
fn put_place(label: &Label, octets: &mut Vec<u8>) {
    match label.kind {
        MessageKind::Control => {}
        MessageKind::Data if label.form == PieceForm::Bare => {
            put(&Single { datagram: label.message }, octets)
        }
        MessageKind::Data => put(&fragment(label), octets),
    }
}

/// Where a packet's header has the octets of its options, and its sequence number.
pub(crate) const OPTIONS: Range<usize> = 2..4;
pub(crate) const SEQUENCE: Range<usize> = 4..8;

/// Where a fragment's header has the datagram's number, if there are no options; its place there
/// follows.
pub(crate) const DATAGRAM: Range<usize> = Packet::LENGTH..Packet::LENGTH + 4;

fn packet(kind: PacketKind, session: u8, sequence: u32, stamp: Timestamp) -> Packet {
    Packet {
        version: Version::One,
        kind,
        session,
        options: 0,
        sequence,
        seconds: (stamp.at / 1_000_000) as u32,
        microseconds: Microseconds::of(stamp.at),
        expiry: stamp.valid,
    }
}

/// Writes the options of a unit.
fn options(
    label: &Label,
    settled: Option<u32>,
    padding: Option<u32>,
    part: Option<Part>,
    octets: &mut Vec<u8>,
) {
    let large = label.count > u32::from(u16::MAX);
    if let Some(settled) = settled {
        PacketOption::Settled(settled).write(octets);
    }
    if label.priority != 128 {
        PacketOption::Priority(label.priority).write(octets);
    }
    if large {
        let high = Large { index: (label.index >> 16) as u16, count: (label.count >> 16) as u16 };
        PacketOption::Large(high).write(octets);
    }
    if let Some(part) = part {
        PacketOption::Part(part).write(octets);
    }
    if large || part.is_some() {
        octets[0] = octets[0] & 0x0f | 2 << 4;
    }
    if let Some(padding) = padding {
        PacketOption::Padding(padding as u16 - OptionHeader::LENGTH as u16).write(octets);
    }
    end_options(octets);
}

/// Ends the options: enters their octets into the header.
fn end_options(octets: &mut [u8]) {
    let options = (octets.len() - Packet::LENGTH) as u16;
    octets[OPTIONS].copy_from_slice(&options.to_be_bytes());
}
