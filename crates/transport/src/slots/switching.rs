//! The slot for services that change while data flow: by which rules a message goes.

use crate::words::{Epoch, EpochMark, View};

/// By which of several sets of rules a message goes. `()` is one set, and costs nothing.
///
/// It is chosen by a configuration, and not while a program runs. Units of two epochs are on their
/// way at most: an epoch begins only when all that was sent before the one before it is settled.
#[allow(unused_variables, reason = "a default answer looks at nothing")]
pub trait Switching: Default + Send {
    /// Whether there are several sets of rules.
    const SWITCHES: bool = false;

    /// Records that messages go by the rules of `phase` from now on. Returns whether there is such
    /// a phase.
    fn enter(&mut self, phase: u8) -> bool {
        false
    }

    /// Records that the layer above sends a message; returns its epoch.
    fn on_message(&mut self) -> Epoch {
        Epoch::default()
    }

    /// Returns whether a unit of this epoch may leave for the first time: if not, what waits before
    /// it is settled first.
    fn may_leave(&self, view: &View, epoch: Epoch) -> bool {
        true
    }

    /// Returns what the packet of a unit says of its epoch.
    fn mark(&self, number: u64, epoch: Epoch) -> Option<EpochMark> {
        None
    }

    /// Records that the unit of this number left for the first time.
    fn on_left(&mut self, number: u64, epoch: Epoch) {}

    /// Returns how many times a packet of this epoch is sent again before it is abandoned, where
    /// the recovery judge would abandon it after `usual`; `None`: as often as it takes.
    fn resends(&self, epoch: Epoch, usual: Option<u16>) -> Option<u16> {
        usual
    }
}

impl Switching for () {}
