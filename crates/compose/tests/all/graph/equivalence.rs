//! Whatever protocols say, and whenever: a graph leads it in the same order as the static stack of
//! the same parts.

use std::any::TypeId;

use stackwright_compose::graph::{Builder, Graph};
use stackwright_compose::{Beside, Over};
use stackwright_contract::words::{InLane, Outside};
use stackwright_contract::{
    Both, Context, Facts, IndicationOf, Instant, Outlet, Protocol, RequestOf,
};
use stackwright_wire::SingleBuffer;

use crate::graph::chat::{Chat, Crossing, Lanes, Log, Said, Talk, Wire};

type Woven = Graph<SingleBuffer, Wire, Talk>;

/// The outer ends of a stack of either kind.
struct Ends(Log);

impl Ends {
    fn note(&self, way: &'static str, lane: usize, said: Said) {
        self.0.borrow_mut().push(Crossing(u32::MAX, way, lane, said));
    }
}

/// Static stacks and graphs, driven alike.
trait Driven: Protocol<Provides = Talk> {
    fn indication(lane: usize, said: Said) -> stackwright_contract::IndicationTo<Self>;
    fn requested(request: RequestOf<Self>) -> (usize, Said);
}

impl<P: Protocol<Provides = Talk, Uses: LanesOrOutside>> Driven for P {
    fn indication(lane: usize, said: Said) -> stackwright_contract::IndicationTo<Self> {
        P::Uses::arriving(lane, said)
    }

    fn requested(request: RequestOf<Self>) -> (usize, Said) {
        P::Uses::departing(request)
    }
}

trait LanesOrOutside: stackwright_contract::Service {
    fn arriving(lane: usize, said: Said) -> Self::Indication;
    fn departing(request: Self::Request) -> (usize, Said);
}

macro_rules! by_lanes {
    ($($service:ty),*) => { $(
        impl LanesOrOutside for $service {
            fn arriving(lane: usize, said: Said) -> Self::Indication {
                <$service as Lanes>::indication(lane, said)
            }
            fn departing(request: Self::Request) -> (usize, Said) {
                <$service as Lanes>::requested(request)
            }
        }
    )* };
}

type Two = Both<Wire, Wire>;
by_lanes!(Wire, Two, Both<Wire, Two>, Both<Two, Wire>, Both<Wire, Both<Two, Wire>>);

impl LanesOrOutside for Outside<Wire> {
    fn arriving(lane: usize, word: Said) -> InLane<Said> {
        InLane { lane, word }
    }
    fn departing(request: InLane<Said>) -> (usize, Said) {
        (request.lane, request.word)
    }
}

impl<P: Driven> Outlet<P> for Ends {
    fn indicate(&mut self, said: IndicationOf<P>) {
        self.note("out above", 0, said);
    }
    fn request(&mut self, request: RequestOf<P>) {
        let (lane, said) = P::requested(request);
        self.note("out below", lane, said);
    }
}

/// Words from above and below and timeouts, at random; what crossed which boundary.
fn run<P: Driven>(seed: u64, lanes: usize, stack: impl FnOnce(&Log) -> P) -> Vec<Crossing> {
    let log = Log::default();
    let mut stack = stack(&log);
    let mut ends = Ends(log.clone());
    let cx = Context::new(seed);
    let mut random = fastrand::Rng::with_seed(!seed);
    for turn in 0..12 {
        cx.set_now(Instant::from_nanoseconds(turn));
        let said = (random.u32(..), random.u8(1..5));
        match random.u8(..6) {
            4.. if stack.wants_flush() => stack.flush(&cx, &mut ends),
            0 => stack.handle_request(&cx, said, &mut ends),
            1 => {
                stack.handle_indication(&cx, P::indication(random.usize(..lanes), said), &mut ends)
            }
            _ if stack.next_deadline().is_some() => stack.handle_timeout(&cx, &mut ends),
            _ => {}
        }
    }
    drop((stack, ends));
    log.take()
}

