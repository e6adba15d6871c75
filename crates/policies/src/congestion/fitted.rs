//! CUBIC or BBR, whichever suits what the path shows.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::num::NonZeroU64;

use stackwright_contract::ask::{ChangeReason, SendingChange, SendingPart};
use stackwright_contract::{Duration, Instant};
use stackwright_transport::slots::Congestion;
use stackwright_transport::words::{Nanoseconds, Opening, SECOND, View};
use stackwright_transport::{Acknowledged, component};

use super::monitor::Monitor;
use super::{Bbr, Cubic};
use crate::keep;

/// What BBR has to deliver beside CUBIC, by the monitor's model, to take its place; and below what
/// CUBIC returns.
const GAINS: f64 = 1.2;
const GAINS_NO_MORE: f64 = 1.05;

/// How long a judge stays at the least, in nanoseconds and in round trips; and at the most.
const DWELL: Nanoseconds = SECOND;
const DWELL_ROUNDS: u64 = 10;
const DWELL_MOST: Nanoseconds = 90 * SECOND;

/// A change back so soon after it was possible doubles the time to the next.
const SOON: Nanoseconds = 30 * SECOND;

/// Keeps the window with [`Cubic`](super::Cubic), and with [`Bbr`](super::Bbr) while packets are
/// lost without a queue, so often that a window that takes each loss for congestion would starve.
/// The peer is told nothing: it is the sender's choice alone.
///
/// - **The measure** is a model of both: CUBIC keeps about 1.2/√p packets in flight where a share p
///   of them is lost (Mathis et al.), of those that the path holds; BBR fills the path, less what
///   is lost. BBR takes over where it would deliver a fifth more, CUBIC where that is a twentieth.
///   What is lost where a queue stands is congestion, and where the window doubled at the start.
/// - **The successor inherits** what the path holds, by the greatest rate and the shortest round
///   trip of late.
/// - **Damping.** A judge stays for a second and for ten round trips; each change back within 30 s
///   after that doubles the time, up to 90 s, so that a path that flaps for an hour makes no more
///   than 60 changes.
///
/// Choose it where much is to be sent over a path that may change while data flow, and other flows
/// shall get their share where nothing is lost without congestion.
///
/// ```
/// use stackwright_policies::congestion::Fitted;
/// use stackwright_transport::slots::Congestion;
/// assert_eq!(Fitted::new(1000).window(), 10_000);
/// ```
#[derive(Clone, Debug)]
pub struct Fitted {
    packet: u64,
    judge: Judge,
    monitor: Monitor,
    /// When the judge was last changed.
    since: Option<Instant>,
    dwell: Nanoseconds,
    changes: Vec<SendingChange>,
}

#[derive(Clone, Debug)]
enum Judge {
    Cubic(Box<Cubic>),
    Bbr(Box<Bbr>),
}

impl Fitted {
    /// Creates the window for packets of `packet` octets, with CUBIC.
    pub fn new(packet: u64) -> Self {
        Fitted {
            packet,
            judge: Judge::Cubic(Box::new(Cubic::new(packet))),
            monitor: Monitor::new(packet),
            since: None,
            dwell: DWELL,
            changes: Vec::new(),
        }
    }

    fn judge(&self) -> &dyn Congestion {
        match &self.judge {
            Judge::Cubic(cubic) => &**cubic,
            Judge::Bbr(bbr) => &**bbr,
        }
    }

    fn judge_mut(&mut self) -> &mut dyn Congestion {
        match &mut self.judge {
            Judge::Cubic(cubic) => &mut **cubic,
            Judge::Bbr(bbr) => &mut **bbr,
        }
    }

    /// Changes the judge at the end of a round trip, if the other one suits the path better.
    fn fit(&mut self, view: &View) {
        let gain = self.monitor.gain();
        let suits = match self.judge {
            Judge::Cubic(_) => gain < GAINS || !self.monitor.is_sure(GAINS),
            Judge::Bbr(_) => gain > GAINS_NO_MORE,
        };
        let least = (DWELL_ROUNDS * view.rtt.smoothed).max(self.dwell);
        let stayed = self.since.map(|since| view.now.nanoseconds_since(since));
        if suits || stayed.is_some_and(|stayed| stayed < least) {
            return;
        }
        let soon = stayed.is_some_and(|stayed| stayed < least + SOON);
        self.dwell = if soon { (2 * self.dwell).min(DWELL_MOST) } else { DWELL };
        self.since = Some(view.now);
        let window = self.monitor.holds();
        let name = match self.judge {
            Judge::Cubic(_) => {
                self.judge = Judge::Bbr(Box::new(Bbr::inheriting(self.packet, window)));
                "BBR"
            }
            Judge::Bbr(_) => {
                self.judge = Judge::Cubic(Box::new(Cubic::inheriting(self.packet, window)));
                "CUBIC"
            }
        };
        let why = ChangeReason::Path {
            lost: (self.monitor.lost() * 10_000.0) as u16,
            round_trip: Duration::from_nanos(self.monitor.least()),
            gain: (gain.min(100.0) * 100.0) as u16,
        };
        let to = SendingPart::Congestion(name);
        keep(&mut self.changes, SendingChange { at: view.now, to, why });
    }
}

