//! The switching: by which of several sets of rules a message goes.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | [`InPhases`] | applications whose phases need different services | UTS, STRL |
//! | [`Negotiated`] | applications that find out what they need while data flow | UTS |
//!
//! An association with one set of rules has `()`.

mod in_phases;
mod negotiated;

pub use in_phases::{InPhases, PhaseRules};
pub use negotiated::Negotiated;
pub use stackwright_contract::PhaseRule;
