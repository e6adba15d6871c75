//! Clients that want to keep the server from others: crowds, silence, slowness, ports that are
//! held. The table of attacks in the README says which test is for which.

use std::net::{IpAddr, Ipv4Addr};

use stackwright_contract::services::Ended;
use stackwright_contract::{Duration, Handle};
use stackwright_ftp::address;
use stackwright_ftp::command::{CommandNeeds, TABLE};
use stackwright_ftp::server::{Config, SecurityLevel};
use stackwright_simulator::{Habits, Tree, World};

use crate::simulated::dialogue::Dialogue;
use crate::simulated::raw::Raw;
use crate::simulated::setting::{
    AGES, CLIENT, M, ServerStation, add_server, content, door, server_config, server_is_empty,
};

const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 77));

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn served(config: Config) -> (World<M>, ServerStation) {
    let mut world = World::new(1);
    let disk = Tree::shared();
    disk.borrow_mut().put("a", content(10, 1));
    let server = add_server(&mut world, config, Habits::default(), &disk);
    (world, server)
}

/// A client of this address logs in, and is served at once.
fn is_served(world: &mut World<M>, address: IpAddr) {
    let mut raw = Raw::add(world, address);
    let control = raw.open(world, door());
    raw.say(world, control, b"USER ftp\r\nPASS x\r\nTYPE I\r\nSIZE a\r\nQUIT\r\n");
    world.run_for(seconds(1));
    assert_eq!(raw.codes(world, control), [220, 331, 230, 200, 213, 221]);
}

#[test]
fn one_address_does_not_get_all_sessions() {
    let (mut world, server) =
        served(Config { sessions_most: 8, sessions_per_address: 3, ..server_config() });
    let mut raw = Raw::add(&mut world, CLIENT);
    let mut crowd: Vec<Handle> = Vec::new();
    for _ in 0..20 {
        crowd.push(raw.open(&mut world, door()));
        world.run_for(Duration::from_millis(10));
    }
    world.run_for(seconds(1));
    let codes: Vec<_> = crowd.iter().map(|client| raw.codes(&world, *client)).collect();
    assert!(codes[..3].iter().all(|codes| codes[..] == [220]), "{codes:?}");
    assert!(codes[3..].iter().all(|codes| codes[..] == [421]), "{codes:?}");
    assert_eq!(world.stack(server).upper.sessions(), 3);
    is_served(&mut world, OTHER);
    // Its place is free when a session ends.
    raw.abort(&mut world, crowd[0]);
    world.run_for(seconds(1));
    let late = raw.open(&mut world, door());
    world.run_for(seconds(1));
    assert_eq!(raw.codes(&world, late), [220]);
    world.run_for(AGES);
    server_is_empty(&mut world, server);
}

/// Half-open sessions without end, of many addresses: what they cost is bounded, and a place that
/// becomes free is given, although the others stay.
#[test]
fn a_flood_of_clients_that_say_nothing_costs_little_and_passes() {
    let (mut world, server) = served(Config { sessions_most: 20, ..server_config() });
    let mut crowd = Vec::new();
    for last in 100..120 {
        let mut raw = Raw::add(&mut world, IpAddr::V4(Ipv4Addr::new(10, 0, 1, last)));
        for _ in 0..50 {
            crowd.push((raw, raw.open(&mut world, door())));
        }
    }
    world.run_for(seconds(5));
    let greeted = crowd.iter().filter(|(raw, one)| raw.codes(&world, *one) == [220]).count();
    let told = crowd.iter().filter(|(raw, one)| raw.codes(&world, *one) == [421]).count();
    assert_eq!((greeted, told), (20, 64), "the others are reset");
    let names = world.stack(server).upper.names();
    assert!(names < 120, "{names} names for 1 000 clients");
    let (raw, one) = crowd.iter().find(|(raw, one)| raw.codes(&world, *one) == [220]).unwrap();
    raw.abort(&mut world, *one);
    world.run_for(seconds(1));
    is_served(&mut world, OTHER);
    // Nobody logged in, so nobody stays.
    world.run_for(seconds(200));
    assert_eq!(world.stack(server).upper.sessions(), 0);
    world.run_for(AGES);
    server_is_empty(&mut world, server);
}

