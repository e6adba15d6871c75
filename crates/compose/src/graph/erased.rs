//! Any protocol as a node: its typed words become words of the graph, and back.

use alloc::vec::Vec;
use core::any::Any;
use core::marker::PhantomData;

use stackwright_contract::ask::{Ask, Question};
use stackwright_contract::words::{Indication, Port, Request, Speaks};
use stackwright_contract::{
    Batches, Context, Facts, IndicationOf, Instant, Outlet, Protocol, RequestOf, Service,
};
use stackwright_wire::Message;

use super::{AskPort, Node, NodeOutlet};

/// A protocol in a graph.
#[derive(Debug)]
pub struct Erased<P>(pub P);

impl<P> Erased<P> {
    // Each message of several comes back as a word of its own: so the protocol's handler is called
    // in one place, and stays inlined there.
    #[cold]
    #[inline(never)]
    fn indications<M: Message, B: Service + 'static>(
        &mut self,
        cx: &Context,
        port: usize,
        mut indication: Indication<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    ) where
        P: Protocol<Provides: Speaks<M, B>, Uses: Speaks<M, B>> + 'static,
    {
        while let Some(first) = indication.split_first() {
            self.handle_indication(cx, port, first, outlet);
        }
        self.handle_indication(cx, port, indication, outlet);
    }
}

impl<M: Message, B: Service + 'static, P> Node<M, B> for Erased<P>
where
    P: Protocol<Provides: Speaks<M, B>, Uses: Speaks<M, B>> + 'static,
{
    fn facts(&self) -> Facts {
        self.0.facts()
    }

    fn batches(&self) -> Batches {
        P::BATCHES
    }

    fn provides(&self, ports: &mut Vec<Port>) {
        P::Provides::ports(ports);
    }

    fn uses(&self, ports: &mut Vec<Port>) {
        P::Uses::ports(ports);
    }

    #[inline]
    fn handle_request(
        &mut self,
        cx: &Context,
        port: usize,
        request: Request<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    ) {
        // A neighbour is any node, and may send several.
        if !P::BATCHES.from_above && P::Provides::has_several_requests(port, &request) {
            return outlet.split(port, request);
        }
        self.0.handle_request(cx, P::Provides::recall_request(port, request), outlet);
    }

    #[inline]
    fn handle_indication(
        &mut self,
        cx: &Context,
        port: usize,
        indication: Indication<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    ) {
        if !P::BATCHES.from_below && P::Uses::has_several_indications(port, &indication) {
            return self.indications(cx, port, indication, outlet);
        }
        self.0.handle_indication(cx, P::Uses::recall_indication(port, indication), outlet);
    }

    fn handle_timeout(&mut self, cx: &Context, outlet: &mut NodeOutlet<'_, M, B>) {
        self.0.handle_timeout(cx, outlet);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.0.next_deadline()
    }

    fn flush(&mut self, cx: &Context, outlet: &mut NodeOutlet<'_, M, B>) {
        self.0.flush(cx, outlet);
    }

    fn wants_flush(&self) -> bool {
        self.0.wants_flush()
    }

    fn may_exit(&self) -> bool {
        self.0.may_exit()
    }

    fn ask(&self, port: usize, about: &dyn Any, question: &mut Question<'_>, below: &dyn AskPort) {
        if let Some(about) = P::Provides::recall_name(port, about) {
            self.0.ask(about, question, &Below::<M, B>(below, PhantomData));
        }
    }

    fn as_any(&self) -> &dyn Any {
        &self.0
    }
}

/// What is below a node, as its protocol asks it.
struct Below<'a, M, B>(&'a dyn AskPort, PhantomData<(M, B)>);

impl<M: Message, B: Service, S: Speaks<M, B>> Ask<S> for Below<'_, M, B> {
    fn ask(&self, about: S::Name, question: &mut Question<'_>) {
        if let Some((port, about)) = S::erase_name(&about) {
            self.0.ask(port, about, question);
        }
    }
}

impl<M: Message, B: Service + 'static, P> Outlet<P> for NodeOutlet<'_, M, B>
where
    P: Protocol<Provides: Speaks<M, B>, Uses: Speaks<M, B>>,
{
    #[inline(always)]
    fn indicate(&mut self, indication: IndicationOf<P>) {
        let port = P::Provides::indication_port(&indication);
        self.tell(port, P::Provides::erase_indication(indication));
    }

    #[inline(always)]
    fn request(&mut self, request: RequestOf<P>) {
        let port = P::Uses::request_port(&request);
        self.ask(port, P::Uses::erase_request(request));
    }
}
