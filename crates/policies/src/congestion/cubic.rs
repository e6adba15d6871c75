//! A cubic function of the time since the last loss.

use core::num::NonZeroU64;

use stackwright_contract::Instant;
use stackwright_transport::slots::Congestion;
use stackwright_transport::words::{Nanoseconds, Opening, SECOND, View};
use stackwright_transport::{Acknowledged, component};

use super::episode::{Episode, FIRST, FIRST_REPEATED, LEAST, Undo, is_used};
use super::hystart::{HyStart, Verdict};
use super::pacing::{is_paced, pace};

/// C, in packets per second cubed (RFC 9438 §5.1).
const STEEPNESS: f64 = 0.4;

/// β: what a loss leaves (§4.6).
const LEFT: f64 = 0.7;

/// α: by how much the window of a sender that halves would have to grow each round trip, so that
/// both get as much (§4.3).
const ALIKE: f64 = 3.0 * (1.0 - LEFT) / (1.0 + LEFT);

/// From this round trip on, where a queue makes it so long or fewer packets than these are
/// acknowledged each second, the cubic function of time is steeper than reports can show: it grows
/// by no more than a packet, or this part of the window, each round trip.
const LONG: Nanoseconds = SECOND;
const QUEUED: f64 = 1.25;
const FEW_EACH_SECOND: f64 = 3.0;
const LONG_PART: f64 = 8.0;

/// How much more than what the path holds is left of the window where a queue ends slow start, and
/// how little of it at least: a queue that grows is not worse than a loss.
const BESIDE_QUEUE: f64 = 1.1;
const BESIDE_QUEUE_LEAST: f64 = 0.5;

/// Grows the congestion window with a cubic function of the time since the last loss (CUBIC, RFC
/// 9438), flat where that loss was and steep far from it, whatever the round trip; a loss leaves
/// 0.7 of it. Where NewReno would be faster, it does as much.
///
/// - **The beginning.** Ten packets (RFC 6928), or one where the opening had to be repeated (RFC
///   5681 §3.1): that finds slow links. The first slow start ends where the round trip grows
///   (HyStart++, RFC 9406, and a sooner end where a queue of half the path stands), and not only
///   where a queue overflows.
/// - **A timeout** leaves two packets (RFC 9002 §7.2: where a quarter is lost each way, one alone
///   would take so long that the peer counts as gone); where it was spurious, everything is as
///   before (§4.9).
/// - **A pace** is named from a round trip of two milliseconds on, for
///   [`rate::PacedByCongestion`](crate::rate::PacedByCongestion): twice the window for each round
///   trip in slow start, and a quarter more than it otherwise.
/// - **Round trips of more than a second**, because of a queue or on a link of some packets a
///   second, let it grow by an eighth each: the cubic function of time, three seconds after a loss,
///   would be steeper than reports can show.
///
/// Choose it for long and fast paths; it is what most of the Internet does.
///
/// ```
/// use stackwright_policies::congestion::Cubic;
/// use stackwright_transport::slots::Congestion;
/// assert_eq!(Cubic::new(1000).window(), 10_000);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Cubic {
    packet: f64,
    curve: Curve,
    undo: Undo<Curve>,
    hystart: HyStart,
    /// The smoothed round trip, from which the pace follows.
    round_trip: Nanoseconds,
    sent_at: Instant,
}

/// All that a timeout or a loss changes.
#[derive(Clone, Copy, Debug)]
struct Curve {
    /// In octets, as the next two; growth is less than an octet at times.
    window: f64,
    /// [`f64::MAX`] in the first slow start.
    threshold: f64,
    /// Where the last loss was (W_max).
    plateau: f64,
    /// What NewReno would have (W_est).
    reno: f64,
    /// When the cubic function began, and after how many seconds it reaches the plateau (K).
    began: Option<(Instant, f64)>,
    episode: Episode,
}

impl Cubic {
    /// Creates the window for packets of `packet` octets.
    pub const fn new(packet: u64) -> Self {
        Cubic {
            packet: packet as f64,
            curve: Curve {
                window: (FIRST * packet) as f64,
                threshold: f64::MAX,
                plateau: 0.0,
                reno: 0.0,
                began: None,
                episode: Episode::new(),
            },
            undo: Undo::new(),
            hystart: HyStart::new(),
            round_trip: 0,
            sent_at: Instant::START,
        }
    }

    /// Creates the window for a path that holds `octets` octets: it grows slowly from there on.
    pub(super) fn inheriting(packet: u64, octets: u64) -> Self {
        let mut cubic = Cubic::new(packet);
        cubic.curve.window = octets.max(LEAST * packet) as f64;
        cubic.curve.threshold = cubic.curve.window;
        cubic
    }

    /// Lets slow start grow the window, or ends it.
    fn start(&mut self, view: &View, acknowledged: &Acknowledged) {
        let curve = &mut self.curve;
        if curve.threshold < f64::MAX {
            curve.window += acknowledged.octets as f64;
            return;
        }
        let packets = (curve.window / self.packet) as u64;
        match self.hystart.judge(view, acknowledged, packets) {
            Verdict::Grows(octets) => curve.window += octets as f64,
            Verdict::Over(part) => {
                let left = (part * BESIDE_QUEUE).clamp(BESIDE_QUEUE_LEAST, 1.0);
                curve.plateau = curve.window;
                curve.window = (curve.window * left).max(LEAST as f64 * self.packet);
                curve.threshold = curve.window;
            }
        }
    }
}

impl Curve {
    /// W_cubic, `seconds` after it began (§4.2, figure 1).
    fn cubic(&self, packet: f64, seconds: f64, rise: f64) -> f64 {
        let from_plateau = seconds - rise;
        STEEPNESS * from_plateau * from_plateau * from_plateau * packet + self.plateau
    }

