//! The slot `ordering`: what may go up now.

mod absent;

pub use absent::Absent;
