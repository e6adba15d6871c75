//! What the author of a protocol adds to a base, with defaults: PIX's overridable operations
//! (thesis §4.1.2, §4.4).

use core::convert::Infallible;

use stackwright_contract::ask::Question;
use stackwright_contract::services::{
    Batch, BatchMessages, Code, Credit, Ended, PropertiesOf, Transfer,
};
use stackwright_contract::{
    Command, CommandError, Context, Facts, Handle, Instant, Participant, PathLimits, Trouble,
};

use super::Envelope;
use crate::Configuration;
use crate::features::Needs;
use crate::map::Key;

/// The message of a protocol's base.
pub type MessageOf<H> = <<H as Hooks>::Features as Configuration>::Message;

/// A protocol with associations over another one, of messages or of streams: what it adds to
/// [`Layer`](super::Layer).
///
/// | here | PIX |
/// | --- | --- |
/// | `open` | xOpenPreamble |
/// | `listen` | xOpenEnablePreamble |
/// | `key`, `passive_key` | assignDemuxKey |
/// | `create` | createSession |
/// | `opened` | xOpenDone |
/// | `push` | xPush |
/// | `pop` | xPop |
/// | `expired` | an event's procedure |
pub trait Hooks: Sized + 'static {
    /// The selection of its base.
    type Features: Configuration;
    /// The service that it offers to the layer above: datagrams or a stream.
    type Provides: Transfer<Message = MessageOf<Self>, Order = Infallible>;
    /// The service that it expects from the layer below.
    type Uses: Transfer<Message = MessageOf<Self>, Notice = Infallible>;
    /// What it writes before a message, and reads of one before its association is known.
    type Header: Envelope<MessageOf<Self>>;
    /// The key that distinguishes associations with the same peer; `()` if a peer has only one.
    type Key: Key + Default;
    /// The key that distinguishes listeners; `()` if an address has only one.
    type PassiveKey: Key + Default;
    /// The state of an association.
    type Association;
    /// The kinds of its timers; `()` for one, and for none.
    type Timer: Copy + PartialEq;

    /// What the rule book has to know of it.
    const FACTS: Facts;
    /// The features that it requires.
    const NEEDS: Needs = Needs::NOTHING;
    /// Whether an association for which no key is [free](Hooks::free_key) stands on another
    /// association with that peer below, which has another local address. Otherwise it is refused.
    const SPREADS: bool = false;
    /// Whether associations differ in [urgency](Hooks::urgency).
    const SORTS: bool = false;
    /// The credit of the layer above on one association, where [`first_room`](Hooks::first_room)
    /// does not define another: how much may be on its way down.
    const ROOM: Credit = Credit { octets: 64 << 10, messages: 16 };

    /// Returns what the rule book has to know of it: [`FACTS`](Hooks::FACTS), unless that is known
    /// no sooner than at run time.
    fn facts(&self) -> Facts {
        Self::FACTS
    }

    /// Returns the credit of the layer above on a new association: how much may be on its way down.
    fn first_room(&self) -> Credit {
        Self::ROOM
    }

    /// Opens the association `name` with `remote`, from `local` where the layer above has chosen
    /// it: returns where it lies below. By default the addresses are the same, and the key the only
    /// one; the port is for the layer below to choose.
    ///
    /// # Errors
    /// Why the association cannot be opened.
    fn open(
        &mut self,
        _cx: &Context,
        _name: Handle,
        local: Option<Participant>,
        remote: Participant,
    ) -> Result<Below<Self::Key>, Ended> {
        Below::with(local, remote, Self::Key::default())
    }

    /// Returns the own address and the peer's as the layer above names them, from those below. By
    /// default they are the same.
    fn ends(_association: &Self::Association, below: [Participant; 2]) -> [Participant; 2] {
        below
    }

    /// Returns the key of an association that this side opens, on the association below that all
    /// with this peer share: `key`, or another where it is taken; `None` where none is free. By
    /// default there is no other.
    fn free_key(
        &mut self,
        key: Self::Key,
        is_taken: impl Fn(&Self::Key) -> bool,
    ) -> Option<Self::Key> {
        Some(key).filter(|key| !is_taken(key))
    }

    /// Listens: returns the address to listen at below, and the key of the listener there, where
    /// some keys are taken by others. By default the address is the same, and the key the only one.
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

    /// Returns where strangers are heard below from the first association or listener on, though
    /// nobody above listens there: what they send is [refused](Hooks::refuse). By default nowhere.
    fn hears() -> Option<Participant> {
        None
    }

    /// Returns the address of a listener as the layer above names it, from that below. By default
    /// it is the same.
    fn listens_at(_key: &Self::PassiveKey, below: Participant) -> Participant {
        below
    }

    /// Returns the key of a message's association.
    #[inline(always)]
    fn key(_header: &Self::Header) -> Self::Key {
        Self::Key::default()
    }

    /// Returns the name of a message's association, where its header says that: the association is
    /// found without its key. One that stands on another association below is not meant.
    #[inline(always)]
    fn named(_header: &Self::Header) -> Option<Handle> {
        None
    }

    /// Returns the key of a message's listener, for a message that has no association yet.
    fn passive_key(_header: &Self::Header) -> Self::PassiveKey {
        Self::PassiveKey::default()
    }

    /// Decides about a message from `remote` that belongs to no association, while a listener at
    /// `local` expects it and a name waits. By default it begins an association.
    fn arrival(
        &mut self,
        _cx: &Context,
        (_local, _remote): (Participant, Participant),
        _header: &Self::Header,
        _message: &mut MessageOf<Self>,
    ) -> Arrival<MessageOf<Self>> {
        Arrival::Welcome
    }

    /// Whether peers are told that no listener expects their messages. Then more names
    /// [wait](Hooks::AWAITS) below than above, and a peer that takes one is
    /// [refused](Hooks::refuse).
    const REFUSES: bool = false;
    /// How many more names wait below than above: that many new peers of one batch are met.
    const AWAITS: usize = if Self::REFUSES || Self::KEY_ALONE { 1 } else { 0 };
    /// Whether a key alone finds an association, whichever peer a message comes from. Otherwise
    /// keys distinguish only the associations with one peer.
    /// Then it has to authenticate its messages, or to have keys that cannot be guessed: the source
    /// address proves nothing.
    const KEY_ALONE: bool = false;

    /// Returns the answer, if there is one, to a message that came to the first of these addresses
    /// from the second, belongs to no association, and is not expected. An answer has at most as
    /// many octets as the message, or 64, so that a sender with a forged address cannot flood a
    /// victim.
    fn refuse(
        &mut self,
        _cx: &Context,
        (_local, _remote): (Participant, Participant),
        _header: &Self::Header,
        _message: &mut MessageOf<Self>,
        _why: Unexpected,
    ) -> Option<MessageOf<Self>> {
        None
    }

    /// Returns the properties of [answers](Hooks::refuse) that belong to no association.
    fn answers_bear() -> PropertiesOf<Self::Uses> {
        Default::default()
    }

    /// Returns when something last came from the peer of an association, if it opened it and has
    /// not shown that it receives what it is sent: its address may be forged. Where there is no
    /// place for a peer that arrives, the one of these that has been silent for longest [gives
    /// way](Hooks::give_way). By default there is none.
    fn stranger_heard(_association: &Self::Association) -> Option<Instant> {
        None
    }

    /// Handles that an association [of a stranger](Hooks::stranger_heard) ends, for want of a place
    /// for another. By default its peer is not told.
    fn give_way(&mut self, at: &mut impl Place<Self>) {
        at.end(Ended::Expired);
    }

    /// Creates the association `name` with `remote`, its peer as the layer below names it, for a
    /// layer above that takes `credit` before it gives more.
    fn create(
        &mut self,
        cx: &Context,
        name: Handle,
        key: &Self::Key,
        remote: Participant,
        origin: Origin,
        credit: Credit,
    ) -> Self::Association;

    /// Begins an association that this side opened, once the one below can send. Returns `true` if
    /// it is open; `false` if the protocol has to agree on something first, and calls
    /// [`opened`](Place::opened) then.
    fn opened(&mut self, _at: &mut impl Place<Self>) -> bool {
        true
    }

    /// Begins an association that the peer opened, before its first message is
    /// [popped](Hooks::pop). By default the layer above is told at once that it is open; a protocol
    /// that knows more of the peer behind that message calls [`opened`](Place::opened) then.
    fn arrived(&mut self, at: &mut impl Place<Self>) {
        at.opened();
    }

    /// Handles a message from above. What the protocol has to tell about it goes into the header
    /// with which it [forwards](Place::forward) it.
    fn push(
        &mut self,
        at: &mut impl Place<Self>,
        message: MessageOf<Self>,
        properties: PropertiesOf<Self::Provides>,
    );

    /// Handles several messages from above.
    ///
    /// # Errors
    /// Returns the messages that are to be [pushed](Hooks::push) one by one: by default all.
    fn push_batch(
        &mut self,
        _at: &mut impl Place<Self>,
        messages: Batch<MessageOf<Self>>,
        _properties: PropertiesOf<Self::Provides>,
    ) -> Result<(), Batch<MessageOf<Self>>> {
        Err(messages)
    }

    /// Returns the path limits of an association, derived from those below. By default they are
    /// reduced by a header, of the length that the facts state; a layer that cuts messages
    /// overrides this, and a stream has no bound.
    fn path(_association: &Self::Association, below: PathLimits) -> PathLimits {
        if Self::Provides::MESSAGES {
            below.behind_header(Self::FACTS.header_room as u32)
        } else {
            PathLimits { frame_time: below.frame_time, ..PathLimits::UNBOUNDED }
        }
    }

    /// Handles a change of the path below, after the layer above was told. By default it does
    /// nothing.
    fn changed(&mut self, _at: &mut impl Place<Self>, _below: PathLimits) {}

    /// Returns the key of the association to which a message of ours belongs that met
    /// [trouble](Hooks::reported), from its first octets; `None`: it is any on that path.
    fn quoted(_octets: &[u8; 8]) -> Option<Self::Key> {
        None
    }

    /// Handles that `by` reports trouble with a message of ours that began with `quoted`. Anyone
    /// can forge that. By default it does nothing.
    fn reported(
        &mut self,
        _at: &mut impl Place<Self>,
        _by: Participant,
        _what: Trouble,
        _quoted: &[u8; 8],
    ) {
    }

    /// Executes a [command](stackwright_contract::Command) of the layer above; `None` if it is
    /// executed later, and [answered](Place::controlled) then. By default no command is known.
    fn control(
        &mut self,
        _at: &mut impl Place<Self>,
        _command: Command,
    ) -> Option<Result<u32, CommandError>> {
        Some(Err(CommandError::Unknown))
    }

    /// Decides about a message that does not come from the association's peer, but from `remote`,
    /// where [a key alone](Hooks::KEY_ALONE) found the association. Returns whether the association
    /// sends to `remote` from now on; by default it does not. The message is [popped](Hooks::pop)
    /// in either case.
    fn follows(
        &mut self,
        _association: &mut Self::Association,
        _remote: Participant,
        _header: &Self::Header,
    ) -> bool {
        false
    }

    /// Decides about a message from `remote` that belongs to no association there, before it counts
    /// as an arrival: an association elsewhere may claim it, whose peer has moved.
    fn stray(
        &mut self,
        _cx: &Context,
        _remote: Participant,
        _header: &Self::Header,
        _message: &mut MessageOf<Self>,
    ) -> Stray<MessageOf<Self>> {
        Stray::Unclaimed
    }

    /// Returns what identifies an association wherever its peer is; `None`: it never moves.
    fn locator(_association: &Self::Association) -> Option<u64> {
        None
    }

    /// Handles that the association has [moved](Stray::Moves) to another address of its peer.
    fn moved(&mut self, _at: &mut impl Place<Self>, _from: Participant) {}

    /// Answers a [question](stackwright_contract::ask) about an association. One that stays open
    /// goes on to the layer below, with the header that the facts state taken into account.
    fn ask(&self, _association: &Self::Association, _question: &mut Question<'_>) {}

    /// Returns whether the peer of an association that was [closed](Hooks::close) has been told so,
    /// and only its answer is awaited: the program [may
    /// exit](stackwright_contract::Protocol::may_exit). By default it may not before the
    /// association has ended.
    fn has_parted(_association: &Self::Association) -> bool {
        false
    }

    /// Handles a message from below, whose header was read. By default it is delivered; without
    /// credit of the layer above it is dropped.
    #[inline(always)]
    fn pop(&mut self, at: &mut impl Place<Self>, _header: Self::Header, message: MessageOf<Self>) {
        at.deliver(message, Default::default());
    }

    /// Handles a message and may take messages `behind` it in the same batch: those, from the first
    /// on, that are known to be for the same association. By default it takes none.
    #[inline(always)]
    fn pop_batch(
        &mut self,
        at: &mut impl Place<Self>,
        header: Self::Header,
        message: MessageOf<Self>,
        _behind: &mut BatchMessages<MessageOf<Self>>,
    ) {
        self.pop(at, header, message);
    }

    /// Is called after the messages of an association were [popped](Hooks::pop): one message, or
    /// several of a batch. By default it does nothing.
    #[inline(always)]
    fn popped(&mut self, _at: &mut impl Place<Self>) {}

    /// Handles new credit of the layer above. By default the credit is only recorded.
    fn room(&mut self, _at: &mut impl Place<Self>) {}

    /// Returns how urgent it is: the smaller, the sooner it has its turn among those that are due
    /// and wait for credit below. Those that are as urgent have it in the order in which they came.
    /// It is asked only if they [differ](Hooks::SORTS).
    fn urgency(_association: &Self::Association) -> u8 {
        128
    }

    /// Handles new credit below, which the association [asked for](Place::wants_room).
    fn room_came(&mut self, _at: &mut impl Place<Self>) {}

    /// Sends what was [put off](Place::later) until the batch is done and flushed.
    fn batch(&mut self, _at: &mut impl Place<Self>) {}

    /// Handles a timer that has expired.
    fn expired(&mut self, _at: &mut impl Place<Self>, _timer: Self::Timer) {}

    /// Frees what was kept elsewhere for an association that has ended or was not needed.
    fn gone(&mut self, _association: Self::Association) {}

    /// Handles that the layer below delivers no more. By default it does nothing: datagrams have no
    /// half close.
    fn finished_below(&mut self, _at: &mut impl Place<Self>) {}

    /// Handles that the layer above sends no more, and still receives. By default it does nothing,
    /// as a service without half close.
    fn finish(&mut self, _at: &mut impl Place<Self>) {}

    /// Aborts the association: the peer is told `code`, where the protocol can carry it. Returns
    /// `true` if the association has ended; `false` if the protocol calls [`end`](Place::end)
    /// later. By default it [closes](Hooks::close).
    fn abort(&mut self, at: &mut impl Place<Self>, _code: Code) -> bool {
        self.close(at)
    }

    /// Closes both halves of the association for the layer above. Returns `true` if it has ended;
    /// `false` if the protocol has something to complete, and calls [`end`](Place::end) then.
    fn close(&mut self, _at: &mut impl Place<Self>) -> bool {
        true
    }
}

