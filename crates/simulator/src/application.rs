//! Applications: what is on top of a station's stack.

use std::collections::VecDeque;

use stackwright_contract::{Context, IndicationOf, Protocol, RequestTo};

/// The requests of an application to its stack; they are made after the stack has returned.
pub type Asks<P> = VecDeque<RequestTo<P>>;

/// The outer end of a stack: receives the stack's indications, and may make further requests.
///
/// A closure with the same parameters is one too.
pub trait Application<P: Protocol> {
    /// Handles an indication of the application's stack.
    fn hear(&mut self, cx: &Context, indication: IndicationOf<P>, asks: &mut Asks<P>);
}

impl<P, F> Application<P> for F
where
    P: Protocol,
    F: FnMut(&Context, IndicationOf<P>, &mut Asks<P>),
{
    fn hear(&mut self, cx: &Context, indication: IndicationOf<P>, asks: &mut Asks<P>) {
        self(cx, indication, asks);
    }
}

/// An application that only keeps the indications, in order, for a test.
#[derive(Debug)]
pub struct Heard<I>(pub Vec<I>);

impl<I> Default for Heard<I> {
    fn default() -> Self {
        Heard(Vec::new())
    }
}

impl<P: Protocol> Application<P> for Heard<IndicationOf<P>> {
    fn hear(&mut self, _cx: &Context, indication: IndicationOf<P>, _asks: &mut Asks<P>) {
        self.0.push(indication);
    }
}
