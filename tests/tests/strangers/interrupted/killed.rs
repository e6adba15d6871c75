//! Clients and servers that are killed (`kill -9`) at a random moment of a transfer.

use std::env;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use stackwright_programs::processes::{PATIENCE, eventually};

use super::scene::{DURATION, Direction, RATE, Scene, let_pass, resumed_at};

/// How often each is killed: a few times, or as often as `STACKWRIGHT_KILLS` says.
fn kills() -> u32 {
    env::var("STACKWRIGHT_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(2)
}

/// Moments in parts of a transfer's duration: one in each of `kills` equal parts of it, so that few
/// of them are not all early.
fn moments(kills: u32) -> impl Iterator<Item = (u32, f64)> {
    let mut state = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| now.as_nanos());
    (0..kills).map(move |nth| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let random = (state >> 32 & 0xFFFF) as f64 / 65_536.0;
        (nth, (f64::from(nth) + random) / f64::from(kills))
    })
}

/// The client is killed; the same command completes what it began.
pub(super) fn client(direction: Direction) -> Option<String> {
    let scene = Scene::new(direction, RATE);
    let mut resumed = 0;
    for (nth, moment) in moments(kills()) {
        scene.prepare(nth % 2 == 1);
        let watch = scene.watch();
        let since = Instant::now();
        let mut running = scene.begin(&[]);
        let_pass(since, moment);
        assert!(running.alive(), "it ended before {moment:.3} of {DURATION:?}");
        running.kill();
        let told = scene.copy(&[]).succeeded().text();
        watch.end();
        scene.assert_copied();
        resumed += u32::from(resumed_at(&told).is_some());
    }
    eprintln!("{} client killed: {resumed} of {} went on", direction.name(), kills());
    None
}

/// The server is killed and started again: the client completes the transfer by itself.
pub(super) fn server(direction: Direction) -> Option<String> {
    let mut scene = Scene::new(direction, RATE);
    for (nth, moment) in moments(kills()) {
        scene.prepare(nth % 2 == 1);
        let watch = scene.watch();
        let since = Instant::now();
        let mut running = scene.begin(&[]);
        let_pass(since, moment);
        assert!(running.alive(), "it ended before {moment:.3} of {DURATION:?}");
        scene.kill_server();
        scene.start_server();
        let ends = eventually(PATIENCE, || running.ended().is_some());
        assert!(ends, "the client is stuck");
        let code = running.ended().and_then(|status| status.code());
        // A server that was never reached is not waited for: nothing was begun.
        if code == Some(3) && moment < 0.1 {
            scene.copy(&[]).succeeded();
        } else {
            assert_eq!(code, Some(0), "killed at {moment:.3}");
        }
        watch.end();
        scene.assert_copied();
    }
    None
}
