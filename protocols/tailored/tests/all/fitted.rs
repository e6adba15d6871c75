//! A path whose loss or delay changes while data flow: what `congestion(fitted)` makes of it.

use stackwright_contract::ask::SendingPart;
use stackwright_contract::services::MessageProperties;
use stackwright_contract::{Duration, Instant};
use stackwright_policies::congestion;
use stackwright_policies::profile::{Bounds, PolicyValues};
use stackwright_simulator::Conditions;
use stackwright_tailored::configurations::AnyOrder;
use stackwright_tailored::{Config, Named, TailoredHost, TailoredKey};
use stackwright_transport::{Slots, configuration};
use stackwright_trial::Trial;
use stackwright_trial::setting::M;

configuration! {
    Fits<M> like AnyOrder {
        Congestion: congestion::Fitted,
    }
}

/// 10 Mb/s, with a queue of a long round trip.
fn path(delay: u64, loss: f64) -> Conditions {
    let (delay, rate) = (Duration::from_millis(delay), Some(1_250_000));
    let mut path = Conditions { delay, rate, loss: loss.into(), ..Conditions::IDEAL };
    path.queue.octets = Some(375_000);
    path
}

fn ends() -> impl Fn(usize) -> Slots<Fits<M>> {
    let bounds = Bounds { window: 4096, ..Bounds::DEFAULT };
    let values = PolicyValues { bounds, ..PolicyValues::RELIABLE };
    move |side| {
        let config = Config { packet: 1472, ..Config::new([side as u8; 16]) };
        let key = TailoredKey { ours: side == 0, number: 7 };
        TailoredHost::new(Named::<Fits<M>>::new(values), config).association(key, 9)
    }
}

/// Sends as much as leaves, along a path that changes at these seconds; returns how many octets
/// arrived, and the changes of the judge, in seconds.
fn run(courses: &[(u64, Conditions)], seed: u64) -> (u64, Vec<(f64, &'static str)>) {
    let mut trial = Trial::new(ends(), &courses[0].1, seed);
    let start = trial.now();
    trial.ends[0].open(start);
    let (mut arrived, mut changes) = (0, Vec::new());
    for (until, path) in courses {
        trial.set_conditions(path);
        let until = start + Duration::from_secs(*until);
        loop {
            let now = trial.now();
            while trial.ends[0].association.sending().waiting() < 24 {
                trial.ends[0].send(now, &[7; 10_000], MessageProperties::default());
            }
            trial.speak(|_, _, _| {});
            while let Some((message, _)) = trial.ends[1].take(now) {
                arrived += message.len() as u64;
            }
            let report = trial.ends[0].association.how_it_sends();
            for change in report.into_iter().flat_map(|report| report.changes) {
                let at = change.at.since(Instant::START).as_secs_f64();
                if let SendingPart::Congestion(name) = change.to
                    && changes.last().is_none_or(|(last, _)| *last < at)
                {
                    changes.push((at, name));
                }
            }
            if !trial.until(until) {
                break;
            }
        }
    }
    (arrived, changes)
}

/// Loss without a queue is found out, and so is its end: in less than 10 s, once each. A window
/// that takes each loss for congestion would carry half of that, and on the longer path a sixth.
#[test]
fn loss_and_delay_that_change_are_found_out() {
    for (name, courses) in [
        ("loss", [(8, path(50, 0.0)), (28, path(50, 0.05)), (38, path(50, 0.0))]),
        ("delay", [(8, path(5, 0.002)), (28, path(150, 0.002)), (38, path(5, 0.002))]),
    ] {
        let (arrived, changes) = run(&courses, 2);
        let [(until_bbr, "BBR"), (until_cubic, "CUBIC")] = changes[..] else {
            panic!("{name}: {changes:?}")
        };
        assert!((8.0..18.0).contains(&until_bbr), "{name}: {changes:?}");
        assert!((28.0..38.0).contains(&until_cubic), "{name}: {changes:?}");
        assert!(arrived > 38 * 1_000_000, "{name}: {arrived} octets");
    }
}

/// A queue that overflows is congestion, whether it is short or long, and at the start, too.
#[test]
fn a_queue_that_overflows_changes_nothing() {
    for queue in [15_000, 40_000, 125_000, 375_000] {
        for delay in [5, 50] {
            let mut path = path(delay, 0.0);
            path.queue.octets = Some(queue);
            let (_, changes) = run(&[(20, path)], 3);
            assert_eq!(changes, [], "{queue} octets, {delay} ms");
        }
    }
}
