//! Words cross, so each may come for a name that has ended, and a stack may be dropped while words wait in it: the octets
//! that they carry are given back, whatever stands between.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use stackwright_compose::filter::{Counter, Tap};
use stackwright_compose::graph::modules::{Delay, Recorder};
use stackwright_compose::graph::{Builder, Graph, Inserted};
use stackwright_compose::{Beside, Joined, Over, Split, fork, join};
use stackwright_contract::services::{
    Batch, Datagrams, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright_contract::words::InLane;
use stackwright_contract::{
    Context, Duration, Either, Facts, Handle, IndicationOf, IndicationTo, Outlet, Protocol, RequestOf,
    RequestTo,
};
use stackwright_wire::{BufferTree, Message};

/// Counts the blocks that a thread holds.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(blocks: isize) {
    // A thread that ends has no count any more.
    let _ = HELD.try_with(|held| held.set(held.get() + blocks));
}

// SAFETY: every call goes unchanged to the system's allocator, which keeps the promises; counting touches no other memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1);
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

/// Names that nobody gave, or that have ended.
const NAMES: u32 = 100;

fn several() -> Batch<M> {
    Batch::new(M::with_headroom(64, &[7; 2500]), 1000)
}

fn send(index: u32) -> DatagramsRequest<M> {
    let association = Handle { index, generation: 3 };
    DatagramsRequest::Send { association, batch: several(), properties: MessageProperties::default() }
}

fn delivered(index: u32) -> DatagramsIndication<M> {
    let association = Handle { index, generation: 3 };
    DatagramsIndication::Delivered { association, batch: several(), properties: MessageProperties::default() }
}

/// Drops whatever it is told.
struct Deaf;

impl<P: Protocol> Outlet<P> for Deaf {
    fn indicate(&mut self, _: IndicationOf<P>) {}
    fn request(&mut self, _: RequestOf<P>) {}
}

/// Drops every second word, and lets the others through.
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

    fn handle_indication(&mut self, _: &Context, word: IndicationTo<Self>, out: &mut impl Outlet<Self>) {
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

    fn handle_indication(&mut self, _: &Context, _: IndicationTo<Self>, out: &mut impl Outlet<Self>) {
        out.request(send(0));
    }
}

/// Asserts that as many blocks are held after `work`, and after what it returns is dropped, as before.
fn leaks_nothing<R>(what: &str, work: impl FnOnce(&Context) -> R) {
    let cx = Context::new(1);
    let before = HELD.get();
    drop(work(&cx));
    assert_eq!(HELD.get() - before, 0, "blocks held after words through {what}");
}

/// Words for names that have ended, both ways, through a stack whose words `down` and `up` make of plain ones.
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
    crosses("joined", || Joined::new(careless(), careless()), plain, either);
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
            graph.push("a", "b", "counter", Inserted(Counter::default())).expect("a module fits anywhere");
            graph.push("counter", "b", "tap", Inserted(Tap::new(|_| {}))).expect("a module fits anywhere");
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
            graph.push("a", "b", "delay", Delay::new(Duration::from_secs(1))).expect("it fits anywhere");
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
