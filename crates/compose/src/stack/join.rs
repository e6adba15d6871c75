//! One upper on several lowers of one service.
//!
//! The participant of an `Open` or a `Listen` carries the number of the lower that is to be asked,
//! counted from the left; without a number it is the first. What the lowers tell gets their number.
//!
//! IP on several interfaces is such a stack. Frames have ports instead of names and participants:
//! what puts TNCs together numbers their ports, and shares credit among them.

use core::marker::PhantomData;

use stackwright_contract::ask::{Ask, Peer, Question};
use stackwright_contract::{
    Batches, Both, Context, Either, Facts, Handle, IndicationOf, IndicationTo, Instant, Life,
    Mirror, Outlet, Protocol, RequestOf, RequestTo, Service, Word, earliest, hand_down, hand_up,
    rules,
};

use super::Over;
use super::beside::{BelowLeft, BelowRight};

/// `U` on `L1` and `L2`, which provide the same service.
pub type Join<U, L1, L2> = Over<U, JoinedLowers<L1, L2>>;

/// Puts an upper on two lowers of one service. Does not compile where the rule book refuses.
pub const fn join<U, L1, L2>(upper: U, one: L1, other: L2) -> Join<U, L1, L2>
where
    L1: Protocol<Provides: Service<Request: Word, Indication: Word, Name = Handle>>,
    L2: Protocol<Provides = L1::Provides>,
    U: Protocol<Uses = L1::Provides>,
{
    Over::new(upper, JoinedLowers::new(one, other))
}

/// The lower that is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Route {
    /// This one.
    Lower(usize),
    /// There is none with that number.
    Nowhere,
    /// The name has ended.
    Ended,
}

/// The lower of each name. The names themselves pass unchanged: they all come from one table.
#[derive(Debug)]
pub(crate) struct Routes {
    names: Mirror<usize>,
}

impl Routes {
    pub(crate) const fn new() -> Self {
        Routes { names: Mirror::new() }
    }

    /// Returns the lower, of `lowers`, that is asked `request`.
    pub(crate) fn sink(&mut self, lowers: usize, request: &mut impl Word) -> Route {
        let life = request.life();
        let listener = request.listener_mut().map(|listener| *listener);
        let Some(name) = request.name_mut().map(|name| *name) else { return Route::Lower(0) };
        if life != Life::Begins {
            return self.names.get(name).map_or(Route::Ended, |lower| Route::Lower(*lower));
        }
        let mut lower = 0;
        if let Some(listener) = listener {
            // For a listener that has ended, any lower answers.
            lower = self.names.get(listener).copied().unwrap_or(0);
        }
        for participant in request.participants_mut().into_iter().flatten() {
            lower = participant.interface().map_or(lower, usize::from);
            *participant = participant.direct();
        }
        if lower >= lowers {
            return Route::Nowhere;
        }
        self.names.insert(name, lower);
        Route::Lower(lower)
    }

    /// Returns the lower of a name.
    pub(crate) fn lower(&self, name: Handle) -> Option<usize> {
        self.names.get(name).copied()
    }

    /// Writes the number of the lower into what it answers.
    pub(crate) fn answered(lower: usize, question: &mut Question<'_>) {
        question.alter_answer::<Peer>(|peer| *peer = peer.through(lower as u16));
    }

    /// Writes the number of the lower into what it tells.
    pub(crate) fn rise(&mut self, lower: usize, indication: &mut impl Word) {
        for participant in indication.participants_mut().into_iter().flatten() {
            *participant = participant.through(lower as u16);
        }
        if indication.life() == Life::Ends
            && let Some(name) = indication.name_mut()
        {
            self.names.remove(*name);
        }
    }
}

/// Two lowers of one service, as one.
#[derive(Debug)]
pub struct JoinedLowers<L1, L2> {
    /// The one with the number 0.
    pub left: L1,
    /// The one with the number 1.
    pub right: L2,
    routes: Routes,
}

impl<L1, L2> JoinedLowers<L1, L2> {
    /// Puts two lowers of one service together.
    pub const fn new(left: L1, right: L2) -> Self {
        JoinedLowers { left, right, routes: Routes::new() }
    }
}

pub(crate) const NAME: &str = "join";
/// Why a word is dropped that names a lower that does not exist.
pub(crate) const NOWHERE: &str = "a word for a lower that is not there";

