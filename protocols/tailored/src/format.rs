//! The packets of one association.

use alloc::vec::Vec;
use core::marker::PhantomData;

use stackwright_contract::services::MessageProperties;
use stackwright_transport::component;
use stackwright_transport::path_mtu::{PacketParts, PathMtu};
use stackwright_transport::slots::{CheckAt, Format, Front};
use stackwright_transport::words::{Dropped, Ending, Incoming, Numbering, Outgoing, Report, View};
use stackwright_wire::{Header, Malformed, Message};

use crate::header::{
    InquiryNumber, LongCheck, NumberSpan, OpeningHashes, OpeningToken, PacketCheck, PartHeader,
    PieceHeader, ReasonCode, ReportHeader, RuleHeader, TailoredHeader, TailoredKind,
};
use crate::opening::Opening;

/// The first number of both sides: 0 on the wire.
const FIRST: u64 = 1 << 32;

/// The most octets before a body: all that may precede it, with the longest check.
pub(crate) const HEADER_MOST: usize = TailoredHeader::LENGTH
    + LongCheck::LENGTH
    + OpeningHashes::LENGTH
    + InquiryNumber::LENGTH
    + PieceHeader::LENGTH
    + PartHeader::LENGTH;

/// The default priority of a message: packets carry none.
pub(crate) const PRIORITY: u8 = 128;

/// The most spans of each kind in a report.
const SPANS_MOST: usize = 100;

/// What is fixed of the packets of a configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PacketTerms {
    /// The longest packet, in octets.
    pub(crate) packet: usize,
    /// The longest message of either side, in octets.
    pub(crate) longest: usize,
    /// The check.
    pub(crate) check: PacketCheck,
    /// Whether the check covers bodies.
    pub(crate) covers_body: bool,
    /// Whether peers answer. Otherwise every packet opens, and nobody is told that it is over.
    pub(crate) answers: bool,
    /// Whether packets may be abandoned.
    pub(crate) abandons: bool,
    /// Whether phases have services of their own.
    pub(crate) switches: bool,
    /// Whether the two sides negotiate rules.
    pub(crate) negotiates: bool,
    /// What both sides must have in common.
    pub(crate) hashes: OpeningHashes,
    /// Hashes of other protocols that a called side takes.
    pub(crate) accepts: &'static [u64],
}

impl PacketTerms {
    /// Returns the most octets before a message in one packet, of which the opening has `opening`.
    pub(crate) const fn before(&self, opening: usize) -> usize {
        TailoredHeader::LENGTH + self.check.octets() + opening + InquiryNumber::LENGTH
    }

    /// Returns a path of which nothing is known.
    const fn path(&self) -> PathMtu {
        PathMtu::assuming(self.packet, self.before(OpeningToken::LENGTH))
    }

    /// Returns the longest message that travels in one packet, in octets, once the opener has been
    /// answered.
    pub(crate) const fn unit_most(&self) -> usize {
        self.packet - self.before(OpeningToken::LENGTH)
    }

    /// Returns whether a called side takes an opener of this protocol.
    pub(crate) fn understands(&self, protocol: u64) -> bool {
        protocol == self.hashes.protocol || self.accepts.contains(&protocol)
    }

    /// Those of no association.
    pub(crate) const LEAST: PacketTerms = PacketTerms {
        packet: 256,
        longest: usize::MAX,
        check: PacketCheck::Absent,
        covers_body: true,
        answers: true,
        abandons: false,
        switches: false,
        negotiates: false,
        hashes: OpeningHashes { configuration: 0, protocol: 0 },
        accepts: &[],
    };
}

/// The packets of an association.
#[derive(Clone, Debug)]
pub struct TailoredFormat<M> {
    pub(crate) terms: PacketTerms,
    pub(crate) key: u16,
    /// Whether the peer opened it.
    pub(crate) called: bool,
    /// Of the called side: what the peer has to return. Of the other: what it returns.
    pub(crate) token: Option<u32>,
    /// On the called side, whether the peer returned it; on the other, whether it still has to be.
    pub(crate) is_open: bool,
    pub(crate) path: PathMtu,
    /// Units of which parts have arrived.
    pub(crate) parts: PacketParts,
    message: PhantomData<fn() -> M>,
}

impl<M> TailoredFormat<M> {
    /// Creates the format of the side that opens.
    pub(crate) const fn calling(terms: PacketTerms, key: u16) -> Self {
        TailoredFormat {
            terms,
            key,
            called: false,
            token: None,
            is_open: false,
            path: terms.path(),
            parts: PacketParts::new(),
            message: PhantomData,
        }
    }

