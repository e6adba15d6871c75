//! The contract between layers.

use crate::{Batches, Context, Facts, Handle, Instant, Service};

/// A state machine that provides one service to the layer above and uses one service of the layer below.
///
/// # The calling contract
///
/// A driver (or a combinator) calls `handle_request` for what comes from above, `handle_indication` for what comes from
/// below, and after each *batch* of them asks for [`next_deadline`](Protocol::next_deadline); when that time has come it
/// calls `handle_timeout`:
///
/// ```text
/// loop {
///     wait for input, at most until stack.next_deadline()
///     cx.set_now(clock)
///     for each input { stack.handle_indication(&cx, input, out) }
///     if stack.next_deadline() is not later than now { stack.handle_timeout(&cx, out) }
/// }
/// ```
pub trait Protocol {
    /// What the rule book has to know of it.
    const FACTS: Facts;
    /// Which batches of several messages it takes, and sends. By default none: it is handed one message at a time, and sends one
    /// at a time.
    const BATCHES: Batches = Batches::NONE;
    /// Offered to the layer above.
    type Provides: Service;
    /// Expected from the layer below.
    type Uses: Service;

    /// A request from above.
    fn handle_request(&mut self, cx: &Context, request: RequestTo<Self>, out: &mut impl Outlet<Self>);

    /// An indication from below.
    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    );

    /// Time may have passed. It may be called early, or for a neighbour's sake, and then does nothing.
    fn handle_timeout(&mut self, _cx: &Context, _out: &mut impl Outlet<Self>) {}

    /// When to call [`handle_timeout`](Protocol::handle_timeout). Asked after a batch of input, never between two
    /// messages. A deadline that has passed already means "when this batch is done".
    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// Payloads of so many octets, to be written by who sends them on an association, which lie as they will leave: nothing of them is copied
    /// on its way then. They are one behind the other, at least one and `most` at most, as a run is sent. What they hold at first is
    /// anything. `None`: nobody here knows better than the layer above how they should lie.
    fn draft(&self, _association: Handle, _octets: usize, _most: usize) -> Option<PayloadOf<Self>> {
        None
    }
}

/// Where a protocol's words go.
pub trait Outlet<P: Protocol + ?Sized> {
    /// To the layer above.
    fn indicate(&mut self, indication: IndicationOf<P>);
    /// To the layer below.
    fn request(&mut self, request: RequestOf<P>);
}

/// What `P` carries.
pub type PayloadOf<P> = <<P as Protocol>::Provides as Service>::Payload;
/// What the layer above may ask of `P`.
pub type RequestTo<P> = <<P as Protocol>::Provides as Service>::Request;
/// What the layer below may tell `P`.
pub type IndicationTo<P> = <<P as Protocol>::Uses as Service>::Indication;
/// What `P` may ask of the layer below.
pub type RequestOf<P> = <<P as Protocol>::Uses as Service>::Request;
/// What `P` may tell the layer above.
pub type IndicationOf<P> = <<P as Protocol>::Provides as Service>::Indication;
