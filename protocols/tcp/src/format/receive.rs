//! Reads segments: octets to words. The checks are those of RFC 9293 §3.10.7, in their order, with
//! RFC 5961 and RFC 7323 §5 where they belong.

use core::ops::Range;

use stackwright_contract::services::MessageProperties;
use stackwright_policies::connection::ThreeWay;
use stackwright_transport::slots::{Format as _, Front};
use stackwright_transport::words::{Dropped, Incoming, Label, Report, Signals, Unit, View, unwrap};
use stackwright_wire::internet::Tcp;
use stackwright_wire::{Header, Message};

use super::{SEGMENT_SIZE_DEFAULT, TcpFormat};
use crate::cookies::Offers;
use crate::header::TcpFront;
use crate::key::key;
use crate::options::{BLOCKS_MOST, OPTIONS_MOST, TcpOption, TcpOptions, TcpTimestamps};

/// The least that a peer may take in a segment: less is no offer but an attack, which would have
/// this side send as many headers (RFC 4732 §3.1.1; Linux' `tcp_min_snd_mss`).
const TAKES_LEAST: u16 = 48;

/// The options of a segment.
#[derive(Clone, Copy, Default)]
struct Said {
    takes: Option<u16>,
    shift: Option<u8>,
    sack: bool,
    times: Option<TcpTimestamps>,
    blocks: [(u32, u32); BLOCKS_MOST],
    count: usize,
}

impl Said {
    fn read(options: &[u8]) -> Self {
        let mut said = Said::default();
        for option in TcpOptions::new(options) {
            match option {
                TcpOption::MaximumSegmentSize(octets) => said.takes = Some(octets),
                TcpOption::WindowScale(shift) => said.shift = Some(shift),
                TcpOption::SackPermitted => said.sack = true,
                TcpOption::Timestamps(times) => said.times = Some(times),
                TcpOption::Sack(blocks) => {
                    said.count = 0;
                    for (place, block) in said.blocks.iter_mut().zip(blocks) {
                        *place = block;
                        said.count += 1;
                    }
                }
                TcpOption::Other(_) => {}
            }
        }
        said
    }

    fn offers(&self) -> Offers {
        let takes = self.takes.unwrap_or(SEGMENT_SIZE_DEFAULT).max(TAKES_LEAST);
        Offers { takes, shift: self.shift, sack: self.sack, times: self.times }
    }
}

/// Returns what a segment offers, whose header has these octets.
pub(crate) fn offers(header: &[u8]) -> Offers {
    Said::read(header.get(Tcp::LENGTH..).unwrap_or_default()).offers()
}

/// What a segment means beside its data.
type Means<M> = Result<Incoming<M>, Dropped>;

impl<M: Message> TcpFormat<M> {
    /// Reads a segment.
    pub(super) fn read(
        &mut self,
        view: &View,
        front: Option<&TcpFront>,
        mut packet: M,
        report: &mut Report,
    ) -> Means<M> {
        let read;
        let front = match front {
            Some(front) => front,
            None => {
                read = <TcpFront as Front<M>>::read(&mut packet)?;
                &read
            }
        };
        let (header, before) = (&front.0, front.octets());
        if key(header) != self.key {
            return Err(Dropped::NotOurs);
        }
        let mut options = [0; OPTIONS_MOST];
        let options = &mut options[..before - Tcp::LENGTH];
        let whole = packet.front(before).ok_or(Dropped::Malformed)?;
        options.copy_from_slice(&whole[Tcp::LENGTH..]);
        let said = Said::read(options);
        packet.advance(before);
        match self.peer {
            None => self.read_first(view, header, said, packet, report),
            Some(first) => self.read_next(view, first, header, said, packet, report),
        }
    }

