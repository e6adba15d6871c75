//! The contract between layers.

use crate::ask::{Ask, Question};
use crate::{Batches, Context, Facts, Instant, Service};

/// A state machine that provides one service to the layer above and uses one of the layer below.
///
/// # The calling contract
///
/// A driver (or a combinator) calls `handle_request` for what comes from above and
/// `handle_indication` for what comes from below. After each *batch* of them it calls
/// `handle_timeout` where [`next_deadline`](Protocol::next_deadline) has come, and
/// [`flush`](Protocol::flush) where something was gathered:
///
/// ```text
/// loop {
///     wait for input, until stack.next_deadline(); do not wait while stack.wants_flush()
///     cx.set_now(clock)
///     for each input { stack.handle_indication(&cx, input, out) }          up
///     if stack.next_deadline() <= now { stack.handle_timeout(&cx, out) }   time
///     if stack.wants_flush() { stack.flush(&cx, out) }                     down, once
/// }
/// ```
pub trait Protocol {
    /// What the rule book has to know of it.
    const FACTS: Facts;
    /// Which batches of several messages it takes and emits. By default none: it is handed one
    /// message at a time, and emits one at a time.
    const BATCHES: Batches = Batches::NONE;
    /// Offered to the layer above.
    type Provides: Service;
    /// Expected from the layer below.
    type Uses: Service;

    /// Handles a request from above.
    fn handle_request(
        &mut self,
        cx: &Context,
        request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    );

    /// Handles an indication from below.
    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    );

    /// Handles the passage of time. It may be called early, or because of a neighbour, and then
    /// does nothing.
    fn handle_timeout(&mut self, _cx: &Context, _out: &mut impl Outlet<Self>) {}

    /// Returns when to call [`handle_timeout`](Protocol::handle_timeout): a time, never a sign that
    /// the batch is done. Asked after a batch of input, never between two messages.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// Sends what was gathered: called once at the end of a batch, upper layers before lower ones.
    /// May be called where nothing is gathered, and then does nothing.
    fn flush(&mut self, _cx: &Context, _out: &mut impl Outlet<Self>) {}

    /// Returns whether something is gathered. After a flush that is so where a lower layer, flushed
    /// later, told something, or where the work of one turn is bounded: the driver then takes
    /// input without waiting, and flushes again.
    fn wants_flush(&self) -> bool {
        false
    }

    /// Returns whether the program may exit now: every peer was sent all that it is owed, its end
    /// included, and only answers are awaited that change nothing on this side. By default it may.
    /// Asked between two batches, by a program that has nothing more to request.
    fn may_exit(&self) -> bool {
        true
    }

    /// Returns what it is: [`FACTS`](Protocol::FACTS), unless that is known no sooner than at run
    /// time.
    fn facts(&self) -> Facts {
        Self::FACTS
    }

    /// Answers a question about a name above; passes one that stays open on to `below`, under the
    /// name that it uses there. By default it does neither, and questions reach no layer below it.
    fn ask(
        &self,
        _about: NameAbove<Self>,
        _question: &mut Question<'_>,
        _below: &dyn Ask<Self::Uses>,
    ) {
    }
}

/// Takes the words of a protocol.
pub trait Outlet<P: Protocol + ?Sized> {
    /// Hands an indication to the layer above.
    fn indicate(&mut self, indication: IndicationOf<P>);
    /// Hands a request to the layer below.
    fn request(&mut self, request: RequestOf<P>);
}

/// The name that a question to `P` is about.
pub type NameAbove<P> = <<P as Protocol>::Provides as Service>::Name;
/// A request that `P` handles.
pub type RequestTo<P> = <<P as Protocol>::Provides as Service>::Request;
/// An indication that `P` handles.
pub type IndicationTo<P> = <<P as Protocol>::Uses as Service>::Indication;
/// A request that `P` emits.
pub type RequestOf<P> = <<P as Protocol>::Uses as Service>::Request;
/// An indication that `P` emits.
pub type IndicationOf<P> = <<P as Protocol>::Provides as Service>::Indication;
