//! Whether loss comes of a queue.

use stackwright_transport::words::{MILLISECOND, Nanoseconds};

use super::LEAST;
use super::path::HARDLY;

/// How many of a hundred octets may be lost in a round trip with a queue (§2.7, LossThresh).
const MANY: u64 = 2;

/// The most octets that are believed to have met congestion in a round trip.
const MARKED_MOST: u64 = 1 << 48;

/// The smoothed share of what is lost is in these parts of one, and a round trip counts for one in
/// [`SMOOTHED`] of it.
const PARTS: u64 = 1 << 16;
const SMOOTHED: u64 = 8;

/// The factor of the rate where a queue stands.
const YIELDING: f64 = 0.97;

/// What a congestion leaves of what was in flight, in tenths (§2.7, Beta).
const LEFT: u64 = 7;

#[derive(Clone, Copy, Debug)]
pub(super) struct Losses {
    /// Of this round trip, in octets.
    lost: u64,
    arrived: u64,
    /// How many octets of what arrived met congestion, as routers say.
    marked: u64,
    /// The shortest round trip, and the most in flight, in this round trip.
    least: Nanoseconds,
    in_flight: u64,
    /// What may be in flight (`inflight_longterm`), and what might before it was last lowered for
    /// loss alone.
    most: u64,
    before: u64,
    /// The smoothed share of what is sent that is lost.
    share: u64,
    /// Whether a queue stood in the last round trip, however short.
    stood: bool,
}

impl Losses {
    pub(super) const fn new() -> Self {
        Losses {
            lost: 0,
            arrived: 0,
            marked: 0,
            least: Nanoseconds::MAX,
            in_flight: 0,
            most: u64::MAX,
            before: 0,
            share: 0,
            stood: false,
        }
    }

    pub(super) fn most(&self) -> u64 {
        self.most
    }

    /// Returns the factor of what arrives that is to be sent: less where a queue stands, which
    /// other flows may fill, too. Else what is usually lost is made up for, as far as that is not
    /// [`MANY`].
    pub(super) fn gain(&self) -> f64 {
        if self.stood {
            return YIELDING;
        }
        let share = self.share.min(MANY * PARTS / 100);
        PARTS as f64 / (PARTS - share) as f64
    }

    pub(super) fn lost(&mut self, octets: u64) {
        self.lost += octets;
    }

    /// Forgets the bound: it came of marks that were none of congestion.
    pub(super) fn forget_bound(&mut self) {
        (self.most, self.marked) = (u64::MAX, 0);
    }

    /// Records that what was last taken for lost had arrived.
    pub(super) fn undo(&mut self) {
        (self.lost, self.most, self.before) = (0, self.most.max(self.before), 0);
    }

    pub(super) fn marked(&mut self, octets: u64) {
        // A peer may claim anything: it is compared with a hundred times what was sent.
        self.marked = self.marked.saturating_add(octets).min(MARKED_MOST);
    }

    pub(super) fn see(&mut self, octets: u64, took: Option<Nanoseconds>, in_flight: u64) {
        self.arrived += octets;
        self.least = self.least.min(took.unwrap_or(Nanoseconds::MAX));
        self.in_flight = self.in_flight.max(in_flight);
    }

    /// Raises the bound by a quarter of what arrives, where more is sent to see whether it passes:
    /// as fast as the rate rises.
    pub(super) fn relent(&mut self, octets: u64) {
        self.most = self.most.saturating_add(octets / 4);
    }

    /// Returns whether more than a third was lost, of packets of `packet` octets, and not by
    /// chance: by more than two standard deviations of a third. Of few packets, half are soon lost.
    fn loses_a_third(&self, packet: u64) -> bool {
        let packets = |octets: u64| octets / packet.max(1);
        let (lost, sent) = (packets(self.lost), packets(self.lost + self.arrived));
        let excess = (3 * lost).saturating_sub(sent);
        excess.saturating_mul(excess) > 8 * sent
    }