    /// Reads the first segment of the peer: its SYN (§3.10.7.2, §3.10.7.3).
    fn read_first(
        &mut self,
        view: &View,
        header: &Tcp,
        said: Said,
        packet: M,
        report: &mut Report,
    ) -> Means<M> {
        let first = self.first();
        let acknowledges = header.ack && header.acknowledgment_number == first as u32;
        if header.ack && (!acknowledges || !self.asked) {
            if header.rst || !self.asked {
                return Err(Dropped::NotOurs);
            }
            self.strange = header.acknowledgment_number;
            return Ok(Incoming { signals: ThreeWay::STRANGE, ..resting(packet) });
        }
        if header.rst {
            let is_ours = acknowledges && self.asked;
            return match is_ours {
                true => Ok(Incoming { signals: Signals::END, ..resting(packet) }),
                false => Err(Dropped::NotOurs),
            };
        }
        if !header.syn {
            return Err(Dropped::NotOurs);
        }
        self.begin(view.now, header.sequence_number, &said.offers());
        self.ecn.on_request(header);
        self.is_known = acknowledges;
        self.opened_in = said.times.and_then(|times| self.times.took(view.now, times));
        self.peer_window = u64::from(header.window);
        report.upto = if acknowledges { first } else { 0 };
        Ok(Incoming {
            signals: Signals::OPEN.with(Signals::ACCEPT.when(acknowledges)),
            reports: acknowledges,
            // The window of a SYN is not shifted (RFC 7323 §2.2).
            credit: Some(first + self.peer_window),
            // Data of a SYN is not taken: it is sent again when the connection is open.
            ..resting(packet)
        })
    }

    /// Reads a later segment (§3.10.7.4).
    fn read_next(
        &mut self,
        view: &View,
        first: u64,
        header: &Tcp,
        said: Said,
        mut packet: M,
        report: &mut Report,
    ) -> Means<M> {
        let (expects, sent_upto) = (self.expects(view), view.sent_upto.max(self.left));
        let start = unwrap(header.sequence_number, 32, view.received_upto);
        let ack = unwrap(header.acknowledgment_number, 32, sent_upto);
        if header.syn && !header.rst && start + 1 == first && !self.is_known {
            // The peer has not heard our answer, or asks as we do (§3.5, figure 8).
            self.ecn.on_request(header);
            let acknowledges = header.ack && ack == self.first();
            self.is_known = acknowledges;
            report.upto = if acknowledges { ack } else { 0 };
            return Ok(Incoming {
                signals: Signals::OPEN.with(Signals::ACCEPT.when(acknowledges)),
                reports: acknowledges,
                ..resting(packet)
            });
        }
        let edge = self.edge.max(expects);
        let end = start + packet.len() as u64 + u64::from(header.fin);
        // First, the number. An acknowledgement that was overtaken by others is of use.
        // What came twice is no older than a window.
        let oldest = expects.saturating_sub((edge - expects).max(u64::from(u16::MAX)));
        let is_within = match end == start {
            true => start >= self.told.min(expects) && start <= edge,
            false => start >= oldest && start < edge || start == expects,
        };
        if !is_within {
            return self.challenge(view, packet, !header.rst, Dropped::BeyondWindow);
        }
        if start < end && end <= expects && !header.rst && !header.syn {
            // All of it has arrived: the acknowledgement was lost. The next one is of this copy.
            let times = said.times.filter(|_| self.terms.timestamps);
            if let Some(times) = times.filter(|times| !self.times.is_old(view.now, *times)) {
                self.times.on_heard(view.now, times);
            }
            let inquiry = Some(view.answered.wrapping_add(1).into());
            // The number of the peer's FIN is no octet's.
            packet.truncate(view.received_upto.saturating_sub(start) as usize);
            let (mut incoming, len) = (Incoming { inquiry, ..Incoming::silent() }, packet.len());
            match len > 0 && self.is_known {
                true => incoming.unit = Some(unit(view, start..start + len as u64, packet)),
                false => incoming.rest = Some(packet),
            }
            return Ok(incoming);
        }
        if self.terms.timestamps && !header.rst {
            let Some(times) = said.times else { return Err(Dropped::NotOurs) };
            if self.times.is_old(view.now, times) {
                return self.challenge(view, packet, true, Dropped::Duplicate);
            }
            if start <= self.told {
                self.times.on_heard(view.now, times);
            }
        }
        if header.rst {
            // RFC 5961 §3.2: only the expected number resets.
            return match start == expects {
                true => Ok(Incoming { signals: Signals::END, ..resting(packet) }),
                false => self.challenge(view, packet, true, Dropped::BeyondWindow),
            };
        }
        if header.syn {
            // RFC 5961 §4.2: a peer that has begun anew answers with a reset.
            return self.challenge(view, packet, true, Dropped::NotOurs);
        }
        if !header.ack {
            return Err(Dropped::Malformed);
        }
        let most = self.next(view);
        if !self.is_known && (ack < self.first() || ack > most) {
            self.strange = header.acknowledgment_number;
            return Ok(Incoming { signals: ThreeWay::STRANGE, ..resting(packet) });
        }
        // RFC 5961 §5.2.
        if ack > most || ack + self.peer_window < view.settled_upto {
            return self.challenge(view, packet, true, Dropped::AcknowledgesUnsent);
        }
        let mut signals = Signals::ACCEPT.when(!self.is_known);
        if !self.is_known {
            self.opened_in = said.times.and_then(|times| self.times.took(view.now, times));
        }
        self.is_known = true;
        report.upto = match self.fin_said {
            Some(fin) if ack > fin => {
                signals = signals.with(Signals::STOP);
                fin
            }
            _ => ack,
        };
        let segment = self.room(0, &MessageProperties::default()) as u64;
        if self.terms.sack {
            read_blocks(view, &said, sent_upto, report);
        } else {
            let heard = (ack, header.window);
            let held = self.duplicates.on_heard(view, heard, end == start, segment);
            report.held.extend(held);
        }
        self.window = header.window;
        let window = u64::from(header.window) << self.peer_shift;
        self.peer_window = self.peer_window.max(window);
        // Whatever is acceptable shows that the peer is there, and what it takes.
        report.answers = Some(view.asked);
        report.ecn = self.ecn.on_heard(view, header, report.upto, segment);
        // What is beyond the window, or behind the end, is cut off.
        let upto = self.fin_heard.map_or(edge, |fin| fin.min(edge)).max(start);
        let fits = upto - start;
        let is_whole = packet.len() as u64 <= fits;
        if !is_whole {
            packet.truncate(fits as usize);
        }
        let upto = start + packet.len() as u64;
        if header.fin && is_whole {
            // A segment that ends elsewhere contradicts an earlier one.
            if *self.fin_heard.get_or_insert(upto) == upto {
                signals = signals.with(Signals::FINISH);
            }
        }
        let echo = said.times.filter(|_| self.terms.timestamps && ack > view.settled_upto);
        let mut incoming = Incoming {
            signals,
            reports: true,
            // A probe of a shut window is answered, too (§3.8.6.1).
            inquiry: (!is_whole).then(|| view.answered.wrapping_add(1).into()),
            credit: Some(ack + window),
            // As everybody reads it, it points behind the octet (RFC 6093 §3).
            expedited: header.urg.then_some(start + u64::from(header.urgent_pointer)),
            next: Some(upto),
            echo: echo.and_then(|times| self.times.took(view.now, times)),
            ..Incoming::silent()
        };
        if packet.is_empty() {
            incoming.rest = Some(packet);
        } else {
            self.newest = start;
            incoming.unit = Some(unit(view, start..upto, packet));
        }
        Ok(incoming)
    }

