//! What programs may do wrong, under the sanitizers of the C compiler; random calls, too.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::ptr;
use std::sync::OnceLock;

use stackwright_c::gate::{on_association, on_endpoint};
use stackwright_c::{Failure, sw_accept, sw_close, sw_connect, sw_free, sw_open, sw_turn};

use crate::{SANITIZED, compiled, has, prefix, run};

fn attack(name: &str) {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program =
        PROGRAM.get_or_init(|| compiled("tests/attacks.c", "attacks-sanitized", SANITIZED));
    run(Command::new(program).arg(name));
}

macro_rules! attacks {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                attack(stringify!($name));
            }
        )*
    };
}

attacks! {
    null_pointers
    sizes_and_values
    lengths
    in_place
    streams
    another_thread
    after_the_end
    background
    begins_to_close
    a_broken_pipe
    a_log
    from_a_signal_handler
    fork_and_exit
    nothing_but_poll
    texts
}

/// As many sequences as `STACKWRIGHT_SEQUENCES` says, or a thousand.
#[test]
fn random_calls() {
    let sequences = env::var("STACKWRIGHT_SEQUENCES").unwrap_or_else(|_| "1000".into());
    let program = compiled("tests/random.c", "random-sanitized", SANITIZED);
    assert_eq!(run(Command::new(program).args([&sequences, "1"])).trim(), sequences);
}

#[test]
fn valgrind_finds_nothing() {
    if !has("valgrind") {
        return;
    }
    let valgrind = |program, arguments: &[&str]| {
        run(Command::new("valgrind")
            .args(["--quiet", "--leak-check=full", "--error-exitcode=9", "--num-callers=40"])
            .arg(program)
            .args(arguments));
    };
    let program = compiled("tests/attacks.c", "attacks", &[]);
    for attack in [
        "sizes_and_values",
        "another_thread",
        "after_the_end",
        "nothing_but_poll",
        "in_place",
        "background",
    ] {
        valgrind(&program, &[attack]);
    }
    valgrind(&compiled("tests/random.c", "random", &[]), &["20", "7"]);
}

#[test]
fn two_copies_in_one_process() {
    let library = prefix().join("lib/libstackwright.so.1");
    let copy = prefix().join("lib/another.so");
    fs::copy(&library, &copy).expect("a copy");
    run(Command::new(compiled("tests/copies.c", "copies", &[])).args([library, copy]));
}

/// A fault of the library itself: what it leaves can be freed, and another endpoint works.
#[test]
fn a_panic_breaks_its_endpoint_alone() {
    let open = |url: &std::ffi::CStr| {
        let mut endpoint = ptr::null_mut();
        // SAFETY: a text, and a place.
        assert_eq!(unsafe { sw_open(url.as_ptr(), ptr::null(), &raw mut endpoint) }, 0);
        endpoint
    };
    let (one, other) = (open(c"artp://127.0.0.1:0"), open(c"artp://"));
    let (mut guest, mut none) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: handles that are alive, and places.
    unsafe {
        assert_eq!(sw_connect(one, c"127.0.0.1:9".as_ptr(), 0, &raw mut guest), 0);
        let broken = on_association(guest, |_| panic!("injected"));
        assert_eq!(broken, Err(Failure::Broken));
        assert_eq!(on_endpoint(one, |_| Ok(0)), Err(Failure::Broken));
        assert_eq!(sw_accept(one, -1, &raw mut none), Failure::Broken as i32);
        assert_eq!(sw_turn(other), 0, "it is as it was");
        assert_eq!(sw_close(guest, -1), Failure::Broken as i32, "and freed");
        assert_eq!((sw_free(one), sw_free(other)), (0, 0));
    }
}
