//! Two ends on a path that loses nothing.

use stackwright_tcp::Config;
use stackwright_transport::words::{Ending, Phase, SECOND};

use crate::scene::{Scene, octets};

const OVER: Phase = Phase::Ended(Ending::Finished);

/// 16 MB there and as much back, with every setting that changes the wire.
#[test]
fn what_is_sent_arrives_both_ways_whatever_was_negotiated() {
    let sent = octets(16 << 20);
    for setting in 0..8 {
        let config = |side: u8| Config {
            sack: setting & 1 > 0 || side == 0,
            timestamps: setting & 2 > 0 || side == 1,
            scales: setting & 4 > 0 || side == 0,
            ..Config::new([side; 16])
        };
        let mut scene = Scene::opened([config(0), config(1)]);
        let (mut said, most) = ([0; 2], if setting == 7 { sent.len() } else { 1 << 20 });
        for _ in 0..100_000 {
            for side in [0, 1] {
                let waits = scene.ends[side].association.sending().waiting_octets();
                let upto = (said[side] + 64_000).min(most);
                if waits < 64_000 && said[side] < upto {
                    scene.send(side, &sent[said[side]..upto]);
                    said[side] = upto;
                }
            }
            if scene.ends.iter().all(|end| end.heard.len() == most) {
                break;
            }
            scene.step();
        }
        for end in &scene.ends {
            assert!(end.heard == sent[..most], "setting {setting}: {}", end.heard.len());
            let counts = end.association.counts();
            assert_eq!((counts.retransmitted, counts.timeouts), (0, 0), "setting {setting}");
        }
        assert_eq!(scene.longest, 1480);
        if setting == 7 {
            let least = 2 * most.div_ceil(1448);
            assert!(scene.segments < least * 3 / 2, "{} of {least}", scene.segments);
        }
    }
}

/// RFC 9293 §3.6: one half is closed, and the other goes on.
#[test]
fn a_half_that_is_closed_leaves_the_other_open() {
    let mut scene = Scene::opened([Config::new([0; 16]), Config::new([1; 16])]);
    scene.send(0, b"a question");
    scene.ends[0].association.finish();
    scene.until(1, |scene| scene.ends[1].association.heard_all(scene.now));
    assert_eq!((scene.phase(0), scene.phase(1)), (Phase::Open, Phase::Open));
    scene.send(1, &octets(100_000));
    scene.until(9, |scene| scene.ends[0].heard.len() == 100_000);
    scene.ends[1].association.finish();
    scene.until(1, |scene| [scene.phase(0), scene.phase(1)] == [OVER; 2]);
    assert_eq!(scene.ends[1].heard, b"a question");
}

/// §3.6, figure 13.
#[test]
fn both_may_close_at_once() {
    let mut scene = Scene::opened([Config::new([0; 16]), Config::new([1; 16])]);
    for side in [0, 1] {
        scene.send(side, &octets(5000));
        scene.ends[side].association.finish();
    }
    scene.until(1, |scene| [scene.phase(0), scene.phase(1)] == [OVER; 2]);
    assert!(scene.ends.iter().all(|end| end.heard == octets(5000)));
}

/// §3.5, figure 8.
#[test]
fn both_may_open_at_once() {
    let mut scene = Scene::usual();
    for side in [0, 1] {
        let now = scene.now;
        scene.ends[side].association.open(now);
    }
    scene.until(1, |scene| [scene.phase(0), scene.phase(1)] == [Phase::Open; 2]);
    scene.step();
    assert_eq!(scene.segments, 6, "SYN, SYN and ACK, ACK, of both");
    for side in [0, 1] {
        scene.send(side, &octets(100_000));
        scene.ends[side].association.finish();
    }
    scene.until(9, |scene| [scene.phase(0), scene.phase(1)] == [OVER; 2]);
    assert!(scene.ends.iter().all(|end| end.heard == octets(100_000)));
}

/// RFC 9293 §3.8.6.1: it is asked about, without data, and that is no loss.
#[test]
fn a_window_that_was_shut_is_asked_about_and_opens() {
    let mut scene = Scene::opened([Config::new([0; 16]), Config::new([1; 16])]);
    scene.ends[1].reads = false;
    scene.send(0, &octets(1 << 20));
    (0..1000).for_each(|_| scene.step());
    let (before, mut probes) = (scene.window(0), Vec::new());
    for millisecond in 0..600_000 {
        scene.step_with(|side, segment| {
            assert!(side == 1 || segment.len() < 60, "no data");
            probes.extend((side == 0).then_some(millisecond));
            true
        });
    }
    assert_eq!((scene.phase(0), scene.phase(1)), (Phase::Open, Phase::Open));
    let gaps = Vec::from_iter(probes.windows(2).map(|pair| pair[1] - pair[0]));
    assert!(probes.len() > 10 && gaps.iter().is_sorted(), "{gaps:?}");
    assert_eq!(gaps.last(), Some(&60_000));
    let counts = scene.ends[0].association.counts();
    assert_eq!((counts.lost, counts.timeouts, scene.window(0)), (0, 0, before), "{counts:?}");
    // The segment that tells that it is open is lost.
    scene.ends[1].reads = true;
    scene.hears(1, &[]);
    assert!(!scene.speaks(1).is_empty());
    scene.until(90, |scene| scene.ends[1].heard.len() == 1 << 20);
    assert!(scene.ends[1].heard == octets(1 << 20));
}

