//! A whole protocol on a base: it opens, listens, finds the association for a message, delivers,
//! counts, times out and closes. Its author adds [`Hooks`].
//!
//! | file | what |
//! | --- | --- |
//! | `hooks.rs` | what the author adds, with defaults |
//! | `envelope.rs` | what is read of a message before its association is known |
//! | `lower.rs` | the associations below, shared and counted |
//! | `send.rs` | from the layer above, downward |
//! | `receive.rs` | from the layer below, upward |
//! | `strangers.rs` | who gives way where places are short |
//! | `moves.rs` | an association follows its peer to another address |
//! | `batch.rs` | messages that the layer below delivers together |
//! | `turns.rs` | which association has its turn next |
//! | `place.rs` | the context in which a hook is called |

mod batch;
mod envelope;
mod hooks;
mod lower;
mod moves;
mod place;
mod receive;
mod send;
mod strangers;
mod turns;

pub use envelope::Envelope;
pub use hooks::{Arrival, Below, Hooks, MessageOf, Origin, Place, Stray, Unexpected};

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;

use stackwright_contract::ask::{Ask, Question, ask_behind_header};
use stackwright_contract::services::{
    AssociationIndication, AssociationRequest, Credit, Ended, PropertiesOf, Transfer,
};
use stackwright_contract::{
    Arrivals, Batches, Context, Facts, Handle, IndicationTo, Instant, Outlet, Participant,
    Protocol, RequestTo,
};

use crate::features::{Refusal, Selection, Session};
use crate::{Base, Configuration, Subject};
use lower::Lowers;
use turns::Turns;

/// The protocol of `H`, on the base that `H` selects.
pub struct Layer<H: Hooks> {
    hooks: H,
    base: Base<H::Features, Associations<H>>,
    /// The listeners above, and the names that wait there; what arrived is an association.
    arrivals: Arrivals<ListenKey<H>, ()>,
    lowers: Lowers<H>,
    /// The associations that peers opened, each with when it was last heard, as far as is known
    /// here; some have ended, or are no strangers any more.
    strangers: VecDeque<(Handle, Instant)>,
    /// The names that asked to be called when the batch is done.
    due: Turns,
    /// Whether strangers are heard, where they are to be.
    hears: bool,
    /// The associations below for whose credit the first of those that wait has its turn.
    woken: Vec<Handle>,
}

/// The key of an enable object: the listener below, and the key among those that share it.
type ListenKey<H> = (Handle, <H as Hooks>::PassiveKey);

/// Returns what `T` charges of a credit: a stream has none for messages.
#[inline(always)]
const fn charged<T: Transfer>(credit: Credit) -> Credit {
    if T::MESSAGES { credit } else { Credit::of_octets(credit.octets) }
}

/// The types that fill the base of a layer.
struct Associations<H>(core::marker::PhantomData<H>);

impl<H: Hooks> Subject for Associations<H> {
    // Associations of several peers may have the same key: they are distinguished by the
    // association below and the key.
    type Key = (Handle, H::Key);
    type PassiveKey = ListenKey<H>;
    type Association = Link<H>;
    /// The listeners above at an address.
    type Enabled = Vec<Handle>;
    type Timer = H::Timer;
}

/// An association, and the layer's own state of it.
struct Link<H: Hooks> {
    /// The association below that carries it, and its peer.
    lower: Handle,
    remote: Participant,
    /// The credit of the layer above: how much it takes.
    up: Credit,
    /// The credit of the layer above downward: how much more it may send.
    down: Credit,
    /// The octets of a message that was longer than all of that credit, beyond it.
    owed: usize,
    /// The names that were not told yet that it is open, each with its first credit downward.
    unopened: Vec<(Handle, Credit)>,
    /// The listener at which its name waited, and its credit, while the layer above does not know
    /// that it arrived.
    awaited: Option<(Handle, Credit)>,
    /// Whether it is among those that are due, and those that wait for credit below.
    due: bool,
    wants_room: bool,
    /// The properties of what it sends.
    bears: PropertiesOf<H::Uses>,
    own: H::Association,
}

impl<H: Hooks> Link<H> {
    /// Gives credit to the layer above: it may send that much more.
    #[inline]
    fn give(&mut self, name: Handle, mut credit: Credit, out: &mut impl Outlet<Layer<H>>) {
        if self.owed > 0 {
            let back = self.owed.min(credit.octets);
            (self.owed, credit.octets) = (self.owed - back, credit.octets - back);
        }
        self.down += credit;
        out.indicate(AssociationIndication::Credit { association: name, credit });
    }
}

impl<H: Hooks> Layer<H> {
    /// The features that were selected.
    pub const SELECTION: Selection = <H::Features as Configuration>::SELECTION;

    /// Checks that the selection has what the protocol needs. In a constant, a refusal is a compile
    /// error there.
    ///
    /// # Panics
    /// If it lacks something; the message is the refusal.
    #[track_caller]
    pub const fn fits() {
        if let Err(refusal) = Self::offers() {
            panic!("{}", refusal.explain().as_str());
        }
    }

