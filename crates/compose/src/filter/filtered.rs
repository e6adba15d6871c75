//! Any filter as a protocol of a static stack.

use core::marker::PhantomData;

use stackwright_contract::ask::{Ask, Question};
use stackwright_contract::{
    Batches, Context, Facts, IndicationTo, NameAbove, Outlet, Protocol, RequestTo, Service, Word,
};
use stackwright_wire::Message;

use super::{Filter, WordDirection, passes};

/// A filter as a layer of a stack: it provides and uses the service `S`.
#[derive(Debug)]
pub struct Filtered<F, S> {
    /// The filter.
    pub filter: F,
    service: PhantomData<fn() -> S>,
}

impl<F, S> Filtered<F, S> {
    /// Makes a layer of a filter.
    pub const fn new(filter: F) -> Self {
        Filtered { filter, service: PhantomData }
    }
}

impl<M, F, S> Protocol for Filtered<F, S>
where
    M: Message,
    F: Filter<M>,
    S: Service<Request: Word<Message = M>, Indication: Word<Message = M>>,
{
    const FACTS: Facts =
        Facts { passes: F::PASSES, reads_payload: F::READS_PAYLOAD, ..Facts::named(F::NAME) };
    const BATCHES: Batches = if F::TAKES_BATCHES { Batches::ALL } else { Batches::NONE };
    type Provides = S;
    type Uses = S;

    #[inline]
    fn handle_request(
        &mut self,
        cx: &Context,
        mut request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        if passes(&mut self.filter, cx, WordDirection::Down, S::NAME, &mut request) {
            out.request(request);
        } else {
            S::refund_request(&request).into_iter().flatten().for_each(|told| out.indicate(told));
        }
    }

    #[inline]
    fn handle_indication(
        &mut self,
        cx: &Context,
        mut indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        if passes(&mut self.filter, cx, WordDirection::Up, S::NAME, &mut indication) {
            out.indicate(indication);
        } else if let Some(credit) = S::refund_indication(&indication) {
            out.request(credit);
        }
    }

    fn ask(&self, about: NameAbove<Self>, question: &mut Question<'_>, below: &dyn Ask<S>) {
        self.filter.ask(question);
        if question.is_open() {
            below.ask(about, question);
        }
    }
}
