//! What was reported of other servers, or found by malice, and was wrong here.

use stackwright_contract::Duration;
use stackwright_ftp::server::{Accounts, Config, Rights};
use stackwright_simulator::{Habits, Tree, World};

use crate::simulated::dialogue::Dialogue;
use crate::simulated::raw::Raw;
use crate::simulated::setting::{
    AGES, CLIENT, add_server, content, door, server_config, server_is_empty,
};

#[test]
fn links_are_listed_as_links() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put_link("self", ".");
    dialogue.disk.borrow_mut().put_link("dead", "no where");
    let (list, code) = dialogue.fetch("LIST");
    assert_eq!(code, 226);
    assert!(list.lines().all(|line| line.starts_with("lrwxrwxrwx ")), "{list}");
    assert!(list.contains(" self -> .\r\n") && list.contains(" dead -> no where\r\n"), "{list}");
    let (facts, _) = dialogue.fetch("MLSD");
    assert!(facts.contains("type=OS.unix=slink:.;"), "{facts}");
    assert!(facts.contains("type=OS.unix=slink;"), "a blank is no part of a value: {facts}");
    dialogue.settle();
}

#[test]
fn modes_are_listed_as_they_are() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put("a", "x");
    dialogue.disk.borrow_mut().set_mode("a", 0o600);
    assert!(dialogue.fetch("LIST").0.starts_with("-rw------- "));
    dialogue.settle();
}

#[test]
fn paths_as_long_as_the_system_has_them_are_served() {
    let mut dialogue = Dialogue::new(server_config());
    let folder = "あ".repeat(60);
    let mut path = [folder.as_str(); 3].join("/") + "/x";
    assert_eq!(path.len(), 544);
    dialogue.disk.borrow_mut().put(&path, "here");
    assert_eq!(dialogue.code(&format!("SIZE {path}")), 213);
    assert_eq!(dialogue.fetch(&format!("RETR {path}")), ("here".into(), 226));
    assert_eq!(dialogue.upload(&format!("STOR {path}"), b"there"), 226);
    while path.len() + folder.len() < 4096 {
        path = format!("{folder}/{path}");
    }
    // More than a client may send before it is heard.
    dialogue.disk.borrow_mut().put(&path, "deep");
    assert_eq!(dialogue.code(&format!("SIZE {path}")), 213);
    assert_eq!(dialogue.code(&format!("SIZE {}", "x".repeat(4107))), 550, "4112 octets");
    assert_eq!(dialogue.code(&format!("SIZE {}", "x".repeat(4108))), 500);
    dialogue.settle();
}

#[test]
fn passive_ports_are_those_of_the_range_and_227_tells_the_public_address() {
    let config = Config {
        passive_ports: Some(50_000..=50_002),
        public_address: Some("192.0.2.7".parse().unwrap()),
        ..server_config()
    };
    let mut dialogue = Dialogue::new(config);
    let mut others = Vec::new();
    for _ in 0..2 {
        let mut raw =
            Raw::add(&mut dialogue.world, format!("10.0.1.{}", others.len()).parse().unwrap());
        let control = raw.open(&mut dialogue.world, door());
        raw.say(&mut dialogue.world, control, b"USER ftp\r\nPASS x\r\nEPSV\r\n");
        dialogue.world.run_for(Duration::from_secs(1));
        assert_eq!(raw.codes(&dialogue.world, control)[3..], [229]);
        others.push((raw, control));
    }
    let told = dialogue.passive();
    assert_eq!(told.ip().to_string(), "192.0.2.7");
    assert!((50_000..=50_002).contains(&told.port()), "the one port that is free");
    let remote = std::net::SocketAddr::new(door().ip(), told.port());
    let data = dialogue.raw.open(&mut dialogue.world, remote);
    dialogue.disk.borrow_mut().put("a", "x");
    dialogue.say("RETR a\r\n");
    assert_eq!(dialogue.raw.heard(&dialogue.world, data).octets, b"x");
    let mut late = Raw::add(&mut dialogue.world, "10.0.1.9".parse().unwrap());
    assert_eq!(dialogue.code("EPSV"), 229);
    let control = late.open(&mut dialogue.world, door());
    late.say(&mut dialogue.world, control, b"USER ftp\r\nPASS x\r\nPASV\r\n");
    dialogue.world.run_for(Duration::from_secs(1));
    assert_eq!(late.codes(&dialogue.world, control)[3..], [425], "all three are taken");
    for (raw, control) in others {
        raw.abort(&mut dialogue.world, control);
    }
    dialogue.settle();
}

#[test]
fn a_folder_is_no_file_and_its_refusal_has_the_code_of_its_command() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put_folder("folder");
    let _data = dialogue.connect();
    assert_eq!(dialogue.code("RETR folder"), 550);
    assert_eq!(dialogue.code("STOR folder"), 553);
    assert_eq!(dialogue.code("CWD a"), 550);
    dialogue.settle();
}

