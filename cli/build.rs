//! Links what unwinds the stack into the program, where the C compiler has it as an archive: one
//! shared library less to find, map and relocate is 4 % of a small transfer (whole process, against
//! the same build without).

use std::env;
use std::path::Path;
use std::process::Command;

const ARCHIVE: &str = "libgcc_eh.a";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let target = |what| env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    let native = env::var("HOST") == env::var("TARGET");
    if native && target("OS") == "linux" && target("ENV") == "gnu" && has_archive() {
        // By its file's name, and before the standard library's own wish for the shared one, which
        // is then not needed.
        println!("cargo:rustc-link-lib=dylib:+verbatim={ARCHIVE}");
    }
}

/// Whether the compiler that links knows where the archive is: then it says its path, otherwise
/// only its name.
fn has_archive() -> bool {
    let said = Command::new("cc").arg(format!("-print-file-name={ARCHIVE}")).output();
    said.is_ok_and(|said| Path::new(String::from_utf8_lossy(&said.stdout).trim()).is_absolute())
}
