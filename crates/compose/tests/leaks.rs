//! Words cross, so each may come for a name that has ended, and a stack may be dropped while words
//! wait in it: the octets that they carry are given back, whatever stands between.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use stackwright_compose::filter::{Counter, Filtered, Tap};
use stackwright_compose::graph::modules::{Delay, Recorder};
use stackwright_compose::graph::{Builder, Graph, Inserted};
use stackwright_compose::{Beside, JoinedLowers, Over, Split, fork, join};
use stackwright_contract::services::{
    Batch, Datagrams, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright_contract::words::InLane;
use stackwright_contract::{
    Context, Duration, Either, Facts, Handle, IndicationOf, IndicationTo, Outlet, Protocol,
    RequestOf, RequestTo,
};
use stackwright_toys::{Dropper, Tally, Xor};
use stackwright_wire::{BufferTree, Message};

/// Counts the blocks that a thread holds, and those that it has asked for.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MADE: Cell<usize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(blocks: isize) {
    // A thread that ends has no count any more.
    let _ = HELD.try_with(|held| held.set(held.get() + blocks));
}

// SAFETY: every call goes unchanged to the system's allocator, which keeps the promises; counting
// touches no other memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1);
        let _ = MADE.try_with(|made| made.set(made.get() + 1));
        // SAFETY: the caller's promises are the system allocator's conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-1);
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

type M = BufferTree;
type D = Datagrams<M>;

/// Names that were never given, or that have ended.
const NAMES: u32 = 100;

fn several() -> Batch<M> {
    Batch::new(M::with_headroom(64, &[7; 2500]), 1000)
}

fn send(index: u32) -> DatagramsRequest<M> {
    let association = Handle { index, generation: 3 };
    DatagramsRequest::Send {
        association,
        batch: several(),
        properties: MessageProperties::default(),
    }
}

fn delivered(index: u32) -> DatagramsIndication<M> {
    let association = Handle { index, generation: 3 };
    DatagramsIndication::Delivered {
        association,
        batch: several(),
        properties: MessageProperties::default(),
    }
}

/// Drops whatever it is told.
struct Deaf;

impl<P: Protocol> Outlet<P> for Deaf {
    fn indicate(&mut self, _: IndicationOf<P>) {}
    fn request(&mut self, _: RequestOf<P>) {}
}

/// Drops every second word, and passes the others on.
#[derive(Default)]
struct Careless(u32);

impl Careless {
    fn passes(&mut self) -> bool {
        self.0 += 1;
        self.0.is_multiple_of(2)
    }
}

impl Protocol for Careless {
    const FACTS: Facts = Facts::named("careless");
    type Provides = D;
    type Uses = D;

    fn handle_request(&mut self, _: &Context, word: RequestTo<Self>, out: &mut impl Outlet<Self>) {
        if self.passes() {
            out.request(word);
        }
    }

    fn handle_indication(
        &mut self,
        _: &Context,
        word: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        if self.passes() {
            out.indicate(word);
        }
    }
}

/// Answers every word with a word.
struct Talkative;

impl Protocol for Talkative {
    const FACTS: Facts = Facts::named("talkative");
    type Provides = D;
    type Uses = D;

    fn handle_request(&mut self, _: &Context, _: RequestTo<Self>, out: &mut impl Outlet<Self>) {
        out.indicate(delivered(0));
    }

    fn handle_indication(
        &mut self,
        _: &Context,
        _: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        out.request(send(0));
    }
}

/// Asserts that as many blocks are held after `work`, and after what it returns is dropped, as
/// before.
fn leaks_nothing<R>(what: &str, work: impl FnOnce(&Context) -> R) {
    let cx = Context::new(1);
    let before = HELD.get();
    drop(work(&cx));
    assert_eq!(HELD.get() - before, 0, "blocks held after words through {what}");
}

/// Words for names that have ended, both ways, through a stack whose words `down` and `up` make of
/// plain ones.
fn crosses<P: Protocol>(
    what: &str,
    stack: impl FnOnce() -> P,
    down: impl Fn(DatagramsRequest<M>, u32) -> RequestTo<P>,
    up: impl Fn(DatagramsIndication<M>, u32) -> IndicationTo<P>,
) {
    leaks_nothing(what, |cx| {
        let mut stack = stack();
        for index in 0..NAMES {
            stack.handle_request(cx, down(send(index), index), &mut Deaf);
            stack.handle_indication(cx, up(delivered(index), index), &mut Deaf);
        }
        stack
    });
}

fn either<W>(word: W, index: u32) -> Either<W, W> {
    if index.is_multiple_of(2) { Either::Left(word) } else { Either::Right(word) }
}

fn plain<W>(word: W, _: u32) -> W {
    word
}

fn careless() -> Careless {
    Careless::default()
}

#[test]
fn stacks_leak_nothing() {
    crosses("a layer", careless, plain, plain);
    crosses("over", || Over::new(careless(), Over::new(careless(), careless())), plain, plain);
    crosses("beside", || Beside::new(careless(), careless()), either, either);
    crosses("split", Split::<D>::new, either, plain);
    crosses("fork", || fork(careless(), careless(), careless()), either, plain);
    crosses("joined", || JoinedLowers::new(careless(), careless()), plain, either);
    crosses("join", || join(careless(), careless(), careless()), plain, either);
}

fn in_lane<W>(word: W, index: u32) -> InLane<W> {
    InLane { lane: index as usize % 2, word }
}

