//! Words to octets: one packet takes a signal, or an acknowledgement, or a unit.

use alloc::vec::Vec;

use stackwright_contract::services::MessageKind;
use stackwright_transport::words::{Label, Report, Saying, Signals, Stamp, View};
use stackwright_wire::{Header, Message};

use crate::control::Item;
use crate::header::{
    ControlKind, Fragment, Microseconds, Packet, PacketKind, Proposal, Token, Verdict, Version,
};
use crate::option::{Large, PacketOption};
use crate::state::{Format, Matter, ORDER};

fn put<H: Header>(header: &H, octets: &mut Vec<u8>) {
    let start = octets.len();
    octets.resize(start + H::LENGTH, 0);
    header.encode(&mut octets[start..]);
}

impl<M: Message> Format<M> {
    pub(crate) fn write(&mut self, view: &View, saying: &mut Saying<'_, M>, octets: &mut Vec<u8>) {
        // Acknowledgements bear one's own clock, and do not expire (§1.4.2).
        let own = Stamp { at: saying.clock, valid: 0 };
        if let Some(signal) = ORDER.into_iter().find(|signal| saying.signals.has(*signal)) {
            saying.signals = saying.signals.without(signal);
            self.asks |= signal == Signals::OPEN;
            let sequence = self.next_unacknowledged();
            put(&packet(PacketKind::Control, 0, sequence, own), octets);
            self.arrange(signal, octets);
        } else if let Some(report) = saying.report.take() {
            let sequence = self.next_unacknowledged();
            put(&packet(PacketKind::Acknowledge, self.session, sequence, own), octets);
            if let Some(credit) = saying.credit.take() {
                PacketOption::Credit(credit as u32).write(octets);
            }
            self.acknowledge(report, octets);
        } else if let Some(unit) = saying.unit.take() {
            let control = unit.label.kind == MessageKind::Control;
            let kind = if control { PacketKind::Control } else { PacketKind::Data };
            put(&packet(kind, self.session, unit.span.start as u32, saying.stamp), octets);
            let settled = self.both(|proposal| proposal.expires).then_some(view.settled_upto as u32);
            label(&unit.label, settled, octets);
            if !control {
                let (index, count) = (unit.label.index as u16, unit.label.count as u16);
                put(&Fragment { datagram: unit.label.message, index, count }, octets);
            }
        }
    }

    fn next_unacknowledged(&mut self) -> u32 {
        self.unacknowledged = self.unacknowledged.wrapping_add(1);
        self.unacknowledged
    }

    /// Numbers one by one, or in ranges where both sides know them.
    fn acknowledge(&self, report: &Report, octets: &mut Vec<u8>) {
        let ranges = self.both(|proposal| proposal.ranges);
        if ranges {
            PacketOption::Ranges.write(octets);
        }
        end_options(octets);
        for span in &report.held {
            if ranges {
                octets.extend_from_slice(&(span.start as u32).to_be_bytes());
                octets.extend_from_slice(&(span.end as u32).wrapping_sub(1).to_be_bytes());
                continue;
            }
            for number in span.clone() {
                octets.extend_from_slice(&(number as u32).to_be_bytes());
            }
        }
    }

    fn arrange(&self, signal: Signals, octets: &mut Vec<u8>) {
        let (matter, kind) = match signal {
            Signals::OPEN => (Matter::Open, ControlKind::Request),
            Signals::ACCEPT => (Matter::Open, ControlKind::Reply),
            Signals::END => (Matter::Close, ControlKind::Request),
            Signals::ENDED => (Matter::Close, ControlKind::Reply),
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
                Proposal { verdict: Verdict::Granted, echo: theirs, ..self.ours }.encode(&mut value);
                Proposal::LENGTH
            }
            _ => {
                Token { session: self.session, reserved: (), token: theirs }.encode(&mut value);
                Token::LENGTH
            }
        };
        Item { kind, id: matter.id(), value: &value[..length] }.write(octets);
    }
}

fn packet(kind: PacketKind, session: u8, sequence: u32, stamp: Stamp) -> Packet {
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

/// The options of a unit.
#[inline]
fn label(label: &Label, settled: Option<u32>, octets: &mut Vec<u8>) {
    let large = label.count > u32::from(u16::MAX);
    if !large && label.priority == 128 && settled.is_none() {
        return;
    }
    if let Some(settled) = settled {
        PacketOption::Settled(settled).write(octets);
    }
    if label.priority != 128 {
        PacketOption::Priority(label.priority).write(octets);
    }
    if large {
        let high = Large { index: (label.index >> 16) as u16, count: (label.count >> 16) as u16 };
        PacketOption::Large(high).write(octets);
        octets[0] = octets[0] & 0x0f | 2 << 4;
    }
    end_options(octets);
}

/// The options end here: the header says how many octets they have.
fn end_options(octets: &mut [u8]) {
    let options = (octets.len() - Packet::LENGTH) as u16;
    octets[2..4].copy_from_slice(&options.to_be_bytes());
}
