//! Writes segments: words to octets.

use core::ops::Range;

use alloc::vec::Vec;

use stackwright_transport::words::{Cargo, Outgoing, Signals, View};
use stackwright_wire::Header;
use stackwright_wire::internet::Tcp;

use super::TcpFormat;
use crate::key::TcpKey;
use crate::options::{
    put_maximum_segment_size, put_sack, put_sack_permitted, put_timestamps, put_window_scale,
};

/// The position of the number in a header.
const NUMBER: usize = 4;

/// A header that says nothing.
pub(crate) const fn silent(key: TcpKey) -> Tcp {
    Tcp {
        source_port: key.own,
        destination_port: key.peer,
        sequence_number: 0,
        acknowledgment_number: 0,
        data_offset: 0,
        rsrvd: 0,
        cwr: false,
        ece: false,
        urg: false,
        ack: false,
        psh: false,
        rst: false,
        syn: false,
        fin: false,
        window: 0,
        checksum: 0,
        urgent_pointer: 0,
    }
}

/// Writes a header before the options that stand in `octets` behind space for it; the check is left
/// out.
pub(crate) fn put(header: Tcp, octets: &mut [u8]) {
    debug_assert!(octets.len().is_multiple_of(4), "options are padded");
    let data_offset = (octets.len() / 4) as u8;
    Tcp { data_offset, ..header }.encode(octets);
}

impl<M> TcpFormat<M> {
    /// Returns the part of a unit that leaves now: all of it, unless the path does not pass that.
    /// Each octet has a number, so that a part is a segment as any other.
    fn part(&mut self, view: &View, unit: &Cargo<'_>) -> Range<usize> {
        let (number, whole, before) = (unit.span.start, unit.octets, self.overhead());
        match self.path.part_most(view, number, before + whole) {
            Some(most) => self.path.next_part(number, whole, most - before),
            None => 0..whole,
        }
    }

    /// Writes a segment without its data.
    pub(super) fn write(&mut self, view: &View, say: &mut Outgoing<'_>, octets: &mut Vec<u8>) {
        let signals = say.signals;
        (say.terms, say.inquiry) = (None, None);
        octets.resize(Tcp::LENGTH, 0);
        if signals.has(Signals::END) {
            say.signals = Signals::NONE;
            return self.write_reset(view, octets);
        }
        if signals.has(Signals::REFUSE) {
            // §3.10.7.3: what the peer acknowledges is the number that it expects.
            say.signals = signals.without(Signals::REFUSE);
            let header = Tcp { sequence_number: self.strange, rst: true, ..silent(self.key) };
            return put(header, octets);
        }
        let (opens, report) = (signals.has(Signals::OPEN), say.report.take());
        let blocks = report.map_or(&[][..], |report| &report.held[..]);
        let blocks = if self.terms.sack && !opens { blocks } else { &[] };
        // Data fills a segment: what SACK needs is not left (RFC 6691 §3).
        let unit = if opens || !blocks.is_empty() { None } else { say.unit.take() };
        let part = unit.map_or(0..0, |unit| self.part(view, &unit));
        if let Some(unit) = unit.filter(|unit| part.end < unit.octets) {
            say.unit = Some(unit);
        }
        let finishes = signals.has(Signals::FINISH)
            && say.unit.is_none()
            && unit.is_none_or(|unit| unit.span.end >= view.sent_upto);
        say.signals = signals.shared(Signals::FINISH).when(!finishes);

        let number = match unit {
            _ if opens => self.first() - 1,
            Some(unit) => unit.span.start + part.start as u64,
            None if finishes => self.fin_said.unwrap_or(self.next(view)),
            None => self.next(view),
        };
        let end = number + part.len() as u64;
        if unit.is_some() {
            self.left = self.left.max(end);
        }
        if finishes && self.fin_said.is_none() {
            self.fin_said = Some(end);
            self.closes_first = self.fin_heard.is_none_or(|fin| fin > view.received_upto);
        }
        self.asked |= opens;
        let ack = self.peer.map(|_| self.expects(view));
        let window = self.window(view, say.credit.take(), ack, opens);
        let header = Tcp {
            sequence_number: number as u32,
            acknowledgment_number: ack.unwrap_or(0) as u32,
            ack: ack.is_some(),
            // Without a PUSH of the application, the last segment of what waits must have it (§3.9.1,
            // MUST-61); any may.
            psh: unit.is_some(),
            syn: opens,
            fin: finishes,
            window,
            ..silent(self.key)
        };
        if let Some(ack) = ack {
            self.told = ack;
        }
        if opens {
            self.put_offers(view, octets);
        } else {
            if self.terms.timestamps {
                put_timestamps(self.times.said(view.now), octets);
            }
            if !blocks.is_empty() {
                self.put_blocks(blocks, octets);
            }
        }
        put(header, octets);
        if let Some(unit) = unit.filter(|unit| part.len() < unit.octets) {
            debug_assert!(part.end <= unit.octets);
            say.part = Some(part);
        }
    }

