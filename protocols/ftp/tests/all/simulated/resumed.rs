//! Uploads that end early, and what is left of them (CCSDS 717.0).

use std::net::{IpAddr, Ipv4Addr};

use stackwright_contract::{Duration, Handle};
use stackwright_ftp::server::Trouble;
use stackwright_simulator::DiskFaults;

use crate::simulated::dialogue::Dialogue;
use crate::simulated::raw::Raw;
use crate::simulated::setting::{CLIENT, content, door, server_config};

const OLD: &[u8] = b"older";

/// Begins to store `a`, and says this many octets of it.
fn begin(dialogue: &mut Dialogue, line: &str, octets: &[u8]) -> Handle {
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

/// Goes on in another session: of the same client, or of one at `address`.
fn log_in(dialogue: &mut Dialogue, address: IpAddr, user: &str) {
    if address != CLIENT {
        dialogue.raw = Raw::add(&mut dialogue.world, address);
    }
    dialogue.control = dialogue.raw.open(&mut dialogue.world, door());
    dialogue.say(&format!("USER {user}\r\nPASS x\r\nTYPE I\r\nARST\r\n"));
}

/// A client that was cut off begins anew before the server knows, and again at once. Nothing of its
/// earlier sessions reaches the part any more: not even behind what waits for a slow disk.
#[test]
fn a_later_session_of_the_same_client_takes_an_upload_over() {
    for delay in [0, 2] {
        let (mut dialogue, octets) = broken("ARST\r\n");
        let delay = Duration::from_secs(delay);
        dialogue.disk.borrow_mut().faults = DiskFaults { delay, ..DiskFaults::default() };
        let mut earlier = Vec::new();
        for from in [1000, 900, 800] {
            assert_eq!(dialogue.code(&format!("REST {from}")), 350);
            let data = begin(&mut dialogue, "STOR a", &octets[from..1500]);
            dialogue.world.run_for(4 * delay);
            dialogue.raw.say(&mut dialogue.world, data, b"stale");
            earlier.push((dialogue.control, data));
            log_in(&mut dialogue, CLIENT, "ftp");
        }
        assert_eq!(dialogue.code("REST 700"), 350);
        let data = begin(&mut dialogue, "STOR a", &octets[700..]);
        let Dialogue { world, raw, .. } = &mut dialogue;
        earlier.iter().for_each(|(_, data)| raw.say(world, *data, &[0; 3000]));
        world.run_for(8 * delay);
        raw.finish(world, data);
        world.run_for(Duration::from_secs(1) + 4 * delay);
        assert_eq!(dialogue.codes().last(), Some(&226));
        let raw = dialogue.raw;
        let refused = |(control, _)| raw.codes(&dialogue.world, control).last() == Some(&553);
        assert!(earlier.into_iter().all(refused));
        assert_eq!(dialogue.disk.borrow().octets("a"), Some(octets));
        assert_eq!(dialogue.disk.borrow().part("a"), None);
        dialogue.settle();
    }
}

#[test]
fn no_other_client_takes_an_upload_over() {
    let other = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 3));
    for (address, user) in [(CLIENT, "anonymous"), (other, "ftp")] {
        let (mut dialogue, octets) = broken("ARST\r\n");
        dialogue.code("REST 1000");
        let data = begin(&mut dialogue, "STOR a", &octets[1000..1500]);
        let (raw, control) = (dialogue.raw, dialogue.control);
        log_in(&mut dialogue, address, user);
        dialogue.code("REST 1000");
        assert_eq!(dialogue.upload("STOR a", &octets[1000..]), 550);
        (dialogue.raw, dialogue.control) = (raw, control);
        raw.say(&mut dialogue.world, data, &octets[1500..]);
        raw.finish(&mut dialogue.world, data);
        dialogue.say("");
        assert_eq!(dialogue.codes().last(), Some(&226));
        assert_eq!(dialogue.disk.borrow().octets("a"), Some(octets));
        dialogue.settle();
    }
}
