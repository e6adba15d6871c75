//! Clients that vanish: their system closes the control association and then the data association,
//! whose end is that of a file in MODE S. One that closes them the other way round has sent it.

use fastrand::Rng;
use stackwright_contract::Duration;
use stackwright_simulator::{DiskFaults, Habits, Pace, seeds};

use crate::simulated::dialogue::Dialogue;
use crate::simulated::setting::{Seed, any_magnitude, content, server_config};

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
    for (before, part) in [("NOOP\r\n", None), ("ARST\r\n", Some(1000))] {
        let dialogue = vanished(before, true);
        assert_eq!(dialogue.codes().last(), Some(&426), "{before}");
        let octets = |octets: Option<Vec<u8>>| octets.map(|octets| octets.len());
        assert_eq!(octets(dialogue.disk.borrow().octets("a")), Some(5), "the older file stays");
        assert_eq!(octets(dialogue.disk.borrow().part("a")), part, "{before}");
        dialogue.settle();
    }
}

/// The end of the control association arrives behind more lines than the server takes while it
/// stores, and among them may be a QUIT: until that is known, the file gets no name.
#[test]
fn a_file_waits_for_what_came_before_the_end_of_its_client() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put("a", "older");
    let data = dialogue.connect();
    dialogue.say("STOR a\r\n");
    let Dialogue { world, raw, control, .. } = &mut dialogue;
    raw.say(world, data, &content(2000, 1)[..1000]);
    raw.say(world, *control, &b"NOOP\r\n".repeat(20_000));
    raw.finish(world, *control);
    raw.finish(world, data);
    world.run_for(Duration::from_secs(1));
    assert_ne!(dialogue.codes().last(), Some(&226));
    assert_eq!(dialogue.disk.borrow().octets("a").map(|octets| octets.len()), Some(5), "older");
}

