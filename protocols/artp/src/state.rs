//! The state of a session on the wire, and what both sides have agreed.

use core::marker::PhantomData;

use stackwright_contract::services::MessageProperties;
use stackwright_policies::connection::TwoStage;
use stackwright_transport::path_mtu::{BASE, PacketParts, PathMtu};
use stackwright_transport::words::{MILLISECOND, SECOND, Signals};
use stackwright_wire::Header;

use crate::config::{Config, WINDOW_FIRST};
use crate::header::{
    ArrivedRange, ControlHeader, Fragment, OptionHeader, Packet, Proposal, Verdict,
};
use crate::option::{Large, Marks, PacketOption, Part};

/// The most octets of options in a data packet.
const OPTIONS_MOST: usize = OptionHeader::LENGTH + Large::LENGTH + PacketOption::OCTETS_MOST;

/// The most octets of options in an acknowledgement (credit, ranges and marks), and of the range
/// that names all that arrived before.
const REPORT_OPTIONS: usize = ArrivedRange::LENGTH
    + PacketOption::OCTETS_MOST
    + OptionHeader::LENGTH
    + OptionHeader::LENGTH
    + Marks::LENGTH;

/// More fragments than these are counted by an option; the protection of a datagram may add some.
const FRAGMENTS_BARE: usize = 65_000;

/// The octets of the option that accompanies expiring datagrams.
const SETTLED: usize = PacketOption::OCTETS_MOST;

/// Reads and writes the packets of one session.
#[derive(Clone, Debug)]
pub struct Format<M> {
    pub(crate) session: u8,
    /// How many packets the window may grow to.
    pub(crate) window: u32,
    /// What this side proposes, or has granted.
    pub(crate) ours: Proposal,
    /// What the peer has proposed.
    pub(crate) theirs: Option<Proposal>,
    /// What both propose; nothing before the peer's proposal has come.
    pub(crate) both: Wishes,
    /// What the peer's [`Unknown`](crate::header::Unknown) bears if it has lost the session.
    pub(crate) reset: Option<[u8; 16]>,
    /// The challenge that is to be answered.
    pub(crate) challenge: u64,
    /// The peer's first sequence number.
    pub(crate) peer_first: Option<u64>,
    /// Whether this side asked for the session.
    pub(crate) asks: bool,
    /// The path MTU to the peer.
    pub(crate) path: PathMtu,
    /// Packets of which parts have arrived.
    pub(crate) parts: PacketParts,
    /// Whether the peer has answered, or confirmed: it receives our packets.
    pub(crate) is_heard: bool,
    /// Whether the peer's last request was as long as packets shall be.
    pub(crate) asked_long: bool,
    /// The datagram of the last fragment written that was not the last of its datagram, and its
    /// octets.
    pub(crate) cut: (u32, usize),
    /// The last sequence number of packets that are not acknowledged themselves. They are counted
    /// apart, so that they leave no holes.
    pub(crate) unacknowledged: u32,
    message: PhantomData<fn() -> M>,
}

impl<M> Format<M> {
    /// Makes a session that this side asks for or grants.
    pub fn new(session: u8, config: &Config, secrets: Secrets) -> Self {
        let ours = Proposal {
            session,
            verdict: Verdict::Asked,
            packet: config.packet,
            window: config.window.min(WINDOW_FIRST),
            first: config.first.unwrap_or(secrets.first),
            longest: u32::try_from(config.longest).unwrap_or(u32::MAX),
            delay: u16::try_from(config.gather.div_ceil(MILLISECOND)).unwrap_or(u16::MAX),
            idle: config
                .bears()
                .map_or(0, |idle| u16::try_from(idle.div_ceil(SECOND).max(1)).unwrap_or(u16::MAX)),
            ranges: config.ranges,
            large: config.large,
            parts: config.parts,
            expires: config.expires,
            marks: config.ecn,
            single: config.single,
            reserved: (),
            nonce: secrets.nonce,
            echo: 0,
            salt: secrets.salt,
            reset: secrets.reset,
        };
        Format {
            session,
            window: config.window,
            ours,
            theirs: None,
            both: Wishes::default(),
            reset: None,
            challenge: 0,
            peer_first: None,
            asks: false,
            path: PathMtu::asking(usize::from(config.packet).max(MINIMUM), Packet::LENGTH),
            parts: PacketParts::default(),
            is_heard: false,
            asked_long: false,
            cut: (0, 0),
            unacknowledged: 0,
            message: PhantomData,
        }
    }

    /// Returns both sides' proposals, from which keys are derived.
    pub fn proposals(&self) -> Option<(&Proposal, &Proposal)> {
        Some((&self.ours, self.theirs.as_ref()?))
    }

    /// Extends a first sequence number, high enough that none is below 0 when it is read near
    /// another.
    pub(crate) fn lift(first: u32) -> u64 {
        1 << 32 | u64::from(first)
    }

