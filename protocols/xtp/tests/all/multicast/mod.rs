//! One sender and a group, in a world. `SEEDS=30 cargo test --release -p stackwright-xtp multicast`
//! tries 1800 seeds of the bad links.

mod members;
mod packets;
mod scene;

use std::collections::BTreeSet;
use std::num::NonZeroU64;

use stackwright_contract::Duration;
use stackwright_contract::services::Ended;
use stackwright_simulator::{Conditions, Deed, Event, seeds};
use stackwright_transport::words::MILLISECOND;
use stackwright_xtp::Config;
use stackwright_xtp::multicast::{GroupConfig, ReliableMulticast, UnacknowledgedMulticast};

use packets::Packets;
use scene::{SENDER, Scene, config, receiver_address};

type Group = Scene<ReliableMulticast>;

/// Checks that all receivers have got all, and that both sides were told the end.
fn all_have_all(scene: &mut Group, what: &str) -> Duration {
    let (took, why) = scene.run(600).unwrap_or_else(|| panic!("{what}: it has no end"));
    assert_eq!(why, Ended::Finished, "{what}");
    // One that hears no end waits for it as long as for a silent sender.
    scene.world.run_for(Duration::from_secs(60));
    for nth in 0..scene.receivers.len() {
        scene.has_heard(nth, 0, what);
        assert_eq!(scene.receiver(nth).ended, [Ended::Finished], "{what}: {nth}");
        assert_eq!(scene.receiver(nth).opened, 1, "{what}: {nth}");
    }
    took
}

#[test]
fn all_receivers_get_all_and_both_sides_are_told_the_end() {
    for members in [1, 2, 3, 10] {
        let mut scene = Group::new(1, Conditions::IDEAL, members, config(members));
        scene.send(50, 3000);
        all_have_all(&mut scene, "on ideal links");
    }
}

/// Links that each lose one packet in a hundred.
fn lossy() -> Conditions {
    Conditions { loss: 0.01.into(), delay: Duration::from_millis(1), ..Conditions::IDEAL }
}

#[test]
fn each_of_many_receivers_gets_all_though_each_loses_others() {
    for members in [1, 2, 10, 50] {
        let mut scene = Group::new(members as u64, lossy(), members, config(members));
        scene.send(100, 3000);
        let took = all_have_all(&mut scene, "with loss");
        let packets = Packets::taken(&mut scene.world);
        println!("{members:2} receivers: {took:?}, {packets}");
        // A packet is sent until it has reached all: 1.5 times to 50, on average.
        assert!(packets.data < 2 * packets.units.len(), "{members}: {packets}");
    }
}

/// The sender's inquiries reach the end of their numbers, and nothing else changes.
#[test]
fn a_group_is_asked_over_the_end_of_the_numbers_of_inquiries() {
    for seed in seeds(5) {
        let [usual, wraps] = [0, u32::MAX - 5].map(|sync| {
            let settings = config(3);
            let common = Config { sync, ..settings.common };
            let settings = GroupConfig { common, ..settings };
            let mut scene = Group::new(seed, lossy(), 3, settings);
            scene.send(50, 3000);
            let took = all_have_all(&mut scene, &format!("seed {seed} behind {sync}"));
            let Packets { data, sent, heard, asked, .. } = Packets::taken(&mut scene.world);
            (took, data, sent, heard, asked.wrapping_sub(sync))
        });
        assert!(usual.4 > 5, "seed {seed}: {} questions", usual.4);
        assert_eq!(usual, wraps, "seed {seed}");
    }
}

/// Sends slowly, so that gaps show long before a question does.
fn slowly(members: usize) -> GroupConfig {
    let rate = NonZeroU64::new(100_000);
    GroupConfig { rate, slot: 100 * MILLISECOND, ..config(members) }
}

/// Returns the different packets that the sender's links have lost.
fn lost(scene: &Group) -> usize {
    let is_lost = |event: &Event| event.deed == Deed::Lose;
    let log = scene.world.network().log();
    let lost = log.iter().filter(|(from, _, event)| *from == SENDER && is_lost(event));
    lost.map(|(_, _, event)| event.nth).collect::<BTreeSet<_>>().len()
}

