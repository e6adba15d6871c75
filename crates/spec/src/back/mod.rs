//! What is made of an automaton.
//!
//! | file | what |
//! | --- | --- |
//! | `interpret.rs` | it is run by its table |
//! | `lines.rs` | what it hears, as lines |
//! | `monitor.rs` | a transcript is followed |
//! | `words.rs` | how conditions and acts are written for people |
//! | `draw.rs` | a list, and a picture (DOT) |
//! | `vectors.rs` | runs that pass through each transition |
//! | `rust/` | a program |

mod draw;
pub(crate) mod interpret;
mod lines;
mod monitor;
mod rust;
mod vectors;
mod words;

pub use draw::{dot, list};
pub use interpret::{Interpreter, OutOfRange, RoleHost, Stimulus, Value};
pub use lines::RoleLine;
pub use monitor::TranscriptMonitor;
pub use rust::{RustForm, rust};
pub(crate) use rust::{camel, field, free, module, snake};
pub use vectors::vectors;
