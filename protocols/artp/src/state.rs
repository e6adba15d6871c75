//! What a session is on the wire, and what both sides have agreed.

use core::marker::PhantomData;

use stackwright_contract::services::MessageProperties;
use stackwright_transport::words::{Signals, View};
use stackwright_wire::Header;

use crate::config::Config;
use crate::header::{ControlHeader, Fragment, OptionHeader, Packet, Proposal, Verdict};
use crate::option::{Large, Marks, PacketOption, Part};
use crate::parts::Parts;
use crate::path::{BASE, BlackHoleDetector, PathMtu};

/// The most octets of options in a data packet.
const OPTIONS_MOST: usize = OptionHeader::LENGTH + Large::LENGTH + PacketOption::OCTETS_MOST;

/// The octets of options in an acknowledgement, at most: credit, ranges and marks.
const REPORT_OPTIONS: usize =
    PacketOption::OCTETS_MOST + OptionHeader::LENGTH + OptionHeader::LENGTH + Marks::LENGTH;

/// More fragments than these are counted by an option; what protects a datagram may add some.
const FRAGMENTS_BARE: usize = 65_000;

/// The octets of what is said where datagrams expire.
const SETTLED: usize = PacketOption::OCTETS_MOST;

/// Words and octets of one session.
#[derive(Clone, Debug)]
pub struct Format<M> {
    pub(crate) session: u8,
    /// What we propose, or granted.
    pub(crate) ours: Proposal,
    /// What the peer does.
    pub(crate) theirs: Option<Proposal>,
    /// The peer's first number.
    pub(crate) peer_first: Option<u64>,
    /// We have asked for it.
    pub(crate) asks: bool,
    /// What the way to the peer takes.
    pub(crate) path: PathMtu,
    /// Whether it takes long packets no more.
    pub(crate) black_hole: BlackHoleDetector,
    /// The packet that leaves in parts, and how many of its octets have left. No packet has the
    /// number 0.
    pub(crate) parted: (u64, usize),
    /// Packets that came in parts, so far.
    pub(crate) parts: Parts,
    /// The peer has answered, or confirmed: he hears us.
    pub(crate) is_heard: bool,
    /// The last request that came from him was as long as packets shall be.
    pub(crate) asked_long: bool,
    /// The datagram of the last fragment but one, or earlier, that was written, and how many octets
    /// it had.
    pub(crate) cut: (u32, usize),
    /// Numbers of packets that are not acknowledged themselves have a count of their own, so that
    /// they leave no holes.
    pub(crate) unacknowledged: u32,
    message: PhantomData<fn() -> M>,
}

impl<M> Format<M> {
    /// A session of our own.
    pub fn new(session: u8, config: &Config, secrets: Secrets) -> Self {
        let ours = Proposal {
            session,
            verdict: Verdict::Asked,
            packet: config.packet,
            window: config.window,
            first: config.first.unwrap_or(secrets.first),
            longest: u32::try_from(config.longest >> 16).unwrap_or(u32::MAX).max(1),
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
        };
        Format {
            session,
            ours,
            theirs: None,
            peer_first: None,
            asks: false,
            path: PathMtu::default(),
            black_hole: BlackHoleDetector::default(),
            parted: (0, 0),
            parts: Parts::default(),
            is_heard: false,
            asked_long: false,
            cut: (0, 0),
            unacknowledged: 0,
            message: PhantomData,
        }
    }

    /// What both sides propose: for keys.
    pub fn proposals(&self) -> Option<(&Proposal, &Proposal)> {
        Some((&self.ours, self.theirs.as_ref()?))
    }

    /// Numbers begin high enough that none is below 0 when it is read near another.
    pub(crate) fn lift(first: u32) -> u64 {
        1 << 32 | u64::from(first)
    }

    pub(crate) fn both(&self, wishes: impl Fn(&Proposal) -> bool) -> bool {
        wishes(&self.ours) && self.theirs.as_ref().is_some_and(wishes)
    }

    /// The longest packet that both ends take.
    pub(crate) fn agreed(&self) -> usize {
        let theirs = self.theirs.as_ref().map_or(u16::MAX, |theirs| theirs.packet);
        usize::from(self.ours.packet.min(theirs)).max(MINIMUM)
    }

    /// The longest packet that both ends take, and the way between them.
    pub(crate) fn packet(&self) -> usize {
        self.path.packet(self.agreed())
    }