fn same<P: Driven>(
    lanes: usize,
    stack: impl Fn(u64, &Log) -> P,
    builder: impl Fn(u64, &Log) -> Builder<SingleBuffer, Wire>,
) {
    let mut crossings = 0;
    for seed in 0..1000 {
        let expected = run(seed, lanes, |log| stack(seed, log));
        let woven = run(seed, lanes, |log| {
            let graph: Woven = builder(seed, log).top("1").build().expect("it fits");
            assert_eq!(graph.lanes(), lanes);
            graph
        });
        assert_eq!(expected, woven, "seed {seed}");
        crossings += expected.len();
    }
    assert!(crossings > 50_000, "much was said: {crossings} words");
}

#[test]
fn a_chain() {
    same(
        1,
        |seed, log| {
            let below = Over::new(Chat::<Talk>::new(3, seed, log), Chat::<Wire>::new(4, seed, log));
            Over::new(
                Chat::<Talk>::new(1, seed, log),
                Over::new(Chat::<Talk>::new(2, seed, log), below),
            )
        },
        |seed, log| {
            // In no order: the names alone say who stands on whom.
            Builder::new()
                .protocol("4", Chat::<Wire>::new(4, seed, log))
                .protocol("2", Chat::<Talk>::new(2, seed, log))
                .over("3")
                .protocol("1", Chat::<Talk>::new(1, seed, log))
                .over("2")
                .protocol("3", Chat::<Talk>::new(3, seed, log))
                .over("4")
        },
    );
}

#[test]
fn two_lowers_of_which_one_is_deep() {
    same(
        2,
        |seed, log| {
            let left = Over::new(Chat::<Talk>::new(2, seed, log), Chat::<Wire>::new(3, seed, log));
            let below = Beside::new(left, Chat::<Wire>::new(4, seed, log));
            Over::new(Chat::<Both<Talk, Talk>>::new(1, seed, log), below)
        },
        |seed, log| {
            Builder::new()
                .protocol("1", Chat::<Both<Talk, Talk>>::new(1, seed, log))
                .over("2")
                .over("4")
                .protocol("4", Chat::<Wire>::new(4, seed, log))
                .protocol("3", Chat::<Wire>::new(3, seed, log))
                .protocol("2", Chat::<Talk>::new(2, seed, log))
                .over("3")
        },
    );
}

#[test]
fn a_tree_of_three_levels() {
    type Three = Both<Talk, Both<Talk, Talk>>;
    same(
        4,
        |seed, log| {
            let wire = |name| Chat::<Wire>::new(name, seed, log);
            let middle = Over::new(
                Chat::<Both<Talk, Talk>>::new(3, seed, log),
                Beside::new(wire(4), wire(5)),
            );
            let below = Beside::new(wire(2), Beside::new(middle, wire(6)));
            Over::new(Chat::<Three>::new(1, seed, log), below)
        },
        |seed, log| {
            let wire = |name| Chat::<Wire>::new(name, seed, log);
            Builder::new()
                .protocol("1", Chat::<Three>::new(1, seed, log))
                .over("2")
                .over("3")
                .over("6")
                .protocol("2", wire(2))
                .protocol("3", Chat::<Both<Talk, Talk>>::new(3, seed, log))
                .over("4")
                .over("5")
                .protocol("4", wire(4))
                .protocol("5", wire(5))
                .protocol("6", wire(6))
        },
    );
}

/// Asks again whenever it is told something, as often as the word says, or tells again whenever it
/// is asked.
struct Endless<D>(std::marker::PhantomData<D>);

impl<D: Lanes + 'static> Protocol for Endless<D> {
    const FACTS: Facts = Facts::named("endless");
    type Provides = Talk;
    type Uses = D;

    fn handle_request(&mut self, _: &Context, said: Said, out: &mut impl Outlet<Self>) {
        if TypeId::of::<D>() == TypeId::of::<Wire>() {
            out.indicate(said);
        } else {
            out.request(D::request(0, said));
        }
    }

    fn handle_indication(&mut self, _: &Context, word: D::Indication, out: &mut impl Outlet<Self>) {
        let (what, left) = D::indicated(word).1;
        if what > 0 {
            out.request(D::request(0, (what - 1, left)));
        }
    }
}

