//! E11–E13 and E15: what it costs to look at every octet: checks, their operations, and several
//! layers in one pass.

mod checksum;
mod one_pass;
mod operations;
mod pieces;
mod variants;

pub(crate) use checksum::Checksum;
pub(crate) use one_pass::OnePass;
pub(crate) use operations::Operations;
