//! Members that come late, are slow, leave or vanish: what they cost the others is bounded, and
//! both sides are told.

use std::num::NonZeroU64;

use stackwright_contract::services::{Credit, DatagramsRequest as Ask, Ended};
use stackwright_contract::{Duration, Handle};
use stackwright_simulator::{Conditions, seeds};
use stackwright_transport::slots::GroupCounts;
use stackwright_transport::words::SECOND;
use stackwright_xtp::header::DiagnosticSegment;
use stackwright_xtp::multicast::{GroupConfig, ReliableMulticast};

use crate::multicast::scene::{CONTEXT, SENDER, Scene, config, message, receiver_address};

type Group = Scene<ReliableMulticast>;

/// What the sender sends takes some seconds.
fn steadily(members: usize) -> GroupConfig {
    GroupConfig { rate: NonZeroU64::new(200_000), ..config(members) }
}

/// Links with some of all faults.
fn bad(seed: u64) -> Conditions {
    Conditions {
        loss: 0.03.into(),
        duplicate: 0.02,
        delay: Duration::from_millis(seed % 10),
        jitter: Duration::from_millis(seed % 7),
        ..Conditions::IDEAL
    }
}

const MESSAGES: u32 = 400;

#[test]
fn who_vanishes_is_dropped_and_the_others_get_all() {
    for seed in seeds(5) {
        let mut scene = Group::new(seed, bad(seed), 4, steadily(4));
        scene.send(MESSAGES, 3000);
        // Before the round trip was measured, questions wait for seconds.
        scene.world.run_for(Duration::from_millis(3000 + 50 * seed));
        let whole = GroupCounts { members: 4, left: 0, dropped: 0 };
        assert_eq!(scene.counts(), Some(whole), "seed {seed}");
        scene.vanish(2);
        let (took, why) = scene.run(120).expect("it ends");
        assert_eq!(why, Ended::Expired, "seed {seed}: not all have all");
        // 1.2 MB at 200 kB/s, and 6 questions that nobody answers, each later than the last.
        assert!(took < Duration::from_secs(30), "seed {seed}: {took:?}");
        scene.world.run_for(Duration::from_secs(60));
        for nth in [0, 1, 3] {
            scene.has_heard(nth, 0, &format!("seed {seed}"));
            assert_eq!(scene.receiver(nth).ended, [Ended::Finished], "seed {seed}");
        }
        assert_eq!(scene.receiver(2).ended, [Ended::Expired], "seed {seed}");
    }
}

#[test]
fn who_joins_late_gets_all_from_a_message_on() {
    for seed in seeds(5) {
        let mut scene = Group::new(seed, bad(seed), 2, steadily(2));
        scene.send(MESSAGES, 3000);
        scene.world.run_for(Duration::from_millis(1500 + 50 * seed));
        scene.join();
        let (_, why) = scene.run(120).expect("it ends");
        assert_eq!(why, Ended::Finished, "seed {seed}");
        scene.world.run_for(Duration::from_secs(60));
        let heard = scene.receiver(2).heard.len() as u32;
        assert!((1..MESSAGES).contains(&heard), "seed {seed}: {heard}");
        scene.has_heard(2, MESSAGES - heard, &format!("seed {seed}"));
        for nth in 0..3 {
            assert_eq!(scene.receiver(nth).ended, [Ended::Finished], "seed {seed}");
        }
        (0..2).for_each(|nth| scene.has_heard(nth, 0, &format!("seed {seed}")));
    }
}

#[test]
fn who_joins_when_nothing_is_sent_waits_for_what_comes() {
    let mut scene = Group::new(1, Conditions::IDEAL, 1, config(1));
    scene.send_and_stay(10, 3000);
    scene.world.run_for(Duration::from_secs(5));
    scene.join();
    // The sender asks a silent group whether it is there.
    scene.world.run_for(Duration::from_secs(30));
    let batch = stackwright_wire::Message::with_headroom(128, &message(10, 3000));
    let batch = crate::multicast::scene::M::into(batch);
    let properties = Default::default();
    scene.world.ask(scene.sender, Ask::Send { association: CONTEXT, batch, properties });
    scene.world.ask(scene.sender, Ask::Close { name: CONTEXT });
    assert_eq!(scene.run(60).map(|(_, why)| why), Some(Ended::Finished));
    scene.world.run_for(Duration::from_secs(60));
    assert_eq!(scene.receiver(0).heard.len(), 11);
    assert_eq!(scene.receiver(1).heard, [message(10, 3000)]);
    assert_eq!(scene.receiver(1).ended, [Ended::Finished]);
}