#[test]
fn fifty_receivers_report_a_loss_twice_at_most_in_the_mean() {
    let (mut naks, mut losses) = (0, 0);
    for seed in 0..2 {
        let mut scene = Group::new(seed, lossy(), 50, slowly(50));
        scene.world.network_mut().keep_log();
        scene.send(25, 3000);
        all_have_all(&mut scene, "each loses others");
        let packets = Packets::taken(&mut scene.world);
        (naks, losses) = (naks + packets.naks, losses + lost(&scene));
    }
    println!("{naks} NAKs for {losses} losses that few share");
    assert!(naks > 0 && naks <= 2 * losses, "{naks} for {losses}");
}

#[test]
fn what_all_fifty_lose_few_report() {
    let delay = Duration::from_millis(1);
    let conditions = Conditions { delay, ..Conditions::IDEAL };
    let (mut naks, mut losses) = (0, 0);
    for seed in 0..2 {
        let mut scene = Group::new(seed, conditions.clone(), 50, slowly(50));
        let events: Vec<_> =
            (0..10).map(|nth| Event { nth: 20 + 25 * nth, deed: Deed::Lose }).collect();
        for nth in 0..50 {
            scene.world.network_mut().script(SENDER, receiver_address(nth), events.clone());
        }
        scene.send(50, 3000);
        all_have_all(&mut scene, "all lose the same");
        (naks, losses) = (naks + Packets::taken(&mut scene.world).naks, losses + events.len());
    }
    println!("{naks} NAKs for {losses} losses that all share");
    assert!(naks > 0 && naks <= 2 * losses, "{naks} for {losses}");
}

#[test]
fn links_that_lose_double_reorder_and_delay_change_nothing() {
    for seed in seeds(60) {
        let members = 1 + (seed % 7) as usize;
        let conditions = Conditions {
            loss: (0.1 * (seed % 3) as f64 / 2.0).into(),
            duplicate: 0.05 * (seed % 2) as f64,
            corrupt: 0.02 * (seed % 5) as f64 / 4.0,
            delay: Duration::from_millis(seed % 20),
            jitter: Duration::from_millis(seed % 11),
            ..Conditions::IDEAL
        };
        let mut scene = Group::new(seed, conditions, members, config(members));
        scene.send(20 + (seed % 5) as u32, 1 + (seed * 777 % 5000) as usize);
        all_have_all(&mut scene, &format!("seed {seed}"));
    }
}

#[test]
fn whatever_befalls_one_of_the_first_packets_changes_nothing() {
    let by = Duration::from_millis(1500);
    let deeds = [
        Deed::Lose,
        Deed::Duplicate { by },
        Deed::Alter { bit: 77 },
        Deed::Delay { by },
        Deed::HoldBack { by },
    ];
    let receiver = receiver_address(0);
    for (from, to) in [(SENDER, receiver), (receiver, SENDER), (receiver_address(1), receiver)] {
        for nth in 0..24 {
            for deed in deeds {
                let mut scene = Group::new(1, Conditions::IDEAL, 2, config(2));
                scene.world.network_mut().script(from, to, vec![Event { nth, deed }]);
                scene.send(4, 2000);
                all_have_all(&mut scene, &format!("{deed:?} of {nth} from {from} to {to}"));
            }
        }
    }
}

#[test]
fn what_nobody_acknowledges_arrives_as_far_as_links_let_it() {
    for seed in 0..20 {
        let conditions = Conditions { loss: 0.1.into(), ..Conditions::IDEAL };
        let mut scene = Scene::<UnacknowledgedMulticast>::new(seed, conditions, 5, config(0));
        scene.send(100, 300);
        let (_, why) = scene.run(60).expect("it ends");
        assert_eq!(why, Ended::Finished);
        scene.world.run_for(Duration::from_secs(60));
        for nth in 0..5 {
            let receiver = scene.receiver(nth);
            assert!((60..100).contains(&receiver.heard.len()), "{}", receiver.heard.len());
            assert!(receiver.heard.is_sorted() && receiver.opened == 1);
            assert_eq!(receiver.ended.len(), 1);
        }
        assert_eq!(Packets::taken(&mut scene.world).heard.len(), 0, "nobody answers");
    }
}
