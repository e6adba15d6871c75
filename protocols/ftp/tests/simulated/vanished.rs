//! Clients that vanish: their system closes the control association and then the data association,
//! whose end is that of a file in MODE S.

use stackwright_contract::Duration;

use crate::dialogue::Dialogue;
use crate::setting::{content, server_config};

/// The session of a client that stores half of `a`, and closes both associations at the same time.
fn vanished(before: &str, control_first: bool) -> Dialogue {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put("a", "older");
    dialogue.say(before);
    let data = dialogue.connect();
    dialogue.say("STOR a\r\n");
    let Dialogue { world, raw, control, .. } = &mut dialogue;
    raw.say(world, data, &content(2000, 1)[..1000]);
    let order = if control_first { [*control, data] } else { [data, *control] };
    for association in order {
        raw.finish(world, association);
    }
    world.run_for(Duration::from_secs(1));
    dialogue
}

#[test]
fn half_a_file_gets_no_name() {
    for control_first in [true, false] {
        for (before, part) in [("NOOP\r\n", None), ("ARST\r\n", Some(1000))] {
            let dialogue = vanished(before, control_first);
            assert_eq!(dialogue.codes().last(), Some(&426), "{before} {control_first}");
            let octets = |octets: Option<Vec<u8>>| octets.map(|octets| octets.len());
            assert_eq!(octets(dialogue.disk.borrow().octets("a")), Some(5), "the older file stays");
            assert_eq!(octets(dialogue.disk.borrow().part("a")), part, "{before} {control_first}");
            dialogue.settle();
        }
    }
}

/// A client that does not wait for the reply to QUIT has said all that it had to say.
#[test]
fn a_client_that_quits_has_sent_the_whole_file() {
    let mut dialogue = Dialogue::new(server_config());
    let data = dialogue.connect();
    dialogue.say("STOR a\r\nQUIT\r\n");
    let Dialogue { world, raw, control, .. } = &mut dialogue;
    raw.finish(world, *control);
    raw.say(world, data, b"whole");
    raw.finish(world, data);
    world.run_for(Duration::from_secs(1));
    assert!(dialogue.codes().ends_with(&[226, 221]), "{:?}", dialogue.codes());
    assert_eq!(dialogue.disk.borrow().octets("a").as_deref(), Some(&b"whole"[..]));
    dialogue.settle();
}

/// The end of blocks is not that of the association.
#[test]
fn a_file_in_blocks_is_whole_when_its_end_has_arrived() {
    let mut dialogue = Dialogue::new(server_config());
    let data = dialogue.connect();
    dialogue.say("MODE B\r\nSTOR a\r\n");
    let Dialogue { world, raw, control, .. } = &mut dialogue;
    raw.say(world, data, b"\x40\0\x05whole");
    raw.finish(world, data);
    raw.finish(world, *control);
    world.run_for(Duration::from_secs(1));
    assert_eq!(dialogue.codes().last(), Some(&226), "{:?}", dialogue.codes());
    assert_eq!(dialogue.disk.borrow().octets("a").as_deref(), Some(&b"whole"[..]));
    dialogue.settle();
}
