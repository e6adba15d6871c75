//! Who sits on top of a station's stack.

use std::collections::VecDeque;

use stackwright_contract::{Context, IndicationOf, Protocol, RequestTo};

/// What an application asks of its stack; it is said after the stack has finished speaking.
pub type Asks<P> = VecDeque<RequestTo<P>>;

/// The outer end of a stack: hears what the stack tells, and may ask for more.
///
/// A closure with the same parameters is one too.
pub trait Application<P: Protocol> {
    /// The stack of this application tells something.
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

/// An application that only keeps what it heard, in order, for a test to look at.
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
