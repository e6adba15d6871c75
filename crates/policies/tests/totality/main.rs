//! Every selection passes through the rule book; every pair of policies that it accepts keeps what their facts promise; judges
//! change while data flows.
//!
//! | file | what |
//! | --- | --- |
//! | `format.rs` | a format that carries everything |
//! | `choices.rs` | every policy of every slot |
//! | `book.rs` | what the rule book says to every selection |
//! | `talks.rs` | what is promised is kept on a bad link |
//! | `exchange.rs` | judges are exchanged while data flows |
//!
//! `TOTALITY=all cargo test --release -p stackwright-policies --test totality -- --ignored` tries every accepted selection.

mod book;
mod choices;
mod exchange;
mod format;
mod talks;
