//! BBR: a model of the path, and not a loss, says how much and how fast.
//!
//! | file | what |
//! | --- | --- |
//! | `mod.rs` | the policy |
//! | `path.rs` | the model: rate, round trip, aggregation of reports |
//! | `cycle.rs` | the phases: startup, drain, probing of the rate and of the round trip |
//! | `loss.rs` | whether loss comes of a queue |
//! | `delivery.rs` | how fast what was sent arrived |
//! | `greatest.rs` | a windowed maximum |

mod cycle;
mod delivery;
mod greatest;
mod loss;
mod path;

use core::num::NonZeroU64;

use stackwright_transport::slots::Congestion;
use stackwright_transport::words::{MILLISECOND, Opening, SECOND, View};
use stackwright_transport::{Acknowledged, component};

use super::episode::{FIRST, FIRST_REPEATED};
use super::pacing::is_paced;
use cycle::{Cycle, Phase};
use delivery::Delivery;
use loss::Losses;
use path::Path;

/// The least window in packets.
const LEAST: u64 = 4;

/// How many packets may be lost in a round trip of startup: one more says that the path is full
/// (§5.3.1.3).
const STARTUP_LOST_MOST: u64 = 5;

/// A burst is a millisecond of the rate, at least two packets and at most what one system call
/// sends (§5.6.3).
const BURST_MOST: u64 = 64 << 10;

/// Measures how fast what was sent arrives and how long the shortest round trip takes, keeps twice
/// as much in flight as the path holds, and names a pacing rate, which
/// [`rate::PacedByCongestion`](crate::rate::PacedByCongestion) follows (BBR, draft-ietf-ccwg-bbr).
///
/// - **The model.** The rate is the greatest of ten round trips (§5.5.5, as in BBRv1: two cycles of
///   probing are about as long), the round trip the shortest of ten seconds (§5.5.7), after which
///   it is measured anew with half of that in flight (§5.3.4). A round trip that is hardly longer
///   than the shortest shows that no queue stands: then it need not be measured anew.
/// - **The phases.** Startup doubles until three round trips bring no quarter more (§5.3.1), then
///   the queue is drained (§5.3.2); a cycle follows of a quarter more, a quarter less, and two to
///   six round trips as measured (§5.3.3, with BBRv1's gains).
/// - **Short paths**, below two milliseconds, on which nothing was lost yet, are not paced: a timer
///   is coarser than they are, and packets that leave together cost less.
/// - **A timeout** leaves two packets, and the model as it was: the window doubles until it is that
///   of the model again.
/// - **Loss** bounds what is in flight (§5.5.10, 2 % of a round trip) only where even the shortest
///   round trip of that time was a quarter, and a millisecond, longer than the shortest of all:
///   then a queue stood, and loss comes of it. Loss without a queue is no congestion, be it a
///   tenth, and more congestion control would not help. A loss of a third counts in any case,
///   unless so much of few packets may be lost by chance: there the queue may be too short to be
///   seen.
/// - **The rate** is what arrives: as long as no queue stands, what is lost all the same is sent
///   beside it, up to 2 %, or the path would never be quite full. Where a queue stands, 3 % less is
///   sent: other flows may fill it, too.
/// - **ECN marks** (RFC 3168), which the draft leaves open, count as much as losses do where a
///   queue stands: a mark says that one does.
///
/// Left out of the draft: the short-term bounds (`bw_shortterm`, `inflight_shortterm`), the phase
/// REFILL, the headroom and the recovery of single losses; a loss is sent again within window and
/// pace.
///
/// Choose it where something is lost without congestion, or that is not known, and much is to be
/// sent. Two flows with it share; beside one of [`Cubic`](super::Cubic) it keeps its part. Where
/// queues are far shorter than what the path holds, it takes more than other flows.
///
/// ```
/// use stackwright_policies::congestion::Bbr;
/// use stackwright_transport::slots::Congestion;
/// let bbr = Bbr::new(1000);
/// assert_eq!((bbr.window(), bbr.pace()), (10_000, None));
/// ```
#[derive(Clone, Debug)]
pub struct Bbr {
    packet: u64,
    /// What is to be in flight, in octets, and what may be now.
    wanted: u64,
    bound: u64,
    /// How far a slow start has come that follows a timeout; [`u64::MAX`]: there is none.
    restored: u64,
    pace: Option<NonZeroU64>,
    /// Whether something was lost on this path: a burst may be.
    has_lost: bool,
    delivery: Delivery,
    path: Path,
    cycle: Cycle,
    losses: Losses,
    /// Whether nothing was in flight before what is now.
    was_idle: bool,
}

impl Bbr {
    /// Creates the model for packets of `packet` octets.
    pub const fn new(packet: u64) -> Self {
        Bbr {
            packet,
            wanted: FIRST * packet,
            bound: FIRST * packet,
            restored: u64::MAX,
            pace: None,
            has_lost: false,
            delivery: Delivery::new(),
            path: Path::new(),
            cycle: Cycle::new(),
            losses: Losses::new(),
            was_idle: false,
        }
    }

    /// Creates the model for a path that holds `octets` octets, from which it is measured.
    pub(super) fn inheriting(packet: u64, octets: u64) -> Self {
        let first = octets.max(FIRST * packet);
        Bbr { wanted: first, bound: first, has_lost: true, ..Bbr::new(packet) }
    }

    fn burst(&self) -> u64 {
        let millisecond = self.pace.map_or(0, NonZeroU64::get) / 1000;
        millisecond.clamp(2 * self.packet, BURST_MOST.max(2 * self.packet))
    }

