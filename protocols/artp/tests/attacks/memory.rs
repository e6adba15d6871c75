//! Pieces without end: what is held for a peer is what has arrived of him, and no more than the configuration says.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use fastrand::Rng;
use stackwright_artp::Config;

use crate::packets::{fragment, part};
use crate::scene::{Ends, GRANTS, acquainted, config, heard, said};

/// Counts the octets that a thread holds.
struct Counting;

std::thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(octets: isize) {
    // A thread that ends has no count any more.
    let _ = HELD.try_with(|held| held.set(held.get() + octets));
}

// SAFETY: every call goes unchanged to the system's allocator, which keeps the promises; counting touches no memory of
// anybody else.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are the system allocator's conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

/// What this thread holds, in octets.
pub(crate) fn held() -> isize {
    HELD.with(Cell::get)
}

/// What a packet that arrived may hold at most: a block of a pool, and what tells where it is.
const BLOCK: isize = 2048 + 512;

/// What 20 000 packets of a peer make an end hold, per packet that it has taken.
fn hold(config: &Config, mut packet: impl FnMut(u32) -> Vec<u8>) -> isize {
    let mut ends: Ends = acquainted(config, 1);
    let mut next = ends.ends[GRANTS].association.receipts().upto() as u32;
    let before = held();
    let mut most = 0;
    for _ in 0..20_000 {
        let upto = ends.ends[GRANTS].association.receipts().upto();
        ends.inject(GRANTS, &packet(next));
        if ends.ends[GRANTS].association.receipts().upto() > upto {
            next = next.wrapping_add(1);
        }
        said(&mut ends, GRANTS);
        heard(&mut ends, GRANTS);
        most = most.max(held() - before);
    }
    most
}

#[test]
fn a_count_of_four_billion_pieces_is_not_believed() {
    let mut ends = acquainted(&config(), 1);
    let next = ends.ends[GRANTS].association.receipts().upto() as u32;
    let before = held();
    ends.inject(GRANTS, &fragment(next, 1, 0, u32::MAX, &[7; 100]));
    ends.inject(GRANTS, &fragment(next.wrapping_add(1), 1, u32::MAX - 2, u32::MAX, &[7; 100]));
    ends.inject(GRANTS, &fragment(next.wrapping_add(2), 2, 1 << 20, u32::MAX, &[7; 1000]));
    let held = held() - before;
    assert!(held < 10 * BLOCK, "{held} octets for three packets");
}

#[test]
fn datagrams_that_are_begun_and_never_made_whole_hold_four_times_the_longest_and_a_window() {
    let longest = 1 << 20;
    let config = Config { longest, ..config() };
    let mut datagram = 0;
    let most = hold(&config, |next| {
        datagram += 1;
        fragment(next, datagram, 0, 1000, &[7; 1000])
    });
    let window = config.window as usize * usize::from(config.packet);
    // And a quarter for what tells where the pieces are.
    let bound = ((4 * longest + window) * 5 / 4) as isize;
    assert!(most < bound, "{most} octets of {bound}");
}

#[test]
fn pieces_that_contradict_each_other_hold_four_times_the_longest_and_a_window() {
    let longest = 1 << 20;
    let config = Config { longest, ..config() };
    let mut random = Rng::with_seed(1);
    let most = hold(&config, |next| {
        let bits = random.u32(2..31);
        let count = random.u32(2..1 << bits);
        let body = vec![7; random.usize(..1100)];
        fragment(next, random.u32(..20), random.u32(..count), count, &body)
    });
    let window = config.window as usize * usize::from(config.packet);
    // And a quarter for what tells where the pieces are.
    let bound = ((4 * longest + window) * 5 / 4) as isize;
    assert!(most < bound, "{most} octets of {bound}");
}

#[test]
fn packets_that_are_begun_and_never_made_whole_hold_sixty_four_of_the_longest() {
    let config = Config { packet: 9000, ..config() };
    let mut random = Rng::with_seed(1);
    // One octet each, anywhere: what holds most beside its octets.
    let most = hold(&config, |next| {
        let number = next.wrapping_add(random.u32(..config.window));
        part(number, number, random.u16(..4500) * 2, 9000, &[7])
    });
    let bound = 64 * (9000 + 64 * 16 * 2 + 512);
    assert!(most < bound, "{most} octets of {bound}");
}

#[test]
fn a_packet_in_the_smallest_parts_holds_what_one_does() {
    let config = Config { packet: 9000, ..config() };
    let mut random = Rng::with_seed(2);
    let most = hold(&config, |next| part(next, 1, random.u16(..4500) * 2, 9000, &[7]));
    let bound = 9000 + 64 * 16 * 2 + 512 + 10 * BLOCK;
    assert!(most < bound, "{most} octets of {bound}");
}
