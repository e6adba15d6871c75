//! The segments of one connection.
//!
//! | file | what |
//! | --- | --- |
//! | here | what is kept of both sides |
//! | `receive.rs` | segments to words: the checks of RFC 9293 §3.10.7, in their order |
//! | `predicted.rs` | segments that say nothing but the next data |
//! | `send.rs` | words to segments |
//! | `ecn.rs` | what both sides tell of marks |
//! | `duplicates.rs` | what duplicate acknowledgements tell, without SACK |
//! | `timestamps.rs` | RFC 7323: PAWS, and which copy was received |
//!
//! A number is 2³² more than on the wire, at least, so that none is below zero. SYN and FIN have
//! one each there (RFC 9293 §3.4), but none in the engine, which counts octets: the SYN's is the
//! one before the first octet, the FIN's the one behind the last.

mod duplicates;
mod ecn;
mod predicted;
mod receive;
mod send;
mod timestamps;

use alloc::vec::Vec;
use core::marker::PhantomData;

use stackwright_contract::services::{BatchMessages, MessageProperties};
use stackwright_contract::{Instant, Participant, PathLimits};
use stackwright_policies::integrity::hosts_sum;
use stackwright_transport::Receipts;
use stackwright_transport::component;
use stackwright_transport::path_mtu::PathMtu;
use stackwright_transport::slots::{CheckAt, Format};
use stackwright_transport::words::{
    Cargo, Dropped, Ending, Incoming, MILLISECOND, Nanoseconds, Numbering, Opening, Outgoing,
    Report, SECOND, Signals, Timestamp, UnitHeader, View, unwrap,
};
use stackwright_wire::internet::Tcp;
use stackwright_wire::{Header, Message};

use crate::config::Config;
use crate::cookies::{Offers, Proof};
use crate::header::{HEADER_MOST, TcpFront};
use crate::key::TcpKey;
use crate::options::{BLOCKS_BESIDE_TIMESTAMPS, BLOCKS_MOST, TIMESTAMPS_LENGTH};
use duplicates::Duplicates;
use ecn::Ecn;
pub(crate) use receive::offers;
pub(crate) use send::{put, silent};
use timestamps::Timestamps;

/// TCP's number among the protocols of IP.
pub(crate) const PROTOCOL: u8 = 6;

/// The position of the check in a header.
pub(crate) const CHECK: usize = 16;

/// What a number is more than on the wire, at least.
const FIRST_TURN: u64 = 1 << 32;

/// The most octets of data that a peer takes that says nothing of it (RFC 9293 §3.7.1, MUST-15).
const SEGMENT_SIZE_DEFAULT: u16 = 536;

/// How long a peer may delay an acknowledgement, as most do at most.
const PEER_DELAY: u64 = 200 * MILLISECOND;

/// How many segments that may be forged are answered in a second (RFC 5961 §7). Each connection
/// counts by itself: a count that all share tells an attacker off the path what the others receive
/// (CVE-2016-5696).
const CHALLENGES_MOST: u8 = 10;

/// What is fixed of a connection when it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) sack: bool,
    pub(crate) timestamps: bool,
    /// The shift of our windows; `None`: it is not offered.
    pub(crate) shift: Option<u8>,
    /// Octets of the longest segment.
    pub(crate) segment: usize,
}

impl Terms {
    pub(crate) fn of(config: &Config) -> Self {
        Terms {
            sack: config.sack,
            timestamps: config.timestamps,
            shift: config.scales.then(|| config.shift()),
            segment: usize::from(config.segment),
        }
    }
}

/// The segments of a connection.
#[derive(Debug)]
pub struct TcpFormat<M> {
    key: TcpKey,
    /// What this side offers; what the peer does not offer is taken back when its SYN arrives.
    terms: Terms,
    iss: u32,
    /// The number of the peer's first octet, once its SYN has arrived.
    peer: Option<u64>,
    /// How long ago the SYN left that was acknowledged, as its timestamp tells.
    opened_in: Option<Nanoseconds>,
    /// Whether our SYN has left, and whether the peer has acknowledged it.
    asked: bool,
    is_known: bool,
    /// By how many bits the peer's windows are shifted.
    peer_shift: u8,
    /// The most octets of data that the peer takes in a segment; nothing is sent before that is
    /// known.
    peer_takes: usize,
    /// The largest window of the peer so far, and the last one, as it stood in the header.
    peer_window: u64,
    window: u16,
    times: Timestamps,
    path: PathMtu,
    /// The number after the last octet that left; with parts, that is before its unit counts.
    left: u64,
    /// The acknowledgement and the right edge of the window that left last.
    told: u64,
    edge: u64,
    /// The numbers of the FINs.
    fin_said: Option<u64>,
    fin_heard: Option<u64>,
    /// Whether our FIN left before the peer's arrived: then this side is the one that waits.
    closes_first: bool,
    /// The acknowledgement of a SYN that was not ours.
    strange: u32,
    /// The first number of the newest data, for SACK.
    newest: u64,
    challenges: Challenges,
    duplicates: Duplicates,
    ecn: Ecn,
    nagle: bool,
    /// The number behind our last expedited octet (SND.UP).
    urgent_upto: u64,
    /// The sum of the hosts and the protocol, and whether the layer below completes checks.
    hosts: u16,
    offered: bool,
    message: PhantomData<fn() -> M>,
}

