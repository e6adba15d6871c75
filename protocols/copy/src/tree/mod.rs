//! Folders with everything below them.

mod words;

pub use words::{Comparison, SkipReason, TreeOptions, TreeTotals};
