//! Services by the stage of a picture, chosen while data flow (the UTS version of De Silva et al.,
//! 1996): tables in order, pieces in any.

use alloc::collections::BTreeSet;
use core::marker::PhantomData;

use stackwright_contract::ask::{Ask, Question};
use stackwright_contract::services::{Datagrams, DatagramsIndication, DatagramsRequest};
use stackwright_contract::{
    Batches, Command, Context, Facts, Guarantees, Handle, IndicationTo, NameAbove, Outlet,
    PhaseRule, Protocol, RequestTo,
};
use stackwright_wire::{Header, Message};

use crate::generated::BlocksHead;

/// A layer below a server that requires less once the tables are sent. What is below begins with
/// the strongest rule, and agrees with its peer on others, as a tailored transport does that
/// [negotiates](Command::Require); a client's has to do the same, and needs no such layer.
#[derive(Debug)]
pub struct Stages<M> {
    /// Associations whose tables are sent.
    painting: BTreeSet<Handle>,
    messages: PhantomData<fn() -> M>,
}

impl<M> Stages<M> {
    /// The rule of pieces: each is of use whatever is missing.
    pub const PIECES: PhaseRule = PhaseRule { ordered: false, fenced: false, resends: None };

    /// Makes the layer.
    pub const fn new() -> Self {
        Stages { painting: BTreeSet::new(), messages: PhantomData }
    }
}

impl<M> Default for Stages<M> {
    fn default() -> Self {
        Stages::new()
    }
}

impl<M: Message> Protocol for Stages<M> {
    const FACTS: Facts =
        Facts { passes: Guarantees::ALL.without(Guarantees::ORDERED), ..Facts::named("stages") };
    const BATCHES: Batches = Batches::ALL;
    type Provides = Datagrams<M>;
    type Uses = Datagrams<M>;

    #[inline]
    fn handle_request(
        &mut self,
        _: &Context,
        mut request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        if let DatagramsRequest::Send { association, batch, .. } = &mut request
            && !self.painting.contains(association)
            && batch
                .front(BlocksHead::LENGTH)
                .is_some_and(|front| BlocksHead::decode(front).is_ok())
        {
            let (association, command) = (*association, Command::Require(Self::PIECES));
            self.painting.insert(association);
            out.request(DatagramsRequest::Control { association, command });
        }
        out.request(request);
    }

    #[inline]
    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            // A role commands nothing. What is refused is sent by the rule before, which is none
            // the less.
            DatagramsIndication::Controlled { outcome, .. } => {
                if outcome.is_err() {
                    cx.event(Self::FACTS.name, format_args!("the rule of pieces is refused"));
                }
            }
            DatagramsIndication::Ended { name, .. } => {
                self.painting.remove(&name);
                out.indicate(indication);
            }
            _ => out.indicate(indication),
        }
    }

    fn ask(
        &self,
        about: NameAbove<Self>,
        question: &mut Question<'_>,
        below: &dyn Ask<Datagrams<M>>,
    ) {
        below.ask(about, question);
    }
}
