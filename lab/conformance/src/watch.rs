//! What is recorded of a flow: its window and its pace after every event.

use stackwright_contract::{Duration, Instant};

use crate::bottleneck::Bottleneck;

/// How many points a curve has.
const POINTS: u32 = 150;

/// What a judge did.
#[derive(Clone, Debug)]
pub struct Figures {
    /// What was delivered, of what the path can carry of payload.
    pub share: f64,
    /// How many packets arrived for the first time.
    pub arrived: u64,
    /// How many were sent beyond those.
    pub resent: u64,
    /// How many packets arrived whose first copy had arrived.
    pub duplicates: u64,
    /// How often the retransmission timer expired.
    pub timeouts: u64,
    /// How often the window fell to less than a quarter at once.
    pub collapses: u64,
    /// How often it came back at once after that.
    pub restored: u64,
    /// The least pace as a factor of a window for each smoothed round trip, where it named one.
    pub pace: Option<f64>,
    /// The curves.
    pub points: Vec<Point>,
}

/// A point of the curves.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// In seconds.
    pub at: f64,
    /// In octets.
    pub window: u64,
    /// Of what the path can carry of payload, since the point before.
    pub goodput: f64,
}

/// Records what a flow does.
pub(crate) struct Watch {
    began: Instant,
    lasts: Duration,
    /// Payload in octets per second.
    limit: f64,
    window: u64,
    before_collapse: Option<u64>,
    collapses: u64,
    restored: u64,
    pace: Option<f64>,
    points: Vec<Point>,
    /// What had been delivered at the last point.
    delivered: u64,
}

impl Watch {
    pub(crate) fn new(began: Instant, lasts: Duration, limit: f64) -> Self {
        Watch {
            began,
            lasts,
            limit,
            window: 0,
            before_collapse: None,
            collapses: 0,
            restored: 0,
            pace: None,
            points: Vec::new(),
            delivered: 0,
        }
    }

    /// Looks at the first flow after an event.
    pub(crate) fn see(&mut self, bottleneck: &Bottleneck) {
        let (window, pace, rtt) = bottleneck.judged(0);
        if window < self.window / 4 {
            self.collapses += 1;
            self.before_collapse = Some(self.window);
        } else if let Some(before) = self.before_collapse.filter(|_| window > self.window) {
            // Slow start takes many events for as much.
            if self.window < before / 2 && window >= before / 10 * 9 {
                self.restored += 1;
                self.before_collapse = None;
            }
        }
        self.window = window;
        if let Some(pace) = pace.filter(|_| rtt.smoothed > 0 && window > 0) {
            let factor = pace as f64 * rtt.smoothed as f64 / 1e9 / window as f64;
            self.pace = Some(self.pace.map_or(factor, |least| least.min(factor)));
        }
        let each = self.lasts / POINTS;
        while self.began + each * (self.points.len() as u32 + 1) <= bottleneck.now() {
            self.point(bottleneck.delivered(0), each);
        }
    }

    fn point(&mut self, delivered: u64, each: Duration) {
        let goodput = (delivered - self.delivered) as f64 / each.as_secs_f64() / self.limit;
        self.delivered = delivered;
        let at = (each * (self.points.len() as u32 + 1)).as_secs_f64();
        self.points.push(Point { at, window: self.window, goodput });
    }

    pub(crate) fn figures(self, bottleneck: &Bottleneck) -> Figures {
        let counts = bottleneck.counts();
        let on_the_way = bottleneck.on_the_way();
        // The links have no other loss than these, and a packet that is on its way is in neither.
        let arrived = counts.delivered - on_the_way - bottleneck.duplicates;
        Figures {
            share: bottleneck.delivered(0) as f64 / self.lasts.as_secs_f64() / self.limit,
            arrived,
            resent: counts.offered - on_the_way - arrived,
            duplicates: bottleneck.duplicates,
            timeouts: bottleneck.timeouts,
            collapses: self.collapses,
            restored: self.restored,
            pace: self.pace,
            points: self.points,
        }
    }
}
