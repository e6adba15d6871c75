//! Calls that wait, without a runtime.

pub(crate) mod association;
pub(crate) mod endpoint;

pub use association::Association;
pub use endpoint::Endpoint;
