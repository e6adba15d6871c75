//! Reads packets: octets to words.

use core::num::NonZeroU32;
use core::ops::Range;

use stackwright_contract::services::{BatchMessages, MessageKind};
use stackwright_policies::connection::TwoStage;
use stackwright_transport::Receipts;
use stackwright_transport::path_mtu::{BASE, PartPlace};
use stackwright_transport::slots::pull_front;
use stackwright_transport::words::{
    Dropped, EcnCounts, Incoming, Label, PieceForm, Report, Signals, Timestamp, Unit, UnitHeader,
    View, unwrap,
};
use stackwright_wire::{Header, Message};

use crate::batch::take_behind;
use crate::control::{Item, items};
use crate::header::{
    BARE, Close, ControlKind, Fragment, Packet, PacketKind, Proposal, Reason, Single, Token,
    Verdict, Version,
};
use crate::option::{Marks, Options, PacketOption, Part};
use crate::state::{Format, Matter};

/// The most sequence numbers that one acknowledgement names: its cost must not grow with how often
/// it repeats them.
pub(crate) const NAMED_MOST: u64 = 1 << 16;

/// The most sequence numbers of expired packets between two that arrive. An off-path attacker that
/// guesses a number hits one of as many.
const SKIPPED_MOST: u64 = 1 << 16;

/// What the options of a packet say.
#[derive(Clone, Copy, Debug)]
struct Said {
    credit: Option<u32>,
    settled: Option<u32>,
    ranges: bool,
    high: (u32, u32),
    priority: u8,
    part: Option<Part>,
    marks: Option<Marks>,
}

const NOTHING: Said = Said {
    credit: None,
    settled: None,
    ranges: false,
    high: (0, 0),
    priority: 128,
    part: None,
    marks: None,
};

impl<M: Message> Format<M> {
    /// Reads a fragment, or a datagram in one packet, without options; and the fragments behind it.
    #[inline(always)] // what it reads stays in registers
    pub(crate) fn read_bare(
        &self,
        view: &View,
        receipts: &Receipts,
        header: Option<&Packet>,
        packet: &mut M,
        behind: Option<&mut BatchMessages<M>>,
    ) -> Option<(UnitHeader, Timestamp)> {
        let octets = packet.len();
        let front = packet.front(octets.min(BARE))?;
        let header = match header {
            Some(header) => *header,
            None => Packet::decode(front).ok()?,
        };
        if header.session != self.session || has_options(&header) {
            return None;
        }
        let (label, before) = match header.kind {
            PacketKind::Data => {
                (place(&Fragment::decode(&front[Packet::LENGTH..]).ok()?, &NOTHING).ok()?, BARE)
            }
            PacketKind::Single => (
                alone(Single::decode(&front[Packet::LENGTH..]).ok()?, &NOTHING),
                Packet::LENGTH + Single::LENGTH,
            ),
            _ => return None,
        };
        let (number, piece) = (unwrap(header.sequence, 32, view.received_upto), octets - before);
        let (stamp, since) = (stamp(&header), view.now);
        let lifetime = NonZeroU32::new(stamp.valid);
        let mut unit =
            UnitHeader { span: number..number + 1, count: 1, piece, label, since, lifetime };
        match behind {
            Some(behind) if !label.last && piece > 0 && behind.len() > 0 => {
                take_behind(receipts, packet, behind, &mut unit);
            }
            _ => packet.advance(before),
        }
        Some((unit, stamp))
    }

