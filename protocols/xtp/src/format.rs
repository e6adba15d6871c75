//! The packets of one context.

use core::marker::PhantomData;
use core::net::SocketAddr;

use alloc::vec::Vec;

use stackwright_contract::services::MessageProperties;
use stackwright_contract::{Address, Participant};
use stackwright_transport::component;
use stackwright_transport::path_mtu::PathMtu;
use stackwright_transport::slots::{CheckAt, Format, Front};
use stackwright_transport::words::{
    self, Dropped, Ending, Incoming, Numbering, Outgoing, Report, Signals, View,
};
use stackwright_wire::{Header, Malformed, Message};

use crate::config::Config;
use crate::header::{
    AddressHeader, ControlSegment, Internet6Address, MessageTag, SpanCount, SpanSegment,
    TrafficHeader, TrafficTerms, XtpOptions, XtpPacket,
};
use crate::key::ContextKey;

/// Where the check of a packet stands.
const CHECK: usize = 16;
/// The octets of the longest traffic specifier.
pub(crate) const TRAFFIC_MOST: usize = TrafficHeader::LENGTH + TrafficTerms::LENGTH;
/// The octets of one that says nothing.
pub(crate) const TRAFFIC_LEAST: usize = TrafficHeader::LENGTH + 4;
/// The longest address segment.
const ADDRESS_MOST: usize = AddressHeader::LENGTH + Internet6Address::LENGTH;
/// The most octets before data.
pub(crate) const HEADER_MOST: usize = XtpPacket::LENGTH + ADDRESS_MOST + TRAFFIC_MOST + TAG;
/// The octets of a tag.
pub(crate) const TAG: usize = MessageTag::LENGTH;

/// The signals that are bits of every packet.
pub(crate) const SIGNALS: [(Signals, XtpOptions); 3] = [
    (Signals::FINISH, XtpOptions::WCLOSE),
    (Signals::STOP, XtpOptions::RCLOSE),
    (Signals::END, XtpOptions::END),
];

/// What is fixed of the packets of a service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// The number of the service.
    pub(crate) service: u8,
    /// The longest packet, in octets.
    pub(crate) packet: usize,
    /// The longest message of either side, in octets.
    pub(crate) longest: usize,
    /// XtpOptions that every packet bears.
    pub(crate) options: XtpOptions,
    /// Whether every packet of data is a FIRST until the peer has answered: any may be the first
    /// that arrives.
    pub(crate) opens_always: bool,
    /// Whether the peer answers.
    pub(crate) is_answered: bool,
    /// Whether all messages have a number.
    pub(crate) numbers: bool,
    /// The number of the inquiry before the first.
    pub(crate) sync: u32,
    /// How fast this side sends, where it tells that, and how fast it takes data.
    pub(crate) sends: Option<words::Terms>,
}

impl Terms {
    /// Returns the most octets between the header and data without a number.
    pub(crate) const fn before(&self) -> usize {
        ADDRESS_MOST + if self.sends.is_some() { TRAFFIC_MOST } else { TRAFFIC_LEAST }
    }
}

/// The packets of a context: it knows the keys that tell it from others.
#[derive(Debug)]
pub struct Xtp4<M> {
    pub(crate) terms: Terms,
    pub(crate) own: Option<ContextKey>,
    /// The key of the peer's context, once a packet has shown it.
    pub(crate) peer: Option<u64>,
    /// Whether the peer returns our key: it has heard us.
    pub(crate) is_known: bool,
    /// Whether the peer opened it.
    called: bool,
    /// The number of the peer's last inquiry.
    pub(crate) sync: Option<u32>,
    /// The bit EDGE of the last packet.
    pub(crate) edge: bool,
    pub(crate) here: SocketAddr,
    pub(crate) there: SocketAddr,
    /// The most octets that the peer takes in a packet, behind its header; 0: no bound.
    pub(crate) longest: u32,
    pub(crate) path: PathMtu,
    message: PhantomData<fn() -> M>,
}

// It holds no message, which need not be cloned.
impl<M> Clone for Xtp4<M> {
    fn clone(&self) -> Self {
        Xtp4 { message: PhantomData, ..*self }
    }
}

