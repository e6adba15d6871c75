//! Weak spots by name: each was wrong once, or would be easy to get wrong.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_contract::Duration;
use stackwright_contract::services::{Ended, Failure};
use stackwright_copy::{CopySide, Indication as Told, Request as Ask};
use stackwright_ftp::address;
use stackwright_ftp::client::DataMode;
use stackwright_ftp::server::{Indication as ServerTold, Trouble};
use stackwright_simulator::{Conditions, DiskFaults, Habits, Pace, Tree, World};

use crate::simulated::dialogue::Dialogue;
use crate::simulated::raw::Raw;
use crate::simulated::setting::{
    AGES, CLIENT, M, Pair, SERVER, add_server, client_config, content, door, job, server_config,
    server_is_empty,
};

const STRANGER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9));

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn slow(milliseconds: u64) -> DiskFaults {
    DiskFaults { delay: Duration::from_millis(milliseconds), ..DiskFaults::default() }
}

#[test]
fn a_data_connection_that_comes_while_the_disk_opens_the_file_gets_it() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put("a", content(1000, 1));
    dialogue.disk.borrow_mut().faults = slow(5000);
    let remote = dialogue.passive();
    dialogue.say("RETR a\r\n");
    let data = dialogue.raw.open(&mut dialogue.world, remote);
    dialogue.world.run_for(seconds(20));
    assert_eq!(dialogue.raw.heard(&dialogue.world, data).octets, content(1000, 1));
    assert_eq!(dialogue.codes().last(), Some(&226));
    dialogue.settle();
}

#[test]
fn a_file_that_shrinks_while_it_is_sent_does_not_pass_for_whole() {
    let mut pair = Pair::new(1);
    pair.far.borrow_mut().put("a", content(2_000_000, 1));
    pair.far.borrow_mut().faults = slow(50);
    pair.fetch("a", "b");
    let near = pair.near.clone();
    assert!(pair.world.run_until(|_| near.borrow().written() > 0, AGES));
    pair.far.borrow_mut().shrink("a", 1_500_000);
    pair.run_to(1);
    assert!(matches!(pair.last_words()[..], [Told::Failed { side: CopySide::Left, .. }]));
    assert_eq!(pair.near.borrow().files(), [""; 0]);
    let shrunk = |told: &ServerTold| {
        matches!(told, ServerTold::Transferred { result: Err(Trouble::File(Failure::Short)), .. })
    };
    assert!(pair.world.application(pair.server).0.iter().any(shrunk), "the server says so itself");
    pair.settle();
}

#[test]
fn a_source_that_shrinks_while_it_is_stored_leaves_nothing_there() {
    let mut pair = Pair::new(1);
    pair.near.borrow_mut().put("a", content(2_000_000, 1));
    pair.near.borrow_mut().faults = slow(50);
    pair.store("a", "b");
    let far = pair.far.clone();
    assert!(pair.world.run_until(|_| far.borrow().written() > 0, AGES));
    pair.near.borrow_mut().shrink("a", 1_500_000);
    pair.run_to(1);
    assert_eq!(
        pair.last_words(),
        [Told::Failed { job: job(0), side: CopySide::Right, failure: Failure::Short }]
    );
    assert_eq!(pair.far.borrow().files(), [""; 0]);
    pair.settle();
}

#[test]
fn a_reset_after_the_end_of_data_does_not_undo_a_stored_file() {
    let mut dialogue = Dialogue::new(server_config());
    let data = dialogue.connect();
    dialogue.say("STOR a\r\n");
    dialogue.disk.borrow_mut().faults = slow(5000);
    dialogue.raw.say(&mut dialogue.world, data, b"twenty octets of data");
    dialogue.raw.finish(&mut dialogue.world, data);
    dialogue.world.run_for(seconds(6)); // written; now it is getting its name
    dialogue.raw.abort(&mut dialogue.world, data);
    let before = dialogue.codes().len();
    dialogue.say("ABOR\r\nNOOP\r\n");
    dialogue.world.run_for(seconds(10));
    assert_eq!(dialogue.new_codes(before), [226, 225, 200], "stored; nothing to abort; here");
    assert_eq!(dialogue.disk.borrow().octets("a").as_deref(), Some(&b"twenty octets of data"[..]));
    assert_eq!(dialogue.transfers(), [Ok(())]);
    dialogue.settle();
}

