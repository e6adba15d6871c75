//! Where the program begins. The standard library's own beginning looks for the bounds of the stack
//! in `/proc/self/maps` and installs handlers for its overflow: twenty calls to the system, 5 % of
//! a small transfer. What an overflow ends with is the same, only without a sentence.
#![cfg(all(target_os = "linux", target_env = "gnu", not(test)))]

use std::ffi::{c_char, c_int};
use std::panic::catch_unwind;
use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGPIPE;

/// What a panic ends with, as in any program of Rust.
const PANICKED: u8 = 101;

/// C's `main`.
// The name is the linker's: the system's start calls it. The signature is that of the C standard
// (5.1.2.2.1); the arguments are not looked at, since the standard library has them before this is
// called.
#[unsafe(no_mangle)]
extern "C" fn main(_count: c_int, _words: *const *const c_char) -> c_int {
    // Who writes to a socket whose peer is gone shall hear of it, and not be ended by it.
    let heard = signal_hook::flag::register(SIGPIPE, Arc::new(AtomicBool::new(false)));
    let code = match heard {
        Ok(_) => catch_unwind(crate::run).unwrap_or(PANICKED),
        Err(_) => PANICKED,
    };
    // It also writes out what waits in the standard output.
    exit(code.into())
}
