//! Tells the gate which compiler makes it, and for what: the figures hold for these only.

use std::env;
use std::process::Command;

fn main() {
    let compiler = env::var_os("RUSTC").expect("cargo names the compiler");
    let output = Command::new(compiler).arg("--version").output().expect("the compiler runs");
    let version = String::from_utf8_lossy(&output.stdout);
    println!("cargo::rustc-env=GATE_RUSTC={}", version.trim().trim_start_matches("rustc "));
    println!("cargo::rustc-env=GATE_TARGET={}", env::var("TARGET").expect("cargo names the target"));
    println!("cargo::rerun-if-changed=build.rs");
}