#[test]
fn a_client_that_vanishes_while_its_file_gets_its_name_hurts_nobody() {
    let mut dialogue = Dialogue::new(server_config());
    let data = dialogue.connect();
    dialogue.say("STOR a\r\n");
    dialogue.disk.borrow_mut().faults = slow(5000);
    dialogue.raw.say(&mut dialogue.world, data, b"x");
    dialogue.raw.finish(&mut dialogue.world, data);
    dialogue.world.run_for(seconds(6));
    dialogue.raw.abort(&mut dialogue.world, dialogue.control);
    dialogue.world.run_for(seconds(10));
    assert_eq!(dialogue.disk.borrow().octets("a").as_deref(), Some(&b"x"[..]));
    dialogue.settle();
}

#[test]
fn a_client_that_vanishes_in_the_middle_of_a_store_leaves_the_older_file() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put("a", "older");
    let data = dialogue.connect();
    dialogue.say("STOR a\r\n");
    dialogue.raw.say(&mut dialogue.world, data, b"newer");
    dialogue.world.run_for(seconds(1));
    dialogue.raw.abort(&mut dialogue.world, dialogue.control);
    dialogue.world.run_for(seconds(1));
    assert_eq!(dialogue.raw.heard(&dialogue.world, data).ended, Some(Ended::Reset(0)));
    assert_eq!(dialogue.disk.borrow().octets("a").as_deref(), Some(&b"older"[..]));
    dialogue.settle();
}

#[test]
fn abor_overtakes_in_whatever_order_it_was_said() {
    for (disk, script) in [(0, "RETR a\r\nABOR\r\nNOOP\r\n"), (1000, "LIST\r\nNOOP\r\nABOR\r\n")] {
        let mut dialogue = Dialogue::new(server_config());
        dialogue.disk.borrow_mut().put("a", content(1000, 1));
        dialogue.disk.borrow_mut().faults = slow(disk);
        dialogue.passive(); // and nobody comes
        let before = dialogue.codes().len();
        dialogue.say(script);
        dialogue.world.run_for(seconds(5));
        assert_eq!(dialogue.new_codes(before), [426, 226, 200], "{script:?}");
        dialogue.settle();
    }
}

#[test]
fn abor_while_the_server_connects_lets_go_of_that_too() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put("a", content(1000, 1));
    let conditions = Conditions { delay: seconds(1), ..Conditions::IDEAL };
    dialogue.world.network_mut().set_link(SERVER, CLIENT, conditions);
    let mut raw = dialogue.raw;
    let (_, names) = raw.listen(&mut dialogue.world, SocketAddr::new(CLIENT, 2000), 1);
    dialogue.raw = raw;
    let before = dialogue.codes().len();
    dialogue.say("PORT 10,0,0,2,7,208\r\nRETR a\r\n");
    dialogue.say("ABOR\r\n");
    dialogue.say("PASV\r\n");
    dialogue.world.run_for(seconds(10));
    assert_eq!(dialogue.new_codes(before), [200, 426, 226, 227]);
    assert!(dialogue.raw.heard(&dialogue.world, names[0]).octets.is_empty());
    dialogue.world.network_mut().set_link(SERVER, CLIENT, Conditions::IDEAL);
    let data = dialogue.connect();
    dialogue.say("RETR a\r\n");
    dialogue.world.run_for(seconds(10));
    assert_eq!(dialogue.raw.heard(&dialogue.world, data).octets, content(1000, 1));
    dialogue.settle();
}

#[test]
fn quit_waits_for_the_transfer() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put("a", content(100_000, 1));
    dialogue.disk.borrow_mut().faults = slow(1000);
    let data = dialogue.connect();
    let before = dialogue.codes().len();
    dialogue.say("RETR a\r\nQUIT\r\n");
    dialogue.world.run_for(seconds(20));
    assert_eq!(dialogue.raw.heard(&dialogue.world, data).octets, content(100_000, 1));
    assert_eq!(dialogue.new_codes(before), [226, 221]);
    dialogue.settle();
}

#[test]
fn commands_after_quit_do_not_keep_the_session() {
    let mut dialogue = Dialogue::new(server_config());
    let before = dialogue.codes().len();
    dialogue.say(&("QUIT\r\n".to_owned() + &"NOOP\r\n".repeat(2000)));
    dialogue.raw.finish(&mut dialogue.world, dialogue.control);
    dialogue.world.run_for(seconds(10));
    assert_eq!(dialogue.new_codes(before), [221]);
    assert_eq!(
        dialogue.world.stack(dialogue.server).upper.sessions(),
        0,
        "long before its patience ends"
    );
    dialogue.settle();
}

