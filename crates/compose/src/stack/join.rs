//! One upper on several lowers of one service.
//!
//! The participant of an `Open` or a `Listen` carries the number of the lower that is to be asked, counted from the left;
//! without a number it is the first. What the lowers tell gets their number.

use core::marker::PhantomData;

use stackwright_contract::ask::{Ask, Peer, Question};
use stackwright_contract::{
    Batches, Both, Context, Either, Facts, Handle, IndicationOf, IndicationTo, Instant, Life, Mirror, Outlet,
    Protocol, RequestOf, RequestTo, Service, Word, earliest, hand_down, hand_up, rules,
};

use super::Over;
use super::beside::{BelowLeft, BelowRight};

/// `U` on `L1` and `L2`, which provide the same service.
pub type Join<U, L1, L2> = Over<U, Joined<L1, L2>>;

/// Puts an upper on two lowers of one service. Does not compile where the rule book refuses.
pub const fn join<U, L1, L2>(upper: U, one: L1, other: L2) -> Join<U, L1, L2>
where
    L1: Protocol<Provides: Service<Request: Word, Indication: Word, Name = Handle>>,
    L2: Protocol<Provides = L1::Provides>,
    U: Protocol<Uses = L1::Provides>,
{
    Over::new(upper, Joined::new(one, other))
}

/// Which lower is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// This one.
    Lower(usize),
    /// There is none with that number.
    Nowhere,
    /// The name has ended.
    Ended,
}

/// Knows through which lower each name goes. The names themselves pass unchanged: they all come from one table.
#[derive(Debug)]
pub(crate) struct Ways {
    names: Mirror<usize>,
}

impl Ways {
    pub(crate) const fn new() -> Self {
        Ways { names: Mirror::new() }
    }

    /// Where `request` goes, of so many lowers.
    pub(crate) fn sink(&mut self, lowers: usize, request: &mut impl Word) -> Way {
        let life = request.life();
        let listener = request.listener_mut().map(|listener| *listener);
        let Some(name) = request.name_mut().map(|name| *name) else { return Way::Lower(0) };
        if life != Life::Begins {
            return self.names.get(name).map_or(Way::Ended, |lower| Way::Lower(*lower));
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
            return Way::Nowhere;
        }
        self.names.insert(name, lower);
        Way::Lower(lower)
    }

    /// Returns through which lower a name goes.
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
pub struct Joined<L1, L2> {
    /// The one with the number 0.
    pub left: L1,
    /// The one with the number 1.
    pub right: L2,
    ways: Ways,
}

impl<L1, L2> Joined<L1, L2> {
    /// Puts two lowers of one service together.
    pub const fn new(left: L1, right: L2) -> Self {
        Joined { left, right, ways: Ways::new() }
    }
}

pub(crate) const NAME: &str = "join";
/// Why a word is dropped whose participant names a lower that is not there.
pub(crate) const NOWHERE: &str = "a word for a lower that is not there";

/// What a lower says passes by the table of ways.
struct FromLeft<'a, O, R>(&'a mut O, &'a mut Ways, PhantomData<R>);
struct FromRight<'a, O, L>(&'a mut O, &'a mut Ways, PhantomData<L>);

impl<L1, L2> Protocol for Joined<L1, L2>
where
    L1: Protocol<Provides: Service<Request: Word, Indication: Word, Name = Handle>>,
    L2: Protocol<Provides = L1::Provides>,
{
    const FACTS: Facts = rules::joined(&L1::FACTS, &L2::FACTS);
    const BATCHES: Batches = Batches::beside(L1::BATCHES, L2::BATCHES);
    type Provides = L1::Provides;
    type Uses = Both<L1::Uses, L2::Uses>;

    fn handle_request(&mut self, cx: &Context, mut request: RequestTo<Self>, out: &mut impl Outlet<Self>) {
        let Joined { left, right, ways } = self;
        let several = Self::BATCHES.from_above;
        match ways.sink(2, &mut request) {
            Way::Lower(0) => {
                hand_down(left, several, cx, request, &mut FromLeft(out, ways, PhantomData::<L2>));
            }
            Way::Lower(_) => {
                hand_down(right, several, cx, request, &mut FromRight(out, ways, PhantomData::<L1>));
            }
            Way::Nowhere => match request.name_mut().and_then(|name| L1::Provides::unreachable(*name)) {
                Some(last) => out.indicate(last),
                None => cx.dropped(NAME, NOWHERE),
            },
            Way::Ended => cx.dropped(NAME, super::fork::ENDED),
        }
    }

    fn handle_indication(&mut self, cx: &Context, word: IndicationTo<Self>, out: &mut impl Outlet<Self>) {
        let Joined { left, right, ways } = self;
        let several = Self::BATCHES.from_below;
        match word {
            Either::Left(word) => {
                hand_up(left, several, cx, word, &mut FromLeft(out, ways, PhantomData::<L2>));
            }
            Either::Right(word) => {
                hand_up(right, several, cx, word, &mut FromRight(out, ways, PhantomData::<L1>));
            }
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        let Joined { left, right, ways } = self;
        left.handle_timeout(cx, &mut FromLeft(out, ways, PhantomData::<L2>));
        right.handle_timeout(cx, &mut FromRight(out, ways, PhantomData::<L1>));
    }

    fn next_deadline(&self) -> Option<Instant> {
        earliest(self.left.next_deadline(), self.right.next_deadline())
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        let Joined { left, right, ways } = self;
        left.flush(cx, &mut FromLeft(out, ways, PhantomData::<L2>));
        right.flush(cx, &mut FromRight(out, ways, PhantomData::<L1>));
    }

    fn wants_flush(&self) -> bool {
        self.left.wants_flush() || self.right.wants_flush()
    }

    fn ask(&self, about: Handle, question: &mut Question<'_>, below: &dyn Ask<Self::Uses>) {
        let Some(lower) = self.ways.lower(about) else { return };
        match lower {
            0 => self.left.ask(about, question, &BelowLeft(below)),
            _ => self.right.ask(about, question, &BelowRight(below)),
        }
        Ways::answered(lower, question);
    }
}

impl<L1, L2, O> Outlet<L1> for FromLeft<'_, O, L2>
where
    L1: Protocol<Provides: Service<Request: Word, Indication: Word, Name = Handle>>,
    L2: Protocol<Provides = L1::Provides>,
    O: Outlet<Joined<L1, L2>>,
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
    O: Outlet<Joined<L1, L2>>,
{
    fn indicate(&mut self, mut indication: IndicationOf<L2>) {
        self.1.rise(1, &mut indication);
        self.0.indicate(indication);
    }

    fn request(&mut self, request: RequestOf<L2>) {
        self.0.request(Either::Right(request));
    }
}
