//! How long each node of a graph takes, and what passes it.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;
use core::cell::RefCell;

use stackwright_contract::ask::Question;
use stackwright_contract::words::{Indication, Port, Request};
use stackwright_contract::{Batches, Context, Facts, Instant, Service, Word as _};
use stackwright_wire::Message;

use super::{AskPort, Node, NodeOutlet};

/// Messages of one direction, and their octets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LayerTraffic {
    /// How many.
    pub messages: u64,
    /// All together.
    pub octets: u64,
}

/// What a node took, and was handed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LayerCost {
    /// The name of the node.
    pub name: String,
    /// The names of the nodes below, from the left.
    pub lowers: Vec<String>,
    /// How long it was at work, its neighbours excluded.
    pub nanoseconds: u64,
    /// How many words it handled.
    pub words: u64,
    /// What it was handed from above.
    pub down: LayerTraffic,
    /// What it was handed from below.
    pub up: LayerTraffic,
}

/// Measures the nodes of a graph. What it is not told of is not slower for it.
///
/// Each word costs two looks at the clock, of which one is counted to the node that handles it.
pub struct LayerMeter {
    clock: fn() -> u64,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    layers: Vec<LayerCost>,
    /// Which node is at work, and since when.
    current: Option<usize>,
    since: u64,
}

impl LayerMeter {
    /// Measures by `clock`, in nanoseconds.
    pub fn new(clock: fn() -> u64) -> Rc<Self> {
        Rc::new(LayerMeter { clock, state: RefCell::default() })
    }

    /// Returns `node` so that it is measured; `lowers` are the names of the nodes below.
    pub fn node<M: Message, B: Service + 'static>(
        self: &Rc<Self>,
        name: &str,
        lowers: impl IntoIterator<Item = String>,
        node: Box<dyn Node<M, B>>,
    ) -> Box<dyn Node<M, B>> {
        let layers = &mut self.state.borrow_mut().layers;
        let lowers = lowers.into_iter().collect();
        layers.push(LayerCost { name: name.into(), lowers, ..LayerCost::default() });
        Box::new(Measured { node, meter: Rc::clone(self), here: layers.len() - 1 })
    }

    /// Returns the nodes in the order in which they were made.
    pub fn costs(&self) -> Vec<LayerCost> {
        self.state.borrow().layers.clone()
    }

    /// Lets `handle` be measured as work of the node `here`.
    fn within<R>(&self, here: usize, handle: impl FnOnce() -> R) -> R {
        let before = self.switch(Some(here));
        let result = handle();
        self.switch(before);
        result
    }

    fn switch(&self, to: Option<usize>) -> Option<usize> {
        let (now, state) = ((self.clock)(), &mut *self.state.borrow_mut());
        if let Some(current) = state.current {
            state.layers[current].nanoseconds += now.saturating_sub(state.since);
        }
        state.since = now;
        core::mem::replace(&mut state.current, to)
    }

    fn count<M: Message>(
        &self,
        of: impl FnOnce(&mut LayerCost) -> &mut LayerTraffic,
        here: usize,
        messages: usize,
        message: Option<&M>,
    ) {
        let layer = &mut self.state.borrow_mut().layers[here];
        layer.words += 1;
        let traffic = of(layer);
        traffic.messages += messages as u64;
        traffic.octets += message.map_or(0, |message| message.len() as u64);
    }
}

/// A node that is measured.
struct Measured<M: Message, B: Service> {
    node: Box<dyn Node<M, B>>,
    meter: Rc<LayerMeter>,
    here: usize,
}

impl<M: Message, B: Service + 'static> Node<M, B> for Measured<M, B> {
    fn facts(&self) -> Facts {
        self.node.facts()
    }

    fn batches(&self) -> Batches {
        self.node.batches()
    }

    fn provides(&self, ports: &mut Vec<Port>) {
        self.node.provides(ports);
    }

    fn uses(&self, ports: &mut Vec<Port>) {
        self.node.uses(ports);
    }

    fn handle_request(
        &mut self,
        cx: &Context,
        port: usize,
        request: Request<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    ) {
        // What is handed back comes again, message by message.
        if !self.node.batches().from_above && request.has_several() {
            return outlet.split(port, request);
        }
        self.meter.count(|of| &mut of.down, self.here, request.messages(), request.message());
        let node = &mut self.node;
        self.meter.within(self.here, || node.handle_request(cx, port, request, outlet));
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        port: usize,
        indication: Indication<M, B>,
        outlet: &mut NodeOutlet<'_, M, B>,
    ) {
        self.meter.count(|of| &mut of.up, self.here, indication.messages(), indication.message());
        let node = &mut self.node;
        self.meter.within(self.here, || node.handle_indication(cx, port, indication, outlet));
    }

    fn handle_timeout(&mut self, cx: &Context, outlet: &mut NodeOutlet<'_, M, B>) {
        self.meter.within(self.here, || self.node.handle_timeout(cx, outlet));
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.node.next_deadline()
    }

    fn flush(&mut self, cx: &Context, outlet: &mut NodeOutlet<'_, M, B>) {
        self.meter.within(self.here, || self.node.flush(cx, outlet));
    }

    fn wants_flush(&self) -> bool {
        self.node.wants_flush()
    }

    fn may_exit(&self) -> bool {
        self.node.may_exit()
    }

    fn ask(&self, port: usize, about: &dyn Any, question: &mut Question<'_>, below: &dyn AskPort) {
        self.node.ask(port, about, question, below);
    }

    fn as_any(&self) -> &dyn Any {
        self.node.as_any()
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    static LOOKS: AtomicU64 = AtomicU64::new(0);

    #[test]
    fn time_is_of_the_node_that_is_at_work() {
        let meter = LayerMeter::new(|| LOOKS.fetch_add(1, Ordering::Relaxed));
        meter.state.borrow_mut().layers.extend([LayerCost::default(), LayerCost::default()]);
        meter.within(0, || {
            meter.within(1, || meter.within(0, || ()));
            meter.within(1, || ());
        });
        LOOKS.fetch_add(100, Ordering::Relaxed); // nobody is at work
        meter.within(1, || ());
        let took = meter.costs().iter().map(|cost| cost.nanoseconds).collect::<Vec<_>>();
        assert_eq!(took, [4, 4]);
    }
}
