//! The packets that crossed the sender's adapter, by kind.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use stackwright_simulator::World;
use stackwright_wire::Header as _;
use stackwright_xtp::header::{ControlSegment, XtpKind, XtpPacket};

use crate::multicast::scene::M;

/// The octets of IPv4's and UDP's headers.
const BELOW: usize = 20 + 8;
/// Of a block of a capture: the octets before a packet, and its type.
const BLOCK: usize = 28;
const PACKET: u32 = 6;

/// What left the sender, and what reached it.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    /// Packets of data, and different ones among them.
    pub(crate) data: usize,
    pub(crate) units: BTreeSet<u64>,
    /// Packets of control that were sent, and heard, by kind.
    pub(crate) sent: BTreeMap<u64, usize>,
    pub(crate) heard: BTreeMap<u64, usize>,
    /// Reports that answer a question, and others: of gaps, as a rule.
    pub(crate) answers: usize,
    pub(crate) naks: usize,
    /// The last question.
    pub(crate) asked: u32,
    /// The last question that each receiver has answered.
    answered: BTreeMap<u32, u32>,
}

impl Packets {
    /// Reads what a world has captured since the last time.
    pub(crate) fn taken(world: &mut World<M>) -> Self {
        let (mut packets, capture) = (Packets::default(), world.take_packets());
        let mut rest = &capture[..];
        let word = |octets: &[u8], at: usize| {
            u32::from_le_bytes(octets[at..at + 4].try_into().expect("four octets"))
        };
        while !rest.is_empty() {
            let (kind, octets) = (word(rest, 0), word(rest, 4) as usize);
            let (block, others) = rest.split_at(octets);
            if kind == PACKET {
                packets.add(&block[BLOCK..][..word(block, 20) as usize]);
            }
            rest = others;
        }
        packets
    }

    fn add(&mut self, frame: &[u8]) {
        let header = XtpPacket::decode(&frame[BELOW..][..XtpPacket::LENGTH]).expect("a packet");
        let kind = header.format as u64;
        if !header.returned {
            self.asked = header.sync;
        }
        match header.format {
            XtpKind::First | XtpKind::Data => {
                self.data += 1;
                self.units.insert(header.sequence);
            }
            _ if header.returned => {
                *self.heard.entry(kind).or_default() += 1;
                let control = &frame[BELOW + XtpPacket::LENGTH..];
                let control = ControlSegment::decode(&control[..ControlSegment::LENGTH])
                    .expect("it is there");
                let last = self.answered.insert(header.sync, control.echo);
                if header.format != XtpKind::JoinControl {
                    let answers = control.echo > last.unwrap_or(0);
                    *(if answers { &mut self.answers } else { &mut self.naks }) += 1;
                }
            }
            _ => *self.sent.entry(kind).or_default() += 1,
        }
    }

    fn sent(&self, kind: XtpKind) -> usize {
        self.sent.get(&(kind as u64)).copied().unwrap_or(0)
    }
}

impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (data, units) = (self.data, self.units.len());
        let asks = self.sent(XtpKind::Control);
        let (answers, naks, each) = (self.answers, self.naks, data as f64 / units as f64);
        write!(
            f,
            "{data} packets of {units} ({each:.2} each), {asks} questions alone, {answers} answers, {naks} NAKs"
        )
    }
}
