//! The C interface of blocking endpoints: `include/stackwright.h` says what each function does.
//!
//! | file | what |
//! | --- | --- |
//! | `gate.rs` | who may call, and what a panic becomes |
//! | `pointers.rs` | what the caller points to |
//! | `failure.rs` | what calls return in place of a result |
//! | `layout.rs` | the structures of the header |
//! | `stacks.rs` | which stack a URL names |
//! | `unframed.rs` | streams for an endpoint of messages |
//! | `endpoint.rs`, `association.rs` | the functions |
//!
//! `unsafe` is what a border with C needs, here and in no other crate but the drivers: an export
//! hands its pointers to `gate.rs` or `pointers.rs`, which check what can be checked, and is written
//! without further ado. What cannot be checked (that a handle is alive, that a pointer has as many
//! octets behind it as it says) is the caller's promise in the header.

/// Exports functions by their names. A caller in C promises for each what the header says, and all
/// that `unsafe` is in a function stands on that: pointers become references in `gate.rs` and
/// `pointers.rs`, which say what they check.
macro_rules! exports {
    ($(
        $(#[$doc:meta])*
        fn $name:ident($($argument:ident: $of:ty),* $(,)?) -> $result:ty $body:block
    )*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// As the header says.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $of),*) -> $result {
                // SAFETY: the caller's promises.
                unsafe { $body }
            }
        )*
    };
}

mod association;
mod endpoint;
mod failure;
pub mod gate;
mod layout;
mod pointers;
mod stacks;
mod unframed;

pub use association::*;
pub use endpoint::*;
pub use failure::{Failure, Outcome, sw_errno, sw_error_text};
pub use layout::{Options, PathValues, Properties};

use std::ffi::{CStr, c_char};

/// The ABI: the number in the library's soname.
pub const ABI: u32 = 1;

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("a version has no zero octet"),
    };

/// Returns the version of the library that is loaded.
#[unsafe(no_mangle)]
pub extern "C" fn sw_version() -> *const c_char {
    VERSION.as_ptr()
}

/// Returns the ABI of the library that is loaded.
#[unsafe(no_mangle)]
pub extern "C" fn sw_abi() -> u32 {
    ABI
}
