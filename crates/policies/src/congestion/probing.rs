//! Two inquiries find out why something was lost.

use stackwright_contract::Instant;
use stackwright_transport::slots::Congestion;
use stackwright_transport::words::{Nanoseconds, SECOND, View};
use stackwright_transport::{Acknowledged, component};

use super::episode::{Episode, LEAST, is_used};

/// The initial window in packets (RFC 5681 §3.1), unless configured: the links that it is for take
/// no more at once.
const FIRST: u64 = 3;

/// The longest wait for an answer, unless the timeout is longer.
const WAIT_MOST: Nanoseconds = 8 * SECOND;

/// Finds out why something was lost (TCP-Probing; XSTP). Where the last two answers came as quickly
/// as ever, the packet was corrupted, and the congestion window stays what it was. Where they were
/// late it was congestion: the window becomes what was in flight without a queue, or half of what
/// is in flight if that is more.
///
/// After a timeout, data stop, and two inquiries leave one after the other: where both are answered
/// quickly it was corrupted, and where an answer had to be asked for again, the peer was out of
/// reach. Only where the answers are late was it congestion.
///
/// *Errata*: TCP-Probing stops at each loss, for two round trips. With a loss in most round trips,
/// as on a satellite link, that sends almost nothing. Meanwhile a queue drains, and its inquiries
/// find no congestion: a window that overflows the queue would do so again.
///
/// Choose it for links that lose for other reasons than congestion: radio, and above all
/// satellites. While the peer is out of reach, only inquiries leave.
///
/// ```
/// use stackwright_policies::congestion::Probing;
/// use stackwright_transport::slots::Congestion;
/// assert_eq!(Probing::new(157).window(), 3 * 157);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Probing {
    packet: u64,
    window: u64,
    threshold: u64,
    arrived: u64,
    state: State,
    /// Whether the rate of the link is known, and what leaves is paced to it.
    is_paced: bool,
    /// How long the last two answers took.
    answers: [Nanoseconds; 2],
    /// No loss before this begins a new cycle: one cycle covers all that was lost before it.
    open_until: Instant,
    /// What is lost together is congestion once.
    episode: Episode,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Open,
    /// An inquiry is to be sent: the first, or the second after the answer to the first.
    Asking(Cycle),
    /// The answer to the inquiry of this number is awaited until then.
    Waiting(Cycle, u32, Instant),
}

/// Two inquiries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Cycle {
    /// Whether the first was answered.
    is_answered: bool,
    /// How many times no answer came in time.
    restarts: u32,
}

impl Probing {
    /// Creates the window for packets of `packet` octets.
    pub const fn new(packet: u64) -> Self {
        Probing {
            packet,
            window: FIRST * packet,
            threshold: u64::MAX,
            arrived: 0,
            state: State::Open,
            is_paced: false,
            answers: [Nanoseconds::MAX; 2],
            open_until: Instant::START,
            episode: Episode::new(),
        }
    }

    /// Sets the initial window, in packets: for links whose rate is known, or is high.
    #[must_use]
    pub const fn beginning_with(self, packets: u64) -> Self {
        Probing { window: packets * self.packet, ..self }
    }

    /// Takes no loss for congestion: the rate of the link is known, and what leaves is paced to it,
    /// as on a radio channel. There the delay varies for other reasons than queues.
    #[must_use]
    pub const fn at_known_rate(self) -> Self {
        Probing { is_paced: true, ..self }
    }

    /// Returns whether the last two answers came as quickly as ever.
    fn is_quick(&self, view: &View) -> bool {
        let rtt = &view.rtt;
        // A queue that fills and drains makes the round trip vary, too.
        let variation = (4 * rtt.variation).min(rtt.least / 2);
        let bound = rtt.least + variation.max(rtt.least / 4);
        self.answers.iter().all(|took| *took <= bound)
    }

    fn judge(&mut self, view: &View, cycle: Cycle) {
        if cycle.restarts == 0 && !self.is_paced && !self.is_quick(view) {
            self.yield_to_congestion(view);
        }
        (self.state, self.open_until) = (State::Open, view.now.later(view.rtt.smoothed));
    }

    /// Lets the window become what was in flight while no queue stood (TCP Westwood), and half of
    /// what is in flight at least.
    fn yield_to_congestion(&mut self, view: &View) {
        let took = self.answers[1].max(1);
        let without_queue =
            u128::from(view.in_flight) * u128::from(view.rtt.least) / u128::from(took);
        let least = (view.in_flight / 2).max(LEAST * self.packet);
        self.threshold = least.max(without_queue as u64);
        self.window = self.window.min(self.threshold);
    }
}

impl Congestion for Probing {
    #[inline]
    fn window(&self) -> u64 {
        // Whole packets: what is left of the last one would leave as a short one.
        if self.state == State::Open { self.window - self.window % self.packet } else { 0 }
    }

    fn on_acknowledged(&mut self, view: &View, acknowledged: &Acknowledged) {
        if self.state != State::Open || !is_used(view, self.window, false) {
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
        if self.is_paced || self.is_quick(view) {
            return;
        }
        if self.answers.contains(&Nanoseconds::MAX) {
            return self.on_timeout(view);
        }
        if self.state == State::Open && self.episode.begins(view) {
            self.yield_to_congestion(view);
        }
    }

    fn on_timeout(&mut self, view: &View) {
        if self.state == State::Open && view.now >= self.open_until {
            self.state = State::Asking(Cycle::default());
        }
    }

    fn asks(&self, view: &View) -> bool {
        match self.state {
            State::Open => false,
            State::Asking(_) => true,
            State::Waiting(_, _, until) => until <= view.now,
        }
    }

    fn on_asked(&mut self, view: &View, number: u32) {
        let wait = |restarts: u32| {
            let timeout = (0..restarts.min(16)).fold(view.rtt.timeout, |wait, _| wait + wait / 2);
            view.now.later(timeout.min(WAIT_MOST.max(view.rtt.timeout)))
        };
        self.state = match self.state {
            State::Open => State::Open,
            State::Asking(cycle) => State::Waiting(cycle, number, wait(cycle.restarts)),
            State::Waiting(cycle, _, until) if until <= view.now => {
                let cycle = Cycle { is_answered: false, restarts: cycle.restarts + 1 };
                State::Waiting(cycle, number, wait(cycle.restarts))
            }
            waiting => waiting, // another slot's
        };
    }

    fn on_answer(&mut self, view: &View, number: u32, took: Nanoseconds) {
        self.answers = [self.answers[1], took];
        let State::Waiting(cycle, asked, _) = self.state else { return };
        // A later one tells as much.
        if (number.wrapping_sub(asked) as i32) < 0 {
            return;
        }
        match cycle.is_answered {
            false => self.state = State::Asking(Cycle { is_answered: true, ..cycle }),
            true => self.judge(view, cycle),
        }
    }

    fn deadline(&self) -> Instant {
        match self.state {
            State::Open => Instant::END,
            State::Asking(_) => Instant::START,
            State::Waiting(_, _, until) => until,
        }
    }
}

component! {
    Probing: "congestion by probing", "asks twice why something was lost",
    needs: Property::REPORTS.and(Property::INQUIRIES).and(Property::ANSWERS),
}
