//! A raw client says commands from a grammar, valid and not, pipelined and cut anywhere: each
//! complete line is answered once, in order, or the session ends with a reply.

use std::net::SocketAddr;

use fastrand::Rng;
use stackwright_contract::{Duration, Handle};
use stackwright_ftp::address;
use stackwright_simulator::{Habits, Tree, World};

use crate::simulated::raw::Raw;
use crate::simulated::setting::{
    AGES, CLIENT, M, Seed, add_server, any_magnitude, content, door, server_config, server_is_empty,
};

fn pick<'a>(random: &mut Rng, these: &[&'a str]) -> &'a str {
    these[random.usize(..these.len())]
}

/// A line without its end, and the codes of which one may answer it.
pub(crate) fn line(random: &mut Rng) -> (Vec<u8>, &'static [u16]) {
    let path = pick(
        random,
        &[
            "a",
            "/a",
            "new",
            "folder",
            "folder/b",
            "..",
            "/",
            "no such",
            "nowhere/x",
            "é",
            "\"q\"",
            "*",
            "[a-f]*",
        ],
    );
    let (text, codes): (String, &'static [u16]) = match random.u8(..48) {
        0..3 => ("USER ftp".into(), &[331]),
        3..6 => ("PASS x".into(), &[230, 503, 530, 421]),
        6 => (format!("USER {path}"), &[331]),
        7 => ("NOOP".into(), &[200]),
        8 => ("syst".into(), &[215]),
        9 => ("FEAT".into(), &[211]),
        10 => (pick(random, &["HELP", "HELP stor", "SITE HELP"]).into(), &[214]),
        11 => ("PWD".into(), &[257, 530]),
        12 => (format!("CWD {path}"), &[250, 550, 530]),
        13 => (pick(random, &["CDUP", "XCUP"]).into(), &[250, 530]),
        14 => (format!("SIZE {path}"), &[213, 550, 530]),
        15 => (
            pick(
                random,
                &["TYPE I", "TYPE A", "TYPE L 8", "MODE S", "MODE B", "MODE Z", "STRU F", "STRU R"],
            )
            .into(),
            &[200, 530],
        ),
        16 => (pick(random, &["TYPE E", "MODE C", "STRU P", "SITE x"]).into(), &[504, 530]),
        17 => (format!("REST {}", random.u64(..) >> random.u32(..64)), &[350, 501, 530]),
        18..21 => (pick(random, &["PASV", "EPSV", "EPSV 1"]).into(), &[227, 229, 501, 530]),
        21 => ("EPSV 2".into(), &[522, 530]),
        22 => (
            pick(random, &["PORT 10,0,0,2,7,208", "EPRT |1|10.0.0.2|2000|"]).into(),
            &[200, 501, 530],
        ),
        23 => {
            (pick(random, &["PORT 10,0,0,9,7,208", "PORT 10,0,0,2,0,22"]).into(), &[501, 504, 530])
        }
        24..26 => (format!("RETR {path}"), &[226, 250, 425, 426, 450, 451, 501, 550, 530, 554]),
        26..28 => (
            format!("STOR {path}"),
            &[226, 250, 425, 426, 450, 451, 452, 501, 503, 550, 553, 554, 530],
        ),
        28 => (
            format!("{} {path}", pick(random, &["LIST", "NLST", "LIST -la", "MLSD"])),
            &[226, 250, 425, 426, 501, 550, 530],
        ),
        29 => (pick(random, &["SMNT x", "AUTH TLS", "PROT P", "HELP me"]).into(), &[502]),
        33 => (format!("{} {path}", pick(random, &["DELE", "RMD", "XRMD"])), &[250, 550, 530]),
        34 => (format!("MKD {path}"), &[257, 550, 530]),
        35 => (format!("RNFR {path}"), &[350, 550, 530]),
        36 => (format!("RNTO {path}"), &[250, 503, 550, 553, 530]),
        37 => (format!("MDTM {path}"), &[213, 550, 530]),
        38 => (format!("MFMT 20250101000000 {path}"), &[213, 550, 530]),
        39 => (format!("SITE CHMOD 640 {path}"), &[200, 550, 530]),
        40 => (format!("MLST {path}"), &[250, 550, 530]),
        41 => (
            format!("{} {path}", pick(random, &["HASH", "XSHA256"])),
            &[213, 250, 450, 550, 501, 530],
        ),
        42 => (format!("AVBL {path}"), &[213, 550, 530]),
        43 => (
            format!("{} {path}", pick(random, &["APPE", "STOU"])),
            &[226, 250, 425, 426, 450, 451, 452, 503, 550, 553, 530],
        ),
        44 => (
            pick(random, &["ARST", "NARS", "SUPP", "NSUP", "OPTS MLST type;", "OPTS HASH"]).into(),
            &[200, 530],
        ),
        45 => (pick(random, &["RANG 1 0", "RANG 3 9"]).into(), &[350, 530]),
        46 => (pick(random, &["LANG EN", "HOST 10.0.0.1", "REIN"]).into(), &[200, 220, 503]),
        30 => (
            pick(
                random,
                &[
                    "RETR", "PASV 1", "REST -1", "PORT 1,2", "EPRT |9", "CWD a\0b", "QUIT now",
                    "OPTS x", "MFMT 1 a",
                ],
            )
            .into(),
            &[501, 530],
        ),
        31 => (pick(random, &["", " ", "FOO", "RETRa", "226 no"]).into(), &[500]),
        32 => ("X".repeat(random.usize(4113..9000)), &[500]),
        _ => return (vec![b'R', 0xC3, 0x28, b' ', 0x80], &[501]),
    };
    let mut octets = Vec::new();
    for octet in text.into_bytes() {
        // Telnet's words may stand anywhere, and are no part of the line.
        if random.u8(..200) == 0 {
            octets.extend(match random.u8(..3) {
                0 => &[0xFF, 0xF4][..],
                1 => &[0xFF, 0xFD, 6],
                _ => &[0xFF, 0xFB, 1],
            });
        }
        octets.push(octet);
    }
    (octets, codes)
}

