//! What a protocol specifies for its associations as a whole.

use core::convert::Infallible;

use stackwright_base::map::Key;
use stackwright_base::{Arrival, Below, Envelope, Origin, Stray, Unexpected};
use stackwright_contract::services::{Credit, Ended, MessageProperties, Transfer};
use stackwright_contract::{Context, Facts, Handle, Participant};
use stackwright_wire::Malformed;

use super::MessageOf;
use crate::configuration::{Configuration, FrontOf, Slots};
use crate::limits::Limits;
use crate::slots::Front as _;
use crate::words::{Nanoseconds, Opening};

/// What a protocol specifies for its associations as a whole: the half of its format that has no
/// association yet.
pub trait Host: Sized + 'static {
    /// The configuration of its associations.
    type Configuration: Configuration;
    /// The service that it offers to the layer above: datagrams, or a stream. A stream is cut
    /// anywhere: its configuration keeps no bounds of messages.
    type Transfer: Transfer<
            Order = Infallible,
            Message = MessageOf<Self>,
            Properties: From<MessageProperties> + Into<MessageProperties>,
        >;
    /// The key that distinguishes associations with the same peer.
    type Key: Key + Default;
    /// The key that distinguishes listeners; `()` if an address has only one.
    type PassiveKey: Key + Default;

    /// Its facts for the rule book of stacks.
    const FACTS: Facts;

    /// Returns its facts: [`FACTS`](Host::FACTS), unless they are known no sooner than at run time.
    fn facts(&self) -> Facts {
        Self::FACTS
    }

    /// Returns the key of a packet's association, whose front was read. The association may not
    /// exist, and the packet is not trusted.
    ///
    /// # Errors
    /// If the packet cannot be read.
    fn locate(
        front: &FrontOf<Self::Configuration>,
        packet: &mut MessageOf<Self>,
    ) -> Result<Self::Key, Malformed>;

    /// Returns the name of the association that a packet's key says: it is found without the map,
    /// if it is one with the packet's sender.
    #[inline(always)]
    fn named(_key: &Self::Key) -> Option<Handle> {
        None
    }

    /// Opens the association `name` with `remote` for the layer above, from `local` where that has
    /// chosen it: returns where it lies below, and its key.
    ///
    /// # Errors
    /// Why there cannot be one.
    fn open(
        &mut self,
        cx: &Context,
        name: Handle,
        local: Option<Participant>,
        remote: Participant,
    ) -> Result<Below<Self::Key>, Ended>;

    /// Returns the own address and the peer's as the layer above names them, from those below. By
    /// default they are the same.
    fn ends(_key: &Self::Key, below: [Participant; 2]) -> [Participant; 2] {
        below
    }

    /// Listens for the layer above: returns the address to listen at below, and the key of the
    /// listener there, where some keys are taken by others. By default an address has one.
    ///
    /// # Errors
    /// Why it cannot listen.
    fn listen(
        &mut self,
        _cx: &Context,
        local: Participant,
        _is_taken: impl Fn(Participant, &Self::PassiveKey) -> bool,
    ) -> Result<(Participant, Self::PassiveKey), Ended> {
        Ok((local, Self::PassiveKey::default()))
    }

    /// Returns where strangers are heard below, though nobody above listens there. By default
    /// nowhere.
    fn hears() -> Option<Participant> {
        None
    }

    /// Returns the address of a listener as the layer above names it, from that below.
    fn listens_at(_key: &Self::PassiveKey, below: Participant) -> Participant {
        below
    }

    /// Returns the key of the listener that a packet of this key is for.
    fn passive_key(_key: &Self::Key) -> Self::PassiveKey {
        Self::PassiveKey::default()
    }

    /// Returns the key of the association whose packet began so and met trouble; `None`: it is any
    /// on that path.
    fn quoted(_octets: &[u8; 8]) -> Option<Self::Key> {
        None
    }

    /// Whether an association that a peer opens is told to the layer above behind its first packet;
    /// otherwise, when the handshake is over.
    const OPENS_AT_FIRST: bool = true;

    /// Whether an association for which no key is [free](Host::free_key) is opened from another
    /// address of ours. Otherwise it is refused.
    const SPREADS: bool = false;

    /// Returns the key of an association that this side opens: `key`, or another where it is taken
    /// between these two addresses; `None` where none is free.
    fn free_key(
        &mut self,
        key: Self::Key,
        is_taken: impl Fn(&Self::Key) -> bool,
    ) -> Option<Self::Key> {
        Some(key).filter(|key| !is_taken(key))
    }

    /// Decides about a packet that belongs to no association, while a listener expects it among a
    /// `crowd` of others: at the first of these addresses, from the second.
    fn arrival(
        &mut self,
        cx: &Context,
        ends: (Participant, Participant),
        key: &Self::Key,
        packet: &mut MessageOf<Self>,
        crowd: Crowd,
    ) -> Arrival<MessageOf<Self>>;

    /// Whether associations differ in urgency: the priority of what they send is that of the
    /// association, and the more urgent ones leave first.
    const SORTS: bool = false;

    /// Returns the priority of an association whose messages have none: the smaller, the more
    /// urgent; 128 is the default.
    fn priority(&self) -> u8 {
        128
    }

    /// Refuses such a packet, for want of memory for another association.
    fn refuse(&mut self, packet: &mut MessageOf<Self>) -> Arrival<MessageOf<Self>> {
        let _ = packet;
        Arrival::Ignored("no memory for another association")
    }

    /// Whether peers are [told](Host::unawaited) that their packets are not expected.
    const REFUSES: bool = false;
    /// How many new peers of one batch are met, beyond those for which a name waits.
    const AWAITS: usize = if Self::REFUSES { 1 } else { 0 };

    /// Returns the answer, if there is one, to a packet that came to the first of these addresses
    /// from the second, belongs to no association, and is not expected. It is no longer than the
    /// packet, or 64 octets.
    fn unawaited(
        &mut self,
        _cx: &Context,
        (_local, _remote): (Participant, Participant),
        _key: &Self::Key,
        _packet: &mut MessageOf<Self>,
        _why: Unexpected,
    ) -> Option<MessageOf<Self>> {
        None
    }

    /// Decides about a packet that belongs to no association with its sender: the peer of another
    /// one may have moved there.
    fn stray(
        &mut self,
        _cx: &Context,
        _remote: Participant,
        _key: &Self::Key,
        _packet: &mut MessageOf<Self>,
    ) -> Stray<MessageOf<Self>> {
        Stray::Unclaimed
    }

    /// Records that an association has moved. Returns what is needed to judge the path anew if it
    /// is another one; `None`: it is the same as before.
    fn moved(
        &mut self,
        _cx: &Context,
        _key: &Self::Key,
        _locator: u64,
        _from: Participant,
        _to: Participant,
    ) -> Option<NewPath<Self::Configuration>> {
        None
    }

    /// Returns the memory that all associations may hold together.
    fn limits(&self) -> Limits {
        Limits::NONE
    }

    /// Creates the policies of the new association `name`, whose layer above takes messages of at
    /// most the octets of `credit`.
    fn create(
        &mut self,
        cx: &Context,
        name: Handle,
        key: &Self::Key,
        remote: Participant,
        origin: Origin,
        credit: Credit,
    ) -> Slots<Self::Configuration>;

    /// Keeps what a peer is told that does not know that its association is over.
    fn bury(
        &mut self,
        _cx: &Context,
        (_key, _remote): (&Self::Key, Participant),
        _farewell: Farewell<'_>,
    ) {
    }

    /// Frees the key of an association that has ended, and its
    /// [locator](crate::slots::Format::locator).
    fn gone(&mut self, _key: Self::Key, _remote: Participant, _locator: u64) {}

    /// Returns the most credit of the layer above on one association: how much may be on its way
    /// down. On a slow path, fewer octets are given: 64 KiB (of a stream, 1 MiB), or two congestion
    /// windows and what leaves within a second, and two of the longest messages; and no more than
    /// the [limits](Host::limits) leave.
    fn room(&self) -> Credit;

    /// Returns the longest packet, in octets, and the headroom that the layers below need.
    fn packet(&self) -> (usize, usize);

    /// Returns how many octets of packets are written one behind the other, at most, for a driver
    /// that sends them in one system call; 0: each has memory of its own.
    fn run(&self) -> usize {
        0
    }
}

