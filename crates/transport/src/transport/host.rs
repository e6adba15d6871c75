//! What a protocol says of its associations as a whole.

use stackwright_base::map::Key;
use stackwright_base::{Arrival, Envelope, Origin};
use stackwright_contract::services::{Credit, Ended, MessageProperties, Transfer};
use stackwright_contract::{Context, Facts, Participant};
use stackwright_wire::Malformed;

use super::MessageOf;
use crate::configuration::{Configuration, FrontOf, Slots};
use crate::limits::Limits;
use crate::slots::Front as _;

/// What a protocol says of its associations as a whole: the half of its format that has no
/// association yet.
pub trait Host: Sized + 'static {
    /// What it selected.
    type Configuration: Configuration;
    /// What it offers to the layer above: datagrams, or a stream. A stream is cut anywhere: its
    /// configuration keeps no bounds of messages.
    type Transfer: Transfer<
            Message = MessageOf<Self>,
            Properties: From<MessageProperties> + Into<MessageProperties>,
        >;
    /// Tells an association from the others with the same peer.
    type Key: Key + Default;

    /// What the rule book of stacks has to know of it.
    const FACTS: Facts;

    /// Whose packet this is, whose front was read. There may be no association, and no trust is
    /// spent on it.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn locate(
        front: &FrontOf<Self::Configuration>,
        packet: &mut MessageOf<Self>,
    ) -> Result<Self::Key, Malformed>;

    /// The layer above wants an association with `remote`: which key has it?
    ///
    /// # Errors
    /// Why there cannot be one.
    fn open(&mut self, cx: &Context, remote: Participant) -> Result<Self::Key, Ended>;

    /// A packet came whose key nobody has, while somebody listens and `half_open` others have not
    /// shown that they hear us.
    fn arrival(
        &mut self,
        cx: &Context,
        remote: Participant,
        key: &Self::Key,
        packet: &mut MessageOf<Self>,
        half_open: usize,
    ) -> Arrival<MessageOf<Self>>;

    /// The same, where there is no memory for another association.
    fn refuse(&mut self, packet: &mut MessageOf<Self>) -> Arrival<MessageOf<Self>> {
        let _ = packet;
        Arrival::Ignored("no memory for another association")
    }

    /// Whether senders for whose packets nobody is here are [told](Host::unawaited) so.
    const REFUSES: bool = false;

    /// A packet came whose key nobody has, and nobody waits for it: returns what its sender is
    /// told, where there is something to say. It is no longer than the packet, or 64 octets.
    fn unawaited(
        &mut self,
        _cx: &Context,
        _remote: Participant,
        _key: &Self::Key,
        _packet: &mut MessageOf<Self>,
    ) -> Option<MessageOf<Self>> {
        None
    }

    /// What all associations may hold together.
    fn limits(&self) -> Limits {
        Limits::NONE
    }

    /// The policies of a new association.
    fn create(
        &mut self,
        cx: &Context,
        key: &Self::Key,
        remote: Participant,
        origin: Origin,
    ) -> Slots<Self::Configuration>;

    /// An association is gone: its key is free.
    fn gone(&mut self, key: Self::Key, remote: Participant);

    /// How much of the layer above may be on its way down on one association.
    fn room(&self) -> Credit;

    /// The longest packet, in octets, and the header room that the layers below need.
    fn packet(&self) -> (usize, usize);

    /// How many octets of packets are written one behind the other, at most, for a driver that
    /// sends them by one system call; 0: each has memory of its own.
    fn run(&self) -> usize {
        0
    }
}

/// Whose packet it is, and what was read to know that. Nothing is taken off: a check may cover the
/// header.
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