/// RFC 9293 §3.8.3: one that does not answer is gone after the user timeout, and not before.
#[test]
fn a_peer_with_a_shut_window_that_falls_silent_is_gone() {
    let mut scene = Scene::opened([Config::new([0; 16]), Config::new([1; 16])]);
    scene.ends[1].reads = false;
    scene.send(0, &octets(1 << 20));
    (0..10_000).for_each(|_| scene.step());
    let mut silent = 0;
    while scene.phase(0) == Phase::Open && silent < 400_000 {
        scene.step_with(|_, _| false);
        silent += 1;
    }
    assert_eq!(scene.phase(0), Phase::Ended(Ending::Silent));
    assert!((90_000..220_000).contains(&silent), "{silent} ms");
}

/// RFC 9293 §3.8.4: an idle peer is asked where that is wanted, and lives as long as it answers.
#[test]
fn an_idle_peer_is_asked_whether_it_is_there() {
    for keep_alive in [60 * SECOND, u64::MAX] {
        let config = Config { keep_alive, ..Config::new([0; 16]) };
        let mut scene = Scene::opened([config, Config::new([1; 16])]);
        scene.segments = 0;
        (0..600_000).for_each(|_| scene.step());
        let asked = if keep_alive == u64::MAX { 0 } else { 10 };
        assert!((scene.segments / 2).abs_diff(asked) <= 1, "{}", scene.segments);
        assert_eq!(scene.phase(0), Phase::Open);
        (0..300_000).for_each(|_| scene.step_with(|_, _| false));
        let over = Phase::Ended(Ending::Silent);
        assert_eq!(scene.phase(0) == over, asked > 0, "{}", scene.segments);
    }
}

/// RFC 9293 §3.8.6.2.1: where a window never opens for a whole segment, what it takes leaves.
#[test]
fn a_window_that_stays_smaller_than_a_segment_is_used() {
    let narrow = Config { window: 400, window_most: 400, ..Config::new([0; 16]) };
    let mut scene = Scene::opened([narrow, Config::new([1; 16])]);
    scene.send(1, &octets(10_000));
    scene.until(60, |scene| scene.ends[0].heard.len() == 10_000);
    assert!(scene.ends[0].heard == octets(10_000) && scene.longest <= 32 + 400);
    assert_eq!(scene.ends[1].association.counts().timeouts, 0);
}

/// RFC 5681 §3.2, RFC 2018, RFC 8985: segments that are lost are sent again within a few round
/// trips, whether or not the peer has SACK.
#[test]
fn a_loss_costs_no_timeout() {
    for (sack, missing) in [(true, 1), (true, 5), (false, 1), (false, 3)] {
        let config = |side: u8| Config { sack: sack || side == 0, ..Config::new([side; 16]) };
        let mut scene = Scene::opened([config(0), config(1)]);
        scene.answers_each = true;
        scene.send(0, &octets(1 << 20));
        let mut nth = 0;
        for _ in 0..600 {
            scene.step_with(|side, segment| {
                let is_data = side == 0 && segment.len() > 100;
                nth += usize::from(is_data);
                // Every second one of a few that leave together.
                !(is_data && (200..200 + 2 * missing).contains(&nth) && nth % 2 == 0)
            });
        }
        assert!(scene.ends[1].heard == octets(1 << 20), "{}", scene.ends[1].heard.len());
        let counts = scene.ends[0].association.counts();
        assert_eq!(counts.timeouts, 0, "{sack} {missing}: {counts:?}");
        assert!(counts.retransmitted >= missing as u64, "{counts:?}");
        // The tail may be probed.
        let needless = counts.retransmitted - missing as u64;
        assert!(!sack || needless <= 1 && counts.lost == 1448 * missing as u64, "{counts:?}");
    }
}

/// RFC 2525 §2.17: a peer learns that what it has sent is never read.
#[test]
fn who_closes_without_having_read_all_resets() {
    for reads in [true, false] {
        let mut scene = Scene::opened([Config::new([0; 16]), Config::new([1; 16])]);
        scene.ends[1].reads = reads;
        scene.send(0, &octets(100));
        (0..100).for_each(|_| scene.step());
        scene.ends[1].association.close();
        scene.ends[0].association.finish();
        (0..100).for_each(|_| scene.step());
        let reset = Phase::Ended(Ending::Reset(0));
        assert_eq!(scene.phase(0), if reads { OVER } else { reset });
        assert_eq!(scene.phase(1), if reads { OVER } else { Phase::Ended(Ending::Aborted(0)) });
    }
}
