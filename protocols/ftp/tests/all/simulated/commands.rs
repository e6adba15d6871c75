//! Commands, and what they tell.

use stackwright_contract::Duration;
use stackwright_ftp::form::{Decoder, Form, Mode};
use stackwright_ftp::server::Config;
use stackwright_simulator::DiskFaults;

use crate::simulated::dialogue::Dialogue;
use crate::simulated::setting::{content, server_config};

#[test]
fn feat_lists_what_there_is_and_opts_changes_it() {
    let mut dialogue = Dialogue::new(server_config());
    let features = dialogue.ask("FEAT\r\n").remove(0);
    for feature in [
        " ARST",
        " AVBL",
        " EPRT",
        " EPSV",
        " HASH SHA-256*",
        " HOST",
        " INTR",
        " LANG EN*",
        " MDTM",
        " MFMT",
        " MLST type*;perm*;size*;modify*;unique*;UNIX.mode*;",
        " RANG STREAM",
        " REST STREAM",
        " SIZE",
        " SUPP",
        " TVFS",
        " UTF8",
        " XSHA256",
    ] {
        assert!(features.lines().any(|line| line == feature), "{feature} in {features}");
    }
    assert!(!features.contains("AUTH"), "there is no TLS here");
    assert_eq!(dialogue.ask("OPTS MLST size;Type;x;\r\n"), ["200 MLST OPTS type;size;"]);
    assert!(dialogue.ask("FEAT\r\n")[0].contains(" MLST type*;perm;size*;modify;"));
    assert_eq!(dialogue.ask("OPTS MLST fish;cakes;\r\n"), ["200 MLST OPTS "]);
    for wrong in ["fish", "type", "type ;", "type;;"] {
        assert_eq!(dialogue.code(&format!("OPTS MLST {wrong}")), 501, "{wrong}");
    }
    assert_eq!(dialogue.ask("OPTS HASH\r\n"), ["200 SHA-256"]);
    assert_eq!(dialogue.ask("OPTS HASH sha-256\r\n"), ["200 SHA-256"]);
    assert_eq!(dialogue.code("OPTS HASH MD5"), 504);
    assert_eq!(dialogue.code("OPTS UTF8 ON"), 200);
    assert_eq!(dialogue.code("OPTS FOO"), 501);
    dialogue.settle();
}

#[test]
fn mlst_tells_of_one_name_and_mlsd_of_a_folder() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put("a b", "12345");
    dialogue.disk.borrow_mut().set_modified("a b", 951_782_400);
    dialogue.disk.borrow_mut().put_folder("folder");
    dialogue.say("OPTS MLST type;size;modify;perm;UNIX.mode;\r\n");
    let facts = "type=file;perm=adfrw;size=5;modify=20000229000000;UNIX.mode=0644;";
    let told = dialogue.ask("MLST a b\r\n");
    assert_eq!(told, [format!("250 Facts:\n {facts} /a b\nEnd")]);
    assert!(dialogue.ask("MLST\r\n")[0].contains(" type=dir;perm=cdeflmp;UNIX.mode=0755; /\n"));
    let (list, _) = dialogue.fetch("MLSD");
    assert_eq!(list, format!("{facts} a b\r\ntype=dir;perm=cdeflmp;UNIX.mode=0755; folder\r\n"));
    assert_eq!(dialogue.fetch("MLSD a b").1, 501);
    assert_eq!(dialogue.fetch("MLSD none").1, 550);
    assert_eq!(dialogue.code("MLST none"), 550);
    dialogue.settle();
}

#[test]
fn digests_of_files_and_of_ranges() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put("a", "abc");
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(dialogue.ask("HASH a\r\n"), [format!("213 SHA-256 0-2 {digest} a")]);
    assert_eq!(dialogue.ask("XSHA256 a\r\n"), [format!("250 {digest}")]);
    assert_eq!(dialogue.ask("XSHA256 \"a\" 0 3\r\n"), [format!("250 {digest}")]);
    assert_eq!(dialogue.code("RANG 1 1"), 350);
    let digest = "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"; // of "b"
    assert_eq!(dialogue.ask("HASH a\r\n"), [format!("213 SHA-256 1-1 {digest} a")]);
    assert!(dialogue.ask("HASH a\r\n")[0].contains(" 0-2 "), "it was for one digest");
    assert_eq!(dialogue.code("HASH none"), 550);
    dialogue.settle();
}

