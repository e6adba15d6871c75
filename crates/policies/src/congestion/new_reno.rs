//! Slow start and congestion avoidance.

use core::num::NonZeroU64;

use stackwright_contract::Instant;
use stackwright_transport::slots::Congestion;
use stackwright_transport::words::{Nanoseconds, Opening, View};
use stackwright_transport::{Acknowledged, component};

use super::episode::{Episode, FIRST, FIRST_REPEATED, LEAST, Undo, is_used};
use super::hystart::{HyStart, Verdict};
use super::pacing::{is_paced, pace};

/// Controls the window as TCP does classically (RFC 5681), with one halving for all that was lost
/// together (RFC 6582): slow start up to a threshold, beyond it a packet each round trip; one
/// packet after a retransmission timeout, unless that was spurious (RFC 4015).
///
/// Octets are counted and not reports (RFC 3465): a report may acknowledge many packets, and a peer
/// gains nothing by acknowledging them one by one. A window that is not used does not grow. How it
/// begins, ends its first slow start and names a pace is that of [`Cubic`](super::Cubic).
///
/// Choose it as the control that is understood best; [`Cubic`](super::Cubic) fills a long fast path
/// sooner.
///
/// ```
/// use stackwright_policies::congestion::NewReno;
/// use stackwright_transport::slots::Congestion;
/// assert_eq!(NewReno::new(1000).window(), 10_000);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NewReno {
    packet: u64,
    ramp: Ramp,
    undo: Undo<Ramp>,
    hystart: HyStart,
    /// The smoothed round trip, from which the pace follows.
    round_trip: Nanoseconds,
    sent_at: Instant,
}

/// All that a timeout or a loss changes.
#[derive(Clone, Copy, Debug)]
struct Ramp {
    window: u64,
    /// [`u64::MAX`] in the first slow start.
    threshold: u64,
    /// Octets that were acknowledged beyond the threshold since the window last grew.
    arrived: u64,
    episode: Episode,
}

impl NewReno {
    /// Creates the window for packets of `packet` octets.
    pub const fn new(packet: u64) -> Self {
        NewReno {
            packet,
            ramp: Ramp {
                window: FIRST * packet,
                threshold: u64::MAX,
                arrived: 0,
                episode: Episode::new(),
            },
            undo: Undo::new(),
            hystart: HyStart::new(),
            round_trip: 0,
            sent_at: Instant::START,
        }
    }

    /// Lets slow start grow the window, or ends it.
    fn start(&mut self, view: &View, acknowledged: &Acknowledged) {
        let ramp = &mut self.ramp;
        let verdict = if ramp.threshold < u64::MAX {
            Verdict::Grows(acknowledged.octets)
        } else {
            self.hystart.judge(view, acknowledged, ramp.window / self.packet)
        };
        match verdict {
            Verdict::Grows(octets) => ramp.window = ramp.window.saturating_add(octets),
            // Without a curve that finds back, all of it is kept.
            Verdict::Over(_) => ramp.threshold = ramp.window,
        }
    }
}

impl Congestion for NewReno {
    #[inline]
    fn window(&self) -> u64 {
        self.ramp.window
    }

    fn on_opened(&mut self, view: &View, opening: &Opening) {
        let first = if opening.tries > 1 { FIRST_REPEATED } else { FIRST };
        self.ramp.window = first * self.packet;
        self.round_trip = view.rtt.smoothed;
    }

    fn on_sent(&mut self, view: &View) {
        // §4.1: after an idle time it is not known what the network takes.
        if view.idle && view.now.nanoseconds_since(self.sent_at) > view.rtt.timeout {
            self.ramp.window = self.ramp.window.min(FIRST * self.packet);
        }
        (self.sent_at, self.round_trip) = (view.now, view.rtt.smoothed);
    }

    fn on_acknowledged(&mut self, view: &View, acknowledged: &Acknowledged) {
        self.round_trip = view.rtt.smoothed;
        let is_paced = is_paced(self.round_trip);
        if !self.ramp.episode.grows(view) || !is_used(view, self.ramp.window, is_paced) {
            return;
        }
        if self.ramp.window < self.ramp.threshold {
            self.start(view, acknowledged);
            return;
        }
        let ramp = &mut self.ramp;
        ramp.arrived += acknowledged.octets;
        if ramp.arrived >= ramp.window {
            ramp.arrived -= ramp.window;
            ramp.window = ramp.window.saturating_add(self.packet);
        }
    }

    fn on_lost(&mut self, view: &View, _: u64) {
        self.round_trip = view.rtt.smoothed;
        let before = self.ramp;
        let ramp = &mut self.ramp;
        if ramp.episode.begins(view) {
            self.undo.on_lost(before);
            ramp.threshold = (view.in_flight / 2).max(LEAST * self.packet);
            (ramp.window, ramp.arrived) = (ramp.threshold, 0);
        }
    }

    fn on_marked(&mut self, view: &View, _: u32) {
        // RFC 3168 §6.1.2: as if one had been lost.
        self.on_lost(view, 0);
        self.undo = Undo::new(); // a mark is never spurious
    }

    fn on_marks_refuted(&mut self, _: &View, window: u64) {
        self.ramp.window = self.ramp.window.max(window);
        self.ramp.threshold = self.ramp.threshold.max(window);
    }

    fn heeds_marks(&self) -> bool {
        true
    }

    fn on_timeout(&mut self, view: &View) {
        self.round_trip = view.rtt.smoothed;
        if self.undo.on_timeout(view, self.ramp) {
            self.ramp.threshold = (view.in_flight / 2).max(LEAST * self.packet);
        }
        self.ramp.episode.is_silent(view);
        (self.ramp.window, self.ramp.arrived) = (LEAST * self.packet, 0);
    }

    fn on_spurious(&mut self, view: &View) {
        self.round_trip = view.rtt.smoothed;
        if let Some(before) = self.undo.take().filter(|before| before.window > self.ramp.window) {
            self.ramp = before;
        }
    }

    #[inline]
    fn pace(&self) -> Option<NonZeroU64> {
        pace(self.ramp.window, self.ramp.window < self.ramp.threshold, self.round_trip)
    }
}

component! {
    NewReno: "congestion by NewReno", "starts slowly and halves with a loss",
    needs: Property::REPORTS, gives: Property::PACES,
}