#[test]
fn five_wrong_passwords_end_the_session_and_take_their_time() {
    let mut world = World::new(1);
    let server = add_server(&mut world, server_config(), Habits::default(), &Tree::shared());
    let mut raw = Raw::add(&mut world, CLIENT);
    let control = raw.open(&mut world, door());
    raw.say(&mut world, control, "USER root\r\nPASS x\r\n".repeat(7).as_bytes());
    world.run_for(Duration::from_millis(4900));
    assert_eq!(raw.codes(&world, control), [220, 331, 530, 331, 530, 331, 530, 331, 530, 331]);
    world.run_for(seconds(1));
    assert_eq!(raw.codes(&world, control)[10..], [421]);
    assert!(raw.heard(&world, control).finished);
    world.run_for(AGES);
    server_is_empty(&mut world, server);
}

#[test]
fn one_client_too_many_is_told_so_and_a_crowd_that_stays_does_not_close_the_door() {
    let mut world = World::new(1);
    let config = stackwright_ftp::server::Config { sessions_most: 2, ..server_config() };
    let server = add_server(&mut world, config, Habits::default(), &Tree::shared());
    let mut raw = Raw::add(&mut world, CLIENT);
    let crowd: Vec<_> = (0..40).map(|_| raw.open(&mut world, door())).collect();
    world.run_for(seconds(1));
    assert_eq!(raw.codes(&world, crowd[0]), [220]);
    assert_eq!(raw.codes(&world, crowd[2]), [421]);
    for client in crowd {
        raw.abort(&mut world, client);
    }
    world.run_for(seconds(1));
    let late = raw.open(&mut world, door());
    world.run_for(seconds(1));
    assert_eq!(raw.codes(&world, late), [220]);
    world.run_for(AGES);
    server_is_empty(&mut world, server);
}

/// RFC 1123 §4.1.3.2, however long the login took.
#[test]
fn a_client_has_five_minutes_after_its_login() {
    let mut world = World::new(1);
    let disk = Tree::shared();
    let server = add_server(&mut world, server_config(), Habits::default(), &disk);
    let mut raw = Raw::add(&mut world, CLIENT);
    let control = raw.open(&mut world, door());
    world.run_for(seconds(100));
    raw.say(&mut world, control, b"USER ftp\r\nPASS x\r\n");
    world.run_for(seconds(299));
    assert_eq!(raw.codes(&world, control), [220, 331, 230]);
    world.run_for(seconds(2));
    assert_eq!(raw.codes(&world, control), [220, 331, 230, 421]);
    world.run_for(AGES);
    server_is_empty(&mut world, server);
}

#[test]
fn a_digest_hears_abor_and_ends_with_its_session() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put("a", "12345");
    dialogue.disk.borrow_mut().faults = slow(1_000_000);
    for _ in 0..20 {
        let before = dialogue.codes().len();
        dialogue.say("HASH a\r\nNOOP\r\n");
        assert_eq!(dialogue.new_codes(before), [0; 0]);
        dialogue.say("ABOR\r\n");
        assert_eq!(dialogue.new_codes(before), [426, 226, 200]);
    }
    // More sessions than digests there may be, each of which leaves while one is computed.
    for _ in 0..20 {
        let Dialogue { world, raw, .. } = &mut dialogue;
        let control = raw.open(world, door());
        raw.say(world, control, b"USER ftp\r\nPASS x\r\nHASH a\r\n");
        world.run_for(seconds(1));
        assert_eq!(raw.codes(world, control), [220, 331, 230], "it is computed");
        raw.abort(world, control);
        world.run_for(seconds(1));
    }
    dialogue.settle();
}

#[test]
fn a_silent_client_is_sent_away_and_cut_off_when_it_does_not_go() {
    let mut dialogue = Dialogue::new(server_config());
    let before = dialogue.codes().len();
    dialogue.world.run_for(seconds(299));
    assert_eq!(dialogue.new_codes(before), [0; 0]);
    dialogue.world.run_for(seconds(2));
    assert_eq!(dialogue.new_codes(before), [421]);
    assert_eq!(dialogue.raw.heard(&dialogue.world, dialogue.control).ended, None);
    dialogue.world.run_for(seconds(400));
    assert_eq!(dialogue.raw.heard(&dialogue.world, dialogue.control).ended, Some(Ended::Reset(0)));
    dialogue.settle();
}