#[test]
fn patterns_are_expanded() {
    let mut dialogue = Dialogue::new(server_config());
    for name in ["thr1.bin", "thr2.bin", "thr.txt", ".hidden.bin", "sub/x.bin", "sub/y"] {
        dialogue.disk.borrow_mut().put(name, "x");
    }
    assert_eq!(dialogue.fetch("NLST thr*.bin"), ("thr1.bin\r\nthr2.bin\r\n".into(), 226));
    assert_eq!(dialogue.fetch("NLST thr[2-9]*"), ("thr2.bin\r\n".into(), 226));
    assert_eq!(dialogue.fetch("NLST sub/?.bin"), ("sub/x.bin\r\n".into(), 226));
    assert_eq!(dialogue.fetch("NLST /sub/*"), ("/sub/x.bin\r\n/sub/y\r\n".into(), 226));
    assert_eq!(dialogue.fetch("NLST *.none"), (String::new(), 226));
    assert_eq!(dialogue.fetch("LIST -la *.txt").0.lines().count(), 1);
    assert_eq!(dialogue.fetch("NLST none/*").1, 550);
    assert_eq!(dialogue.fetch(&format!("NLST {}b", "*a".repeat(100))).1, 501, "a bomb");
    dialogue.disk.borrow_mut().put("a[1]", "12345");
    assert!(dialogue.fetch("LIST a[1]").0.ends_with(" a[1]\r\n"), "a name as it is");
    dialogue.settle();
}

#[test]
fn a_second_password_changes_nothing() {
    let mut dialogue = Dialogue::new(server_config());
    assert_eq!(dialogue.code("PASS x"), 503);
    assert_eq!(dialogue.code("PWD"), 257);
    dialogue.settle();
}

#[test]
fn a_listed_file_shows_its_time_and_so_does_one_of_this_second() {
    let mut dialogue = Dialogue::new(Config { epoch: Some(1_800_000_000), ..server_config() });
    dialogue.disk.borrow_mut().put("old", "x");
    dialogue.disk.borrow_mut().set_modified("old", 1_799_990_000);
    dialogue.disk.borrow_mut().put("new", "x");
    dialogue.disk.borrow_mut().set_modified("new", 1_800_000_001 + 20);
    assert!(dialogue.fetch("LIST old").0.ends_with(" Jan 15 05:13 old\r\n"));
    assert!(dialogue.fetch("LIST new").0.ends_with(" Jan 15 08:00 new\r\n"));
    assert!(dialogue.fetch("LIST").0.contains(" Jan 15 08:00 new\r\n"));
    dialogue.settle();
}

#[test]
fn types_with_odd_blanks_are_known() {
    let mut dialogue = Dialogue::new(server_config());
    for line in ["TYPE L8", "TYPE I ", "TYPE L 8", "TYPE A N"] {
        assert_eq!(dialogue.code(line), 200, "{line:?}");
    }
    dialogue.settle();
}

#[test]
fn a_refused_transfer_keeps_what_was_arranged_for_its_data() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put("a", "here");
    let data = dialogue.connect();
    assert_eq!(dialogue.code("RETR none"), 550);
    assert_eq!(dialogue.code("STOR none/x"), 550);
    assert_eq!(dialogue.code("RETR a"), 226);
    assert_eq!(dialogue.raw.heard(&dialogue.world, data).octets, b"here");
    let remote = dialogue.passive();
    assert_eq!(dialogue.code("RETR none"), 550, "nobody has come yet");
    let data = dialogue.raw.open(&mut dialogue.world, remote);
    assert_eq!(dialogue.code("RETR a"), 226);
    assert_eq!(dialogue.raw.heard(&dialogue.world, data).octets, b"here");
    dialogue.settle();
}

#[test]
fn a_folder_that_nobody_may_search_is_not_entered() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put_folder("closed");
    assert_eq!(dialogue.code("SITE CHMOD 644 closed"), 200);
    assert_eq!(dialogue.code("CWD closed"), 550);
    assert_eq!(dialogue.code("SITE CHMOD 711 closed"), 200);
    assert_eq!(dialogue.code("CWD closed"), 250);
    dialogue.settle();
}

struct Root;

impl Accounts for Root {
    fn admits(&self, user: &str, password: &str) -> Option<Rights> {
        (user == "root" && password == "right").then_some(Rights { write: true })
    }
}

