//! Data associations: others' addresses, thieves, who never reads or never comes, uploads that
//! break off.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use std::{fs, thread};

use rustix::net::connect_unspec;
use stackwright_programs::content::{assert_same, octets};
use stackwright_programs::control::Control;
use stackwright_programs::processes::eventually;
use stackwright_programs::servers::{loopback, ours};

use super::{GROWTH, Prey};
use crate::scripted::reset;

/// The server connects to nobody but its client, and to no port of the system.
pub(super) fn bounce(prey: &Prey) {
    let third = TcpListener::bind("127.0.0.2:0").expect("a second loopback address");
    third.set_nonblocking(true).expect("a socket of ours");
    let port = third.local_addr().expect("a bound socket").port();
    let mut control = prey.guest();
    for command in [
        format!("PORT 127,0,0,2,{},{}", port >> 8, port & 255),
        format!("EPRT |1|127.0.0.2|{port}|"),
        "PORT 127,0,0,1,0,22".into(),
        "PORT 127,0,0,1,3,255".into(),
        "EPRT |1|127.0.0.1|1023|".into(),
        "EPRT |1|127.0.0.1|0|".into(),
        "EPRT |2|::1|40000|".into(),
        "EPRT |1|127.0.0.1|70000|".into(),
        "EPRT |3|127.0.0.1|40000|".into(),
        "EPRT |1|localhost|40000|".into(),
        "PORT 127,0,0,1,300,1".into(),
        "PORT 127,0,0,1,200".into(),
        "PORT".into(),
    ] {
        let reply = control.ask(&command).expect("a reply");
        // 522 is for families, 500 to 504 for the rest.
        assert!(matches!(reply.code, 500 | 501 | 504 | 522), "{command}: {reply:?}");
        let reply = control.ask("RETR small").expect("a reply");
        assert!(matches!(reply.code, 425 | 503 | 150), "after {command}: {reply:?}");
        if reply.code == 150 {
            control.expect(425).expect("no data connection");
        }
    }
    assert!(third.accept().is_err(), "a third party was called");
    prey.unharmed();
}

/// Somebody else takes the port that was opened for a client, and gets nothing.
pub(super) fn thief(prey: &Prey) {
    let mut control = prey.guest();
    let text = control.ask("EPSV").and_then(|reply| reply.is(229)).expect("a port").text;
    let port = text.split('|').nth(3).and_then(|port| port.parse().ok()).expect("a port");
    // From another address of this machine.
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::STREAM,
        None,
    )
    .expect("a socket");
    rustix::net::bind(&socket, &SocketAddr::from(([127, 0, 0, 3], 0)))
        .expect("a third loopback address");
    let connected = rustix::net::connect(&socket, &SocketAddr::new(loopback(false), port));
    control.send(b"RETR small\r\n").expect("a connection");
    if connected.is_ok() {
        let mut stolen = TcpStream::from(socket);
        stolen.set_read_timeout(Some(Duration::from_secs(5))).expect("a socket of ours");
        let mut got = Vec::new();
        let _ = stolen.read_to_end(&mut got);
        assert!(got.is_empty(), "{} octets were stolen", got.len());
    }
    drop(control);
    prey.unharmed();
}

/// Clients that open a transfer and never read: they cost little, and the others do not wait for
/// them.
pub(super) fn never_reads(prey: &Prey) {
    let content = prey.with_big();
    // Whatever is made on first use is made now.
    assert_same(&prey.guest().retrieve("big").expect("a transfer"), &content);
    let before = prey.memory();
    let held: Vec<_> = (0..16)
        .map(|_| {
            let mut control = prey.guest();
            let data = control.begin("RETR big").expect("a transfer");
            (control, data)
        })
        .collect();
    thread::sleep(Duration::from_millis(200));
    assert_same(&prey.guest().retrieve("big").expect("a transfer beside the stuck ones"), &content);
    let grown = prey.memory().saturating_sub(before);
    assert!(grown < 2 * GROWTH, "{grown} kB for 16 clients that do not read");
    drop(held);
    prey.unharmed();
}