    pub(crate) fn read(
        &mut self,
        view: &View,
        header: Option<&Packet>,
        mut packet: M,
        report: &mut Report,
    ) -> Result<Incoming<M>, Dropped> {
        let whole = packet.len();
        let header = &pull_front(header, &mut packet)?;
        let said = if has_options(header) { options(header, &mut packet)? } else { NOTHING };
        let mut segment = Incoming { stamp: Some(stamp(header)), ..Incoming::silent() };
        if header.session != self.session {
            if header.session != 0 || header.kind != PacketKind::Control {
                return Err(Dropped::NotOurs);
            }
            if said.part.is_some() {
                return Err(Dropped::Malformed);
            }
            segment.stamp = None; // what a session is made of does not expire
            segment.signals = self.arranged(view, &mut segment, whole, packet, report)?;
            return Ok(segment);
        }
        match header.kind {
            PacketKind::Data | PacketKind::Single | PacketKind::Control => {
                let label = match header.kind {
                    PacketKind::Data => place(&packet.pull()?, &said)?,
                    PacketKind::Single => alone(packet.pull()?, &said),
                    _ => Label { kind: MessageKind::Control, priority: said.priority, ..WHOLE },
                };
                segment.settled = self.settled(view, header.sequence, said.settled);
                if let Some(part) = said.part {
                    return self.read_part(view, header.sequence, label, part, packet, segment);
                }
                if label.kind == MessageKind::Control {
                    check_items(&mut packet)?;
                }
                segment.unit = Some(unit(view, header.sequence, label, packet));
            }
            PacketKind::Acknowledge if said.part.is_some() => return Err(Dropped::Malformed),
            PacketKind::Unknown => {
                segment.stamp = None;
                segment.signals = self.unknown(&packet.pull()?);
            }
            PacketKind::Acknowledge => {
                numbers(view, &mut packet, said.ranges, report)?;
                // An attacker that guesses sequence numbers, without receiving our packets, gives
                // no credit and is no sign of life: RFC 5961 §5.
                let window = u64::from(self.ours.window);
                if report.held.iter().all(|span| span.end + window <= view.settled_upto) {
                    return Err(Dropped::BeyondWindow);
                }
                report.ecn = said
                    .marks
                    .map(|Marks { capable, experienced }| EcnCounts { capable, experienced });
                (segment.reports, segment.rest) = (true, Some(packet));
                segment.credit = said.credit.map(|edge| unwrap(edge, 32, view.sent_upto));
            }
        }
        Ok(segment)
    }

    /// Reads a part of a unit, of which `segment` holds what the rest of the packet tells. Until
    /// all parts have arrived, the packet has no unit.
    #[cold]
    fn read_part(
        &mut self,
        view: &View,
        sequence: u32,
        label: Label,
        part: Part,
        mut packet: M,
        mut segment: Incoming<M>,
    ) -> Result<Incoming<M>, Dropped> {
        let (offset, whole) = (usize::from(part.offset), usize::from(part.whole));
        let place = PartPlace { offset, whole };
        // What was cut before the peer knew our limit is as long as the base.
        let longest = usize::from(self.ours.packet).max(BASE);
        if !self.both.parts || place.whole > longest {
            return Err(Dropped::Malformed);
        }
        let number = unwrap(sequence, 32, view.received_upto);
        // A part of a packet received before is not examined: it is acknowledged once more,
        // complete or not.
        if number >= view.received_upto {
            let received = view.received_upto.max(segment.settled.unwrap_or_default());
            if number >= received + u64::from(self.window) {
                return Err(Dropped::BeyondWindow);
            }
            // Before the address is validated nothing is kept: an honest peer has not learned yet
            // that the path drops long packets.
            if !self.is_heard && view.settled_upto == Self::lift(self.ours.first) {
                return Err(Dropped::NoRoom);
            }
            let Some(mut whole) = self.parts.take(received, number, label, place, &packet)? else {
                segment.rest = Some(packet);
                return Ok(segment);
            };
            if label.kind == MessageKind::Control {
                check_items(&mut whole)?;
            }
            segment.rest = Some(core::mem::replace(&mut packet, whole));
        }
        segment.unit = Some(unit(view, sequence, label, packet));
        Ok(segment)
    }

    /// Returns the number below which no packet will arrive, if the peer's datagrams expire. It is
    /// accepted only from a plausible packet: after an outage numbers have advanced, but not far.
    #[inline]
    fn settled(&self, view: &View, sequence: u32, settled: Option<u32>) -> Option<u64> {
        let settled = unwrap(settled?, 32, view.received_upto);
        let number = unwrap(sequence, 32, view.received_upto);
        let expires = self.theirs.as_ref().is_some_and(|theirs| theirs.expires);
        (expires && settled <= number && number < view.received_upto + SKIPPED_MOST)
            .then_some(settled)
    }

