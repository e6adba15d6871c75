//! What comes late: an answer, and data behind its end.

use stackwright_tcp::Config;
use stackwright_transport::words::{Ending, MILLISECOND, Phase};

use crate::scene::{Scene, octets};

/// What comes last is acknowledged, also where the end arrived before it and ours was acknowledged.
#[test]
fn data_that_arrives_behind_its_end_is_acknowledged() {
    let mut scene = Scene::opened([Config::new([0; 16]), Config::new([1; 16])]);
    scene.ends[1].association.finish();
    (0..100).for_each(|_| scene.step());
    scene.send(0, &octets(2000));
    scene.ends[0].association.finish();
    let said = scene.speaks(0);
    said.iter().skip(1).for_each(|segment| scene.hears(1, segment));
    let _ = scene.speaks(1);
    scene.hears(1, &said[0]);
    assert_eq!(scene.ends[1].heard, octets(2000));
    assert_eq!(scene.speaks(1).len(), 1);
    assert_eq!(scene.phase(1), Phase::Ended(Ending::Finished));
}

/// A peer that was suspended when it was asked says nothing of the path: what is lost then is sent
/// again before the connection is given up.
#[test]
fn an_answer_that_came_late_does_not_put_off_what_is_lost() {
    let mut scene = Scene::usual();
    let now = scene.now;
    scene.ends[0].association.open(now);
    let asked = scene.speaks(0);
    scene.now = scene.now.later(10_000 * MILLISECOND);
    scene.hears(1, &asked[0]);
    let answered = scene.speaks(1);
    scene.hears(0, &answered[0]);
    scene.send(0, &octets(6000));
    scene.ends[0].association.finish();
    (0..10_000).for_each(|_| scene.step_with(|_, _| false));
    scene.until(90, |scene| scene.ends[1].heard.len() == 6000);
}