#[test]
fn a_disk_that_answers_after_the_last_reply_is_not_passed_on() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().faults = slow(320_000);
    let before = dialogue.codes().len();
    dialogue.say("SIZE a\r\n");
    dialogue.world.run_for(seconds(330));
    assert_eq!(dialogue.new_codes(before), [421]);
    dialogue.settle();
}

#[test]
fn pasv_again_and_again_holds_one_listener() {
    let mut dialogue = Dialogue::new(server_config());
    let before = dialogue.world.stack(dialogue.server).upper.names();
    for _ in 0..200 {
        dialogue.passive();
    }
    assert_eq!(
        dialogue.world.stack(dialogue.server).upper.names(),
        before + 2,
        "a listener and its arrival"
    );
    dialogue.settle();
}

#[test]
fn nobody_who_comes_to_the_data_connection_costs_the_transfer_only() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put("a", content(1000, 1));
    dialogue.passive();
    let before = dialogue.codes().len();
    dialogue.say("RETR a\r\n");
    dialogue.world.run_for(seconds(29));
    assert_eq!(dialogue.new_codes(before), [0; 0]);
    dialogue.world.run_for(seconds(2));
    dialogue.say("NOOP\r\n");
    assert_eq!(dialogue.new_codes(before), [425, 200]);
    dialogue.settle();
}

#[test]
fn a_third_party_does_not_get_the_file_and_does_not_keep_the_client_from_it() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put("a", content(1000, 1));
    let mut stranger = Raw::add(&mut dialogue.world, STRANGER);
    let remote = dialogue.passive();
    let theft = stranger.open(&mut dialogue.world, remote);
    dialogue.world.run_for(seconds(1));
    let data = dialogue.raw.open(&mut dialogue.world, remote);
    dialogue.say("RETR a\r\n");
    dialogue.world.run_for(seconds(1));
    assert_eq!(stranger.heard(&dialogue.world, theft).octets, b"");
    assert_eq!(stranger.heard(&dialogue.world, theft).ended, Some(Ended::Reset(0)));
    assert_eq!(dialogue.raw.heard(&dialogue.world, data).octets, content(1000, 1));
    dialogue.settle();
}

#[test]
fn a_third_party_at_the_clients_door_does_not_keep_the_server_from_it() {
    let mut config = client_config();
    config.data = DataMode::Active;
    let habits = Habits::default();
    let mut pair = Pair::with(1, server_config(), config, habits, habits);
    pair.far.borrow_mut().put("a", content(100_000, 1));
    pair.far.borrow_mut().faults = slow(1000);
    let mut stranger = Raw::add(&mut pair.world, STRANGER);
    pair.world.keep_trace();
    pair.fetch("a", "b");
    // The port is in the trace: it stands for somebody who sees the network.
    let port = |world: &World<M>| {
        let trace = world.trace();
        let line = trace.lines().iter().rev().find_map(|line| line.what.split_once("PORT "))?;
        address::parse_port(line.1)
    };
    assert!(pair.world.run_until(|world| port(world).is_some(), AGES));
    let target = port(&pair.world).expect("asked for above");
    let theft = stranger.open(&mut pair.world, target);
    pair.run_to(1);
    assert!(
        matches!(pair.last_words()[..], [Told::Copied { octets: 100_000, .. }]),
        "{:?}",
        pair.last_words()
    );
    assert_eq!(stranger.heard(&pair.world, theft).ended, Some(Ended::Reset(0)));
    pair.settle();
}

