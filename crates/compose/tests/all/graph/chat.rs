//! Protocols that say something at random: at once, twice, on timeouts and flushes, upward and
//! downward. What they say depends only on their seed and on what they heard, in which order; and
//! they note every word.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;

use stackwright_contract::words::Speaks;
use stackwright_contract::{
    Both, Context, Either, Facts, IndicationTo, Instant, Outlet, Protocol, RequestTo, Service,
};
use stackwright_wire::Message;

/// A word: what is said, and how many further words it may give rise to.
pub(crate) type Said = (u32, u8);

/// Spoken between them.
pub(crate) struct Talk;

/// Spoken below them.
pub(crate) struct Wire;

impl Service for Talk {
    const NAME: &'static str = "Talk";
    type Request = Said;
    type Indication = Said;
    type Name = ();
}

impl Service for Wire {
    const NAME: &'static str = "Wire";
    type Request = Said;
    type Indication = Said;
    type Name = ();
}

impl<M: Message, B: Service> Speaks<M, B> for Talk {}
impl<M: Message, B: Service> Speaks<M, B> for Wire {}

/// Talks or wires side by side, counted from the left.
pub(crate) trait Lanes: Service {
    const LANES: usize;
    fn request(lane: usize, said: Said) -> Self::Request;
    fn indication(lane: usize, said: Said) -> Self::Indication;
    fn requested(request: Self::Request) -> (usize, Said);
    fn indicated(indication: Self::Indication) -> (usize, Said);
}

macro_rules! one_lane {
    ($service:ty) => {
        impl Lanes for $service {
            const LANES: usize = 1;
            fn request(_lane: usize, said: Said) -> Said {
                said
            }
            fn indication(_lane: usize, said: Said) -> Said {
                said
            }
            fn requested(said: Said) -> (usize, Said) {
                (0, said)
            }
            fn indicated(said: Said) -> (usize, Said) {
                (0, said)
            }
        }
    };
}

one_lane!(Talk);
one_lane!(Wire);

impl<L: Lanes, R: Lanes> Lanes for Both<L, R> {
    const LANES: usize = L::LANES + R::LANES;

    fn request(lane: usize, said: Said) -> Self::Request {
        match lane.checked_sub(L::LANES) {
            None => Either::Left(L::request(lane, said)),
            Some(lane) => Either::Right(R::request(lane, said)),
        }
    }

    fn indication(lane: usize, said: Said) -> Self::Indication {
        match lane.checked_sub(L::LANES) {
            None => Either::Left(L::indication(lane, said)),
            Some(lane) => Either::Right(R::indication(lane, said)),
        }
    }

    fn requested(request: Self::Request) -> (usize, Said) {
        match request {
            Either::Left(request) => L::requested(request),
            Either::Right(request) => {
                let (lane, said) = R::requested(request);
                (L::LANES + lane, said)
            }
        }
    }

    fn indicated(indication: Self::Indication) -> (usize, Said) {
        match indication {
            Either::Left(indication) => L::indicated(indication),
            Either::Right(indication) => {
                let (lane, said) = R::indicated(indication);
                (L::LANES + lane, said)
            }
        }
    }
}

/// One word that crossed a boundary: who noted it, which way it came, on which port, and what it
/// was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Crossing(
    pub(crate) u32,
    pub(crate) &'static str,
    pub(crate) usize,
    pub(crate) Said,
);

pub(crate) type Log = Rc<RefCell<Vec<Crossing>>>;

/// Speaks at random, over one or several talks, or over a wire.
pub(crate) struct Chat<D> {
    name: u32,
    random: fastrand::Rng,
    log: Log,
    due: bool,
    gathered: bool,
    below: PhantomData<D>,
}

impl<D> Chat<D> {
    pub(crate) fn new(name: u32, seed: u64, log: &Log) -> Self {
        let random = fastrand::Rng::with_seed(seed ^ u64::from(name) << 32);
        Chat { name, random, log: log.clone(), due: true, gathered: true, below: PhantomData }
    }
}

impl<D: Lanes> Chat<D> {
    fn speak(&mut self, (what, left): Said, out: &mut impl Outlet<Self>) {
        if left == 0 {
            return;
        }
        for _ in 0..self.random.u8(0..4) {
            let said = (what.wrapping_mul(31).wrapping_add(self.random.u32(..)), left - 1);
            if self.random.bool() {
                out.indicate(said);
            } else {
                out.request(D::request(self.random.usize(..D::LANES), said));
            }
        }
        self.due |= self.random.u8(..4) == 0;
        self.gathered |= self.random.u8(..4) == 0;
    }

    fn note(&self, way: &'static str, port: usize, said: Said) {
        self.log.borrow_mut().push(Crossing(self.name, way, port, said));
    }
}

impl<D: Lanes> Protocol for Chat<D> {
    const FACTS: Facts = Facts::named("chat");
    type Provides = Talk;
    type Uses = D;

    fn handle_request(&mut self, _: &Context, said: RequestTo<Self>, out: &mut impl Outlet<Self>) {
        self.note("asked", 0, said);
        self.speak(said, out);
    }

    fn handle_indication(
        &mut self,
        _: &Context,
        word: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        let (lane, said) = D::indicated(word);
        self.note("told", lane, said);
        self.speak(said, out);
    }

    fn handle_timeout(&mut self, _: &Context, out: &mut impl Outlet<Self>) {
        if std::mem::take(&mut self.due) {
            self.note("timeout", 0, (0, 0));
            self.speak((1, 4), out);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.due.then_some(Instant::START)
    }

    fn flush(&mut self, _: &Context, out: &mut impl Outlet<Self>) {
        if std::mem::take(&mut self.gathered) {
            self.note("flush", 0, (0, 0));
            self.speak((2, 4), out);
        }
    }

    fn wants_flush(&self) -> bool {
        self.gathered
    }
}