    /// Checks that the selection has what the protocol needs.
    ///
    /// # Errors
    /// What is missing.
    pub const fn offers() -> Result<(), Refusal<'static>> {
        Self::SELECTION.offers(H::NEEDS, H::FACTS.name)
    }

    /// Creates the protocol of `hooks`. A peer must not know `seed`. Does not compile if the
    /// selection lacks what the protocol needs.
    pub fn new(hooks: H, seed: u64) -> Self {
        const { Self::fits() };
        Layer {
            hooks,
            base: Base::new(seed),
            arrivals: Arrivals::new(),
            lowers: Lowers::new(seed.rotate_left(16)),
            strangers: VecDeque::new(),
            due: Turns::default(),
            woken: Vec::new(),
            hears: false,
        }
    }

    /// Returns the author's part.
    pub fn hooks(&self) -> &H {
        &self.hooks
    }

    /// Returns the number of live names above.
    pub fn associations(&self) -> usize {
        self.base.len()
    }

    /// Returns the number of names given to the layer below whose last indication has not come.
    pub fn names(&self) -> usize {
        self.lowers.names.len()
    }

    /// Returns the first half of an association's key.
    const fn key_scope(lower: Handle) -> Handle {
        if H::KEY_ALONE { Handle { index: 0, generation: 0 } } else { lower }
    }

    /// Returns a live name of the same association: a shared endpoint outlives its names.
    fn living(&self, name: Handle) -> Handle {
        match Self::SELECTION.session {
            Session::Absent if self.base.get(name).is_none() => {
                self.base.iter().next().map_or(name, |(other, _)| other)
            }
            _ => name,
        }
    }

    fn refuse(
        cx: &Context,
        name: Handle,
        why: Ended,
        reason: &'static str,
        out: &mut impl Outlet<Self>,
    ) {
        cx.dropped(H::FACTS.name, reason);
        out.indicate(AssociationIndication::Ended { name, why });
    }
}

impl<H: Hooks> Protocol for Layer<H> {
    const FACTS: Facts = H::FACTS;
    const BATCHES: Batches = Batches::ALL;
    type Provides = H::Provides;
    type Uses = H::Uses;

    #[inline]
    fn handle_request(
        &mut self,
        cx: &Context,
        request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            AssociationRequest::Send { association, batch: messages, properties } => {
                if !H::Provides::MESSAGES || messages.segment_size().is_none() {
                    self.push(cx, association, messages, properties, out);
                } else {
                    self.push_batch(cx, association, messages, properties, out);
                }
            }
            AssociationRequest::Credit { association, credit } => {
                self.more_room_above(cx, association, credit, out)
            }
            AssociationRequest::Open { association, remote, local, credit } => {
                self.open(cx, association, remote, local, credit, out)
            }
            AssociationRequest::Listen { listener, local } => self.listen(cx, listener, local, out),
            AssociationRequest::Await { listener, association, credit } => {
                self.expect(cx, listener, association, credit, out);
            }
            AssociationRequest::Finish { association } => self.finish(cx, association, out),
            AssociationRequest::Abort { association, code } => {
                self.abort(cx, association, code, out)
            }
            AssociationRequest::Close { name } => self.close(cx, name, out),
            AssociationRequest::Tell { order, .. } => match order {},
            AssociationRequest::Control { association, command } => {
                let done = self.at(cx, association, out, |hooks, at| {
                    if let Some(outcome) = hooks.control(at, command) {
                        at.controlled(outcome);
                    }
                });
                if done.is_none() {
                    cx.dropped(H::FACTS.name, send::OVER);
                }
            }
        }
    }

    #[inline]
    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            AssociationIndication::Delivered { association, batch: messages, properties } => {
                if !H::Uses::MESSAGES || messages.segment_size().is_none() {
                    self.pop(cx, association, messages, properties, out);
                } else {
                    self.pop_batch(cx, association, messages, properties, out);
                }
            }
            AssociationIndication::Credit { association, credit } => {
                self.more_room_below(cx, association, credit, out)
            }
            AssociationIndication::Opened { association, local, remote, credit, path } => {
                self.opened_below(cx, association, local, remote, (path, credit), out);
            }
            AssociationIndication::Changed { association, path } => {
                self.changed_below(cx, association, path, out)
            }
            AssociationIndication::Reported { association, by, what, quoted } => {
                self.reported_below(cx, association, (by, what), quoted, out);
            }
            // Associations above share those below: none of their commands is passed on.
            AssociationIndication::Controlled { .. } | AssociationIndication::Ending { .. } => {}
            AssociationIndication::Told { notice, .. } => match notice {},
            AssociationIndication::Listening { listener, local } => {
                self.listening_below(listener, local, out)
            }
            AssociationIndication::Finished { association } => {
                self.finished_below(cx, association, out)
            }
            AssociationIndication::Ended { name, why } => self.ended_below(cx, name, why, out),
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        while let Some((name, timer)) = self.base.expire(cx.now()) {
            self.at(cx, name, out, |hooks, place| hooks.expired(place, timer));
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.base.next_deadline()
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        // What is put off from now on waits for the next batch.
        for _ in 0..self.due.len() {
            let Some(name) = self.due.next() else { break };
            self.at(cx, self.living(name), out, |hooks, place| {
                if place.was_due() {
                    hooks.batch(place);
                }
            });
        }
        for lower in mem::take(&mut self.woken) {
            self.room_came(cx, lower, out);
        }
        self.lowers.close_unused(out);
    }

    fn wants_flush(&self) -> bool {
        !self.due.is_empty() || self.lowers.has_unused()
    }

    fn facts(&self) -> Facts {
        self.hooks.facts()
    }

    fn may_exit(&self) -> bool {
        !self.wants_flush()
            && self.base.iter().all(|(_, link)| H::has_parted(&link.own))
            && self.lowers.have_sent_all()
    }

    fn ask(&self, about: Handle, question: &mut Question<'_>, below: &dyn Ask<Self::Uses>) {
        if let Some(link) = self.base.get(self.living(about)) {
            self.hooks.ask(&link.own, question);
            ask_behind_header::<MessageOf<H>, _>(H::FACTS.header_room, link.lower, question, below);
        }
    }
}
