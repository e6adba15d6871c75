//! Services with terms of rate and burst, between two stations of a world.

mod bulk;
mod narrow;
mod scene;
mod sort;

use stackwright_contract::Duration;
use stackwright_contract::ask::PathStatistics;
use stackwright_contract::services::{DatagramsRequest, Ended};
use stackwright_simulator::{Conditions, Deed, Event};
use stackwright_transport::words::Terms;
use stackwright_xtp::Config;
use stackwright_xtp::services::{Connection, IsochronousStream};

use scene::{ASSOCIATION, MESSAGE, SINK, SOURCE, Scene};

/// One megabit per second.
const RATE: u32 = 125_000;
const BURST: u32 = 3000;
const TERMS: Terms = Terms { rate: RATE, burst: BURST };

fn link(loss: f64) -> Conditions {
    let (delay, loss) = (Duration::from_millis(20), loss.into());
    Conditions { delay, loss, ..Conditions::IDEAL }
}

fn sends(side: usize, config: Config) -> Config {
    if side == 0 { Config { sends: TERMS, ..config } } else { config }
}

fn takes(side: usize, config: Config) -> Config {
    match side {
        1 => Config { takes: TERMS, ..config },
        // Until it is told, it has a bound of its own.
        _ => Config { sends: Terms { rate: 8 * RATE, burst: BURST }, ..config },
    }
}

/// Whichever side has a bound, it is in force from the first packet that can know it; what is lost
/// is not sent again, and the rest arrives in order.
#[test]
fn a_stream_at_a_megabit_and_five_percent_loss_is_delivered_at_its_rate() {
    for (seed, config) in [(1, sends as fn(_, _) -> _), (2, takes), (3, sends), (4, takes)] {
        let mut scene = Scene::<IsochronousStream>::new(seed, link(0.05), u32::MAX, config);
        scene.run(Duration::from_secs(5));
        let (left, before) = (scene.left(), scene.heard().len());
        let said = scene.world.network().traffic(SOURCE, SINK).packets;
        let time = 100;
        scene.run(Duration::from_secs(time));
        let sent = (scene.left() - left) as f64 / time as f64 / f64::from(RATE);
        assert!((0.98..1.02).contains(&sent), "seed {seed}: {sent} of the rate");
        let heard = scene.heard();
        let said = scene.world.network().traffic(SOURCE, SINK).packets - said;
        let delivered = (heard.len() - before) as f64 / said as f64;
        assert!(delivered >= 0.94, "seed {seed}: {delivered} of {said} packets");
        assert!(heard.is_sorted_by(|one, other| one.0 < other.0), "seed {seed}: in order");
        let octets = (heard.len() - before) * MESSAGE;
        assert!(octets as f64 / time as f64 > 0.91 * f64::from(RATE), "seed {seed}");
    }
}

/// The source closes, and both sides learn it, whatever is lost: gaps are no reason to wait.
#[test]
fn a_stream_ends_though_its_end_is_lost() {
    for seed in 0..200 {
        let mut scene = Scene::<IsochronousStream>::new(seed, link(0.3), 40, sends);
        scene.run(Duration::from_secs(120));
        let sides = [scene.source, scene.sink].map(|side| scene.world.application(side));
        for side in sides {
            assert_eq!(side.ended, Some(Ended::Finished), "seed {seed}");
        }
        let heard = scene.heard();
        assert!(heard.is_sorted_by(|one, other| one.0 < other.0), "seed {seed}");
        assert!((10..=40).contains(&heard.len()), "seed {seed}: {} arrived", heard.len());
    }
}

