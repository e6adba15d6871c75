//! Generated roles in stacks, graphs and the simulator: stop-and-wait beside the one that is
//! written by hand, and ping-pong.

mod adapter;
mod beats_come;
mod beside;
mod names;
mod ping_pong_talk;
mod talker;

#[rustfmt::skip]
mod beats;
#[rustfmt::skip]
mod ping_pong;
#[rustfmt::skip]
mod stop_and_wait;

use std::path::PathBuf;

use stackwright_spec::{RustForm, compile, rust};

/// `UPDATE=1` writes the module anew.
fn is_fresh(text: &str, file: &str, committed: &str) {
    let compiled = compile(text).expect("it compiles");
    let written = rust(&compiled.program, &compiled.automata, RustForm::Contract);
    let written = written.expect("it is short");
    if std::env::var_os("UPDATE").is_some() {
        let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "roles", file].iter().collect();
        std::fs::write(path, &written).expect("it is written");
        return;
    }
    assert_eq!(written, committed, "{file}: UPDATE=1 generates it anew");
}

#[test]
fn modules_are_fresh() {
    let stop_and_wait = include_str!("../../../spec/tests/sources/stop-and-wait.protocol");
    is_fresh(stop_and_wait, "stop_and_wait.rs", include_str!("stop_and_wait.rs"));
    is_fresh(include_str!("beats.protocol"), "beats.rs", include_str!("beats.rs"));
    let ping_pong = include_str!("../../../spec/tests/sources/ping-pong.protocol");
    is_fresh(ping_pong, "ping_pong.rs", include_str!("ping_pong.rs"));
}
