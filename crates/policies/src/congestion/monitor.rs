//! What the last round trips show of a path.

use alloc::boxed::Box;

use stackwright_contract::Instant;
use stackwright_transport::Acknowledged;
use stackwright_transport::words::{MILLISECOND, Nanoseconds, SECOND, View};

/// For how long the shortest round trip counts: twice this at the most.
const LEAST_COUNTS: Nanoseconds = 2 * SECOND;

/// A stretch ends with a round trip, once it has at least so many packets: fewer say little about
/// loss.
const PACKETS: f64 = 16.0;

/// How many stretches count.
const STRETCHES: usize = 16;

/// The part of the greatest rate that each stretch leaves: with a queue, the path was full, and
/// shows its rate; without one, there may have been too little to send, or too small a window.
const RATE_LEFT: f64 = 31.0 / 32.0;
const RATE_LEFT_UNFILLED: f64 = 511.0 / 512.0;

/// The share of lost packets is believed once packets were lost in so many stretches: one burst, of
/// a queue that overflows, is not enough. More are needed, in proportion, where up to one lost
/// packet would be expected anyway.
const LOSSY: f64 = 2.5;
const BEYOND: f64 = 3.0;

/// Where less than this part of what the path carries arrived, no queue of it was full, and one
/// stretch counts as three.
const FULL: f64 = 0.8;
const NOT_FULL: u32 = 3;

/// The window doubles at first until something is lost, much in a row: that says nothing, for so
/// many stretches, or until one without loss.
const START: u32 = 8;

/// Packets in flight times the root of the share that is lost, of a window that takes each loss for
/// congestion (Mathis et al.).
const MATHIS: f64 = 1.2;

/// What came of the packets of a stretch.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// In octets.
    lost: u64,
    arrived: u64,
    /// The shortest time that a packet took.
    shortest: Nanoseconds,
    /// Whether as much arrived as the path was known to carry.
    is_full: bool,
}

impl Stretch {
    const NOTHING: Self =
        Stretch { lost: 0, arrived: 0, shortest: Nanoseconds::MAX, is_full: true };

    /// Returns whether a queue stood on a path whose shortest round trip is this. What is lost of a
    /// queue is congestion: it says nothing of the path.
    fn is_queued(&self, least: Nanoseconds) -> bool {
        self.shortest != Nanoseconds::MAX && self.shortest > least + (least / 4).max(MILLISECOND)
    }

    /// Returns whether it was of another path, one that is no longer there.
    fn is_past(&self, least: Nanoseconds) -> bool {
        self.shortest < least - least / 4
    }
}

/// What the last stretches show of loss without a queue.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    /// In octets.
    lost: u64,
    sent: u64,
    /// In how many stretches; those of a path that was not full count more.
    stretches: u32,
}

/// Counts what arrives and what is lost. A queue is told from a longer path later, so the last
/// stretches are kept as they were, and judged by what is known now.
#[derive(Clone, Debug)]
pub(super) struct Monitor {
    packet: f64,
    stretch: Stretch,
    /// When it began, and the number that ends it.
    began: Instant,
    upto: u64,
    last: Box<[Stretch; STRETCHES]>,
    /// The place of the oldest.
    next: usize,
    losses: Losses,
    /// How many stretches with losses may still be of the start.
    start: u32,
    /// The shortest time of late, and of the time before that.
    least: [Nanoseconds; 2],
    least_since: Instant,
    /// The greatest rate of late, in octets per nanosecond.
    rate: f64,
}

impl Monitor {
    pub(super) fn new(packet: u64) -> Self {
        Monitor {
            packet: packet as f64,
            stretch: Stretch::NOTHING,
            began: Instant::START,
            upto: 0,
            last: Box::new([Stretch::NOTHING; STRETCHES]),
            next: 0,
            losses: Losses::default(),
            start: START,
            least: [Nanoseconds::MAX; 2],
            least_since: Instant::START,
            rate: 0.0,
        }
    }

