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
//! There are millions of accepted selections: `TOTALITY=10000 cargo test --release -p
//! stackwright-policies --test all -- --ignored` tries as many, which are drawn.

mod book;
mod talks;