    /// Writes the header of a segment of data that leaves at the same moment as that of `header`:
    /// only its number differs.
    pub(super) fn write_next(
        &mut self,
        header: &[u8],
        unit: &Cargo<'_>,
        into: &mut [u8],
    ) -> Option<usize> {
        let into = into.get_mut(..header.len())?;
        into.copy_from_slice(header);
        into[NUMBER..NUMBER + 4].copy_from_slice(&(unit.span.start as u32).to_be_bytes());
        self.left = self.left.max(unit.span.end);
        Some(header.len())
    }

    /// Writes the options of a SYN. An answer offers what the peer has offered.
    fn put_offers(&self, view: &View, octets: &mut Vec<u8>) {
        let takes = self.terms.segment - Tcp::LENGTH;
        put_maximum_segment_size(takes as u16, octets);
        if self.terms.sack {
            put_sack_permitted(octets);
        }
        if self.terms.timestamps {
            put_timestamps(self.times.said(view.now), octets);
        }
        if let Some(shift) = self.terms.shift {
            put_window_scale(shift, octets);
        }
    }

    /// Writes the blocks of a report: that of the newest data first (RFC 2018 §4).
    fn put_blocks(&self, blocks: &[Range<u64>], octets: &mut Vec<u8>) {
        let mut blocks = blocks.to_vec();
        if let Some(newest) = blocks.iter().position(|block| block.contains(&self.newest)) {
            blocks[..=newest].rotate_right(1);
        }
        put_sack(blocks.iter(), octets);
    }

    /// Returns the window for up to the number `credit`. Its right edge never moves back, also where
    /// the shift cuts bits off (RFC 7323 §2.4).
    fn window(&mut self, view: &View, credit: Option<u64>, ack: Option<u64>, opens: bool) -> u16 {
        let shift = if opens { 0 } else { self.terms.shift.unwrap_or(0) };
        let from = ack.unwrap_or(view.received_upto);
        let free = credit.map_or(0, |credit| credit.saturating_sub(from) >> shift);
        let told = self.edge.saturating_sub(from).div_ceil(1 << shift);
        let window = free.max(told).min(u64::from(u16::MAX));
        if ack.is_some() {
            self.edge = self.edge.max(from + (window << shift));
        }
        window as u16
    }

    /// Writes a reset, which the peer believes: with the number that it expects (RFC 5961 §3).
    fn write_reset(&self, view: &View, octets: &mut Vec<u8>) {
        let ack = self.peer.map(|_| self.expects(view));
        let header = Tcp {
            sequence_number: self.next(view) as u32,
            acknowledgment_number: ack.unwrap_or(0) as u32,
            ack: ack.is_some(),
            rst: true,
            ..silent(self.key)
        };
        if self.terms.timestamps && ack.is_some() {
            put_timestamps(self.times.said(view.now), octets);
        }
        put(header, octets);
    }

    /// Writes the acknowledgement of the peer's FIN, for as long as that may be sent again.
    pub(super) fn write_last(&self, view: &View, octets: &mut Vec<u8>) {
        octets.resize(Tcp::LENGTH, 0);
        if self.terms.timestamps {
            put_timestamps(self.times.said(view.now), octets);
        }
        let header = Tcp {
            sequence_number: self.next(view) as u32,
            acknowledgment_number: self.expects(view) as u32,
            ack: true,
            window: u16::MAX,
            ..silent(self.key)
        };
        put(header, octets);
    }
}
