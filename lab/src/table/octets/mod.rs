//! E11–E13 and E15: what it costs to look at every octet: checks, their operations, and several
//! layers in one pass.

mod checksum;
mod one_pass;
mod operations;
mod pieces;
mod variants;

pub(super) use checksum::CHECKSUM;
pub(super) use one_pass::ONE_PASS;
pub(super) use operations::OPERATIONS;