    /// How long a request or a grant is to be made so that its answer shows what the way takes;
    /// `None`: it leaves as it is. A grant is no longer than the request, or somebody else might be
    /// flooded who never asked.
    pub(crate) fn probe(&self, grants: bool) -> Option<usize> {
        let agreed = self.agreed();
        let allowed = !grants || self.asked_long;
        (agreed > BASE && self.path == PathMtu::Unasked && allowed).then_some(agreed)
    }

    /// A unit left once more.
    #[cold]
    pub(crate) fn detect(&mut self, view: &View, number: u64, octets: usize) {
        if self.can_narrow() {
            self.black_hole.on_repeated(view.settled_upto, number, octets);
        }
    }

    fn can_narrow(&self) -> bool {
        self.path == PathMtu::Long && self.both(|proposal| proposal.parts)
    }

    /// Whether a packet that is longer than the base leaves in parts: the path drops it, or this
    /// one finds out whether it does.
    #[inline]
    pub(crate) fn leaves_in_parts(&mut self, number: u64) -> bool {
        if self.path == PathMtu::Long && self.black_hole.is_found(number) && self.can_narrow() {
            self.path = PathMtu::BlackHole;
        }
        self.path == PathMtu::BlackHole || self.black_hole.probes(number)
    }

    /// What an acknowledgement holds beside its header and its options.
    pub(crate) fn payload(&self) -> usize {
        self.packet() - Packet::LENGTH - REPORT_OPTIONS
    }

    /// What one packet holds of a datagram of so many octets, of which this is wished.
    pub(crate) fn body(&self, octets: usize, properties: &MessageProperties) -> usize {
        let when = |is: bool, octets: usize| if is { octets } else { 0 };
        let bare =
            self.packet() - Packet::LENGTH - Fragment::LENGTH - when(self.ours.expires, SETTLED);
        let bare = bare - when(properties.priority != 128, PacketOption::OCTETS_MOST);
        bare - when(octets / FRAGMENTS_BARE >= bare, OptionHeader::LENGTH + Large::LENGTH)
    }

    /// The peer proposes this: for the first time, or once more?
    pub(crate) fn knows(&self, proposal: &Proposal) -> bool {
        self.theirs.as_ref().is_none_or(|theirs| theirs.nonce == proposal.nonce)
    }

    pub(crate) fn learn(&mut self, proposal: Proposal) {
        if self.theirs.is_none() {
            self.peer_first = Some(Self::lift(proposal.first));
            self.theirs = Some(proposal);
        }
    }
}

/// No packet is shorter at its most: room for a proposal, and for some data.
pub(crate) const MINIMUM: usize = HEADER_MOST + ControlHeader::LENGTH + Proposal::LENGTH;

/// The most octets before a fragment, or a part of one.
pub(crate) const HEADER_MOST: usize =
    Packet::LENGTH + OPTIONS_MOST + SETTLED + PART + Fragment::LENGTH;

const PART: usize = OptionHeader::LENGTH + Part::LENGTH;

/// Padding is no longer than this: where a datagram has so many fragments that it would be, a short
/// one more matters little.
const PADDING_MOST: usize = 11;

/// How much shorter than the others the last fragment of a datagram may be for padding to make up
/// for it: nothing, or as much as an option has at least.
pub(crate) fn can_be_padded(short: usize) -> bool {
    short == 0 || (OptionHeader::LENGTH..=PADDING_MOST).contains(&short)
}

/// What a stranger must not be able to guess.
#[derive(Clone, Copy, Debug)]
pub struct Secrets {
    /// The first packet number.
    pub first: u32,
    /// See [`Proposal::nonce`].
    pub nonce: u64,
    /// See [`Proposal::salt`].
    pub salt: [u8; 16],
}

/// The control items of sessions (OPTID). *Chosen*: the document leaves them to the implementation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Matter {
    Open,
    Close,
    Confirm,
}

impl Matter {
    pub(crate) const fn id(self) -> u8 {
        match self {
            Matter::Open => 1,
            Matter::Close => 2,
            Matter::Confirm => 3,
        }
    }

    pub(crate) fn of(id: u8) -> Option<Self> {
        [Matter::Open, Matter::Close, Matter::Confirm].into_iter().find(|matter| matter.id() == id)
    }
}

/// What the engine calls them.
pub(crate) const ORDER: [Signals; 5] =
    [Signals::OPEN, Signals::ACCEPT, Signals::CONFIRM, Signals::END, Signals::ENDED];
