//! A stack of which no more is known at compile time than the services at its two sides.

use alloc::boxed::Box;

use stackwright_contract::ask::{Ask, Question};
use stackwright_contract::{
    Batches, Context, Facts, Guarantees, IndicationTo, Instant, NameAbove, Outlet, Protocol,
    RequestTo, Service, hand_down, hand_up,
};

/// A stack behind a pointer, that provides `T` and uses `B`: whoever uses one is compiled once, not
/// once for each stack. Each word that crosses its sides is a virtual call; within, all is as it
/// was. The nodes of a graph erase their words as well; here the compiler knows them.
///
/// Its type promises `GIVES` ([`Guarantees::bits`](stackwright_contract::Guarantees::bits)), which each stack in it has to give; a
/// layer that needs more does not stand on it. All of its facts are known as soon as there is one
/// ([`Protocol::facts`]).
///
/// ```
/// use stackwright_compose::Opaque;
/// use stackwright_contract::Nothing;
/// use stackwright_contract::services::Datagrams;
/// use stackwright_wire::BufferTree;
/// fn use_it(stack: &mut Opaque<Datagrams<BufferTree>, Nothing>) {}
/// ```
pub struct Opaque<T: Service, B: Service, const GIVES: u16 = 0>(Box<dyn Inner<T, B, GIVES>>);

impl<T: Service, B: Service, const GIVES: u16> core::fmt::Debug for Opaque<T, B, GIVES> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.0.known().name)
    }
}

impl<T: Service + 'static, B: Service + 'static, const GIVES: u16> Opaque<T, B, GIVES> {
    /// Hides what a stack is made of. Does not compile where it promises less.
    pub fn new<P: Protocol<Provides = T, Uses = B> + 'static>(stack: P) -> Self {
        const { assert!(P::FACTS.gives.has(Guarantees::from_bits(GIVES)), "it promises less") };
        Opaque(Box::new(stack))
    }
}

/// What a protocol does, with an outlet behind a pointer.
trait Inner<T: Service, B: Service, const GIVES: u16> {
    fn known(&self) -> Facts;
    fn request(&mut self, cx: &Context, request: T::Request, out: Out<'_, T, B, GIVES>);
    fn indication(&mut self, cx: &Context, indication: B::Indication, out: Out<'_, T, B, GIVES>);
    fn timeout(&mut self, cx: &Context, out: Out<'_, T, B, GIVES>);
    fn deadline(&self) -> Option<Instant>;
    fn flush_it(&mut self, cx: &Context, out: Out<'_, T, B, GIVES>);
    fn wants(&self) -> bool;
    fn exits(&self) -> bool;
    fn asked(&self, about: T::Name, question: &mut Question<'_>, below: &dyn Ask<B>);
}

type Out<'a, T, B, const GIVES: u16> = &'a mut dyn Outlet<Opaque<T, B, GIVES>>;

/// The outlet of a stack, as the protocol in it speaks.
struct Through<'a, T: Service, B: Service, const GIVES: u16>(Out<'a, T, B, GIVES>);

impl<T, B, P, const GIVES: u16> Outlet<P> for Through<'_, T, B, GIVES>
where
    T: Service + 'static,
    B: Service + 'static,
    P: Protocol<Provides = T, Uses = B>,
{
    #[inline]
    fn indicate(&mut self, indication: T::Indication) {
        self.0.indicate(indication);
    }

    #[inline]
    fn request(&mut self, request: B::Request) {
        self.0.request(request);
    }
}

impl<T, B, P, const GIVES: u16> Inner<T, B, GIVES> for P
where
    T: Service + 'static,
    B: Service + 'static,
    P: Protocol<Provides = T, Uses = B>,
{
    fn known(&self) -> Facts {
        self.facts()
    }

    fn request(&mut self, cx: &Context, request: T::Request, out: Out<'_, T, B, GIVES>) {
        hand_down(self, true, cx, request, &mut Through(out));
    }

    fn indication(&mut self, cx: &Context, indication: B::Indication, out: Out<'_, T, B, GIVES>) {
        hand_up(self, true, cx, indication, &mut Through(out));
    }

    fn timeout(&mut self, cx: &Context, out: Out<'_, T, B, GIVES>) {
        self.handle_timeout(cx, &mut Through(out));
    }

    fn deadline(&self) -> Option<Instant> {
        self.next_deadline()
    }

    fn flush_it(&mut self, cx: &Context, out: Out<'_, T, B, GIVES>) {
        self.flush(cx, &mut Through(out));
    }

    fn wants(&self) -> bool {
        self.wants_flush()
    }

    fn exits(&self) -> bool {
        self.may_exit()
    }

    fn asked(&self, about: T::Name, question: &mut Question<'_>, below: &dyn Ask<B>) {
        self.ask(about, question, below);
    }
}

impl<T: Service + 'static, B: Service + 'static, const GIVES: u16> Protocol
    for Opaque<T, B, GIVES>
{
    const FACTS: Facts = Facts { gives: Guarantees::from_bits(GIVES), ..Facts::named("opaque") };
    const BATCHES: Batches = Batches::ALL;
    type Provides = T;
    type Uses = B;

    #[inline]
    fn handle_request(
        &mut self,
        cx: &Context,
        request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        self.0.request(cx, request, out);
    }

    #[inline]
    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        self.0.indication(cx, indication, out);
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.0.timeout(cx, out);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.0.deadline()
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.0.flush_it(cx, out);
    }

    fn wants_flush(&self) -> bool {
        self.0.wants()
    }

    fn may_exit(&self) -> bool {
        self.0.exits()
    }

    fn facts(&self) -> Facts {
        self.0.known()
    }

    fn ask(&self, about: NameAbove<Self>, question: &mut Question<'_>, below: &dyn Ask<B>) {
        self.0.asked(about, question, below);
    }
}
