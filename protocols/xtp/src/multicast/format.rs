//! Words and octets of a context with a group.

use alloc::vec::Vec;
use core::net::SocketAddr;

use stackwright_contract::services::MessageProperties;
use stackwright_policies::connection::OneToMany;
use stackwright_policies::framing::MessageEnd;
use stackwright_transport::component;
use stackwright_transport::slots::{CheckAt, Format, Front};
use stackwright_transport::words::{
    Dropped, Ending, Incoming, Numbering, Outgoing, Report, Signals, View,
};
use stackwright_wire::{Header as _, Message};

use crate::format::{Terms, Xtp4};
use crate::header::{
    ControlSegment, DiagnosticSegment, KeyExchange, XtpKind, XtpOptions, XtpPacket,
};
use crate::key::ContextKey;
use crate::receive::{pull_traffic, spans};
use crate::send::{diagnose, put};

/// Where the length of a packet stands, and its number of inquiry.
const LENGTH: usize = 12;
const SYNC: usize = 20;

/// The last number with which a receiver may begin.
const FIRST_MOST: u64 = u64::MAX / 2;

/// Packets of a context with a group. Those of data are those of [`Xtp4`].
#[derive(Clone, Debug)]
pub struct XtpGroup<M> {
    packets: Xtp4<M>,
    /// The sender's key.
    key: u64,
    role: Role,
}

#[derive(Clone, Copy, Debug)]
enum Role {
    /// We send. The last message that has left whole ends before this number.
    Sender { message_end: u64 },
    /// We receive, from the first number on, once that is known; it may be within a message.
    Receiver { first: Option<u64>, within: bool },
}

impl<M> XtpGroup<M> {
    /// Creates the format of the sender whose context has `key`.
    pub(crate) fn sender(terms: Terms, key: u64, ends: (SocketAddr, SocketAddr)) -> Self {
        let own = ContextKey { ours: true, number: key };
        let packets = Xtp4::new(terms, Some(own), None, ends);
        XtpGroup { packets, key, role: Role::Sender { message_end: 0 } }
    }

    /// Creates the format of a receiver of what the context with `key` sends. The last 32 bits of
    /// its name are not 0, and other receivers have others.
    pub(crate) fn receiver(
        terms: Terms,
        name: u64,
        key: u64,
        ends: (SocketAddr, SocketAddr),
    ) -> Self {
        let own = ContextKey { ours: true, number: name };
        let packets = Xtp4::new(terms, Some(own), Some(key), ends);
        // Where every packet opens, all begin with the first number, and miss what was before.
        let first = terms.opens_always.then_some(0);
        XtpGroup { packets, key, role: Role::Receiver { first, within: false } }
    }

    /// Writes a JCNTL, of a sender or of a receiver.
    fn put_join(
        &self,
        header: XtpPacket,
        control: ControlSegment,
        name: u64,
        octets: &mut Vec<u8>,
    ) {
        put(&header, octets);
        put(&control, octets);
        put(&KeyExchange { reserved: 0, key: name }, octets);
        self.packets.put_addresses(octets);
        self.packets.put_traffic(None, octets);
        let length = octets.len() - XtpPacket::LENGTH;
        octets[LENGTH..][..4].copy_from_slice(&(length as u32).to_be_bytes());
    }
}

/// Returns the number with which a receiver that joins now begins: the first, as long as all is
/// there, else that of what is sent next.
fn start(view: &View) -> u64 {
    if view.settled_upto == 0 { 0 } else { view.sent_upto }
}

