//! What the author of a protocol adds to a base, with defaults: PIX's overridable operations (thesis §4.1.2, §4.4).

use stackwright_contract::services::{Ended, Room};
use stackwright_contract::{Context, Facts, Instant, Participant};
use stackwright_wire::Header;

use crate::Configuration;
use crate::features::Needs;
use crate::map::Key;

/// The message of a protocol's base.
pub type MessageOf<H> = <<H as Hooks>::Features as Configuration>::Message;

/// A protocol over messages that are addressed to nobody in particular: what it adds to [`Layer`](super::Layer).
///
/// | here | PIX |
/// | --- | --- |
/// | `open` | xOpenPreamble |
/// | `listen` | xOpenEnablePreamble |
/// | `key`, `passive_key` | assignDemuxKey |
/// | `create` | createSession |
/// | `push` | xPush |
/// | `pop` | xPop |
/// | `expired` | an event's procedure |
pub trait Hooks: Sized + 'static {
    /// The selection of its base.
    type Features: Configuration;
    /// What it puts before a message.
    type Header: Header;
    /// Tells an association from the others with the same peer; `()` where a peer has only one.
    type Key: Key + Default;
    /// Tells a listener from the others; `()` where there is only one in a place.
    type PassiveKey: Key + Default;
    /// What it knows of an association.
    type Association;
    /// Its kinds of timers; `()` for one, and for none.
    type Timer: Copy + PartialEq;

    /// What the rule book has to know of it.
    const FACTS: Facts;
    /// Which features it cannot do without.
    const NEEDS: Needs = Needs::NOTHING;
    /// How much may be on its way down on one association: the first room.
    const ROOM: Room = Room { octets: 64 << 10, messages: 16 };

    /// An association is to be opened: with whom below, and what is its key? By default with the same, and the only one.
    ///
    /// # Errors
    /// Why it cannot be.
    fn open(&mut self, _cx: &Context, remote: Participant) -> Result<(Participant, Self::Key), Ended> {
        Ok((remote, Self::Key::default()))
    }

    /// Somebody listens: where below, and what is its key? By default in the same place, and the only one.
    ///
    /// # Errors
    /// Why that cannot be.
    fn listen(
        &mut self,
        _cx: &Context,
        local: Participant,
    ) -> Result<(Participant, Self::PassiveKey), Ended> {
        Ok((local, Self::PassiveKey::default()))
    }

    /// Whose message this is.
    #[inline(always)]
    fn key(_header: &Self::Header) -> Self::Key {
        Self::Key::default()
    }

    /// For which listener it is, where it is nobody's yet.
    fn passive_key(_header: &Self::Header) -> Self::PassiveKey {
        Self::PassiveKey::default()
    }

    /// A new association.
    fn create(&mut self, cx: &Context, key: &Self::Key) -> Self::Association;

    /// A message comes from above. What the protocol has to say of it stands in the header with which it
    /// [forwards](Place::forward) it.
    fn push(&mut self, at: &mut impl Place<Self>, message: MessageOf<Self>);

    /// A message came from below, and its header is off. By default it goes up; where there is no room, it is dropped.
    #[inline(always)]
    fn pop(&mut self, at: &mut impl Place<Self>, _header: Self::Header, message: MessageOf<Self>) {
        at.deliver(message);
    }

    /// The layer above has room (again). By default that is only remembered.
    fn room(&mut self, _at: &mut impl Place<Self>) {}

    /// A timer has expired.
    fn expired(&mut self, _at: &mut impl Place<Self>, _timer: Self::Timer) {}

    /// The upper layer has closed it. `true`: at once; `false`: the protocol has something to bring to its end, and says
    /// [`end`](Place::end) then.
    fn close(&mut self, _at: &mut impl Place<Self>) -> bool {
        true
    }
}

/// Where a hook is called: at one association, between the layers above and below it.
pub trait Place<H: Hooks> {
    /// What is known of the association.
    fn association(&mut self) -> &mut H::Association;
    /// What every handler is lent.
    fn cx(&self) -> &Context;
    /// Sends a message of the protocol's own.
    fn send(&mut self, header: &H::Header, message: MessageOf<H>);
    /// Sends a message of the upper layer, which gets its room back when it has left.
    fn forward(&mut self, header: &H::Header, message: MessageOf<H>);
    /// Delivers a message, where there is room for it; otherwise it is dropped, and counted.
    fn deliver(&mut self, message: MessageOf<H>);
    /// How much may be delivered.
    fn room(&self) -> Room;
    /// So much of what the upper layer sent is done with: it may send more.
    fn give_room(&mut self, room: Room);
    /// The timer expires at `at`, and not when it was to before.
    fn wake(&mut self, timer: H::Timer, at: Instant);
    /// The timer does not expire.
    fn cancel(&mut self, timer: H::Timer);
    /// The association is over, when the hook is.
    fn end(&mut self, why: Ended);
}
