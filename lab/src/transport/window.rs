//! Datagrams under a byte window: the least that a transport can do and still not overrun anybody.
//!
//! At most so many octets are on their way. The receiver says how far it has heard; what is lost on
//! the way is not sent again, and is forgiven as soon as something later arrives, or after a while.
//! So it measures what a wire can carry, and promises nothing that the wire does not.

use std::collections::VecDeque;
use std::marker::PhantomData;

use stackwright::base::features::Needs;
use stackwright::base::{Hooks, Layer, Origin, Place, generate};
use stackwright::wire::{Header, Message};
use stackwright_contract::services::{Credit, Datagrams, Ended, MessageProperties};
use stackwright_contract::{Context, Duration, Facts, Guarantees, Handle, Participant};

generate! {
    pub(crate) WindowBase<M> { events: Simple, opening: ActivePassive, session: Present }
}

/// The protocol, as a layer.
pub(crate) type Window<M> = Layer<Rules<M>>;

/// What stands before a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub(crate) struct Label {
    /// Nothing is behind it: it says how far the receiver has heard.
    heard: bool,
    /// Octets of payload from the first of the association to the last of this message, or to the
    /// last that was heard.
    #[bits(63)]
    until: u64,
}

/// What makes it itself.
pub(crate) struct Rules<M> {
    window: u64,
    patience: Duration,
    message: PhantomData<fn() -> M>,
}

impl<M> Rules<M> {
    /// At most `window` octets are on their way; what nobody hears of for `patience` is forgiven.
    pub(crate) fn new(window: u64, patience: Duration) -> Self {
        Rules { window: window.max(1), patience, message: PhantomData }
    }
}

/// What it knows of an association.
pub(crate) struct State<M> {
    /// Messages that do not fit into the window yet.
    waiting: VecDeque<M>,
    /// How far it has sent, and how far the peer has heard.
    sent: u64,
    acknowledged: u64,
    /// How far it has heard, and has said that it has.
    heard: u64,
    told: u64,
    closing: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    /// Says how far it has heard.
    Tell,
    /// Nobody hears.
    Forgive,
}

/// How long a receiver waits for more before it says how far it has heard.
const TELL_AFTER: Duration = Duration::from_millis(1);
/// It says so at each such part of a window at the latest.
const PARTS: u64 = 16;

impl<M: Message> Rules<M> {
    fn send_waiting(&self, at: &mut impl Place<Self>) {
        loop {
            let state = at.association();
            let on_their_way = state.sent - state.acknowledged;
            // One message may always be on its way, or a window shorter than it would never let it
            // go.
            let fits = |message: &mut M| {
                on_their_way == 0 || on_their_way + message.len() as u64 <= self.window
            };
            let Some(message) = state.waiting.pop_front_if(fits) else { break };
            state.sent += message.len() as u64;
            let label = Label { heard: false, until: state.sent };
            at.forward(&label, message);
        }
        let state = at.association();
        if state.sent > state.acknowledged {
            let until = at.cx().now() + self.patience;
            at.wake(Timer::Forgive, until);
        } else {
            let over = state.closing && state.waiting.is_empty();
            at.cancel(Timer::Forgive);
            if over {
                at.end(Ended::Finished);
            }
        }
    }

    fn tell(&self, at: &mut impl Place<Self>) {
        let state = at.association();
        state.told = state.heard;
        let label = Label { heard: true, until: state.heard };
        at.cancel(Timer::Tell);
        at.send(&label, M::with_headroom(HEADROOM, &[]));
    }
}

/// Room for the headers of a few layers below.
const HEADROOM: usize = 64;

impl<M: Message> Hooks for Rules<M> {
    type Features = WindowBase<M>;
    type Provides = Datagrams<M>;
    type Uses = Datagrams<M>;
    type Header = Label;
    type Key = ();
    type PassiveKey = ();
    type Association = State<M>;
    type Timer = Timer;

    const FACTS: Facts = Facts {
        passes: Guarantees::CHECKED.and(Guarantees::ONCE).and(Guarantees::ORDERED),
        header_room: Label::LENGTH,
        ..Facts::named("window")
    };
    const NEEDS: Needs = Needs { opening: true, listening: true, sessions: true, timers: true };
    const ROOM: Credit = Credit { octets: 1 << 20, messages: 1024 };

    fn create(
        &mut self,
        _cx: &Context,
        _name: Handle,
        (): &(),
        _remote: Participant,
        _origin: Origin,
        _: Credit,
    ) -> State<M> {
        State {
            waiting: VecDeque::new(),
            sent: 0,
            acknowledged: 0,
            heard: 0,
            told: 0,
            closing: false,
        }
    }

    fn push(&mut self, at: &mut impl Place<Self>, message: M, _quality: MessageProperties) {
        at.association().waiting.push_back(message);
        self.send_waiting(at);
    }

    fn pop(&mut self, at: &mut impl Place<Self>, label: Label, message: M) {
        let state = at.association();
        if label.heard {
            // Nobody has heard more than was sent; an older word says nothing new.
            if label.until > state.acknowledged && label.until <= state.sent {
                state.acknowledged = label.until;
                self.send_waiting(at);
            }
            return;
        }
        state.heard = state.heard.max(label.until);
        let news = state.heard - state.told;
        if news >= self.window / PARTS {
            self.tell(at);
        } else if news > 0 {
            let soon = at.cx().now() + TELL_AFTER;
            at.wake(Timer::Tell, soon);
        }
        at.deliver(message, MessageProperties::default());
    }

    fn expired(&mut self, at: &mut impl Place<Self>, timer: Timer) {
        match timer {
            Timer::Tell => self.tell(at),
            Timer::Forgive => {
                let state = at.association();
                state.acknowledged = state.sent;
                self.send_waiting(at);
            }
        }
    }

    fn close(&mut self, at: &mut impl Place<Self>) -> bool {
        let state = at.association();
        state.closing = true;
        state.waiting.is_empty() && state.sent == state.acknowledged
    }
}
