//! Uploads that end early, and what is left of them (CCSDS 717.0).

use stackwright_contract::Duration;
use stackwright_ftp::server::Trouble;
use stackwright_simulator::DiskFaults;

use crate::simulated::dialogue::Dialogue;
use crate::simulated::setting::{content, server_config};

const OLD: &[u8] = b"older";

/// Begins to store `a`, and says this many octets of it.
fn begin(dialogue: &mut Dialogue, line: &str, octets: &[u8]) -> stackwright_contract::Handle {
    let data = dialogue.connect();
    dialogue.say(&format!("{line}\r\n"));
    dialogue.raw.say(&mut dialogue.world, data, octets);
    dialogue.world.run_for(Duration::from_secs(1));
    data
}

/// A session in which the first 1000 of 3000 octets were sent when the data connection broke.
fn broken(lines: &str) -> (Dialogue, Vec<u8>) {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put("a", OLD);
    let octets = content(3000, 1);
    dialogue.say(lines);
    let data = begin(&mut dialogue, "STOR a", &octets[..1000]);
    dialogue.raw.abort(&mut dialogue.world, data);
    dialogue.world.run_for(Duration::from_secs(1));
    assert_eq!(dialogue.codes().last(), Some(&426));
    assert_eq!(dialogue.disk.borrow().octets("a").as_deref(), Some(OLD), "the older file stays");
    (dialogue, octets)
}

#[test]
fn without_autorestart_a_broken_upload_leaves_no_trace() {
    for lines in ["NOOP\r\n", "ARST\r\nNARS\r\n"] {
        let (mut dialogue, _) = broken(lines);
        assert_eq!(dialogue.disk.borrow().part("a"), None);
        assert_eq!(dialogue.ask("ARST\r\nSIZE a\r\n")[1], "213 5");
        dialogue.settle();
    }
}

#[test]
fn a_broken_upload_is_resumed() {
    let (mut dialogue, octets) = broken("ARST\r\n");
    assert_eq!(dialogue.disk.borrow().part("a").as_deref(), Some(&octets[..1000]));
    assert_eq!(dialogue.ask("SIZE a\r\n"), ["213 1000"]);
    assert!(dialogue.ask("HASH a\r\n")[0].contains(" 0-999 "), "of the part");
    assert_eq!(dialogue.ask("NARS\r\nSIZE a\r\nARST\r\n")[1], "213 5", "of the file");
    assert_eq!(dialogue.code("REST 1001"), 350);
    assert_eq!(dialogue.upload("STOR a", b"x"), 554, "a gap would be made up");
    // It breaks again, and is resumed from before its end.
    assert_eq!(dialogue.code("REST 1000"), 350);
    let data = begin(&mut dialogue, "STOR a", &octets[1000..1500]);
    dialogue.raw.abort(&mut dialogue.world, data);
    dialogue.world.run_for(Duration::from_secs(1));
    assert_eq!(dialogue.ask("SIZE a\r\n"), ["213 1500"]);
    assert_eq!(dialogue.code("REST 1400"), 350);
    assert_eq!(dialogue.upload("STOR a", &octets[1400..]), 226);
    assert_eq!(dialogue.disk.borrow().octets("a"), Some(octets));
    assert_eq!(dialogue.disk.borrow().part("a"), None);
    assert_eq!(dialogue.ask("SIZE a\r\n"), ["213 3000"]);
    dialogue.settle();
}

#[test]
fn a_resumed_file_never_ends_with_what_is_left_of_the_part() {
    let (mut dialogue, octets) = broken("ARST\r\n");
    assert_eq!(dialogue.code("REST 100"), 350);
    assert_eq!(dialogue.upload("STOR a", &octets[100..500]), 451);
    assert_eq!(dialogue.disk.borrow().octets("a").as_deref(), Some(OLD));
    dialogue.settle();
}