fn only_lane<W>(word: W, _: u32) -> InLane<W> {
    InLane { lane: 0, word }
}

#[test]
fn graphs_leak_nothing() {
    let chain = || -> Graph<M, D, D> {
        let builder = Builder::new().top("a").protocol("a", careless()).over("b");
        builder.protocol("b", careless()).build().expect("two layers of one kind fit")
    };
    crosses("nodes", chain, plain, only_lane);
    crosses(
        "modules",
        || {
            let mut graph = chain();
            graph
                .push("a", "b", "counter", Inserted(Counter::default()))
                .expect("a module fits anywhere");
            graph
                .push("counter", "b", "tap", Inserted(Tap::new(|_| {})))
                .expect("a module fits anywhere");
            let recorder = Recorder::new("here", "data", 0, drop);
            graph.push("tap", "b", "recorder", recorder).expect("a module fits anywhere");
            graph
        },
        plain,
        only_lane,
    );
    let fork = || -> Graph<M, D, stackwright_contract::Both<D, D>> {
        let builder = Builder::new().top("a").top("b").protocol("a", careless()).over("c");
        let builder = builder.protocol("b", careless()).over("c").protocol("c", careless());
        builder.build().expect("two uppers of one kind fit")
    };
    crosses("a fork node", fork, either, only_lane);
    let join = || -> Graph<M, D, D> {
        let builder = Builder::new().top("a").protocol("a", careless()).over_joined(&["b", "c"]);
        let builder = builder.protocol("b", careless()).protocol("c", careless());
        builder.build().expect("two lowers of one kind fit")
    };
    crosses("a join node", join, plain, in_lane);
}

#[test]
fn words_that_wait_in_a_stack_are_dropped_with_it() {
    crosses(
        "a module that holds them",
        || {
            let mut graph: Graph<M, D, D> = Builder::new()
                .top("a")
                .protocol("a", careless())
                .over("b")
                .protocol("b", careless())
                .build()
                .expect("two layers of one kind fit");
            graph
                .push("a", "b", "delay", Delay::new(Duration::from_secs(1)))
                .expect("it fits anywhere");
            graph
        },
        plain,
        only_lane,
    );
    leaks_nothing("a joint that never settles", |cx| {
        let mut stack = Over::new(Talkative, Talkative);
        let words = AssertUnwindSafe(|| stack.handle_indication(cx, delivered(0), &mut Deaf));
        drop(catch_unwind(words));
        stack
    });
}

/// Four filters, one of each kind: it looks, alters, decides, answers.
fn filtered() -> impl Protocol<Provides = D, Uses = D> {
    fn layer<F>(filter: F) -> Filtered<F, D> {
        Filtered::new(filter)
    }
    let lower = Over::new(layer(Dropper(50)), layer(Tally::default()));
    Over::new(layer(Tap::new(|_| {})), Over::new(layer(Xor(7)), lower))
}

fn woven_filters() -> Graph<M, D, D> {
    fn layer<F>(filter: F) -> Filtered<F, D> {
        Filtered::new(filter)
    }
    let builder = Builder::new().top("tap").protocol("tap", layer(Tap::new(|_| {}))).over("tally");
    let builder = builder.protocol("tally", layer(Tally::default()));
    let mut graph: Graph<M, D, D> = builder.build().expect("filters fit anywhere");
    graph.push("tap", "tally", "dropper", Inserted(Dropper(50))).expect("nothing above needs more");
    graph.push("tap", "dropper", "xor", Inserted(Xor(7))).expect("it drops nothing");
    graph
}

#[test]
fn filters_leak_nothing() {
    crosses("four filters", filtered, plain, plain);
    crosses("four filters in a graph", woven_filters, plain, only_lane);
}

/// Crossings of single messages, of which half are dropped: returns how many blocks they asked for.
fn blocks_of_crossings<P: Protocol>(
    mut stack: P,
    down: impl Fn(DatagramsRequest<M>) -> RequestTo<P>,
    up: impl Fn(DatagramsIndication<M>) -> IndicationTo<P>,
) -> usize {
    let (cx, association) = (Context::new(1), Handle { index: 0, generation: 0 });
    let properties = MessageProperties::default();
    let mut crosses = |rounds: usize| {
        // The messages are made before blocks are counted.
        let messages: Vec<_> = (0..2 * rounds).map(|_| M::with_headroom(64, &[7; 100])).collect();
        let before = MADE.get();
        for (nth, message) in messages.into_iter().enumerate() {
            let batch = message.into();
            if nth.is_multiple_of(2) {
                let send = DatagramsRequest::Send { association, batch, properties };
                stack.handle_request(&cx, down(send), &mut Deaf);
            } else {
                let delivered = DatagramsIndication::Delivered { association, batch, properties };
                stack.handle_indication(&cx, up(delivered), &mut Deaf);
            }
        }
        MADE.get() - before
    };
    // The tables and the queues of the joints come with the first words.
    crosses(50);
    let made = crosses(500);
    assert!(cx.dropped_count() > 400, "refunds crossed, too");
    made
}

#[test]
fn a_crossing_through_four_filters_allocates_nothing() {
    assert_eq!(blocks_of_crossings(filtered(), |word| word, |word| word), 0);
    assert_eq!(blocks_of_crossings(woven_filters(), |word| word, |word| only_lane(word, 0)), 0);
}
