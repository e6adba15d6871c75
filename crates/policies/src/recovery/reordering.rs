//! How much later than one that left after it a packet may arrive (RACK, RFC 8985 §6).

use stackwright_transport::words::{MILLISECOND, Nanoseconds, View};

/// The least window: packets that leave at one moment do not take the same time through both hosts.
const LEAST: Nanoseconds = MILLISECOND;

/// The recoveries after which a wide window is narrow again, if nothing was reordered meanwhile (RFC
/// 8985 §6.2, `reo_wnd_persist`).
const PERSISTS: u8 = 16;

/// The widest window, in quarters of the shortest round trip. The smoothed round trip bounds it
/// before.
const QUARTERS_MOST: u8 = 64;

/// The reordering window: a quarter of the shortest round trip, and a quarter more in each round
/// trip in which a packet that had been taken for lost arrives after all, up to a round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReorderingWindow {
    /// In quarters of the shortest round trip; 0: nothing was reordered yet.
    quarters: u8,
    /// By how much the latest packet was late.
    latest: Nanoseconds,
    /// For how many recoveries it stays.
    persists: u8,
    /// What was in flight when the last recovery began is settled below this number.
    recovers_upto: u64,
    /// The same of what was in flight when it last grew.
    grown_upto: u64,
}

impl ReorderingWindow {
    pub(super) const fn new() -> Self {
        ReorderingWindow { quarters: 0, latest: 0, persists: 0, recovers_upto: 0, grown_upto: 0 }
    }

    /// Records that packets were found lost.
    pub(super) fn on_lost(&mut self, view: &View) {
        if view.settled_upto < self.recovers_upto {
            return;
        }
        self.recovers_upto = view.sent_upto;
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            (self.quarters, self.latest) = (self.quarters.min(1), 0);
        }
    }

    /// Records that a packet was late by this much. Where one `was_lost` for that, the window grows
    /// by a quarter: what was in flight at one time is seen to be late in many reports, and lets it
    /// grow once (RFC 8985 §6.2, step 4).
    pub(super) fn on_reordered(&mut self, view: &View, was_lost: bool, by: Nanoseconds) {
        self.persists = PERSISTS;
        self.latest = self.latest.max(by);
        if was_lost && view.settled_upto >= self.grown_upto {
            self.quarters = (self.quarters + 1).min(QUARTERS_MOST);
            self.grown_upto = view.sent_upto;
        }
        self.quarters = self.quarters.max(1);
    }

    /// Returns whether anything was reordered.
    pub(super) const fn has_seen(&self) -> bool {
        self.quarters > 0
    }

    /// Returns its length; `None` before a round trip is known.
    pub(super) fn length(&self, view: &View) -> Option<Nanoseconds> {
        let (least, usual) = (view.rtt.least, view.rtt.smoothed + 4 * view.rtt.variation);
        let quarters = least / 4 * u64::from(self.quarters.max(1));
        let window = quarters.max(self.latest + least / 4).min(usual);
        (least > 0).then_some(window.max(LEAST))
    }
}
