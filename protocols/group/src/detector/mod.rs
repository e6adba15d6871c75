//! Which member was silent for too long.
//!
//! | file | who is listened to |
//! | --- | --- |
//! | `heartbeat.rs` | every member hears all others: for up to some 16 members |
//! | `ring.rs` | every member asks its three successors, and tells all others of one that is silent |

mod heartbeat;
mod ring;

pub use heartbeat::Detector;
pub use ring::{RingDetector, RingHeader};
