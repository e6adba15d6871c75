//! How the lab measures: contestants that take turns, and probes that notice slow spells.

mod contest;
mod effort;
mod probe;
mod steal;
mod stop;

pub(crate) use contest::{Contestant, Course};
pub(crate) use effort::Effort;
pub(crate) use probe::{Limit, Probe};
pub(crate) use steal::Steal;
pub(crate) use stop::Stop;
