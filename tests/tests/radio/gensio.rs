//! gensio: an AX.25 of version 2.2 that has nothing in common with ours.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use libtest_mimic::Trial;
use stackwright::ax25::LinkVersion;
use stackwright::ax25::header::Modulus;
use stackwright::contract::services::Ended;
use stackwright_programs::processes::Running;

use crate::hub::hub;
use crate::station::Station;
use crate::trial;

const OCTETS: usize = 16 << 10;
/// Fast, and still a rate: our KISS sends no faster, because its TNC does not say what has left.
const RATE: u32 = 200_000;

pub(crate) fn trials() -> Vec<Trial> {
    let modulus = |version| if version == LinkVersion::V20 { "modulo-8" } else { "modulo-128" };
    let calls = [LinkVersion::V20, LinkVersion::Auto].map(|version| {
        let name = format!("gensio/is-called/{}", modulus(version));
        trial(&name, "gensiot", move || is_called(version))
    });
    let answers = [LinkVersion::V20, LinkVersion::Auto].map(|version| {
        let name = format!("gensio/calls/{}", modulus(version));
        trial(&name, "gensiot", move || calls_us(version))
    });
    calls.into_iter().chain(answers).collect()
}

fn content() -> Vec<u8> {
    (0..OCTETS).map(|place| (place * 31 % 251) as u8).collect()
}

fn expected(version: LinkVersion) -> Modulus {
    if version == LinkVersion::V20 { Modulus::Eight } else { Modulus::Extended }
}

/// It echoes what we send.
fn is_called(version: LinkVersion) {
    let hub = hub();
    let accepts = format!("ax25(laddr=N0BBB-1),conacc,kiss,tcp,127.0.0.1,{}", hub.port());
    let mut echo =
        Running::start(Command::new("gensiot").args(["-i", "echo", "--server", "-a", &accepts]));
    let mut station = Station::new("N0AAA", version, RATE, hub);
    thread::sleep(Duration::from_millis(1500)); // it has connected to the hub
    station.open("N0BBB-1");
    station.until("it accepts", |station| station.told.opened);
    assert_eq!(station.modulus(), Some(expected(version)));
    let (content, mut sent) = (content(), 0);
    station.until("it echoes", |station| {
        sent += station.send(&content[sent..]);
        station.told.octets.len() >= OCTETS
    });
    assert!(station.told.octets == content, "the same octets");
    station.finish();
    station.until("it is released", |station| station.told.ended.is_some());
    assert_eq!(station.told.ended, Some(Ended::Finished));
    echo.kill();
}

/// It calls, and we echo what it sends.
fn calls_us(version: LinkVersion) {
    let hub = hub();
    let extended = u8::from(version != LinkVersion::V20);
    let calls = format!(
        r#"ax25(extended={extended},laddr=N0BBB-1,addr="0,N0AAA,N0BBB-1"),kiss,tcp,127.0.0.1,{}"#,
        hub.port()
    );
    let mut station = Station::new("N0AAA", version, RATE, hub);
    station.listen("N0AAA");
    for _ in 0..50 {
        station.turn(); // it has connected to the hub
    }
    let mut caller = Command::new("gensiot")
        .args(["-i", "stdio(self)", &calls])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("gensiot");
    let (mut input, mut output) = (caller.stdin.take(), caller.stdout.take());
    let reader = thread::spawn(move || {
        let mut octets = vec![0; OCTETS];
        let read = output.as_mut().map(|output| output.read_exact(&mut octets));
        (read.is_some_and(|read| read.is_ok()), octets)
    });
    station.until("it calls", |station| station.told.opened);
    assert_eq!(station.modulus(), Some(expected(version)));
    let content = content();
    input.as_mut().expect("a pipe").write_all(&content).expect("it reads");
    let mut sent = 0;
    station.until("it hears its echo", |station| {
        let octets = station.told.octets.split_off(0);
        sent += station.send(&octets[sent..]);
        station.told.octets = octets;
        reader.is_finished()
    });
    let (whole, octets) = reader.join().expect("no panic");
    drop(input);
    assert!(whole && octets == content, "the same octets");
    let _ = caller.kill();
    let _ = caller.wait();
}
