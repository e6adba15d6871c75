//! From text to syntax tree.
//!
//! | file | what |
//! | --- | --- |
//! | `lex.rs` | octets become tokens; comments are kept aside |
//! | `reader.rs` | a cursor over tokens, and how it goes on behind a mistake |
//! | `items.rs` | what a protocol declares |
//! | `roles.rs` | what a role declares |
//! | `statements.rs`, `expressions.rs` | what a role does |
//! | `format.rs` | tokens and comments become text again |

mod expressions;
mod format;
mod items;
mod lex;
mod reader;
mod roles;
mod statements;

pub use format::format;
pub(crate) use items::read;