/// Where an association lies on the layer below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Below<K> {
    /// The own address there; `None`: any.
    pub local: Option<Participant>,
    /// The peer's.
    pub remote: Participant,
    /// What distinguishes it from others between the same two.
    pub key: K,
}

impl<K> Below<K> {
    /// Returns the place at the addresses that the layer above names, where the layer below chooses
    /// ports.
    ///
    /// # Errors
    /// `Unavailable` where the layer above has chosen its own port: associations with one peer
    /// share one below.
    pub fn with(local: Option<Participant>, remote: Participant, key: K) -> Result<Self, Ended> {
        match local.and_then(Participant::internet) {
            Some(local) if local.port() != 0 => Err(Ended::Unavailable),
            _ => Ok(Below { local, remote, key }),
        }
    }
}

/// Why a message is not expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unexpected {
    /// Nobody listens for it.
    NoListener,
    /// Somebody does, and has no name for it now.
    NoName,
}

/// The side that began an association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// This side: the layer above opened it.
    Asked,
    /// The peer: a message of its arrived.
    Arrived,
}

/// What becomes of a message that belongs to no association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival<M> {
    /// It begins an association.
    Welcome,
    /// It begins an association, and that of a [stranger](Hooks::stranger_heard) ends for it.
    Displaces,
    /// It is dropped and counted, with the reason.
    Ignored(&'static str),
    /// It is dropped, and this message is sent back as it is, if there is credit below: at most one
    /// answer per message, so that a sender with a forged address cannot flood a victim.
    Answered(M),
}

