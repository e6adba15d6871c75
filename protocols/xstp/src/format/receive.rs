//! Reads packets: octets to words.

use alloc::vec::Vec;
use core::ops::Range;

use stackwright_transport::slots::pull_front;
use stackwright_transport::words::{
    Dropped, Incoming, Label, Report, ReportRequest, Signals, Unit, View, unwrap,
};
use stackwright_wire::Message;

use super::{
    BEGINNING, BITS, BOUNDARY, CODE, FIRST_TURN, SIGNALS, TAKES_LEAST, VERSION, XstpFormat,
};
use crate::header::{GONE, HAS_ALL, STREAM_END, XstpHeader, XstpKind};

impl<M: Message> XstpFormat<M> {
    pub(super) fn read(
        &mut self,
        view: &View,
        front: Option<&XstpHeader>,
        mut packet: M,
        report: &mut Report,
    ) -> Result<Incoming<M>, Dropped> {
        let header = pull_front(front, &mut packet)?;
        if (header.destination_port, header.source_port) != (self.ports.own, self.ports.peer) {
            return Err(Dropped::NotOurs);
        }
        let mut incoming = Incoming::silent();
        match header.kind {
            XstpKind::Begin | XstpKind::BeginAcknowledge => {
                self.begin(&header, &mut packet)?;
                incoming.credit = Some(self.first + u64::from(header.credit));
            }
            // The answer to what this side said, or says.
            XstpKind::Reject => self.rejected(view, &header)?,
            // Before the beginning, no number has a meaning.
            _ if self.peer.is_none() => return Err(Dropped::NotOurs),
            XstpKind::End if !ends_soon(view, &header) => return Err(Dropped::NotOurs),
            _ => {}
        }
        match header.kind {
            XstpKind::Data | XstpKind::DataPoll => {
                let number = unwrap(header.number, BITS, view.received_upto);
                let (span, label) = (number..number + 1, Label::default());
                incoming.unit =
                    Some(Unit { span, label, body: packet, since: view.now, lifetime: None });
                if header.kind == XstpKind::DataPoll {
                    self.asked(view, &header, number + 1, &mut incoming);
                }
            }
            XstpKind::Poll => {
                let next = unwrap(header.number, BITS, view.received_upto);
                self.asked(view, &header, next, &mut incoming);
                incoming.signals = Signals::FINISH.when(header.flags & STREAM_END != 0);
            }
            XstpKind::Status | XstpKind::UnsolicitedStatus => {
                incoming.signals = Signals::STOP.when(header.flags & STREAM_END != 0);
                report.upto = unwrap(header.number, BITS, view.sent_upto);
                let boundaries = boundaries(view, &mut packet)?;
                if boundaries.first().is_some_and(|first| *first < report.upto) {
                    return Err(Dropped::Malformed);
                }
                report.missing.extend(pairs(&boundaries));
                if header.kind == XstpKind::Status {
                    let asked = unwrap(header.poll, BITS, u64::from(view.asked));
                    report.answers = Some(asked as u32);
                    report.held.extend(pairs(boundaries.get(1..).unwrap_or_default()));
                }
                incoming.reports = true;
                incoming.credit = Some(report.upto + u64::from(header.credit));
            }
            kind => incoming.signals = self.signal(kind, header.flags, &mut packet),
        }
        Ok(incoming)
    }

    fn asked(&mut self, view: &View, header: &XstpHeader, next: u64, into: &mut Incoming<M>) {
        let number = unwrap(header.poll, BITS, u64::from(view.answered)) as u32;
        (into.inquiry, into.next) = (Some(ReportRequest::from(number)), Some(next));
        self.asked_at = header.time;
    }

    /// Handles a beginning, or its answer: one with another number is of another connection.
    fn begin(&mut self, header: &XstpHeader, packet: &mut M) -> Result<(), Dropped> {
        let answers = header.kind == XstpKind::BeginAcknowledge;
        if answers && header.poll != self.first as u32 % (1 << BITS) {
            return Err(Dropped::NotOurs);
        }
        let &[version, high, low] = packet
            .front(BEGINNING)
            .and_then(|octets| octets.first_chunk())
            .ok_or(Dropped::Malformed)?;
        let first = FIRST_TURN + u64::from(header.number);
        let takes = usize::from(u16::from_be_bytes([high, low]));
        if version != VERSION || takes < TAKES_LEAST {
            return Err(Dropped::Malformed);
        }
        if self.peer.is_some_and(|known| known != first) {
            return Err(Dropped::NotOurs);
        }
        (self.peer, self.peer_takes) = (Some(first), takes);
        Ok(())
    }

    /// Checks that a rejection names a number that this side has sent, and is not the late answer
    /// to a beginning of which another copy was accepted.
    fn rejected(&self, view: &View, header: &XstpHeader) -> Result<(), Dropped> {
        let number = unwrap(header.number, BITS, view.sent_upto.max(self.first));
        let is_ours = (self.first..=view.sent_upto.max(self.first)).contains(&number);
        let is_late = self.peer.is_some() != (header.flags & GONE != 0);
        if is_ours && !is_late { Ok(()) } else { Err(Dropped::NotOurs) }
    }