/// draft-bryan-ftp-range-08
#[test]
fn a_part_of_a_file_is_fetched() {
    let mut dialogue = Dialogue::new(server_config());
    let whole: String = (0..200_000).map(|nth| char::from(b'a' + (nth % 26) as u8)).collect();
    dialogue.disk.borrow_mut().put("a", &*whole);
    for (first, last) in [(0, 0), (1, 3), (199_999, 199_999), (100, 150_000), (199_000, 300_000)] {
        assert_eq!(dialogue.code(&format!("RANG {first} {last}")), 350);
        let expected = whole[first..(last + 1).min(whole.len())].to_owned();
        assert!(dialogue.fetch("RETR a") == (expected, 226), "{first}-{last}");
    }
    let replies = dialogue.raw.replies(&dialogue.world, dialogue.control);
    assert!(replies.iter().any(|reply| reply.code == 150 && reply.text.contains("(149901 bytes)")));
    assert_eq!(dialogue.fetch("RETR a").1, 226, "it was for one transfer");
    assert_eq!(dialogue.ask("RANG 200000 200001\r\n").len(), 1);
    assert_eq!(dialogue.fetch("RETR a"), (String::new(), 226), "there is nothing there");
    // The later of REST and RANG counts.
    dialogue.say("RANG 0 1\r\nREST 199999\r\n");
    assert_eq!(dialogue.fetch("RETR a").0.len(), 1);
    dialogue.say("REST 10\r\nRANG 0 1\r\n");
    assert_eq!(dialogue.fetch("RETR a").0, "ab");
    dialogue.say("REST 199990\r\nRANG 1 0\r\n");
    assert_eq!(dialogue.fetch("RETR a").0.len(), whole.len());
    // Nothing is stored in the middle of a file.
    for verb in ["STOR", "APPE", "STOU"] {
        assert_eq!(dialogue.code("RANG 0 1"), 350);
        assert_eq!(dialogue.upload(&format!("{verb} b"), b"x"), 503);
    }
    assert_eq!(dialogue.upload("STOR b", b"x"), 226);
    // In a form in which the octets of a file are not those that are sent, it has no meaning.
    dialogue.say("TYPE A\r\nRANG 0 1\r\n");
    assert_eq!(dialogue.fetch("RETR a").1, 501);
    dialogue.say("TYPE I\r\nMODE Z\r\nRANG 2 3\r\n");
    let data = dialogue.connect();
    dialogue.say("RETR a\r\n");
    let octets = dialogue.raw.heard(&dialogue.world, data).octets.clone();
    let mut decoder =
        Decoder::new(Form { mode: Mode::Deflate { level: 6 }, ..Form::default() }).unwrap();
    let mut decoded = Vec::new();
    decoder.feed(&octets, 1000, &mut decoded).unwrap();
    assert_eq!(decoded, b"cd");
    dialogue.settle();
}

#[test]
fn stat_tells_of_the_session_of_a_transfer_and_of_names() {
    let mut dialogue = Dialogue::new(server_config());
    for nth in 0..300 {
        dialogue.disk.borrow_mut().put(&format!("folder/file {nth:03}"), content(nth, 1));
    }
    assert!(dialogue.ask("STAT\r\n")[0].starts_with("211 "));
    dialogue.say("STAT folder\r\n");
    dialogue.world.run_for(Duration::from_secs(5));
    let listing = dialogue.raw.replies(&dialogue.world, dialogue.control).pop().unwrap();
    assert_eq!(listing.code, 212);
    let lines: Vec<_> = listing.text.lines().collect();
    assert_eq!(lines.len(), 302, "all of them, between the first line and the last");
    assert!(lines[1].starts_with(" -rw-r--r-- ") && lines[300].ends_with(" file 299"));
    let one = dialogue.ask("STAT folder/file 007\r\n").remove(0);
    assert!(one.starts_with("213 ") && one.contains(" 7 ") && one.contains(" file 007\n"), "{one}");
    assert_eq!(dialogue.code("STAT none"), 550);
    // While a transfer runs, it is answered at once.
    dialogue.disk.borrow_mut().put("a", content(100_000, 1));
    dialogue.disk.borrow_mut().faults =
        DiskFaults { delay: Duration::from_secs(5), ..DiskFaults::default() };
    let _data = dialogue.connect();
    dialogue.say("RETR a\r\n");
    dialogue.world.run_for(Duration::from_secs(6));
    let told = dialogue.ask("STAT\r\nNOOP\r\nSTAT\r\n");
    assert_eq!(told.len(), 1, "what waits keeps its place: {told:?}");
    assert!(told[0].contains("\"/a\" is being sent: "), "{told:?}");
    let before = dialogue.codes().len();
    dialogue.world.run_for(Duration::from_secs(60));
    assert_eq!(dialogue.new_codes(before), [226, 200, 211]);
    dialogue.settle();
}

