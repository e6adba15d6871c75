//! Files in every form, fetched and stored by a raw client, over data associations of any size.

use std::net::SocketAddr;

use stackwright_contract::services::Ended;
use stackwright_contract::{Duration, Handle};
use stackwright_ftp::address;
use stackwright_ftp::form::{Damage, Decoder, Encoder, Form, Mode, Representation, Structure};
use stackwright_ftp::server::{Indication as ServerTold, Trouble};
use stackwright_simulator::{Habits, Tree, World, seeds};

use crate::simulated::raw::Raw;
use crate::simulated::setting::{
    AGES, CLIENT, Disk, M, Seed, ServerStation, add_server, any_magnitude, content, door,
    server_config, server_is_empty,
};

/// A server, and a raw client that has logged in.
struct Talk {
    world: World<M>,
    server: ServerStation,
    disk: Disk,
    raw: Raw,
    control: Handle,
}

impl Talk {
    fn new(seed: u64, habits: Habits) -> Self {
        let mut world = World::new(seed);
        let disk = Tree::shared();
        let server = add_server(&mut world, server_config(), habits, &disk);
        let mut raw = Raw::add(&mut world, CLIENT);
        let control = raw.open(&mut world, door());
        let mut talk = Talk { world, server, disk, raw, control };
        assert_eq!(talk.say("USER ftp\r\nPASS x"), [220, 331, 230]);
        talk
    }

    /// Says a command and returns the codes of the replies so far that are new.
    fn say(&mut self, text: &str) -> Vec<u16> {
        let before = self.replies().len();
        self.raw.say(&mut self.world, self.control, format!("{text}\r\n").as_bytes());
        self.world.run_for(Duration::from_secs(5));
        self.replies()[before..].iter().map(|(code, _)| *code).collect()
    }

    fn replies(&self) -> Vec<(u16, String)> {
        let replies = self.raw.replies(&self.world, self.control);
        replies.into_iter().map(|reply| (reply.code, reply.text)).collect()
    }

    fn last_reply(&self) -> (u16, String) {
        self.replies().pop().expect("a reply")
    }

    fn set(&mut self, form: Form) {
        let mode = match form.mode {
            Mode::Stream => "MODE S".into(),
            Mode::Block => "MODE B".into(),
            Mode::Deflate { level } => format!("MODE Z\r\nOPTS MODE Z LEVEL {level}"),
        };
        let representation = if form.representation == Representation::Ascii { 'A' } else { 'I' };
        let structure = if form.structure == Structure::Record { 'R' } else { 'F' };
        let codes = self.say(&format!("TYPE {representation}\r\nSTRU {structure}\r\n{mode}"));
        assert!(codes.iter().all(|code| *code == 200), "{form:?}: {codes:?}");
    }

    fn connect(&mut self) -> Handle {
        assert_eq!(self.say("EPSV"), [229]);
        let port = address::find_epsv(&self.last_reply().1).expect("a port");
        let data = self.raw.open(&mut self.world, SocketAddr::new(door().ip(), port));
        self.world.run_for(Duration::from_secs(1));
        data
    }

    /// Waits for the last word on a transfer.
    fn code(&mut self) -> u16 {
        let (raw, control) = (self.raw, self.control);
        let over = |world: &World<M>| {
            raw.replies(world, control).last().is_some_and(|reply| reply.code >= 200)
        };
        assert!(self.world.run_until(over, AGES), "no last word");
        self.world.run_for(Duration::from_secs(1));
        self.last_reply().0
    }

    fn arrived(&self, data: Handle) -> &[u8] {
        &self.raw.heard(&self.world, data).octets
    }

    fn is_finished(&self, data: Handle) -> bool {
        self.raw.heard(&self.world, data).finished
    }

    fn stored(&self, path: &str) -> Option<Vec<u8>> {
        self.disk.borrow().octets(path)
    }

