//! The C interface as programs in C use it: compiled with the header, run against the library.
//!
//! | module | what |
//! | --- | --- |
//! | `abi.rs` | the header, the library and `abi/1.txt` say the same |
//! | `attacks.rs` | what programs may do wrong, and random calls |
//! | `programs.rs` | the examples with each other, with Rust and with the program |
//! | `python.rs` | the wheel: its own tests, and Python with C, with Rust and with the program |

mod abi;
mod attacks;
mod programs;
mod python;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What is installed: a header, libraries, and what pkg-config needs.
fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-interface");
        let built = env::current_exe().expect("a file").parent().expect("a folder").to_owned();
        run(Command::new(here("install")).arg(&prefix).arg(built));
        prefix
    })
}

/// Returns a file of the crate.
fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Runs a command to its end, and returns what it said.
fn run(command: &mut Command) -> String {
    let done = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let [said, told] = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into());
    let (said, told): (String, String) = (said, told);
    assert!(done.status.success(), "{command:?}: {}\n{said}{told}", done.status);
    said
}

/// Whether a program is there. With CI=true each has to be.
fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    assert!(found || env::var_os("CI").is_none(), "there is no {program}");
    found
}

const STRICT: &[&str] = &["-g", "-Wall", "-Wextra", "-Werror"];
const SANITIZED: &[&str] = &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/// Compiles a program; returns its file.
fn compiled(source: &str, name: &str, flags: &[&str]) -> PathBuf {
    let lib = prefix().join("lib");
    let program = prefix().join(name);
    run(Command::new("cc")
        .args(STRICT)
        .args(["-std=gnu99", "-pthread", "-o"])
        .args([&program, &here(source)])
        .arg("-I")
        .arg(prefix().join("include"))
        .arg("-L")
        .arg(&lib)
        .arg(format!("-Wl,-rpath,{}", lib.display()))
        .args(["-lstackwright", "-ldl"])
        .args(flags));
    program
}
