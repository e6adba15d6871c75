//! From text to syntax tree.
//!
//! | file | what |
//! | --- | --- |
//! | `lex.rs` | octets become tokens; comments are kept aside |
//! | `reader.rs` | a cursor over tokens, and how it goes on behind a mistake |
//! | `items.rs` | what a protocol declares |
//! | `roles.rs` | what a role declares |
//! | `properties.rs` | what a protocol promises, and the model |
//! | `statements.rs`, `expressions.rs` | what a role does |
//! | `branches.rs` | the branches of `||` are put in order |
//! | `format.rs` | tokens and comments become text again |

mod branches;
mod expressions;
mod format;
mod items;
mod lex;
mod properties;
mod reader;
mod roles;
mod statements;

pub use format::format;
pub(crate) use items::read;
#[cfg(test)]
pub(crate) use reader::KEYWORDS;