/// Reads what a receiver sends to the sender.
fn decode_report<M: Message>(
    view: &View,
    header: &XtpPacket,
    mut packet: M,
    report: &mut Report,
) -> Result<Incoming<M>, Dropped> {
    let mut incoming =
        Incoming { reports: true, next: Some(header.sequence), ..Incoming::silent() };
    report.member = header.sync.into();
    if report.member == 0 {
        return Err(Dropped::Malformed);
    }
    let control = packet.pull::<ControlSegment>()?;
    report.upto = control.received;
    // One that leaves misses nothing.
    let said = match header.options.has(XtpOptions::END) {
        true => Signals::END,
        false => OneToMany::BEHIND.when(control.received < view.settled_upto),
    };
    (report.answers, incoming.credit) = (Some(control.echo), Some(control.allocated));
    match header.format {
        XtpKind::ErrorControl => {
            spans(&mut packet, report)?;
            incoming.signals = said;
        }
        XtpKind::TrafficControl => {
            packet.pull::<KeyExchange>()?;
            pull_traffic(&mut packet).map_err(|_| Dropped::Malformed)?;
            incoming.signals = said;
        }
        XtpKind::JoinControl => {
            (report.upto, incoming.signals) = (start(view), Signals::OPEN);
            (report.answers, incoming.credit) = (None, None);
        }
        _ => return Err(Dropped::NotOurs),
    }
    Ok(incoming)
}

/// Reads what another receiver sends to the sender.
fn overhear<M: Message>(
    header: &XtpPacket,
    mut packet: M,
    report: &mut Report,
) -> Result<Incoming<M>, Dropped> {
    if header.format == XtpKind::ErrorControl {
        report.upto = packet.pull::<ControlSegment>()?.received;
        spans(&mut packet, report)?;
    }
    Ok(Incoming { signals: Signals::OVERHEARD, ..Incoming::silent() })
}

impl<M: Message> XtpGroup<M> {
    /// Reads what the sender sends to a receiver.
    fn decode_data(
        &mut self,
        view: &View,
        (header, mut packet): (&XtpPacket, M),
        report: &mut Report,
    ) -> Result<Incoming<M>, Dropped> {
        let Role::Receiver { first, within } = &mut self.role else {
            return Err(Dropped::NotOurs); // our own, which came back
        };
        match header.format {
            XtpKind::JoinControl => {
                // No sender is so far, and what is added to its numbers must not overflow.
                if header.sequence > FIRST_MOST {
                    return Err(Dropped::Malformed);
                }
                if first.is_none() {
                    *within = !header.options.has(XtpOptions::EOM);
                    *first = Some(header.sequence);
                }
                return Ok(Incoming { signals: Signals::ACCEPT, ..Incoming::silent() });
            }
            XtpKind::Diagnostic => {
                packet.advance(XtpPacket::LENGTH);
                let said = packet.pull::<DiagnosticSegment>()?;
                if said.code == DiagnosticSegment::REQUEST_REFUSED {
                    // It is for those who miss something, and for no others.
                    let late = first.is_some() && view.received_upto < header.sequence;
                    let end = Signals::END.with(Signals::because(said.value));
                    return Ok(Incoming { signals: end.when(late), ..Incoming::silent() });
                }
                let signals = Signals::END.with(Signals::because(said.value));
                return Ok(Incoming { signals, ..Incoming::silent() });
            }
            XtpKind::First => {
                first.get_or_insert(0);
            }
            XtpKind::Data | XtpKind::Control => {}
            // A sender reports nothing, and tells no key: that would open what has not begun.
            XtpKind::ErrorControl | XtpKind::TrafficControl => return Err(Dropped::NotOurs),
        }
        let mut incoming = self.packets.decode(view, None, packet, report)?;
        // A sender receives nothing.
        (incoming.reports, incoming.credit) = (false, None);
        Ok(incoming)
    }
}

impl<M: Message> Format<M> for XtpGroup<M> {
    type Front = XtpPacket;

    fn numbering(&self) -> Numbering {
        Numbering::Octets
    }

    fn first(&self) -> u64 {
        0
    }

    fn peer_first(&self) -> Option<u64> {
        match self.role {
            Role::Sender { .. } => Some(0),
            Role::Receiver { first, .. } => first,
        }
    }

    fn inquiries_behind(&self) -> u32 {
        Format::<M>::inquiries_behind(&self.packets)
    }