    /// Returns the share of what is sent that is lost without a queue.
    pub(super) fn lost(&self) -> f64 {
        self.losses.lost as f64 / self.losses.sent.max(1) as f64
    }

    /// Returns the shortest round trip of late; 0 before one was measured.
    pub(super) fn least(&self) -> Nanoseconds {
        let least = self.least[0].min(self.least[1]);
        if least == Nanoseconds::MAX { 0 } else { least }
    }

    /// Returns how many octets the path holds.
    pub(super) fn holds(&self) -> u64 {
        (self.rate * self.least() as f64) as u64
    }

    /// Returns whether so much is lost again and again that a `gain` is no accident.
    pub(super) fn is_sure(&self, gain: f64) -> bool {
        let holds = (self.holds() as f64 / self.packet).max(1.0);
        let root = MATHIS * gain / holds;
        let expected = root * root * self.losses.sent as f64 / self.packet;
        f64::from(self.losses.stretches) >= LOSSY + BEYOND * expected.min(1.0)
    }

    /// Returns how much more arrives where loss is not taken for congestion than where it is.
    pub(super) fn gain(&self) -> f64 {
        let holds = self.holds() as f64 / self.packet;
        let keeps = MATHIS / libm::sqrt(self.lost().max(1e-9));
        (1.0 - self.lost()) / (keeps / holds.max(1.0)).min(1.0)
    }

    pub(super) fn on_lost(&mut self, octets: u64) {
        self.stretch.lost += octets;
    }

    /// Records what was acknowledged. Returns whether a stretch is over.
    pub(super) fn see(&mut self, view: &View, acknowledged: &Acknowledged) -> bool {
        self.stretch.arrived += acknowledged.octets;
        if let Some(at) = acknowledged.measured() {
            let took = view.now.nanoseconds_since(at);
            self.stretch.shortest = self.stretch.shortest.min(took);
        }
        let sent = (self.stretch.lost + self.stretch.arrived) as f64;
        if view.settled_upto < self.upto || sent < PACKETS * self.packet {
            return false;
        }
        self.end(view);
        self.upto = view.sent_upto;
        true
    }

    /// Ends a stretch.
    fn end(&mut self, view: &View) {
        if view.now.nanoseconds_since(self.least_since) > LEAST_COUNTS {
            self.least = [Nanoseconds::MAX, self.least[0]];
            self.least_since = view.now;
        }
        let mut stretch = core::mem::replace(&mut self.stretch, Stretch::NOTHING);
        self.least[0] = self.least[0].min(stretch.shortest);
        let least = self.least();
        let took = view.now.nanoseconds_since(self.began).max(1);
        let rate = stretch.arrived as f64 / took as f64;
        stretch.is_full = rate >= FULL * self.rate;
        let left = if stretch.is_queued(least) { RATE_LEFT } else { RATE_LEFT_UNFILLED };
        self.rate = rate.max(self.rate * left);
        self.began = view.now;
        if stretch.lost == 0 && self.start < START {
            self.start = 0;
        } else if stretch.lost > 0 && self.start > 0 {
            self.start -= 1;
            stretch.lost = 0;
        }
        self.last[self.next] = stretch;
        self.next = (self.next + 1) % STRETCHES;
        self.losses = self.losses_at(least);
    }

    /// Counts the losses of a path whose shortest round trip is this.
    fn losses_at(&self, least: Nanoseconds) -> Losses {
        let mut losses = Losses::default();
        let (newer, older) = self.last.split_at(self.next);
        let mut was_full = true;
        for stretch in older.iter().chain(newer).filter(|one| !one.is_past(least)) {
            let lost = if stretch.is_queued(least) { 0 } else { stretch.lost };
            losses.lost += lost;
            losses.sent += lost + stretch.arrived;
            // What is missed now was sent in the stretch before.
            let counts = if stretch.is_full || was_full { 1 } else { NOT_FULL };
            losses.stretches += if lost > 0 { counts } else { 0 };
            was_full = stretch.is_full;
        }
        losses
    }
}
