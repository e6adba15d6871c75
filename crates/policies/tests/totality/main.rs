//! Every selection passes through the rule book; every pair of policies that it accepts keeps what
//! their facts promise.
//!
//! | file | what |
//! | --- | --- |
//! | `book.rs` | what the rule book says to every selection |
//! | `talks.rs` | what is promised is kept on a bad link |
//!
//! The policies are those of `crates/transport/trial/src/choices.rs`.
//!
//! `TOTALITY=all cargo test --release -p stackwright-policies --test totality -- --ignored` tries
//! every accepted selection.

mod book;
mod talks;