    fn agreed(&self, into: &mut Vec<u8>) {
        if let Role::Receiver { within: true, .. } = self.role {
            into.extend_from_slice(MessageEnd::<M>::WITHIN);
        }
    }

    fn room(&self, octets: usize, properties: &MessageProperties) -> usize {
        self.packets.room(octets, properties)
    }

    fn longest(&self) -> usize {
        Format::<M>::longest(&self.packets)
    }

    fn takes(&self) -> usize {
        Format::<M>::takes(&self.packets)
    }

    fn headroom(&self) -> usize {
        Format::<M>::headroom(&self.packets)
    }

    fn report_room(&self) -> usize {
        Format::<M>::report_room(&self.packets)
    }

    fn runs(&self, number: u64, sent_upto: u64) -> bool {
        Format::<M>::runs(&self.packets, number, sent_upto)
    }

    fn check(&self, front: &[u8], octets: usize) -> Option<CheckAt> {
        Format::<M>::check(&self.packets, front, octets)
    }

    fn decode(
        &mut self,
        view: &View,
        front: Option<&XtpPacket>,
        mut packet: M,
        report: &mut Report,
    ) -> Result<Incoming<M>, Dropped> {
        let header = front.copied().map_or_else(|| Front::read(&mut packet), Ok)?;
        if header.length as usize != packet.len() - XtpPacket::LENGTH {
            return Err(Dropped::Malformed);
        }
        if header.key != self.key || !header.options.has(XtpOptions::MULTI) {
            return Err(Dropped::NotOurs);
        }
        if !header.returned {
            return self.decode_data(view, (&header, packet), report);
        }
        packet.advance(XtpPacket::LENGTH);
        match self.role {
            Role::Sender { .. } => decode_report(view, &header, packet, report),
            Role::Receiver { .. } => overhear(&header, packet, report),
        }
    }

    fn encode(&mut self, view: &View, say: &mut Outgoing<'_>, octets: &mut Vec<u8>) {
        match &mut self.role {
            Role::Receiver { .. } if say.signals.has(Signals::OPEN) => {
                say.signals = say.signals.without(Signals::OPEN);
                let header = self.packets.start(XtpKind::JoinControl, XtpOptions::NONE);
                let control = ControlSegment { received: 0, allocated: 0, echo: 0 };
                let name = Format::<M>::locator(&self.packets);
                self.put_join(header, control, name, octets);
            }
            Role::Sender { message_end } if say.signals.has(Signals::ACCEPT) => {
                say.signals = say.signals.without(Signals::ACCEPT);
                let sequence = start(view);
                let begins = sequence == 0 || sequence == *message_end;
                let header = XtpPacket {
                    sequence,
                    ..self.packets.start(XtpKind::JoinControl, XtpOptions::EOM.when(begins))
                };
                let control = ControlSegment { received: 0, allocated: 0, echo: 0 };
                self.put_join(header, control, 0, octets);
            }
            Role::Sender { .. } if say.signals.has(OneToMany::BEHIND) => {
                say.signals = say.signals.without(OneToMany::BEHIND);
                let header = XtpPacket {
                    sequence: view.settled_upto,
                    ..self.packets.start(XtpKind::Diagnostic, XtpOptions::NONE)
                };
                let (code, value) =
                    (DiagnosticSegment::REQUEST_REFUSED, DiagnosticSegment::RETRANSMISSION);
                diagnose(header, DiagnosticSegment { code, value }, octets);
            }
            Role::Receiver { .. } => self.packets.encode(view, say, octets),
            role => {
                let unit = say.unit.map(|unit| (unit.span.end, unit.label.last));
                self.packets.encode(view, say, octets);
                if let (Role::Sender { message_end }, Some((end, true)), None) =
                    (role, unit, say.unit)
                {
                    *message_end = end.max(*message_end);
                }
            }
        }
        if let Role::Receiver { .. } = self.role {
            let name = Format::<M>::locator(&self.packets) as u32;
            octets[SYNC..][..4].copy_from_slice(&name.to_be_bytes());
        }
    }

