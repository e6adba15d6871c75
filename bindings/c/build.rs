//! Names the shared library for those who link with it: a program keeps running with any library of
//! the same ABI.

use std::process::Command;

/// The first glibc whose loader reads packed relocations, which make the library 3 % smaller.
const PACKED_SINCE: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libstackwright.so.1");
    if glibc().is_some_and(|version| version >= PACKED_SINCE) {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,pack-relative-relocs");
    }
}

/// Returns the version of this system's C library, for which the library is built; `None`: it has
/// another one.
fn glibc() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?.stdout;
    let said = String::from_utf8(said).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
