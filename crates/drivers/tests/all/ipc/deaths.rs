//! Applications and servers that die at moments of chance: nobody else loses an octet, quotas are
//! free, and each last word is told once.
//!
//! `STACKWRIGHT_KILLS=100` has as many die of each kind.

use std::env;
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use stackwright_contract::services::{DatagramsIndication, Ended};
use stackwright_drivers::ipc::Quota;

use super::{GUEST, LISTENER, OWN, Program, Server, any, open, word};

fn kills() -> u64 {
    env::var("STACKWRIGHT_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(10)
}

/// Octets that no other message has.
fn message(chance: &mut fastrand::Rng) -> Vec<u8> {
    let length = chance.usize(1..9000);
    (0..length).map(|_| chance.u8(..)).collect()
}

#[test]
fn applications_die_at_any_moment_and_nobody_else_loses_an_octet() {
    let mut server = Server::start(Quota::default());
    let mut lives = Program::start(&server);
    lives.begin(&mut server, any());
    let mut longest = Duration::ZERO;
    for seed in 0..kills() {
        let mut chance = fastrand::Rng::with_seed(seed);
        let mut dies = Program::start(&server);
        dies.begin(&mut server, any());
        // One that is in the middle of a word when it dies.
        let mut cut = server.stranger();
        let mut hello = word(32, 0, 0, 2, &[]);
        hello[2] = 1;
        let words = [hello, open(0, 1 << 20), word(4, 0, 0, 0, &message(&mut chance))].concat();
        let moment = chance.usize(..words.len());
        cut.write_all(&words[..moment]).unwrap();
        for _ in 0..chance.usize(0..20) {
            match chance.u8(0..4) {
                0 => dies.send(&message(&mut chance)[..chance.usize(0..2)]),
                1 => dies.turn(),
                2 => server.turn(),
                _ => lives.is_sent(&mut server, &message(&mut chance)),
            }
        }
        drop((dies, cut));
        let died = Instant::now();
        server.until(|server| server.host.upper.applications() == 1 && server.names() == 3);
        longest = longest.max(died.elapsed());
        assert_eq!(server.host.upper.held(), 0, "seed {seed}");
        lives.is_sent(&mut server, &message(&mut chance));
    }
    println!("quotas were free {longest:?} after a death at the latest");
}

#[test]
fn servers_die_at_any_moment_and_each_last_word_is_told_once() {
    let mut folder = tempfile::tempdir().unwrap();
    let mut programs = Vec::new();
    for seed in 0..kills() {
        let mut chance = fastrand::Rng::with_seed(seed);
        let mut server = Server::at(folder, Quota::default());
        if programs.is_empty() {
            programs.extend([(); 2].map(|()| Program::start(&server)));
        }
        for program in &mut programs {
            program.told.0.clear();
            program.begin(&mut server, any());
            program.told.0.clear();
        }
        for _ in 0..chance.usize(0..40) {
            let program = chance.usize(..programs.len());
            match chance.u8(0..4) {
                0 | 1 => programs[program].send(&message(&mut chance)[..1]),
                2 => programs[program].turn(),
                _ => server.turn(),
            }
        }
        let Server { folder: left, driver, host } = server;
        folder = left;
        drop((host, driver));
        for program in &mut programs {
            let is_end =
                |word: &&DatagramsIndication<_>| matches!(word, DatagramsIndication::Ended { .. });
            while program.told.0.iter().filter(is_end).count() < 3 {
                program.turn();
            }
            (0..3).for_each(|_| program.turn());
            let mut ended = Vec::new();
            for word in program.told.0.drain(..) {
                let name = word.name();
                assert!(!ended.contains(&name), "seed {seed}: a word after the last: {word:?}");
                if let DatagramsIndication::Ended { why, .. } = word {
                    assert_eq!(why, Ended::Unreachable, "seed {seed}");
                    ended.push(name);
                }
            }
            ended.sort();
            assert_eq!(ended, [LISTENER, GUEST, OWN], "seed {seed}");
        }
    }
}

#[test]
fn who_found_no_descriptor_free_is_accepted_when_another_ends() {
    // The limit holds for a process, so the test has one of its own.
    const ALONE: &str = "STACKWRIGHT_WITHOUT_DESCRIPTORS";
    if env::var_os(ALONE).is_none() {
        let name = "ipc::deaths::who_found_no_descriptor_free_is_accepted_when_another_ends";
        let mut alone = Command::new(env::current_exe().expect("this program"));
        let status = alone.args([name, "--exact"]).env(ALONE, "1").status();
        return assert!(status.expect("it runs").success());
    }
    let mut server = Server::start(Quota::default());
    let (first, mut second) = (server.stranger(), server.stranger());
    second.write_all(&[0xff; 64]).expect("it is read later");
    let allowed = getrlimit(Resource::Nofile);
    let next = first.try_clone().expect("one is free").as_raw_fd();
    let current = u64::try_from(next + 1).ok();
    setrlimit(Resource::Nofile, Rlimit { current, ..allowed }).expect("it is lowered");
    server.until(|server| server.host.upper.applications() == 1);
    for _ in 0..20 {
        server.turn();
    }
    let is_ended = |second: &mut UnixStream| matches!(second.read(&mut [0; 64]), Ok(0));
    assert!(!is_ended(&mut second), "nobody has accepted it");
    drop(first);
    let ended = (0..1000).any(|_| {
        server.turn();
        is_ended(&mut second)
    });
    assert!(ended, "what it says is noise");
}