impl Congestion for Fitted {
    #[inline]
    fn window(&self) -> u64 {
        match &self.judge {
            Judge::Cubic(cubic) => cubic.window(),
            Judge::Bbr(bbr) => bbr.window(),
        }
    }

    fn on_sent(&mut self, view: &View) {
        self.judge_mut().on_sent(view);
    }

    fn on_acknowledged(&mut self, view: &View, acknowledged: &Acknowledged) {
        self.judge_mut().on_acknowledged(view, acknowledged);
        if self.monitor.see(view, acknowledged) {
            self.fit(view);
        }
    }

    fn on_lost(&mut self, view: &View, octets: u64) {
        self.monitor.on_lost(octets);
        self.judge_mut().on_lost(view, octets);
    }

    fn on_marked(&mut self, view: &View, packets: u32) {
        self.judge_mut().on_marked(view, packets);
    }

    fn on_marks_refuted(&mut self, view: &View, window: u64) {
        self.judge_mut().on_marks_refuted(view, window);
    }

    fn heeds_marks(&self) -> bool {
        true
    }

    fn on_opened(&mut self, view: &View, opening: &Opening) {
        self.judge_mut().on_opened(view, opening);
    }

    fn on_timeout(&mut self, view: &View) {
        self.judge_mut().on_timeout(view);
    }

    fn on_spurious(&mut self, view: &View) {
        self.judge_mut().on_spurious(view);
    }

    #[inline]
    fn pace(&self) -> Option<NonZeroU64> {
        self.judge().pace()
    }

    fn changes(&self) -> &[SendingChange] {
        &self.changes
    }
}

component! {
    Fitted: "congestion fitted to the path", "keeps CUBIC's window, or BBR's where loss is no congestion",
    needs: Property::REPORTS, gives: Property::PACES,
}

#[cfg(test)]
mod tests {
    use stackwright_transport::words::MILLISECOND;

    use super::*;

    /// An hour on a path of 40 ms and 10 Mb/s whose loss is this at a time.
    fn changes(lost: impl Fn(u64) -> bool) -> Vec<u64> {
        changes_of(lost, |_| 38)
    }

    /// The same where so many packets arrive of a round trip at a time.
    fn changes_of(lost: impl Fn(u64) -> bool, arrive: impl Fn(u64) -> u64) -> Vec<u64> {
        let (packet, round_trip) = (1200, 40 * MILLISECOND);
        let (mut fitted, mut now) = (Fitted::new(packet), Instant::START);
        let mut view = View { in_flight: 50_000, ..View::START };
        (view.rtt.smoothed, view.rtt.least, view.rtt.timeout) = (round_trip, round_trip, SECOND);
        let mut changes = Vec::new();
        for round in 0..(3600 * SECOND / round_trip) {
            now = now.later(round_trip);
            view = View { now, sent_upto: 40 * (round + 1), settled_upto: 40 * round, ..view };
            let left = Some(now.sooner(round_trip));
            let units = arrive(round * round_trip / SECOND);
            let octets = units * packet;
            if lost(round * round_trip / SECOND) {
                fitted.on_lost(&view, octets / 19);
            }
            let sum = Acknowledged { octets, units, newest: left, ..Acknowledged::default() };
            fitted.on_acknowledged(&view, &sum);
            if fitted.changes().last().is_some_and(|change| change.at == now) {
                changes.push(round * round_trip / SECOND);
            }
        }
        assert!(fitted.changes().len() <= 10);
        changes
    }

    #[test]
    fn loss_without_a_queue_changes_the_judge_and_its_end_changes_it_back() {
        let changes = changes(|second| (20..60).contains(&second));
        assert!(matches!(changes[..], [20..22, 60..65]), "{changes:?}");
    }

    #[test]
    fn a_path_that_flaps_for_an_hour_makes_few_changes() {
        let changes = changes(|second| second / 2 % 2 == 0);
        assert!((10..=60).contains(&changes.len()), "{}: {changes:?}", changes.len());
    }

    /// Where little is sent, little arrives: the path holds as much as before.
    #[test]
    fn an_application_that_sends_little_for_a_while_changes_nothing() {
        let little = |second| if (30..50).contains(&second) { 4 } else { 38 };
        let changes = changes_of(|second| (20..60).contains(&second), little);
        assert!(matches!(changes[..], [20..22, 60..65]), "{changes:?}");
    }

    #[test]
    fn a_path_that_loses_nothing_changes_nothing() {
        assert_eq!(changes(|_| false), []);
    }
}
