//! What the application writes, and what of it shows on the wire: short writes, PSH, urgent data.

use stackwright_contract::services::MessageProperties;
use stackwright_tcp::Config;
use stackwright_transport::words::SECOND;

use crate::scene::{Scene, octets};

fn opened(change: impl Fn(&mut Config)) -> Scene {
    let config = |side| {
        let mut config = Config::new([side; 16]);
        change(&mut config);
        config
    };
    let mut scene = Scene::opened([config(0), config(1)]);
    scene.step();
    scene
}

/// Returns the lengths of the data that an end says now.
fn lengths(scene: &mut Scene) -> Vec<usize> {
    scene.speaks(0).iter().map(|said| said.len() - 32).collect()
}

/// They are joined while they wait.
#[test]
fn many_short_writes_are_few_segments() {
    let mut scene = opened(|_| ());
    for one in octets(4000).chunks(10) {
        scene.send(0, one);
    }
    let before = scene.ends[0].association.released().octets;
    assert_eq!((lengths(&mut scene), before), (vec![1448, 1448, 1104], 0));
    scene.send(0, b"at once");
    assert_eq!(lengths(&mut scene), [7], "what has left is not joined to");
    // They were lost.
    scene.until(9, |scene| scene.ends[1].heard.len() == 4007);
    assert!(scene.ends[1].heard[..4000] == octets(4000));
    (0..100).for_each(|_| scene.step());
    assert_eq!(scene.ends[0].association.released().octets, 4007, "all credit returns");
}

/// RFC 9293 §3.7.4: one short segment is on its way at a time, where that is wanted.
#[test]
fn a_short_segment_waits_for_an_acknowledgement_of_the_one_before() {
    for nagle in [false, true] {
        let mut scene = opened(|config| config.nagle = nagle);
        let mut said = Vec::new();
        for one in octets(100).chunks(10) {
            scene.send(0, one);
            said.extend(lengths(&mut scene));
        }
        assert_eq!(said, if nagle { vec![10] } else { vec![10; 10] });
        scene.send(0, &octets(1448));
        assert_eq!(lengths(&mut scene)[0], 1448, "a whole one does not wait");
        scene.until(9, |scene| scene.ends[1].heard.len() == 1548);
    }
}

/// RFC 9293 §3.9.1 (MUST-61): the end of what was written, and nothing else.
#[test]
fn the_last_segment_of_what_was_written_is_pushed() {
    for run in [0, 65_507] {
        let mut scene = opened(|config| config.run = run);
        let (mut pushed, mut number) = (Vec::new(), 0);
        for count in [3000, 1448, 10] {
            scene.send(0, &octets(count));
        }
        for _ in 0..100 {
            scene.step_with(|side, segment| {
                if side == 0 && segment.len() > 32 {
                    number += segment.len() - 32;
                    pushed.extend((segment[13] & 8 > 0).then_some(number));
                }
                true
            });
        }
        assert_eq!(pushed, [3000, 4448, 4458]);
    }
}

/// RFC 9293 §3.8.5, RFC 6093: the octet stays where it is, and both sides know which one it is.
#[test]
fn an_expedited_octet_arrives_in_order_and_is_marked() {
    for lost in [false, true] {
        let mut scene = opened(|config| config.silence = 600 * SECOND);
        let (now, urgent) = (scene.now, MessageProperties::EXPEDITED);
        let mut at = Vec::new();
        for (count, priority) in [(3000, 128), (7, urgent), (2000, 128), (1, urgent), (90, 128)] {
            let properties = MessageProperties { priority, ..MessageProperties::default() };
            scene.send_with(0, &octets(count), properties);
            at.extend(
                (priority == urgent)
                    .then_some(scene.ends[0].association.sending().waiting_octets()),
            );
        }
        let (mut pointed, mut nth) = (Vec::new(), 0);
        for _ in 0..2000 {
            scene.step_with(|side, segment| {
                let word = |from| u16::from_be_bytes([segment[from], segment[from + 1]]);
                if side == 0 && segment[13] & 32 > 0 {
                    pointed.push(u32::from(word(18)) + u32::from(word(6)));
                }
                nth += usize::from(side == 0);
                !(lost && nth == 3)
            });
        }
        assert!(scene.ends[1].heard.len() == 5098 && scene.now > now);
        assert_eq!(at, [3007, 5008]);
        let newest = *at.last().expect("two");
        assert_eq!(scene.ends[1].expedited.last(), Some(&newest), "{:?}", scene.ends[1].expedited);
        assert!(pointed.len() > 3 && pointed.iter().all(|end| *end == pointed[0]), "{pointed:?}");
    }
}