    /// Reads the control items in session 0 that concern this session.
    fn arranged(
        &mut self,
        view: &View,
        segment: &mut Incoming<M>,
        whole: usize,
        mut packet: M,
        report: &mut Report,
    ) -> Result<Signals, Dropped> {
        let octets = packet.len();
        let octets = packet.front(octets).ok_or(Dropped::Malformed)?;
        let item = match items(octets).next() {
            Some(Ok(item)) => item,
            _ => return Err(Dropped::Malformed),
        };
        match Matter::of(item.id).ok_or(Dropped::NotOurs)? {
            Matter::Open => self.proposed(view, &mut segment.credit, whole, item),
            Matter::Close => {
                let close = Close::decode(item.value)?;
                if close.session != self.session || close.token != self.ours.nonce {
                    return Err(Dropped::NotOurs);
                }
                // The acknowledgement before it may be lost, or overtaken.
                let received = unwrap(close.received, 32, view.sent_upto);
                if received <= view.sent_upto {
                    (segment.reports, report.upto) = (true, received);
                }
                Ok(match item.kind {
                    ControlKind::Request => Signals::END.with(reason(&close)),
                    ControlKind::Reply => Signals::ENDED,
                })
            }
            Matter::Identify => self.identified(item),
            Matter::Challenge => self.challenged(item),
            matter => {
                let token = Token::decode(item.value)?;
                if token.session != self.session || token.token != self.ours.nonce {
                    return Err(Dropped::NotOurs);
                }
                match (matter, item.kind) {
                    (Matter::Probe, ControlKind::Request) => Ok(TwoStage::PROBE),
                    (Matter::Probe, ControlKind::Reply) => Ok(TwoStage::PRESENT),
                    (Matter::Confirm, ControlKind::Request) => {
                        self.path.on_answered(false);
                        self.is_heard = true;
                        Ok(Signals::CONFIRM)
                    }
                    _ => Err(Dropped::Malformed),
                }
            }
        }
    }

    fn proposed(
        &mut self,
        view: &View,
        credit: &mut Option<u64>,
        whole: usize,
        item: Item<'_>,
    ) -> Result<Signals, Dropped> {
        let proposal = Proposal::decode(item.value)?;
        if proposal.session != self.session {
            return Err(Dropped::NotOurs);
        }
        let signals = match (item.kind, proposal.verdict) {
            // A side that sent a request accepts answers only: another host's request would be
            // taken for the peer's.
            (ControlKind::Request, Verdict::Asked) if self.asks => return Err(Dropped::NotOurs),
            (ControlKind::Request, Verdict::Asked) => Signals::OPEN,
            // An answer echoes the nonce of our request, which only the peer knows.
            (ControlKind::Reply, _) if proposal.echo != self.ours.nonce => {
                return Err(Dropped::NotOurs);
            }
            (ControlKind::Reply, Verdict::Granted) => Signals::ACCEPT,
            (ControlKind::Reply, Verdict::Refused) => return Ok(Signals::REFUSE),
            (ControlKind::Reply, Verdict::Again) => {
                self.ours.echo = proposal.nonce;
                self.path.on_asked_again();
                return Ok(TwoStage::AGAIN);
            }
            _ => return Err(Dropped::Malformed),
        };
        if !self.knows(&proposal) {
            return Err(Dropped::NotOurs);
        }
        *credit = Some(view.settled_upto + u64::from(proposal.window)).filter(|_| view.idle);
        self.learn(proposal);
        let is_long = whole >= self.path.most();
        match signals {
            Signals::ACCEPT => {
                self.path.on_answered(is_long);
                self.is_heard = true;
            }
            _ => self.asked_long = is_long,
        }
        Ok(signals)
    }
}

fn reason(close: &Close) -> Signals {
    let code = Signals::because(close.detail);
    match close.reason {
        Reason::Done => Signals::NONE,
        Reason::Overrun => Signals::OVERRUN,
        Reason::Aborted => Signals::ABORT.with(code),
        Reason::TooLong => Signals::TOO_LONG.with(code),
        Reason::Silent => Signals::SILENT,
        Reason::Forged => Signals::FORGED,
    }
}

fn has_options(header: &Packet) -> bool {
    header.options > 0 || header.version != Version::One
}

pub(crate) fn stamp(header: &Packet) -> Timestamp {
    let at = u64::from(header.seconds) * 1_000_000 + u64::from(header.microseconds.get());
    Timestamp { at, valid: header.expiry }
}

