//! The syntax of a packet, for programs that display packets.

use stackwright_wire::syntax::{Layout, Step};

use crate::header::XstpHeader;

/// Any packet. What follows the header depends on its kind.
pub const SYNTAX: &[Step] =
    &[Step::Header(Layout::of::<XstpHeader>()), Step::Rest("data, or a list of numbers")];