    /// Returns the length to which a request or a grant is padded so that its answer shows what the
    /// path passes; `None`: it leaves as it is. A grant is no longer than the request: a spoofed
    /// request must not be amplified.
    pub(crate) fn probe(&self, grants: bool) -> Option<usize> {
        let (agreed, allowed) = (self.path.most(), !grants || self.asked_long);
        (agreed > BASE && self.path.is_unasked() && allowed).then_some(agreed)
    }

    /// Returns the octets of an acknowledgement beside its header and its options.
    pub(crate) fn payload(&self) -> usize {
        self.path.packet() - Packet::LENGTH - REPORT_OPTIONS
    }

    /// Returns the octets that one packet holds of a datagram of `octets` octets with these
    /// `properties`.
    pub(crate) fn body(&self, octets: usize, properties: &MessageProperties) -> usize {
        let when = |is: bool, octets: usize| if is { octets } else { 0 };
        let bare = self.path.packet()
            - Packet::LENGTH
            - Fragment::LENGTH
            - when(self.ours.expires, SETTLED);
        let bare = bare - when(properties.priority != 128, PacketOption::OCTETS_MOST);
        bare - when(octets / FRAGMENTS_BARE >= bare, OptionHeader::LENGTH + Large::LENGTH)
    }

    /// Whether the proposal is the peer's first, or a repetition of it.
    pub(crate) fn knows(&self, proposal: &Proposal) -> bool {
        self.theirs.as_ref().is_none_or(|theirs| theirs.nonce == proposal.nonce)
    }

    pub(crate) fn learn(&mut self, proposal: Proposal) {
        if self.theirs.is_none() {
            self.peer_first = Some(Self::lift(proposal.first));
            self.reset = Some(proposal.reset);
            self.both = Wishes::of(&self.ours, &proposal);
            let agreed = self.ours.packet.min(proposal.packet);
            self.path.set_most(usize::from(agreed).max(MINIMUM));
            self.theirs = Some(proposal);
        }
    }
}

/// What both sides propose. It is asked for each packet.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Wishes {
    pub(crate) ranges: bool,
    pub(crate) parts: bool,
    pub(crate) expires: bool,
    pub(crate) marks: bool,
}

impl Wishes {
    fn of(ours: &Proposal, theirs: &Proposal) -> Self {
        Wishes {
            ranges: ours.ranges && theirs.ranges,
            parts: ours.parts && theirs.parts,
            expires: ours.expires && theirs.expires,
            marks: ours.marks && theirs.marks,
        }
    }
}

/// The least limit on the length of packets: a proposal, and some data, must fit.
pub(crate) const MINIMUM: usize = HEADER_MOST + ControlHeader::LENGTH + Proposal::LENGTH;

/// The most octets before a fragment, or a part of one.
pub(crate) const HEADER_MOST: usize =
    Packet::LENGTH + OPTIONS_MOST + SETTLED + PART + Fragment::LENGTH;

const PART: usize = OptionHeader::LENGTH + Part::LENGTH;

/// The most padding: a datagram for which it would be longer has so many fragments that a short
/// last one matters little.
const PADDING_MOST: usize = 11;

/// Whether padding can make up for a last fragment that is `short` octets shorter than the others:
/// by nothing, or by at least an option's header.
#[inline]
pub(crate) fn can_be_padded(short: usize) -> bool {
    short == 0 || (OptionHeader::LENGTH..=PADDING_MOST).contains(&short)
}

/// What a third party must not be able to guess.
#[derive(Clone, Copy, Debug)]
pub struct Secrets {
    /// The first sequence number.
    pub first: u32,
    /// See [`Proposal::nonce`].
    pub nonce: u64,
    /// See [`Proposal::salt`].
    pub salt: [u8; 16],
    /// See [`Proposal::reset`].
    pub reset: [u8; 16],
}

/// The control items of sessions (OPTID). *Chosen*: the document leaves them to the implementation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Matter {
    Open,
    Close,
    Confirm,
    Probe,
    Identify,
    Challenge,
}

impl Matter {
    pub(crate) const fn id(self) -> u8 {
        match self {
            Matter::Open => 1,
            Matter::Close => 2,
            Matter::Confirm => 3,
            Matter::Probe => 5, // 4: protected items
            Matter::Identify => 6,
            Matter::Challenge => 7,
        }
    }

    pub(crate) fn of(id: u8) -> Option<Self> {
        let all = [
            Matter::Open,
            Matter::Close,
            Matter::Confirm,
            Matter::Probe,
            Matter::Identify,
            Matter::Challenge,
        ];
        all.into_iter().find(|matter| matter.id() == id)
    }
}

/// The engine's names of the signals, in its order.
pub(crate) const ORDER: [Signals; 9] = [
    TwoStage::IDENTIFY,
    TwoStage::RESPOND,
    Signals::OPEN,
    Signals::ACCEPT,
    Signals::CONFIRM,
    TwoStage::PROBE,
    TwoStage::PRESENT,
    Signals::END,
    Signals::ENDED,
];