fn endless<D>() -> Endless<D> {
    Endless(std::marker::PhantomData)
}

/// Lets them answer each other that often; `Err`: the sentence with which they are stopped.
fn dialogue<P: Driven>(mut stack: P, answers: u32) -> Result<(), String> {
    let word = (answers, 0);
    let mut ends = Ends(Log::default());
    let run =
        std::panic::AssertUnwindSafe(|| stack.handle_request(&Context::new(1), word, &mut ends));
    std::panic::catch_unwind(run).map_err(|panic| *panic.downcast().expect("a sentence"))
}

/// Room for one message comes back, and the next of a backlog is handed over, one after another.
#[test]
fn a_long_dialogue_ends_and_one_without_end_is_stopped_in_the_same_words() {
    let stack = || Over::new(endless::<Talk>(), endless::<Wire>());
    let graph = || -> Woven {
        let top = Builder::new().protocol("1", endless::<Talk>()).over("2");
        top.protocol("2", endless::<Wire>()).top("1").build().expect("it fits")
    };
    assert_eq!([dialogue(stack(), 100_000), dialogue(graph(), 100_000)], [Ok(()), Ok(())]);
    let end = Err("`endless` and `endless` answer each other without end".to_owned());
    assert_eq!([dialogue(stack(), u32::MAX), dialogue(graph(), u32::MAX)], [end.clone(), end]);
}

/// How many associations a crowd has: several times more words than any bound on rounds.
const CROWD: u32 = 51_200;

/// Answers one word with one word, as often as the word allows; asked for nothing, it asks for a
/// whole crowd in one handler.
struct Crowded<D> {
    answered: Log,
    below: std::marker::PhantomData<D>,
}

impl<D: Lanes + 'static> Protocol for Crowded<D> {
    const FACTS: Facts = Facts::named("crowded");
    type Provides = Talk;
    type Uses = D;

    fn handle_request(&mut self, _: &Context, (what, left): Said, out: &mut impl Outlet<Self>) {
        if TypeId::of::<D>() == TypeId::of::<Wire>() {
            out.indicate((what, left));
        } else {
            (0..CROWD).for_each(|association| out.request(D::request(0, (association, left))));
        }
    }

    fn handle_indication(&mut self, _: &Context, word: D::Indication, out: &mut impl Outlet<Self>) {
        let (lane, (what, left)) = D::indicated(word);
        self.answered.borrow_mut().push(Crossing(0, "answered", lane, (what, left)));
        if left > 0 {
            out.request(D::request(0, (what, left - 1)));
        }
    }
}

fn crowded<D>(answered: &Log) -> Crowded<D> {
    Crowded { answered: answered.clone(), below: std::marker::PhantomData }
}

/// A crowd that is answered in one handler is one round, whatever its size; three answers each are
/// three rounds.
#[test]
fn a_crowd_of_answers_is_no_dialogue_without_end() {
    const ANSWERS: u8 = 3;
    let heard = |ask: &dyn Fn(&Log)| {
        let log = Log::default();
        ask(&log);
        log.take()
    };
    let stack = heard(&|log| {
        let mut stack = Over::new(crowded::<Talk>(log), crowded::<Wire>(log));
        stack.handle_request(&Context::new(1), (0, ANSWERS - 1), &mut Ends(log.clone()));
    });
    let graph = heard(&|log| {
        let builder = Builder::new()
            .protocol("1", crowded::<Talk>(log))
            .over("2")
            .protocol("2", crowded::<Wire>(log));
        let mut graph: Woven = builder.top("1").build().expect("it fits");
        graph.handle_request(&Context::new(1), (0, ANSWERS - 1), &mut Ends(log.clone()));
    });
    // Round by round, each in the order in which it was asked.
    let rounds = (0..ANSWERS).rev().flat_map(|left| (0..CROWD).map(move |what| (what, left)));
    assert!(stack.iter().map(|crossing| crossing.3).eq(rounds.clone()));
    assert!(graph.iter().map(|crossing| crossing.3).eq(rounds));
}