#[test]
fn rest_begins_a_transfer_where_it_says_both_ways() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put("a", "0123456789");
    let data = dialogue.connect();
    dialogue.say("REST 7\r\nRETR a\r\n");
    assert_eq!(dialogue.raw.heard(&dialogue.world, data).octets, b"789");
    let data = dialogue.connect();
    dialogue.say("RETR a\r\n");
    assert_eq!(
        dialogue.raw.heard(&dialogue.world, data).octets,
        b"0123456789",
        "it was for one transfer"
    );
    for (place, expected) in [(10, 226), (11, 554), (u64::MAX, 554)] {
        let data = dialogue.connect();
        dialogue.say(&format!("REST {place}\r\nRETR a\r\n"));
        assert_eq!(dialogue.raw.heard(&dialogue.world, data).octets, b"");
        assert_eq!(dialogue.codes().last(), Some(&expected), "at or behind the end");
        let code = dialogue.code("REST 11");
        assert_eq!((code, dialogue.code("RETR a")), (350, 554), "also where no port is arranged");
    }
    let data = dialogue.connect();
    dialogue.say("REST 3\r\nSTOR a\r\n");
    dialogue.raw.say(&mut dialogue.world, data, b"abc");
    dialogue.raw.finish(&mut dialogue.world, data);
    dialogue.world.run_for(seconds(1));
    assert_eq!(dialogue.disk.borrow().octets("a").as_deref(), Some(&b"012abc"[..]));
    let _unused = dialogue.connect();
    dialogue.say("REST 7\r\nSTOR a\r\n");
    assert_eq!(dialogue.codes().last(), Some(&554), "a gap would be made up");
    assert_eq!(dialogue.disk.borrow().octets("a").as_deref(), Some(&b"012abc"[..]));
    dialogue.settle();
}

#[test]
fn giving_up_at_any_time_ends_each_copy_once() {
    for (from, early) in
        [CopySide::Left, CopySide::Right].into_iter().flat_map(|from| [(from, false), (from, true)])
    {
        for steps in 0..150 {
            let mut pair = Pair::new(steps);
            pair.early = early;
            let (source, target) = if from == CopySide::Left {
                (&pair.far, &pair.near)
            } else {
                (&pair.near, &pair.far)
            };
            source.borrow_mut().put("a", content(50_000, 1));
            let target = target.clone();
            pair.copy(from, "a", "b");
            for _ in 0..steps {
                pair.world.step();
            }
            pair.world.ask(pair.client, Ask::GiveUp);
            pair.run_to(1);
            pair.settle();
            let whole = target.borrow().octets("b").is_some();
            match pair.last_words()[..] {
                [Told::Copied { octets: 50_000, .. }] => assert!(whole),
                [Told::Failed { failure: Failure::GivenUp, .. }] => assert!(!whole),
                ref other => panic!("{from:?} after {steps} steps: {other:?}"),
            }
        }
    }
}

#[test]
fn a_slow_disk_here_is_no_silent_server() {
    let habits = Habits::default();
    let mut pair = Pair::with(1, server_config(), client_config(), habits, habits);
    pair.far.borrow_mut().put("a", content(4_000_000, 1));
    pair.near.borrow_mut().faults = slow(100_000);
    pair.fetch("a", "b");
    pair.run_to(1);
    assert!(matches!(pair.last_words()[..], [Told::Copied { .. }]), "{:?}", pair.last_words());
    pair.settle();
}

#[test]
fn a_reader_slower_than_any_timer_gets_all_as_long_as_it_reads() {
    let pace = Some(Pace { octets: 1000, rest: seconds(50) });
    let slow = Habits { buffer: 1000, pace, ..Habits::default() };
    let mut pair =
        Pair::with(1, server_config(), client_config(), Habits { credit: 1000, ..slow }, slow);
    pair.far.borrow_mut().put("a", content(30_000, 1));
    pair.fetch("a", "b");
    pair.run_to(1);
    assert!(matches!(pair.last_words()[..], [Told::Copied { .. }]), "{:?}", pair.last_words());
    pair.settle();
}

#[test]
fn a_folder_is_listed_whatever_its_size() {
    let mut pair = Pair::new(1);
    for nth in 0..2000 {
        pair.far.borrow_mut().put(&format!("folder/file {nth}"), vec![0; nth]);
    }
    pair.world
        .ask(pair.client, Ask::List { job: job(0), side: CopySide::Left, path: "/folder".into() });
    pair.run_to(1);
    let heard = &pair.world.application(pair.client).0;
    let mut sizes: Vec<_> = heard
        .iter()
        .filter_map(|told| match told {
            Told::Entries { entries, .. } => Some(entries),
            _ => None,
        })
        .flatten()
        .map(|entry| (entry.status.size, entry.name.clone()))
        .collect();
    sizes.sort();
    let expected: Vec<_> = (0..2000u64).map(|nth| (nth, format!("file {nth}"))).collect();
    assert_eq!(sizes, expected);
    pair.settle();
}