#[test]
fn a_new_upload_begins_at_its_beginning_and_forgets_the_part() {
    let (mut dialogue, _) = broken("ARST\r\n");
    assert_eq!(dialogue.upload("STOR a", b"short"), 226);
    assert_eq!(dialogue.disk.borrow().octets("a").as_deref(), Some(&b"short"[..]));
    assert_eq!(dialogue.ask("SIZE a\r\n"), ["213 5"]);
    dialogue.settle();
}

#[test]
fn an_interrupted_upload_is_kept_and_says_where() {
    let mut dialogue = Dialogue::new(server_config());
    let octets = content(3000, 1);
    begin(&mut dialogue, "STOR a", &octets[..1000]);
    assert_eq!(dialogue.ask("INTR\r\n"), ["256 Transfer interrupted at 1000."]);
    assert_eq!(dialogue.ask("ARST\r\nSIZE a\r\n")[1], "213 1000", "at once");
    assert_eq!(dialogue.code("REST 1000"), 350);
    assert_eq!(dialogue.upload("STOR a", &octets[1000..]), 226);
    assert_eq!(dialogue.disk.borrow().octets("a"), Some(octets));
    assert_eq!(dialogue.transfers(), [Err(Trouble::GivenUp), Ok(())]);
    assert_eq!(dialogue.code("INTR"), 226, "there is nothing to interrupt");
    dialogue.settle();
}

#[test]
fn an_interrupted_download_says_where() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put("a", content(5_000_000, 1));
    let _data = dialogue.connect();
    dialogue.disk.borrow_mut().faults =
        DiskFaults { delay: Duration::from_millis(200), ..DiskFaults::default() };
    dialogue.say("RETR a\r\n");
    dialogue.world.run_for(Duration::from_millis(400));
    let told = dialogue.ask("INTR\r\nNOOP\r\n");
    assert!(told[0].starts_with("256 Transfer interrupted at "), "{told:?}");
    assert_eq!(told.len(), 2);
    dialogue.settle();
}

#[test]
fn abor_leaves_no_trace_whatever_was_said_before() {
    for lines in ["NOOP\r\n", "ARST\r\n"] {
        let mut dialogue = Dialogue::new(server_config());
        dialogue.say(lines);
        begin(&mut dialogue, "STOR a", b"12345");
        let before = dialogue.codes().len();
        dialogue.say("ABOR\r\n");
        assert_eq!(dialogue.new_codes(before), [426, 226]);
        assert_eq!(dialogue.disk.borrow().part("a"), None);
        assert_eq!(dialogue.disk.borrow().files(), [""; 0]);
        dialogue.settle();
    }
}

#[test]
fn what_a_client_that_vanishes_has_stored_is_kept_if_it_said_so() {
    for (lines, part) in [("NOOP\r\n", None), ("ARST\r\n", Some(b"12345".to_vec()))] {
        let mut dialogue = Dialogue::new(server_config());
        dialogue.say(lines);
        begin(&mut dialogue, "STOR a", b"12345");
        dialogue.raw.abort(&mut dialogue.world, dialogue.control);
        dialogue.world.run_for(Duration::from_secs(1));
        assert_eq!(dialogue.disk.borrow().part("a"), part, "{lines:?}");
        dialogue.settle();
    }
}

#[test]
fn what_waits_while_a_part_is_kept_is_obeyed_afterwards() {
    let mut dialogue = Dialogue::new(server_config());
    begin(&mut dialogue, "STOR a", b"12345");
    dialogue.disk.borrow_mut().faults =
        DiskFaults { delay: Duration::from_secs(40), ..DiskFaults::default() };
    let before = dialogue.codes().len();
    dialogue.say("INTR\r\nABOR\r\nNOOP\r\n");
    dialogue.world.run_for(Duration::from_secs(30));
    assert_eq!(dialogue.new_codes(before), [0; 0], "the disk is slow");
    dialogue.world.run_for(Duration::from_secs(30));
    assert_eq!(dialogue.new_codes(before), [256, 225, 200]);
    dialogue.settle();
}