/// The answers to segments that may be forged.
#[derive(Clone, Copy, Debug, Default)]
struct Challenges {
    second: u64,
    times: u8,
}

impl Challenges {
    /// Returns whether another one may leave now, which counts.
    fn admits(&mut self, now: Instant) -> bool {
        let second = now.nanoseconds() / SECOND;
        if second != self.second {
            *self = Challenges { second, times: 0 };
        }
        self.times = self.times.saturating_add(1);
        self.times <= CHALLENGES_MOST
    }
}

impl<M> TcpFormat<M> {
    /// Creates the format of a connection whose first number is `iss`, and whose clock for
    /// timestamps is `offset` milliseconds ahead.
    pub fn new(config: &Config, key: TcpKey, iss: u32, offset: u32) -> Self {
        let terms = Terms::of(config);
        TcpFormat {
            key,
            terms,
            iss,
            peer: None,
            opened_in: None,
            asked: false,
            is_known: false,
            peer_shift: 0,
            peer_takes: usize::MAX,
            peer_window: 0,
            window: 0,
            times: Timestamps::new(offset),
            path: PathMtu::assuming(terms.segment, Tcp::LENGTH + overhead(&terms)),
            left: 0,
            told: 0,
            edge: 0,
            fin_said: None,
            fin_heard: None,
            closes_first: false,
            strange: 0,
            newest: 0,
            challenges: Challenges::default(),
            duplicates: Duplicates::default(),
            ecn: Ecn::new(config.ecn),
            nagle: config.nagle,
            urgent_upto: 0,
            hosts: u16::from(PROTOCOL),
            offered: false,
            message: PhantomData,
        }
    }

    /// Creates the format of a connection whose SYN, of the number `theirs`, was answered with the
    /// number `own`.
    pub(crate) fn answered(
        config: &Config,
        key: TcpKey,
        now: Instant,
        Proof { own, theirs, offers }: &Proof,
        offset: u32,
    ) -> Self {
        let mut format = TcpFormat::new(config, key, *own, offset);
        let first = format.begin(now, *theirs, offers);
        (format.asked, format.told) = (true, first);
        format.edge = first + u64::from(config.window.min(u16::MAX.into()));
        format
    }

    /// Begins with the peer's first number, and what both sides offer. Returns the number of its
    /// first octet.
    fn begin(&mut self, now: Instant, number: u32, offers: &Offers) -> u64 {
        self.peer_takes = usize::from(offers.takes);
        self.terms.sack &= offers.sack;
        self.terms.timestamps &= offers.times.is_some();
        match (self.terms.shift, offers.shift) {
            (Some(_), Some(shift)) => self.peer_shift = shift,
            _ => self.terms.shift = None,
        }
        if let Some(times) = offers.times.filter(|_| self.terms.timestamps) {
            self.times.on_heard(now, times);
        }
        *self.peer.insert(FIRST_TURN + u64::from(number) + 1)
    }

    /// Returns whether the peer's SYN was answered.
    pub(crate) const fn has_answered(&self) -> bool {
        self.asked && self.peer.is_some()
    }

    /// Writes that answer once more.
    pub(crate) fn answer(&mut self, now: Instant, octets: &mut Vec<u8>) {
        let view = View { now, received_upto: self.peer.unwrap_or_default(), ..View::START };
        let mut say = Outgoing::signals(Signals::OPEN);
        self.write(&view, &mut say, octets);
    }

    /// Returns the octets of a header before data.
    pub fn overhead(&self) -> usize {
        Tcp::LENGTH + overhead(&self.terms)
    }

    /// Returns the first number of ours.
    const fn first(&self) -> u64 {
        FIRST_TURN + self.iss as u64 + 1
    }

    /// Returns the number that is expected next, the peer's FIN included (RCV.NXT).
    fn expects(&self, view: &View) -> u64 {
        view.received_upto + u64::from(self.fin_heard == Some(view.received_upto))
    }

    /// Returns the number after the last one that left, our FIN included (SND.NXT).
    fn next(&self, view: &View) -> u64 {
        view.sent_upto.max(self.left) + u64::from(self.fin_said.is_some())
    }

    /// Returns whether the peer has closed its half, and has told its last number.
    pub(crate) const fn closes_first(&self) -> bool {
        self.closes_first
    }
}

/// Returns the octets of options in each segment.
const fn overhead(terms: &Terms) -> usize {
    if terms.timestamps { TIMESTAMPS_LENGTH } else { 0 }
}

/// Returns the check of a segment of `octets` octets between hosts with this sum.
pub(crate) fn check(hosts: u16, octets: usize, offered: bool) -> CheckAt {
    CheckAt { offered, ..CheckAt::new(CHECK, 0..octets).behind(hosts, octets) }
}

