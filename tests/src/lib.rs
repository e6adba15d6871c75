//! What the tests that meet strangers stand on, and the measurements with them: programs that end with their owner, content
//! that can be made again, a control connection spoken by hand, and how sure a ratio is.

pub mod content;
pub mod control;
pub mod place;
pub mod processes;
pub mod raw;
pub mod scratch;
pub mod served;
pub mod servers;
pub mod statistics;
