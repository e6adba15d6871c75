//! No flow control, and no more memory than a window.

use core::ops::Range;

use stackwright_transport::component;
use stackwright_transport::slots::Flow;
use stackwright_transport::words::{Dropped, View};

/// Advertises no credit, and drops what arrives while the application leaves `window` numbers
/// unread (XTP's NOFLOW).
///
/// Choose it where what is late is worth nothing, with a rate that the receiver bears.
///
/// ```
/// use stackwright_policies::flow::Bounded;
/// let flow = Bounded::new(1 << 20);
/// # let _ = flow;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Bounded {
    window: u64,
}

impl Bounded {
    /// Creates the policy for `window` numbers: octets or packets, as the format counts.
    pub const fn new(window: u64) -> Self {
        Bounded { window }
    }
}

impl Flow for Bounded {
    fn admit(&self, view: &View, _: &Range<u64>) -> Result<(), Dropped> {
        if view.pending >= self.window { Err(Dropped::NoRoom) } else { Ok(()) }
    }
}

component! { Bounded: "flow bounded", "drops what the application leaves unread" }
