//! Stop-and-wait: one message at a time, sent again until it is acknowledged.
//!
//! It is the worked example of a protocol on a generated base: the base opens, listens, finds the
//! association and closes; this crate adds only what is particular to the protocol. Numbers have 16
//! bits where a textbook has one, because a network that reorders delivers old copies.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod described;
mod header;

pub use described::described;
pub use header::StopAndWaitHeader;

use alloc::collections::VecDeque;
use core::marker::PhantomData;

use stackwright_base::features::Needs;
use stackwright_base::{Hooks, Layer, Origin, Place, generate};
use stackwright_contract::services::{Credit, Datagrams, Ended, MessageProperties};
use stackwright_contract::{Context, Duration, Facts, Guarantees, Handle, Instant, Participant};
use stackwright_wire::{Header, Message};

generate! {
    /// The base. A simple list of timers suffices, because each new one is mostly the last to
    /// expire.
    pub StopAndWaitBase<M> { events: Simple, opening: ActivePassive, session: Present }
}

/// The protocol, as a layer on its base.
pub type StopAndWait<M> = Layer<Rules<M>>;

/// The rules of the protocol, which are the hooks of the base.
pub struct Rules<M> {
    /// The wait for an acknowledgement, after which the message is sent again.
    pub timeout: Duration,
    /// How many times a message is sent, at most, before the association ends with
    /// [`Ended::Expired`].
    pub tries_most: u8,
    message: PhantomData<fn() -> M>,
}

/// The state of an association.
pub struct State<M> {
    /// The messages that are not acknowledged, the first of which is in flight.
    waiting: VecDeque<M>,
    /// The number of the first one, and how many times it was sent.
    number: u16,
    tries: u8,
    /// The number of the message that is delivered next.
    expected: u16,
    closing: bool,
    /// When the peer was last heard, if it has acknowledged nothing: its address may be forged.
    stranger: Option<Instant>,
}

impl<M> Default for Rules<M> {
    fn default() -> Self {
        Rules { timeout: Duration::from_millis(200), tries_most: 30, message: PhantomData }
    }
}

impl<M: Message> Rules<M> {
    fn send_first(&self, at: &mut impl Place<Self>) {
        let state = at.association();
        let Some(first) = state.waiting.front() else { return };
        let (header, message) =
            (StopAndWaitHeader { number: state.number, ..MESSAGE }, first.share());
        state.tries += 1;
        at.send(&header, message);
        let until = at.cx().now() + self.timeout;
        at.wake((), until);
    }

    fn acknowledged(&self, at: &mut impl Place<Self>) {
        let state = at.association();
        let Some(first) = state.waiting.pop_front() else { return };
        state.stranger = None;
        (state.number, state.tries) = (state.number.wrapping_add(1), 0);
        let done = state.closing && state.waiting.is_empty();
        at.cancel(());
        at.give_room(Credit { octets: first.len(), messages: 1 });
        if done { at.end(Ended::Finished) } else { self.send_first(at) }
    }
}

impl<M: Message> Hooks for Rules<M> {
    type Features = StopAndWaitBase<M>;
    type Provides = Datagrams<M>;
    type Uses = Datagrams<M>;
    type Header = StopAndWaitHeader;
    type Key = ();
    type PassiveKey = ();
    type Association = State<M>;
    type Timer = ();

    const FACTS: Facts = Facts {
        gives: Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::ONCE),
        passes: Guarantees::CHECKED,
        header_room: StopAndWaitHeader::LENGTH,
        ..Facts::named("stop-and-wait")
    };
    /// A peer for which no name waits is told nothing, but a stranger gives way to it.
    const REFUSES: bool = true;
    const NEEDS: Needs = Needs { opening: true, listening: true, sessions: true, timers: true };

    fn create(
        &mut self,
        cx: &Context,
        _name: Handle,
        (): &(),
        _remote: Participant,
        origin: Origin,
        _: Credit,
    ) -> State<M> {
        let stranger = (origin == Origin::Arrived).then(|| cx.now());
        let waiting = VecDeque::new();
        State { waiting, number: 0, tries: 0, expected: 0, closing: false, stranger }
    }

    fn stranger_heard(state: &State<M>) -> Option<Instant> {
        state.stranger
    }

    fn push(&mut self, at: &mut impl Place<Self>, message: M, _quality: MessageProperties) {
        at.association().waiting.push_back(message);
        if at.association().waiting.len() == 1 {
            self.send_first(at);
        }
    }

    fn pop(&mut self, at: &mut impl Place<Self>, header: StopAndWaitHeader, message: M) {
        let (credit, now) = (at.room(), at.cx().now());
        let state = at.association();
        state.stranger = state.stranger.map(|_| now);
        if header.acknowledgement {
            if header.number == state.number {
                self.acknowledged(at); // any other acknowledges a copy
            }
            return;
        }
        let fresh = header.number == state.expected;
        if fresh && (credit.messages == 0 || credit.octets < message.len()) {
            return; // not acknowledged: it is sent again
        }
        state.expected = state.expected.wrapping_add(u16::from(fresh));
        // A copy is acknowledged, too: the first acknowledgement was lost, or is late.
        at.send(
            &StopAndWaitHeader { acknowledgement: true, ..header },
            M::with_headroom(StopAndWaitHeader::LENGTH, &[]),
        );
        if fresh {
            at.deliver(message, MessageProperties::default());
        }
    }

    fn expired(&mut self, at: &mut impl Place<Self>, (): ()) {
        let given_up = at.association().tries >= self.tries_most;
        if given_up { at.end(Ended::Expired) } else { self.send_first(at) }
    }

    fn close(&mut self, at: &mut impl Place<Self>) -> bool {
        at.association().closing = true;
        at.association().waiting.is_empty() // else it is over with the last acknowledgement
    }
}

const MESSAGE: StopAndWaitHeader =
    StopAndWaitHeader { reserved: (), acknowledgement: false, number: 0 };