    fn signal(&self, kind: XstpKind, flags: u8, packet: &mut M) -> Signals {
        let known = SIGNALS.into_iter().find(|(_, other)| *other == kind);
        let mut signals = known.map_or(Signals::NONE, |(signal, _)| signal);
        // The connection is not there any more. If this side is leaving, that is an answer, too.
        if kind == XstpKind::Reject && self.peer.is_some() {
            signals = Signals::END.with(Signals::ENDED);
        }
        let code = packet.front(CODE).and_then(|code| code.first_chunk().copied());
        match kind {
            XstpKind::End => signals
                .with(Signals::FINISH.when(flags & STREAM_END != 0))
                .with(Signals::STOP.when(flags & HAS_ALL != 0)),
            _ => signals,
        }
        .with(match (kind, code) {
            (XstpKind::End | XstpKind::Reject, Some(code)) => {
                Signals::because(u32::from_be_bytes(code))
            }
            _ => Signals::NONE,
        })
    }
}

/// Returns whether an END names a number that its sender can have come to: it knows what we have
/// received, or guesses 24 bits.
fn ends_soon(view: &View, header: &XstpHeader) -> bool {
    let upto = unwrap(header.number, BITS, view.received_upto);
    (view.received_upto..=view.received_upto + u64::from(u8::MAX)).contains(&upto)
}

/// Returns the first that is missing, the first received after it, the next missing and so on.
fn boundaries<M: Message>(view: &View, packet: &mut M) -> Result<Vec<u64>, Dropped> {
    let octets = packet.len();
    let (threes, []) = packet.front(octets).ok_or(Dropped::Malformed)?.as_chunks::<BOUNDARY>()
    else {
        return Err(Dropped::Malformed);
    };
    let number = |three: &[u8; BOUNDARY]| {
        unwrap(u32::from_be_bytes([0, three[0], three[1], three[2]]), BITS, view.sent_upto)
    };
    let boundaries: Vec<u64> = threes.iter().map(number).collect();
    match boundaries.is_sorted_by(|one, other| one < other) {
        true => Ok(boundaries),
        false => Err(Dropped::Malformed),
    }
}

fn pairs(boundaries: &[u64]) -> impl Iterator<Item = Range<u64>> {
    boundaries.chunks_exact(2).map(|pair| pair[0]..pair[1])
}

#[cfg(test)]
mod tests {
    use stackwright_base::PortPair;
    use stackwright_wire::{BufferTree, Header as _};

    use super::*;
    use crate::config::Config;

    type M = BufferTree;

    fn packet(kind: XstpKind, flags: u8, number: u32, behind: &[u8]) -> M {
        let header = XstpHeader {
            source_port: 2,
            destination_port: 1,
            kind,
            flags,
            number,
            poll: 0,
            credit: 8,
            time: 0,
            checksum: 0,
        };
        let mut octets = [0; XstpHeader::LENGTH].to_vec();
        header.encode(&mut octets);
        octets.extend_from_slice(behind);
        M::with_headroom(0, &octets)
    }

    /// Nobody ends a connection, or has it cut into crumbs, by knowing the ports alone.
    #[test]
    fn an_end_names_a_number_that_its_sender_can_have_come_to() {
        let ports = PortPair { own: 1, peer: 2 };
        let mut format = XstpFormat::<M>::new(&Config::new(), ports, 7);
        let mut report = Report::default();
        let mut read = |view: &View, packet| format.read(view, None, packet, &mut report);
        let crumbs = packet(XstpKind::Begin, 0, 1000, &[VERSION, 0, 1]);
        assert!(matches!(read(&View::START, crumbs), Err(Dropped::Malformed)));
        let begins = read(&View::START, packet(XstpKind::Begin, 0, 1000, &[VERSION, 1, 0]));
        assert_eq!(begins.ok().and_then(|begins| begins.credit), Some(FIRST_TURN + 7 + 8));
        let view = View { received_upto: FIRST_TURN + 1020, ..View::START };
        for (number, ends) in [(1019, false), (1020, true), (1275, true), (1276, false), (7, false)]
        {
            let end = read(&view, packet(XstpKind::End, 0, number, &[]));
            assert_eq!(end.is_ok_and(|end| end.signals.has(Signals::END)), ends, "{number}");
        }
        let view = View { sent_upto: FIRST_TURN + 9, ..view };
        for (number, ends) in [(6, false), (7, true), (9, true), (10, false)] {
            let gone = read(&view, packet(XstpKind::Reject, GONE, number, &[]));
            assert_eq!(gone.is_ok_and(|gone| gone.signals.has(Signals::END)), ends, "{number}");
        }
    }
}
