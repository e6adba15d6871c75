//! Frames need no allocation once the memory goes around.
#![allow(unsafe_code, reason = "the allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use stackwright_contract::services::{
    Credit, FramesIndication, FramesRequest, OctetsIndication, OctetsRequest,
};
use stackwright_contract::{Context, Duration, Outlet, Protocol};
use stackwright_kiss::{Config, Kiss};
use stackwright_wire::{BufferTree, Message, Pool};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes unchanged to the system's allocator, which keeps the promises.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises are the system allocator's conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

type M = BufferTree;

/// A line and a layer above that give memory back as they should.
struct Neighbours {
    pool: Arc<Pool<M>>,
    frames: usize,
    line: usize,
    /// What is held above, as a link layer holds frames.
    held: Vec<M>,
}

impl Outlet<Kiss<M>> for Neighbours {
    fn indicate(&mut self, word: FramesIndication<M>) {
        if let FramesIndication::Delivered { batch, .. } = word {
            self.frames += 1;
            if self.held.len() == self.held.capacity() {
                self.held.clear();
            }
            self.held.push(batch.into_single());
        }
    }

    fn request(&mut self, word: OctetsRequest<M>) {
        if let OctetsRequest::Send { message } = word {
            self.line += message.len();
            message.reclaim(&self.pool);
        }
    }
}

#[test]
fn a_frame_allocates_nothing_in_the_steady_state() {
    let cx = Context::new(1);
    let pool = Arc::new(Pool::new(4096, 4));
    let mut kiss = Kiss::<M>::sharing(Config::default(), Arc::clone(&pool));
    let held = Vec::with_capacity(7);
    let mut out = Neighbours { pool: Arc::clone(&pool), frames: 0, line: 0, held };
    kiss.handle_indication(&cx, OctetsIndication::State { up: true }, &mut out);
    let credit = Credit { octets: usize::MAX / 2, messages: usize::MAX / 2 };
    kiss.handle_request(&cx, FramesRequest::Credit { credit }, &mut out);
    kiss.handle_indication(&cx, OctetsIndication::Credit { credit: usize::MAX / 2 }, &mut out);
    let mut random = fastrand::Rng::with_seed(5);
    let mut line = [0xC0; 500];
    let mut round = |kiss: &mut Kiss<M>, out: &mut Neighbours| {
        // Two frames of the line, the second in two pieces.
        let length = random.usize(20..240);
        line[1] = 0;
        line[2..2 + length].fill(random.u8(1..100));
        line[2 + length] = 0xC0;
        let end = 3 + length;
        for piece in [&line[..end], &line[..end / 2], &line[end / 2..end]] {
            let message = pool.copy(piece);
            kiss.handle_indication(&cx, OctetsIndication::Delivered { message }, out);
        }
        for _ in 0..2 {
            let batch = pool.copy(&line[2..random.usize(3..2 + length)]).into();
            let request = FramesRequest::Send { port: 0, batch, mark: Some(1) };
            kiss.handle_request(&cx, request, out);
        }
        kiss.flush(&cx, out);
        cx.set_now(cx.now() + Duration::from_secs(60));
        kiss.handle_timeout(&cx, out);
    };
    (0..2000).for_each(|_| round(&mut kiss, &mut out));
    let (before, frames, sent) = (ALLOCATIONS.get(), out.frames, out.line);
    (0..1000).for_each(|_| round(&mut kiss, &mut out));
    assert_eq!((out.frames - frames, out.line > sent), (2000, true));
    let allocations = ALLOCATIONS.get() - before;
    assert_eq!(allocations, 0, "for 2000 frames in and 2000 out");
}