/// An outlet that notes in the table of routes what a lower tells.
struct FromLeft<'a, O, R>(&'a mut O, &'a mut Routes, PhantomData<R>);
struct FromRight<'a, O, L>(&'a mut O, &'a mut Routes, PhantomData<L>);

impl<L1, L2> Protocol for JoinedLowers<L1, L2>
where
    L1: Protocol<Provides: Service<Request: Word, Indication: Word, Name = Handle>>,
    L2: Protocol<Provides = L1::Provides>,
{
    const FACTS: Facts = rules::joined(&L1::FACTS, &L2::FACTS);
    const BATCHES: Batches = Batches::beside(L1::BATCHES, L2::BATCHES);
    type Provides = L1::Provides;
    type Uses = Both<L1::Uses, L2::Uses>;

    fn handle_request(
        &mut self,
        cx: &Context,
        mut request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        let JoinedLowers { left, right, routes } = self;
        let several = Self::BATCHES.from_above;
        match routes.sink(2, &mut request) {
            Route::Lower(0) => {
                hand_down(
                    left,
                    several,
                    cx,
                    request,
                    &mut FromLeft(out, routes, PhantomData::<L2>),
                );
            }
            Route::Lower(_) => {
                hand_down(
                    right,
                    several,
                    cx,
                    request,
                    &mut FromRight(out, routes, PhantomData::<L1>),
                );
            }
            Route::Nowhere => {
                match request.name_mut().and_then(|name| L1::Provides::unreachable(*name)) {
                    Some(last) => out.indicate(last),
                    None => cx.dropped(NAME, NOWHERE),
                }
            }
            Route::Ended => cx.dropped(NAME, super::fork::ENDED),
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        word: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        let JoinedLowers { left, right, routes } = self;
        let several = Self::BATCHES.from_below;
        match word {
            Either::Left(word) => {
                hand_up(left, several, cx, word, &mut FromLeft(out, routes, PhantomData::<L2>));
            }
            Either::Right(word) => {
                hand_up(right, several, cx, word, &mut FromRight(out, routes, PhantomData::<L1>));
            }
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        let JoinedLowers { left, right, routes } = self;
        left.handle_timeout(cx, &mut FromLeft(out, routes, PhantomData::<L2>));
        right.handle_timeout(cx, &mut FromRight(out, routes, PhantomData::<L1>));
    }

    fn next_deadline(&self) -> Option<Instant> {
        earliest(self.left.next_deadline(), self.right.next_deadline())
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        let JoinedLowers { left, right, routes } = self;
        left.flush(cx, &mut FromLeft(out, routes, PhantomData::<L2>));
        right.flush(cx, &mut FromRight(out, routes, PhantomData::<L1>));
    }

    fn wants_flush(&self) -> bool {
        self.left.wants_flush() || self.right.wants_flush()
    }

    fn may_exit(&self) -> bool {
        self.left.may_exit() && self.right.may_exit()
    }

    fn ask(&self, about: Handle, question: &mut Question<'_>, below: &dyn Ask<Self::Uses>) {
        let Some(lower) = self.routes.lower(about) else { return };
        match lower {
            0 => self.left.ask(about, question, &BelowLeft(below)),
            _ => self.right.ask(about, question, &BelowRight(below)),
        }
        Routes::answered(lower, question);
    }
}

impl<L1, L2, O> Outlet<L1> for FromLeft<'_, O, L2>
where
    L1: Protocol<Provides: Service<Request: Word, Indication: Word, Name = Handle>>,
    L2: Protocol<Provides = L1::Provides>,
    O: Outlet<JoinedLowers<L1, L2>>,
{
    fn indicate(&mut self, mut indication: IndicationOf<L1>) {
        self.1.rise(0, &mut indication);
        self.0.indicate(indication);
    }

    fn request(&mut self, request: RequestOf<L1>) {
        self.0.request(Either::Left(request));
    }
}

impl<L1, L2, O> Outlet<L2> for FromRight<'_, O, L1>
where
    L1: Protocol<Provides: Service<Request: Word, Indication: Word, Name = Handle>>,
    L2: Protocol<Provides = L1::Provides>,
    O: Outlet<JoinedLowers<L1, L2>>,
{
    fn indicate(&mut self, mut indication: IndicationOf<L2>) {
        self.1.rise(1, &mut indication);
        self.0.indicate(indication);
    }

    fn request(&mut self, request: RequestOf<L2>) {
        self.0.request(Either::Right(request));
    }
}
