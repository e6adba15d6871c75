//! A server by chance: right and wrong replies, too early, too late, without end, and data of all
//! kinds. Each job of the client gets its one last word.

use std::net::SocketAddr;

use fastrand::Rng;
use stackwright_contract::{Duration, Handle};
use stackwright_copy::{CopySide, Indication as Told, Request as Ask};
use stackwright_ftp::address;
use stackwright_ftp::client::DataMode;
use stackwright_simulator::{Habits, Tree, World};

use crate::simulated::raw::Raw;
use crate::simulated::setting::{
    AGES, M, SERVER, Seed, add_client, any_magnitude, client_config, content, door, job, last_words,
};

/// Where the server accepts data.
const DATA: u16 = 2000;

struct Hostile {
    world: World<M>,
    raw: Raw,
    controls: Vec<Handle>,
    data: Vec<Handle>,
    /// How many octets of each control association were answered; `None` before the greeting.
    heard: Vec<Option<usize>>,
}

fn any_reply(random: &mut Rng) -> Vec<u8> {
    let code = random.u16(100..600);
    match random.u8(..12) {
        0 => b"hello\r\n".to_vec(),
        1 => vec![b'2'; random.usize(..6000)],
        2 => format!("{code}-begins\r\n{code}x\r\n 1\r\n{code} ends\r\n").into_bytes(),
        3 => format!("{code}-without end\r\n").repeat(random.usize(1..6000)).into_bytes(),
        4 => b"421 I am going down.\r\n".to_vec(),
        5 => b"\xFF\xFD\x01\xFF\xFB\x03".to_vec(),
        6 => format!("{code}").into_bytes(),
        7 => b"226 Transfer complete.\r\n".to_vec(),
        8 => content(random.usize(..300), random.u64(..)),
        _ => format!("{code} {}\r\n", random.u32(..)).into_bytes(),
    }
}

fn right_reply(line: &str, random: &mut Rng) -> Vec<u8> {
    let text = match line.split(' ').next().unwrap_or("") {
        "USER" => "331 password\r\n".into(),
        "PASS" => "230 in\r\n".into(),
        "TYPE" | "PORT" => "200 ok\r\n".into(),
        "FEAT" => match random.u8(..3) {
            0 => "502 no\r\n".into(),
            _ => "211-Features\r\n SIZE\r\n MLST type*;\r\n ARST\r\n INTR\r\n HASH SHA-256*\r\n211 End\r\n".into(),
        },
        "ARST" | "NARS" => "200 ok\r\n".into(),
        "PWD" => "257 \"/\"\r\n".into(),
        "CWD" => "250 ok\r\n".into(),
        "HASH" => format!("213 SHA-256 0-9 {} x\r\n", "01".repeat(32)),
        "RANG" => "350 ok\r\n".into(),
        "INTR" => "256 interrupted\r\n".into(),
        "SIZE" => match random.u8(..4) {
            0 => "550 no\r\n".into(),
            1 => "500 what\r\n".into(),
            _ => format!("213 {}\r\n", any_magnitude(random, 200_000)),
        },
        "EPSV" if random.bool() => format!("229 come (|||{DATA}|)\r\n"),
        "EPSV" => "502 what\r\n".into(),
        "PASV" => format!("227 come (10,0,0,1,{},{})\r\n", DATA / 256, DATA % 256),
        "REST" => "350 go on\r\n".into(),
        "RETR" | "STOR" | "LIST" | "MLSD" => match random.u8(..4) {
            0 => "550 no\r\n".into(),
            1 => "226 done\r\n".into(),
            2 => "150 now\r\n".into(),
            _ => "150 now\r\n226 done\r\n".into(),
        },
        "ABOR" => "426 gone\r\n226 aborted\r\n".into(),
        _ => "221 farewell\r\n".into(),
    };
    text.into_bytes()
}