    fn farewell(&self, view: &View, why: Ending, into: &mut Vec<u8>) -> bool {
        match self.role {
            // Those that have all were told, though others were dropped.
            Role::Sender { .. } if view.idle && view.drained => true,
            Role::Sender { .. } => Format::<M>::farewell(&self.packets, view, why, into),
            // A late copy of a packet makes no other context.
            Role::Receiver { .. } => true,
        }
    }

    fn on_repeated(&mut self, view: &View, number: u64, octets: usize) {
        Format::<M>::on_repeated(&mut self.packets, view, number, octets);
    }

    fn on_acknowledged(&mut self, longest: usize, in_parts: bool) {
        Format::<M>::on_acknowledged(&mut self.packets, longest, in_parts);
    }
}

component! {
    <M> XtpGroup<M>: "format of XTP 4.0 for a group", "writes XTP's packets to a group, and tells its members apart",
    gives: Property::SPANS
        .and(Property::INQUIRIES)
        .and(Property::CREDIT)
        .and(Property::MARKS)
        .and(Property::SIGNALS)
        .and(Property::CHECK_FIELD)
        .and(Property::COUNTS_OCTETS)
        .and(Property::GROUP),
}

#[cfg(test)]
mod tests {
    use stackwright_wire::BufferTree;

    use super::*;
    use crate::config::Config;

    type M = BufferTree;

    const KEY: u64 = 1;

    /// A receiver that has heard the sender, and no FIRST.
    fn receiver() -> XtpGroup<M> {
        let terms = Terms {
            service: 6,
            packet: 600,
            longest: usize::MAX,
            options: XtpOptions::MULTI,
            opens_always: false,
            is_answered: true,
            numbers: false,
            sync: 0,
            sends: None,
        };
        XtpGroup::receiver(terms, 7, KEY, (Config::UNSPECIFIED, Config::UNSPECIFIED))
    }

    /// Returns what comes of a sender's packet.
    fn heard(
        format: &mut XtpGroup<M>,
        kind: XtpKind,
        sequence: u64,
        body: &[u8],
    ) -> Result<Signals, Dropped> {
        let header = XtpPacket {
            returned: false,
            key: KEY,
            options: XtpOptions::MULTI,
            version: (),
            format: kind,
            length: body.len() as u32,
            check: 0,
            sort: 0,
            sync: 0,
            sequence,
        };
        let mut octets = Vec::new();
        put(&header, &mut octets);
        octets.extend_from_slice(body);
        let packet = M::with_headroom(0, &octets);
        let read = format.decode(&View::START, None, packet, &mut Report::default());
        read.map(|incoming| incoming.signals)
    }

    #[test]
    fn a_receiver_does_not_begin_where_numbers_would_overflow() {
        let mut format = receiver();
        let mut joins = |sequence| {
            let signals = heard(&mut format, XtpKind::JoinControl, sequence, &[]);
            (signals, format.peer_first())
        };
        for sequence in [u64::MAX, u64::MAX - 10, FIRST_MOST + 1] {
            assert_eq!(joins(sequence), (Err(Dropped::Malformed), None), "{sequence}");
        }
        assert_eq!(joins(FIRST_MOST), (Ok(Signals::ACCEPT), Some(FIRST_MOST)));
    }

    /// With its key it would be open without a first number, and owe answers that it cannot give.
    #[test]
    fn what_no_sender_says_opens_no_receiver() {
        let mut format = receiver();
        let mut body = Vec::new();
        put(&ControlSegment { received: 0, allocated: 0, echo: 0 }, &mut body);
        put(&KeyExchange { reserved: 0, key: 9 }, &mut body);
        body.extend_from_slice(b"\0\x08\x06\0\0\0\0\0");
        for kind in [XtpKind::TrafficControl, XtpKind::ErrorControl] {
            assert_eq!(heard(&mut format, kind, 0, &body), Err(Dropped::NotOurs), "{kind:?}");
        }
        assert_eq!(heard(&mut format, XtpKind::Control, 0, &body[..20]), Ok(Signals::NONE));
    }
}
