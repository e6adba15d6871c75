//! What the lab's programs share: what a table came to, read, judged and shown, and how a command
//! ends.
//!
//! | file | what |
//! | --- | --- |
//! | `outcome.rs`, `conditions.rs` | the file that `lab table` writes, and under which conditions |
//! | `verdict.rs`, `settle.rs` | what a target is; the ratios and verdicts that follow from samples |
//! | `sentence.rs`, `details.rs`, `quantity.rs` | who won, and numbers for people |
//! | `terminal.rs`, `matrix.rs`, `draw/` | tables and pictures |
//! | `keep.rs` | a file, written whole or not at all |
//! | `flaw.rs`, `problem.rs`, `say.rs` | why a file is refused, why a command failed, what it says |
#![deny(unsafe_code)]

mod conditions;
mod details;
mod draw;
mod flaw;
mod keep;
mod matrix;
pub mod outcome;
mod problem;
mod quantity;
mod say;
mod sentence;
mod settle;
mod terminal;
pub mod verdict;

pub use conditions::{Conditions, source};
pub use draw::{palette, panels, picture};
pub use flaw::{Flaw, suggestion};
pub use keep::{replace, try_out};
pub use problem::Problem;
pub use quantity::{digits, quantity, rate, step};
pub use say::say_line;
pub use sentence::{falls_short, sentences};
pub use terminal::print;
