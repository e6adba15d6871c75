//! Users that are not the server's own: here the server takes itself for another's.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

use stackwright_contract::services::{DatagramsIndication, DatagramsRequest, Ended};
use stackwright_contract::{Handle, Participant};
use stackwright_drivers::ipc::{AdmissionPolicy, Allowance, Quota, Users};

use super::{CREDIT, GUEST, LISTENER, Program, Server, any, open, word};

fn user() -> u32 {
    rustix::process::getuid().as_raw()
}

fn allowance() -> Allowance {
    Allowance {
        users: Users::One(user()),
        listen: vec![0..=0],
        connect: vec!["127.0.0.0/8".parse().unwrap()],
        associations: 100,
        buffers: 1 << 20,
        rate: None,
    }
}

fn server(allowed: Vec<Allowance>, quota: Quota) -> Server {
    Server::admitting(AdmissionPolicy { own: Some(user() + 1), allowed }, quota)
}

fn hello() -> Vec<u8> {
    let mut hello = word(32, 0, 0, 2, &[]);
    hello[2] = 1;
    hello
}

/// Returns all that a stranger reads until it is ended, as text.
fn last_words(server: &mut Server, stranger: &mut UnixStream) -> String {
    let (mut said, mut part) = (Vec::new(), [0; 4096]);
    loop {
        match stranger.read(&mut part) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => server.turn(),
            Ok(octets @ 1..) => said.extend(&part[..octets]),
            Ok(0) | Err(_) => return String::from_utf8_lossy(&said).into_owned(),
        }
    }
}

/// What programs of this test were refused.
static SENTENCES: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn refused(sentence: String) {
    SENTENCES.lock().unwrap_or_else(PoisonError::into_inner).push(sentence);
}

#[test]
fn a_user_that_is_not_admitted_is_told_what_the_host_file_needs() {
    let mut server = server(Vec::new(), Quota::default());
    let mut stranger = server.stranger();
    stranger.write_all(&hello()).unwrap();
    let said = last_words(&mut server, &mut stranger);
    let needs = format!("[[allow]] with user = \"{}\"", user());
    assert!(said.contains(&needs), "{said}");
    server.until(|server| server.host.upper.applications() == 0);
    assert_eq!(server.names(), 0);
}

#[test]
fn other_ports_networks_and_associations_than_those_allowed_are_refused_by_a_sentence() {
    let allowed = Allowance { associations: 2, ..allowance() };
    let mut server = server(vec![allowed], Quota::default());
    let mut program = Program::start(&server);
    program.stack.upper = stackwright_drivers::ipc::Near::default().on_refusal(refused);
    // A guest and its own association are two: one more is too many.
    program.begin(&mut server, any());
    program.is_well(&mut server);
    let mut ends = |request, sentence: &str, because| {
        program.told.0.clear();
        program.ask(request);
        let why = program.hears(&mut server, |word| match word {
            DatagramsIndication::Ended { why, .. } => Some(*why),
            _ => None,
        });
        assert_eq!(why, because, "{sentence}");
        let said = SENTENCES.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(said.last().is_some_and(|said| said.contains(sentence)), "{said:?}");
    };
    let name = Handle { index: 7, generation: 0 };
    let listen = |port| DatagramsRequest::Listen {
        listener: name,
        local: Participant::from(([127, 0, 0, 1], port)),
    };
    ends(listen(4330), "listen = [\"4330\"]", Ended::Unavailable);
    let opens = |remote: [u8; 4], local: Option<u16>| DatagramsRequest::Open {
        association: name,
        remote: (remote, 9).into(),
        local: local.map(|port| ([127, 0, 0, 1], port).into()),
        credit: CREDIT,
    };
    ends(opens([192, 0, 2, 1], None), "connect = [\"192.0.2.1\"]", Ended::Unavailable);
    ends(opens([127, 0, 0, 1], Some(990)), "listen = [\"990\"]", Ended::Unavailable);
    ends(opens([127, 0, 0, 1], None), "associations = 2", Ended::Exhausted);
    let radio = DatagramsRequest::Listen { listener: name, local: Participant::OTHER_END };
    ends(radio, "only addresses of the Internet", Ended::Unavailable);
    program.is_well(&mut server);
    // What is closed may be opened again.
    program.ask(DatagramsRequest::Abort { association: GUEST, code: 0 });
    program
        .hears(&mut server, |word| matches!(word, DatagramsIndication::Ended { .. }).then_some(()));
    program.ask(opens([127, 0, 0, 1], None));
    program.hears(&mut server, |word| match word {
        DatagramsIndication::Opened { association, .. } => (*association == name).then_some(()),
        _ => None,
    });
}