impl Hostile {
    fn step(&mut self, random: &mut Rng, evil: u8) {
        self.world.run_for(Duration::from_millis(any_magnitude(random, 1000)));
        for nth in 0..self.controls.len() {
            let control = self.controls[nth];
            let heard = self.raw.heard(&self.world, control);
            let Some((_, client)) = heard.open else { continue };
            if self.raw.is_over(&self.world, control) {
                continue;
            }
            let mut replies = Vec::new();
            let answered = *self.heard[nth].get_or_insert_with(|| {
                replies = if random.u8(..) < evil {
                    any_reply(random)
                } else {
                    b"220 hello\r\n".to_vec()
                };
                0
            });
            let fresh = &heard.octets[answered..];
            let complete = fresh.iter().rposition(|octet| *octet == b'\n').map_or(0, |end| end + 1);
            let text = String::from_utf8_lossy(&fresh[..complete]).into_owned();
            for line in text.lines() {
                if let Some(port) = line.strip_prefix("PORT ").and_then(address::parse_port)
                    && random.u8(..4) > 0
                {
                    let target = SocketAddr::new(client.ip(), port.port());
                    self.data.push(self.raw.open(&mut self.world, target));
                }
                let right = right_reply(line, random);
                match random.u8(..) {
                    dice if dice >= evil => replies.extend(right),
                    dice if dice % 8 == 0 => {} // silence
                    dice if dice % 8 == 1 => {
                        replies.extend(right);
                        replies.extend(any_reply(random));
                    }
                    _ => replies.extend(any_reply(random)),
                }
            }
            self.heard[nth] = Some(answered + complete);
            if !replies.is_empty() {
                self.raw.say(&mut self.world, control, &replies);
            }
            if random.u8(..) < evil / 4 {
                match random.u8(..3) {
                    0 => self.raw.abort(&mut self.world, control),
                    1 => self.raw.finish(&mut self.world, control),
                    _ => {
                        let early = any_reply(random);
                        self.raw.say(&mut self.world, control, &early);
                    }
                }
            }
        }
        for nth in 0..self.data.len() {
            let data = self.data[nth];
            if self.raw.heard(&self.world, data).open.is_none()
                || self.raw.is_over(&self.world, data)
            {
                continue;
            }
            match random.u8(..12) {
                0 => self.raw.abort(&mut self.world, data),
                1..4 => self.raw.finish(&mut self.world, data),
                4..6 => self.raw.say(&mut self.world, data, &content(random.usize(1..100_000), 1)),
                6 => {
                    let line = b"-rw-r--r-- 1 a b 5 Jan  1 00:00 x\r\nd";
                    self.raw.say(&mut self.world, data, line);
                }
                _ => {}
            }
        }
    }
}

fn one(seed: u64) {
    let mut random = Rng::with_seed(seed);
    let random = &mut random;
    let mut world = World::new(seed);
    let mut raw = Raw::add(&mut world, SERVER);
    let (_, controls) = raw.listen(&mut world, door(), 40);
    let (_, data) = raw.listen(&mut world, SocketAddr::new(SERVER, DATA), 40);
    let disk = Tree::shared();
    disk.borrow_mut().put("source", content(random.usize(..100_000), 3));
    disk.borrow_mut().put("older", "older");
    let mut config = client_config();
    config.data = if random.bool() { DataMode::Passive } else { DataMode::Active };
    config.idle = Duration::from_secs(random.u64(..20));
    config.sessions_most = random.usize(1..4);
    let client = add_client(&mut world, config, Habits::default(), &disk);
    let heard = vec![None; controls.len()];
    let mut hostile = Hostile { world, raw, controls, data, heard };

    let evil = [10, 40, 128][random.usize(..3)];
    let jobs = random.usize(1..8);
    for nth in 0..jobs {
        let ask = match random.u8(..6) {
            4 => Ask::Resume {
                job: job(nth),
                from: CopySide::Left,
                source: "x".into(),
                target: format!("new {nth}"),
                checked_first: true,
            },
            5 => Ask::Resume {
                job: job(nth),
                from: CopySide::Right,
                source: "source".into(),
                target: "x".into(),
                checked_first: false,
            },
            0 => Ask::List { job: job(nth), side: CopySide::Left, path: "/x".into() },
            1 => Ask::Copy {
                job: job(nth),
                from: CopySide::Right,
                source: "source".into(),
                target: "x".into(),
                early: random.bool(),
            },
            2 => Ask::Copy {
                job: job(nth),
                from: CopySide::Left,
                source: "x".into(),
                target: "older".into(),
                early: random.bool(),
            },
            _ => Ask::Copy {
                job: job(nth),
                from: CopySide::Left,
                source: "x".into(),
                target: format!("new {nth}"),
                early: random.bool(),
            },
        };
        hostile.world.ask(client, ask);
    }
    let gives_up = (random.u8(..4) == 0).then(|| random.usize(..100));
    let count = |hostile: &Hostile| last_words(&hostile.world.application(client).0).len();
    let mut steps = 0;
    while count(&hostile) < jobs {
        hostile.step(random, evil);
        steps += 1;
        if gives_up == Some(steps) {
            hostile.world.ask(client, Ask::GiveUp);
        }
        // A hostile server may go on as long as it likes, but not by saying nothing: patience ends
        // a minute later.
        if steps > 400 {
            hostile.world.run_for(AGES);
            assert_eq!(count(&hostile), jobs, "{} jobs hang", jobs - count(&hostile));
        }
    }
    hostile.world.run_for(AGES);
    assert_eq!(count(&hostile), jobs, "each job has one last word");

    let words = last_words(&hostile.world.application(client).0);
    let copied = words.iter().filter(|told| matches!(told, Told::Copied { .. })).count();
    let fresh = disk.borrow().files().iter().filter(|name| name.starts_with("new")).count();
    assert!(fresh <= copied, "{fresh} files are new, and {copied} copies are whole");
    let stack = hostile.world.stack(client);
    assert_eq!((stack.upper.names(), stack.lower.right.open_files()), (0, 0));
    assert_eq!(stack.lower.left.upper.sessions(), 0, "sessions");
    assert_eq!(stack.lower.left.upper.names(), 0, "names that the client gave");
    assert_eq!(disk.borrow().held(), 0);
}

#[test]
fn whatever_a_server_says_each_job_has_one_last_word() {
    for seed in 0..400 {
        let _said = Seed(seed);
        one(seed);
    }
}