#[test]
fn who_is_too_slow_is_dropped_and_told() {
    for seed in seeds(5) {
        let settings = GroupConfig { patience: 5 * SECOND, ..config(3) };
        let mut scene = Group::new(seed, bad(seed), 3, settings);
        let slow = scene.receivers[1];
        scene.world.application_mut(slow).most = 5;
        scene.send(MESSAGES, 3000);
        let (took, why) = scene.run(120).expect("it ends");
        assert_eq!(why, Ended::Expired, "seed {seed}: not all have all");
        assert!(took < Duration::from_secs(25), "seed {seed}: {took:?}");
        scene.world.run_for(Duration::from_secs(60));
        for nth in [0, 2] {
            scene.has_heard(nth, 0, &format!("seed {seed}"));
            assert_eq!(scene.receiver(nth).ended, [Ended::Finished], "seed {seed}");
        }
        // It is told when it has taken what it had.
        assert_eq!(scene.receiver(1).ended, [], "seed {seed}");
        scene.world.application_mut(slow).most = usize::MAX;
        let (association, credit) =
            (Handle { index: 0, generation: 0 }, Credit { octets: 1 << 20, messages: 1000 });
        scene.world.ask(slow, Ask::Credit { association, credit });
        scene.world.run_for(Duration::from_secs(1));
        let ended = &scene.receiver(1).ended;
        let told = [Ended::Reset(DiagnosticSegment::RETRANSMISSION), Ended::Reset(0)];
        assert!(ended.len() == 1 && told.contains(&ended[0]), "seed {seed}: {ended:?}");
        assert!(scene.receiver(1).heard.len() < MESSAGES as usize);
    }
}

#[test]
fn who_leaves_is_not_waited_for() {
    for seed in seeds(5) {
        let mut scene = Group::new(seed, Conditions::IDEAL, 3, steadily(3));
        scene.send(MESSAGES, 3000);
        scene.world.run_for(Duration::from_millis(1500 + 50 * seed));
        let leaver = scene.receivers[1];
        scene.world.ask(leaver, Ask::Close { name: Handle { index: 0, generation: 0 } });
        scene.world.run_for(Duration::from_secs(1));
        let counts = GroupCounts { members: 2, left: 1, dropped: 0 };
        assert_eq!(scene.counts(), Some(counts), "seed {seed}");
        assert_eq!(scene.run(120).map(|(_, why)| why), Some(Ended::Finished), "seed {seed}");
        assert_eq!(scene.receiver(1).ended, [Ended::Finished], "it has said so several times");
        scene.world.run_for(Duration::from_secs(60));
        [0, 2].into_iter().for_each(|nth| scene.has_heard(nth, 0, &format!("seed {seed}")));
    }
}

#[test]
fn all_are_told_why_the_sender_gives_up() {
    let mut scene = Group::new(1, Conditions::IDEAL, 3, steadily(3));
    scene.send(MESSAGES, 3000);
    scene.world.run_for(Duration::from_secs(2));
    scene.world.ask(scene.sender, Ask::Abort { association: CONTEXT, code: 77 });
    scene.world.run_for(Duration::from_secs(20));
    for nth in 0..3 {
        assert_eq!(scene.receiver(nth).ended, [Ended::Reset(77)]);
    }
}

#[test]
fn a_sender_without_receivers_ends() {
    let mut scene = Group::new(1, Conditions::IDEAL, 0, config(0));
    scene.send(5, 3000);
    assert_eq!(scene.run(300).map(|(_, why)| why), Some(Ended::Expired));
}

/// A receiver that is there, and does not await the sender, costs nobody anything.
#[test]
fn as_many_as_are_expected_are_waited_for() {
    let mut scene = Group::new(1, Conditions::IDEAL, 2, config(3));
    scene.send(5, 3000);
    scene.world.run_for(Duration::from_secs(5));
    assert_eq!(scene.world.application(scene.sender).ended, None, "one is missing");
    scene.join();
    assert_eq!(scene.run(60).map(|(_, why)| why), Some(Ended::Finished));
    (0..3).for_each(|nth| scene.has_heard(nth, 0, "the last one, too"));
}

/// The acknowledgement of all is in the word with which it leaves, and in no other.
#[test]
fn who_leaves_behind_the_last_message_has_it_all() {
    for seed in seeds(5) {
        for members in [1, 2, 5] {
            let mut scene = Group::new(seed, bad(seed), members, config(members));
            for receiver in scene.receivers.clone() {
                scene.world.application_mut(receiver).leaves_behind = Some(20);
            }
            scene.send(20, 300);
            let (_, why) = scene.run(120).expect("it ends");
            assert_eq!(why, Ended::Finished, "seed {seed}, {members} members");
            scene.world.run_for(Duration::from_secs(60));
            for nth in 0..members {
                scene.has_heard(nth, 0, &format!("seed {seed}"));
                assert_eq!(scene.receiver(nth).ended, [Ended::Finished], "seed {seed}");
            }
        }
    }
}

#[test]
fn who_leaves_says_so_again_if_that_is_lost() {
    let mut scene = Group::new(1, Conditions::IDEAL, 1, config(1));
    let receiver = scene.receivers[0];
    scene.world.application_mut(receiver).leaves_behind = Some(3);
    let way_back = |loss: f64| Conditions { loss: loss.into(), ..Conditions::IDEAL };
    scene.world.network_mut().set_link(receiver_address(0), SENDER, way_back(1.0));
    scene.send(3, 300);
    scene.world.run_for(Duration::from_millis(100));
    assert_eq!(scene.receiver(0).heard.len(), 3, "and it has left");
    scene.world.network_mut().set_link(receiver_address(0), SENDER, way_back(0.0));
    let (_, why) = scene.run(60).expect("it ends");
    assert_eq!(why, Ended::Finished);
    // The sender's end stops it.
    scene.world.run_for(Duration::from_millis(100));
    assert_eq!(scene.receiver(0).ended, [Ended::Finished]);
}
