//! The switching: by which of several sets of rules a message goes.
//!
//! | policy | for | from |
//! | --- | --- | --- |
//! | [`InPhases`] | applications whose phases need different services | UTS, STRL |
//!
//! An association with one set of rules has `()`.

mod in_phases;

pub use in_phases::{InPhases, PhaseRule, PhaseRules};
