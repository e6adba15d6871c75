//! The instruction gate: what runs for every packet is counted, and may not grow unnoticed.
//!
//! | file | what |
//! | --- | --- |
//! | `subject.rs` | a piece of work that is counted |
//! | `count.rs` | how: valgrind's callgrind, one process for a figure |
//! | `machine.rs` | what a figure depends on besides the code |
//! | `baseline.rs` | the figures that hold, in a file |
//! | `verdict.rs` | figures against a baseline |
//!
//! The subjects lie in `benches/gate/`, since they are counted as they are released.
#![forbid(unsafe_code)]

pub mod baseline;
pub mod count;
pub mod machine;
pub mod subject;
pub mod verdict;