/// The sink changes what it takes: a round trip and a burst later, no more arrives.
#[test]
fn a_rate_that_is_changed_is_in_force_within_a_round_trip_and_a_burst() {
    for (before, after) in [(RATE, RATE / 8), (RATE / 8, RATE), (RATE, RATE / 2)] {
        let terms = Terms { rate: before, burst: BURST };
        let config = move |side, config| match side {
            1 => Config { takes: terms, ..config },
            _ => takes(side, config),
        };
        let mut scene = Scene::<IsochronousStream>::new(1, link(0.0), u32::MAX, config);
        scene.run(Duration::from_secs(20));
        let changed = Terms { rate: after, burst: BURST };
        let (association, command) = (ASSOCIATION, changed.command());
        scene.world.ask(scene.sink, DatagramsRequest::Control { association, command });
        assert_eq!(scene.world.application(scene.sink).outcomes, [true]);
        let pace = |scene: &Scene<IsochronousStream>| {
            let path = scene.world.question(scene.source, ASSOCIATION, PathStatistics);
            path.and_then(|path| path.pace)
        };
        assert_eq!(pace(&scene), Some(before.into()), "the source was not told");
        let (heard, now) = (scene.heard().len(), scene.world.now());
        scene.run(Duration::from_secs(20));
        assert_eq!(pace(&scene), Some(after.into()), "the source's application sees it");
        let round_trip = Duration::from_millis(40);
        let burst = Duration::from_secs_f64(f64::from(BURST) / f64::from(before.max(after)));
        let in_force = now + round_trip + burst;
        let later: Vec<_> = scene.heard()[heard..].iter().filter(|one| one.1 > in_force).collect();
        for window in [1, 2, 5, 15] {
            let until = in_force + Duration::from_secs(window);
            let count = later.iter().filter(|one| one.1 <= until).count();
            let octets = (count * (MESSAGE + 32)) as u64;
            let (told, slack) = (u64::from(after) * window, u64::from(BURST) + 1032);
            assert!(
                octets.abs_diff(told) <= slack + told / 50,
                "{before} to {after}: {octets} in {window} s, not {told}"
            );
        }
    }
}

/// A change that is lost is told with the next answer.
#[test]
fn a_rate_that_is_changed_is_told_again_if_that_is_lost() {
    let mut scene = Scene::<IsochronousStream>::new(1, link(0.0), u32::MAX, takes);
    scene.run(Duration::from_secs(5));
    // The next packet of the sink is lost.
    scene.world.network_mut().script(SINK, SOURCE, vec![Event { nth: 0, deed: Deed::Lose }]);
    let command = Terms { rate: RATE / 10, burst: BURST }.command();
    scene.world.ask(scene.sink, DatagramsRequest::Control { association: ASSOCIATION, command });
    scene.run(Duration::from_secs(2));
    let left = scene.left();
    scene.run(Duration::from_secs(10));
    let rate = (scene.left() - left) / 10;
    assert!(rate.abs_diff(u64::from(RATE / 10)) < 700, "{rate}");
}

#[test]
fn a_service_without_terms_declines_them() {
    let mut scene = Scene::<Connection>::new(1, link(0.0), 1, sends);
    let command = TERMS.command();
    scene.world.ask(scene.source, DatagramsRequest::Control { association: ASSOCIATION, command });
    assert_eq!(scene.world.application(scene.source).outcomes, [false]);
}

/// Whatever happens to any packet, what arrives rises, nearly all of it arrives, and both ends
/// finish.
#[test]
fn a_stream_withstands_what_befalls_any_packet() {
    const SAYS: u32 = 30;
    let by = Duration::from_millis(1500);
    let deeds = [
        Deed::Lose,
        Deed::Duplicate { by },
        Deed::Alter { bit: 77 },
        Deed::Alter { bit: 300 },
        Deed::Delay { by },
        Deed::HoldBack { by },
    ];
    for (from, to) in [(SOURCE, SINK), (SINK, SOURCE)] {
        for nth in 0..36 {
            for deed in deeds {
                let (way, events) = ((from, to), vec![Event { nth, deed }]);
                let mut scene =
                    Scene::<IsochronousStream>::scripted(link(0.0), SAYS, sends, way, events);
                scene.run(Duration::from_secs(100));
                let what = format!("{deed:?} of {nth} from {from}");
                let heard = scene.heard();
                assert!(heard.is_sorted_by(|one, other| one.0 < other.0), "{what}");
                assert!(heard.len() as u32 >= SAYS - 1, "{what}: {} arrived", heard.len());
                for side in [scene.source, scene.sink] {
                    let side = scene.world.application(side);
                    assert_eq!(side.ended, Some(Ended::Finished), "{what}");
                }
            }
        }
    }
}
