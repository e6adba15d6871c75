//! Networks of a test's own.

use std::process::Command;
use std::thread;

use nix::sched::{CloneFlags, unshare};

/// Runs `test` on a thread in a network namespace of its own, whose loopback interface is up. Says
/// so where this user may make none.
pub(crate) fn alone(test: impl FnOnce() + Send + 'static) {
    let inside = move || {
        if let Err(why) = unshare(CloneFlags::CLONE_NEWNET) {
            return eprintln!("skipped: this user may not make network namespaces: {why}");
        }
        ip("link set lo up");
        test();
    };
    if let Err(panic) = thread::spawn(inside).join() {
        std::panic::resume_unwind(panic);
    }
}

/// Configures the network of this thread (ip(8)).
pub(crate) fn ip(line: &str) {
    let status = Command::new("ip").args(line.split(' ')).status().expect("iproute2 is there");
    assert!(status.success(), "ip {line}");
}