/// Wrong passwords from one address, in session after session, slow down that address: what is
/// tried is not even looked at, and who comes from elsewhere notices nothing.
#[test]
fn many_wrong_passwords_slow_down_the_address_that_they_come_from() {
    let mut world = World::new(1);
    let config = Config::new(Box::new(Root));
    let server = add_server(&mut world, config, Habits::default(), &Tree::shared());
    let mut raw = Raw::add(&mut world, CLIENT);
    for _ in 0..4 {
        let control = raw.open(&mut world, door());
        raw.say(&mut world, control, "USER root\r\nPASS x\r\n".repeat(5).as_bytes());
        world.run_for(Duration::from_secs(40));
        let last = *raw.codes(&world, control).last().unwrap();
        assert_eq!(last, 421);
    }
    // 20 were wrong: the next is tried after 16 seconds, and it is right.
    let control = raw.open(&mut world, door());
    raw.say(&mut world, control, b"USER root\r\nPASS right\r\n");
    world.run_for(Duration::from_secs(15));
    assert_eq!(raw.codes(&world, control), [220, 331]);
    let mut other = Raw::add(&mut world, "10.0.0.77".parse().unwrap());
    let theirs = other.open(&mut world, door());
    other.say(&mut world, theirs, b"USER root\r\nPASS right\r\n");
    world.run_for(Duration::from_millis(100));
    assert_eq!(other.codes(&world, theirs), [220, 331, 230], "others are not slowed down");
    world.run_for(Duration::from_secs(2));
    assert_eq!(raw.codes(&world, control), [220, 331, 230]);
    world.run_for(AGES);
    server_is_empty(&mut world, server);
}

/// The commands of suites of other libraries that were refused.
#[test]
fn files_are_changed_as_clients_ask() {
    let mut dialogue = Dialogue::new(Config { epoch: Some(1_700_000_000), ..server_config() });
    assert_eq!(dialogue.ask("MKD a\"b\r\n"), ["257 \"/a\"\"b\" is made."]);
    assert_eq!(dialogue.code("MKD a\"b"), 550);
    assert_eq!(dialogue.code("CWD a\"b"), 250);
    assert_eq!(dialogue.upload("STOR x", b"123"), 226);
    assert_eq!(dialogue.upload("APPE x", b"456"), 226);
    assert_eq!(dialogue.upload("APPE y", b"new"), 226);
    assert_eq!(dialogue.disk.borrow().octets("a\"b/x").as_deref(), Some(&b"123456"[..]));
    assert_eq!(dialogue.code("RNFR x"), 350);
    assert_eq!(dialogue.code("RNTO z"), 250);
    assert_eq!(dialogue.code("RNFR none"), 550);
    assert_eq!(dialogue.code("RNTO none"), 503);
    assert_eq!(dialogue.code("RNFR z"), 350);
    assert_eq!(dialogue.code("NOOP"), 200);
    assert_eq!(dialogue.code("RNTO x"), 503, "it follows at once");
    assert_eq!(dialogue.code("MFMT 20200229123456 z"), 213);
    assert_eq!(dialogue.ask("MDTM z\r\n"), ["213 20200229123456"]);
    assert_eq!(dialogue.code("DELE z"), 250);
    assert_eq!(dialogue.code("DELE z"), 550);
    assert_eq!(dialogue.code("RMD y"), 550, "a file");
    assert_eq!(dialogue.code("CDUP"), 250);
    assert_eq!(dialogue.code("DELE a\"b"), 550, "a folder");
    assert_eq!(dialogue.code("RMD a\"b"), 550, "not empty");
    assert_eq!(dialogue.code("DELE a\"b/y"), 250);
    assert_eq!(dialogue.code("RMD a\"b"), 250);
    assert_eq!(dialogue.code("RMD /"), 550);
    dialogue.settle();
}

#[test]
fn rest_is_not_for_append_or_a_new_name() {
    let mut dialogue = Dialogue::new(server_config());
    let _data = dialogue.connect();
    for line in ["APPE a", "STOU"] {
        assert_eq!(dialogue.code("REST 5"), 350);
        assert_eq!(dialogue.code(line), 503, "{line}");
    }
    dialogue.settle();
}

#[test]
fn stou_makes_a_new_name_and_tells_it() {
    let mut dialogue = Dialogue::new(server_config());
    let mut names = Vec::new();
    for line in ["STOU", "STOU a", "STOU a"] {
        assert_eq!(dialogue.upload(line, &content(10, 1)), 226);
        let replies = dialogue.raw.replies(&dialogue.world, dialogue.control);
        let told = replies.iter().rev().find_map(|reply| reply.text.strip_prefix("FILE: "));
        names.push(told.expect("reply 150 tells the name").to_owned());
    }
    names.sort();
    assert_eq!(dialogue.disk.borrow().files(), names, "three files, none of them twice");
    dialogue.settle();
}

#[test]
fn users_who_may_not_write_change_nothing() {
    let readers = stackwright_ftp::server::Anonymous(Rights { write: false });
    let mut dialogue = Dialogue::new(Config::new(Box::new(readers)));
    dialogue.disk.borrow_mut().put("a", "x");
    let _data = dialogue.connect();
    for line in [
        "STOR b",
        "APPE a",
        "STOU",
        "DELE a",
        "MKD b",
        "RMD b",
        "RNFR a",
        "RNTO b",
        "XMKD b",
        "MFMT 20200101000000 a",
        "SITE CHMOD 777 a",
    ] {
        assert_eq!(dialogue.code(line), 550, "{line}");
    }
    assert!(dialogue.ask("MLST a\r\n")[0].contains("perm=r;"));
    assert_eq!(dialogue.disk.borrow().files(), ["a"]);
    dialogue.settle();
}
