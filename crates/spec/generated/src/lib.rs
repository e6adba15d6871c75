//! What is generated from the specifications of tests, in both forms, compiled once for all tests.
//! A program of one's own does the same in its build script, or commits what `stackwright spec gen`
//! writes, as `protocols/jis` does.
#![no_std]

/// Programs that stand on nothing.
pub mod plain {
    include!(concat!(env!("OUT_DIR"), "/plain.rs"));
}

/// Roles on the contract.
pub mod contract {
    include!(concat!(env!("OUT_DIR"), "/contract.rs"));
}