#[test]
fn a_client_that_does_not_log_in_is_sent_away_whatever_it_says() {
    let (mut world, server) = served(server_config());
    let mut raw = Raw::add(&mut world, CLIENT);
    let control = raw.open(&mut world, door());
    for command in ["NOOP", "REIN", "USER ftp", "HOST 10.0.0.1", "FEAT", "USER you"].iter().cycle()
    {
        world.run_for(seconds(10));
        if raw.codes(&world, control).contains(&421) {
            break;
        }
        raw.say(&mut world, control, format!("{command}\r\n").as_bytes());
    }
    let heard = world.now().since(stackwright_contract::Instant::START);
    assert!(heard <= seconds(131), "it stayed for {heard:?}");
    // It is cut off if it does not go.
    world.run_for(seconds(61));
    assert_eq!(raw.heard(&world, control).ended, Some(Ended::Reset(0)));
    server_is_empty(&mut world, server);
}

/// A login that ends gives time for another one.
#[test]
fn a_session_that_begins_anew_has_time_for_a_login() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.world.run_for(seconds(250));
    assert_eq!(dialogue.code("REIN"), 220);
    dialogue.world.run_for(seconds(100));
    assert_eq!(dialogue.code("USER ftp"), 331);
    assert_eq!(dialogue.code("PASS x"), 230);
    dialogue.settle();
}

/// A command that never ends is none, however steadily its octets come.
#[test]
fn a_line_that_comes_octet_by_octet_does_not_keep_the_session() {
    let mut dialogue = Dialogue::new(server_config());
    let before = dialogue.codes().len();
    for _ in 0..310 {
        dialogue.raw.say(&mut dialogue.world, dialogue.control, b"N");
        dialogue.world.run_for(seconds(1));
    }
    assert_eq!(dialogue.new_codes(before), [421]);
    dialogue.settle();
}

/// Whatever room the streams below have: replies that nobody reads are memory, too.
#[test]
fn commands_of_a_client_that_reads_nothing_cost_little() {
    for line in ["NOOP\r\n", "\r\n", "HELP\r\n", "\u{ff}"] {
        let mut world = World::new(1);
        let disk = Tree::shared();
        // A client that takes no more than a few octets from the server.
        let habits = Habits { buffer: 4096, ..Habits::default() };
        let server = add_server(&mut world, server_config(), habits, &disk);
        let few = Habits { buffer: 100, ..Habits::default() };
        let mut raw = Raw::with(&mut world, CLIENT, few);
        raw.is_deaf(&mut world);
        let control = raw.open_with(&mut world, door(), 1);
        for _ in 0..100 {
            let octets = if line == "\u{ff}" {
                b"\xff\xfd\x01".repeat(1000)
            } else {
                line.repeat(1000).into()
            };
            raw.say(&mut world, control, &octets);
            world.run_for(seconds(1));
        }
        let most = world.stack(server).lower.left.most_held();
        assert!(most.sending <= 2048, "{most:?} {line:?}");
        raw.abort(&mut world, control);
        world.run_for(AGES);
        server_is_empty(&mut world, server);
    }
}

/// A file for a client that takes nothing of it ends with a timeout, and others are served
/// meanwhile.
#[test]
fn a_client_that_reads_nothing_of_a_file_is_cut_off() {
    let mut dialogue = Dialogue::new(server_config());
    dialogue.disk.borrow_mut().put("a", content(5_000_000, 1));
    dialogue.raw.is_deaf(&mut dialogue.world);
    let before = dialogue.codes().len();
    let data = dialogue.connect();
    dialogue.say("RETR a\r\n");
    let held = dialogue.world.stack(dialogue.server).lower.left.held();
    assert!(held.sending <= 1 << 20, "{held:?} for a client that takes nothing");
    dialogue.world.run_for(seconds(200));
    is_served(&mut dialogue.world, OTHER);
    assert_eq!(dialogue.new_codes(before), [227], "it has its time");
    dialogue.world.run_for(seconds(150));
    assert_eq!(dialogue.new_codes(before), [227, 426]);
    let heard = dialogue.raw.heard(&dialogue.world, data);
    assert!(heard.ending && !heard.finished, "a reset, behind what it does not take");
    dialogue.settle();
}

