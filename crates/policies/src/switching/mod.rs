//! The switching: by which of several sets of rules a message goes.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | [`InPhases`] | applications whose phases need different services | UTS, STRL |
//! | [`Negotiated`] | applications that find out what they need while data flow | UTS |
//! | [`PlannedSwitching`] | one of these, or none, as a plan says while the program runs | UTS |
//!
//! An association with one set of rules has `()`.

mod in_phases;
mod negotiated;
mod planned;

pub use in_phases::{InPhases, PhaseRules};
pub use negotiated::Negotiated;
pub use planned::PlannedSwitching;
pub use stackwright_contract::PhaseRule;