    fn troubles(&self) -> Vec<Trouble> {
        let told = &self.world.application(self.server).0;
        let trouble = |told: &ServerTold| match told {
            ServerTold::Transferred { result: Err(trouble), .. } => Some(*trouble),
            _ => None,
        };
        told.iter().filter_map(trouble).collect()
    }

    fn settle(mut self) {
        self.raw.finish(&mut self.world, self.control);
        self.world.run_for(AGES);
        server_is_empty(&mut self.world, self.server);
    }
}

/// Every form, and the compression of one level.
fn forms() -> impl Iterator<Item = Form> {
    let modes = [Mode::Stream, Mode::Block, Mode::Deflate { level: 3 }];
    let structures = [Structure::File, Structure::Record];
    [Representation::Ascii, Representation::Image].into_iter().flat_map(move |representation| {
        modes.into_iter().flat_map(move |mode| {
            structures.map(|structure| Form { representation, mode, structure })
        })
    })
}

fn encoded(form: Form, file: &[u8]) -> Vec<u8> {
    let Some(mut encoder) = Encoder::new(form) else { return file.into() };
    let mut wire = Vec::new();
    encoder.feed(file, &mut wire);
    encoder.finish(&mut wire);
    wire
}

fn decoded(form: Form, wire: &[u8]) -> Vec<u8> {
    let Some(mut decoder) = Decoder::new(form) else { return wire.into() };
    let mut file = Vec::new();
    let taken = decoder.feed(wire, 1 << 30, &mut file).expect("no damage");
    decoder.finish(&mut file).expect("an end");
    assert_eq!(taken, wire.len(), "nothing is behind the end");
    file
}

/// Lines, some of them empty, with octets that are no text: none ends with CRLF.
fn lines(length: usize, seed: u64) -> Vec<u8> {
    let mut octets = content(length, seed);
    // CR is among those that become LF.
    for octet in octets.iter_mut().filter(|octet| **octet < 40) {
        *octet = b'\n';
    }
    octets
}

/// Fetches a file, stores it, and lists the folder, over associations of these habits.
fn everything(form: Form, length: usize, seed: u64, habits: Habits) {
    let mut talk = Talk::new(seed, habits);
    let file = lines(length, seed);
    talk.disk.borrow_mut().put("a", file.clone());
    talk.set(form);
    let in_blocks = form.mode == Mode::Block;
    let expected = if in_blocks { 250 } else { 226 };

    let data = talk.connect();
    talk.say("RETR a");
    assert_eq!(talk.code(), expected, "{form:?}");
    assert!(decoded(form, talk.arrived(data)) == file, "{form:?}: {length} octets fetched");
    assert_eq!(talk.is_finished(data), !in_blocks, "{form:?}");

    let data = talk.connect();
    talk.say("STOR b");
    let (raw, wire) = (talk.raw, encoded(form, &file));
    raw.say(&mut talk.world, data, &wire);
    raw.finish(&mut talk.world, data);
    assert!([226, 250].contains(&talk.code()), "{form:?}: {:?}", talk.last_reply());
    assert!(talk.stored("b") == Some(file), "{form:?}: {length} octets stored");

    let data = talk.connect();
    talk.say("NLST");
    assert_eq!(talk.code(), expected, "{form:?}");
    let listed =
        decoded(Form { representation: Representation::Image, ..form }, talk.arrived(data));
    let names = if form.structure == Structure::Record { "a\nb\n" } else { "a\r\nb\r\n" };
    assert_eq!(String::from_utf8_lossy(&listed), names, "{form:?}");
    assert_eq!(talk.troubles(), []);
    talk.settle();
}

#[test]
fn every_form_both_ways() {
    for form in forms() {
        for length in [0, 1, 1000, 300_000] {
            everything(form, length, 1, Habits::default());
        }
    }
}

#[test]
fn every_form_over_an_association_that_takes_an_octet_at_a_time() {
    for form in forms() {
        everything(form, 700, 1, Habits { credit: 1, buffer: 1, ..Habits::default() });
    }
}

