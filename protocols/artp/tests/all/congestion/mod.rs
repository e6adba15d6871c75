//! What the policies of the slot `congestion` get of a path, alone and beside others.
//!
//! `cargo test --release -p stackwright-artp --test all -- --ignored --nocapture` prints
//! tables.

mod marks;
mod once;
mod paths;
mod shapes;

use stackwright_artp::Congestion::{self, Bbr, Cubic, Document, NewReno};

use stackwright_conformance::{Bottleneck, MBIT, Path as Way};

/// The share of the rate that a flow delivers in `seconds`, after as many to begin.
fn goodput(way: &Way, congestion: Congestion, seconds: u64) -> f64 {
    let mut bottleneck = Bottleneck::new(way, &[(congestion, 0)], 1);
    bottleneck.run(seconds);
    bottleneck.run(seconds)[0]
}

/// How much more the second of two flows gets, and how long packets wait meanwhile. It begins when
/// the first has filled the way.
fn share(way: &Way, flows: [Congestion; 2], seconds: u64) -> (f64, f64) {
    share_from(3333, way, flows, seconds)
}

/// The same where it begins after so many milliseconds.
fn share_from(begins: u64, way: &Way, flows: [Congestion; 2], seconds: u64) -> (f64, f64) {
    let mut bottleneck = Bottleneck::new(way, &[(flows[0], 0), (flows[1], begins)], 1);
    bottleneck.run(seconds);
    bottleneck.waited();
    let got = bottleneck.run(2 * seconds);
    (got[1] / got[0], bottleneck.waited())
}

#[test]
fn loss_without_a_queue_costs_what_is_lost() {
    // Of 1200 octets 1100 are the application's; a hundredth is left for queues to go away.
    for (milliseconds, loss, seconds, least) in [
        (1, 0.01, 2, 0.91),
        (20, 0.0, 3, 0.93),
        (20, 0.01, 3, 0.925),
        (20, 0.1, 3, 0.77),
        (600, 0.01, 12, 0.915),
    ] {
        let got = goodput(&Way::new(100 * MBIT, milliseconds, loss), Bbr, seconds);
        assert!(got > least && got < 1.0, "{milliseconds} ms, loss {loss}: {got}");
    }
    // A window that takes each loss for congestion.
    let got = goodput(&Way::new(100 * MBIT, 20, 0.01), Cubic, 3);
    assert!(got < 0.2, "the path is as hard as it is said to be: {got}");
}

/// Where a fifth is lost each way, half of a few packets soon is.
#[test]
fn a_fifth_that_is_lost_costs_no_more_than_half_whatever_is_lost_first() {
    for seed in 0..16 {
        let way = Way::new(2 * MBIT, 100, 0.2);
        let mut bottleneck = Bottleneck::new(&way, &[(Bbr, 0)], seed);
        bottleneck.run(30); // the opening may be lost again and again
        let got = bottleneck.run(30)[0];
        assert!(got > 0.4, "seed {seed}: {got}");
    }
}

#[test]
fn two_flows_share_and_no_queue_stands() {
    for queue in [1.0, 8.0] {
        let way = Way::new(20 * MBIT, 40, 0.0).queue(queue);
        let (more, waited) = share(&way, [Bbr, Bbr], 15);
        assert!((0.5..2.0).contains(&more), "queue {queue}: {more}");
        assert!(waited < 2.2, "queue {queue}: {waited} round trips");
    }
    let mut alone = Bottleneck::new(&Way::new(20 * MBIT, 40, 0.0).queue(8.0), &[(Bbr, 0)], 1);
    alone.run(3);
    alone.waited();
    alone.run(12);
    assert!(alone.waited() < 0.5, "alone, what it tries is a quarter more");
}

/// With a queue of twice what fits on the path it is between 2.9 and 4.7 to 1, as it begins, and
/// more with a shorter one (`shares`); with one of four times as much it may come to nothing in a
/// quarter of a minute.
#[test]
fn beside_cubic_each_keeps_its_part() {
    for (queue, most) in [(2.0, 4.7), (4.0, 4.0)] {
        let way = Way::new(20 * MBIT, 40, 0.0).queue(queue);
        let mut more = [0, 1, 2].map(|nth| share_from(3333 + 137 * nth, &way, [Cubic, Bbr], 15).0);
        more.sort_by(f64::total_cmp);
        assert!((0.3..most).contains(&more[1]), "queue {queue}: {more:?}");
    }
}

#[test]
#[ignore = "a table"]
fn table() {
    for congestion in [Document, NewReno, Cubic, Bbr] {
        println!("{congestion:?}");
        for milliseconds in [1, 20, 100, 600] {
            let seconds = if milliseconds < 600 { 10 } else { 30 };
            let cell = |loss| {
                format!(
                    " {:6.3}",
                    goodput(&Way::new(100 * MBIT, milliseconds, loss), congestion, seconds)
                )
            };
            println!("{milliseconds:4} ms{}", [0.0, 0.001, 0.01, 0.05, 0.1].map(cell).concat());
        }
    }
}

#[test]
#[ignore = "a table"]
fn shares() {
    for (mbit, milliseconds) in [(20, 40), (100, 2), (100, 20), (100, 100)] {
        for queue in [0.25, 0.5, 1.0, 2.0, 4.0, 8.0] {
            let way = Way::new(mbit * MBIT, milliseconds, 0.0).queue(queue);
            let (two, waited) = share(&way, [Bbr, Bbr], 15);
            let (beside, _) = share(&way, [Cubic, Bbr], 15);
            println!(
                "{mbit} Mb/s, {milliseconds} ms, queue {queue}: two {two:.2}, waits {waited:.2}; beside CUBIC {beside:.2}"
            );
        }
    }
}