    /// Ends a round trip of packets of `packet` octets, where the shortest ever is `least`. Returns
    /// whether it was congested: more than `few` octets were lost or marked, and those are more
    /// than [`MANY`] in a hundred where a queue stood or a router marked, or more than a third was
    /// lost in any case.
    pub(super) fn judge(&mut self, least: Nanoseconds, packet: u64, few: u64) -> bool {
        let sent = self.lost + self.arrived;
        let exceeds = |octets: u64, percent: u64| 100 * octets > percent * sent;
        let queued =
            self.least != Nanoseconds::MAX && self.least > least + (least / 4).max(MILLISECOND);
        // A mark says that a queue stands, however short.
        let congested = self.lost + self.marked > few
            && (self.loses_a_third(packet)
                || (queued || self.marked > 0) && exceeds(self.lost + self.marked, MANY));
        if congested {
            self.before = if self.marked > 0 { 0 } else { self.most };
            self.most = self.most.min(self.in_flight / 10 * LEFT).max(LEAST * packet);
        }
        let share = (self.lost * PARTS).checked_div(sent).unwrap_or(0);
        let share = ((SMOOTHED - 1) * self.share + share) / SMOOTHED;
        let stood = self.least != Nanoseconds::MAX
            && self.least > least + (least / HARDLY).max(MILLISECOND);
        *self = Losses { most: self.most, before: self.before, share, stood, ..Losses::new() };
        congested
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP: Nanoseconds = 20 * MILLISECOND;

    /// Returns the factor after round trips of this length, in each of which `lost` octets of a
    /// million are lost.
    fn gain(took: Nanoseconds, lost: u64) -> f64 {
        let mut losses = Losses::new();
        for _ in 0..100 {
            losses.lost(lost);
            losses.see(1_000_000 - lost, Some(took), 0);
            assert!(!losses.judge(ROUND_TRIP, 1000, 0));
        }
        losses.gain()
    }

    #[test]
    fn what_is_lost_without_congestion_is_made_up_for_up_to_two_in_a_hundred() {
        assert!((gain(ROUND_TRIP, 0) - 1.0).abs() < 1e-9);
        assert!((gain(ROUND_TRIP, 10_000) - 1.0 / 0.99).abs() < 1e-3);
        assert!(
            (gain(ROUND_TRIP, 100_000) - 1.0 / 0.98).abs() < 1e-3,
            "a queue that is too short to be seen loses as much"
        );
    }

    /// Where a packet of the first ten is lost, and the host is late once.
    #[test]
    fn a_few_losses_say_nothing_where_next_to_nothing_was_sent() {
        let congested = |few| {
            let mut losses = Losses::new();
            losses.lost(1000);
            losses.see(9000, Some(2 * ROUND_TRIP), 10_000);
            losses.judge(ROUND_TRIP, 1000, few)
        };
        assert!(congested(0) && !congested(5000));
    }

    #[test]
    fn where_a_queue_stands_less_is_sent_whatever_is_lost() {
        for lost in [0, 10_000] {
            assert_eq!(gain(ROUND_TRIP + ROUND_TRIP / 8, lost), YIELDING);
        }
    }

    /// Half of four packets, where a fifth is lost by chance, is no sign; nearly all of ten are.
    #[test]
    fn a_third_that_is_lost_by_chance_is_no_congestion() {
        for (lost, sent, congested) in [
            (2, 4, false),
            (3, 4, false),
            (6, 10, false),
            (7, 10, true),
            (15, 30, false),
            (16, 30, true),
            (360, 1000, false),
            (370, 1000, true),
        ] {
            let mut losses = Losses::new();
            losses.lost(1000 * lost);
            losses.see(1000 * (sent - lost), Some(ROUND_TRIP), 0);
            assert_eq!(losses.judge(ROUND_TRIP, 1000, 0), congested, "{lost} of {sent}");
        }
    }
}
