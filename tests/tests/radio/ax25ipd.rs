//! ax25ipd: frames of a KISS line in UDP, and back. It stands between two stations of ours.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::Arc;

use libtest_mimic::Trial;
use stackwright::ax25::LinkVersion;
use stackwright::axudp::{Axudp, AxudpPeer, Config};
use stackwright::compose::Over;
use stackwright::contract::services::Ended;
use stackwright::drivers::Driver;
use stackwright::drivers::line::Line;
use stackwright::drivers::udp::Udp;
use stackwright::wire::Pool;
use stackwright_programs::processes::{Running, find};
use stackwright_programs::scratch::Scratch;

use crate::station::{M, Station, Tnc, at_once, pool, tnc};
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
        .chain([trial("ax25ipd/two-peers", "ax25ipd", two_peers)])
        .collect()
}

/// Free ports of UDP.
fn ports<const COUNT: usize>() -> [SocketAddr; COUNT] {
    let sockets = [(); COUNT].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a port"));
    sockets.map(|socket| socket.local_addr().expect("it is bound"))
}

fn content(salt: usize) -> Vec<u8> {
    (0..OCTETS).map(|place| (place * 31 % 251 + salt) as u8).collect()
}

/// Starts ax25ipd, with a station of ours behind its line.
fn behind_ipd(
    call: &str,
    version: LinkVersion,
    folder: &Scratch,
    [ours, theirs]: [SocketAddr; 2],
) -> (Station<Tnc>, Running) {
    let (pty, file) = (folder.join(call), folder.join(&format!("{call}.conf")));
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
    let mut wired = Station::over(call, version, RATE, behind_the_line, at_once);
    let program = find("ax25ipd").expect("the trial asked for it");
    let ipd = Running::start(Command::new(program).args(["-f", "-c"]).arg(&file));
    wired.listen(call);
    for _ in 0..100 {
        wired.turn(); // it opens the terminal
    }
    (wired, ipd)
}

fn over_udp(
    version: LinkVersion,
    local: SocketAddr,
    peers: Vec<AxudpPeer>,
) -> Station<Over<Axudp<M>, Udp<M>>> {
    let make = move |driver: &Driver| {
        let config = Config { local: Some(local.into()), peers };
        let pool = Arc::new(Pool::new(1 << 16, 16));
        let udp = Udp::new(driver.registry(), 0, pool).sharing_port();
        Over::new(Axudp::<M>::new(config), udp)
    };
    Station::over("N0AAA", version, RATE, make, at_once)
}

/// N0AAA is reached over UDP, N0BBB is behind the line.
fn between(version: LinkVersion) {
    let folder = Scratch::new();
    let [ours, theirs] = ports();
    let (mut wired, mut ipd) = behind_ipd("N0BBB", version, &folder, [ours, theirs]);
    let mut remote = over_udp(version, ours, vec![theirs.into()]);
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

/// Two ax25ipd, each with a station behind it: by a table, a link goes to its own.
fn two_peers() {
    let folder = Scratch::new();
    let [ours, one, other] = ports();
    let calls = [("N0BBB", one), ("N0CCC", other)];
    let mut all =
        calls.map(|(call, theirs)| behind_ipd(call, LinkVersion::Auto, &folder, [ours, theirs]));
    let table = calls.map(|(call, theirs)| AxudpPeer { call: call.parse().ok(), ..theirs.into() });
    for (place, (call, _)) in calls.into_iter().enumerate() {
        let mut remote = over_udp(LinkVersion::Auto, ours, table.to_vec());
        remote.open(call);
        let (content, mut sent) = (content(place), 0);
        remote.until("it has everything", |remote| {
            all.iter_mut().for_each(|(wired, _)| wired.turn());
            sent += remote.send(&content[sent..]);
            all[place].0.told.octets.len() >= OCTETS
        });
        assert!(all[place].0.told.octets == content, "the same octets");
        remote.finish();
        remote.until("it is released", |remote| {
            all[place].0.turn();
            remote.told.ended.is_some()
        });
        assert_eq!(remote.told.ended, Some(Ended::Finished));
    }
    all.iter_mut().for_each(|(_, ipd)| ipd.kill());
}
