//! A cubic function of the time since the last loss.

use stackwright_contract::Instant;
use stackwright_transport::slots::Congestion;
use stackwright_transport::words::View;
use stackwright_transport::{Acknowledged, component};

use super::episode::{Episode, FIRST, LEAST, is_used};

/// C, in packets per second cubed (RFC 9438 §5.1).
const STEEPNESS: f64 = 0.4;

/// β: what a loss leaves (§4.6).
const LEFT: f64 = 0.7;

/// α: by how much the window of a sender that halves would have to grow each round trip, so that
/// both get as much (§4.3).
const ALIKE: f64 = 3.0 * (1.0 - LEFT) / (1.0 + LEFT);

/// Grows the congestion window with a cubic function of the time since the last loss (CUBIC, RFC
/// 9438), flat where that loss was and steep far from it, whatever the round trip; a loss leaves
/// 0.7 of it. Where NewReno would be faster, it does as much.
///
/// Choose it for long and fast paths; it is what most of the Internet does.
///
/// ```
/// use stackwright_policies::congestion::Cubic;
/// use stackwright_transport::slots::Congestion;
/// assert_eq!(Cubic::new(1000).window(), 3000);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Cubic {
    packet: f64,
    /// In octets, as the next two; growth is less than an octet at times.
    window: f64,
    threshold: f64,
    /// Where the last loss was (W_max).
    plateau: f64,
    /// What NewReno would have (W_est).
    reno: f64,
    /// When the cubic function began, and after how many seconds it reaches the plateau (K).
    began: Option<(Instant, f64)>,
    episode: Episode,
    sent_at: Instant,
}

impl Cubic {
    /// Creates the window for packets of `packet` octets.
    pub const fn new(packet: u64) -> Self {
        Cubic {
            packet: packet as f64,
            window: (FIRST * packet) as f64,
            threshold: f64::MAX,
            plateau: 0.0,
            reno: 0.0,
            began: None,
            episode: Episode::new(),
            sent_at: Instant::START,
        }
    }

    /// W_cubic, `seconds` after it began (§4.2, figure 1).
    fn cubic(&self, seconds: f64, rise: f64) -> f64 {
        let from_plateau = seconds - rise;
        STEEPNESS * from_plateau * from_plateau * from_plateau * self.packet + self.plateau
    }

    fn begin(&mut self, view: &View) -> (Instant, f64) {
        if self.plateau < self.window {
            self.plateau = self.window; // §4.8: there was no loss to remember
        }
        self.reno = self.window;
        let rise = libm::cbrt((self.plateau - self.window) / self.packet / STEEPNESS);
        (view.now, rise)
    }

    fn avoid(&mut self, view: &View, octets: f64) {
        let (at, rise) = match self.began {
            Some(began) => began,
            None => self.begin(view),
        };
        self.began = Some((at, rise));
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        let since = seconds(view.now.nanoseconds_since(at));
        let alike = if self.reno < self.plateau { ALIKE } else { 1.0 };
        self.reno += alike * octets / self.window * self.packet;
        if self.cubic(since, rise) < self.reno {
            self.window = self.window.max(self.reno);
            return;
        }
        let target = self.cubic(since + seconds(view.rtt.smoothed), rise);
        let target = target.clamp(self.window, 1.5 * self.window);
        self.window += (target - self.window) / self.window * octets;
    }
}

impl Congestion for Cubic {
    #[inline]
    fn window(&self) -> u64 {
        self.window as u64
    }

    fn on_sent(&mut self, view: &View) {
        if view.idle {
            let idle = view.now.nanoseconds_since(self.sent_at);
            if idle > view.rtt.timeout {
                self.window = self.window.min(FIRST as f64 * self.packet);
            }
            // §5.8: time in which nothing was sent does not let the window grow.
            if let Some((at, _)) = &mut self.began {
                *at = at.later(idle);
            }
        }
        self.sent_at = view.now;
    }

    fn on_acknowledged(&mut self, view: &View, acknowledged: &Acknowledged) {
        if !self.episode.grows(view) || !is_used(view, self.window()) {
            return;
        }
        if self.window < self.threshold {
            self.window += acknowledged.octets as f64;
        } else {
            self.avoid(view, acknowledged.octets as f64);
        }
    }

    fn on_lost(&mut self, view: &View, _: u64) {
        if !self.episode.begins(view) {
            return;
        }
        // §4.7, fast convergence: a flow that got less than the last time leaves the rest to new
        // ones.
        let less = self.window < self.plateau;
        self.plateau = if less { self.window * (1.0 + LEFT) / 2.0 } else { self.window };
        self.threshold = (view.in_flight as f64 * LEFT).max(LEAST as f64 * self.packet);
        (self.window, self.began) = (self.threshold, None);
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
        // RFC 9002 §7.2: two packets, of which one must be lost both ways less often.
        (self.window, self.began) = (LEAST as f64 * self.packet, None);
    }
}

component! {
    Cubic: "congestion by CUBIC", "grows with the time since the last loss",
    needs: Property::REPORTS,
}
