//! Specifications of protocols, as commands read them: the text, and the services of its phases.

mod phases;
mod text;

pub(crate) use phases::{demanded, phases, phases_of, planned, planned_together, said};
pub(crate) use text::{Source, read, refused};