#[test]
fn every_form_over_associations_of_any_size() {
    for seed in seeds(3) {
        let _said = Seed(seed);
        let mut random = fastrand::Rng::with_seed(seed);
        for form in forms() {
            let habits = Habits {
                credit: 1 + any_magnitude(&mut random, 100_000) as usize,
                buffer: 1 + any_magnitude(&mut random, 100_000) as usize,
                ..Habits::default()
            };
            let length = any_magnitude(&mut random, 100_000) as usize;
            everything(form, length.min(habits.credit.min(habits.buffer) * 500), seed, habits);
        }
    }
}

#[test]
fn lines_are_converted_in_type_a_which_a_session_begins_with() {
    let mut talk = Talk::new(1, Habits::default());
    talk.disk.borrow_mut().put("a", "one\ntwo\r\nthree");
    for (settings, expected) in [
        ("NOOP", "one\r\ntwo\r\nthree"),
        ("TYPE I", "one\ntwo\r\nthree"),
        ("TYPE A N", "one\r\ntwo\r\nthree"),
        ("TYPE A", "one\r\ntwo\r\nthree"),
        ("TYPE L 8", "one\ntwo\r\nthree"),
        ("REIN\r\nUSER ftp\r\nPASS x", "one\r\ntwo\r\nthree"),
    ] {
        talk.say(settings);
        let data = talk.connect();
        assert_eq!(talk.say("RETR a"), [150, 226], "{settings}");
        assert_eq!(talk.arrived(data), expected.as_bytes(), "{settings}");
    }
    talk.settle();
}

#[test]
fn size_and_rest_are_about_the_octets_of_the_file() {
    let mut talk = Talk::new(1, Habits::default());
    talk.disk.borrow_mut().put("a", "a\nb\n");
    for (settings, size, rest) in [
        ("TYPE I\r\nSTRU F\r\nMODE S", 213, 350),
        ("TYPE A\r\nSTRU F\r\nMODE S", 550, 501),
        ("TYPE I\r\nSTRU R\r\nMODE S", 550, 501),
        ("TYPE I\r\nSTRU F\r\nMODE B", 550, 350),
        ("TYPE I\r\nSTRU F\r\nMODE Z", 213, 350),
    ] {
        assert_eq!(talk.say(settings), [200, 200, 200]);
        assert_eq!(talk.say("SIZE a"), [size], "{settings:?}");
        assert_eq!(talk.say("REST 2"), [rest], "{settings:?}");
        assert_eq!(talk.say("REST 0"), [350], "{settings:?}");
    }
    talk.connect();
    assert_eq!(talk.say("REST 2\r\nTYPE A\r\nRETR a"), [350, 200, 501]);
    assert_eq!(talk.say("TYPE I\r\nREST 2\r\nTYPE A\r\nSTOR a"), [200, 350, 200, 501]);
    let form = Form { mode: Mode::Deflate { level: 6 }, ..Form::default() };
    assert_eq!(talk.say("TYPE I\r\nMODE Z"), [200, 200]);
    let data = talk.connect();
    assert_eq!(talk.say("REST 2\r\nRETR a"), [350, 150, 226]);
    assert_eq!(decoded(form, talk.arrived(data)), b"b\n");
    let data = talk.connect();
    assert_eq!(talk.say("REST 2\r\nSTOR a"), [350, 150]);
    let raw = talk.raw;
    raw.say(&mut talk.world, data, &encoded(form, b"c"));
    assert_eq!(talk.code(), 226, "the end is in the data");
    assert_eq!(talk.stored("a").as_deref(), Some(&b"a\nc"[..]));
    talk.settle();
}

