//! The packets of one connection.
//!
//! | file | what |
//! | --- | --- |
//! | here | what is kept of both sides |
//! | `receive.rs` | packets to words |
//! | `send.rs` | words to packets |
//!
//! A number counts packets, and is 2²⁴ more than on the wire, at least, so that none is below zero.

mod receive;
mod send;

use alloc::vec::Vec;
use core::marker::PhantomData;

use stackwright_base::PortPair;
use stackwright_contract::services::MessageProperties;
use stackwright_contract::{Participant, PathLimits};
use stackwright_policies::integrity::hosts_sum;
use stackwright_transport::component;
use stackwright_transport::slots::{CheckAt, Format};
use stackwright_transport::words::{
    Dropped, Ending, Incoming, Numbering, Outgoing, Report, Signals, View,
};
use stackwright_wire::{Header, Message};

use crate::PROTOCOL;
use crate::config::{Config, PACKET_LEAST};
use crate::header::{CHECK, XstpHeader, XstpKind};

/// What a number is more than on the wire, at least.
const FIRST_TURN: u64 = 1 << BITS;

/// The bits of a number on the wire.
const BITS: u32 = 24;

/// The version, and the most octets of data that its sender takes in a packet: what a beginning and
/// its answer carry.
const BEGINNING: usize = 3;

/// The version that this side speaks.
const VERSION: u8 = 1;

/// The fewest octets of data that a peer may say it takes in a packet.
const TAKES_LEAST: usize = PACKET_LEAST as usize - XstpHeader::LENGTH;

/// The octets of the code in an END that aborts, and in a BGREJ.
const CODE: usize = 4;

/// The octets of a boundary in a list.
const BOUNDARY: usize = 3;

const SIGNALS: [(Signals, XstpKind); 5] = [
    (Signals::OPEN, XstpKind::Begin),
    (Signals::ACCEPT, XstpKind::BeginAcknowledge),
    (Signals::REFUSE, XstpKind::Reject),
    (Signals::END, XstpKind::End),
    (Signals::ENDED, XstpKind::EndAcknowledge),
];

/// The packets of a connection.
#[derive(Debug)]
pub struct XstpFormat<M> {
    ports: PortPair,
    /// Our first number.
    first: u64,
    /// The peer's, once its beginning has arrived.
    peer: Option<u64>,
    /// Octets of the longest packet that this side sends and takes.
    packet: usize,
    /// Octets of the longest packet on the path.
    path: usize,
    /// The most octets of data that the peer takes in a packet.
    peer_takes: usize,
    /// When the peer sent its last question, by its clock.
    asked_at: u16,
    /// The sum of the hosts and the protocol.
    hosts: u16,
    message: PhantomData<fn() -> M>,
}

impl<M> XstpFormat<M> {
    /// Creates the format of a connection; of the random `nonce`, 24 bits count.
    pub fn new(config: &Config, ports: PortPair, nonce: u32) -> Self {
        XstpFormat {
            ports,
            first: FIRST_TURN + u64::from(nonce % (1 << BITS)),
            peer: None,
            packet: config.packet.max(PACKET_LEAST).into(),
            path: usize::MAX,
            peer_takes: usize::MAX,
            asked_at: 0,
            hosts: PROTOCOL.into(),
            message: PhantomData,
        }
    }
}

/// Returns the check of a packet of `octets` octets between hosts with this sum.
pub(crate) fn check(hosts: u16, octets: usize) -> CheckAt {
    CheckAt::new(CHECK, 0..octets).behind(hosts, octets)
}

impl<M: Message> Format<M> for XstpFormat<M> {
    type Front = XstpHeader;

    fn numbering(&self) -> Numbering {
        Numbering::Packets
    }

    fn first(&self) -> u64 {
        self.first
    }

    fn peer_first(&self) -> Option<u64> {
        self.peer
    }

    fn room(&self, _: usize, _: &MessageProperties) -> usize {
        (self.packet.min(self.path) - XstpHeader::LENGTH).min(self.peer_takes)
    }

    fn headroom(&self) -> usize {
        XstpHeader::LENGTH
    }

    fn report_room(&self) -> usize {
        // Two boundaries each, and one before the first.
        ((self.packet.min(self.path) - XstpHeader::LENGTH) / BOUNDARY - 1) / 2
    }

    fn on_ends(&mut self, local: Participant, remote: Participant) {
        self.hosts = hosts_sum(local, remote, PROTOCOL);
    }

    fn on_path(&mut self, path: PathLimits) {
        self.path = (path.longest as usize).max(PACKET_LEAST.into());
    }

    fn check(&self, _: &[u8], octets: usize) -> Option<CheckAt> {
        (octets >= XstpHeader::LENGTH).then(|| check(self.hosts, octets))
    }

    fn decode(
        &mut self,
        view: &View,
        front: Option<&XstpHeader>,
        packet: M,
        report: &mut Report,
    ) -> Result<Incoming<M>, Dropped> {
        self.read(view, front, packet, report)
    }

    /// It is remembered, so that late copies of what the peer sent begin nothing. Where it did not
    /// end in good order, they are answered: the peer may not know.
    fn farewell(&self, view: &View, why: Ending, into: &mut Vec<u8>) -> bool {
        if why != Ending::Finished {
            self.write_gone(view, into);
        }
        true
    }

    fn encode(&mut self, view: &View, say: &mut Outgoing<'_>, octets: &mut Vec<u8>) {
        self.write(view, say, octets);
    }
}

component! {
    <M> XstpFormat<M>: "format of XSTP", "writes packets of SSCOP's kinds",
    gives: Property::SPANS
        .and(Property::INQUIRIES)
        .and(Property::CREDIT)
        .and(Property::SIGNALS)
        .and(Property::CHECK_FIELD)
        .and(Property::COUNTS_PACKETS),
}