    fn begin(&mut self, packet: f64, view: &View) -> (Instant, f64) {
        if self.plateau < self.window {
            self.plateau = self.window; // §4.8: there was no loss to remember
        }
        self.reno = self.window;
        let rise = libm::cbrt((self.plateau - self.window) / packet / STEEPNESS);
        (view.now, rise)
    }

    /// Lets congestion avoidance grow the window.
    fn avoid(&mut self, packet: f64, view: &View, octets: f64) {
        let (at, rise) = match self.began {
            Some(began) => began,
            None => self.begin(packet, view),
        };
        self.began = Some((at, rise));
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        let since = seconds(view.now.nanoseconds_since(at));
        let alike = if self.reno < self.plateau { ALIKE } else { 1.0 };
        self.reno += alike * octets / self.window * packet;
        if self.cubic(packet, since, rise) < self.reno {
            self.window = self.window.max(self.reno);
            return;
        }
        let round_trip = view.rtt.smoothed;
        // While a queue grows, the smoothed round trip is what it was long ago: the timeout is not.
        let few = FEW_EACH_SECOND * packet * seconds(view.rtt.timeout);
        let is_queued = round_trip as f64 > QUEUED * view.rtt.least as f64;
        let most = if round_trip > LONG && (is_queued || self.window < few) {
            self.window + packet.max(self.window / LONG_PART)
        } else {
            1.5 * self.window
        };
        let target = self.cubic(packet, since + seconds(round_trip), rise);
        let target = target.clamp(self.window, most);
        self.window += (target - self.window) / self.window * octets;
    }

    /// Returns the threshold that a loss leaves (§4.6).
    fn threshold(view: &View, packet: f64) -> f64 {
        (view.in_flight as f64 * LEFT).max(LEAST as f64 * packet)
    }
}

impl Congestion for Cubic {
    #[inline]
    fn window(&self) -> u64 {
        self.curve.window as u64
    }

    fn on_opened(&mut self, view: &View, opening: &Opening) {
        let first = if opening.tries > 1 { FIRST_REPEATED } else { FIRST };
        self.curve.window = first as f64 * self.packet;
        self.round_trip = view.rtt.smoothed;
    }

    fn on_sent(&mut self, view: &View) {
        if view.idle {
            let idle = view.now.nanoseconds_since(self.sent_at);
            if idle > view.rtt.timeout {
                self.curve.window = self.curve.window.min(FIRST as f64 * self.packet);
            }
            // §5.8: time in which nothing was sent does not let the window grow.
            if let Some((at, _)) = &mut self.curve.began {
                *at = at.later(idle);
            }
        }
        (self.sent_at, self.round_trip) = (view.now, view.rtt.smoothed);
    }

    fn on_acknowledged(&mut self, view: &View, acknowledged: &Acknowledged) {
        self.round_trip = view.rtt.smoothed;
        let is_paced = is_paced(self.round_trip);
        if !self.curve.episode.grows(view) || !is_used(view, self.window(), is_paced) {
            return;
        }
        if self.curve.window < self.curve.threshold {
            self.start(view, acknowledged);
        } else {
            self.curve.avoid(self.packet, view, acknowledged.octets as f64);
        }
    }

    fn on_lost(&mut self, view: &View, _: u64) {
        self.round_trip = view.rtt.smoothed;
        let before = self.curve;
        let curve = &mut self.curve;
        if !curve.episode.begins(view) {
            return;
        }
        self.undo.on_lost(before);
        // §4.7, fast convergence: a flow that got less than the last time leaves the rest to new
        // ones.
        let less = curve.window < curve.plateau;
        curve.plateau = if less { curve.window * (1.0 + LEFT) / 2.0 } else { curve.window };
        curve.threshold = Curve::threshold(view, self.packet);
        (curve.window, curve.began) = (curve.threshold, None);
    }

    fn on_marked(&mut self, view: &View, _: u32) {
        // RFC 3168 §6.1.2: as if one had been lost.
        self.on_lost(view, 0);
        self.undo = Undo::new(); // a mark is never spurious
    }

    fn on_marks_refuted(&mut self, _: &View, window: u64) {
        let (curve, window) = (&mut self.curve, window as f64);
        curve.window = curve.window.max(window);
        curve.threshold = curve.threshold.max(window);
        // §4.8: there was no loss to remember.
        (curve.plateau, curve.began) = (0.0, None);
    }

    fn heeds_marks(&self) -> bool {
        true
    }

    fn on_timeout(&mut self, view: &View) {
        self.round_trip = view.rtt.smoothed;
        let is_first = self.undo.on_timeout(view, self.curve);
        let curve = &mut self.curve;
        if is_first {
            curve.threshold = Curve::threshold(view, self.packet);
        }
        curve.episode.is_silent(view);
        // §4.8: the curve that follows begins where the window is then.
        let window = LEAST as f64 * self.packet;
        (curve.window, curve.plateau, curve.began) = (window, 0.0, None);
    }

    fn on_spurious(&mut self, view: &View) {
        self.round_trip = view.rtt.smoothed;
        if let Some(before) = self.undo.take().filter(|before| before.window > self.curve.window) {
            self.curve = before;
        }
    }

    #[inline]
    fn pace(&self) -> Option<NonZeroU64> {
        pace(self.window(), self.curve.window < self.curve.threshold, self.round_trip)
    }
}

component! {
    Cubic: "congestion by CUBIC", "grows with the time since the last loss",
    needs: Property::REPORTS, gives: Property::PACES,
}