    fn settle(&mut self, view: &View, acknowledged: u64) {
        let rate = match self.path.rate() {
            // §5.6.2: nothing was measured yet but the round trip.
            0 => FIRST * self.packet * 1_000_000_000 / self.path.least().max(MILLISECOND),
            // What came after a long outage, or is reported when it is asked for only, is no
            // measure: the least window is sent within a round trip in any case.
            rate => {
                rate.max(LEAST * self.packet * 1_000_000_000 / view.rtt.smoothed.max(MILLISECOND))
            }
        };
        let gain = self.cycle.pacing_gain() * self.losses.gain();
        self.pace = NonZeroU64::new((rate as f64 * gain) as u64);
        let least = LEAST * self.packet;
        let target =
            self.path.in_flight(self.cycle.window_gain()) + self.path.lump() + 2 * self.burst();
        let more = self.wanted.saturating_add(acknowledged);
        self.wanted = if self.cycle.is_filled() {
            more.min(target)
        } else if self.wanted < target || self.delivery.delivered < FIRST * self.packet {
            more
        } else {
            self.wanted
        };
        self.wanted = self.wanted.max(least);
        self.restored = self.restored.saturating_add(acknowledged);
        self.bind();
    }

    /// Bounds what may be in flight by the phase and by what was lost.
    fn bind(&mut self) {
        let least = LEAST * self.packet;
        let probing = match self.cycle.phase() {
            Phase::ProbeRtt => self.half().max(least),
            _ => u64::MAX,
        };
        let most = self.wanted.min(probing).min(self.losses.most()).max(least);
        self.bound = most.min(self.restored);
        if self.restored >= most {
            self.restored = u64::MAX;
        }
    }

    fn half(&self) -> u64 {
        self.path.in_flight(0.5)
    }
}

impl Congestion for Bbr {
    #[inline]
    fn window(&self) -> u64 {
        self.bound
    }

    // These are called, not inlined: where another policy was chosen, the engine must not be slower
    // for this one.
    #[inline(never)]
    fn on_sent(&mut self, view: &View) {
        self.was_idle |= view.idle;
        self.delivery.on_sent(view, self.path.least());
    }

    #[inline(never)]
    fn on_acknowledged(&mut self, view: &View, acknowledged: &Acknowledged) {
        let in_flight = view.in_flight.saturating_sub(acknowledged.octets);
        let sample = self.delivery.on_acknowledged(view.now, acknowledged, self.path.least());
        if view.drained && in_flight < self.bound {
            self.delivery.on_limited(in_flight);
        }
        let took = acknowledged.measured().map(|at| view.now.nanoseconds_since(at).max(1));
        let is_stale =
            took.is_some_and(|took| self.path.see_round_trip(view.now, took)) && !self.was_idle;
        self.losses.see(acknowledged.octets, took, view.in_flight);
        let new_round =
            sample.is_some_and(|sample| self.path.see_rate(&sample, self.delivery.delivered));
        self.path.see_lump(view.now, acknowledged.octets, self.wanted);
        let few = if self.cycle.is_filled() { 0 } else { STARTUP_LOST_MOST * self.packet };
        let congested = new_round && self.losses.judge(self.path.least(), self.packet, few);
        if self.cycle.phase() == Phase::Up {
            self.losses.relent(acknowledged.octets);
        }
        let turn = cycle::Turn {
            now: view.now,
            in_flight,
            new_round: new_round.then(|| sample.is_some_and(|sample| sample.is_limited)),
            congested,
            is_stale,
            half: self.half().max(LEAST * self.packet),
        };
        self.cycle.turn(&turn, &mut self.path);
        self.was_idle = false;
        self.settle(view, acknowledged.octets);
    }

    fn on_lost(&mut self, _: &View, octets: u64) {
        self.has_lost = true;
        self.losses.lost(octets);
    }

    fn on_marked(&mut self, _: &View, packets: u32) {
        self.losses.marked(u64::from(packets).saturating_mul(self.packet));
    }

    fn on_marks_refuted(&mut self, _: &View, _: u64) {
        self.losses.forget_bound();
        self.bind();
    }

    fn heeds_marks(&self) -> bool {
        true
    }

    fn on_opened(&mut self, view: &View, opening: &Opening) {
        let first = if opening.tries > 1 { FIRST_REPEATED } else { FIRST } * self.packet;
        (self.wanted, self.bound) = (first, first);
        // §5.6.2, with the round trip of the opening.
        if view.rtt.smoothed > 0 {
            let rate = first * SECOND / view.rtt.smoothed.max(MILLISECOND);
            self.pace = NonZeroU64::new((rate as f64 * self.cycle.pacing_gain()) as u64);
        }
    }

    fn on_timeout(&mut self, _: &View) {
        // Two packets (RFC 9002 §7.2), and from there on what arrives: the model stays what it was,
        // but a window that leaves at once after a silence is lost at once where queues are short.
        (self.bound, self.restored) = (2 * self.packet, 2 * self.packet);
        self.has_lost = true;
    }

    fn on_spurious(&mut self, _: &View) {
        self.losses.undo();
        self.restored = u64::MAX;
        self.bind();
    }

    #[inline]
    fn pace(&self) -> Option<NonZeroU64> {
        // A short path on which nothing was ever lost takes bursts.
        let takes_bursts = self.path.least() > 0 && !is_paced(self.path.least()) && !self.has_lost;
        self.pace.filter(|_| !takes_bursts)
    }
}

component! {
    Bbr: "congestion by BBR", "measures rate and round trip, and takes loss for congestion only with a queue",
    needs: Property::REPORTS, gives: Property::PACES,
}
