//! How the lab measures: contestants that take turns, probes that notice slow spells, and what the
//! machine is.

mod conditions;
mod contest;
mod effort;
mod probe;
mod steal;
mod stop;

pub(crate) use conditions::{Conditions, source};
pub(crate) use contest::{Contestant, Course};
pub(crate) use effort::Effort;
pub(crate) use probe::{Limit, Probe};
pub(crate) use steal::Steal;
pub(crate) use stop::Stop;
