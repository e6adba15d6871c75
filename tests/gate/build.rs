//! Tells the gate which compiler makes it, and for what: the figures hold for these only.

use std::env;
use std::process::Command;

fn main() {
    let compiler = env::var_os("RUSTC").expect("cargo names the compiler");
    let output = Command::new(compiler).arg("--version").output().expect("the compiler runs");
    let version = String::from_utf8_lossy(&output.stdout);
    println!("cargo::rustc-env=GATE_RUSTC={}", version.trim().trim_start_matches("rustc "));
    // Flags from outside, such as a processor to compile for, make another target of it.
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().replace('\x1f', " ");
    let target = env::var("TARGET").expect("cargo names the target");
    println!("cargo::rustc-env=GATE_TARGET={}", format!("{target} {flags}").trim());
    println!("cargo::rerun-if-changed=build.rs");
}