/// The label of what is not in fragments.
pub(crate) const WHOLE: Label = Label {
    message: 0,
    index: 0,
    count: 1,
    last: true,
    kind: MessageKind::Data,
    priority: 128,
    form: PieceForm::Framed,
};

/// The label of a datagram in one packet, unprotected.
#[inline]
fn alone(Single { datagram: message }: Single, said: &Said) -> Label {
    Label { message, priority: said.priority, form: PieceForm::Bare, ..WHOLE }
}

/// The label of a fragment in its datagram.
#[inline]
fn place(fragment: &Fragment, said: &Said) -> Result<Label, Dropped> {
    let (index, count) =
        (said.high.0 | u32::from(fragment.index), said.high.1 | u32::from(fragment.count));
    if index >= count {
        return Err(Dropped::Malformed);
    }
    let (message, last) = (fragment.datagram, index + 1 == count);
    Ok(Label { message, index, count, last, priority: said.priority, ..WHOLE })
}

#[inline]
fn unit<M: Message>(view: &View, sequence: u32, label: Label, body: M) -> Unit<M> {
    let number = unwrap(sequence, 32, view.received_upto);
    Unit { span: number..number + 1, label, body, since: view.now, lifetime: None }
}

fn options<M: Message>(header: &Packet, packet: &mut M) -> Result<Said, Dropped> {
    let octets = usize::from(header.options);
    let mut said = NOTHING;
    let mut needs_understanding = false;
    for option in Options::new(packet.front(octets).ok_or(Dropped::Malformed)?) {
        let option = option?;
        needs_understanding |= option.needs_understanding();
        match option {
            PacketOption::Credit(edge) => said.credit = Some(edge),
            PacketOption::Ranges => said.ranges = true,
            PacketOption::Large(high) => {
                said.high = (u32::from(high.index) << 16, u32::from(high.count) << 16);
            }
            PacketOption::Part(part) => said.part = Some(part),
            PacketOption::Priority(priority) => said.priority = priority,
            PacketOption::Settled(number) => said.settled = Some(number),
            PacketOption::Marks(marks) => said.marks = Some(marks),
            PacketOption::Padding(_) => {}
        }
    }
    packet.advance(octets);
    // Version 2 is used exactly where an option must be understood.
    if needs_understanding == (header.version == Version::Two) {
        Ok(said)
    } else {
        Err(Dropped::Malformed)
    }
}

fn check_items<M: Message>(packet: &mut M) -> Result<(), Dropped> {
    let octets = packet.len();
    let octets =
        packet.front(octets).filter(|octets| !octets.is_empty()).ok_or(Dropped::Malformed)?;
    Ok(items(octets).try_for_each(|item| item.map(|_| ()))?)
}

/// Reads sequence numbers, one by one or in ranges; there must be at least one. A range within one
/// before it has arrived again (RFC 2883).
fn numbers<M: Message>(
    view: &View,
    packet: &mut M,
    ranges: bool,
    report: &mut Report,
) -> Result<(), Dropped> {
    let octets = packet.len();
    let octets = packet.front(octets).ok_or(Dropped::Malformed)?;
    let (words, []) = octets.as_chunks::<4>() else { return Err(Dropped::Malformed) };
    let read = |word: &[u8; 4]| unwrap(u32::from_be_bytes(*word), 32, view.sent_upto);
    if words.is_empty() || (ranges && words.len() % 2 == 1) {
        return Err(Dropped::Malformed);
    }
    if ranges {
        let (mut named, mut highest) = (0, 0);
        for pair in words.chunks_exact(2) {
            let (first, last) = (read(&pair[0]), read(&pair[1]));
            named += last.saturating_sub(first) + 1;
            if last < first || named > NAMED_MOST {
                return Err(Dropped::Malformed);
            }
            let span = first..last + 1;
            let names = |held: &Range<u64>| held.start <= span.start && span.end <= held.end;
            let again = span.end <= highest && report.held.iter().any(names);
            highest = highest.max(span.end);
            if again { &mut report.again } else { &mut report.held }.push(span);
        }
        return Ok(());
    }
    for number in words.iter().map(read) {
        match report.held.last_mut() {
            Some(span) if span.end == number => span.end = number + 1,
            _ => report.held.push(number..number + 1),
        }
    }
    Ok(())
}
