//! All tests of the crate, in one binary: a module for each subject.
//!
//! `steady` is another one: it replaces the allocator by one that counts.

mod capture;
mod checks;
mod copies;
mod cxor_fletcher;
mod layouts;
mod messages;
mod pools;
mod refusals;
mod stages;
mod syntax;