impl<M> Xtp4<M> {
    /// Creates the format of a context with the key `own`; `peer` is the peer's, where it opened.
    pub(crate) fn new(
        terms: Terms,
        own: Option<ContextKey>,
        peer: Option<u64>,
        (here, there): (SocketAddr, SocketAddr),
    ) -> Self {
        // What is told of a key is confirmed by its return.
        let is_known = peer.is_none() || own.is_none();
        let path = PathMtu::assuming(terms.packet, XtpPacket::LENGTH + terms.before());
        Xtp4 {
            terms,
            own,
            peer,
            is_known,
            called: peer.is_some(),
            sync: None,
            edge: false,
            here,
            there,
            longest: 0,
            path,
            message: PhantomData,
        }
    }
}

/// Returns the address of a peer, for the address segment of FIRST; over IP it has no port.
pub(crate) fn place(peer: Participant) -> SocketAddr {
    match peer.address {
        Address::InternetProtocol { host, .. } => SocketAddr::new(host, 0),
        _ => peer.internet().unwrap_or(Config::UNSPECIFIED),
    }
}

/// Returns the octets that the check of a packet covers.
pub(crate) fn check(header: &XtpPacket, octets: usize) -> CheckAt {
    let end = if header.options.has(XtpOptions::NOCHECK) { XtpPacket::LENGTH } else { octets };
    CheckAt::new(CHECK, 0..end)
}

impl<M: Message> Front<M> for XtpPacket {
    #[inline]
    fn read(packet: &mut M) -> Result<Self, Malformed> {
        XtpPacket::decode(packet.front(XtpPacket::LENGTH).ok_or(Malformed::TooShort)?)
    }
}

impl<M: Message> Format<M> for Xtp4<M> {
    type Front = XtpPacket;

    fn numbering(&self) -> Numbering {
        Numbering::Octets
    }

    fn first(&self) -> u64 {
        0
    }

    fn inquiries_behind(&self) -> u32 {
        self.terms.sync
    }

    /// Returns the key by which the context is not found: that of the side that did not open.
    fn locator(&self) -> u64 {
        let own = self.own.map_or(0, |own| own.number);
        if self.called { own } else { self.peer.unwrap_or(0) }
    }

    fn room(&self, _: usize, properties: &MessageProperties) -> usize {
        // Whether FIRST or DATA carries it is not known yet.
        let tag = if self.terms.numbers || properties.number.is_some() { TAG } else { 0 };
        let before = self.terms.before() + tag;
        let own = self.path.packet() - XtpPacket::LENGTH - before;
        match (self.longest as usize).saturating_sub(before) {
            0 => own,
            theirs => own.min(theirs),
        }
    }

    fn longest(&self) -> usize {
        self.terms.longest
    }

    fn takes(&self) -> usize {
        self.terms.longest
    }

    fn headroom(&self) -> usize {
        XtpPacket::LENGTH + self.terms.before() + TAG
    }

    fn report_room(&self) -> usize {
        (self.path.packet() - XtpPacket::LENGTH - ControlSegment::LENGTH - SpanCount::LENGTH)
            / SpanSegment::LENGTH
    }

    fn runs(&self, number: u64, sent_upto: u64) -> bool {
        // A FIRST says more.
        !self.terms.opens_always && self.path.runs(number, sent_upto)
    }

    fn check(&self, front: &[u8], octets: usize) -> Option<CheckAt> {
        Some(check(&XtpPacket::decode(front).ok()?, octets))
    }

    #[inline]
    fn decode(
        &mut self,
        view: &View,
        front: Option<&XtpPacket>,
        packet: M,
        report: &mut Report,
    ) -> Result<Incoming<M>, Dropped> {
        self.read(view, front, packet, report)
    }

    #[inline]
    fn encode(&mut self, view: &View, say: &mut Outgoing<'_>, octets: &mut Vec<u8>) {
        self.write(view, say, octets);
    }

    fn farewell(&self, view: &View, why: Ending, into: &mut Vec<u8>) -> bool {
        self.write_farewell(view, why, into)
    }

    fn on_repeated(&mut self, view: &View, number: u64, octets: usize) {
        self.path.on_repeated(view, number, octets);
    }

    #[inline]
    fn on_acknowledged(&mut self, longest: usize, in_parts: bool) {
        self.path.on_acknowledged(longest, in_parts);
    }
}

component! {
    <M> Xtp4<M>: "format of XTP 4.0", "writes XTP's packets",
    gives: Property::SPANS
        .and(Property::INQUIRIES)
        .and(Property::CREDIT)
        .and(Property::MARKS)
        .and(Property::SIGNALS)
        .and(Property::CHECK_FIELD)
        .and(Property::TERMS)
        .and(Property::COUNTS_OCTETS),
}