#[test]
fn arrivals_beyond_the_associations_of_a_user_come_to_their_end() {
    let allowed = Allowance { associations: 1, ..allowance() };
    let mut server = server(vec![allowed], Quota::default());
    let mut program = Program::start(&server);
    program.ask(DatagramsRequest::Listen { listener: LISTENER, local: any() });
    let local = program.hears(&mut server, |word| match word {
        DatagramsIndication::Listening { local, .. } => local.internet(),
        _ => None,
    });
    let names = [1, 2].map(|index| Handle { index, generation: 0 });
    for association in names {
        let (listener, credit) = (LISTENER, CREDIT);
        program.ask(DatagramsRequest::Await { listener, association, credit });
    }
    let peers = [(); 2].map(|()| std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
    let ended = program.hears(&mut server, |word| match word {
        DatagramsIndication::Ended { name, .. } => Some(*name),
        _ => {
            // One that came before a name waited is lost.
            peers.iter().for_each(|peer| drop(peer.send_to(b"well?", local)));
            None
        }
    });
    let opened: Vec<_> = program
        .told
        .0
        .iter()
        .filter_map(|word| match word {
            DatagramsIndication::Opened { association, .. } => Some(*association),
            _ => None,
        })
        .collect();
    assert_eq!(opened.len(), 1);
    assert!(names.contains(&ended) && ended != opened[0]);
    assert_eq!(server.names(), 2);
}

#[test]
fn what_is_held_for_a_user_is_bounded_whatever_its_programs_say() {
    let allowed = Allowance { buffers: 100_000, ..allowance() };
    let mut server = server(vec![allowed], Quota::default());
    // Each says that a long message comes, and sends a part of it.
    let part = |server: &Server| {
        let mut stranger = server.stranger();
        let mut long = word(4, 0, 0, 0, &[7; 60_000]);
        long[4..8].copy_from_slice(&1_000_000_u32.to_le_bytes());
        for octets in [hello(), open(0, 1), long] {
            stranger.write_all(&octets).unwrap();
        }
        stranger
    };
    let _first = part(&server);
    server.until(|server| server.host.upper.held() > 50_000);
    let mut second = part(&server);
    let said = last_words(&mut server, &mut second);
    assert!(said.contains("more buffers"), "{said}");
    server.until(|server| server.host.upper.applications() == 1 && server.names() == 1);
    assert!(server.host.upper.held() <= 100_000);
}

#[test]
fn a_user_has_no_more_programs_than_the_quota() {
    let quota = Quota { applications_of_user: 2, ..Quota::default() };
    let mut server = server(vec![allowance()], quota);
    let kept = [(); 2].map(|()| {
        let mut stranger = server.stranger();
        stranger.write_all(&hello()).unwrap();
        stranger
    });
    server.until(|server| server.host.upper.applications() == 2);
    let mut third = server.stranger();
    let said = last_words(&mut server, &mut third);
    assert!(said.contains("2 programs connected"), "{said}");
    drop(kept);
    server.until(|server| server.host.upper.applications() == 0);
    Program::start(&server).begin(&mut server, any());
}

#[test]
fn a_user_sends_no_faster_than_its_rate() {
    const ROOM: usize = 4 << 10;
    let allowed = Allowance { rate: std::num::NonZero::new(1), ..allowance() };
    let mut server = server(vec![allowed], Quota::default());
    let mut stranger = server.stranger();
    let mut long = word(4, 0, 0, 0, &[]);
    long[4..8].copy_from_slice(&1_000_000_u32.to_le_bytes());
    for octets in [hello(), open(0, 1), long] {
        stranger.write_all(&octets).unwrap();
    }
    // It says as much as the socket takes, and more than is read at this rate in an hour.
    let mut said = 0;
    while said < 1 << 20 {
        match stranger.write(&[7; 4096]) {
            Ok(octets) => said += octets,
            Err(_) => break,
        }
    }
    assert!(said > 2 * ROOM);
    for _ in 0..200 {
        server.turn();
    }
    let held = server.host.upper.held();
    assert!(held > 0 && held <= ROOM, "{held}");
}
