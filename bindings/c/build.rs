//! Names the shared library for those who link with it: a program keeps running with any library of
//! the same ABI.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libstackwright.so.1");
}
