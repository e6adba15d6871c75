//! What the tests that meet strangers stand on: programs that end with their owner, content that can be made again, and
//! a control connection spoken by hand. It needs the standard library only, so that the benchmarks use the same files.

pub mod content;
pub mod control;
pub mod processes;
pub mod scratch;
pub mod servers;
