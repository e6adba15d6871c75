//! What the author of a protocol adds to a base, with defaults: PIX's overridable operations
//! (thesis §4.1.2, §4.4).

use stackwright_contract::ask::Question;
use stackwright_contract::services::{
    Batch, BatchMessages, Code, Credit, Ended, PropertiesOf, Transfer,
};
use stackwright_contract::{
    Command, CommandError, Context, Facts, Instant, Participant, PathLimits,
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
    /// What it offers to the layer above: datagrams or a stream.
    type Provides: Transfer<Message = MessageOf<Self>>;
    /// What it expects from the layer below.
    type Uses: Transfer<Message = MessageOf<Self>>;
    /// What it puts before a message, and reads of one before it is known whose it is.
    type Header: Envelope<MessageOf<Self>>;
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
    /// How much may be on its way down on one association, where [`first_room`](Hooks::first_room)
    /// does not say otherwise.
    const ROOM: Credit = Credit { octets: 64 << 10, messages: 16 };

    /// How much may be on its way down on an association that begins now.
    fn first_room(&self) -> Credit {
        Self::ROOM
    }

    /// An association is to be opened: with whom below, and what is its key? By default with the
    /// same, and the only one.
    ///
    /// # Errors
    /// Why it cannot be.
    fn open(
        &mut self,
        _cx: &Context,
        remote: Participant,
    ) -> Result<(Participant, Self::Key), Ended> {
        Ok((remote, Self::Key::default()))
    }

    /// Somebody listens: where below, and what is its key? By default in the same place, and the
    /// only one.
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

    /// A message came whose key nobody has, from `remote`; somebody listens for it, and a name
    /// waits. By default he is welcome.
    fn arrival(
        &mut self,
        _cx: &Context,
        _remote: Participant,
        _header: &Self::Header,
        _message: &mut MessageOf<Self>,
    ) -> Arrival<MessageOf<Self>> {
        Arrival::Welcome
    }

    /// Whether senders for whose messages nobody is here are told so: then one name more waits
    /// below than above, and whoever comes under it is [refused](Hooks::refuse).
    const REFUSES: bool = false;
    /// Whether a key alone finds an association, from whichever peer a message comes. Otherwise keys
    /// tell apart only the associations with one peer.
    const KEY_ALONE: bool = false;

    /// A message came from `remote` whose key nobody has, and no name waits for it: returns the
    /// answer, where there is one. An answer has at most as many octets as the message, or 64, so
    /// that nobody is overwhelmed in another's name.
    fn refuse(
        &mut self,
        _cx: &Context,
        _remote: Participant,
        _header: &Self::Header,
        _message: &mut MessageOf<Self>,
    ) -> Option<MessageOf<Self>> {
        None
    }

    /// A new association with `remote`, as it is called below.
    fn create(
        &mut self,
        cx: &Context,
        key: &Self::Key,
        remote: Participant,
        origin: Origin,
    ) -> Self::Association;

    /// An association that was asked for can speak below. `true`: it is open; `false`: the protocol
    /// has something to agree on first, and says [`opened`](Place::opened) then. An arrival is open
    /// from the first.
    fn opened(&mut self, _at: &mut impl Place<Self>) -> bool {
        true
    }

    /// A message comes from above. What the protocol has to say of it stands in the header with
    /// which it [forwards](Place::forward) it.
    fn push(
        &mut self,
        at: &mut impl Place<Self>,
        message: MessageOf<Self>,
        properties: PropertiesOf<Self::Provides>,
    );

    /// Several messages come from above.
    ///
    /// # Errors
    /// Returns those that are to be [pushed](Hooks::push) one by one: by default all.
    fn push_batch(
        &mut self,
        _at: &mut impl Place<Self>,
        messages: Batch<MessageOf<Self>>,
        _properties: PropertiesOf<Self::Provides>,
    ) -> Result<(), Batch<MessageOf<Self>>> {
        Err(messages)
    }

    /// Returns the limits of the path above an association, of those below. By default a header is
    /// put before each message, as long as the facts say; a layer that cuts messages knows better,
    /// and a stream has no bound.
    fn path(_association: &Self::Association, below: PathLimits) -> PathLimits {
        if Self::Provides::MESSAGES {
            below.behind_header(Self::FACTS.header_room as u32)
        } else {
            PathLimits { frame_time: below.frame_time, ..PathLimits::UNBOUNDED }
        }
    }

    /// Does what the layer above [commands](stackwright_contract::Command); `None`: it is done
    /// later, and [answered](Place::controlled) then. By default no command is known.
    fn control(
        &mut self,
        _at: &mut impl Place<Self>,
        _command: Command,
    ) -> Option<Result<u32, CommandError>> {
        Some(Err(CommandError::Unknown))
    }

    /// Decides about a message of another peer than the association's: where [a key
    /// alone](Hooks::KEY_ALONE) found it, from `remote`. Returns whether what is sent goes there from
    /// now on; by default it does not. The message is [popped](Hooks::pop) in either case.
    fn follows(
        &mut self,
        _association: &mut Self::Association,
        _remote: Participant,
        _header: &Self::Header,
    ) -> bool {
        false
    }

    /// Answers a [question](stackwright_contract::ask) about an association. One that stays open
    /// goes on to the layer below: behind a header, as long as the facts say.
    fn ask(&self, _association: &Self::Association, _question: &mut Question<'_>) {}

    /// A message came from below, and its header was read. By default it goes up; where there is no
    /// room, it is dropped.
    #[inline(always)]
    fn pop(&mut self, at: &mut impl Place<Self>, _header: Self::Header, message: MessageOf<Self>) {
        at.deliver(message, Default::default());
    }

    /// A message came, and others `behind` it in the same batch: those may be taken, from the first
    /// on, that are known to be for the same association. By default none is.
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

    /// What came for it has been [popped](Hooks::pop): one message, or several of a batch. By
    /// default there is nothing left to do.
    #[inline(always)]
    fn popped(&mut self, _at: &mut impl Place<Self>) {}

    /// The layer above has room (again). By default that is only remembered.
    fn room(&mut self, _at: &mut impl Place<Self>) {}

    /// The association below, where [room was wanted](Place::wants_room), has some.
    fn room_came(&mut self, _at: &mut impl Place<Self>) {}

    /// The batch is done, and flushed, in which it was [put off](Place::later) what there is to
    /// say.
    fn batch(&mut self, _at: &mut impl Place<Self>) {}

    /// A timer has expired.
    fn expired(&mut self, _at: &mut impl Place<Self>, _timer: Self::Timer) {}

    /// An association is over, or was not needed: what was kept of it elsewhere can go.
    fn gone(&mut self, _association: Self::Association) {}

    /// The layer below delivers no more. By default nothing follows from that: datagrams have no
    /// half close.
    fn finished_below(&mut self, _at: &mut impl Place<Self>) {}

    /// The upper layer sends no more, and takes what still comes. By default nothing follows from
    /// that: a service without half close does nothing.
    fn finish(&mut self, _at: &mut impl Place<Self>) {}

    /// The upper layer ends it at once, and the peer is told `code` where the protocol can say it.
    /// `true`: it is over; `false`: the protocol says [`end`](Place::end). By default as
    /// [`close`](Hooks::close).
    fn abort(&mut self, at: &mut impl Place<Self>, _code: Code) -> bool {
        self.close(at)
    }

    /// The upper layer has closed it: both halves. `true`: at once; `false`: the protocol has
    /// something to bring to its end, and says [`end`](Place::end) then.
    fn close(&mut self, _at: &mut impl Place<Self>) -> bool {
        true
    }
}

/// Who began an association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The layer above asked for it.
    Asked,
    /// A message of the peer's arrived.
    Arrived,
}

