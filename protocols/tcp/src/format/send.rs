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

/// The positions of the number and of the flags in a header, and some of these.
const NUMBER: usize = 4;
const FLAGS: usize = 13;
const PUSH: u8 = 8;
const URGENT: u8 = 0x20;
const REDUCED: u8 = 0x80;

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
        say.terms = None;
        // A question is a segment of its own: its number was received, and so it is answered.
        let is_bare = say.unit.is_none() && say.report.is_none() && signals == Signals::NONE;
        let asks = is_bare && say.inquiry.take().is_some();
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
        // What ends the opening leaves alone: a path that drops the first data may pass it. Data
        // fills a segment: what SACK needs is not left (RFC 6691 §3).
        let confirms = signals.has(Signals::CONFIRM) && self.left == 0;
        let alone = opens || confirms || !blocks.is_empty();
        let unit = if alone { None } else { say.unit.take() };
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
            None if asks => self.next(view) - 1,
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
        let (again, answers) = (self.asked, self.peer.is_some());
        self.asked |= opens;
        let ack = self.peer.map(|_| self.expects(view));
        let window = self.window(view, say.credit.take(), ack, opens);
        // §3.8.5, with the pointer as everybody reads it (RFC 6093 §3).
        let urgent = self.urgent_upto.checked_sub(number).filter(|_| unit.is_some());
        let urgent_pointer = urgent.and_then(|ahead| u16::try_from(ahead).ok()).unwrap_or(0);
        let mut header = Tcp {
            urg: urgent_pointer > 0,
            urgent_pointer,
            sequence_number: number as u32,
            acknowledgment_number: ack.unwrap_or(0) as u32,
            ack: ack.is_some(),
            // The last segment of what was written must have it (§3.9.1, MUST-61).
            psh: unit.is_some_and(|unit| unit.label.last && part.end == unit.octets),
            syn: opens,
            fin: finishes,
            window,
            ..silent(self.key)
        };
        if let Some(ack) = ack {
            self.told = ack;
        }
        if opens {
            self.ecn.on_opens(answers, again, &mut header);
            self.put_offers(view, octets);
        } else {
            let new = unit.is_some_and(|unit| unit.span.start >= view.sent_upto);
            self.ecn.on_leaves(new, report.and_then(|report| report.ecn), &mut header);
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
    /// only its number differs, whether it is the last of what was written, and
    /// CWR, which is said once. `None` while something is expedited.
    pub(super) fn write_next(
        &mut self,
        header: &[u8],
        unit: &Cargo<'_>,
        into: &mut [u8],
    ) -> Option<usize> {
        let into = into.get_mut(..header.len()).filter(|_| header[FLAGS] & URGENT == 0)?;
        into.copy_from_slice(header);
        into[NUMBER..NUMBER + 4].copy_from_slice(&(unit.span.start as u32).to_be_bytes());
        into[FLAGS] = header[FLAGS] & !(PUSH | REDUCED) | if unit.label.last { PUSH } else { 0 };
        self.left = self.left.max(unit.span.end);
        Some(header.len())
    }

    /// Writes the options of a SYN. An answer offers what the peer has offered.
    fn put_offers(&self, view: &View, octets: &mut Vec<u8>) {
        // Neither options nor the headers below count (RFC 6691 §2).
        let takes = self.path.most() - Tcp::LENGTH;
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

    /// Returns the window for up to the number `credit`. Its right edge never moves back, also
    /// where the shift cuts bits off (RFC 7323 §2.4).
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

#[cfg(test)]
mod tests {
    use stackwright_contract::PathLimits;
    use stackwright_contract::services::MessageProperties;
    use stackwright_transport::slots::Format;
    use stackwright_wire::SingleBuffer;

    use super::*;
    use crate::config::Config;
    use crate::options::{TcpOption, TcpOptions};

    type F = TcpFormat<SingleBuffer>;

    fn says(format: &mut F, signals: Signals, credit: u64) -> (Tcp, Vec<u8>) {
        let mut say = Outgoing { credit: Some(credit), ..Outgoing::signals(signals) };
        let mut octets = Vec::new();
        format.encode(&View::START, &mut say, &mut octets);
        assert!(say.signals == Signals::NONE && say.credit.is_none());
        let options = octets.split_off(Tcp::LENGTH);
        (Tcp::decode(&octets).expect("a header"), options)
    }

    /// RFC 9293 §3.7.1, RFC 6691 §2, RFC 7323 §2.2.
    #[test]
    fn a_request_offers_what_the_path_takes_and_a_window_that_is_not_shifted() {
        let config = Config::new([0; 16]);
        let mut format = F::new(&config, TcpKey { own: 5, peer: 80 }, 9, 0);
        let room = |format: &F| format.room(usize::MAX, &MessageProperties::default());
        assert_eq!(room(&format), 1480 - 20 - 12);
        // IPv6 on Ethernet.
        format.on_path(PathLimits::of_longest(1460));
        assert_eq!(room(&format), 1460 - 20 - 12);
        let (header, options) = says(&mut format, Signals::OPEN, 1 << 20);
        assert_eq!((header.source_port, header.destination_port), (5, 80));
        assert!(header.syn && !header.ack && header.sequence_number == 9);
        assert_eq!(header.window, u16::MAX);
        let offers = Vec::from_iter(TcpOptions::new(&options));
        assert_eq!(offers[..2], [TcpOption::MaximumSegmentSize(1440), TcpOption::SackPermitted]);
        assert_eq!(offers[3], TcpOption::WindowScale(7));
    }

    /// RFC 7323 §2.3: the shift with which the largest window can be told.
    #[test]
    fn the_shift_follows_from_the_largest_window() {
        for (window_most, shift) in [(65_535, 0), (65_536, 1), (4 << 20, 7), (1 << 30, 14)] {
            let config = Config { window_most, ..Config::new([0; 16]) };
            assert_eq!(config.shift(), shift, "{window_most}");
        }
    }

    /// RFC 7323 §2.4, RFC 9293 §3.8.6 (SHLD-14): the right edge never moves back.
    #[test]
    fn what_the_shift_cuts_off_takes_nothing_back() {
        let mut format = F::new(&Config::new([0; 16]), TcpKey::default(), 0, 0);
        format.terms.shift = Some(7);
        let mut edge = 0;
        for (credit, ack) in [(1000, 0), (1000, 1), (1000, 127), (1000, 129), (1100, 129)] {
            let window = format.window(&View::START, Some(credit), Some(ack), false);
            let told = ack + (u64::from(window) << 7);
            assert!(told >= edge && told <= credit + 127, "{told}, and {edge} before");
            edge = told;
        }
    }
}
