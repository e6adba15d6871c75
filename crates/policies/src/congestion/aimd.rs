//! Additive increase, multiplicative decrease.

use stackwright_contract::Instant;
use stackwright_transport::slots::Congestion;
use stackwright_transport::words::View;
use stackwright_transport::{Acknowledged, component};

use super::episode::Undo;

/// Adds a packet to the congestion window each round trip, and halves it with a loss (AIMD). It
/// begins with three packets, grows by a packet's square over the window with each packet that is
/// acknowledged (but by no more than a packet with each report), halves at most once a round trip,
/// never below where it began, and begins anew after an idle time. There is no slow start (ARTP
/// §1.4.5).
///
/// Only what was not acknowledged before counts, so that a peer gains nothing by acknowledging
/// often.
///
/// Choose it to do what the document does; [`Cubic`](super::Cubic) finds a fast path sooner.
///
/// ```
/// use stackwright_policies::congestion::Aimd;
/// use stackwright_transport::slots::Congestion;
/// assert_eq!(Aimd::new(1000).window(), 3000);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Aimd {
    packet: u64,
    window: u64,
    /// No loss before this counts: it is the same congestion.
    cut_until: Instant,
    sent_at: Instant,
    undo: Undo<u64>,
}

impl Aimd {
    /// Creates the window for packets of `packet` octets.
    pub const fn new(packet: u64) -> Self {
        let (cut_until, sent_at) = (Instant::START, Instant::START);
        Aimd { packet, window: 3 * packet, cut_until, sent_at, undo: Undo::new() }
    }

    fn first(&self) -> u64 {
        3 * self.packet
    }
}

impl Congestion for Aimd {
    #[inline]
    fn window(&self) -> u64 {
        self.window
    }

    fn on_sent(&mut self, view: &View) {
        if view.idle && view.now.nanoseconds_since(self.sent_at) > view.rtt.timeout {
            self.window = self.first();
        }
        self.sent_at = view.now;
    }

    fn on_acknowledged(&mut self, _: &View, acknowledged: &Acknowledged) {
        // Divided once for all that a report acknowledges.
        let grows = acknowledged.units * self.packet * self.packet / self.window;
        self.window += grows.clamp(acknowledged.units, self.packet.max(acknowledged.units));
    }

    fn on_lost(&mut self, view: &View, _: u64) {
        if view.now >= self.cut_until {
            self.undo.on_lost(self.window);
            self.window = (self.window / 2).max(self.first());
            self.cut_until = view.now.later(view.rtt.smoothed);
        }
    }

    fn on_timeout(&mut self, view: &View) {
        // The document knows no other answer: a loss is whatever is sent again.
        let before = self.window;
        self.on_lost(view, 0);
        self.undo.on_timeout(view, before);
    }

    fn on_spurious(&mut self, _: &View) {
        self.window = self.window.max(self.undo.take().unwrap_or(0));
    }

    fn on_marked(&mut self, view: &View, _: u32) {
        // RFC 3168 §6.1.2: as if one had been lost.
        self.on_lost(view, 0);
        self.undo = Undo::new(); // a mark is never spurious
    }

    fn on_marks_refuted(&mut self, _: &View, window: u64) {
        self.window = self.window.max(window);
    }

    fn heeds_marks(&self) -> bool {
        true
    }
}

component! {
    Aimd: "congestion by AIMD", "adds a packet each round trip and halves with a loss",
    needs: Property::REPORTS,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the window after `trips` round trips, in each of which a full one is acknowledged,
    /// by reports of `report` packets.
    fn after(trips: u64, report: u64) -> u64 {
        let mut aimd = Aimd::new(1000);
        for _ in 0..trips {
            let mut left = aimd.window() / 1000;
            while left > 0 {
                let units = left.min(report);
                aimd.on_acknowledged(
                    &View::START,
                    &Acknowledged { units, octets: 1000 * units, ..Acknowledged::default() },
                );
                left -= units;
            }
        }
        aimd.window()
    }

    #[test]
    fn it_grows_by_a_packet_each_round_trip_however_many_packets_a_report_acknowledges() {
        for report in [1, 2, 7, 1000] {
            let grown = after(100, report) - 3000;
            assert!((94_000..=100_000).contains(&grown), "{report}: {grown}");
        }
    }

    #[test]
    fn it_grows_by_no_more_than_a_packet_with_a_report_and_always_by_something() {
        let mut aimd = Aimd::new(1000);
        let acknowledged = |units| Acknowledged { units, ..Acknowledged::default() };
        aimd.on_acknowledged(&View::START, &acknowledged(500));
        assert_eq!(aimd.window(), 4000);
        aimd.window = 1 << 40;
        aimd.on_acknowledged(&View::START, &acknowledged(3));
        assert_eq!(aimd.window(), (1 << 40) + 3);
    }
}