#[test]
fn a_listing_in_the_reply_waits_for_its_reader_and_ends_with_it() {
    let mut dialogue = Dialogue::new(server_config());
    for nth in 0..500 {
        dialogue.disk.borrow_mut().put(&format!("folder/file {nth:03}"), content(nth, 1));
    }
    dialogue.disk.borrow_mut().faults =
        DiskFaults { delay: Duration::from_secs(2), ..DiskFaults::default() };
    dialogue.say("STAT folder\r\n");
    dialogue.world.run_for(Duration::from_secs(11));
    dialogue.raw.abort(&mut dialogue.world, dialogue.control);
    dialogue.settle();
}

#[test]
fn the_session_begins_anew() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put_folder("folder");
    dialogue.say("CWD folder\r\nREST 5\r\nPASV\r\nOPTS MLST type;\r\n");
    assert_eq!(dialogue.code("REIN"), 220);
    assert_eq!(dialogue.code("PWD"), 530);
    dialogue.say("USER ftp\r\nPASS x\r\n");
    assert_eq!(dialogue.ask("PWD\r\n"), ["257 \"/\" is the working folder."]);
    assert_eq!(dialogue.code("LIST"), 425);
    assert!(dialogue.ask("FEAT\r\n")[0].contains("UNIX.mode*;"));
    dialogue.settle();
}

#[test]
fn hosts_languages_and_other_courtesies() {
    let hosts = vec!["ftp.example.org".into()];
    let mut dialogue = Dialogue::new(Config { hosts, ..server_config() });
    assert_eq!(dialogue.code("HOST ftp.example.org"), 503, "it comes before USER");
    dialogue.say("REIN\r\n");
    assert_eq!(dialogue.code("HOST FTP.example.org"), 220);
    assert_eq!(dialogue.code("HOST 10.0.0.1"), 220);
    assert_eq!(dialogue.code("HOST other.example.org"), 504);
    assert_eq!(dialogue.code("LANG"), 200);
    assert_eq!(dialogue.code("LANG en-GB"), 200);
    assert_eq!(dialogue.code("LANG fr"), 504);
    assert_eq!(dialogue.code("ACCT x"), 530);
    dialogue.say("USER ftp\r\nPASS x\r\n");
    assert_eq!(dialogue.code("ACCT x"), 202);
    assert_eq!(dialogue.code("ALLO 500"), 202);
    assert_eq!(dialogue.code("AVBL"), 213);
    assert_eq!(dialogue.code("AUTH TLS"), 502);
    assert!(dialogue.ask("HELP stor\r\n")[0].starts_with("214 STOR path"));
    assert_eq!(dialogue.code("HELP foo"), 502);
    dialogue.settle();
}

#[test]
fn text_is_suppressed_but_not_what_was_asked_for() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put("a", "12345");
    assert_eq!(dialogue.ask("SUPP\r\nNOOP\r\nCWD none\r\n"), ["200 ", "200 ", "550 "]);
    assert_eq!(dialogue.ask("SIZE a\r\n"), ["213 5"]);
    assert!(dialogue.ask("PWD\r\n")[0].starts_with("257 \"/\""));
    let data = dialogue.connect();
    assert_eq!(dialogue.ask("RETR a\r\n"), ["150 (5 bytes)", "226 "]);
    assert_eq!(dialogue.raw.heard(&dialogue.world, data).octets, b"12345");
    assert_eq!(dialogue.ask("NSUP\r\n"), ["200 Replies have text."]);
    assert_eq!(dialogue.ask("NOOP\r\n"), ["200 I am here."]);
    dialogue.settle();
}
