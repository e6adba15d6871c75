//! What one loss costs where it matters most, and one pause of a host.

use stackwright_artp::Congestion::{Bbr, Cubic, Document, NewReno};
use stackwright_contract::{Duration, Instant};

use stackwright_conformance::{Bottleneck, MBIT, Path as Way};

const ROUND_TRIP: Duration = Duration::from_millis(20);

const OCTETS: u64 = 250 * 11_000;

fn bottleneck(loss: f64, seed: u64) -> Bottleneck {
    Bottleneck::new(&Way::new(100 * MBIT, 20, loss), &[(Bbr, 0)], seed)
}

/// How many round trips longer it takes where those packets of the sender are lost, from 1 on.
fn costs(lost: impl IntoIterator<Item = u64>) -> f64 {
    let (mut whole, mut holed) = (bottleneck(0.0, 1), bottleneck(0.0, 1));
    holed.lost = lost.into_iter().collect();
    let (whole, holed) = (whole.takes(OCTETS), holed.takes(OCTETS));
    holed.saturating_sub(whole).as_secs_f64() / ROUND_TRIP.as_secs_f64()
}

/// How many packets the sender sends where nothing is lost.
fn packets() -> u64 {
    let mut bottleneck = bottleneck(0.0, 1);
    bottleneck.takes(OCTETS);
    bottleneck.counts().offered
}

/// Until the sender has confirmed that he heard the answer, next to nothing is kept of what he
/// sends.
#[test]
fn a_confirmation_that_is_lost_costs_two_round_trips() {
    let got = costs([2]);
    assert!(got < 2.5, "{got} round trips");
}

/// Nothing that follows shows what is lost: the newest is sent once more, and what is heard of it
/// tells of all.
#[test]
fn the_end_of_a_burst_costs_the_same_however_much_of_it_is_lost() {
    let packets = packets();
    for lost in [1, 2, 5, 12, 40] {
        let got = costs(packets - lost + 1..=packets);
        assert!(got < 8.5, "the last {lost}: {got} round trips");
    }
}

/// Losses among the first packets while all reports are late say nothing of the way.
#[test]
fn a_pause_while_it_begins_costs_what_it_lasts() {
    let start = Instant::from_nanoseconds(1_080_000_000);
    let goodput = |seed, pause| {
        let mut bottleneck = bottleneck(0.01, seed);
        bottleneck.pause = start..start + pause;
        bottleneck.run(1)[0]
    };
    let pause = Duration::from_millis(30);
    for seed in 20..30 {
        let costs = goodput(seed, Duration::ZERO) - goodput(seed, pause);
        assert!(costs < 2.0 * pause.as_secs_f64(), "seed {seed}: {costs} of a second");
    }
}

/// What is heard of is then the first copy, though another has left: who takes it for the second
/// takes for lost what is only late.
#[test]
fn a_way_that_becomes_long_is_not_flooded() {
    const RATE: u64 = 20 * MBIT;
    const SECONDS: u64 = 10;
    /// What of a message a full packet bears, about.
    const PACKET: f64 = 1_100.0;
    for congestion in [Document, NewReno, Cubic, Bbr] {
        for (before, after) in [(5, 60), (20, 300), (20, 800), (100, 600)] {
            let way = Way::new(RATE, before, 0.0).queue(8.0);
            let mut bottleneck = Bottleneck::new(&way, &[(congestion, 0)], 1);
            bottleneck.run(5);
            bottleneck.lengthen(Duration::from_millis(after));
            bottleneck.run(SECONDS);
            let before_it = bottleneck.counts().offered;
            let share = bottleneck.run(SECONDS)[0];
            let sent = (bottleneck.counts().offered - before_it) as f64;
            let needed = share * (RATE * SECONDS) as f64 / PACKET;
            assert!(
                sent < 1.5 * needed,
                "{congestion:?}, {before} to {after} ms: {:.2} packets for one that was needed",
                sent / needed
            );
        }
    }
}
