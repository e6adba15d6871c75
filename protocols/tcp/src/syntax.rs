//! The syntax of a segment, for programs that display packets.

use stackwright_wire::internet::Tcp;
use stackwright_wire::syntax::{Layout, Step};

/// Any segment. The length of its options is counted in words, and they are not told from data.
pub const SYNTAX: &[Step] = &[Step::Header(Layout::of::<Tcp>()), Step::Rest("options and data")];