    /// Creates the format of the side that is called: the peer has to return `token`.
    pub(crate) const fn called(terms: PacketTerms, key: u16, token: u32) -> Self {
        TailoredFormat {
            terms,
            key,
            called: true,
            token: Some(token),
            is_open: false,
            path: terms.path(),
            parts: PacketParts::new(),
            message: PhantomData,
        }
    }

    /// Returns the most octets that say how far the opening is.
    const fn opening_most(&self) -> usize {
        match self.token {
            None => OpeningHashes::LENGTH,
            Some(_) => OpeningToken::LENGTH,
        }
    }
}

/// Returns the octets before a body.
fn header_octets(header: &TailoredHeader) -> usize {
    TailoredHeader::LENGTH
        + header.check.octets()
        + Opening::octets(header.opening)
        + if header.asks { InquiryNumber::LENGTH } else { 0 }
        + match header.kind {
            TailoredKind::Piece | TailoredKind::Gap => PieceHeader::LENGTH,
            TailoredKind::Unit | TailoredKind::Report => 0,
        }
        + if header.part { PartHeader::LENGTH } else { 0 }
}

/// Returns where the check of a packet is, and what it covers.
#[inline]
pub(crate) fn check(terms: &PacketTerms, front: &[u8], octets: usize) -> Option<CheckAt> {
    let header = TailoredHeader::decode(front).ok()?;
    let covers_all = terms.covers_body || header.kind == TailoredKind::Report;
    let end = if covers_all { octets } else { header_octets(&header) };
    (header.check == terms.check).then_some(CheckAt::new(TailoredHeader::LENGTH, 0..end))
}

impl<M: Message> Front<M> for TailoredHeader {
    #[inline]
    fn read(packet: &mut M) -> Result<Self, Malformed> {
        TailoredHeader::decode(packet.front(TailoredHeader::LENGTH).ok_or(Malformed::TooShort)?)
    }
}

impl<M: Message> Format<M> for TailoredFormat<M> {
    type Front = TailoredHeader;

    fn numbering(&self) -> Numbering {
        Numbering::Packets
    }

    fn first(&self) -> u64 {
        FIRST
    }

    fn peer_first(&self) -> Option<u64> {
        Some(FIRST)
    }

    fn room(&self, octets: usize, _: &MessageProperties) -> usize {
        let unit = self.path.packet() - self.terms.before(self.opening_most());
        if octets <= unit { unit } else { unit - PieceHeader::LENGTH }
    }

    /// Returns as much as fits into all pieces that a message may have, and no more than either
    /// side takes.
    fn longest(&self) -> usize {
        let piece =
            self.terms.packet - self.terms.before(OpeningHashes::LENGTH) - PieceHeader::LENGTH;
        self.terms.longest.min(piece * usize::from(u16::MAX))
    }

    fn takes(&self) -> usize {
        self.terms.longest
    }

    /// Where pieces may be abandoned, those of a message have the numbers behind each other, so
    /// that the peer knows of which message nothing will come any more.
    fn overtaken_most(&self) -> usize {
        if self.terms.abandons { 0 } else { usize::MAX }
    }

    fn headroom(&self) -> usize {
        self.terms.before(self.opening_most()) + PieceHeader::LENGTH + PartHeader::LENGTH
    }

    fn report_room(&self) -> usize {
        let before = Format::<M>::headroom(self) + ReportHeader::LENGTH + ReasonCode::LENGTH;
        let before = before + if self.terms.negotiates { RuleHeader::LENGTH } else { 0 };
        ((self.path.packet() - before) / (2 * NumberSpan::LENGTH)).min(SPANS_MOST)
    }

    fn check(&self, front: &[u8], octets: usize) -> Option<CheckAt> {
        check(&self.terms, front, octets)
    }

    #[inline]
    fn decode(
        &mut self,
        view: &View,
        front: Option<&TailoredHeader>,
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
    <M> TailoredFormat<M>: "format of tailored packets", "writes what the configuration needs",
    gives: Property::SPANS
        .and(Property::INQUIRIES)
        .and(Property::CREDIT)
        .and(Property::FRAGMENTS)
        .and(Property::SIGNALS)
        .and(Property::GAPS)
        .and(Property::CHECK_FIELD)
        .and(Property::EPOCHS)
        .and(Property::COUNTS_PACKETS),
}