#[test]
fn only_the_plain_form_announces_how_many_octets_come() {
    let mut talk = Talk::new(1, Habits::default());
    talk.disk.borrow_mut().put("a", "a\nb\n");
    for form in forms() {
        talk.set(form);
        talk.connect();
        talk.say("RETR a");
        talk.code();
        let replies = talk.replies();
        let told = &replies.iter().rfind(|(code, _)| *code < 200).expect("it began").1;
        assert_eq!(told.contains("(4 bytes)"), form.is_plain(), "{form:?}: {told}");
    }
    talk.settle();
}

#[test]
fn several_files_in_blocks_use_one_association() {
    let mut talk = Talk::new(1, Habits::default());
    let file = lines(100_000, 1);
    talk.disk.borrow_mut().put("a", file.clone());
    let form = Form { mode: Mode::Block, ..Form::default() };
    talk.set(form);
    let (data, raw) = (talk.connect(), talk.raw);
    assert_eq!(talk.say("RETR a"), [150, 250]);
    let wire = encoded(form, &file);
    assert_eq!(talk.arrived(data).len(), wire.len() + 3, "two blocks where one would do");
    assert_eq!(talk.say("STOR b\r\nSTOR c"), [125]);
    raw.say(&mut talk.world, data, &[encoded(form, b"of b"), encoded(form, b"of c")].concat());
    talk.world.run_for(Duration::from_secs(1));
    assert_eq!(talk.last_reply().0, 250);
    assert_eq!(talk.stored("b").as_deref(), Some(&b"of b"[..]));
    assert_eq!(talk.stored("c").as_deref(), Some(&b"of c"[..]));
    assert_eq!(talk.say("STOR d"), [125]);
    raw.say(&mut talk.world, data, &encoded(form, b"of d"));
    assert_eq!(talk.code(), 250);
    assert_eq!(talk.say("MODE S\r\nRETR b"), [200, 125, 226], "the end of a stream closes it");
    assert!(talk.arrived(data).ends_with(b"of b") && talk.is_finished(data));
    assert_eq!(talk.say("RETR b"), [425]);
    talk.settle();
}

#[test]
fn the_end_of_a_stream_is_seen_on_an_association_that_was_kept() {
    let mut talk = Talk::new(1, Habits::default());
    talk.disk.borrow_mut().put("a", "one");
    talk.set(Form { mode: Mode::Block, ..Form::default() });
    let (data, raw) = (talk.connect(), talk.raw);
    assert_eq!(talk.say("RETR a\r\nMODE S\r\nSTOR b"), [150, 250, 200, 125]);
    raw.finish(&mut talk.world, data);
    assert_eq!(talk.code(), 226);
    assert_eq!(talk.stored("b").as_deref(), Some(&b""[..]));
    talk.settle();
}

#[test]
fn more_than_the_credit_of_an_association_is_stored_in_every_form() {
    let file = lines(3_000_000, 1);
    for form in forms() {
        let mut talk = Talk::new(1, Habits::default());
        talk.set(form);
        let (data, raw) = (talk.connect(), talk.raw);
        talk.say("STOR a");
        let wire = encoded(form, &file);
        assert!(wire.len() > 2 << 20, "{form:?}: {}", wire.len());
        raw.say(&mut talk.world, data, &wire);
        raw.finish(&mut talk.world, data);
        assert!([226, 250].contains(&talk.code()), "{form:?}");
        assert!(talk.stored("a").as_ref() == Some(&file), "{form:?}");
        talk.settle();
    }
}

#[test]
fn an_association_that_was_kept_ends_in_peace() {
    let form = Form { mode: Mode::Block, ..Form::default() };
    for end in ["PASV", "QUIT", ""] {
        let mut talk = Talk::new(1, Habits::default());
        talk.disk.borrow_mut().put("a", lines(100_000, 1));
        talk.set(form);
        let (data, raw) = (talk.connect(), talk.raw);
        assert_eq!(talk.say("RETR a"), [150, 250]);
        if end.is_empty() {
            raw.finish(&mut talk.world, data);
        } else {
            talk.say(end);
            talk.raw.finish(&mut talk.world, talk.control);
        }
        talk.world.run_for(Duration::from_secs(1));
        raw.finish(&mut talk.world, data);
        talk.world.run_for(Duration::from_secs(1));
        assert!(talk.is_finished(data), "after {end:?}");
        assert_eq!(talk.raw.heard(&talk.world, data).ended, Some(Ended::Finished), "{end:?}");
        talk.settle();
    }
}

