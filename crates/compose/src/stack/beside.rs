//! Two independent lowers side by side, of different services.

use core::marker::PhantomData;

use stackwright_contract::ask::{Ask, Question};
use stackwright_contract::{
    Batches, Both, Context, Either, Facts, IndicationOf, IndicationTo, Instant, NameAbove, Outlet,
    Protocol, RequestOf, RequestTo, Service, earliest, hand_down, hand_up, rules,
};

/// `L` beside `R`: together they provide [`Both`] services.
#[derive(Debug)]
pub struct Beside<L, R> {
    /// The first.
    pub left: L,
    /// The second.
    pub right: R,
}

impl<L: Protocol, R: Protocol> Beside<L, R> {
    /// Puts two lowers side by side.
    pub const fn new(left: L, right: R) -> Self {
        Beside { left, right }
    }
}

/// An outlet that marks what the left one says as the left one's.
struct FromLeft<'a, O, R>(&'a mut O, PhantomData<R>);
struct FromRight<'a, O, L>(&'a mut O, PhantomData<L>);

impl<L: Protocol, R: Protocol> Protocol for Beside<L, R> {
    const FACTS: Facts = rules::beside(&L::FACTS, &R::FACTS);
    const BATCHES: Batches = Batches::beside(L::BATCHES, R::BATCHES);
    type Provides = Both<L::Provides, R::Provides>;
    type Uses = Both<L::Uses, R::Uses>;

    #[inline]
    fn handle_request(
        &mut self,
        cx: &Context,
        request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        let several = Self::BATCHES.from_above;
        match request {
            Either::Left(request) => {
                hand_down(
                    &mut self.left,
                    several,
                    cx,
                    request,
                    &mut FromLeft(out, PhantomData::<R>),
                );
            }
            Either::Right(request) => {
                hand_down(
                    &mut self.right,
                    several,
                    cx,
                    request,
                    &mut FromRight(out, PhantomData::<L>),
                );
            }
        }
    }

    #[inline]
    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        let several = Self::BATCHES.from_below;
        match indication {
            Either::Left(indication) => {
                hand_up(
                    &mut self.left,
                    several,
                    cx,
                    indication,
                    &mut FromLeft(out, PhantomData::<R>),
                );
            }
            Either::Right(indication) => {
                hand_up(
                    &mut self.right,
                    several,
                    cx,
                    indication,
                    &mut FromRight(out, PhantomData::<L>),
                );
            }
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.left.handle_timeout(cx, &mut FromLeft(out, PhantomData::<R>));
        self.right.handle_timeout(cx, &mut FromRight(out, PhantomData::<L>));
    }

    fn next_deadline(&self) -> Option<Instant> {
        earliest(self.left.next_deadline(), self.right.next_deadline())
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.left.flush(cx, &mut FromLeft(out, PhantomData::<R>));
        self.right.flush(cx, &mut FromRight(out, PhantomData::<L>));
    }

    fn wants_flush(&self) -> bool {
        self.left.wants_flush() || self.right.wants_flush()
    }

    fn may_exit(&self) -> bool {
        self.left.may_exit() && self.right.may_exit()
    }

    fn ask(
        &self,
        about: NameAbove<Self>,
        question: &mut Question<'_>,
        below: &dyn Ask<Self::Uses>,
    ) {
        match about {
            Either::Left(about) => self.left.ask(about, question, &BelowLeft(below)),
            Either::Right(about) => self.right.ask(about, question, &BelowRight(below)),
        }
    }
}

/// What is below both, as the protocol that uses one of the two services asks it.
pub(super) struct BelowLeft<'a, A: Service, B: Service>(pub(super) &'a dyn Ask<Both<A, B>>);
pub(super) struct BelowRight<'a, A: Service, B: Service>(pub(super) &'a dyn Ask<Both<A, B>>);

impl<A: Service, B: Service> Ask<A> for BelowLeft<'_, A, B> {
    fn ask(&self, about: A::Name, question: &mut Question<'_>) {
        self.0.ask(Either::Left(about), question);
    }
}

impl<A: Service, B: Service> Ask<B> for BelowRight<'_, A, B> {
    fn ask(&self, about: B::Name, question: &mut Question<'_>) {
        self.0.ask(Either::Right(about), question);
    }
}

impl<L: Protocol, R: Protocol, O: Outlet<Beside<L, R>>> Outlet<L> for FromLeft<'_, O, R> {
    #[inline]
    fn indicate(&mut self, indication: IndicationOf<L>) {
        self.0.indicate(Either::Left(indication));
    }

    #[inline]
    fn request(&mut self, request: RequestOf<L>) {
        self.0.request(Either::Left(request));
    }
}

impl<L: Protocol, R: Protocol, O: Outlet<Beside<L, R>>> Outlet<R> for FromRight<'_, O, L> {
    #[inline]
    fn indicate(&mut self, indication: IndicationOf<R>) {
        self.0.indicate(Either::Right(indication));
    }

    #[inline]
    fn request(&mut self, request: RequestOf<R>) {
        self.0.request(Either::Right(request));
    }
}
