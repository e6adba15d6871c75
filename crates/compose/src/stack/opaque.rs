//! A stack of which no more is known at compile time than the services at its two sides.

use alloc::boxed::Box;

use stackwright_contract::ask::{Ask, Question};
use stackwright_contract::{
    Batches, Context, Facts, IndicationTo, Instant, NameAbove, Outlet, Protocol, RequestTo,
    Service, hand_down, hand_up,
};

/// A stack behind a pointer, that provides `T` and uses `B`: whoever uses one is compiled once, not
/// once for each stack. Each word that crosses its sides is a virtual call; within, all is as it
/// was. The nodes of a graph erase their words as well; here the compiler knows them.
///
/// What it promises is known no sooner than there is one ([`Protocol::facts`]), so a layer that
/// needs a guarantee does not stand on it.
///
/// ```
/// use stackwright_compose::Opaque;
/// use stackwright_contract::Nothing;
/// use stackwright_contract::services::Datagrams;
/// use stackwright_wire::BufferTree;
/// fn use_it(stack: &mut Opaque<Datagrams<BufferTree>, Nothing>) {}
/// ```
pub struct Opaque<T: Service, B: Service>(Box<dyn Inner<T, B>>);

impl<T: Service, B: Service> core::fmt::Debug for Opaque<T, B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(self.0.known().name)
    }
}

impl<T: Service + 'static, B: Service + 'static> Opaque<T, B> {
    /// Hides what a stack is made of.
    pub fn new(stack: impl Protocol<Provides = T, Uses = B> + 'static) -> Self {
        Opaque(Box::new(stack))
    }
}

/// What a protocol does, with an outlet behind a pointer.
trait Inner<T: Service, B: Service> {
    fn known(&self) -> Facts;
    fn request(&mut self, cx: &Context, request: T::Request, out: Out<'_, T, B>);
    fn indication(&mut self, cx: &Context, indication: B::Indication, out: Out<'_, T, B>);
    fn timeout(&mut self, cx: &Context, out: Out<'_, T, B>);
    fn deadline(&self) -> Option<Instant>;
    fn flush_it(&mut self, cx: &Context, out: Out<'_, T, B>);
    fn wants(&self) -> bool;
    fn exits(&self) -> bool;
    fn asked(&self, about: T::Name, question: &mut Question<'_>, below: &dyn Ask<B>);
}

type Out<'a, T, B> = &'a mut dyn Outlet<Opaque<T, B>>;

/// The outlet of a stack, as the protocol in it speaks.
struct Through<'a, T: Service, B: Service>(Out<'a, T, B>);

impl<T, B, P> Outlet<P> for Through<'_, T, B>
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

impl<T, B, P> Inner<T, B> for P
where
    T: Service + 'static,
    B: Service + 'static,
    P: Protocol<Provides = T, Uses = B>,
{
    fn known(&self) -> Facts {
        self.facts()
    }

    fn request(&mut self, cx: &Context, request: T::Request, out: Out<'_, T, B>) {
        hand_down(self, true, cx, request, &mut Through(out));
    }

    fn indication(&mut self, cx: &Context, indication: B::Indication, out: Out<'_, T, B>) {
        hand_up(self, true, cx, indication, &mut Through(out));
    }

    fn timeout(&mut self, cx: &Context, out: Out<'_, T, B>) {
        self.handle_timeout(cx, &mut Through(out));
    }

    fn deadline(&self) -> Option<Instant> {
        self.next_deadline()
    }

    fn flush_it(&mut self, cx: &Context, out: Out<'_, T, B>) {
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

impl<T: Service + 'static, B: Service + 'static> Protocol for Opaque<T, B> {
    const FACTS: Facts = Facts::named("opaque");
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