    /// Has a segment that may be forged answered with what this side has, if it `may` be and there
    /// were not too many of them: a peer that has sent it learns what it does not know (RFC 5961).
    /// Nothing else of it is believed.
    fn challenge(&mut self, view: &View, packet: M, may: bool, why: Dropped) -> Means<M> {
        if !may || !self.challenges.admits(view.now) {
            return Err(why);
        }
        let question = view.answered.wrapping_add(1).into();
        Ok(Incoming { inquiry: Some(question), ..resting(packet) })
    }
}

/// Returns data.
fn unit<M>(view: &View, span: Range<u64>, body: M) -> Unit<M> {
    Unit { span, label: Label::default(), body, since: view.now, lifetime: None }
}

/// Returns a segment of which nothing but its memory is left.
fn resting<M>(packet: M) -> Incoming<M> {
    Incoming { rest: Some(packet), ..Incoming::silent() }
}

/// Reads the blocks of a SACK option. The first may tell what arrived twice: it is acknowledged, or
/// within the second (RFC 2883 §4). One that begins with what the peer expects contradicts that.
fn read_blocks(view: &View, said: &Said, sent_upto: u64, report: &mut Report) {
    let span = |block: &(u32, u32)| -> Option<Range<u64>> {
        let (start, end) = (unwrap(block.0, 32, sent_upto), unwrap(block.1, 32, sent_upto));
        (start < end && end <= sent_upto).then_some(start..end)
    };
    let blocks = &said.blocks[..said.count];
    let second = blocks.get(1).and_then(span);
    for (nth, block) in blocks.iter().enumerate() {
        let Some(block) = span(block) else { continue };
        let is_within = |other: &Range<u64>| other.start <= block.start && block.end <= other.end;
        if nth == 0 && (block.end <= report.upto || second.as_ref().is_some_and(is_within)) {
            report.again.push(block);
        } else if block.start > report.upto.max(view.settled_upto) {
            report.held.push(block);
        }
    }
}
