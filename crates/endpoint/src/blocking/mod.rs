//! Calls that wait, without a runtime.

mod association;
mod endpoint;

pub use association::Association;
pub use endpoint::Endpoint;
