//! Judges that are wrong in one way each miss the bar for it, and the built-in ones meet them.

use std::num::NonZeroU64;

use stackwright_artp::{Congestion, Judge};
use stackwright_conformance::{Figures, Kind, Miss, Outcome, Row, Trial, misses, run};
use stackwright_transport::Acknowledged;
use stackwright_transport::slots;
use stackwright_transport::words::{Opening, View};

const STEADY: Trial = Trial {
    bits: 1_000_000,
    milliseconds: 100,
    queue: 1.0,
    loss: 0.0,
    seconds: 20,
    kind: Kind::Steady,
};

fn one(congestion: Congestion, trial: Trial) -> Row {
    run(congestion, &[trial]).pop().expect("one trial, one row")
}

fn own(make: fn(u64) -> Box<dyn slots::Congestion>, trial: Trial) -> Row {
    one(Congestion::Own(Judge { name: "own", make }), trial)
}

fn figures(row: &Row) -> &Figures {
    let Outcome::Alone(figures) = &row.outcomes[0].1 else { panic!("there is one flow") };
    figures
}

/// Always so much in flight.
struct Fixed(u64);

impl slots::Congestion for Fixed {
    fn window(&self) -> u64 {
        self.0
    }
}

#[test]
fn a_window_of_one_packet_is_slow() {
    let row = own(|packet| Box::new(Fixed(packet)), STEADY);
    assert!(matches!(misses(&row)[..], [Miss::Slow(share)] if share < 0.15), "{:?}", misses(&row));
    assert_eq!((figures(&row).resent, figures(&row).timeouts), (0, 0));
}

#[test]
fn a_window_of_many_round_trips_resends() {
    let row = own(|packet| Box::new(Fixed(500 * packet)), STEADY);
    let found = misses(&row);
    assert!(found.iter().any(|miss| matches!(miss, Miss::Resends(_))), "{found:?}");
}

/// Grows, and keeps the pace with which it began.
struct Stuck {
    window: u64,
    pace: Option<NonZeroU64>,
}

impl slots::Congestion for Stuck {
    fn window(&self) -> u64 {
        self.window
    }

    fn on_opened(&mut self, view: &View, _: &Opening) {
        self.pace = NonZeroU64::new(self.window * 1_000_000_000 / view.rtt.smoothed.max(1));
    }

    fn on_acknowledged(&mut self, _: &View, acknowledged: &Acknowledged) {
        self.window = (self.window + acknowledged.octets).min(20_000);
    }

    fn pace(&self) -> Option<NonZeroU64> {
        self.pace
    }
}

#[test]
fn a_pace_that_stays_behind_its_window_is_noticed() {
    let row = own(|packet| Box::new(Stuck { window: 2 * packet, pace: None }), STEADY);
    let found = misses(&row);
    assert!(found.iter().any(|miss| matches!(miss, Miss::Pace(_))), "{found:?}");
}

/// Falls to a packet whenever anything is acknowledged.
struct Nervous {
    packet: u64,
    calm: bool,
}

impl slots::Congestion for Nervous {
    fn window(&self) -> u64 {
        if self.calm { 40 * self.packet } else { self.packet }
    }

    fn on_acknowledged(&mut self, _: &View, _: &Acknowledged) {
        self.calm = !self.calm;
    }
}

#[test]
fn windows_that_collapse_are_counted() {
    let trial = Trial { kind: Kind::Steps { in_order: true }, seconds: 20, ..STEADY };
    let row = own(|packet| Box::new(Nervous { packet, calm: true }), trial);
    let found = misses(&row);
    assert!(found.iter().any(|miss| matches!(miss, Miss::Collapses(_))), "{found:?}");
}

/// The first session of all takes what it can get, and later ones next to nothing.
#[test]
fn flows_that_do_not_share_are_unfair() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static MADE: AtomicU32 = AtomicU32::new(0);
    let make = |packet| -> Box<dyn slots::Congestion> {
        // Two ends for each flow, and the first flow's are made first.
        let greedy = MADE.fetch_add(1, Ordering::Relaxed) % 4 < 2;
        Box::new(Fixed(if greedy { 20 * packet } else { packet }))
    };
    let row = own(make, Trial { kind: Kind::Two, ..STEADY });
    assert!(matches!(misses(&row)[..], [Miss::Unfair(index)] if index < 0.8), "{:?}", row.outcomes);
}

/// Every timeout of a step of delay is spurious, and undone.
#[test]
fn what_a_step_of_delay_does_to_cubic_is_undone() {
    for in_order in [true, false] {
        let trial =
            Trial { bits: 10_000_000, seconds: 60, kind: Kind::Steps { in_order }, ..STEADY };
        let row = one(Congestion::Cubic, trial);
        assert_eq!(misses(&row), [], "in order: {in_order}");
        let figures = figures(&row);
        assert!(figures.collapses >= 4 && figures.restored == figures.collapses, "{figures:?}");
        assert!(figures.share > 0.7, "{}", figures.share);
    }
}

#[test]
fn cubic_fills_a_long_path_and_loses_little() {
    let row = one(Congestion::Cubic, Trial { bits: 10_000_000, milliseconds: 300, ..STEADY });
    assert_eq!(misses(&row), []);
    let figures = figures(&row);
    assert!(figures.resent * 30 < figures.arrived, "{} of {}", figures.resent, figures.arrived);
    assert!(figures.pace.is_some_and(|factor| factor > 1.0), "{:?}", figures.pace);
    assert_eq!((figures.timeouts, figures.duplicates), (0, 0));
}