/// Ports that nobody ever comes to: one at a time for each association, and gone with it.
pub(super) fn never_connects(prey: &Prey) {
    let open = || {
        fs::read_dir(format!("/proc/{}/fd", prey.server.running.number()))
            .map_or(0, Iterator::count)
    };
    let before = open();
    let mut control = prey.guest();
    for _ in 0..500 {
        control.ask("EPSV").and_then(|reply| reply.is(229)).expect("a port");
    }
    assert!(open() <= before + 8, "{} descriptors for one client, {before} before", open());
    drop(control);
    let gone = eventually(Duration::from_secs(10), || open() <= before + 2);
    assert!(gone, "{} descriptors are left, {before} before", open());
    prey.unharmed();
}

/// What breaks an upload off.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    DataReset,
    ControlLost,
    ServerKilled,
}

/// An upload that breaks in the middle: the old file stays whole, a new one does not appear.
pub(super) fn upload_cut(prey: &Prey, cut: Cut) {
    // The last way takes the server with it, so it has one to spare.
    let mut spare = ours(&prey.outside.join("root"), false, &["--writable"]);
    let sent = octets(4, 2_000_000);
    for name in ["new", "small"] {
        let mut control = Control::guest(spare.address).expect("a login");
        let mut data = control.begin(&format!("STOR {name}")).expect("a transfer");
        data.write_all(&sent).expect("a connection");
        // Some of it has been taken and written.
        thread::sleep(Duration::from_millis(50));
        match cut {
            Cut::DataReset => {
                reset(data);
                let reply = control.reply().expect("a reply");
                assert!(matches!(reply.code, 426 | 451), "{reply:?}");
                control
                    .ask("NOOP")
                    .and_then(|reply| reply.is(200))
                    .expect("an association that goes on");
            }
            Cut::ControlLost => {
                drop(control);
                // The data connection is still there: it does not help.
                thread::sleep(Duration::from_millis(50));
                let _ = data.write_all(&sent);
                reset(data);
            }
            Cut::ServerKilled => {
                spare.running.kill();
                spare = ours(&prey.outside.join("root"), false, &["--writable"]);
            }
        }
        let absent = eventually(Duration::from_secs(5), || !prey.outside.join("root/new").exists());
        assert!(absent, "half a file under its final name");
    }
    if cut != Cut::ServerKilled {
        // Only a killed server may leave what nobody asked for, and then under another name.
        let clean = eventually(Duration::from_secs(5), || prey.new_names().is_empty());
        assert!(clean, "{:?} is left", prey.new_names());
    }
    prey.unharmed();
}

/// How a client ends its control connection without QUIT.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Leaves {
    Closes,
    Half,
    Resets,
}

/// A client that ends both connections at once, in either order: the file is there if and only if
/// its data connection ended first. Cameras and scanners do not wait for the reply.
pub(super) fn upload_ends(prey: &Prey) {
    let sent = octets(5, 30_000);
    let asked = std::env::var("ROUNDS").ok().and_then(|text| text.parse::<u32>().ok());
    for round in 0..asked.unwrap_or(10) {
        for leaves in [Leaves::Closes, Leaves::Half, Leaves::Resets] {
            for data_first in [true, false] {
                let mut control = prey.guest();
                let name = if data_first { "new" } else { "lost" };
                let mut data = control.begin(&format!("STOR {name}")).expect("a transfer");
                data.write_all(&sent).expect("a connection");
                // A close is none while a process that another trial begins still has a copy.
                if data_first {
                    data.shutdown(Shutdown::Write).expect("it is open");
                }
                match leaves {
                    Leaves::Closes => control.stream().shutdown(Shutdown::Both).expect("open"),
                    Leaves::Half => control.stream().shutdown(Shutdown::Write).expect("open"),
                    Leaves::Resets => connect_unspec(control.stream()).expect("open"),
                }
                let _ = data.shutdown(Shutdown::Write); // the server may have ended it
                drop(data);
                let held = (leaves == Leaves::Half).then_some(control);
                let there = prey.outside.join("root/new");
                let appears = || fs::read(&there).is_ok_and(|here| here == sent);
                if data_first {
                    let appears = eventually(Duration::from_secs(20), appears);
                    assert!(appears, "{round}, {leaves:?}");
                    fs::remove_file(&there).expect("it is there");
                }
                drop(held);
            }
        }
    }
    // Those whose control connection was first are decided by now.
    prey.guest().ask("NOOP").and_then(|reply| reply.is(200)).expect("it serves");
    assert!(prey.new_names().is_empty(), "{:?} is left", prey.new_names());
    prey.unharmed();
}
