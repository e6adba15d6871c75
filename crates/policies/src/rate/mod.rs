//! The slot `rate`: how fast packets leave.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | [`Absent`] | paths on which the windows suffice | |
//! | [`Paced`] | a narrowest link whose rate is known | XTP (`rate`, `burst`) |
//! | [`PacedByCongestion`] | congestion control that names a rate | draft-ietf-ccwg-bbr §5.6.2 |

mod absent;
mod paced;
mod paced_by_congestion;

pub use absent::Absent;
pub use paced::Paced;
pub use paced_by_congestion::PacedByCongestion;