/// A camera ends the data association, and then does not wait for the reply.
#[test]
fn what_ended_before_its_client_gets_its_name() {
    for before in ["NOOP\r\n", "ARST\r\n"] {
        let dialogue = vanished(before, false);
        assert_eq!(dialogue.codes().last(), Some(&226), "{before}");
        assert_eq!(dialogue.disk.borrow().octets("a"), Some(content(2000, 1)[..1000].to_vec()));
        dialogue.settle();
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Deed {
    Octets(usize),
    DataFinish,
    DataAbort,
    Quit,
    ControlFinish,
    ControlAbort,
}

/// A session that ends somehow, on a disk and a network that take their time.
struct Session {
    dialogue: Dialogue,
    random: Rng,
}

impl Session {
    fn new(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let pace = random.bool().then(|| Pace {
            octets: 100 + any_magnitude(&mut random, 5000) as usize,
            rest: Duration::from_millis(random.u64(1..20)),
        });
        let habits = Habits { pace, ..Habits::default() };
        let dialogue = Dialogue::with(seed, server_config(), habits);
        let delay = Duration::from_millis(random.choice([0, 1, 50]).expect("one of them"));
        dialogue.disk.borrow_mut().faults = DiskFaults { delay, ..DiskFaults::default() };
        Session { dialogue, random }
    }

    /// Does `deeds`, often in one instant.
    fn act(&mut self, data: stackwright_contract::Handle, content: &[u8], deeds: &[Deed]) {
        let (mut sent, control) = (0, self.dialogue.control);
        for deed in deeds {
            let Dialogue { world, raw, .. } = &mut self.dialogue;
            match *deed {
                Deed::Octets(octets) => {
                    raw.say(world, data, &content[sent..sent + octets]);
                    sent += octets;
                }
                Deed::DataFinish => raw.finish(world, data),
                Deed::DataAbort => raw.abort(world, data),
                Deed::Quit => {
                    raw.say(world, control, b"QUIT\r\n");
                    raw.finish(world, control);
                }
                Deed::ControlFinish => raw.finish(world, control),
                Deed::ControlAbort => raw.abort(world, control),
            }
            if self.random.bool() {
                world.run_for(Duration::from_micros(self.random.u64(..30_000)));
            }
        }
    }
}

/// A file appears if and only if its data association ended in order: before the control
/// association did, or with a QUIT on that.
#[test]
fn a_file_appears_if_and_only_if_its_data_ended_in_order() {
    let mut appeared = [0; 2];
    for seed in seeds(400) {
        let _seed = Seed(seed);
        let mut session = Session::new(seed);
        let random = &mut session.random;
        let content = content(any_magnitude(random, 60_000) as usize, seed);
        let mut deeds = Vec::new();
        let mut left = content.len();
        while left > 0 {
            let octets = 1 + random.usize(..left);
            deeds.push(Deed::Octets(octets));
            left -= octets;
        }
        let all = deeds.len();
        let data_ends: [&[Deed]; 5] = [
            &[Deed::DataFinish],
            &[Deed::DataFinish],
            &[Deed::DataFinish, Deed::DataAbort],
            &[Deed::DataAbort],
            &[],
        ];
        let data_end = random.choice(data_ends).expect("one of them");
        deeds.extend(data_end);
        let control_end = random
            .choice([Deed::Quit, Deed::ControlFinish, Deed::ControlAbort, Deed::ControlAbort])
            .expect("one of them");
        // Mostly about the end of the data association.
        let first = if random.bool() { all.saturating_sub(1) } else { 0 };
        let place = random.usize(first..=deeds.len() + 1);
        let finished = data_end.contains(&Deed::DataFinish);
        let whole = finished && (place > all || control_end == Deed::Quit);
        if place <= deeds.len() {
            deeds.insert(place, control_end);
        }
        let dialogue = &mut session.dialogue;
        dialogue.disk.borrow_mut().put("a", "older");
        if session.random.bool() {
            dialogue.say("ARST\r\n");
        }
        let data = dialogue.connect();
        let (control, stor) = (dialogue.control, b"STOR a\r\n");
        dialogue.raw.say(&mut dialogue.world, control, stor);
        if session.random.bool() {
            dialogue.world.run_for(Duration::from_millis(200));
        }
        session.act(data, &content, &deeds);
        let mut dialogue = session.dialogue;
        dialogue.world.run_for(Duration::from_secs(600));
        let there = dialogue.disk.borrow().octets("a");
        let expected = if whole { content } else { b"older".to_vec() };
        assert!(there == Some(expected), "{deeds:?}: {:?}", dialogue.codes());
        appeared[usize::from(whole)] += 1;
        dialogue.settle();
    }
    assert!(appeared.iter().all(|count| *count > 50), "{appeared:?}");
}

/// And a client sees the end of a file that is fetched if and only if that is whole.
#[test]
fn a_file_that_is_fetched_ends_in_order_or_not_at_all() {
    let mut ended = [0; 2];
    for seed in seeds(400) {
        let _seed = Seed(seed);
        let mut session = Session::new(seed);
        let random = &mut session.random;
        let octets = content(any_magnitude(random, 2_000_000) as usize, seed);
        session.dialogue.disk.borrow_mut().put("a", octets.clone());
        let control_end = random.choice([None, Some(Deed::Quit), Some(Deed::ControlAbort)]);
        let control_end = control_end.expect("one of them");
        let wait = Duration::from_micros(random.u64(..200_000));
        let dialogue = &mut session.dialogue;
        let data = dialogue.connect();
        let control = dialogue.control;
        dialogue.raw.say(&mut dialogue.world, control, b"RETR a\r\n");
        dialogue.world.run_for(wait);
        session.act(data, &[], control_end.as_slice());
        let mut dialogue = session.dialogue;
        dialogue.world.run_for(Duration::from_secs(600));
        let heard = dialogue.raw.heard(&dialogue.world, data);
        assert!(!heard.finished || heard.octets == octets, "{control_end:?}, {wait:?}");
        assert!(heard.finished || control_end == Some(Deed::ControlAbort), "{control_end:?}");
        ended[usize::from(heard.finished)] += 1;
        dialogue.settle();
    }
    assert!(ended.iter().all(|count| *count > 20), "{ended:?}");
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