/// What becomes of a message whose key nobody has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival<M> {
    /// It begins an association.
    Welcome,
    /// Nothing is made of it; it is counted, with the reason.
    Ignored(&'static str),
    /// Nothing is made of it, and this goes back as it is, where there is room below: one message
    /// at most for one, so that nobody is overwhelmed in another's name.
    Answered(M),
}

/// Where a hook is called: at one association, between the layers above and below it.
pub trait Place<H: Hooks> {
    /// What is known of the association.
    fn association(&mut self) -> &mut H::Association;
    /// What every handler is lent.
    fn cx(&self) -> &Context;
    /// With whom it is, as he is called below.
    fn remote(&self) -> Participant;
    /// It is open: the layer above is told, where it was not yet. Does nothing before the
    /// association below is open.
    fn opened(&mut self);
    /// Sends a message of the protocol's own.
    fn send(&mut self, header: &H::Header, message: MessageOf<H>);
    /// Sends messages of the protocol's own that bear their headers already: no envelope is closed
    /// on them. Where there is room below for all of them, they are one word; otherwise each is
    /// sent by itself.
    fn send_batch(&mut self, messages: Batch<MessageOf<H>>);
    /// The properties of the message that is [popped](Hooks::pop) now.
    fn arrived(&self) -> PropertiesOf<H::Uses>;
    /// What is sent from now on has these properties; at first the default ones.
    fn bear(&mut self, properties: PropertiesOf<H::Uses>);
    /// Sends a message of the upper layer, which gets its room back when it has left.
    fn forward(&mut self, header: &H::Header, message: MessageOf<H>);
    /// Delivers a message, where there is room for it; otherwise it is dropped, and counted.
    fn deliver(&mut self, message: MessageOf<H>, properties: PropertiesOf<H::Provides>);
    /// Delivers messages together, as if one by one; the number in `properties` is that of the
    /// first.
    fn deliver_batch(
        &mut self,
        messages: Batch<MessageOf<H>>,
        properties: PropertiesOf<H::Provides>,
    );
    /// How much may be delivered.
    fn room(&self) -> Credit;
    /// So much of what the upper layer sent is done with: it may send more.
    fn give_room(&mut self, credit: Credit);
    /// How much may be sent now: what is sent beyond it waits. All associations with one peer share
    /// it.
    fn room_below(&self) -> Credit;
    /// How much that is when nothing is on its way: who waits for so much gets it.
    fn room_below_most(&self) -> Credit;
    /// [`room_came`](Hooks::room_came) is called, once, when there is more room below. Those that
    /// want it are called in the order in which they asked, as long as there is some.
    fn wants_room(&mut self);
    /// [`batch`](Hooks::batch) is called, once, when this batch is done; from within it, with the
    /// next one.
    fn later(&mut self);
    /// The timer expires at `at`, and not when it was to before.
    fn wake(&mut self, timer: H::Timer, at: Instant);
    /// The timer does not expire.
    fn cancel(&mut self, timer: H::Timer);
    /// Answers the oldest command that is not answered yet.
    fn controlled(&mut self, outcome: Result<u32, CommandError>);
    /// The peer sends no more: the layer above is told, once what came before it was delivered.
    fn finished(&mut self);
    /// Nothing more is sent on the association below, behind what waits: half close, where nobody
    /// else shares it.
    fn finish_below(&mut self);
    /// The association is over, when the hook is.
    fn end(&mut self, why: Ended);
}