/// All configured ports are held by sessions that never use them: the next one is told so, goes on,
/// and has its port when one of them goes.
#[test]
fn ports_that_are_all_held_cost_the_next_client_one_command() {
    let (mut world, server) =
        served(Config { passive_ports: Some(40_000..=40_003), ..server_config() });
    let mut raw = Raw::add(&mut world, CLIENT);
    let login = b"USER ftp\r\nPASS x\r\n";
    let holders: Vec<Handle> = (0..4)
        .map(|_| {
            let control = raw.open(&mut world, door());
            raw.say(&mut world, control, &[&login[..], b"EPSV\r\n"].concat());
            world.run_for(seconds(1));
            assert_eq!(raw.codes(&world, control), [220, 331, 230, 229]);
            control
        })
        .collect();
    let mut other = Raw::add(&mut world, OTHER);
    let control = other.open(&mut world, door());
    other.say(&mut world, control, &[&login[..], b"EPSV\r\nNOOP\r\n"].concat());
    world.run_for(seconds(1));
    assert_eq!(other.codes(&world, control), [220, 331, 230, 425, 200]);
    raw.abort(&mut world, holders[2]);
    world.run_for(seconds(1));
    other.say(&mut world, control, b"PASV\r\n");
    world.run_for(seconds(1));
    assert_eq!(other.codes(&world, control)[5..], [227]);
    world.run_for(AGES);
    server_is_empty(&mut world, server);
}

/// Where TLS is required, an attacker in between that takes AUTH away gets no name, no password
/// and no address of a client out of it: nothing that needs a login is obeyed, and nobody logs in.
#[test]
fn without_auth_nothing_is_obeyed_where_tls_is_required() {
    let (mut world, server) =
        served(Config { security: SecurityLevel::Required, ..server_config() });
    let mut raw = Raw::add(&mut world, CLIENT);
    let control = raw.open(&mut world, door());
    world.run_for(seconds(1));
    for row in TABLE {
        let argument = match row.name {
            "PORT" => " 10,0,0,2,100,1",
            "EPRT" => " |1|10.0.0.2|40000|",
            "REST" | "ALLO" => " 1",
            "RANG" => " 1 2",
            "TYPE" => " I",
            "MODE" => " S",
            "STRU" => " F",
            "MFMT" => " 20200101000000 a",
            "SITE CHMOD" => " 644 a",
            _ if row.name == "USER" || row.name == "PASS" => " ftp",
            _ if row.needs == CommandNeeds::Nothing => continue,
            "ABOR" | "ARST" | "CCC" | "EPSV" | "CDUP" | "INTR" | "NARS" | "PASV" | "PWD"
            | "SUPP" | "XCUP" | "XPWD" | "NSUP" => "",
            _ => " a",
        };
        let before = raw.codes(&world, control).len();
        raw.say(&mut world, control, format!("{}{argument}\r\n", row.name).as_bytes());
        world.run_for(Duration::from_millis(10));
        let codes = raw.codes(&world, control).split_off(before);
        assert_eq!(codes, [530], "{}", row.name);
    }
    world.run_for(AGES);
    server_is_empty(&mut world, server);
}

/// Sessions that come and go, each of which leaves a data connection behind that its client does
/// not close: as many stay as there may be sessions.
#[test]
fn data_connections_that_are_never_closed_do_not_add_up() {
    const SESSIONS: usize = 5;
    let (mut world, server) = served(Config { sessions_most: SESSIONS, ..server_config() });
    let before = world.stack(server).upper.names();
    let mut raw = Raw::add(&mut world, CLIENT);
    for _ in 0..60 {
        let control = raw.open(&mut world, door());
        raw.say(&mut world, control, b"USER ftp\r\nPASS x\r\nTYPE I\r\nPASV\r\n");
        world.run_for(Duration::from_millis(50));
        let told = raw.replies(&world, control).pop().expect("a reply to PASV");
        let data = raw.open(&mut world, address::find_port(&told.text).expect("six numbers"));
        raw.say(&mut world, control, b"RETR a\r\nQUIT\r\n");
        world.run_for(Duration::from_millis(50));
        assert_eq!(raw.codes(&world, control), [220, 331, 230, 200, 227, 226, 221]);
        assert_eq!(raw.heard(&world, data).octets, content(10, 1));
        raw.finish(&mut world, control);
    }
    world.run_for(seconds(1));
    assert_eq!(world.stack(server).upper.sessions(), 0);
    let names = world.stack(server).upper.names();
    assert!(names <= before + SESSIONS + 1, "{names} names, {before} before");
    world.run_for(AGES);
    server_is_empty(&mut world, server);
}
