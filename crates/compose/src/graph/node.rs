//! What stands in a graph.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;

use stackwright_contract::ask::Question;
use stackwright_contract::words::{Indication, Port, Request};
use stackwright_contract::{Batches, Context, Facts, Guarantees, Instant, Service};
use stackwright_wire::Message;

use super::NodeOutlet;

/// A protocol, or anything that behaves like one, as a graph sees it: it handles words on ports.
///
/// [`Erased`](super::Erased) makes one of any protocol. What it provides and uses never changes.
pub trait Node<M: Message, B: Service>: Any {
    /// Returns what the rule book has to know of it.
    fn facts(&self) -> Facts;

    /// Returns which batches of several messages it takes. By default it takes one message at a
    /// time: the graph splits what comes from the outside, and the node what comes from its
    /// neighbours ([`NodeOutlet::split`]).
    fn batches(&self) -> Batches {
        Batches::NONE
    }

    /// Adds the ports that it provides, from the left.
    fn provides(&self, ports: &mut Vec<Port>);

    /// Adds the ports that it uses, from the left.
    fn uses(&self, ports: &mut Vec<Port>);

    /// Handles a request from above, on one of the ports that it provides.
    fn handle_request(
        &mut self,
        cx: &Context,
        port: usize,
        request: Request<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    );

    /// Handles an indication from below, on one of the ports that it uses.
    fn handle_indication(
        &mut self,
        cx: &Context,
        port: usize,
        indication: Indication<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    );

    /// Handles the passage of time.
    fn handle_timeout(&mut self, _cx: &Context, _mouth: &mut NodeOutlet<'_, M, B>) {}

    /// Returns when to call [`handle_timeout`](Node::handle_timeout).
    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// Sends what was gathered, at the end of a batch.
    fn flush(&mut self, _cx: &Context, _mouth: &mut NodeOutlet<'_, M, B>) {}

    /// Returns whether something is gathered.
    fn wants_flush(&self) -> bool {
        false
    }

    /// Returns whether the program may exit ([`Protocol::may_exit`]).
    ///
    /// [`Protocol::may_exit`]: stackwright_contract::Protocol::may_exit
    fn may_exit(&self) -> bool {
        true
    }

    /// Answers a question about a name on a port that it provides, or passes it on to `below`. By
    /// default it does neither.
    fn ask(
        &self,
        _port: usize,
        _about: &dyn Any,
        _question: &mut Question<'_>,
        _below: &dyn AskPort,
    ) {
    }

    /// Returns what was wrapped, for a caller that knows its type.
    fn as_any(&self) -> &dyn Any;

    /// Returns the module that it is.
    #[doc(hidden)]
    fn as_module(&mut self) -> Option<&mut dyn Module<M, B>> {
        None
    }

    /// Returns the module that it was.
    #[doc(hidden)]
    fn into_module(self: Box<Self>) -> Option<Box<dyn Module<M, B>>> {
        None
    }
}

/// Answers questions about names on ports: what is below a node.
pub trait AskPort {
    /// Passes a question on, about a name on a port that the node uses: the name of one vocabulary,
    /// whatever its type.
    fn ask(&self, port: usize, about: &dyn Any, question: &mut Question<'_>);
}

/// What can be pushed into a live graph, and popped out of it: the same service above and below,
/// with names that pass unchanged.
///
/// It takes one message at a time, unless it [says otherwise](Module::takes_batches). What holds no
/// words is better written as a [`Filter`](crate::filter::Filter).
pub trait Module<M: Message, B: Service>: Any {
    /// Returns what it is, in two words at most.
    fn name(&self) -> &'static str;

    /// Returns what the rule book has to know of it. By default it passes every promise.
    fn facts(&self) -> Facts {
        Facts { passes: Guarantees::ALL, ..Facts::named(self.name()) }
    }

    /// Returns whether it takes several messages in one word. By default it is handed one at a
    /// time.
    fn takes_batches(&self) -> bool {
        false
    }

    /// Handles a word on its way down.
    fn handle_request(
        &mut self,
        cx: &Context,
        request: Request<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    );

    /// Handles a word on its way up.
    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: Indication<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    );

    /// Handles the passage of time.
    fn handle_timeout(&mut self, _cx: &Context, _mouth: &mut NodeOutlet<'_, M, B>) {}

    /// Returns when to call [`handle_timeout`](Module::handle_timeout).
    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// Sends what was gathered, at the end of a batch.
    fn flush(&mut self, _cx: &Context, _mouth: &mut NodeOutlet<'_, M, B>) {}

    /// Returns whether something is gathered.
    fn wants_flush(&self) -> bool {
        false
    }

    /// Answers a question; one that stays open is passed on.
    fn ask(&self, _question: &mut Question<'_>) {}

    /// Returns the number of messages that it holds. It leaves the graph only when it holds none.
    fn held(&self) -> usize {
        0
    }

    /// Prepares it to leave: with the next flush it releases what it holds, and holds nothing from
    /// then on.
    fn drain(&mut self) {}

    /// Returns what [`Graph::protocol`](super::Graph::protocol) finds: the module itself, or what
    /// it wraps.
    #[doc(hidden)]
    fn as_any(&self) -> &dyn Any
    where
        Self: Sized,
    {
        self
    }
}

/// A module as a node with one port above and one below, of the service that its neighbours speak.
pub(super) struct ModuleNode<X>(pub(super) X);

impl<M: Message, B: Service + 'static, X: Module<M, B>> Node<M, B> for ModuleNode<X> {
    fn facts(&self) -> Facts {
        self.0.facts()
    }

    fn batches(&self) -> Batches {
        if self.0.takes_batches() { Batches::ALL } else { Batches::NONE }
    }

    fn provides(&self, _ports: &mut Vec<Port>) {}

    fn uses(&self, _ports: &mut Vec<Port>) {}

    fn handle_request(
        &mut self,
        cx: &Context,
        port: usize,
        request: Request<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    ) {
        if !self.0.takes_batches() && request.has_several() {
            return outlet.split(port, request);
        }
        self.0.handle_request(cx, request, outlet);
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        _port: usize,
        mut indication: Indication<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    ) {
        while !self.0.takes_batches()
            && let Some(first) = indication.split_first()
        {
            self.0.handle_indication(cx, first, outlet);
        }
        self.0.handle_indication(cx, indication, outlet);
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
        self.0.held() == 0
    }

    fn ask(&self, _port: usize, about: &dyn Any, question: &mut Question<'_>, below: &dyn AskPort) {
        self.0.ask(question);
        if question.is_open() {
            below.ask(0, about, question);
        }
    }

    fn as_any(&self) -> &dyn Any {
        self.0.as_any()
    }

    fn as_module(&mut self) -> Option<&mut dyn Module<M, B>> {
        Some(&mut self.0)
    }

    fn into_module(self: Box<Self>) -> Option<Box<dyn Module<M, B>>> {
        Some(Box::new(self.0))
    }
}
