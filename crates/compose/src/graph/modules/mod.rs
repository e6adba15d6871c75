//! Modules that hold words: what can be pushed between two neighbours of a live graph, and popped
//! again. What only looks at words, alters them or drops them is a [filter](crate::filter).

mod act;
mod delay;
mod recorder;

pub use delay::Delay;
pub use recorder::Recorder;
