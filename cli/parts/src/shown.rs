//! A protocol that is only looked at: in a graph that is drawn or explained, nothing is opened.

use std::any::Any;
use std::marker::PhantomData;

use stackwright::compose::graph::{Node, NodeOutlet};
use stackwright::contract::words::{Indication, Port, Request, Speaks};
use stackwright::contract::{Context, Facts, Protocol, Service};
use stackwright::wire::Message;

/// What `P` says of itself, without a `P`.
pub(crate) struct Shown<P>(PhantomData<fn() -> P>);

impl<P> Shown<P> {
    pub(crate) fn new() -> Self {
        Shown(PhantomData)
    }
}

impl<M: Message, B: Service + 'static, P> Node<M, B> for Shown<P>
where
    P: Protocol<Provides: Speaks<M, B>, Uses: Speaks<M, B>> + 'static,
{
    fn facts(&self) -> Facts {
        P::FACTS
    }

    fn provides(&self, ports: &mut Vec<Port>) {
        P::Provides::ports(ports);
    }

    fn uses(&self, ports: &mut Vec<Port>) {
        P::Uses::ports(ports);
    }

    // Nobody can ask a graph of such nodes for anything, so that none of them ever hears a word.

    fn handle_request(
        &mut self,
        _: &Context,
        _: usize,
        _: Request<M, B>,
        _: &mut NodeOutlet<'_, M, B>,
    ) {
        unreachable!("a graph that is looked at is no protocol");
    }

    fn handle_indication(
        &mut self,
        _: &Context,
        _: usize,
        _: Indication<M, B>,
        _: &mut NodeOutlet<'_, M, B>,
    ) {
        unreachable!("a graph that is looked at is no protocol");
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
