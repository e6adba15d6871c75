//! Specifications of protocols, as commands read them: the text, and the services of its phases.

mod phases;
mod text;

pub(crate) use phases::{Phase, phases, phases_of, planned, said};
pub(crate) use text::{Source, read, refused};
