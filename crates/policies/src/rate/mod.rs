//! The slot `rate`: how fast packets leave.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | [`Absent`] | paths on which the windows suffice | |
//! | [`Paced`] | a narrowest link whose rate is known | XTP (`rate`, `burst`) |
//! | [`PacedByTerms`] | two sides that tell each other how fast | XTP's traffic specifier |
//! | [`PacedByCongestion`] | congestion control that names a rate | draft-ietf-ccwg-bbr §5.6.2 |

mod absent;
mod paced;
mod paced_by_congestion;
mod paced_by_terms;

pub use absent::Absent;
pub use paced::Paced;
pub use paced_by_congestion::PacedByCongestion;
pub use paced_by_terms::PacedByTerms;
