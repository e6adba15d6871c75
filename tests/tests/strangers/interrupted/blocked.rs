//! A network that discards everything for a while, without a word to either side.

use std::env;
use std::thread;
use std::time::{Duration, Instant};

use stackwright_programs::processes::{PATIENCE, eventually};

use super::scene::{Direction, RATE, Scene, let_pass, resumed_at};

/// How long it is blocked: 5 seconds, or as many as `STACKWRIGHT_BLOCKED` says.
fn blocked() -> Duration {
    let seconds = env::var("STACKWRIGHT_BLOCKED").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(5))
}

/// Begins a transfer and blocks it in its middle. Returns how it ended once the network works
/// again.
fn block(scene: &Scene, options: &[&str]) -> Option<i32> {
    let since = Instant::now();
    let mut running = scene.begin(options);
    let_pass(since, 0.4);
    assert!(running.alive(), "it ended before it was blocked");
    scene.wire.block();
    thread::sleep(blocked());
    scene.wire.unblock();
    assert!(eventually(PATIENCE, || running.ended().is_some()), "the client is stuck");
    running.ended().and_then(|status| status.code())
}

/// A client that waits for longer than that goes on.
pub(super) fn waits(direction: Direction) -> Option<String> {
    let scene = Scene::new(direction, RATE);
    let watch = scene.watch();
    assert_eq!(block(&scene, &["--retries", "0"]), Some(0));
    watch.end();
    scene.assert_copied();
    None
}

/// One that does not wait for so long tries again, and goes on where it was.
pub(super) fn tries_again(direction: Direction) -> Option<String> {
    let scene = Scene::new(direction, RATE);
    let watch = scene.watch();
    assert_eq!(block(&scene, &["--timeout", "2", "--retries", "8"]), Some(0));
    watch.end();
    scene.assert_copied();
    None
}

/// One that does not try again says what happened, and the same command goes on there.
pub(super) fn gives_up(direction: Direction) -> Option<String> {
    let scene = Scene::new(direction, RATE);
    let watch = scene.watch();
    let code = block(&scene, &["--timeout", "2", "--retries", "0"]);
    assert!(matches!(code, Some(6 | 7)), "{code:?}");
    let told = scene.copy(&[]).succeeded().text();
    if direction == Direction::Get {
        assert!(resumed_at(&told).is_some(), "{told}");
    }
    watch.end();
    scene.assert_copied();
    None
}
