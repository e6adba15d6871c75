//! Modules: what can be pushed between two neighbours of a live graph, and popped again.

mod counter;
mod delay;
mod tap;

pub use counter::{Count, Counter};
pub use delay::Delay;
pub use tap::{Direction, Passage, Tap};
