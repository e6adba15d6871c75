//! ax25ipd: frames of a KISS line in UDP, and back. It stands between two stations of ours.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::Arc;

use libtest_mimic::Trial;
use stackwright::ax25::LinkVersion;
use stackwright::axudp::{Axudp, Config};
use stackwright::compose::Over;
use stackwright::contract::services::Ended;
use stackwright::drivers::Driver;
use stackwright::drivers::line::Line;
use stackwright::drivers::udp::Udp;
use stackwright::wire::Pool;
use stackwright_programs::processes::{Running, find};
use stackwright_programs::scratch::Scratch;

use crate::station::{M, Station, at_once, pool, tnc};
use crate::trial;

const OCTETS: usize = 8 << 10;
const RATE: u32 = 200_000;

pub(crate) fn trials() -> Vec<Trial> {
    [LinkVersion::V20, LinkVersion::Auto]
        .into_iter()
        .map(|version| {
            let name = format!("ax25ipd/between/{version:?}");
            trial(&name, "ax25ipd", move || between(version))
        })
        .collect()
}

/// Two free ports of UDP.
fn ports() -> [SocketAddr; 2] {
    let sockets = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a port"));
    sockets.map(|socket| socket.local_addr().expect("it is bound"))
}

fn content(salt: usize) -> Vec<u8> {
    (0..OCTETS).map(|place| (place * 31 % 251 + salt) as u8).collect()
}

fn between(version: LinkVersion) {
    let folder = Scratch::new();
    let (pty, file) = (folder.join("tnc"), folder.join("ax25ipd.conf"));
    let [ours, theirs] = ports();
    // The one behind the line is N0BBB; N0AAA is reached over UDP.
    let config = format!(
        "socket udp {}\nmode tnc\ndevice {}\nspeed 9600\nloglevel 0\n\
         route N0AAA 127.0.0.1 udp {} b\n",
        theirs.port(),
        pty.display(),
        ours.port()
    );
    fs::write(&file, config).expect("room for it");
    let behind_the_line = |driver: &Driver| {
        let line = Line::pty(&pty, driver.registry(), 0, pool()).expect("a terminal");
        tnc(line, RATE)
    };
    let mut wired = Station::over("N0BBB", version, RATE, behind_the_line, at_once);
    let over_udp = |driver: &Driver| {
        let config = Config { local: Some(ours.into()), peers: vec![theirs.into()] };
        let pool = Arc::new(Pool::new(1 << 16, 16));
        Over::new(Axudp::<M>::new(config), Udp::new(driver.registry(), 0, pool))
    };
    let mut remote = Station::over("N0AAA", version, RATE, over_udp, at_once);
    let program = find("ax25ipd").expect("the trial asked for it");
    let mut ipd = Running::start(Command::new(program).args(["-f", "-c"]).arg(&file));
    wired.listen("N0BBB");
    for _ in 0..100 {
        wired.turn(); // it opens the terminal
    }
    remote.open("N0BBB");
    let (there, back) = (content(1), content(2));
    let (mut sent, mut echoed) = (0, 0);
    remote.until("both have everything", |remote| {
        wired.turn();
        sent += remote.send(&there[sent..]);
        echoed += wired.send(&back[echoed..]);
        remote.told.octets.len() >= OCTETS && wired.told.octets.len() >= OCTETS
    });
    assert!(remote.told.octets == back && wired.told.octets == there, "the same octets");
    remote.finish();
    remote.until("it is released", |remote| {
        wired.turn();
        remote.told.ended.is_some() && wired.told.ended.is_some()
    });
    assert_eq!(remote.told.ended, Some(Ended::Finished));
    assert_eq!(wired.told.ended, Some(Ended::Finished));
    ipd.kill();
}