struct Session {
    world: World<M>,
    raw: Raw,
    control: Handle,
    data: Vec<Handle>,
    /// How many octets of replies were looked through for addresses.
    seen: usize,
}

impl Session {
    /// Lets a little happen; sometimes the client goes where it was told to, and treats its data
    /// associations somehow.
    fn live(&mut self, random: &mut Rng) {
        let time = Duration::from_millis(any_magnitude(random, 4000));
        self.world.run_for(time);
        // From the last complete line on: what was looked through stays so.
        let fresh = &self.raw.heard(&self.world, self.control).octets[self.seen..];
        let complete = fresh.iter().rposition(|octet| *octet == b'\n').map_or(0, |end| end + 1);
        let fresh = String::from_utf8_lossy(&fresh[..complete]).into_owned();
        self.seen += complete;
        for line in fresh.lines() {
            let port = match line.get(..4) {
                Some("227 ") => address::find_port(line).map(|address| address.port()),
                Some("229 ") => address::find_epsv(line),
                _ => None,
            };
            if let Some(port) = port.filter(|_| random.bool()) {
                let remote = SocketAddr::new(door().ip(), port);
                self.data.push(self.raw.open(&mut self.world, remote));
            }
        }
        if !self.data.is_empty() && random.bool() {
            let data = self.data[random.usize(..self.data.len())];
            if self.raw.heard(&self.world, data).open.is_some()
                && !self.raw.is_over(&self.world, data)
            {
                match random.u8(..4) {
                    0 => self.raw.abort(&mut self.world, data),
                    1 => self.raw.finish(&mut self.world, data),
                    _ => self.raw.say(&mut self.world, data, &content(random.usize(1..3000), 1)),
                }
            }
        }
    }
}

fn converse(seed: u64, aborts: bool) {
    let mut random = Rng::with_seed(seed);
    let random = &mut random;
    let mut world = World::new(seed);
    let disk = Tree::shared();
    disk.borrow_mut().put("a", content(random.usize(..30_000), 1));
    disk.borrow_mut().put("folder/b", content(10, 1));
    let config = stackwright_ftp::server::Config {
        data_wait: Duration::from_secs(2),
        idle: Duration::from_secs(20),
        penalty: Duration::from_millis(10),
        ..server_config()
    };
    let habits = Habits { credit: random.usize(1..5000), ..Habits::default() };
    let server = add_server(&mut world, config, habits, &disk);
    let mut raw = Raw::add(&mut world, CLIENT);
    let (_, arrivals) = raw.listen(&mut world, SocketAddr::new(CLIENT, 2000), 20);
    let control = raw.open(&mut world, door());
    let mut session = Session { world, raw, control, data: arrivals, seen: 0 };

    let mut said: Vec<&[u16]> = Vec::new();
    let mut octets = Vec::new();
    for _ in 0..random.usize(1..120) {
        let (text, codes) = line(random);
        octets.extend(text);
        octets.extend(if random.u8(..5) == 0 { &b"\n"[..] } else { b"\r\n" });
        said.push(codes);
        if aborts && random.u8(..8) == 0 {
            octets.extend(if random.bool() {
                &b"ABOR\r\n"[..]
            } else {
                b"\xFF\xF4\xFF\xF2ABOR\r\n"
            });
            said.push(&[226, 530]);
        }
    }
    octets.extend(b"QUIT\r\n");
    said.push(&[221]);
    let mut rest = &octets[..];
    while !rest.is_empty() {
        let (piece, later) =
            rest.split_at((1 + any_magnitude(random, 4000) as usize).min(rest.len()));
        session.raw.say(&mut session.world, control, piece);
        rest = later;
        session.live(random);
    }
    for _ in 0..200 {
        session.live(random);
    }
    session.world.run_for(AGES);

    let heard = session.raw.heard(&session.world, control);
    assert!(heard.finished || heard.ended.is_some(), "the session ended");
    let codes = session.raw.codes(&session.world, control);
    answers(&codes, &said, aborts);
    session.world.run_for(AGES);
    server_is_empty(&mut session.world, server);
}

/// The replies of a session whose last line is QUIT: one to each line, in order, unless it was
/// ended before. Where there were aborts, they are answered out of order.
pub(crate) fn answers(codes: &[u16], said: &[&[u16]], aborts: bool) {
    assert_eq!(codes[0], 220);
    let codes = &codes[1..];
    let last = *codes.last().expect("it ended with a reply");
    assert!(matches!(last, 221 | 421), "it ended with a reply: {last}");
    assert!(codes.len() <= said.len(), "{} replies to {} lines", codes.len(), said.len());
    if last == 221 {
        assert_eq!(codes.len(), said.len(), "each line has its reply");
    }
    if !aborts {
        for (nth, (code, allowed)) in codes.iter().zip(said).enumerate() {
            let ends = *code == 421 && nth + 1 == codes.len();
            assert!(allowed.contains(code) || ends, "line {nth}: {code} instead of {allowed:?}");
        }
    }
}

#[test]
fn every_line_is_answered_once_and_in_order() {
    for seed in 0..150 {
        let _said = Seed(seed);
        converse(seed, false);
    }
}

#[test]
fn every_line_is_answered_once_with_aborts_anywhere() {
    for seed in 1000..1150 {
        let _said = Seed(seed);
        converse(seed, true);
    }
}
