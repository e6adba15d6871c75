//! What routers and hosts report of the path (ICMP): heeded if it quotes what is in flight, and
//! never an end of what is open.

use stackwright_contract::{PathLimits, Trouble};
use stackwright_tcp::Config;
use stackwright_transport::words::{Ending, Phase};

use crate::scene::{ISS, Scene, key, octets};

/// The front of a segment of an end, `ahead` of its SYN.
fn front(side: usize, ahead: u32) -> [u8; 8] {
    let key = key(side);
    let ports = u32::from(key.own) << 16 | u32::from(key.peer);
    let number = ISS[side].wrapping_add(ahead);
    (u64::from(ports) << 32 | u64::from(number)).to_be_bytes()
}

const ALL: [Trouble; 6] = [
    Trouble::Unreachable,
    Trouble::Refused,
    Trouble::Prohibited,
    Trouble::TooLong { longest: 600 },
    Trouble::TooFar,
    Trouble::Malformed,
];

/// RFC 5927 §4: ports, and a number in flight.
#[test]
fn a_report_that_quotes_what_is_not_in_flight_has_no_effect() {
    let mut scene = Scene::usual();
    scene.ends[0].association.open(scene.now);
    assert_eq!(scene.speaks(0).len(), 1);
    let [ours, theirs] = [front(0, 0), front(1, 0)];
    for what in ALL {
        let forged = [front(0, 1), front(0, u32::MAX), theirs, [0; 8]];
        let now = scene.now;
        let association = &mut scene.ends[0].association;
        assert!(forged.iter().all(|quoted| !association.on_trouble(now, what, quoted)));
        assert_eq!(association.phase(now), Phase::Opening);
    }
    let now = scene.now;
    assert!(scene.ends[0].association.on_trouble(now, Trouble::TooFar, &ours));
    let mut scene = Scene::opened([Config::new([0; 16]), Config::new([1; 16])]);
    scene.step();
    scene.send(0, &octets(1000));
    assert_eq!(scene.speaks(0).len(), 1);
    let is_heeded = |scene: &mut Scene, ahead| {
        let now = scene.now;
        scene.ends[0].association.on_trouble(now, Trouble::TooFar, &front(0, ahead))
    };
    let heeded = [0, 1, 1000, 1001].map(|ahead| is_heeded(&mut scene, ahead));
    assert_eq!(heeded, [false, true, true, false]);
    scene.until(9, |scene| scene.ends[1].heard.len() == 1000);
    (0..100).for_each(|_| scene.step());
    assert!(!is_heeded(&mut scene, 1), "it was acknowledged");
}

/// RFC 5461 §4.1: an opening ends, what is open does not.
#[test]
fn trouble_ends_an_opening_and_nothing_that_is_open() {
    let ends = [
        (Trouble::Refused, Phase::Ended(Ending::Refused(0))),
        (Trouble::Unreachable, Phase::Ended(Ending::Silent)),
        (Trouble::Prohibited, Phase::Ended(Ending::Silent)),
        (Trouble::TooFar, Phase::Opening),
        (Trouble::Malformed, Phase::Opening),
    ];
    for (what, phase) in ends {
        let mut scene = Scene::usual();
        scene.ends[0].association.open(scene.now);
        scene.speaks(0);
        assert!(scene.ends[0].association.on_trouble(scene.now, what, &front(0, 0)));
        assert_eq!(scene.phase(0), phase, "{what}");
    }
    let mut scene = Scene::opened([Config::new([0; 16]), Config::new([1; 16])]);
    scene.send(0, &octets(3000));
    scene.speaks(0);
    for what in ALL {
        assert!(scene.ends[0].association.on_trouble(scene.now, what, &front(0, 1)));
        assert_eq!(scene.phase(0), Phase::Open, "{what}");
    }
    scene.until(9, |scene| scene.ends[1].heard == octets(3000));
}

/// RFC 1191 §6: what the path does not take leaves again at once, in parts, and costs neither a
/// timeout nor the congestion window; and not less than any host takes, whatever is reported.
#[test]
fn a_path_that_takes_less_is_used_as_it_is() {
    for (told, takes) in [(1000, 1000), (100, 556)] {
        let mut scene = Scene::opened([Config::new([0; 16]), Config::new([1; 16])]);
        let path = PathLimits { longest: told, ..PathLimits::UNBOUNDED };
        scene.send(0, &octets(200_000));
        for _ in 0..2000 {
            let mut dropped = Vec::new();
            scene.step_with(|side, segment| {
                let fits = side == 1 || segment.len() <= takes;
                if !fits {
                    dropped.push(*segment.first_chunk::<8>().expect("a header"));
                }
                fits
            });
            let (now, association) = (scene.now, &mut scene.ends[0].association);
            for quoted in dropped {
                let what = Trouble::TooLong { longest: told };
                if association.on_trouble(now, what, &quoted) {
                    association.on_below(None, path);
                }
            }
        }
        assert!(scene.ends[1].heard == octets(200_000), "{told}");
        let counts = scene.ends[0].association.counts();
        assert_eq!((counts.timeouts, counts.lost), (0, 0), "{told}: {counts:?}");
        // It takes as much as before again, and one segment tries that.
        (0..30_000).for_each(|_| scene.step());
        scene.ends[0].association.on_below(None, PathLimits::of_longest(1480));
        scene.longest = 0;
        for nth in 1..=2 {
            scene.send(0, &octets(9000));
            scene.until(9, |scene| scene.ends[1].heard.len() == 200_000 + 9000 * nth);
        }
        assert_eq!(scene.longest, 1480);
    }
}