#[test]
fn a_restart_marker_is_answered_with_its_place() {
    let mut talk = Talk::new(1, Habits::default());
    talk.set(Form { mode: Mode::Block, ..Form::default() });
    let (data, raw) = (talk.connect(), talk.raw);
    talk.say("STOR a");
    raw.say(&mut talk.world, data, b"\0\0\x02ab\x10\0\x02m1\x20\0\x01c\x10\0\x02m2\x40\0\0");
    assert_eq!(talk.code(), 250);
    let replies = talk.replies();
    let told: Vec<_> = replies[replies.len() - 3..].iter().map(|(_, text)| text.trim()).collect();
    assert!(told[0].contains("MARK m1 = 2") && told[1].contains("MARK m2 = 3"), "{told:?}");
    assert!(told[2].contains("suspect"), "{told:?}");
    // A client that sends nothing else and reads no replies does not fill the server.
    talk.say("STOR a");
    let marks = b"\x10\0\x01m".repeat(100_000);
    raw.say(&mut talk.world, data, &[&marks[..], b"\x40\0\0"].concat());
    assert_eq!(talk.code(), 250);
    let told = talk.replies().iter().filter(|(code, _)| *code == 110).count();
    assert!(told < 50_000, "{told} markers were answered, and their replies held");
    talk.settle();
}

#[test]
fn what_is_damaged_leaves_the_older_file() {
    let deflate = Form { mode: Mode::Deflate { level: 6 }, ..Form::default() };
    let block = Form { mode: Mode::Block, ..Form::default() };
    let records = Form { structure: Structure::Record, ..Form::default() };
    let mut wrong_sum = encoded(deflate, &lines(50_000, 1));
    *wrong_sum.last_mut().expect("a checksum") ^= 1;
    let cut = encoded(deflate, &lines(50_000, 1)).split_off(1);
    let zeros = vec![0; 40 << 20];
    for (form, wire, damage) in [
        (deflate, wrong_sum, Damage::Compressed),
        (deflate, cut, Damage::Compressed),
        (deflate, encoded(deflate, &zeros), Damage::Expansion),
        (deflate, encoded(deflate, b"abc")[..5].into(), Damage::Truncated),
        (deflate, [encoded(deflate, b"abc"), b"x".into()].concat(), Damage::Trailing),
        (block, b"\0\0\x03abc\x05\0\0".into(), Damage::Block),
        (block, b"\0\0\x03abc".into(), Damage::Truncated),
        (block, b"GET / HTTP/1.1\r\n".into(), Damage::Block),
        (records, b"a\xFF\x01b\xFF\x07".into(), Damage::Escape),
        (records, b"a\xFF\x01b".into(), Damage::Truncated),
    ] {
        let mut talk = Talk::new(1, Habits::default());
        talk.disk.borrow_mut().put("a", "older");
        talk.set(form);
        let (data, raw) = (talk.connect(), talk.raw);
        talk.say("STOR a");
        raw.say(&mut talk.world, data, &wire);
        raw.finish(&mut talk.world, data);
        let expected = if damage == Damage::Truncated { 426 } else { 451 };
        assert_eq!(talk.code(), expected, "{damage:?}");
        assert_eq!(talk.troubles(), [Trouble::Form(damage)]);
        assert_eq!(talk.stored("a").as_deref(), Some(&b"older"[..]), "{damage:?}");
        assert_eq!(talk.disk.borrow().files().len(), 1, "{damage:?}");
        talk.settle();
    }
}
