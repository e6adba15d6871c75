//! Reads packets: octets to words.

use alloc::vec::Vec;
use core::ops::Range;

use stackwright_transport::slots::pull_front;
use stackwright_transport::words::{
    Dropped, Incoming, Label, Report, ReportRequest, Signals, Unit, View, unwrap,
};
use stackwright_wire::Message;

use super::{BEGINNING, BITS, BOUNDARY, CODE, FIRST_TURN, SIGNALS, VERSION, XstpFormat};
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
            XstpKind::Begin | XstpKind::BeginAcknowledge => self.begin(&header, &mut packet)?,
            // The answer to what this side said, or says.
            XstpKind::Reject => self.rejected(view, &header)?,
            // Before the beginning, no number has a meaning.
            _ if self.peer.is_none() => return Err(Dropped::NotOurs),
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
        if version != VERSION || takes == 0 {
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
