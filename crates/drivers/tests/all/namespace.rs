//! Networks of a test's own.

use std::env;
use std::fs::File;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};
use stackwright_drivers::tun::CLONE;

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

/// Returns what ip(8) says.
pub(crate) fn said(line: &str) -> String {
    let output = Command::new("ip").args(line.split(' ')).output().expect("iproute2 is there");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Waits for what the kernel does at its leisure.
pub(crate) fn until_so(mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(10), "the kernel never did it");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Runs `body` in user and network namespaces of its own, without a right: in a process that runs
/// only the test of that name. Says so where this user may make none, or may not open a TUN device.
pub(crate) fn rootless(test: &str, body: impl FnOnce()) {
    const INSIDE: &str = "STACKWRIGHT_INSIDE";
    if env::var_os(INSIDE).is_some_and(|inside| inside == *test) {
        return body();
    }
    if let Some(why) = missing() {
        return eprintln!("skipped: {why}");
    }
    let itself = env::current_exe().expect("this program has a path");
    let status = Command::new("unshare")
        .arg("-Urn")
        .arg(itself)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(INSIDE, test)
        .status();
    assert!(status.expect("unshare was there just now").success(), "{test} failed inside");
}

/// What there is not to run a test without a right.
fn missing() -> Option<String> {
    let unshared = Command::new("unshare").args(["-Urn", "ip", "link"]).output();
    match unshared {
        Err(why) => return Some(format!("cannot run unshare(1): {why}")),
        Ok(output) if !output.status.success() => {
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Some(format!("this user may not make user namespaces: {why}"));
        }
        Ok(_) => {}
    }
    let opened = File::options().read(true).write(true).open(CLONE);
    opened.err().map(|why| format!("{CLONE} cannot be opened: {why}"))
}
