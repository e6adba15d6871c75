//! What can be counted: allocations, by an allocator that counts, and instructions, by callgrind.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

struct Counting;

thread_local! {
    // Each thread counts its own: the one that started a test may write its books while the test
    // runs.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}
/// Octets that were asked for and not given back. Wraps on its way, and is right in the end.
static HELD: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes unchanged to the system's allocator, which keeps the promises; counting
// touches no memory of anybody else.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        HELD.fetch_add(layout.size() as u64, Relaxed);
        // SAFETY: the caller's promises are the system allocator's conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        HELD.fetch_add((size as u64).wrapping_sub(layout.size() as u64), Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size() as u64, Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

/// How often `run` asks for memory.
pub(crate) fn allocations(run: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    run();
    ALLOCATIONS.get() - before
}

/// How many octets of memory what `make` gives holds.
#[allow(dead_code, reason = "not every benchmark asks")]
pub(crate) fn held<T>(make: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.load(Relaxed);
    let made = make();
    (made, HELD.load(Relaxed).wrapping_sub(before) as usize)
}

/// The word that makes this program run one subject and nothing else.
pub(crate) const ALONE: &str = "--alone";

/// Instructions for one round of the named subject; `None` where there is no valgrind.
///
/// The program runs itself twice, with so many rounds and with twice as many: the difference has no
/// start-up in it.
pub(crate) fn instructions(subject: &str, rounds: u64) -> Option<f64> {
    let (once, twice) = (collected(subject, rounds)?, collected(subject, 2 * rounds)?);
    Some((twice - once) as f64 / rounds as f64)
}

fn collected(subject: &str, rounds: u64) -> Option<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().ok()?)
        .args([ALONE, subject, &rounds.to_string()])
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let (_, count) = said.split_once("Collected : ")?;
    count.split_whitespace().next()?.parse().ok()
}
