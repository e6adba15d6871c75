//! Where several messages cross as one word, and where they are split.
//!
//! A protocol is handed one message at a time, unless it says otherwise. It never splits a batch
//! itself: a branch in each layer, hardly ever taken, would keep the words of the straight path in
//! memory (65 for 15 ns through four layers). Splitting is the work of what joins two neighbours,
//! and only where their constants differ: combinators, graphs, and the edges of a stack.

use crate::{Context, IndicationTo, Outlet, Protocol, RequestTo, Service};

/// Which batches of several messages a protocol takes, and which it emits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Batches {
    /// Whether requests with several messages are taken whole.
    pub from_above: bool,
    /// Whether requests with several messages are emitted to the layer below.
    pub to_below: bool,
    /// Whether indications with several messages are taken whole.
    pub from_below: bool,
    /// Whether indications with several messages are emitted to the layer above.
    pub to_above: bool,
}

impl Batches {
    /// One message at a time.
    pub const NONE: Self =
        Batches { from_above: false, to_below: false, from_below: false, to_above: false };

    /// Several at once, both ways.
    pub const ALL: Self =
        Batches { from_above: true, to_below: true, from_below: true, to_above: true };

    /// Returns what `upper` over `lower` takes and emits at its outer sides.
    pub const fn over(upper: Self, lower: Self) -> Self {
        Batches {
            from_above: upper.from_above,
            to_below: lower.to_below,
            from_below: lower.from_below,
            to_above: upper.to_above,
        }
    }

    /// Returns what two neighbours beside each other take and emit; each is handed what it takes.
    pub const fn beside(left: Self, right: Self) -> Self {
        Batches {
            from_above: left.from_above || right.from_above,
            to_below: left.to_below || right.to_below,
            from_below: left.from_below || right.from_below,
            to_above: left.to_above || right.to_above,
        }
    }
}

/// Hands a request to a protocol: message by message where it takes one at a time, and `several`
/// may come.
#[inline(always)]
pub fn hand_down<P: Protocol>(
    protocol: &mut P,
    several: bool,
    cx: &Context,
    request: RequestTo<P>,
    out: &mut impl Outlet<P>,
) {
    // Constants: where the sender emits one at a time, or the receiver takes several, nothing is
    // checked.
    if several && !P::BATCHES.from_above && P::Provides::requests_several(&request) {
        return down_one_by_one(protocol, cx, request, out);
    }
    protocol.handle_request(cx, request, out);
}

#[cold]
#[inline(never)]
fn down_one_by_one<P: Protocol>(
    protocol: &mut P,
    cx: &Context,
    mut request: RequestTo<P>,
    out: &mut impl Outlet<P>,
) {
    while let Some(first) = P::Provides::split_request(&mut request) {
        protocol.handle_request(cx, first, out);
    }
    protocol.handle_request(cx, request, out);
}

/// Hands an indication to a protocol: message by message where it takes one at a time, and
/// `several` may come.
#[inline(always)]
pub fn hand_up<P: Protocol>(
    protocol: &mut P,
    several: bool,
    cx: &Context,
    indication: IndicationTo<P>,
    out: &mut impl Outlet<P>,
) {
    if several && !P::BATCHES.from_below && P::Uses::indicates_several(&indication) {
        return up_one_by_one(protocol, cx, indication, out);
    }
    protocol.handle_indication(cx, indication, out);
}

#[cold]
#[inline(never)]
fn up_one_by_one<P: Protocol>(
    protocol: &mut P,
    cx: &Context,
    mut indication: IndicationTo<P>,
    out: &mut impl Outlet<P>,
) {
    while let Some(first) = P::Uses::split_indication(&mut indication) {
        protocol.handle_indication(cx, first, out);
    }
    protocol.handle_indication(cx, indication, out);
}