impl<M: Message> Format<M> for TcpFormat<M> {
    type Front = TcpFront;

    fn numbering(&self) -> Numbering {
        Numbering::Octets
    }

    fn first(&self) -> u64 {
        self.first()
    }

    fn peer_first(&self) -> Option<u64> {
        self.peer
    }

    /// Returns what the path and the peer take (RFC 6691 §2), but no more than half of the largest
    /// window of the peer: it would wait for ever for one that is never open that far (RFC 9293
    /// §3.8.6.2.1).
    fn room(&self, _: usize, _: &MessageProperties) -> usize {
        let own = self.path.packet() - Tcp::LENGTH;
        let half = match self.peer_window as usize / 2 {
            half if half > usize::from(SEGMENT_SIZE_DEFAULT) / 2 => half,
            _ => usize::MAX,
        };
        let room = own.min(self.peer_takes) - overhead(&self.terms);
        room.min(half)
    }

    fn opened(&self, _: Instant, opening: Opening) -> Opening {
        // Which of several was answered, its timestamp tells (RFC 7323 §4.1).
        let took = self.opened_in.filter(|_| opening.tries > 1).unwrap_or(opening.took);
        Opening { took, peer_delay: Some(PEER_DELAY), ..opening }
    }

    fn headroom(&self) -> usize {
        HEADER_MOST
    }

    fn report_room(&self) -> usize {
        match self.terms.timestamps {
            true => BLOCKS_BESIDE_TIMESTAMPS,
            false => BLOCKS_MOST,
        }
    }

    fn always_reports(&self) -> bool {
        true
    }

    fn tells_marks(&self) -> bool {
        self.ecn.is_agreed()
    }

    fn may_be_marked(&self) -> bool {
        self.ecn.may_be_marked()
    }

    fn reneges(&self) -> bool {
        true
    }

    fn cuts_anywhere(&self) -> bool {
        true
    }

    fn waits_for_more(&self, view: &View, number: u64, octets: usize) -> bool {
        self.nagle
            && view.in_flight > 0
            && number >= view.sent_upto
            && octets < self.room(0, &MessageProperties::default())
    }

    fn on_expedited(&mut self, number: u64) {
        self.urgent_upto = number;
    }

    fn on_ends(&mut self, local: Participant, remote: Participant) {
        self.hosts = hosts_sum(local, remote, PROTOCOL);
    }

    fn on_path(&mut self, path: PathLimits) {
        self.offered = path.checks;
        let least = usize::from(crate::config::SEGMENT_LEAST);
        let most = self.terms.segment.min((path.longest as usize).max(least));
        match self.is_known {
            true => self.path.on_told(most),
            false => self.path.set_most(most),
        }
    }

    fn quoted(&self, view: &View, octets: &[u8; 8]) -> Option<u64> {
        let (ports, number) = (TcpKey::quoted(octets), octets[4..].first_chunk()?);
        let number = unwrap(u32::from_be_bytes(*number), 32, view.sent_upto);
        let oldest = if self.is_known { view.settled_upto } else { self.first() - 1 };
        let is_ours =
            ports == self.key && self.asked && oldest <= number && number < self.next(view);
        is_ours.then_some(number)
    }

    fn check(&self, _: &[u8], octets: usize) -> Option<CheckAt> {
        Some(check(self.hosts, octets, self.offered))
    }

    fn decode(
        &mut self,
        view: &View,
        front: Option<&TcpFront>,
        packet: M,
        report: &mut Report,
    ) -> Result<Incoming<M>, Dropped> {
        self.read(view, front, packet, report)
    }

    #[inline]
    fn read_plain(
        &mut self,
        view: &View,
        receipts: &Receipts,
        front: Option<&TcpFront>,
        packet: &mut M,
        behind: Option<&mut BatchMessages<M>>,
    ) -> Option<(UnitHeader, Timestamp)> {
        let unit = self.read_predicted(view, receipts, front?, packet, behind)?;
        Some((unit, Timestamp::default()))
    }

    fn encode(&mut self, view: &View, say: &mut Outgoing<'_>, octets: &mut Vec<u8>) {
        self.write(view, say, octets);
    }

    fn farewell(&self, view: &View, why: Ending, into: &mut Vec<u8>) -> bool {
        // Whoever closes last has heard the acknowledgement of its FIN, and nothing is left to say.
        let waits = why == Ending::Finished && self.closes_first();
        if waits {
            self.write_last(view, into);
        }
        waits
    }

    fn runs(&self, number: u64, sent_upto: u64) -> bool {
        self.is_known && self.path.runs(number, sent_upto)
    }

    fn follow(&mut self, header: &[u8], unit: &Cargo<'_>, into: &mut [u8]) -> Option<usize> {
        self.write_next(header, unit, into)
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
    <M> TcpFormat<M>: "format of TCP", "writes segments",
    gives: Property::SPANS
        .and(Property::CREDIT)
        .and(Property::INQUIRIES)
        .and(Property::SIGNALS)
        .and(Property::CHECK_FIELD)
        .and(Property::COUNTS_OCTETS),
}
