//! Modules: what can be pushed between two neighbours of a live graph, and popped again.

mod act;
mod counter;
mod delay;
mod recorder;
mod tap;

pub use counter::{Count, Counter};
pub use delay::Delay;
pub use recorder::Recorder;
pub use tap::{Direction, Passage, Tap};