/// What becomes of a message that belongs to no association where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stray<M> {
    /// No association elsewhere claims it.
    Unclaimed,
    /// It is dropped and counted, with the reason.
    Ignored(&'static str),
    /// As [`Arrival::Answered`].
    Answered(M),
    /// It belongs to an association with this peer after all: the one with this
    /// [locator](Hooks::locator).
    Meant(u64),
    /// An association has moved here. `probe` is sent to its old address as it is, if there is
    /// credit.
    Moves {
        /// The association's [locator](Hooks::locator).
        locator: u64,
        /// The last message to its old address.
        probe: M,
    },
}

/// The context in which a hook is called: one association, between the layers above and below it.
pub trait Place<H: Hooks> {
    /// Returns the state of the association.
    fn association(&mut self) -> &mut H::Association;
    /// Returns the context that every handler borrows.
    fn cx(&self) -> &Context;
    /// Returns the peer, as the layer below names it.
    fn remote(&self) -> Participant;
    /// Returns the own address and the limits of the path, as the layer below tells them; `None`
    /// before the association below is open.
    fn below(&mut self) -> Option<(Participant, PathLimits)>;
    /// Declares the association open: the layer above is told, if it was not yet. Does nothing
    /// before the association below is open.
    fn opened(&mut self);
    /// Adds to the credit that the layer above will be told when the association
    /// [opens](Place::opened).
    fn add_first_room(&mut self, credit: Credit);
    /// Sends a message of the protocol's own.
    fn send(&mut self, header: &H::Header, message: MessageOf<H>);
    /// Sends messages of the protocol's own that bear their headers already: no envelope is
    /// written. With credit below for all of them, they are sent as one request; otherwise each is
    /// sent by itself.
    fn send_batch(&mut self, messages: Batch<MessageOf<H>>);
    /// Returns the properties of the message that is being [popped](Hooks::pop).
    fn arrived(&self) -> PropertiesOf<H::Uses>;
    /// Sets the properties of all that is sent from now on; the initial ones are the default.
    fn bear(&mut self, properties: PropertiesOf<H::Uses>);
    /// Sends a message of the layer above, which gets its credit back when the message has left.
    fn forward(&mut self, header: &H::Header, message: MessageOf<H>);
    /// Delivers a message, if there is credit for it; otherwise the message is dropped and counted.
    fn deliver(&mut self, message: MessageOf<H>, properties: PropertiesOf<H::Provides>);
    /// Delivers messages together, as if one by one; the number in `properties` is that of the
    /// first.
    fn deliver_batch(
        &mut self,
        messages: Batch<MessageOf<H>>,
        properties: PropertiesOf<H::Provides>,
    );
    /// Returns the credit of the layer above: how much may be delivered.
    fn room(&self) -> Credit;
    /// Gives credit back to the layer above, for messages that are done: it may send more.
    fn give_room(&mut self, credit: Credit);
    /// Returns the credit below: how much may be sent now. What is sent beyond it waits. All
    /// associations with one peer share it.
    fn room_below(&self) -> Credit;
    /// Returns the credit below when nothing is on its way: waiting for up to this much succeeds.
    fn room_below_most(&self) -> Credit;
    /// Has [`room_came`](Hooks::room_came) called, once, when there is more credit below. The
    /// associations that wait for it are called in the order in which they asked, while some is
    /// left.
    fn wants_room(&mut self);
    /// Has [`batch`](Hooks::batch) called, once, when this batch is done; from within that hook,
    /// after the next one.
    fn later(&mut self);
    /// Sets the timer to expire at `at`, and no longer at its earlier deadline.
    fn wake(&mut self, timer: H::Timer, at: Instant);
    /// Cancels the timer.
    fn cancel(&mut self, timer: H::Timer);
    /// Tells the layer above of trouble with a message that began with `quoted`, if it knows that
    /// the association is open.
    fn report(&mut self, by: Participant, what: Trouble, quoted: [u8; 8]);
    /// Answers the oldest command that is not answered yet.
    fn controlled(&mut self, outcome: Result<u32, CommandError>);
    /// Declares that the peer sends no more: the layer above is told after what came before was
    /// delivered.
    fn finished(&mut self);
    /// Sends no more on the association below, after the messages that wait: a half close, if no
    /// other association shares it.
    fn finish_below(&mut self);
    /// Ends the association, when the hook returns.
    fn end(&mut self, why: Ended);
}
