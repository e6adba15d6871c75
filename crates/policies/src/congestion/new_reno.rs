//! Slow start and congestion avoidance.

use stackwright_contract::Instant;
use stackwright_transport::slots::Congestion;
use stackwright_transport::words::View;
use stackwright_transport::{Acknowledged, component};

use super::episode::{Episode, FIRST, LEAST, is_used};

/// Controls the window as TCP does classically (RFC 5681), with one halving for all that was lost
/// together (RFC 6582): slow start up to a threshold, beyond it a packet each round trip; one
/// packet after a retransmission timeout.
///
/// Octets are counted and not reports (RFC 3465): a report may acknowledge many packets, and a peer
/// gains nothing by acknowledging them one by one. A window that is not used does not grow.
///
/// Choose it as the control that is understood best; [`Cubic`](super::Cubic) fills a long fast path
/// sooner.
///
/// ```
/// use stackwright_policies::congestion::NewReno;
/// use stackwright_transport::slots::Congestion;
/// assert_eq!(NewReno::new(1000).window(), 3000);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NewReno {
    packet: u64,
    window: u64,
    threshold: u64,
    /// Octets that were acknowledged beyond the threshold since the window last grew.
    arrived: u64,
    episode: Episode,
    sent_at: Instant,
}

impl NewReno {
    /// Creates the window for packets of `packet` octets.
    pub const fn new(packet: u64) -> Self {
        NewReno {
            packet,
            window: FIRST * packet,
            threshold: u64::MAX,
            arrived: 0,
            episode: Episode::new(),
            sent_at: Instant::START,
        }
    }
}

impl Congestion for NewReno {
    #[inline]
    fn window(&self) -> u64 {
        self.window
    }

    fn on_sent(&mut self, view: &View) {
        // §4.1: after an idle time it is not known what the network takes.
        if view.idle && view.now.nanoseconds_since(self.sent_at) > view.rtt.timeout {
            self.window = self.window.min(FIRST * self.packet);
        }
        self.sent_at = view.now;
    }

    fn on_acknowledged(&mut self, view: &View, acknowledged: &Acknowledged) {
        if !self.episode.grows(view) || !is_used(view, self.window) {
            return;
        }
        if self.window < self.threshold {
            self.window = self.window.saturating_add(acknowledged.octets);
            return;
        }
        self.arrived += acknowledged.octets;
        if self.arrived >= self.window {
            self.arrived -= self.window;
            self.window = self.window.saturating_add(self.packet);
        }
    }

    fn on_lost(&mut self, view: &View, _: u64) {
        if self.episode.begins(view) {
            self.threshold = (view.in_flight / 2).max(LEAST * self.packet);
            (self.window, self.arrived) = (self.threshold, 0);
        }
    }

    fn on_marked(&mut self, view: &View, _: u32) {
        // RFC 3168 §6.1.2: as if one had been lost.
        self.on_lost(view, 0);
    }

    fn heeds_marks(&self) -> bool {
        true
    }

    fn on_timeout(&mut self, view: &View) {
        self.episode.is_silent(view);
        (self.window, self.arrived) = (LEAST * self.packet, 0);
    }
}

component! {
    NewReno: "congestion by NewReno", "starts slowly and halves with a loss",
    needs: Property::REPORTS,
}
