//! Hard paths: what is acknowledged, what is taken for lost, what is undone, and what happens after
//! silence. In virtual time shares are exact, so each is compared with the same path without the
//! fault.

use stackwright_artp::Config;
use stackwright_artp::Congestion::{self, Bbr, Cubic, NewReno};
use stackwright_contract::Duration;
use stackwright_simulator::{Conditions, GilbertElliott, Loss, Outages, Passes, Reorder};

use stackwright_conformance::{Bottleneck, MBIT, Path as Way};

const fn milliseconds(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A session whose path changes in both directions, for data and for acknowledgements, when it is
/// open.
fn bottleneck(
    way: &Way,
    congestion: Congestion,
    seed: u64,
    there: impl FnOnce(&mut Conditions),
    back: impl FnOnce(&mut Conditions),
) -> Bottleneck {
    let config = Config { congestion, ..Config::new([seed as u8; 16]) };
    let mut bottleneck = Bottleneck::of(way, &[(config, 0)], seed);
    bottleneck.run_until(bottleneck.now() + 2 * way.round_trip, |_| true);
    bottleneck.change(0, there);
    bottleneck.change(1, back);
    bottleneck
}

fn unchanged(_: &mut Conditions) {}

/// The share of the rate in the next `seconds`, and how many packets arrived twice.
fn got(mut bottleneck: Bottleneck, seconds: u64) -> (f64, u64) {
    (bottleneck.run(seconds)[0], bottleneck.duplicates)
}

fn bursts(p: f64, r: f64, bad: f64) -> Loss {
    Loss::GilbertElliott(GilbertElliott { p, r, good: 0.0, bad })
}

fn passes(period: u64, length: u64) -> Outages {
    let [period, length] = [period, length].map(milliseconds);
    // The clock of the bottleneck begins at one second.
    Outages::Passes(Passes { period, length, first: milliseconds(1000) })
}

#[test]
fn what_is_lost_on_the_way_back_costs_nothing() {
    let way = Way::new(20 * MBIT, 60, 0.0);
    for congestion in [Cubic, NewReno, Bbr] {
        let (whole, _) = got(bottleneck(&way, congestion, 1, unchanged, unchanged), 8);
        for (loss, least) in [
            (Loss::Bernoulli(0.1), 0.95),
            (Loss::Bernoulli(0.3), 0.95),
            (Loss::Bernoulli(0.5), 0.9),
            (bursts(0.02, 0.05, 0.9), 0.12),
        ] {
            for seed in 0..2 {
                let back = |back: &mut Conditions| back.loss = loss.clone();
                let (share, twice) = got(bottleneck(&way, congestion, seed, unchanged, back), 8);
                assert!(share > least * whole, "{congestion}, {loss:?}: {share} of {whole}");
                assert!(twice < 200, "{congestion}, {loss:?}: {twice} arrived twice");
            }
        }
    }
}

/// What was only late is not lost, or that is undone.
#[test]
fn packets_that_overtake_each_other_cost_little() {
    for (congestion, least) in [(Cubic, 0.7), (NewReno, 0.6), (Bbr, 0.8)] {
        let way = Way::new(20 * MBIT, 100, 0.0);
        let late = |there: &mut Conditions| {
            there.reorder = Reorder { probability: 0.25, by: milliseconds(5) };
        };
        let (share, twice) = got(bottleneck(&way, congestion, 1, late, unchanged), 20);
        assert!(share > least, "{congestion}: {share}, {twice} arrived twice");
        assert!(twice < 200, "{congestion}: {twice} arrived twice");
    }
    for (congestion, least) in [(Cubic, 0.7), (Bbr, 0.35)] {
        let way = Way { queue: 500_000, ..Way::new(20 * MBIT, 20, 0.0) };
        let jitter = |conditions: &mut Conditions| conditions.jitter = milliseconds(80);
        let (share, twice) = got(bottleneck(&way, congestion, 1, jitter, jitter), 30);
        assert!(share > least, "{congestion}: {share}, {twice} arrived twice");
    }
}

#[test]
fn a_link_that_is_up_now_and_then_is_used_while_it_is() {
    for (congestion, period, length, least) in [
        (Cubic, 1000, 900, 0.75),
        (Bbr, 1000, 900, 0.65),
        (Cubic, 400, 300, 0.3),
        (Bbr, 400, 300, 0.3),
        (Cubic, 10_000, 8000, 0.6),
        (Bbr, 10_000, 8000, 0.6),
    ] {
        let way = Way { queue: 60_000, ..Way::new(10 * MBIT, 20, 0.0) };
        let up = |conditions: &mut Conditions| conditions.outages = passes(period, length);
        let (share, twice) = got(bottleneck(&way, congestion, 1, up, up), 20);
        assert!(share > least, "{congestion}, {length} of {period} ms: {share}");
        assert!(twice < 40, "{congestion}, {length} of {period} ms: {twice} arrived twice");
    }
}

#[test]
fn losses_in_bursts_end_nothing() {
    let way = Way { queue: 250_000, ..Way::new(10 * MBIT, 100, 0.0) };
    for (congestion, least) in [(Cubic, 0.1), (Bbr, 0.6)] {
        for seed in 0..4 {
            let lossy = |conditions: &mut Conditions| conditions.loss = bursts(0.002, 0.1, 0.9);
            let (share, _) = got(bottleneck(&way, congestion, seed, lossy, lossy), 20);
            assert!(share > least, "{congestion}, seed {seed}: {share}");
        }
    }
}

#[test]
fn acknowledgements_leave_room_on_a_thin_way_back() {
    for congestion in [Cubic, Bbr] {
        let way = Way { queue: 250_000, ..Way::new(50 * MBIT, 40, 0.0) };
        let thin = |back: &mut Conditions| back.rate = Some(MBIT / 5);
        let (share, _) = got(bottleneck(&way, congestion, 1, unchanged, thin), 10);
        assert!(share > 0.25, "{congestion}: {share}");
    }
}

/// Where no idle timeout is agreed upon, an end that receives bears as much as one that sends.
#[test]
fn what_was_asked_to_be_patient_is() {
    for seed in 0..8 {
        let config = Config {
            packet: 260,
            silence: 300_000_000_000,
            idle: None,
            ..Config::new([seed as u8; 16])
        };
        let way = Way { queue: 6000, ..Way::new(150, 200, 0.0) };
        let mut way = Bottleneck::of(&way, &[(config, 0)], seed);
        way.message = 200;
        way.run_until(way.now() + milliseconds(5000), |way| way.delivered(0) == 0);
        for side in [0, 1] {
            way.change(side, |conditions| {
                conditions.loss =
                    Loss::GilbertElliott(GilbertElliott { p: 0.05, r: 0.15, good: 0.02, bad: 0.9 });
            });
        }
        way.takes(100 * 200); // or it panics
    }
}
