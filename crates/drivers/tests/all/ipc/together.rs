//! What all applications may have together.

use std::io::Write as _;

use stackwright_contract::Handle;
use stackwright_contract::services::{DatagramsIndication, DatagramsRequest, Ended};
use stackwright_drivers::ipc::Quota;

use super::{CREDIT, Program, Server, any, open, word};

fn hello() -> Vec<u8> {
    let mut hello = word(32, 0, 0, 2, &[]);
    hello[2] = 1;
    hello
}

#[test]
fn names_that_all_may_have_are_free_again_when_their_application_dies() {
    let mut server = Server::start(Quota { names_together: 5, ..Quota::default() });
    let [mut first, mut second] = [(); 2].map(|()| Program::start(&server));
    first.begin(&mut server, any());
    let opens = |program: &mut Program, server: &mut Server, index| {
        program.told.0.clear();
        let association = Handle { index, generation: 0 };
        let (remote, credit) = (([127, 0, 0, 1], 9).into(), CREDIT);
        program.ask(DatagramsRequest::Open { association, remote, local: None, credit });
        program.hears(server, |word| match word {
            DatagramsIndication::Opened { .. } => Some(true),
            DatagramsIndication::Ended { why: Ended::Exhausted, .. } => Some(false),
            _ => None,
        })
    };
    let opened = [0, 1, 2].map(|index| opens(&mut second, &mut server, index));
    assert_eq!((opened, server.names()), ([true, true, false], 5));
    drop(first);
    server.until(|server| server.names() == 2);
    assert!(opens(&mut second, &mut server, 2));
}

#[test]
fn where_more_octets_are_held_than_for_all_the_application_with_the_most_is_ended() {
    let quota = Quota { held_together: 100_000, ..Quota::default() };
    let mut server = Server::start(quota);
    let mut honest = Program::start(&server);
    honest.begin(&mut server, any());
    // Each says that a long message comes, and sends a part of it.
    let part = |server: &mut Server, octets: usize| {
        let mut stranger = server.stranger();
        let mut long = word(4, 0, 0, 0, &vec![7; octets]);
        long[4..8].copy_from_slice(&1_000_000_u32.to_le_bytes());
        for octets in [hello(), open(0, 1), long] {
            stranger.write_all(&octets).unwrap();
        }
        stranger
    };
    let mut strangers = [10_000, 50_000, 20_000].map(|octets| part(&mut server, octets));
    server.until(|server| server.host.upper.held() > 80_000);
    assert_eq!(server.host.upper.applications(), 4);
    let _last = part(&mut server, 30_000);
    server.ends(&mut strangers[1]);
    server.until(|server| server.host.upper.held() > 60_000 && server.names() == 6);
    assert_eq!(server.host.upper.applications(), 4);
    honest.is_well(&mut server);
    drop(strangers);
    server.until(|server| server.host.upper.applications() == 2);
    assert!(server.host.upper.held() < 31_000, "{}", server.host.upper.held());
}
