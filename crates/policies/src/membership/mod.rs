//! The slot `membership`: whether one peer reports, or the members of a group.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | `()` | one peer | |
//! | [`Buckets`] | one sender and a group that acknowledges | XTP (the bucket algorithm) |

mod buckets;

pub use buckets::Buckets;