/// Those that have not shown that they receive our packets, when another peer arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crowd {
    /// How many there are.
    pub half_open: usize,
    /// Whether one of them gave way within the last minute, because there were too many for the
    /// protocol or for the layer above.
    pub gives_way: bool,
}

/// What a peer is told that does not know that its association is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Farewell<'a> {
    /// The packet that tells it.
    pub packet: &'a [u8],
    /// For how many nanoseconds it may not know that.
    pub wait: Nanoseconds,
    /// Whether nobody has told it: then this is the answer to any packet.
    pub tells: bool,
    /// Whether it has not shown that it receives our packets: anyone can send in its name.
    pub stranger: bool,
}

/// The path to a peer that has moved.
pub struct NewPath<C: Configuration> {
    /// New policies, of which the judges of the path replace those of the association.
    pub slots: Slots<C>,
    /// What the validation of the path has shown of it.
    pub opening: Opening,
}

/// The association of a packet, and what was read to find it. Nothing is removed: a check may cover
/// the header.
pub struct Located<H: Host> {
    pub(super) key: H::Key,
    pub(super) front: FrontOf<H::Configuration>,
}

impl<H: Host> Envelope<MessageOf<H>> for Located<H> {
    #[inline]
    fn open(packet: &mut MessageOf<H>) -> Result<Self, Malformed> {
        let front = FrontOf::<H::Configuration>::read(packet)?;
        Ok(Located { key: H::locate(&front, packet)?, front })
    }

    fn close(&self, _packet: &mut MessageOf<H>) {}
}
