//! Nothing is allocated in the steady state: whatever an event manager needs, it uses again.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use stackwright_base::events::{DeltaList, Events, Simple, TimingWheel};
use stackwright_contract::Instant;

struct Counting;

thread_local! {
    // Each thread counts its own: the one that started the test may write its books while the test runs.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes unchanged to the system's allocator, which keeps the promises; counting touches no memory of
// anybody else.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are the system allocator's conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

const MILLISECOND: u64 = 1_000_000;

/// Five hundred associations, each of which has a timer. A quarter of a million times one of them is restarted, or all that
/// are due, and time moves on.
fn restarts<E: Events<usize>>(what: &str) {
    let mut random = fastrand::Rng::with_seed(1);
    let (mut events, mut now) = (E::default(), 0);
    let mut restarted = |now: u64, events: &mut E, association| {
        let bound = if random.u8(..) < 200 { 400 * MILLISECOND } else { 7_200_000 * MILLISECOND };
        events.schedule(Instant::from_nanoseconds(now + random.u64(..bound)), association)
    };
    let mut tickets: Vec<_> = (0..500).map(|association| restarted(0, &mut events, association)).collect();
    let mut turn = |turns: usize| {
        for turn in 0..turns {
            now += MILLISECOND / 4;
            let association = turn * 7919 % tickets.len();
            events.cancel(tickets[association]).expect("it runs");
            tickets[association] = restarted(now, &mut events, association);
            while let Some(association) = events.expire(Instant::from_nanoseconds(now)) {
                tickets[association] = restarted(now, &mut events, association);
            }
        }
    };
    turn(125_000);
    let before = ALLOCATIONS.get();
    turn(125_000);
    assert_eq!(ALLOCATIONS.get() - before, 0, "{what}");
}

#[test]
fn nothing_is_allocated() {
    restarts::<Simple<usize>>("Simple");
    restarts::<DeltaList<usize>>("DeltaList");
    restarts::<TimingWheel<usize>>("TimingWheel");
}
