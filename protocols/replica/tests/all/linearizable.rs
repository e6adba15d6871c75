//! Whatever happens to the network and to processes, what clients are told is what one store that
//! never fails would have told them.

use stackwright_simulator::seeds;

use crate::scene::{Flaw, Scene};

/// Returns what is wrong after a run, and the scene.
fn run(seed: u64, flaw: Flaw) -> (Option<&'static str>, Scene) {
    let mut scene = Scene::new(seed, flaw);
    for turn in 0..900 {
        scene.step(turn > 200, true);
    }
    scene.heal(true);
    let mut calm = 0;
    for turn in 0..3000 {
        scene.step(false, turn < 200);
        calm = if turn > 200 && scene.is_calm() { calm + 1 } else { 0 };
        // What was cast last comes everywhere meanwhile.
        if calm == 100 {
            return (scene.check(), scene);
        }
    }
    (Some("they do not come together again"), scene)
}

#[test]
fn histories_of_clients_are_linearizable() {
    let (mut answered, mut refused, mut unknown, mut runs) = (0, 0, 0, 0);
    for seed in seeds(200) {
        let (wrong, scene) = run(seed, Flaw::Nothing);
        assert_eq!(wrong, None, "seed {seed}");
        answered += scene.answered;
        refused += scene.refused;
        unknown += scene.unknown;
        runs += 1;
    }
    println!("{runs} histories: {answered} answered, {refused} refused, {unknown} unknown");
    let sees_all = answered > 200 * runs && refused > runs && unknown > runs;
    assert!(runs < 100 || sees_all, "there is something to see");
}

/// The check sees what would be wrong.
#[test]
fn a_flaw_is_found() {
    for flaw in [Flaw::EarlyAnswer, Flaw::LocalRead] {
        let is_found = (0..50)
            .any(|seed| run(seed, flaw).0 == Some("no order explains what clients were told"));
        assert!(is_found, "{flaw:?}");
    }
}
